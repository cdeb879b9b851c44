/* SPDX-License-Identifier: MIT */
/*
 * One pass over the sorted intervals of both sets.  Sets of ports are few and repeat, so that the difference of each
 * pair is worked out once, and equal results become one.
 */
#include "compiler/diff_set.h"

#include <string.h>

#include "compiler/egress_addr.h"

enum { NO_PORTS = UINT32_MAX };

/* Open addressing; sizes are powers of two, and half of the slots stay free. */
struct pair_entry {
	bool used;
	uint32_t from, what, result;
};

struct set_entry {
	bool used;
	uint32_t index;
};

struct difference {
	struct arena *arena;
	const struct net_set *from, *what;
	struct net_portset *set;
	size_t nsets, set_cap;
	struct pair_entry *pair;
	size_t npairs, pair_slots;
	struct set_entry *known;
	size_t nknown, known_slots;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v;
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* --- sets of ports --------------------------------------------------------------------------------- */

static struct net_portset subtract_ports(struct arena *a, const struct net_portset *x, const struct net_portset *y)
{
	struct net_ports *range = ARENA_ARRAY(a, x->n + (y ? y->n : 0) + 1, struct net_ports);
	size_t n = 0, j = 0;

	for (size_t i = 0; i < x->n; i++) {
		uint32_t lo = x->range[i].lo, hi = x->range[i].hi;

		while (y && j < y->n && y->range[j].hi < lo)
			j++;
		for (size_t k = j; y && k < y->n && y->range[k].lo <= hi && lo <= hi; k++) {
			if (y->range[k].lo > lo)
				range[n++] = (struct net_ports){ (uint16_t)lo, (uint16_t)(y->range[k].lo - 1) };
			lo = (uint32_t)y->range[k].hi + 1;
		}
		if (lo <= hi)
			range[n++] = (struct net_ports){ (uint16_t)lo, (uint16_t)hi };
	}
	return (struct net_portset){ range, n };
}

static uint64_t hash_ports(const struct net_portset *s)
{
	uint64_t h = s->n;

	for (size_t i = 0; i < s->n; i++)
		h = mix(h, (uint64_t)s->range[i].lo << 16 | s->range[i].hi);
	return h;
}

static bool same_ports(const struct net_portset *x, const struct net_portset *y)
{
	return x->n == y->n && memcmp(x->range, y->range, x->n * sizeof *x->range) == 0;
}

static struct set_entry *set_slot(const struct difference *d, const struct net_portset *s)
{
	size_t at = hash_ports(s) & (d->known_slots - 1);

	while (d->known[at].used && !same_ports(&d->set[d->known[at].index], s))
		at = (at + 1) & (d->known_slots - 1);
	return &d->known[at];
}

static void grow_sets(struct difference *d)
{
	if (d->nknown * 2 < d->known_slots)
		return;
	d->known_slots = d->known_slots ? d->known_slots * 2 : 64;
	d->known = ARENA_ARRAY(d->arena, d->known_slots, struct set_entry);
	for (size_t i = 0; i < d->nsets; i++)
		*set_slot(d, &d->set[i]) = (struct set_entry){ true, (uint32_t)i };
}

/* The number of a set of ports in the result. */
static uint32_t intern(struct difference *d, struct net_portset s)
{
	struct set_entry *slot;

	grow_sets(d);
	slot = set_slot(d, &s);
	if (!slot->used) {
		*slot = (struct set_entry){ true, (uint32_t)d->nsets };
		*ARENA_PUSH(d->arena, d->set, d->nsets, d->set_cap) = s;
		d->nknown++;
	}
	return slot->index;
}

/* --- pairs ----------------------------------------------------------------------------------------- */

static struct pair_entry *pair_slot(const struct difference *d, uint32_t from, uint32_t what)
{
	size_t at = mix(from, what) & (d->pair_slots - 1);

