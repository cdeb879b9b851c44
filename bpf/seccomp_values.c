/* SPDX-License-Identifier: MIT */
/*
 * Which target a value in the accumulator leads to, by the cheapest tests.
 *
 * The value line is a list of pieces, each a run of values with one target.  For every window of the list the
 * cheapest plan is found from the plans of smaller windows: cut it in two (JGE), test single values one after the
 * other (JEQ), take one busy value out first (JEQ), or part it by some bits (JSET), which can leave both parts
 * with fewer runs.  All of these the kernel follows when it looks for decisions to cache
 * (seccomp_is_const_allow, kernel/seccomp.c); a bitmap shifted by the value it does not.
 *
 * The cost of a plan is its instructions, each COST_INSTRUCTION, and its tests, each as often as the weights of
 * the values that come by.
 */
#include "bpf/seccomp_steps.h"

enum {
	COST_INSTRUCTION = 20,
	WEIGHT_MAX = 1 << 16, /* so that costs are 32 bits */
	BLOCK = 96, /* pieces that are planned together */
	CHAIN_TESTS = 4,
	CHAIN_PIECES = 2 * CHAIN_TESTS + 1,
	PART_MIN = 4, /* fewer pieces are never better parted */
	PART_PIECES = 8, /* of a window that is parted by bits, or has a value taken out */
	PART_SPAN = 128, /* values from its first to its last */
	CUBE_PIECES = 64,
	CUT_SLACK = 2,
};

/* The bits by which a window may be parted. */
static const uint8_t part_masks[] = { 1, 2, 4, 8, 16, 3, 7, 12, 15 };

enum { PART_MASKS = sizeof part_masks };

struct piece {
	uint32_t lo, hi;
	uint32_t weight;
	line_id line;
	struct step *to;
	bool single; /* one value, `lo` */
};

enum how {
	SAME, /* one target */
	CUT, /* at piece `at` */
	CHAIN, /* all but single values lead to the target of piece `at` */
	TAKE, /* piece `at` first */
	PART, /* by the bits `mask` */
	CUBE, /* no bit outside `mask`: the target of the first piece */
};

struct plan {
	uint32_t mask;
	uint8_t at;
	uint8_t how;
};

struct planner {
	struct steps *steps;
	const struct piece *piece;
	size_t n;
	uint32_t *before; /* weight of the pieces before each */
	struct plan *plan; /* of pieces i to j at [i * n + j] */
	uint32_t *cost; /* likewise */
	uint32_t *cost_to; /* the same at [j * n + i], to walk both in the order of memory */
	/*
	 * The masks that leave fewer runs than the `len` pieces from i, a bit each, at [i * (PART_PIECES + 1) + len];
	 * NULL in a list that parting made, which is not parted again: this bounds the work.
	 */
	uint16_t *parts;
};

static struct plan *plan_of(const struct planner *p, size_t i, size_t j)
{
	return &p->plan[i * p->n + j];
}

static uint32_t cost_of(const struct planner *p, size_t i, size_t j)
{
	return p->cost[i * p->n + j];
}

static void set_plan(const struct planner *p, size_t i, size_t j, uint32_t cost, struct plan plan)
{
	*plan_of(p, i, j) = plan;
	p->cost[i * p->n + j] = p->cost_to[j * p->n + i] = cost;
}

/* What one test costs that every value of the window comes by. */
static uint32_t test_cost(const struct planner *p, size_t i, size_t j)
{
	return COST_INSTRUCTION + p->before[j + 1] - p->before[i];
}

static void propose(const struct planner *p, size_t i, size_t j, uint32_t cost, struct plan plan)
{
	if (cost < cost_of(p, i, j))
		set_plan(p, i, j, cost, plan);
}

/* --- cuts and chains -------------------------------------------------------------------------- */

/*
 * The best cut of a window lies near those of the windows that are shorter by one piece, as in any optimal search
 * tree (Knuth 1971): between them if there were only cuts, so a little slack is given.
 */
