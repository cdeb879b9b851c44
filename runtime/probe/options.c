/* SPDX-License-Identifier: MIT */
/* Attempts to send packets elsewhere than the socket address says: routing headers, IP options, multicast. */
#include <arpa/inet.h>
#include <linux/in6.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

/*
 * A segment routing header with one hop (struct ipv6_sr_hdr, linux/seg6.h).  The kernel puts the socket's
 * destination into segment 0 and sends the packet to the hop (ipv6_push_rthdr4, net/ipv6/exthdrs.c).
 */
struct routing {
	uint8_t next, length, type, left;
	uint8_t first, flags;
	uint16_t tag;
	struct in6_addr segment[2];
};

static struct routing routing_by(const char *hop)
{
	struct routing r = { .length = 4, .type = 4, .left = 1, .first = 1 };

	inet_pton(AF_INET6, hop, &r.segment[1]);
	return r;
}

/* A type 2 routing header: the packet goes to the hop, the socket's destination is its home address. */
struct routing2 {
	uint8_t next, length, type, left;
	uint32_t reserved;
	struct in6_addr home;
};

/* Sends one byte with a control message. */
static int send_with(int fd, const struct peer *to, int level, int type, const void *data, size_t size)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(64)];
	} control = { .room = { 0 } };
	struct iovec byte = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_name = (void *)&to->sa,
		.msg_namelen = to->size,
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(size),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), data, size);
	return result(sendmsg(fd, &message, 0));
}

static int option_then_send(int level, int type, const void *data, size_t size, const struct peer *to)
{
	int fd = socket(to->sa.sa_family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(setsockopt(fd, level, type, data, (socklen_t)size));

	if (!error)
		error = result(sendto(fd, "x", 1, 0, &to->sa, to->size));
	close(fd);
	return error;
}

static int control_send(int level, int type, const void *data, size_t size, const struct peer *to)
{
	int fd = socket(to->sa.sa_family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : send_with(fd, to, level, type, data, size);

	close(fd);
	return error;
}

/* hop, destination, port */
static int rthdr_udp(char *const *arg)
{
	struct routing r = routing_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);

	return option_then_send(IPPROTO_IPV6, IPV6_RTHDR, &r, sizeof r, &to);
}

/* As a control message only type 2 is taken (ip6_datagram_send_ctl, net/ipv6/datagram.c). */
static struct routing2 routing2_by(const char *hop)
{
	struct routing2 r = { .length = 2, .type = 2, .left = 1 };

	inet_pton(AF_INET6, hop, &r.home);
	return r;
}

static int rthdr_cmsg(char *const *arg)
{
	struct routing2 r = routing2_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);

	return control_send(IPPROTO_IPV6, IPV6_RTHDR, &r, sizeof r, &to);
}

static int rthdr_tcp(char *const *arg)
{
	struct routing r = routing_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = fd < 0 ? errno :
			     result(setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &r, sizeof r));

	if (!error)
		error = connect_wait(fd, &to);
	close(fd);
	return error;
}

/* The header set after the connect decision was taken. */
static int rthdr_late(char *const *arg)
{
	struct routing r = routing_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(connect(fd, &to.sa, to.size));

	if (!error)
		error = result(setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &r, sizeof r));
	if (!error)
		error = result(send(fd, "x", 1, 0));
	close(fd);
	return error;
}

/* The same option by its RFC 2292 name. */
static int rthdr_2292(char *const *arg)
{
	struct routing2 r = routing2_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);

	return control_send(IPPROTO_IPV6, IPV6_2292RTHDR, &r, sizeof r, &to);
}

/* All of a packet's options in one: IPV6_2292PKTOPTIONS takes control messages. */
static int rthdr_pktoptions(char *const *arg)
{
	struct routing2 r = routing2_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct routing2))];
	} control = { .room = { 0 } };

	control.header.cmsg_level = IPPROTO_IPV6;
	control.header.cmsg_type = IPV6_2292RTHDR;
	control.header.cmsg_len = CMSG_LEN(sizeof r);
	memcpy(CMSG_DATA(&control.header), &r, sizeof r);
	return option_then_send(IPPROTO_IPV6, IPV6_2292PKTOPTIONS, &control, sizeof control, &to);
}

static int rthdr_type2(char *const *arg)
{
	struct routing2 r = routing2_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);

	return option_then_send(IPPROTO_IPV6, IPV6_RTHDR, &r, sizeof r, &to);
}

