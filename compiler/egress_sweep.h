/* SPDX-License-Identifier: MIT */
/*
 * What the rules say, for all addresses and ports: address by address, where something changes.  It is the direct
 * evaluation of the rules (egress_reference.h) that is asked, and changes are looked for at the ends of operands, and
 * of what carries these, only: between two such places one address speaks for all.  The exception are Teredo
 * addresses, which carry their client bit by bit.
 */
#ifndef CAVE_COMPILER_EGRESS_SWEEP_H
#define CAVE_COMPILER_EGRESS_SWEEP_H

#include "compiler/egress_prover.h"
#include "compiler/egress_walk.h"

#define MAPPED ((walk_number)0xffff << 32) /* ::ffff:0:0 */
#define MAPPED_LAST (MAPPED | UINT32_MAX)

/*
 * What one and the same rules allow, by protocol: ranges of ports, in order.  The last is of datagrams of IPv4 sockets
 * without a peer: only what can be a mixture of two peers that are allowed is judged by them.
 */
enum { MIXED = NET_PROTOS, VERDICTS };

struct verdict {
	const struct net_ports *range[VERDICTS];
	size_t n[VERDICTS];
};

/* From this address on. */
struct stretch {
	walk_number from;
	const struct verdict *verdict;
};

struct sweep {
	struct stretch *stretch;
	size_t n, cap;
	bool vague; /* of some Teredo addresses nothing is known */
};

struct sweeps {
	struct prover *v;
	struct sweep peer[NET_FAMILIES], own[NET_FAMILIES];
	struct known **known;
};

/* Whether what an IPv6 address carries as a client makes a difference: then Teredo addresses differ bit by bit. */
bool sweeps_are_vague(const struct policy *p);

/* With the mixtures, if those are asked for. */
void sweeps_init(struct sweeps *s, struct prover *v, bool mixed);

/* The stretch that holds the address. */
size_t sweep_find(const struct sweep *w, walk_number at);

/*
 * Whether all addresses and ports of these, ends included, are allowed, or none are; else *at and *port are one that is
 * not as it should be.  Mapped addresses of IPv6 are none.
 */
bool sweep_agrees(const struct sweeps *s, bool own, unsigned verdict, enum net_family family,
		  const walk_number address[2], const walk_number ports[2], bool allowed, walk_number *at,
		  uint32_t *port);

/* The same of the ports of one verdict. */
bool verdict_agrees(const struct verdict *t, unsigned verdict, uint32_t lo, uint32_t hi, bool allowed, uint32_t *bad);

/* Whether an address lies where nothing is known of it. */
bool sweep_is_vague(const struct sweep *w, walk_number at);

#endif
