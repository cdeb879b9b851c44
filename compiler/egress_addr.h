/* SPDX-License-Identifier: MIT */
/*
 * Addresses and lists of address ranges: the arithmetic under the set algebra and the measure.
 *
 * A range list is sorted, disjoint and not adjacent, so that equal sets have one form.  Lists hold
 * addresses of one family; nothing in them says which.
 */
#ifndef CAVE_COMPILER_EGRESS_ADDR_H
#define CAVE_COMPILER_EGRESS_ADDR_H

#include "bpf/arena.h"
#include "bpf/netset.h"

struct addr_range {
	struct net_addr lo, hi; /* inclusive */
};

struct addr_ranges {
	struct addr_range *range;
	size_t n, cap;
};

struct addr_text {
	char s[128]; /* two IPv6 addresses */
};

/* The first and the last address of a family are 0 and this. */
struct net_addr addr_last(enum net_family family);

/* One more and one less; the caller knows that it does not wrap. */
struct net_addr addr_next(struct net_addr a);
struct net_addr addr_previous(struct net_addr a);

/* The first and last address of the prefix of `length` bits that `a` lies in. */
struct addr_range addr_prefix(enum net_family family, struct net_addr a, unsigned length);

/* As a profile would write it: an address, or a range as a prefix where it is one. */
struct addr_text addr_show(enum net_family family, struct net_addr a);
struct addr_text addr_show_range(enum net_family family, struct net_addr lo, struct net_addr hi);

/* A number with commas: 16,777,216. */
struct addr_text addr_count(uint64_t n);

static inline bool addr_overlap(struct addr_range a, struct addr_range b)
{
	return net_addr_cmp(a.lo, b.hi) <= 0 && net_addr_cmp(b.lo, a.hi) <= 0;
}

static inline bool addr_within(struct addr_range inner, struct addr_range outer)
{
	return net_addr_cmp(outer.lo, inner.lo) <= 0 && net_addr_cmp(inner.hi, outer.hi) <= 0;
}

/* Adds a range, in any order; ranges_normalise() makes a list of what was added. */
void ranges_add(struct arena *a, struct addr_ranges *list, struct net_addr lo, struct net_addr hi);
void ranges_normalise(struct addr_ranges *list);

struct addr_ranges ranges_subtract(struct arena *a, const struct addr_ranges *from,
				   const struct addr_ranges *what);
struct addr_ranges ranges_intersect(struct arena *a, const struct addr_ranges *x,
				    const struct addr_ranges *y);

#endif
