/* SPDX-License-Identifier: MIT */
/* Which addresses granted names have now, and the rules about them. */
#ifndef CAVE_RUNTIME_RESOLVE_LIVE_H
#define CAVE_RUNTIME_RESOLVE_LIVE_H

#include "cave/resolve.h"
#include "runtime/resolve_message.h"

/* An address of a name, until when. */
struct live_address {
	struct host_address address;
	uint64_t expiry; /* as in struct cave_resolve_message */
};

struct live_name {
	char name[NAME_TEXT];
	struct live_address address[CAVE_RESOLVE_PER_NAME];
	size_t n;
};

/* A prefix by which a network carries IPv4 in IPv6 (RFC 6052), of 96 bits. */
struct nat64 {
	uint32_t word[3];
};

struct live {
	const struct hosts *hosts;
	int supervisor; /* the socket to who keeps the map */
	struct nat64 nat64;
	struct live_name *name[CAVE_RESOLVE_PER_RUN]; /* NULL beyond `n` */
	size_t n;
};

enum admission {
	ADMITTED,
	NOT_HERE, /* the address is not where the rule says: it is left out of the answer */
	NO_ROOM, /* the bounds, or the map: the lookup fails */
	SUPERVISOR_GONE,
};

/*
 * Makes an address of a granted name reachable for the ports of every grant that speaks of the name, as long as the
 * record says.  `now` is CLOCK_MONOTONIC in nanoseconds; a ttl of UINT32_MAX is for ever.
 */
enum admission live_admit(struct live *l, const char *name, const struct host_address *a, uint32_t ttl, uint64_t now);

/* Admits what /etc/hosts says of granted names, from the text `hosts`.  False if the supervisor is gone. */
bool live_admit_file(struct live *l, char *text, uint64_t now);

#endif
