/* SPDX-License-Identifier: MIT */
/* Between the stages of egress_resolve(): what carries IPv4, and the checks on the finished set. */
#ifndef CAVE_COMPILER_EGRESS_SET_H
#define CAVE_COMPILER_EGRESS_SET_H

#include "compiler/egress.h"
#include "compiler/egress_addr.h"

/* IPv6 prefixes whose addresses hold an IPv4 address that a translator or tunnel delivers to. */
enum carrier {
	CARRIER_COMPATIBLE, /* ::a.b.c.d, RFC 4291 2.5.5.1 */
	CARRIER_NAT64, /* 64:ff9b::a.b.c.d, RFC 6052 */
	CARRIER_6TO4, /* 2002:AABB:CCDD::/48, RFC 3056 */
	CARRIER_TEREDO, /* 2001:0:SERVER:…:~CLIENT, RFC 4380 */
	CARRIERS
};

enum { TEREDO_BLOCKS = 64 }; /* /96 blocks in which clients are told apart */

struct addr_range carrier_range(enum carrier c);

/*
 * The IPv6 addresses that carry the IPv4 range [lo, hi] as one range; false if there are none.  For
 * Teredo it is the server's part only: a client's addresses are no range (see
 * carrier_teredo_client).
 */
bool carrier_of(enum carrier c, uint32_t lo, uint32_t hi, struct addr_range *out);

/*
 * Within one /96 of Teredo, the one that `block` lies in: the addresses whose client is in [lo,
 * hi].
 */
struct addr_range carrier_teredo_client(struct net_addr block, uint32_t lo, uint32_t hi);

/*
 * Adds to `out` the Teredo addresses whose client is in [lo, hi], in the /96 blocks that the ranges of
 * `within` touch: in the first TEREDO_BLOCKS of each range.
 */
void carrier_clients(struct arena *a, const struct addr_ranges *within, uint32_t lo, uint32_t hi,
		     struct addr_ranges *out);

/* Adds to `v4` every IPv4 address that is carried by an address of `v6`, unsorted. */
void carrier_decode(struct arena *a, const struct addr_ranges *v6, struct addr_ranges *v4);

/*
 * The denials of a protocol as rules that allow what they deny, where a `listen` or `allow resolver` lets the tool
 * reach somebody whom no allow names; beside the latter alone, port 53.  Teredo clients are left out.  Returns how
 * many.
 */
size_t egress_denials(struct arena *a, const struct policy *p, enum net_proto proto, const struct net_rule **out);

/*
 * The checks on the finished set: bounded, no metadata address by accident, no undecodable carrier,
 * no multicast, broadcast or link-local range.  Returns false if an error was recorded.  Measures set->reach.
 */
bool egress_check(struct diags *d, struct arena *a, const struct policy *p, struct net_set *set);

/* How much of the world lies in ranges of both families. */
struct net_reach egress_measure(struct arena *a, const struct addr_ranges *v4, const struct addr_ranges *v6);

#endif
