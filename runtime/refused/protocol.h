/* SPDX-License-Identifier: MIT */
/*
 * Between caverun and cave-report: descriptors at fixed numbers; an answer at the beginning, which is DENIALS_OK or why
 * not; then caverun tells what it knows of host names, says DENIALS_NONE if nothing was started after all, and shuts
 * its end down; and the answer to that is how much was refused, if it could be read.
 */
#ifndef CAVE_RUNTIME_REFUSED_PROTOCOL_H
#define CAVE_RUNTIME_REFUSED_PROTOCOL_H

#include <stdint.h>

enum { DENIALS_GROUP = 3, DENIALS_SOCKET, DENIALS_LOG, DENIALS_FDS_END };

#define DENIALS_ANSWER_MAX 300
#define DENIALS_OK "ok"
#define DENIALS_NONE "none"

enum denials_kind {
	DENIALS_ADDRESS, /* a granted name has this address */
	DENIALS_LOOKUP, /* a name was asked for and refused */
};

enum denials_why {
	DENIALS_NO_RULE,
	DENIALS_DENIED, /* by name */
	DENIALS_ELSEWHERE, /* it is granted, and its addresses are not where the rules say */
	DENIALS_WHYS,
};

struct denials_told {
	uint32_t kind; /* enum denials_kind */
	uint32_t why; /* LOOKUP: enum denials_why */
	uint32_t word[4]; /* ADDRESS: in host order; IPv4 is mapped */
	char name[256]; /* LOOKUP: ends with a NUL */
};

struct denials_counted {
	uint64_t refused; /* calls and packets, but for */
	uint64_t probes; /* connected to look for a route, by which nothing was sent */
	uint64_t lookups; /* of names */
};

#endif
