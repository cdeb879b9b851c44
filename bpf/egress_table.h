/* SPDX-License-Identifier: MIT */
/*
 * Large sets as tables, which programs search in a number of steps that the compiler fixes: the code is the
 * same for a hundred addresses and for a hundred thousand.  docs/egress.md has the layout.
 */
#ifndef CAVE_BPF_EGRESS_TABLE_H
#define CAVE_BPF_EGRESS_TABLE_H

#include "bpf/program.h"

enum {
	/*
	 * More intervals of addresses, or ranges of ports, than these are no tree but a table, which is loaded sooner and
	 * costs a call the same time (tests/bench/egress), though more instructions.
	 */
	TREE_INTERVALS = 20,
	TREE_PORTS = 32,
	TABLE_LEVELS = 3,
};

/* In the number that belongs to a key: what follows is decided by the next level, from that entry on. */
#define TABLE_SPLIT 0x80000000u

/*
 * Keys in ascending order, and a number for each.  The first level holds all keys of the table; in a further
 * one, those that belong together are a window of at most `window` entries, whose first key is the least.
 */
struct table_level {
	uint32_t map;
	uint32_t keys, numbers; /* offsets into the value */
	uint32_t n; /* entries; `window` more follow those of a further level, which nothing is found in */
	uint32_t window;
};

/* One cell.  The number of an address is 0, or where its ports begin in the table of ports. */
struct cell_table {
	unsigned nlevels;
	struct table_level level[TABLE_LEVELS];
};

/*
 * Ports: for every set a window that begins with a key of its own, the set's number times 65536.  After it, at
 * odd places of the window, the first port of a range, at even ones the first that is not in it any more.
 */
struct ports_table {
	uint32_t map;
	uint32_t n, window;
	const uint32_t *first; /* by port set: the place of its window, never 0 */
	/* All ports by which UDP reaches some IPv4 address; some_window is 0 where a tree does for them. */
	uint32_t some, some_window;
};

struct tables {
	struct map_list maps;
	const struct cell_table *to[NET_PROTOS][NET_FAMILIES]; /* NULL: a tree */
	const struct cell_table *at[NET_PROTOS][NET_FAMILIES]; /* of endpoints of one's own */
	const struct cell_table *shut[NET_PROTOS][NET_FAMILIES]; /* of what is denied to peers nobody names */
	const struct ports_table *ports; /* NULL: no set needs it */
};

/* How an IPv6 address is cut into digits, the most significant first: each fits 63 bits with a window's number. */
static const struct {
	unsigned shift, bits;
} table_digit[TABLE_LEVELS] = { { 65, 63 }, { 21, 44 }, { 0, 21 } };

/* No tables; and another map, which is not one, before they are built. */
void tables_init(struct arena *a, struct tables *out);
void tables_add(struct tables *t, const struct map_def *map);

/*
 * Builds the tables of a set; trees are left to the programs.  Returns false with *error set if one is larger
 * than the kernel takes.
 */
bool tables_build(struct arena *a, const struct net_set *set, struct tables *t, struct gen_error *error);

/* True if the two cells reach the same. */
bool same_cell(const struct net_cell *a, const struct net_cell *b);

#endif