static void cut_bounds(const struct planner *p, size_t i, size_t j, size_t *from, size_t *to)
{
	const struct plan *left = plan_of(p, i, j - 1), *right = plan_of(p, i + 1, j);

	*from = i + 1;
	*to = j;
	if (j - i < PART_PIECES || left->how != CUT || right->how != CUT)
		return;
	if ((size_t)left->at > *from + CUT_SLACK)
		*from = left->at - CUT_SLACK;
	if ((size_t)right->at + CUT_SLACK < *to)
		*to = right->at + CUT_SLACK;
	if (*from > *to)
		*from = i + 1, *to = j;
}

static void propose_cuts(const struct planner *p, size_t i, size_t j)
{
	const uint32_t *left = &p->cost[i * p->n], *right = &p->cost_to[j * p->n];
	uint32_t best = UINT32_MAX;
	size_t at = i + 1, from, to;

	cut_bounds(p, i, j, &from, &to);
	for (size_t k = from; k <= to; k++)
		if (left[k - 1] + right[k] < best) {
			best = left[k - 1] + right[k];
			at = k;
		}
	set_plan(p, i, j, best + test_cost(p, i, j), (struct plan){ 0, (uint8_t)at, CUT });
}

/*
 * The pieces of the window that do not lead to `background`, the heaviest first.  Returns how many, or
 * SIZE_MAX if they are too many or not single values.
 */
static size_t chain_order(const struct piece *piece, size_t i, size_t j, const struct step *background,
			  const struct piece *order[CHAIN_TESTS])
{
	size_t n = 0;

	for (size_t k = i; k <= j; k++) {
		size_t at = n;

		if (piece[k].to == background)
			continue;
		if (!piece[k].single || n == CHAIN_TESTS)
			return SIZE_MAX;
		for (; at > 0 && order[at - 1]->weight < piece[k].weight; at--)
			order[at] = order[at - 1];
		order[at] = &piece[k];
		n++;
	}
	return n;
}

static void propose_chain(const struct planner *p, size_t i, size_t j, size_t background)
{
	const struct piece *order[CHAIN_TESTS];
	size_t n = chain_order(p->piece, i, j, p->piece[background].to, order);
	uint32_t test = test_cost(p, i, j), cost = 0;

	if (n == SIZE_MAX)
		return;
	for (size_t k = 0; k < n; k++) {
		cost += test;
		test -= order[k]->weight;
	}
	propose(p, i, j, cost, (struct plan){ 0, (uint8_t)background, CHAIN });
}

/* --- parts of a window ------------------------------------------------------------------------ */

/* The first value from `v` on that has (or has not) a bit of the mask; may wrap round at the end. */
static uint64_t next_member(uint64_t v, uint32_t mask, bool with)
{
	uint64_t lowest = mask & -mask;

	if (with)
		return v & mask ? v : (v & ~(lowest - 1)) | lowest;
	while (v & mask) {
		uint64_t bit = (v & mask) & -(v & mask);

		v = (v + bit) & ~(bit - 1);
	}
	return v;
}

static size_t append_piece(struct piece *out, size_t n, struct piece piece)
{
	if (n == 0 || out[n - 1].to != piece.to) {
		out[n] = piece;
		return n + 1;
	}
	out[n - 1].weight = out[n - 1].weight + piece.weight < WEIGHT_MAX ? out[n - 1].weight + piece.weight :
									     WEIGHT_MAX;
	out[n - 1].hi = piece.hi;
	out[n - 1].single = false;
	return n;
}

/* The values of the window with, or without, a bit of the mask.  Weights of runs are shared out by halves. */
static size_t part(const struct piece *piece, size_t n, uint32_t mask, bool with, struct piece *out)
{
	unsigned bits = (unsigned)__builtin_popcount(mask);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t first = next_member(piece[i].lo, mask, with);
		uint32_t without = piece[i].weight >> bits;
		struct piece some = piece[i];

		if (first > piece[i].hi)
			continue;
		some.lo = (uint32_t)first;
		some.single = next_member(first + 1, mask, with) > piece[i].hi;
		if (!piece[i].single)
			some.weight = with ? piece[i].weight - without : without;
		kept = append_piece(out, kept, some);
	}
	return kept;
}

