/* SPDX-License-Identifier: MIT */
/* Addresses that mean something: special-purpose blocks, and where clouds serve credentials. */
#ifndef CAVE_COMPILER_EGRESS_REGISTRY_H
#define CAVE_COMPILER_EGRESS_REGISTRY_H

#include "compiler/egress_addr.h"

struct metadata_address {
	enum net_family family;
	struct net_addr addr;
	const char *what;
};

extern const struct metadata_address metadata_addresses[];
extern const size_t metadata_address_count;

/* A block in which only single addresses may be granted. */
struct restricted_block {
	enum net_family family;
	struct addr_range range;
	const char *what;
};

extern const struct restricted_block restricted_blocks[];
extern const size_t restricted_block_count;

/* IPv6 that carries IPv4 and cannot be judged by it: nothing of it may be granted. */
struct refused_block {
	struct addr_range range;
	const char *why;
};

extern const struct refused_block refused_blocks[];
extern const size_t refused_block_count;

/* What the IANA special-purpose registries say is not globally reachable, as a range list. */
struct addr_ranges registry_not_global(struct arena *a, enum net_family family);

#endif
