/* SPDX-License-Identifier: MIT */
/* The contents of the tables. */
#include "bpf/egress_table.h"

#include <string.h>

#include "bpf/sort.h"

enum {
	ALIGNMENT = 8,
	KEY4 = 4, /* bytes of a key: an IPv4 address, or a digit of an IPv6 address */
	KEY6 = 8,
	MAX_PORTSETS = 0xfffe, /* a set's number and a port are 32 bits, and no key is the last number */
	/*
	 * ARTEFACT_MAP_VALUE_MAX.  It also bounds the windows of a level, of which there are fewer than keys: their
	 * numbers fit before a digit.
	 */
	MAX_TABLE = 4 << 20,
};

typedef unsigned __int128 address;

/* From this address on, up to the next start: the ports, or 0. */
struct start {
	address at;
	uint32_t number;
};

/* One level while it is built. */
struct growing {
	uint64_t *key;
	uint32_t *number;
	size_t nkeys, key_cap, nnumbers, number_cap, window;
	uint64_t windows; /* how many there are */
};

struct builder {
	struct arena *arena;
	unsigned nlevels; /* 1 for IPv4 */
	struct growing level[TABLE_LEVELS];
};

bool same_cell(const struct net_cell *a, const struct net_cell *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (net_addr_cmp(a->interval[i].lo, b->interval[i].lo) ||
		    net_addr_cmp(a->interval[i].hi, b->interval[i].hi) ||
		    a->interval[i].ports != b->interval[i].ports)
			return false;
	return true;
}

/* --- addresses ------------------------------------------------------------ */

static uint64_t digit(const struct builder *b, unsigned level, address a)
{
	if (b->nlevels == 1)
		return (uint64_t)a;
	return (uint64_t)(a >> table_digit[level].shift) & (((uint64_t)1 << table_digit[level].bits) - 1);
}

/* What the digits after this one say. */
static address rest(const struct builder *b, unsigned level, address a)
{
	if (b->nlevels == 1)
		return 0;
	return a & (((address)1 << table_digit[level].shift) - 1);
}

static void add_key(struct builder *b, unsigned level, uint64_t window, uint64_t value, uint32_t number)
{
	struct growing *l = &b->level[level];

	*ARENA_PUSH(b->arena, l->key, l->nkeys, l->key_cap) =
		level ? window << table_digit[level].bits | value : value;
	*ARENA_PUSH(b->arena, l->number, l->nnumbers, l->number_cap) = number;
}

static void add_window(struct builder *b, unsigned level, const struct start *start, size_t n);

/*
 * The `n` starts that have one digit in common go into a window of the next level; `before` is in force until
 * the first of them.  Returns the number for the digit.
 */
static uint32_t split(struct builder *b, unsigned level, const struct start *before, const struct start *start,
		      size_t n)
{
	bool whole = !rest(b, level, start->at);
	size_t head = whole ? 0 : 1, first = b->level[level + 1].nkeys;
	struct start *within = ARENA_ARRAY(b->arena, n + head, struct start);

	if (head)
		within[0] = (struct start){ start->at - rest(b, level, start->at), before->number };
	memcpy(within + head, start, n * sizeof *start);
	add_window(b, level + 1, within, n + head);
	return TABLE_SPLIT | (uint32_t)first;
}

/* The keys of starts that have all digits before this one in common; the first is the least of these. */
static void add_window(struct builder *b, unsigned level, const struct start *start, size_t n)
{
	struct growing *l = &b->level[level];
	const size_t first = l->nkeys;
	const uint64_t window = l->windows++;

	for (size_t i = 0, end; i < n; i = end) {
		uint64_t d = digit(b, level, start[i].at);

		for (end = i + 1; end < n && digit(b, level, start[end].at) == d;)
			end++;
		if (end == i + 1 && !rest(b, level, start[i].at)) {
			add_key(b, level, window, d, start[i].number);
			continue;
		}
		add_key(b, level, window, d, split(b, level, i ? &start[i - 1] : NULL, &start[i], end - i));
		/* What the last of them says holds beyond the digit too, unless this is the last digit there is. */
		if (end < n ? digit(b, level, start[end].at) != d + 1 : (d + 1) >> table_digit[level].bits == 0)
			add_key(b, level, window, d + 1, start[end - 1].number);
	}
	if (l->nkeys - first > l->window)
		l->window = l->nkeys - first;
}

/* Every address from 0 on has a start that it belongs to. */
static struct start *list_starts(struct arena *a, const struct net_cell *c, enum net_family family,
				 const uint32_t *first_port, size_t *n)
{
	struct start *start = ARENA_ARRAY(a, 2 * c->n + 1, struct start);
	const address last = family == NET_V4 ? UINT32_MAX : ~(address)0;
	address next = 0;
	bool open = true;

	*n = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct net_interval *v = &c->interval[i];
		address lo = (address)v->lo.hi << 64 | v->lo.lo, hi = (address)v->hi.hi << 64 | v->hi.lo;

		if (lo != next)
			start[(*n)++] = (struct start){ next, 0 };
		start[(*n)++] = (struct start){ lo, first_port[v->ports] };
		open = hi != last;
		next = hi + 1;
	}
	if (open)
		start[(*n)++] = (struct start){ next, 0 };
	return start;
}