/* The level and the option with bits that the kernel drops: both are ints. */
static int rthdr_high(char *const *arg)
{
	struct routing r = routing_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno :
			     result(syscall(SYS_setsockopt, fd, 0x100000000ul | IPPROTO_IPV6,
					    0x100000000ul | IPV6_RTHDR, &r, sizeof r));

	if (!error)
		error = result(sendto(fd, "x", 1, 0, &to.sa, to.size));
	close(fd);
	return error;
}

/* A padded options header of 8 bytes. */
static const uint8_t padding[8] = { 0, 0, 1, 4 };

static int hop_options(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return option_then_send(IPPROTO_IPV6, IPV6_HOPOPTS, padding, sizeof padding, &to);
}

static int destination_options(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return option_then_send(IPPROTO_IPV6, IPV6_DSTOPTS, padding, sizeof padding, &to);
}

static int destination_options_cmsg(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);

	return control_send(IPPROTO_IPV6, IPV6_DSTOPTS, padding, sizeof padding, &to);
}

/* Loose source routing (RFC 791): no-op, type 131, length 7, pointer 4, one hop. */
struct source_route {
	uint8_t nop, type, length, pointer;
	struct in_addr hop;
};

static struct source_route source_route_by(const char *hop)
{
	struct source_route r = { .nop = 1, .type = 131, .length = 7, .pointer = 4 };

	inet_pton(AF_INET, hop, &r.hop);
	return r;
}

static int source_route(char *const *arg)
{
	struct source_route r = source_route_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);

	return option_then_send(IPPROTO_IP, IP_OPTIONS, &r, sizeof r, &to);
}

static int source_route_cmsg(char *const *arg)
{
	struct source_route r = source_route_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);

	return control_send(IPPROTO_IP, IP_RETOPTS, &r, sizeof r, &to);
}

static int source_route_tcp(char *const *arg)
{
	struct source_route r = source_route_by(arg[0]);
	struct peer to = peer_of(arg[1], arg[2]);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = fd < 0 ? errno : result(setsockopt(fd, IPPROTO_IP, IP_OPTIONS, &r, sizeof r));

	if (!error)
		error = connect_wait(fd, &to);
	close(fd);
	return error;
}

/* group, the address of the interface */
static int join4(char *const *arg)
{
	struct ip_mreq join = { .imr_multiaddr = { 0 } };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), error;

	inet_pton(AF_INET, arg[0], &join.imr_multiaddr);
	inet_pton(AF_INET, arg[1], &join.imr_interface);
	error = fd < 0 ? errno :
			 result(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join));
	close(fd);
	return error;
}

/* group, the address of the interface: joined for one source only */
static int join_source4(char *const *arg)
{
	struct ip_mreq_source join = { .imr_sourceaddr = { htonl(0xc6336402) } };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), error;

	inet_pton(AF_INET, arg[0], &join.imr_multiaddr);
	inet_pton(AF_INET, arg[1], &join.imr_interface);
	error = fd < 0 ? errno :
			 result(setsockopt(fd, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, &join, sizeof join));
	close(fd);
	return error;
}

/* group, source, the number of the interface */
static int join_source_group(char *const *arg)
{
	struct group_source_req join = { .gsr_interface = (unsigned)number(arg[2]) };
	struct peer group = peer_of(arg[0], "0"), source = peer_of(arg[1], "0");
	int level = group.sa.sa_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	int fd = socket(group.sa.sa_family, SOCK_DGRAM, 0), error;

	memcpy(&join.gsr_group, &group.sa, group.size);
	memcpy(&join.gsr_source, &source.sa, source.size);
	error = fd < 0 ? errno :
			 result(setsockopt(fd, level, MCAST_JOIN_SOURCE_GROUP, &join, sizeof join));
	close(fd);
	return error;
}

static int join6(char *const *arg)
{
	struct ipv6_mreq join = { .ipv6mr_interface = (unsigned)number(arg[1]) };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), error;

	inet_pton(AF_INET6, arg[0], &join.ipv6mr_multiaddr);
	error = fd < 0 ? errno :
			 result(setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &join, sizeof join));
	close(fd);
	return error;
}

