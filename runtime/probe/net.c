/* SPDX-License-Identifier: MIT */
/* Attempts to reach a peer: every call that can name one. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

#define WAIT_MS 3000

struct peer peer_of(const char *address, const char *port)
{
	struct peer p = { .size = sizeof p.in };

	if (inet_pton(AF_INET, address, &p.in.sin_addr) == 1) {
		p.in.sin_family = AF_INET;
		p.in.sin_port = htons((uint16_t)number(port));
	} else if (inet_pton(AF_INET6, address, &p.in6.sin6_addr) == 1) {
		p.in6.sin6_family = AF_INET6;
		p.in6.sin6_port = htons((uint16_t)number(port));
		p.size = sizeof p.in6;
	} else {
		fprintf(stderr, "probe: not an address: %s\n", address);
		exit(2);
	}
	return p;
}

struct peer peer_mapped(const char *address, const char *port)
{
	char text[64];

	snprintf(text, sizeof text, "::ffff:%s", address);
	return peer_of(text, port);
}

int connect_wait(int fd, const struct peer *to)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t size = sizeof error;

	if (connect(fd, &to->sa, to->size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (poll(&p, 1, WAIT_MS) == 0)
		return ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
}

static int stream(int family, int protocol, const struct peer *to)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, protocol);
	int error = fd < 0 ? errno : connect_wait(fd, to);

	close(fd);
	return error;
}

static int tcp(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return stream(to.sa.sa_family, 0, &to);
}

static int tcp_mapped(char *const *arg)
{
	struct peer to = peer_mapped(arg[0], arg[1]);

	return stream(AF_INET6, 0, &to);
}

static int mptcp(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return stream(to.sa.sa_family, IPPROTO_MPTCP, &to);
}

static int tcp_fastopen_flag(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);
	int fd = socket(to.sa.sa_family, SOCK_STREAM, 0);
	int error = fd < 0 ? errno : result(sendto(fd, "x", 1, MSG_FASTOPEN, &to.sa, to.size));

	close(fd);
	return error;
}

static int tcp_fastopen_msg(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);
	struct iovec data = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_name = &to.sa, .msg_namelen = to.size, .msg_iov = &data, .msg_iovlen = 1
	};
	int fd = socket(to.sa.sa_family, SOCK_STREAM, 0);
	int error = fd < 0 ? errno : result(sendmsg(fd, &message, MSG_FASTOPEN));

	close(fd);
	return error;
}

static int tcp_fastopen_option(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);
	int fd = socket(to.sa.sa_family, SOCK_STREAM, 0), on = 1, error;

	if (fd < 0)
		return errno;
	error = result(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on));
	if (!error)
		error = result(connect(fd, &to.sa, to.size));
	if (!error)
		error = result(send(fd, "x", 1, 0));
	close(fd);
	return error;
}

/* Disconnects from one peer and connects to another. */
static int tcp_reconnect(char *const *arg)
{
	struct peer first = peer_of(arg[0], arg[2]), to = peer_of(arg[1], arg[2]);
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = socket(to.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = fd < 0 ? errno : connect_wait(fd, &first);

	if (error) {
		fprintf(stderr, "probe: the first peer: %s\n", strerror(error));
		return error;
	}
	error = result(connect(fd, &none, sizeof none));
	if (!error)
		error = connect_wait(fd, &to);
	close(fd);
	return error;
}

/* connect(0.0.0.0) goes to the address that the socket is bound to. */
static int tcp_bound_zero(char *const *arg)
{
	struct peer source = peer_of(arg[0], "0"), to = peer_of(arg[1], arg[2]);
	int fd = socket(to.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = fd < 0 ? errno : result(bind(fd, &source.sa, source.size));

	if (!error)
		error = connect_wait(fd, &to);
	close(fd);
	return error;
}

static int udp_send(int family, int protocol, const struct peer *to)
{
	int fd = socket(family, SOCK_DGRAM, protocol);
	int error = fd < 0 ? errno : result(sendto(fd, "x", 1, 0, &to->sa, to->size));

	close(fd);
	return error;
}

static int udp_sendto(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return udp_send(to.sa.sa_family, 0, &to);
}

static int udp_mapped(char *const *arg)
{
	struct peer to = peer_mapped(arg[0], arg[1]);

	return udp_send(AF_INET6, 0, &to);
}

/* An IPv6 socket takes a plain IPv4 address too. */
static int udp_v4_on_v6(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return udp_send(AF_INET6, 0, &to);
}

static int udplite(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return udp_send(to.sa.sa_family, IPPROTO_UDPLITE, &to);
}

static int udp_sendmsg(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);
	struct iovec data = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_name = &to.sa, .msg_namelen = to.size, .msg_iov = &data, .msg_iovlen = 1
	};
	int fd = socket(to.sa.sa_family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(sendmsg(fd, &message, 0));

	close(fd);
	return error;
}

static int udp_sendmmsg(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);
	struct iovec data = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct mmsghdr message = {
		.msg_hdr = { .msg_name = &to.sa, .msg_namelen = to.size,
			     .msg_iov = &data, .msg_iovlen = 1 },
	};
	int fd = socket(to.sa.sa_family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(sendmmsg(fd, &message, 1, 0));

	close(fd);
	return error;
}

static int udp_connect_to(int family, const struct peer *to)
{
	int fd = socket(family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(connect(fd, &to->sa, to->size));

	if (!error)
		error = result(send(fd, "x", 1, 0));
	close(fd);
	return error;
}

static int udp_connect(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return udp_connect_to(to.sa.sa_family, &to);
}

static int udp_connect_mapped(char *const *arg)
{
	struct peer to = peer_mapped(arg[0], arg[1]);

	return udp_connect_to(AF_INET6, &to);
}

static int udp_connect_v4_on_v6(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return udp_connect_to(AF_INET6, &to);
}

/* Connected to one peer, a datagram names another. */
static int udp_reaim(char *const *arg)
{
	struct peer first = peer_of(arg[0], arg[2]), to = peer_of(arg[1], arg[2]);
	int fd = socket(to.sa.sa_family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(connect(fd, &first.sa, first.size));

	if (error) {
		fprintf(stderr, "probe: the first peer: %s\n", strerror(error));
		return error;
	}
	error = result(sendto(fd, "x", 1, 0, &to.sa, to.size));
	close(fd);
	return error;
}

static int udp_reconnect(char *const *arg)
{
	struct peer first = peer_of(arg[0], arg[2]), to = peer_of(arg[1], arg[2]);
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = socket(to.sa.sa_family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(connect(fd, &first.sa, first.size));

	if (error) {
		fprintf(stderr, "probe: the first peer: %s\n", strerror(error));
		return error;
	}
	error = result(connect(fd, &none, sizeof none));
	if (!error)
		error = result(connect(fd, &to.sa, to.size));
	if (!error)
		error = result(send(fd, "x", 1, 0));
	close(fd);
	return error;
}

/* More of a corked datagram, named to another peer. */
static int udp_cork(char *const *arg)
{
	struct peer first = peer_of(arg[0], arg[2]), to = peer_of(arg[1], arg[2]);
	int fd = socket(to.sa.sa_family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(sendto(fd, "x", 1, MSG_MORE, &first.sa, first.size));

	if (error) {
		fprintf(stderr, "probe: the first peer: %s\n", strerror(error));
		return error;
	}
	error = result(sendto(fd, "x", 1, 0, &to.sa, to.size));
	close(fd);
	return error;
}

/* IPv4 takes a datagram's address of no family for one of its own (udp_sendmsg, net/ipv4/udp.c). */
static int udp_unspec(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), error;

	to.sa.sa_family = AF_UNSPEC;
	error = fd < 0 ? errno : result(sendto(fd, "x", 1, 0, &to.sa, to.size));
	close(fd);
	return error;
}

/* An IPv6 socket connected to a mapped address turns itself into an IPv4 one, then names another peer. */
static int udp_addrform(char *const *arg)
{
	struct peer first = peer_mapped(arg[0], arg[2]), to = peer_of(arg[1], arg[2]);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), family = AF_INET;
	int error = fd < 0 ? errno : result(connect(fd, &first.sa, first.size));

	if (!error)
		error = result(setsockopt(fd, IPPROTO_IPV6, IPV6_ADDRFORM, &family, sizeof family));
	if (!error)
		error = result(sendto(fd, "x", 1, 0, &to.sa, to.size));
	close(fd);
	return error;
}

/* Many messages in one call, the second to another peer. */
static int udp_second_message(char *const *arg)
{
	struct peer first = peer_of(arg[0], arg[2]), to = peer_of(arg[1], arg[2]);
	struct iovec data = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct mmsghdr message[2] = {
		{ .msg_hdr = { .msg_name = &first.sa, .msg_namelen = first.size,
			       .msg_iov = &data, .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_name = &to.sa, .msg_namelen = to.size,
			       .msg_iov = &data, .msg_iovlen = 1 } },
	};
	int fd = socket(to.sa.sa_family, SOCK_DGRAM, 0), sent;

	if (fd < 0)
		return errno;
	sent = sendmmsg(fd, message, 2, 0);
	if (sent == 1)
		sent = sendmmsg(fd, message + 1, 1, 0); /* says why */
	close(fd);
	return result(sent);
}

/* Sends on a socket that was made outside: the descriptor's number and a peer. */
static int udp_inherited(char *const *arg)
{
	struct peer to = peer_of(arg[1], arg[2]);

	return result(sendto(number(arg[0]), "x", 1, 0, &to.sa, to.size));
}

const struct attempt net_attempts[] = {
	{ "tcp", 2, tcp },
	{ "tcp-mapped", 2, tcp_mapped },
	{ "tcp-fastopen-flag", 2, tcp_fastopen_flag },
	{ "tcp-fastopen-msg", 2, tcp_fastopen_msg },
	{ "tcp-fastopen-option", 2, tcp_fastopen_option },
	{ "tcp-reconnect", 3, tcp_reconnect },
	{ "tcp-bound-zero", 3, tcp_bound_zero },
	{ "mptcp", 2, mptcp },
	{ "udp-sendto", 2, udp_sendto },
	{ "udp-mapped", 2, udp_mapped },
	{ "udp-v4-on-v6", 2, udp_v4_on_v6 },
	{ "udp-sendmsg", 2, udp_sendmsg },
	{ "udp-sendmmsg", 2, udp_sendmmsg },
	{ "udp-connect", 2, udp_connect },
	{ "udp-connect-mapped", 2, udp_connect_mapped },
	{ "udp-connect-v4-on-v6", 2, udp_connect_v4_on_v6 },
	{ "udp-reaim", 3, udp_reaim },
	{ "udp-reconnect", 3, udp_reconnect },
	{ "udp-cork", 3, udp_cork },
	{ "udp-unspec", 2, udp_unspec },
	{ "udp-addrform", 3, udp_addrform },
	{ "udp-second-message", 3, udp_second_message },
	{ "udp-inherited", 3, udp_inherited },
	{ "udplite", 2, udplite },
	{ NULL, 0, NULL },
};