/* The window without the pieces that lead to `target`, or without the one piece `at` if target is NULL. */
static size_t leave_out(const struct piece *piece, size_t n, const struct step *target, size_t at,
			struct piece *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (target ? piece[i].to != target : i != at)
			kept = append_piece(out, kept, piece[i]);
	return kept;
}

static void fill_plans(struct planner *p);

/* The cheapest plan for a short list. */
static uint32_t cost_of_list(const struct planner *p, const struct piece *piece, size_t n)
{
	struct plan plan[PART_PIECES * PART_PIECES];
	uint32_t cost[PART_PIECES * PART_PIECES], cost_to[PART_PIECES * PART_PIECES], before[PART_PIECES + 1];
	struct planner sub = { p->steps, piece, n, before, plan, cost, cost_to, NULL };

	if (n == 1)
		return 0;
	fill_plans(&sub);
	return cost_of(&sub, 0, n - 1);
}

/* What every plan for a list costs at least: one test, that all values come by, if it has more than one run. */
static uint32_t least_cost(const struct piece *piece, size_t n)
{
	uint32_t cost = COST_INSTRUCTION;

	for (size_t i = 0; i < n; i++)
		cost += piece[i].weight;
	return n > 1 ? cost : 0;
}

static void propose_part(const struct planner *p, size_t i, size_t j, uint32_t mask)
{
	struct piece with[PART_PIECES], without[PART_PIECES];
	size_t a = part(&p->piece[i], j - i + 1, mask, true, with);
	size_t b = part(&p->piece[i], j - i + 1, mask, false, without);
	uint32_t cost = test_cost(p, i, j);

	if (cost + least_cost(with, a) + least_cost(without, b) >= cost_of(p, i, j))
		return;
	cost += cost_of_list(p, with, a) + cost_of_list(p, without, b);
	propose(p, i, j, cost, (struct plan){ mask, 0, PART });
}

/* Takes out the heaviest single value if it is a good part of all and its neighbours then become one run. */
static void propose_take(const struct planner *p, size_t i, size_t j)
{
	struct piece rest[PART_PIECES];
	size_t best = 0, n;
	uint32_t cost = test_cost(p, i, j);

	for (size_t k = i + 1; k < j; k++)
		if (p->piece[k].single && p->piece[k - 1].to == p->piece[k + 1].to &&
		    (!best || p->piece[k].weight > p->piece[best].weight))
			best = k;
	if (!best || p->piece[best].weight < cost / 4)
		return;
	n = leave_out(&p->piece[i], j - i + 1, NULL, best - i, rest);
	cost += cost_of_list(p, rest, n);
	propose(p, i, j, cost, (struct plan){ 0, (uint8_t)best, TAKE });
}

/* For each piece, which masks have values in it with, and without, their bits. */
struct members {
	uint16_t masks[2];
};

static struct members *find_members(const struct planner *p)
{
	struct members *m = ARENA_ARRAY(p->steps->arena, p->n, struct members);

	for (size_t i = 0; i < p->n; i++)
		for (unsigned mask = 0; mask < PART_MASKS; mask++)
			for (unsigned with = 0; with < 2; with++)
				if (next_member(p->piece[i].lo, part_masks[mask], with) <= p->piece[i].hi)
					m[i].masks[with] |= (uint16_t)(1 << mask);
	return m;
}

