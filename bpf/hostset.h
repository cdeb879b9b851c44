/* SPDX-License-Identifier: MIT */
/*
 * What a policy grants by host name, in one form: what the generator turns into code, and the manifest into a record.
 */
#ifndef CAVE_BPF_HOSTSET_H
#define CAVE_BPF_HOSTSET_H

#include "bpf/netset.h"

/* Ports that names are granted with. */
struct host_class {
	struct net_portset ports[NET_PROTOS];
	line_id line; /* the first rule with them */
};

struct host_range {
	struct net_addr lo, hi; /* inclusive */
};

/* Where the addresses of names may be: sorted, disjoint. */
struct host_place {
	bool global; /* no `within`: what is globally reachable, less `except` and the host's own addresses */
	const struct host_range *range[NET_FAMILIES];
	size_t n[NET_FAMILIES];
	const struct host_range *except[NET_FAMILIES]; /* of a global one: what it lacks of what is reachable */
	size_t nexcept[NET_FAMILIES];
};

struct host_name {
	const char *name;
	bool below; /* what is below it, and not itself */
};

struct host_grant {
	struct host_name name;
	const struct host_name *except; /* sorted */
	size_t nexcept;
	uint32_t class, place;
	line_id line;
};

struct host_set {
	const struct host_class *class; /* at most CAVE_HOST_CLASSES */
	size_t nclasses;
	const struct host_place *place;
	size_t nplaces;
	const struct host_grant *grant; /* sorted by name, then by the rest; no two of one name, place and excepts */
	size_t ngrants;
	const struct host_name *denied; /* sorted */
	size_t ndenied;
	const struct host_range *shut; /* IPv4 that denials by address cover for any port: sorted, disjoint */
	size_t nshut;
	const struct net_set *forbidden; /* destinations that a denial by address covers, whatever name is granted */
};

#endif
