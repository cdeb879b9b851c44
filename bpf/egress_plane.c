/* SPDX-License-Identifier: MIT */
/*
 * A few rules on IPv4 are decided by address and port at once.  What they distinguish is a plane of regions: its rows
 * are ranges of addresses, its columns ranges of ports.  Each comparison takes away part of it, by order or, where a
 * row or column is one value, by equality; it is chosen so that what is left on either side looks cheapest, all regions
 * counting alike.  (tests/unit/egress_least_test.c says how near that comes to the best tree there is.)
 */
#include "bpf/egress_gen.h"

#include <linux/in.h>
#include <string.h>

enum {
	MAX_ROWS = 2 * TREE_INTERVALS + 3,
	MAX_COLUMNS = 32,
	MAX_REGIONS = 640,
};

enum answer { NO, YES, UNSPECIFIED };

#define LOOPBACK4 0x7f000001u
#define RAW_LOOPBACK4 0x0100007fu

/* A range of addresses or of ports, from `start` to where the next one begins. */
struct line {
	uint32_t start;
	bool single; /* it is one value */
	const struct net_interval *of; /* a row's; NULL: nothing is granted there */
};

struct plane {
	struct hook_gen *g;
	const struct judge *j;
	struct line row[MAX_ROWS], column[MAX_COLUMNS];
	size_t nrows, ncolumns;
	uint8_t answer[MAX_ROWS][MAX_COLUMNS]; /* enum answer */
	asm_label yes, unspecified;
};

/* So many of the lines, by their numbers, in order. */
struct part {
	uint8_t row[MAX_ROWS], column[MAX_COLUMNS];
	size_t nrows, ncolumns;
};

/* --- the plane ------------------------------------------------------------ */

static bool add_column(struct plane *p, uint32_t start)
{
	size_t i = 0;

	while (i < p->ncolumns && p->column[i].start < start)
		i++;
	if (start > UINT16_MAX || (i < p->ncolumns && p->column[i].start == start))
		return true;
	if (p->ncolumns == MAX_COLUMNS)
		return false;
	memmove(p->column + i + 1, p->column + i, (p->ncolumns - i) * sizeof *p->column);
	p->column[i] = (struct line){ .start = start };
	p->ncolumns++;
	return true;
}

static void add_row(struct plane *p, uint64_t start, const struct net_interval *of)
{
	if (p->nrows && p->row[p->nrows - 1].start == start)
		p->nrows--;
	if (start <= UINT32_MAX)
		p->row[p->nrows++] = (struct line){ .start = (uint32_t)start, .of = of };
}

static bool add_lines(struct plane *p, const struct net_cell *c)
{
	add_row(p, 0, NULL);
	if (!add_column(p, 0))
		return false;
	for (size_t i = 0; i < c->n; i++) {
		const struct net_portset *ports = &p->g->set->portset[c->interval[i].ports];

		add_row(p, c->interval[i].lo.lo, &c->interval[i]);
		add_row(p, c->interval[i].hi.lo + 1, NULL);
		for (size_t k = 0; k < ports->n; k++)
			if (!add_column(p, ports->range[k].lo) || !add_column(p, ports->range[k].hi + 1u))
				return false;
	}
	return true;
}

static void mark_single(struct line *line, size_t n, uint32_t last)
{
	for (size_t i = 0; i < n; i++)
		line[i].single = (i + 1 < n ? line[i + 1].start - 1 : last) == line[i].start;
}

static bool reaches(const struct plane *p, const struct net_interval *v, uint32_t port)
{
	const struct net_portset *ports = v ? &p->g->set->portset[v->ports] : NULL;

	for (size_t k = 0; v && k < ports->n; k++)
		if (ports->range[k].lo <= port && port <= ports->range[k].hi)
			return true;
	return false;
}

/* With `zero`, address 0 stands for itself, and what the rules say of it for nothing. */
static bool make_plane(struct plane *p, const struct net_cell *c, bool zero)
{
	p->nrows = p->ncolumns = 0;
	if (c->n > TREE_INTERVALS || !add_lines(p, c))
		return false;
	if (zero && (p->nrows == 1 || p->row[1].start > 1)) {
		memmove(p->row + 1, p->row, p->nrows * sizeof *p->row);
		p->row[1].start = 1;
		p->nrows++;
	}
	if (p->nrows * p->ncolumns > MAX_REGIONS)
		return false;
	mark_single(p->row, p->nrows, UINT32_MAX);
	mark_single(p->column, p->ncolumns, UINT16_MAX);
	for (size_t r = 0; r < p->nrows; r++)
		for (size_t k = 0; k < p->ncolumns; k++)
			p->answer[r][k] = zero && !r ? UNSPECIFIED : reaches(p, p->row[r].of, p->column[k].start);
	return true;
}

/* The one row of an address. */
static struct part one_row(const struct plane *p, uint32_t address)
{
	struct part part = { .nrows = 1, .ncolumns = p->ncolumns };
	size_t r = 0;

