/* SPDX-License-Identifier: MIT */
/*
 * Attempts that begin at an endpoint of a `listen`: what a socket that is bound there, listens there or came of it
 * can be made to reach.  Each takes the endpoint first, and the peer that it is not to reach last.
 */
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

#ifndef IP_FREEBIND
#define IP_FREEBIND 15
#endif

enum { BACKLOG = 8 };

static int disconnect(int fd)
{
	const struct sockaddr_in6 none = { .sin6_family = AF_UNSPEC };

	return result(connect(fd, (const struct sockaddr *)&none, sizeof none));
}

/* A socket bound to the endpoint; -1 and errno. */
static int bound(const char *address, const char *port, int flags)
{
	struct peer at = peer_of(address, port);
	int one = 1, fd = socket(at.sa.sa_family, SOCK_STREAM | flags, 0);

	if (fd < 0)
		return -1;
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) && !bind(fd, &at.sa, at.size))
		return fd;
	close(fd);
	return -1;
}

/* One that came in within three seconds; -1 and errno. */
static int accepted(int fd)
{
	struct timeval three = { .tv_sec = 3 };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &three, sizeof three) || listen(fd, BACKLOG))
		return -1;
	return accept(fd, NULL, NULL);
}

static int finish(int fd, int error)
{
	close(fd);
	return error;
}

static int connect_bound(char *const *arg)
{
	struct peer to = peer_of(arg[2], arg[3]);
	int fd = bound(arg[0], arg[1], SOCK_NONBLOCK);

	return finish(fd, fd < 0 ? errno : connect_wait(fd, &to));
}

static int fastopen_bound(char *const *arg)
{
	struct peer to = peer_of(arg[2], arg[3]);
	int fd = bound(arg[0], arg[1], 0);

	return finish(fd, fd < 0 ? errno : result(sendto(fd, "x", 1, MSG_FASTOPEN, &to.sa, to.size)));
}

/* It listens, stops, and connects from where it listened. */
static int connect_listening(char *const *arg)
{
	struct peer to = peer_of(arg[2], arg[3]);
	int fd = bound(arg[0], arg[1], SOCK_NONBLOCK);
	int error = fd < 0 ? errno : result(listen(fd, BACKLOG));

	if (!error)
		error = disconnect(fd);
	if (!error)
		error = connect_wait(fd, &to);
	return finish(fd, error);
}

/* What came in is disconnected and aimed elsewhere, with its endpoint. */
static int connect_accepted(char *const *arg)
{
	struct peer to = peer_of(arg[2], arg[3]);
	int fd = bound(arg[0], arg[1], 0), peer = fd < 0 ? -1 : accepted(fd);
	int error = peer < 0 ? errno : disconnect(peer);

	close(fd);
	if (!error)
		error = result(connect(peer, &to.sa, to.size));
	return finish(peer, error);
}

static int fastopen_accepted(char *const *arg)
{
	struct peer to = peer_of(arg[2], arg[3]);
	int fd = bound(arg[0], arg[1], 0), peer = fd < 0 ? -1 : accepted(fd);
	int error = peer < 0 ? errno : disconnect(peer);

	close(fd);
	if (!error)
		error = result(sendto(peer, "x", 1, MSG_FASTOPEN, &to.sa, to.size));
	return finish(peer, error);
}

/* A connection that came in names a peer with its data; TCP passes it over. */
static int send_accepted(char *const *arg)
{
	struct peer to = peer_of(arg[2], arg[3]);
	int fd = bound(arg[0], arg[1], 0), peer = fd < 0 ? -1 : accepted(fd);
	int error = peer < 0 ? errno : result(sendto(peer, "x", 1, 0, &to.sa, to.size));

	close(fd);
	return finish(peer, error);
}

/*
 * A socket that was connected to a mapped address keeps sending IPv4 (tcp_v6_connect(), net/ipv6/tcp_ipv6.c), and
 * what comes in at it may have that of it.  Endpoint, then the peer that it is connected to first.
 */
static int accept_mapped(char *const *arg)
{
	struct peer first = peer_mapped(arg[2], arg[3]), at = peer_of(arg[0], arg[1]);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0), peer;
	int error = fd < 0 ? errno : connect_wait(fd, &first);

	if (!error)
		error = disconnect(fd);
	if (!error)
		error = result(bind(fd, &at.sa, at.size));
	if (!error)
		error = result(listen(fd, BACKLOG));
	for (int tries = 0; !error && tries < 30; tries++) {
		peer = accept(fd, NULL, NULL);
		if (peer < 0) {
			usleep(100000);
			continue;
		}
		error = result(send(peer, "x", 1, MSG_NOSIGNAL));
		close(peer);
		return finish(fd, error);
	}
	return finish(fd, error ? error : EAGAIN);
}

/* The first data may come with the SYN. */
static int accept_fastopen(char *const *arg)
{
	int fd = bound(arg[0], arg[1], 0), queue = BACKLOG, peer;
	char byte;

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof queue))
		return finish(fd, errno);
	peer = accepted(fd);
	if (peer < 0)
		return finish(fd, errno);
	close(fd);
	if (recv(peer, &byte, 1, 0) != 1)
		return finish(peer, ECONNRESET);
	return finish(peer, result(send(peer, &byte, 1, MSG_NOSIGNAL)));
}

