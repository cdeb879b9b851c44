/* SPDX-License-Identifier: MIT */
/*
 * The exact set of destinations that a policy reaches: what the egress generator turns into code.
 *
 * A destination is (protocol, address, port).  For each protocol and family the address line is cut into
 * maximal intervals that share one set of ports; what no interval covers is refused.  Intervals are sorted,
 * disjoint, and neighbours with equal ports are one interval, so equal reach has exactly one form.
 */
#ifndef CAVE_BPF_NETSET_H
#define CAVE_BPF_NETSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which source line something came from: an index into the compile's table of lines (struct line_table of
 * the compiler); 0 is "the compiler's own".  It follows every rule and every instruction and never changes
 * a decision.
 */
typedef uint32_t line_id;

enum net_proto { NET_TCP, NET_UDP, NET_PROTOS };
enum net_family { NET_V4, NET_V6, NET_FAMILIES };

/* In host order.  IPv4: `hi` is 0 and `lo` the 32-bit address.  Mapped IPv6 never occurs: it is IPv4. */
struct net_addr {
	uint64_t hi, lo;
};

struct net_ports {
	uint16_t lo, hi; /* inclusive */
};

/* Sorted, disjoint, not adjacent, not empty. */
struct net_portset {
	const struct net_ports *range;
	size_t n;
};

struct net_interval {
	struct net_addr lo, hi; /* inclusive */
	uint32_t ports; /* index into net_set.portset */
	line_id line; /* the first allow line that reaches it */
};

struct net_cell {
	const struct net_interval *interval;
	size_t n;
};

/* How much of the world: globally reachable IPv4 addresses, those that IPv6 carries counted, and IPv6 /48 networks. */
struct net_reach {
	uint64_t v4, v6;
};

struct host_set;

struct net_set {
	struct net_cell cell[NET_PROTOS][NET_FAMILIES];
	struct net_cell local[NET_PROTOS][NET_FAMILIES]; /* of one's own: where peers may come in */
	/*
	 * What is denied, where it is not merely absent from `cell`: of peers that come in, and of name servers, that
	 * is port 53.  Empty for a protocol that has neither.
	 */
	struct net_cell shut[NET_PROTOS][NET_FAMILIES];
	const struct net_portset *portset; /* no two equal */
	size_t nportsets;
	const struct host_set *hosts; /* and the addresses of granted names (bpf/hostset.h); NULL: none */
	bool resolver; /* and the host's name servers, which are known when the tool starts */
	line_id resolver_line;
	struct net_reach reach; /* of all cells together */
};

/* True if any destination of this protocol is reached; names are looked up by both. */
static inline bool net_set_reaches(const struct net_set *s, enum net_proto proto)
{
	return s->cell[proto][NET_V4].n || s->cell[proto][NET_V6].n || s->resolver || s->hosts;
}

/* True if peers may come in by this protocol. */
static inline bool net_set_listens(const struct net_set *s, enum net_proto proto)
{
	return s->local[proto][NET_V4].n || s->local[proto][NET_V6].n;
}

/* True if sockets of this protocol are of any use. */
static inline bool net_set_uses(const struct net_set *s, enum net_proto proto)
{
	return net_set_reaches(s, proto) || net_set_listens(s, proto);
}

/* True if the set is empty: no network at all, and no egress programs. */
static inline bool net_set_empty(const struct net_set *s)
{
	return !net_set_uses(s, NET_TCP) && !net_set_uses(s, NET_UDP);
}

static inline int net_addr_cmp(struct net_addr a, struct net_addr b)
{
	if (a.hi != b.hi)
		return a.hi < b.hi ? -1 : 1;
	if (a.lo != b.lo)
		return a.lo < b.lo ? -1 : 1;
	return 0;
}

#endif
