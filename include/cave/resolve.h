/* SPDX-License-Identifier: MIT */
/*
 * Between the resolver of a run and what started it: messages on a connected pair of SOCK_SEQPACKET, one struct each.
 * The resolver has no access to the run's map: it asks for every address, and answers the tool when it stands there.
 */
#ifndef CAVE_RESOLVE_H
#define CAVE_RESOLVE_H

#include <stdint.h>

enum cave_resolve_kind {
	CAVE_RESOLVE_READY, /* questions are answered from now on; no answer is awaited */
	CAVE_RESOLVE_ADMIT, /* put the address in the map; the answer is a struct cave_resolve_answer */
	CAVE_RESOLVE_REFUSED, /* for the report: the tool asked for this name, which no rule grants; no answer */
};

struct cave_resolve_message {
	uint32_t kind; /* enum cave_resolve_kind */
	uint32_t classes; /* ADMIT: bit i for class i of the policy's record */
	uint32_t address[4]; /* ADMIT: as struct host_address; IPv4 is mapped (::ffff:a.b.c.d) */
	uint64_t expiry; /* ADMIT: CLOCK_MONOTONIC in nanoseconds; UINT64_MAX: never */
	uint32_t type; /* REFUSED: of the question */
	char name[256]; /* ADMIT, REFUSED: in lower case, ends with a NUL */
};

struct cave_resolve_answer {
	int32_t error; /* 0, or an errno: the address is not in the map */
};

/* A record's time to live is kept within these bounds; its address stays for the grace beyond it.  Seconds. */
enum { CAVE_RESOLVE_TTL_LEAST = 10, CAVE_RESOLVE_TTL_MOST = 86400, CAVE_RESOLVE_GRACE = 20 };

/* Live addresses: of one name, and of one run. */
enum { CAVE_RESOLVE_PER_NAME = 64, CAVE_RESOLVE_PER_RUN = 1024 };

#endif