/* Walks from piece i on, counting the runs with and without the bits. */
static void count_runs(const struct planner *p, const struct members *m, size_t i, unsigned mask)
{
	const struct step *to[2] = { NULL, NULL };
	size_t runs[2] = { 0, 0 };

	for (size_t j = i; j < p->n && j - i < PART_PIECES && p->piece[j].hi - p->piece[i].lo < PART_SPAN; j++) {
		for (unsigned with = 0; with < 2; with++)
			if (to[with] != p->piece[j].to && m[j].masks[with] >> mask & 1) {
				to[with] = p->piece[j].to;
				runs[with]++;
			}
		if (runs[0] && runs[1] && runs[0] + runs[1] < j - i + 1)
			p->parts[i * (PART_PIECES + 1) + j - i + 1] |= (uint16_t)(1 << mask);
	}
}

static void find_parts(struct planner *p)
{
	const struct members *m = find_members(p);

	p->parts = ARENA_ARRAY(p->steps->arena, p->n * (PART_PIECES + 1), uint16_t);
	for (size_t i = 0; i + PART_MIN <= p->n; i++)
		for (unsigned mask = 0; mask < PART_MASKS; mask++)
			count_runs(p, m, i, mask);
}

static void propose_parts(const struct planner *p, size_t i, size_t j)
{
	unsigned masks = p->parts[i * (PART_PIECES + 1) + j - i + 1];

	propose_take(p, i, j);
	for (; masks; masks &= masks - 1)
		propose_part(p, i, j, part_masks[__builtin_ctz(masks)]);
}

/*
 * Values that lead where 0 leads and are together all the combinations of some bits: one test for the other
 * bits.  Returns the bits, 0 if it is not so.
 */
static uint32_t cube_mask(const struct piece *piece, size_t n)
{
	uint64_t count = 0;
	uint32_t mask = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t differ = piece[i].lo ^ piece[i].hi;

		if (piece[i].to != piece[0].to)
			continue;
		mask |= piece[i].hi | (differ ? UINT32_MAX >> __builtin_clz(differ) : 0);
		count += UINT64_C(1) + piece[i].hi - piece[i].lo;
	}
	return count == UINT64_C(1) << __builtin_popcount(mask) ? mask : 0;
}

static void propose_cube(const struct planner *p, size_t j)
{
	struct piece rest[CUBE_PIECES];
	uint32_t mask = cube_mask(p->piece, j + 1);
	uint32_t cost = test_cost(p, 0, j);
	size_t n;

	if (!mask || mask == UINT32_MAX)
		return;
	n = leave_out(p->piece, j + 1, p->piece[0].to, 0, rest);
	if (n > PART_PIECES)
		return;
	cost += cost_of_list(p, rest, n);
	propose(p, 0, j, cost, (struct plan){ mask, 0, CUBE });
}

/* --- plans ------------------------------------------------------------------------------------ */

static void plan_window(struct planner *p, size_t i, size_t j)
{
	size_t n = j - i + 1;

	propose_cuts(p, i, j);
	if (n <= CHAIN_PIECES) {
		propose_chain(p, i, j, i);
		propose_chain(p, i, j, i + 1);
	}
	if (!p->parts || n < PART_MIN)
		return;
	if (n <= PART_PIECES)
		propose_parts(p, i, j);
	if (i == 0 && p->piece[0].lo == 0 && n <= CUBE_PIECES)
		propose_cube(p, j);
}

