/* SPDX-License-Identifier: MIT */
/*
 * cave-probe tries things that a sandbox may refuse, and says what became of each.  An attempt is one row of a
 * table and one short function; the tables are by subject.
 */
#ifndef CAVE_RUNTIME_PROBE_H
#define CAVE_RUNTIME_PROBE_H

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

/* Returns 0 if the attempt got through, else the errno it was refused with.  `arg` holds `args` words. */
typedef int attempt_fn(char *const *arg);

struct attempt {
	const char *name;
	int args;
	attempt_fn *run;
};

/* Each table ends with a row without a name. */
extern const struct attempt net_attempts[]; /* net.c: reaching a peer */
extern const struct attempt mixed_attempts[]; /* mixed.c: what no call was aimed at */
extern const struct attempt option_attempts[]; /* options.c: routing headers, options, multicast */
extern const struct attempt local_attempts[]; /* local.c: unix sockets, socket families, listening */
extern const struct attempt listen_attempts[]; /* listen.c: from an endpoint that others may come in at */
extern const struct attempt process_attempts[]; /* process.c: other processes */
extern const struct attempt child_attempts[]; /* child.c: children, threads, exec, namespaces */
extern const struct attempt file_attempts[]; /* files.c */
extern const struct attempt kernel_attempts[]; /* kernel.c: everything else, by call number */
extern const struct attempt state_attempts[]; /* state.c: what the tool was started with */

/* The result of a call that returns -1 and sets errno. */
static inline int result(long r)
{
	return r < 0 ? errno : 0;
}

struct peer {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
	socklen_t size;
};

/* An address and a port as a socket address; a bad one ends the program. */
struct peer peer_of(const char *address, const char *port);

/* IPv4 `address` as the IPv6 address ::ffff:ADDRESS. */
struct peer peer_mapped(const char *address, const char *port);

/* Waits until a non-blocking connect is decided; 0 or the errno. */
int connect_wait(int fd, const struct peer *to);

int number(const char *text);

#endif
