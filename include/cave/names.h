/* SPDX-License-Identifier: MIT */
/*
 * The maps of a policy that grants by host name: what the programs and the runtime tell each other.  Runs are told
 * apart by the id of their control group (bpf_get_current_cgroup_id(), the inode number of its folder).
 */
#ifndef CAVE_NAMES_H
#define CAVE_NAMES_H

#include <stdint.h>

#include "cave/artefact.h"

/* Names of the maps (CAVE_RECORD_MAP). */
#define CAVE_NAMES_RUN_MAP "names_run" /* hash: uint64_t, the run; struct cave_names_run */
#define CAVE_NAMES_LIVE_MAP "names_live" /* hash: struct cave_names_key; struct cave_names_until */
#define CAVE_NAMES_ASKED_MAP "names_asked" /* LRU hash: uint64_t, the cookie of a socket; struct cave_names_asked */

/* The run's resolver: the ports at 127.0.0.1 and ::1, in network order; 0: there is none. */
struct cave_names_run {
	uint32_t port4, port6;
};

/* An address in host order, the most significant word first; IPv4 is mapped. */
struct cave_names_key {
	uint64_t run;
	uint32_t address[4];
};

/*
 * Until when the address is one of a granted name, for each set of ports of the policy: CLOCK_MONOTONIC in nanoseconds.
 * 0: it never was.  The runtime removes entries only when they are over.
 */
struct cave_names_until {
	uint64_t until[CAVE_HOST_CLASSES];
};

/* The name server that a socket has asked. */
struct cave_names_asked {
	uint32_t address[4]; /* as above */
	uint32_t port; /* in host order */
	uint32_t zero;
};

/* Entries: of runs and addresses, of all runs of a policy together; of sockets, whose oldest are forgotten. */
enum { CAVE_NAMES_RUNS = 1024, CAVE_NAMES_LIVES = 16384, CAVE_NAMES_SOCKETS = 8192 };

/* The index of the loopback device in every network namespace: LOOPBACK_IFINDEX, include/net/flow.h of Linux. */
enum { CAVE_NAMES_DEVICE = 1 };

#endif
