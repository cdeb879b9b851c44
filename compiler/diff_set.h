/* SPDX-License-Identifier: MIT */
/* Differences of sets of destinations, exact and in the one form that bpf/netset.h has for each set. */
#ifndef CAVE_COMPILER_DIFF_SET_H
#define CAVE_COMPILER_DIFF_SET_H

#include "bpf/arena.h"
#include "bpf/netset.h"

/*
 * What is in `from` and not in `what`: destinations, and endpoints of one's own.  `what` may be NULL, for nothing.
 * Lines are those of `from`.  The host's name servers, which are not known here, are left out.
 */
void net_set_subtract(struct arena *a, const struct net_set *from, const struct net_set *what, struct net_set *out);

#endif
