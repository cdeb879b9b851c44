/* SPDX-License-Identifier: MIT */
/* What a sandbox must not reach, made for the purpose: nothing else on the host is touched. */
#ifndef CAVE_RUNTIME_CHECK_OUTSIDE_H
#define CAVE_RUNTIME_CHECK_OUTSIDE_H

#include <sys/types.h>

#include "runtime/check/check.h"

struct outside {
	struct scratch scratch; /* in a home, or as near to it as can be had */
	pid_t victim; /* a process of the same user; -1 if there is none */
	int tcp, udp, unix_stream, unix_datagram; /* descriptors, or -1 */
	unsigned tcp_port, udp_port;
	const char *unix_name;
};

/* Makes it, the scratch folder in `home`.  After a failure nothing is left. */
bool outside_make(struct memory *m, const char *home, struct outside *out, struct refusal *r);
void outside_remove(struct outside *o);

#endif
