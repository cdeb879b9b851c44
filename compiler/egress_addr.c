/* SPDX-License-Identifier: MIT */
/* Address arithmetic and range lists. */
#include "compiler/egress_addr.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpf/sort.h"

struct net_addr addr_last(enum net_family family)
{
	if (family == NET_V4)
		return (struct net_addr){ 0, UINT32_MAX };
	return (struct net_addr){ UINT64_MAX, UINT64_MAX };
}

struct net_addr addr_next(struct net_addr a)
{
	a.lo++;
	a.hi += a.lo == 0;
	return a;
}

struct net_addr addr_previous(struct net_addr a)
{
	a.hi -= a.lo == 0;
	a.lo--;
	return a;
}

/* `bits` ones at the low end of 128. */
static struct net_addr low_ones(unsigned bits)
{
	if (bits >= 128)
		return (struct net_addr){ UINT64_MAX, UINT64_MAX };
	if (bits >= 64)
		return (struct net_addr){ ((uint64_t)1 << (bits - 64)) - 1, UINT64_MAX };
	return (struct net_addr){ 0, ((uint64_t)1 << bits) - 1 };
}

struct addr_range addr_prefix(enum net_family family, struct net_addr a, unsigned length)
{
	struct net_addr host = low_ones((family == NET_V4 ? 32 : 128) - length);

	return (struct addr_range){
		.lo = { a.hi & ~host.hi, a.lo & ~host.lo },
		.hi = { a.hi | host.hi, a.lo | host.lo },
	};
}

/* The longest run of zero groups, of two at least, the first of those that are equally long; its length. */
static unsigned zeros_of(const unsigned group[8], unsigned *begin)
{
	unsigned best = 1;

	for (unsigned i = 0, n = 0; i < 8; i++) {
		n = group[i] ? 0 : n + 1;
		if (n > best) {
			best = n;
			*begin = i + 1 - n;
		}
	}
	return best > 1 ? best : 0;
}

/* RFC 5952, by hand: inet_ntop() of one C library writes ::10.0.0.1 where that of another writes ::a00:1. */
static void show_v6(struct addr_text *t, struct net_addr a)
{
	unsigned group[8], begin = 8, n;
	size_t used = 0;

	for (unsigned i = 0; i < 8; i++)
		group[i] = (unsigned)((i < 4 ? a.hi : a.lo) >> (48 - 16 * (i % 4))) & 0xffff;
	n = zeros_of(group, &begin);
	t->s[0] = '\0';
	for (unsigned i = 0; i < 8; i++) {
		const char *before = i == begin + n || i == 0 ? "" : ":";

		if (n && i == begin)
			used += (size_t)snprintf(t->s + used, INET6_ADDRSTRLEN - used, "::");
		if (i < begin || i >= begin + n)
			used += (size_t)snprintf(t->s + used, INET6_ADDRSTRLEN - used, "%s%x", before, group[i]);
	}
}

struct addr_text addr_show(enum net_family family, struct net_addr a)
{
	struct addr_text t;

	if (family == NET_V6)
		show_v6(&t, a);
	else
		snprintf(t.s, sizeof t.s, "%u.%u.%u.%u", (unsigned)(a.lo >> 24) & 0xff, (unsigned)(a.lo >> 16) & 0xff,
			 (unsigned)(a.lo >> 8) & 0xff, (unsigned)a.lo & 0xff);
	return t;
}

struct addr_text addr_show_range(enum net_family family, struct net_addr lo, struct net_addr hi)
{
	struct addr_text t = addr_show(family, lo), last = addr_show(family, hi);
	unsigned bits = family == NET_V4 ? 32 : 128;
	size_t used = strlen(t.s);

	if (!net_addr_cmp(lo, hi))
		return t;
	for (unsigned length = 0; length < bits; length++) {
		struct addr_range p = addr_prefix(family, lo, length);

		if (!net_addr_cmp(p.lo, lo) && !net_addr_cmp(p.hi, hi)) {
			snprintf(t.s + used, sizeof t.s - used, "/%u", length);
			return t;
		}
	}
	snprintf(t.s + used, sizeof t.s - used, "-%.*s", INET6_ADDRSTRLEN, last.s);
	return t;
}

struct addr_text addr_count(uint64_t n)
{
	struct addr_text t;
	char digits[32];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
	size_t used = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			t.s[used++] = ',';
		t.s[used++] = digits[i];
	}
	t.s[used] = '\0';
	return t;
}

void ranges_add(struct arena *a, struct addr_ranges *list, struct net_addr lo, struct net_addr hi)
{
	struct addr_range r = { lo, hi };

	*ARENA_PUSH(a, list->range, list->n, list->cap) = r;
}

static int by_begin(const void *x, const void *y)
{
	const struct addr_range *a = x, *b = y;

	return net_addr_cmp(a->lo, b->lo);
}

/* True if `b`, which does not begin before `a`, overlaps or touches it. */
static bool joins(struct addr_range a, struct addr_range b)
{
	if (net_addr_cmp(b.lo, a.hi) <= 0)
		return true;
	return !net_addr_cmp(addr_previous(b.lo), a.hi);
}

void ranges_normalise(struct addr_ranges *list)
{
	size_t kept = 0;

	if (!list->n)
		return;
	sort(list->range, list->n, sizeof *list->range, by_begin);
	for (size_t i = 1; i < list->n; i++) {
		struct addr_range *last = &list->range[kept], r = list->range[i];

		if (!joins(*last, r))
			list->range[++kept] = r;
		else if (net_addr_cmp(last->hi, r.hi) < 0)
			last->hi = r.hi;
	}
	list->n = kept + 1;
}

struct addr_ranges ranges_subtract(struct arena *a, const struct addr_ranges *from,
				   const struct addr_ranges *what)
{
	struct addr_ranges out = { 0 };
	size_t w = 0;

	for (size_t i = 0; i < from->n; i++) {
		struct addr_range r = from->range[i];
		bool left = true;

		while (w < what->n && net_addr_cmp(what->range[w].hi, r.lo) < 0)
			w++;
		for (size_t j = w; j < what->n && left; j++) {
			struct addr_range cut = what->range[j];

			if (net_addr_cmp(cut.lo, r.hi) > 0)
				break;
			if (net_addr_cmp(r.lo, cut.lo) < 0)
				ranges_add(a, &out, r.lo, addr_previous(cut.lo));
			left = net_addr_cmp(cut.hi, r.hi) < 0;
			if (left)
				r.lo = addr_next(cut.hi);
		}
		if (left)
			ranges_add(a, &out, r.lo, r.hi);
	}
	return out;
}

struct addr_ranges ranges_intersect(struct arena *a, const struct addr_ranges *x,
				    const struct addr_ranges *y)
{
	struct addr_ranges out = { 0 };
	size_t i = 0, j = 0;

	while (i < x->n && j < y->n) {
		struct addr_range p = x->range[i], q = y->range[j];

		if (addr_overlap(p, q))
			ranges_add(a, &out, net_addr_cmp(p.lo, q.lo) > 0 ? p.lo : q.lo,
				   net_addr_cmp(p.hi, q.hi) < 0 ? p.hi : q.hi);
		if (net_addr_cmp(p.hi, q.hi) < 0)
			i++;
		else
			j++;
	}
	return out;
}