	while (r + 1 < p->nrows && p->row[r + 1].start <= address)
		r++;
	part.row[0] = (uint8_t)r;
	for (size_t k = 0; k < p->ncolumns; k++)
		part.column[k] = (uint8_t)k;
	return part;
}

static struct part whole(const struct plane *p)
{
	struct part part = one_row(p, 0);

	part.nrows = p->nrows;
	for (size_t r = 0; r < p->nrows; r++)
		part.row[r] = (uint8_t)r;
	return part;
}

/* --- what a part costs ---------------------------------------------------- */

/* The logarithm to base 2, in 1/64, between powers of two by a straight line. */
static uint32_t logarithm(size_t n)
{
	const unsigned whole_part = 63 - (unsigned)__builtin_clzll(n);

	return 64 * whole_part + (uint32_t)((n - ((size_t)1 << whole_part)) * 64 >> whole_part);
}

static bool same_rows(const struct plane *p, const struct part *part, size_t x, size_t y)
{
	for (size_t k = 0; k < part->ncolumns; k++)
		if (p->answer[part->row[x]][part->column[k]] != p->answer[part->row[y]][part->column[k]])
			return false;
	return true;
}

static bool same_columns(const struct plane *p, const struct part *part, size_t x, size_t y)
{
	for (size_t r = 0; r < part->nrows; r++)
		if (p->answer[part->row[r]][part->column[x]] != p->answer[part->row[r]][part->column[y]])
			return false;
	return true;
}

/* How many rows, and columns, differ from the ones before them; both are 1 where there is one answer. */
static void count_kinds(const struct plane *p, const struct part *part, size_t *rows, size_t *columns)
{
	*rows = *columns = 1;
	for (size_t r = 1; r < part->nrows; r++)
		*rows += !same_rows(p, part, r - 1, r);
	for (size_t k = 1; k < part->ncolumns; k++)
		*columns += !same_columns(p, part, k - 1, k);
}

static uint64_t guess_cost(const struct plane *p, const struct part *part)
{
	size_t rows, columns;

	count_kinds(p, part, &rows, &columns);
	return (logarithm(rows) + logarithm(columns)) * part->nrows * part->ncolumns;
}

/* --- cuts ----------------------------------------------------------------- */

/* A comparison: what it compares with, and what is on either side. */
struct cut {
	bool by_port, equal; /* `low` is the one line that is equal, or what lies before the line */
	uint32_t value;
	struct part low, high;
	uint64_t cost;
};

/* The lines before the one at `at`, and from it on; or the one at `at`, and the others. */
static size_t split_lines(const uint8_t *line, size_t n, size_t at, bool equal, uint8_t *low, uint8_t *high)
{
	size_t nlow = 0, nhigh = 0;

	for (size_t i = 0; i < n; i++)
		if (equal ? i == at : i < at)
			low[nlow++] = line[i];
		else
			high[nhigh++] = line[i];
	return nlow;
}

static void try_cut(const struct plane *p, const struct part *part, bool by_port, size_t at, bool equal,
		    struct cut *best)
{
	const struct line *line = by_port ? &p->column[part->column[at]] : &p->row[part->row[at]];
	struct cut c = { .by_port = by_port, .equal = equal, .value = line->start, .low = *part, .high = *part };

	if (by_port) {
		c.low.ncolumns = split_lines(part->column, part->ncolumns, at, equal, c.low.column, c.high.column);
		c.high.ncolumns -= c.low.ncolumns;
	} else {
		c.low.nrows = split_lines(part->row, part->nrows, at, equal, c.low.row, c.high.row);
		c.high.nrows -= c.low.nrows;
	}
	c.cost = guess_cost(p, &c.low) + guess_cost(p, &c.high);
	if (c.cost < best->cost)
		*best = c;
}

static struct cut best_cut(const struct plane *p, const struct part *part)
{
	struct cut best = { .cost = UINT64_MAX };

	for (size_t k = 0; k < part->ncolumns; k++) {
		if (k && !same_columns(p, part, k - 1, k))
			try_cut(p, part, true, k, false, &best);
		if (p->column[part->column[k]].single && part->ncolumns > 1)
			try_cut(p, part, true, k, true, &best);
	}
	for (size_t r = 0; r < part->nrows; r++) {
		if (r && !same_rows(p, part, r - 1, r))
			try_cut(p, part, false, r, false, &best);
		if (p->row[part->row[r]].single && part->nrows > 1)
			try_cut(p, part, false, r, true, &best);
	}
	return best;
}

/* --- code ----------------------------------------------------------------- */

static bool is_leaf(const struct plane *p, const struct part *part)
{
	size_t rows, columns;

	count_kinds(p, part, &rows, &columns);
	return rows == 1 && columns == 1;
}

static asm_label leaf_label(const struct plane *p, const struct part *part)
{
	switch (p->answer[part->row[0]][part->column[0]]) {
	case YES:
		return p->yes;
	case UNSPECIFIED:
		return p->unspecified;
	default:
		return p->j->no;
	}
}

