/* SPDX-License-Identifier: MIT */
/*
 * Attempts to make the kernel send where no call was aimed: by a socket's two address families and by
 * calls that race.  Each names granted peers only; what leaves is seen on the wire.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

static int disconnect(int fd)
{
	const struct sockaddr_in6 none = { .sin6_family = AF_UNSPEC };

	return result(connect(fd, (const struct sockaddr *)&none, sizeof none));
}

/* An IPv6 socket with a mapped peer, a datagram to an address of no family. */
static int mixed_unspec(char *const *arg)
{
	struct peer to = peer_mapped(arg[0], arg[1]);
	const struct sockaddr_in6 none = { .sin6_family = AF_UNSPEC };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(connect(fd, &to.sa, to.size));

	if (!error)
		error = result(sendto(fd, "x", 1, 0, (const struct sockaddr *)&none, sizeof none));
	close(fd);
	return error;
}

/* A datagram that waits for more, to IPv6, on a socket that is then connected to IPv4. */
static int waiting(char *const *arg)
{
	struct peer first = peer_of(arg[0], arg[2]), then = peer_mapped(arg[1], arg[2]);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	if (fd >= 0)
		sendto(fd, "x", 1, MSG_MORE, &first.sa, first.size);
	if (fd >= 0)
		connect(fd, &then.sa, then.size);
	return fd;
}

static int mixed_cork(char *const *arg)
{
	int fd = waiting(arg), error = fd < 0 ? errno : result(send(fd, "y", 1, 0));

	close(fd);
	return error;
}

/* Without a peer again before it leaves. */
static int mixed_cork_disconnect(char *const *arg)
{
	int fd = waiting(arg), error = fd < 0 ? errno : disconnect(fd), on = 1, off = 0;

	if (!error)
		error = result(setsockopt(fd, IPPROTO_UDP, UDP_CORK, &on, sizeof on));
	if (!error)
		error = result(setsockopt(fd, IPPROTO_UDP, UDP_CORK, &off, sizeof off));
	close(fd);
	return error;
}

static int splice_byte(int fd, unsigned flags)
{
	int end[2], error = result(pipe(end));

	if (error)
		return error;
	error = result(write(end[1], "x", 1));
	if (!error)
		error = result(splice(end[0], NULL, fd, NULL, 1, flags));
	close(end[0]);
	close(end[1]);
	return error;
}

/* The same by splice, which lets its datagrams wait. */
static int mixed_cork_splice(char *const *arg)
{
	struct peer first = peer_of(arg[0], arg[2]), then = peer_mapped(arg[1], arg[2]);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(connect(fd, &first.sa, first.size));

	if (!error)
		error = splice_byte(fd, SPLICE_F_MORE);
	if (!error)
		error = result(connect(fd, &then.sa, then.size));
	if (!error)
		error = splice_byte(fd, 0);
	close(fd);
	return error;
}

/* TCP to IPv4 by an IPv6 socket, which is then aimed at an IPv6 peer with another port. */
static int mixed_tcp(char *const *arg)
{
	struct peer first = peer_mapped(arg[0], arg[1]), then = peer_of(arg[2], arg[3]);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = fd < 0 ? errno : connect_wait(fd, &first);

	if (!error)
		error = disconnect(fd);
	if (!error)
		error = connect_wait(fd, &then);
	close(fd);
	return error;
}

struct race {
	int fd;
	struct peer peer[2];
	atomic_bool over;
};

static void *change_peer(void *of)
{
	struct race *r = of;

	while (!r->over)
		for (int i = 0; i < 2; i++)
			connect(r->fd, &r->peer[i].sa, r->peer[i].size);
	return NULL;
}

/* Sends while another thread connects the socket to one peer and the other. */
static int run_race(struct race *r)
{
	struct timespec start, now;
	pthread_t thread;
	int error = r->fd < 0 ? errno : pthread_create(&thread, NULL, change_peer, r);

	if (error)
		return error;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 1000; i++)
			send(r->fd, "x", 1, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 2);
	r->over = true;
	pthread_join(thread, NULL);
	close(r->fd);
	return 0;
}

static int mixed_race(char *const *arg)
{
	struct race r = { .fd = socket(AF_INET, SOCK_DGRAM, 0),
			  .peer = { peer_of(arg[0], arg[1]), peer_of(arg[2], arg[3]) } };

	return run_race(&r);
}

/* An IPv6 socket that changes between its families. */
static int mixed_race6(char *const *arg)
{
	struct race r = { .fd = socket(AF_INET6, SOCK_DGRAM, 0),
			  .peer = { peer_mapped(arg[0], arg[1]), peer_of(arg[2], arg[3]) } };

	return run_race(&r);
}

const struct attempt mixed_attempts[] = {
	{ "mixed-unspec", 2, mixed_unspec },
	{ "mixed-cork", 3, mixed_cork },
	{ "mixed-cork-disconnect", 3, mixed_cork_disconnect },
	{ "mixed-cork-splice", 3, mixed_cork_splice },
	{ "mixed-tcp", 4, mixed_tcp },
	{ "mixed-race", 4, mixed_race },
	{ "mixed-race6", 4, mixed_race6 },
	{ NULL, 0, NULL },
};