/* The protocol-independent spelling: a group and the number of the interface. */
static int join_group(char *const *arg)
{
	struct group_req join = { .gr_interface = (unsigned)number(arg[1]) };
	struct peer group = peer_of(arg[0], "0");
	int level = group.sa.sa_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	int fd = socket(group.sa.sa_family, SOCK_DGRAM, 0), error;

	memcpy(&join.gr_group, &group.sa, group.size);
	error = fd < 0 ? errno : result(setsockopt(fd, level, MCAST_JOIN_GROUP, &join, sizeof join));
	close(fd);
	return error;
}

static int join_anycast(char *const *arg)
{
	struct ipv6_mreq join = { .ipv6mr_interface = (unsigned)number(arg[1]) };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), error;

	inet_pton(AF_INET6, arg[0], &join.ipv6mr_multiaddr);
	error = fd < 0 ? errno :
			 result(setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_ANYCAST, &join, sizeof join));
	close(fd);
	return error;
}

/* group, port, the number of the interface */
static int multicast_send(char *const *arg)
{
	struct peer group = peer_of(arg[0], arg[1]);
	struct ip_mreqn by4 = { .imr_ifindex = number(arg[2]) };
	int by6 = number(arg[2]), fd = socket(group.sa.sa_family, SOCK_DGRAM, 0), error;

	if (fd < 0)
		return errno;
	if (group.sa.sa_family == AF_INET)
		error = result(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by4, sizeof by4));
	else
		error = result(setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &by6, sizeof by6));
	if (!error)
		error = result(sendto(fd, "x", 1, 0, &group.sa, group.size));
	close(fd);
	return error;
}

/* Bytes in hexadecimal; ends the program where there are more than there is room for. */
static size_t bytes_of(const char *text, uint8_t *to, size_t max)
{
	size_t n = 0;
	unsigned byte;

	for (; sscanf(text, "%2x", &byte) == 1; text += 2) {
		if (n == max || !text[1]) {
			fprintf(stderr, "probe: not bytes: %s\n", text);
			exit(2);
		}
		to[n++] = (uint8_t)byte;
	}
	return n;
}

enum { OPTION_MAX = 64 };

/* family, type, level, option, its value in hexadecimal */
static int any_option(char *const *arg)
{
	uint8_t value[OPTION_MAX];
	size_t size = bytes_of(arg[4], value, sizeof value);
	int fd = socket(number(arg[0]), number(arg[1]), 0);
	int error = fd < 0 ? errno : result(setsockopt(fd, number(arg[2]), number(arg[3]), value, (socklen_t)size));

	close(fd);
	return error;
}

/* A datagram to an address and port, with a control message: level, type, its bytes in hexadecimal. */
static int any_control(char *const *arg)
{
	uint8_t data[OPTION_MAX];
	size_t size = bytes_of(arg[4], data, sizeof data);
	struct peer to = peer_of(arg[0], arg[1]);

	return control_send(number(arg[2]), number(arg[3]), data, size, &to);
}

static int broadcast(char *const *arg)
{
	struct peer to = peer_of(arg[0], arg[1]);
	int on = 1;

	return option_then_send(SOL_SOCKET, SO_BROADCAST, &on, sizeof on, &to);
}

const struct attempt option_attempts[] = {
	{ "rthdr-udp", 3, rthdr_udp },
	{ "rthdr-cmsg", 3, rthdr_cmsg },
	{ "rthdr-tcp", 3, rthdr_tcp },
	{ "rthdr-late", 3, rthdr_late },
	{ "rthdr-2292", 3, rthdr_2292 },
	{ "rthdr-pktoptions", 3, rthdr_pktoptions },
	{ "rthdr-high", 3, rthdr_high },
	{ "rthdr-type2", 3, rthdr_type2 },
	{ "hop-options", 2, hop_options },
	{ "destination-options", 2, destination_options },
	{ "destination-options-cmsg", 2, destination_options_cmsg },
	{ "source-route", 3, source_route },
	{ "source-route-cmsg", 3, source_route_cmsg },
	{ "source-route-tcp", 3, source_route_tcp },
	{ "join4", 2, join4 },
	{ "join-source4", 2, join_source4 },
	{ "join-source-group", 3, join_source_group },
	{ "join6", 2, join6 },
	{ "join-group", 2, join_group },
	{ "join-anycast", 2, join_anycast },
	{ "multicast-send", 3, multicast_send },
	{ "broadcast", 2, broadcast },
	{ "setsockopt", 5, any_option },
	{ "control", 5, any_control },
	{ NULL, 0, NULL },
};