/* The line of the first of the rules that have a say in the part; of none, of what is there already. */
static void note_line(const struct plane *p, const struct part *part)
{
	for (size_t r = 0; r < part->nrows; r++)
		if (p->row[part->row[r]].of) {
			p->g->s.current = p->row[part->row[r]].of->line;
			return;
		}
}

static void emit_part(const struct plane *p, const struct part *part);

/* A jump to one side, and the other side below; a side that is decided is jumped to, refusals before others. */
static void emit_cut(const struct plane *p, const struct cut *c)
{
	const bool low_leaf = is_leaf(p, &c->low), high_leaf = is_leaf(p, &c->high);
	const bool low = low_leaf && (!high_leaf || leaf_label(p, &c->low) == p->j->no);
	const struct part *away = low ? &c->low : &c->high, *below = low ? &c->high : &c->low;
	const bool decided = low || high_leaf;
	const asm_label to = decided ? leaf_label(p, away) : asm_new_label(&p->g->s);
	const uint8_t op = c->equal ? (low ? BPF_JEQ : BPF_JNE) : low ? BPF_JLT : BPF_JGE;

	jump_if(p->g, op, c->by_port ? PORT : ADDR4, c->value, to);
	emit_part(p, below);
	if (decided)
		return;
	asm_place(&p->g->s, to);
	emit_part(p, away);
}

static void emit_part(const struct plane *p, const struct part *part)
{
	struct cut c;

	note_line(p, part);
	if (is_leaf(p, part)) {
		asm_goto(&p->g->s, leaf_label(p, part));
		return;
	}
	c = best_cut(p, part);
	emit_cut(p, &c);
}

/* What the rules let through is left to compare by its protocol. */
static void emit_yes(struct plane *p, bool tcp, bool udp)
{
	struct hook_gen *g = p->g;

	if ((!tcp && !udp) || !asm_is_used(&g->s, p->yes))
		return;
	asm_place(&g->s, p->yes);
	if (tcp && udp)
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_TCP, p->j->yes);
	jump_if(g, BPF_JNE, PROTO, udp ? IPPROTO_UDP : IPPROTO_TCP, p->j->no);
	asm_goto(&g->s, p->j->yes);
}

/* Address 0: loopback is written in its place, and judged. */
static void emit_unspecified(struct plane *p)
{
	struct hook_gen *g = p->g;
	struct part row = one_row(p, LOOPBACK4);

	if (!asm_is_used(&g->s, p->unspecified))
		return;
	asm_place(&g->s, p->unspecified);
	set_field(g, ADDR4, RAW_LOOPBACK4, SOCK_ADDR(user_ip4));
	emit_part(p, &row);
}

/* --- which planes there are ----------------------------------------------- */

static bool is_asked(const struct hook_gen *g, const struct judge *j, int proto)
{
	return g->proto[proto] && j->cell[proto][NET_V4].n;
}

static bool fits(struct plane *p, int proto, bool zero)
{
	return !is_asked(p->g, p->j, proto) || make_plane(p, &p->j->cell[proto][NET_V4], zero);
}

bool plane_decides(struct hook_gen *g, const struct judge *j)
{
	struct plane *p = ARENA_ARRAY(g->s.arena, 1, struct plane);

	*p = (struct plane){ .g = g, .j = j };
	return !j->resolver && !j->names && !j->function[NET_V4] && (is_asked(g, j, NET_TCP) || is_asked(g, j, NET_UDP)) &&
	       fits(p, NET_TCP, true) && fits(p, NET_UDP, true);
}

/* `tcp`, `udp`: the protocol may be one of these; neither: it is known. */
static void emit_plane(struct plane *p, int proto, bool tcp, bool udp, bool zero)
{
	struct part all;

	make_plane(p, &p->j->cell[proto][NET_V4], zero);
	p->yes = tcp || udp ? asm_new_label(&p->g->s) : p->j->yes;
	p->unspecified = asm_new_label(&p->g->s);
	all = whole(p);
	emit_part(p, &all);
	emit_unspecified(p);
	emit_yes(p, tcp, udp);
}

void plane_judge(struct hook_gen *g, const struct judge *j, bool zero)
{
	struct plane *p = ARENA_ARRAY(g->s.arena, 1, struct plane);
	const bool tcp = is_asked(g, j, NET_TCP), udp = is_asked(g, j, NET_UDP);
	const line_id outer = g->s.current;
	asm_label other;

	*p = (struct plane){ .g = g, .j = j };
	if (tcp && udp && !same_cell(&j->cell[NET_TCP][NET_V4], &j->cell[NET_UDP][NET_V4])) {
		other = asm_new_label(&g->s);
		jump_if(g, BPF_JNE, PROTO, IPPROTO_TCP, other);
		emit_plane(p, NET_TCP, false, false, zero);
		asm_place(&g->s, other);
		emit_plane(p, NET_UDP, false, true, zero);
	} else {
		emit_plane(p, tcp ? NET_TCP : NET_UDP, tcp, udp, zero);
	}
	g->s.current = outer;
}