static size_t aligned(size_t n)
{
	return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Where the keys and the numbers of a level go, from `at` on; returns what comes after it. */
static size_t lay_out(const struct growing *l, size_t key_size, size_t extra, size_t at, struct table_level *out)
{
	*out = (struct table_level){ .n = (uint32_t)l->nkeys, .window = (uint32_t)l->window, .keys = (uint32_t)at };
	at += aligned((l->nkeys + extra) * key_size);
	out->numbers = (uint32_t)at;
	return at + aligned((l->nkeys + extra) * sizeof(uint32_t));
}

/* A window may be looked at beyond its end: after the last one, `extra` keys are larger than any, and have 0. */
static void write_level(const struct growing *l, const struct table_level *at, size_t key_size, size_t extra,
			uint8_t *value)
{
	const uint64_t beyond = INT64_MAX;

	for (size_t i = 0; i < l->nkeys; i++)
		memcpy(value + at->keys + i * key_size, &l->key[i], key_size); /* little-endian, as the artefact */
	for (size_t i = l->nkeys; i < l->nkeys + extra; i++)
		memcpy(value + at->keys + i * key_size, &beyond, key_size);
	memcpy(value + at->numbers, l->number, l->nkeys * sizeof *l->number);
}

static bool too_large(struct arena *a, const char *name, size_t needed, size_t limit, const char *unit,
		      struct gen_error *error)
{
	*error = (struct gen_error){
		.needed = needed,
		.limit = limit,
		.unit = unit,
		.detail = arena_printf(a, "the table %s", name),
	};
	return false;
}

void tables_init(struct arena *a, struct tables *out)
{
	*out = (struct tables){ .maps = { ARENA_ARRAY(a, CAVE_MAPS_MAX, struct map_def), 0 } };
}

void tables_add(struct tables *t, const struct map_def *map)
{
	((struct map_def *)t->maps.map)[t->maps.n++] = *map;
}

static void add_table(struct tables *t, const char *name, size_t size, const void *contents)
{
	tables_add(t, &(struct map_def){
			      .name = name,
			      .spec = { BPF_MAP_TYPE_ARRAY, 4, (uint32_t)size, 1, BPF_F_RDONLY_PROG },
			      .contents = contents,
		      });
}

/* The levels from `first` up to `last`, in one map. */
static bool add_levels(struct builder *b, size_t key_size, unsigned first, unsigned last, const char *name,
		       struct tables *t, struct cell_table *cell, struct gen_error *error)
{
	size_t size = 0;
	uint8_t *value;

	for (unsigned i = first; i <= last; i++) {
		size = lay_out(&b->level[i], key_size, i ? b->level[i].window : 0, size, &cell->level[i]);
		cell->level[i].map = (uint32_t)t->maps.n;
	}
	if (size > MAX_TABLE)
		return too_large(b->arena, name, size, MAX_TABLE, "bytes", error);
	value = ARENA_ARRAY(b->arena, size, uint8_t);
	for (unsigned i = first; i <= last; i++)
		write_level(&b->level[i], &cell->level[i], key_size, i ? b->level[i].window : 0, value);
	add_table(t, name, size, value);
	return true;
}

/* One map, or one for each level where that is too large. */
static bool build_cell(struct arena *a, const struct net_cell *c, enum net_family family, const char *name,
		       struct tables *t, const struct cell_table **out, struct gen_error *error)
{
	struct builder b = { .arena = a, .nlevels = family == NET_V4 ? 1 : TABLE_LEVELS };
	const size_t key_size = family == NET_V4 ? KEY4 : KEY6;
	struct cell_table *cell = ARENA_ARRAY(a, 1, struct cell_table);
	size_t n;
	struct start *start = list_starts(a, c, family, t->ports->first, &n);

	add_window(&b, 0, start, n);
	while (cell->nlevels < b.nlevels && b.level[cell->nlevels].nkeys)
		cell->nlevels++;
	if (!add_levels(&b, key_size, 0, cell->nlevels - 1, name, t, cell, error)) {
		if (cell->nlevels == 1)
			return false;
		for (unsigned i = 0; i < cell->nlevels; i++)
			if (!add_levels(&b, key_size, i, i, arena_printf(a, "%s_%u", name, i), t, cell, error))
				return false;
	}
	*out = cell;
	return true;
}

/* --- ports ---------------------------------------------------------------- */

static int by_first_port(const void *a, const void *b)
{
	const struct net_ports *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Ranges that overlap or touch become one. */
static size_t merge_ports(struct net_ports *range, size_t n)
{
	size_t kept = 0;

	sort(range, n, sizeof *range, by_first_port);
	for (size_t i = 1; i < n; i++) {
		struct net_ports *last = &range[kept];

		if (range[i].lo > last->hi + 1)
			range[++kept] = range[i];
		else if (range[i].hi > last->hi)
			last->hi = range[i].hi;
	}
	return n ? kept + 1 : 0;
}

/* The ports by which UDP reaches some IPv4 address. */
static struct net_portset some_ports(struct arena *a, const struct net_set *set)
{
	const struct net_cell *c = &set->cell[NET_UDP][NET_V4];
	bool *listed = ARENA_ARRAY(a, set->nportsets + 1, bool);
	struct net_ports *range = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct net_portset *p = &set->portset[c->interval[i].ports];

		for (size_t k = 0; k < p->n && !listed[c->interval[i].ports]; k++)
			*ARENA_PUSH(a, range, n, cap) = p->range[k];
		listed[c->interval[i].ports] = true;
	}
	return (struct net_portset){ range, merge_ports(range, n) };
}

/* The keys of one set, from `at` on; returns how many. */
static uint32_t put_ports(uint32_t *at, uint32_t number, const struct net_portset *p)
{
	uint32_t n = 0;

	at[n++] = number << 16;
	for (size_t k = 0; k < p->n; k++) {
		at[n++] = (number << 16) + p->range[k].lo;
		at[n++] = (number << 16) + p->range[k].hi + 1;
	}
	return n;
}

static size_t window_of(const struct net_portset *p)
{
	return 2 * p->n + 1;
}

static bool build_ports(struct arena *a, const struct net_set *set, struct tables *t, struct gen_error *error)
{
	struct ports_table *out = ARENA_ARRAY(a, 1, struct ports_table);
	uint32_t *first = ARENA_ARRAY(a, set->nportsets, uint32_t), n = 1;
	const struct net_portset some = some_ports(a, set);
	size_t total = 1 + window_of(&some), most = 1, size;
	uint32_t *key;

	for (size_t i = 0; i < set->nportsets; i++) {
		size_t window = window_of(&set->portset[i]);

		total += window;
		most = window > most ? window : most;
	}
	size = aligned((total + most + window_of(&some)) * sizeof *key);
	if (set->nportsets > MAX_PORTSETS)
		return too_large(a, "ports", set->nportsets, MAX_PORTSETS, "different sets of ports", error);
	if (size > MAX_TABLE)
		return too_large(a, "ports", size, MAX_TABLE, "bytes", error);
	key = ARENA_ARRAY(a, size / sizeof *key, uint32_t);
	for (size_t i = 0; i < set->nportsets; i++) {
		first[i] = n;
		n += put_ports(key + n, (uint32_t)i, &set->portset[i]);
	}
	out->some = n;
	n += put_ports(key + n, (uint32_t)set->nportsets, &some);
	memset(key + n, 0xff, size - n * sizeof *key);
	out->some_window = some.n > TREE_PORTS ? (uint32_t)window_of(&some) : 0;
	out->first = first;
	out->n = n;
	out->window = (uint32_t)most;
	out->map = (uint32_t)t->maps.n;
	add_table(t, "ports", size, key);
	t->ports = out;
	return true;
}

/* --- all of them ---------------------------------------------------------- */

static bool has_large(const struct net_cell cell[NET_PROTOS][NET_FAMILIES])
{
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++)
			if (cell[proto][family].n > TREE_INTERVALS)
				return true;
	return false;
}