/* Plans every window of the list, the short ones first. */
static void fill_plans(struct planner *p)
{
	p->before[0] = 0;
	for (size_t i = 0; i < p->n; i++) {
		p->before[i + 1] = p->before[i] + p->piece[i].weight;
		set_plan(p, i, i, 0, (struct plan){ 0, (uint8_t)i, SAME });
	}
	for (size_t n = 2; n <= p->n; n++)
		for (size_t i = 0; i + n <= p->n; i++)
			plan_window(p, i, i + n - 1);
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct step *window_steps(const struct planner *p, size_t i, size_t j);

static struct step *list_steps(struct steps *s, const struct piece *piece, size_t n, bool parts)
{
	struct planner p = { s,
			     piece,
			     n,
			     ARENA_ARRAY(s->arena, n + 1, uint32_t),
			     ARENA_ARRAY(s->arena, n * n, struct plan),
			     ARENA_ARRAY(s->arena, n * n, uint32_t),
			     ARENA_ARRAY(s->arena, n * n, uint32_t),
			     NULL };

	if (parts && n >= PART_MIN)
		find_parts(&p);
	fill_plans(&p);
	return window_steps(&p, 0, n - 1);
}

static struct step *chain_steps(const struct planner *p, size_t i, size_t j, size_t background)
{
	const struct piece *order[CHAIN_TESTS];
	struct step *step = p->piece[background].to;

	for (size_t n = chain_order(p->piece, i, j, step, order); n-- > 0;)
		step = step_jump(p->steps, BPF_JEQ, order[n]->lo, 0, order[n]->to, step, order[n]->line);
	return step;
}

static struct step *part_steps(const struct planner *p, size_t i, size_t j, uint32_t mask)
{
	struct piece *list = ARENA_ARRAY(p->steps->arena, PART_PIECES, struct piece);
	size_t n = part(&p->piece[i], j - i + 1, mask, true, list);
	struct step *with = list_steps(p->steps, list, n, false), *without;

	n = part(&p->piece[i], j - i + 1, mask, false, list);
	without = list_steps(p->steps, list, n, false);
	return step_jump(p->steps, BPF_JSET, mask, 0, with, without, p->piece[i].line);
}

static struct step *rest_steps(const struct planner *p, size_t i, size_t j, const struct step *target, size_t at)
{
	struct piece *list = ARENA_ARRAY(p->steps->arena, CUBE_PIECES, struct piece);

	return list_steps(p->steps, list, leave_out(&p->piece[i], j - i + 1, target, at - i, list), false);
}

static struct step *window_steps(const struct planner *p, size_t i, size_t j)
{
	const struct plan *plan = plan_of(p, i, j);
	const struct piece *at = &p->piece[plan->at];

	switch ((enum how)plan->how) {
	case SAME: return at->to;
	case CUT:
		return step_jump(p->steps, BPF_JGE, at->lo, 0, window_steps(p, plan->at, j),
				 window_steps(p, i, plan->at - 1u), at->line);
	case CHAIN: return chain_steps(p, i, j, plan->at);
	case TAKE:
		return step_jump(p->steps, BPF_JEQ, at->lo, 0, at->to, rest_steps(p, i, j, NULL, plan->at),
				 at->line);
	case PART: return part_steps(p, i, j, plan->mask);
	case CUBE: break;
	}
	return step_jump(p->steps, BPF_JSET, ~plan->mask, 0, rest_steps(p, i, j, p->piece[i].to, i), p->piece[i].to,
			 p->piece[i].line);
}

/* The piece that halves the weight of a list too long to be planned as one. */
static size_t middle(const struct piece *piece, size_t n)
{
	uint64_t total = 0, left = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		total += piece[i].weight;
	while (at + 1 < n && 2 * left < total)
		left += piece[at++].weight;
	return at ? at : 1;
}

static struct step *long_list_steps(struct steps *s, const struct piece *piece, size_t n)
{
	struct step *below, *above;
	size_t at;

	if (n <= BLOCK)
		return list_steps(s, piece, n, true);
	at = middle(piece, n);
	below = long_list_steps(s, piece, at);
	above = long_list_steps(s, piece + at, n - at);
	return step_jump(s, BPF_JGE, piece[at].lo, 0, above, below, piece[at].line);
}

struct step *step_segments(struct steps *s, const struct segment *seg, size_t n)
{
	struct piece *piece = ARENA_ARRAY(s->arena, n, struct piece);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t hi = i + 1 < n ? seg[i + 1].lo - 1 : UINT32_MAX;

		kept = append_piece(piece, kept,
				    (struct piece){ seg[i].lo, hi,
						    seg[i].weight < WEIGHT_MAX ? seg[i].weight : WEIGHT_MAX,
						    seg[i].line, seg[i].to, hi == seg[i].lo });
	}
	return long_list_steps(s, piece, kept);
}