	while (d->pair[at].used && (d->pair[at].from != from || d->pair[at].what != what))
		at = (at + 1) & (d->pair_slots - 1);
	return &d->pair[at];
}

static void grow_pairs(struct difference *d)
{
	const struct pair_entry *old = d->pair;
	size_t n = d->pair_slots;

	if (d->npairs * 2 < d->pair_slots)
		return;
	d->pair_slots = n ? n * 2 : 64;
	d->pair = ARENA_ARRAY(d->arena, d->pair_slots, struct pair_entry);
	for (size_t i = 0; i < n; i++)
		if (old[i].used)
			*pair_slot(d, old[i].from, old[i].what) = old[i];
}

/* The ports of `from` less those of `what`, as a number in the result; NO_PORTS if nothing is left. */
static uint32_t left_of(struct difference *d, uint32_t from, uint32_t what)
{
	struct pair_entry *slot;
	struct net_portset left;

	grow_pairs(d);
	slot = pair_slot(d, from, what);
	if (!slot->used) {
		left = subtract_ports(d->arena, &d->from->portset[from], what == NO_PORTS ? NULL : &d->what->portset[what]);
		*slot = (struct pair_entry){ true, from, what, left.n ? intern(d, left) : NO_PORTS };
		d->npairs++;
	}
	return slot->result;
}

/* --- intervals ------------------------------------------------------------------------------------- */

struct growing {
	struct net_interval *interval;
	size_t n, cap;
};

static bool adjacent(struct net_addr a, struct net_addr b)
{
	return (a.hi != UINT64_MAX || a.lo != UINT64_MAX) && net_addr_cmp(addr_next(a), b) == 0;
}

static void put(struct difference *d, struct growing *g, struct net_interval i)
{
	struct net_interval *last = g->n ? &g->interval[g->n - 1] : NULL;

	if (i.ports == NO_PORTS)
		return;
	if (last && last->ports == i.ports && adjacent(last->hi, i.lo))
		last->hi = i.hi;
	else
		*ARENA_PUSH(d->arena, g->interval, g->n, g->cap) = i;
}

static struct net_addr lesser(struct net_addr a, struct net_addr b)
{
	return net_addr_cmp(a, b) < 0 ? a : b;
}

/* One interval less all intervals of `what` from number *next on that touch it. */
static void cut(struct difference *d, const struct net_interval *i, const struct net_cell *what, size_t *next,
		struct growing *g)
{
	struct net_addr lo = i->lo;

	while (*next < what->n && net_addr_cmp(what->interval[*next].hi, lo) < 0)
		++*next;
	for (size_t k = *next;; k++) {
		const struct net_interval *w = k < what->n ? &what->interval[k] : NULL;
		struct net_addr hi;

		if (!w || net_addr_cmp(w->lo, i->hi) > 0) {
			put(d, g, (struct net_interval){ lo, i->hi, left_of(d, i->ports, NO_PORTS), i->line });
			return;
		}
		if (net_addr_cmp(w->lo, lo) > 0) {
			put(d, g, (struct net_interval){ lo, addr_previous(w->lo), left_of(d, i->ports, NO_PORTS),
							 i->line });
			lo = w->lo;
		}
		hi = lesser(w->hi, i->hi);
		put(d, g, (struct net_interval){ lo, hi, left_of(d, i->ports, w->ports), i->line });
		if (net_addr_cmp(hi, i->hi) >= 0)
			return;
		lo = addr_next(hi);
	}
}

static struct net_cell subtract_cell(struct difference *d, const struct net_cell *from, const struct net_cell *what)
{
	static const struct net_cell nothing;
	struct growing g = { NULL, 0, 0 };
	size_t next = 0;

	for (size_t i = 0; i < from->n; i++)
		cut(d, &from->interval[i], what ? what : &nothing, &next, &g);
	return (struct net_cell){ g.interval, g.n };
}

void net_set_subtract(struct arena *a, const struct net_set *from, const struct net_set *what, struct net_set *out)
{
	struct difference d = { .arena = a, .from = from, .what = what };
	struct net_set set = { 0 };

	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++) {
			set.cell[proto][family] =
				subtract_cell(&d, &from->cell[proto][family], what ? &what->cell[proto][family] : NULL);
			set.local[proto][family] =
				subtract_cell(&d, &from->local[proto][family], what ? &what->local[proto][family] : NULL);
		}
	set.portset = d.set;
	set.nportsets = d.nsets;
	*out = set;
}