static bool needs_ports(struct arena *a, const struct net_set *set)
{
	if (has_large(set->cell) || has_large(set->local) || has_large(set->shut))
		return true;
	for (size_t i = 0; i < set->nportsets; i++)
		if (set->portset[i].n > TREE_PORTS)
			return true;
	return some_ports(a, set).n > TREE_PORTS;
}

/* The cells of one role; what both protocols reach alike is one table. */
static bool build_cells(struct arena *a, const char *role, const struct net_cell cell[NET_PROTOS][NET_FAMILIES],
			struct tables *t, const struct cell_table *out[NET_PROTOS][NET_FAMILIES],
			struct gen_error *error)
{
	for (int family = 0; family < NET_FAMILIES; family++) {
		bool shared = same_cell(&cell[NET_TCP][family], &cell[NET_UDP][family]);

		for (int proto = 0; proto < NET_PROTOS; proto++) {
			const char *name = arena_printf(a, "%s%s%d", role, shared ? "" : proto == NET_TCP ? "_tcp" : "_udp",
							family == NET_V4 ? 4 : 6);

			if (cell[proto][family].n <= TREE_INTERVALS)
				continue;
			if (shared && proto == NET_UDP)
				out[NET_UDP][family] = out[NET_TCP][family];
			else if (!build_cell(a, &cell[proto][family], (enum net_family)family, name, t,
					     &out[proto][family], error))
				return false;
		}
	}
	return true;
}

bool tables_build(struct arena *a, const struct net_set *set, struct tables *t, struct gen_error *error)
{
	return !needs_ports(a, set) ||
	       (build_ports(a, set, t, error) && build_cells(a, "to", set->cell, t, t->to, error) &&
		build_cells(a, "at", set->local, t, t->at, error) &&
		build_cells(a, "shut", set->shut, t, t->shut, error));
}
