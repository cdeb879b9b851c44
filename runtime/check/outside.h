/* SPDX-License-Identifier: MIT */
/* What a sandbox must not reach, made for the purpose: nothing else on the host is touched. */
#ifndef CAVE_RUNTIME_CHECK_OUTSIDE_H
#define CAVE_RUNTIME_CHECK_OUTSIDE_H

#include <sys/types.h>

#include "runtime/check/check.h"

struct outside {
	struct scratch scratch; /* in a home, or as near to it as can be had */
	pid_t victim; /* a process of the same user; -1 if there is none */
	/* Descriptors, or -1; those of IPv6 may not be to be had. */
	int tcp, udp, tcp6, udp6, unix_stream, unix_datagram, path_stream, path_datagram;
	unsigned tcp_port, udp_port, tcp6_port, udp6_port;
	const char *unix_name;
	const char *policy; /* the file of the policy that is tested */
	const char *group; /* cgroup.procs of the group that we are in; a path that is not there if there is none */
};

/* Makes it, the scratch folder in `home`.  After a failure nothing is left. */
bool outside_make(struct memory *m, const char *home, const char *policy, struct outside *out, struct refusal *r);
void outside_remove(struct outside *o);

#endif
