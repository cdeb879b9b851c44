/* SPDX-License-Identifier: MIT */
/*
 * Between the resolver of a run and what started it: messages on a connected pair of SOCK_SEQPACKET, one each.  The
 * resolver has no access to the run's map: it says which addresses a name has, is told which of them may be reached,
 * and answers the tool when those stand there.  Who started it trusts nothing of that: the name has to be one that the
 * policy grants, and the address where its rules say.
 */
#ifndef CAVE_RESOLVE_H
#define CAVE_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

/* Live addresses: of one name, and of one run. */
enum { CAVE_RESOLVE_PER_NAME = 64, CAVE_RESOLVE_PER_RUN = 1024 };

/* A record's time to live is kept within these bounds; its address stays for the grace beyond it.  Seconds. */
enum { CAVE_RESOLVE_TTL_LEAST = 10, CAVE_RESOLVE_TTL_MOST = 86400, CAVE_RESOLVE_GRACE = 20 };

enum cave_resolve_kind {
	CAVE_RESOLVE_ADMIT = 1, /* the name has these addresses; the answer is a struct cave_resolve_answer */
	CAVE_RESOLVE_REFUSED, /* for the report: the tool asked for this name, which no rule grants; no answer */
};

struct cave_resolve_address {
	uint32_t word[4]; /* in host order, the most significant first; IPv4 is mapped (::ffff:a.b.c.d) */
	uint32_t ttl; /* seconds */
};

/* Without the addresses beyond `n`: cave_resolve_size() bytes. */
struct cave_resolve_message {
	uint32_t kind; /* enum cave_resolve_kind */
	uint32_t type; /* REFUSED: of the question */
	uint32_t n; /* ADMIT: addresses; else 0 */
	char name[256]; /* ADMIT, REFUSED: in lower case, ends with a NUL */
	struct cave_resolve_address address[CAVE_RESOLVE_PER_NAME];
};

static inline size_t cave_resolve_size(uint32_t n)
{
	return offsetof(struct cave_resolve_message, address) + n * sizeof(struct cave_resolve_address);
}

struct cave_resolve_answer {
	int32_t error; /* 0, or an errno: there is no room, or the message is none of a resolver's */
	uint32_t zero;
	uint64_t admitted; /* bit i: address i may be reached; the others are not where the rules say */
};

#endif
