/* SPDX-License-Identifier: MIT */
/* What findings about addresses, and about host names and where they lead, have in common. */
#ifndef CAVE_COMPILER_LINT_NETWORK_H
#define CAVE_COMPILER_LINT_NETWORK_H

#include "compiler/egress_addr.h"
#include "compiler/lint.h"

/* Public addresses, and IPv6 networks, from which on a line is wide, and very wide; private ones; ports. */
enum { WIDE = 256, WIDE_NETWORKS = 16, VERY_WIDE = 65536, WIDE_PRIVATE = 65536, MANY_PORTS = 1024 };

/* How much a line names: addresses of IPv4; networks of 48 bits, which is what one site has, of IPv6. */
struct line_extent {
	uint64_t world[NET_FAMILIES]; /* globally reachable */
	uint64_t special[NET_FAMILIES]; /* private, loopback, and so on */
	uint64_t hosts[NET_FAMILIES]; /* of these, what is not this host's loopback */
};

struct line_extent line_extent(struct arena *a, const struct net_rule *r);

void lint_ports(struct lint *l, struct span at, const struct net_ports *port, size_t n);
void lint_name_ports(struct lint *l, struct span at, const struct net_ports *port, size_t n);
void lint_metadata(struct lint *l, const struct net_rule *r);
void lint_mixture(struct lint *l, const struct net_rule *r, const struct line_extent *e);
void lint_loopback(struct lint *l, const struct net_rule *r);

#endif