/* An address that is not the host's. */
static int bind_foreign(char *const *arg)
{
	struct peer at = peer_of(arg[0], arg[1]);
	int one = 1, fd = socket(at.sa.sa_family, SOCK_STREAM, 0);
	int error = fd < 0 ? errno : result(setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof one));

	if (!error)
		error = result(bind(fd, &at.sa, at.size));
	if (!error)
		error = result(listen(fd, BACKLOG));
	return finish(fd, error);
}

/* Whether the socket takes IPv4 too is changed after it is bound. */
static int dual_late(char *const *arg)
{
	int fd = bound(arg[0], arg[1], 0), off = 0;

	if (fd < 0)
		return errno;
	return finish(fd, result(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off)));
}

/* A datagram socket at the endpoint and, within three seconds, the first datagram's sender; -1 and errno. */
static int visited(const char *address, const char *port, struct peer *sender)
{
	struct peer at = peer_of(address, port);
	struct timeval three = { .tv_sec = 3 };
	int fd = socket(at.sa.sa_family, SOCK_DGRAM, 0);
	char byte;

	sender->size = sizeof sender->in6;
	if (fd >= 0 && !bind(fd, &at.sa, at.size) && !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &three, sizeof three) &&
	    recvfrom(fd, &byte, 1, 0, &sender->sa, &sender->size) == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int answer(char *const *arg)
{
	struct peer to;
	int fd = visited(arg[0], arg[1], &to);

	return finish(fd, fd < 0 ? errno : result(sendto(fd, "x", 1, 0, &to.sa, to.size)));
}

static int answer_connected(char *const *arg)
{
	struct peer to;
	int fd = visited(arg[0], arg[1], &to);
	int error = fd < 0 ? errno : result(connect(fd, &to.sa, to.size));

	if (!error)
		error = result(send(fd, "x", 1, 0));
	return finish(fd, error);
}

/* The next port of who has sent something. */
static int answer_next_port(char *const *arg)
{
	struct peer to;
	int fd = visited(arg[0], arg[1], &to);

	if (fd < 0)
		return errno;
	to.in.sin_port = htons((uint16_t)(ntohs(to.in.sin_port) + 1)); /* at one place in both families */
	return finish(fd, result(sendto(fd, "x", 1, 0, &to.sa, to.size)));
}

/* From a socket that nobody has sent anything to. */
static int answer_from_another(char *const *arg)
{
	struct peer to;
	int fd = visited(arg[0], arg[1], &to), other = fd < 0 ? -1 : socket(to.sa.sa_family, SOCK_DGRAM, 0);
	int error = other < 0 ? errno : result(sendto(other, "x", 1, 0, &to.sa, to.size));

	close(other);
	return finish(fd, error);
}

/* To somebody else, after a datagram has come. */
static int answer_stranger(char *const *arg)
{
	struct peer sender, to = peer_of(arg[2], arg[3]);
	int fd = visited(arg[0], arg[1], &sender);

	return finish(fd, fd < 0 ? errno : result(sendto(fd, "x", 1, 0, &to.sa, to.size)));
}

/* Two senders: the address of the one with the port of the other.  They differ in both. */
static int answer_mixed(char *const *arg)
{
	struct peer one, two = { .size = sizeof two.in6 };
	int fd = visited(arg[0], arg[1], &one);
	char byte;

	if (fd < 0)
		return errno;
	do
		if (recvfrom(fd, &byte, 1, 0, &two.sa, &two.size) != 1)
			return finish(fd, errno);
	while (two.in.sin_port == one.in.sin_port);
	two.in.sin_port = one.in.sin_port;
	return finish(fd, result(sendto(fd, "x", 1, 0, &two.sa, two.size)));
}

/* The first sender, after everybody else who sends something within a second has. */
static int answer_late(char *const *arg)
{
	struct timeval silence = { .tv_sec = 3 }; /* a sender that is short of processor time pauses, too */
	struct peer to;
	int fd = visited(arg[0], arg[1], &to);
	char byte;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence))
		return finish(fd, errno);
	while (recv(fd, &byte, 1, 0) >= 0)
		;
	return finish(fd, result(sendto(fd, "x", 1, 0, &to.sa, to.size)));
}

const struct attempt listen_attempts[] = {
	{ "answer", 2, answer },
	{ "answer-connected", 2, answer_connected },
	{ "answer-next-port", 2, answer_next_port },
	{ "answer-from-another", 2, answer_from_another },
	{ "answer-stranger", 4, answer_stranger },
	{ "answer-mixed", 2, answer_mixed },
	{ "answer-late", 2, answer_late },
	{ "connect-bound", 4, connect_bound },
	{ "fastopen-bound", 4, fastopen_bound },
	{ "connect-listening", 4, connect_listening },
	{ "connect-accepted", 4, connect_accepted },
	{ "fastopen-accepted", 4, fastopen_accepted },
	{ "send-accepted", 4, send_accepted },
	{ "accept-mapped", 4, accept_mapped },
	{ "accept-fastopen", 2, accept_fastopen },
	{ "bind-foreign", 2, bind_foreign },
	{ "dual-late", 2, dual_late },
	{ NULL, 0, NULL },
};
