/* SPDX-License-Identifier: MIT */
/* Steps of a syscall filter: equal ones shared, values decided by a tree, and their layout. */
#include "bpf/seccomp_steps.h"

#include <stdlib.h>
#include <string.h>

/* The distances of a conditional jump are 8 bits (struct sock_filter). */
enum { JUMP_MAX = 255 };

static uint32_t step_hash(const struct step *s)
{
	uint64_t h = s->code * UINT64_C(0x9e3779b97f4a7c15) ^ s->k;

	h = (h ^ h >> 29 ^ s->patch) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (uintptr_t)s->then >> 4) * UINT64_C(0x94d049bb133111eb);
	h = (h ^ h >> 31 ^ (uintptr_t)s->otherwise >> 4) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32) % STEP_BUCKETS;
}

static bool step_equal(const struct step *a, const struct step *b)
{
	return a->code == b->code && a->k == b->k && a->patch == b->patch && a->then == b->then &&
	       a->otherwise == b->otherwise;
}

static uint32_t size_of(const struct step *s)
{
	return s ? s->size : 0;
}

/* The one step equal to `want`. */
static struct step *intern(struct steps *s, struct step want)
{
	struct step **bucket = &s->bucket[step_hash(&want)], *step;
	uint64_t size = UINT64_C(1) + size_of(want.then) + size_of(want.otherwise);

	for (step = *bucket; step; step = step->chain)
		if (step_equal(step, &want))
			return step;
	step = arena_alloc(s->arena, sizeof *step);
	*step = want;
	step->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	step->chain = *bucket;
	*bucket = step;
	s->n++;
	return step;
}

struct step *step_return(struct steps *s, uint32_t k, unsigned patch, line_id line)
{
	return intern(s, (struct step){ .code = BPF_RET | BPF_K,
					.k = k,
					.patch = (uint8_t)patch,
					.line = line });
}

struct step *step_jump(struct steps *s, unsigned op, uint32_t k, unsigned patch, struct step *then,
		       struct step *otherwise, line_id line)
{
	if (then == otherwise)
		return then;
	return intern(s, (struct step){ .code = (uint16_t)(BPF_JMP | op | BPF_K),
					.k = k,
					.patch = (uint8_t)patch,
					.then = then,
					.otherwise = otherwise,
					.line = line });
}

/* True if the step, or what follows it, looks at what is in the accumulator before it. */
static bool reads_accumulator(const struct step *s)
{
	return BPF_CLASS(s->code) == BPF_JMP || BPF_CLASS(s->code) == BPF_ALU;
}

struct step *step_load(struct steps *s, uint32_t offset, struct step *then, line_id line)
{
	if (!reads_accumulator(then))
		return then;
	return intern(s, (struct step){ .code = BPF_LD | BPF_W | BPF_ABS,
					.k = offset,
					.then = then,
					.line = line });
}

struct step *step_and(struct steps *s, uint32_t mask, struct step *then, line_id line)
{
	if (!reads_accumulator(then))
		return then;
	return intern(s, (struct step){ .code = BPF_ALU | BPF_AND | BPF_K,
					.k = mask,
					.then = then,
					.line = line });
}

/* --- deciding by value ------------------------------------------------------------------------ */

/*
 * A chunk is a run of segments in which all but a few single values lead to the same target: one
 * equality test for each of those.  The whole line is cut into chunks, and a binary tree over the
 * cuts finds the chunk.
 */
struct chunk {
	const struct segment *first;
	size_t n;
	struct step *background;
	uint64_t weight; /* of all chunks up to and including this one */
};

enum { CHUNK_TESTS = 3, CHUNK_SEGMENTS = 2 * CHUNK_TESTS + 1 };

static size_t merge_segments(struct segment *seg, size_t n)
{
	size_t kept = 0;

	for (size_t i = 1; i < n; i++) {
		if (seg[i].to == seg[kept].to)
			seg[kept].weight += seg[i].weight;
		else
			seg[++kept] = seg[i];
	}
	return n ? kept + 1 : 0;
}

static bool single_value(const struct segment *seg, size_t n, size_t i)
{
	return i + 1 < n ? seg[i + 1].lo == seg[i].lo + 1 : seg[i].lo == UINT32_MAX;
}

/*
 * How many equality tests the segments [from, to) need over `background`; SIZE_MAX if they cannot
 * do.
 */
static size_t chunk_tests(const struct segment *seg, size_t n, size_t from, size_t to,
			  const struct step *background)
{
	size_t tests = 0;

	for (size_t i = from; i < to; i++) {
		if (seg[i].to == background)
			continue;
		if (!single_value(seg, n, i))
			return SIZE_MAX;
		tests++;
	}
	return tests;
}

/* The better of the two backgrounds that can be: no two neighbours lead to the same target. */
static size_t chunk_background(const struct segment *seg, size_t n, size_t from, size_t to,
			       struct step **background)
{
	size_t first = chunk_tests(seg, n, from, to, seg[from].to), second = SIZE_MAX;

	*background = seg[from].to;
	if (to - from > 1)
		second = chunk_tests(seg, n, from, to, seg[from + 1].to);
	if (second < first)
		*background = seg[from + 1].to;
	return second < first ? second : first;
}

/*
 * Cuts the line into chunks with the fewest instructions, then the shortest chains.  Returns how
 * many.
 */
static size_t cut_chunks(struct steps *s, const struct segment *seg, size_t n, struct chunk *chunk)
{
	uint32_t *cost = ARENA_ARRAY(s->arena, n + 1, uint32_t);
	uint8_t *length = ARENA_ARRAY(s->arena, n + 1, uint8_t);
	size_t count = 0;

	for (size_t to = 1; to <= n; to++) {
		cost[to] = UINT32_MAX;
		for (size_t len = 1; len <= to && len <= CHUNK_SEGMENTS; len++) {
			struct step *background;
			size_t tests = chunk_background(seg, n, to - len, to, &background);
			uint32_t c;

			if (tests > CHUNK_TESTS)
				continue;
			c = cost[to - len] + 8 + (uint32_t)tests * 8 + (uint32_t)(tests * tests);
			if (c < cost[to]) {
				cost[to] = c;
				length[to] = (uint8_t)len;
			}
		}
	}
	for (size_t to = n; to > 0; to -= length[to])
		count++;
	for (size_t to = n, i = count; to > 0; to -= length[to]) {
		struct chunk *c = &chunk[--i];

		c->first = &seg[to - length[to]];
		c->n = length[to];
		chunk_background(seg, n, to - length[to], to, &c->background);
	}
	return count;
}

/* A chain of equality tests, the heaviest value first. */
static struct step *chunk_steps(struct steps *s, const struct chunk *c)
{
	const struct segment *order[CHUNK_SEGMENTS];
	struct step *step = c->background;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		size_t at = n;

		if (c->first[i].to == c->background)
			continue;
		for (; at > 0 && order[at - 1]->weight > c->first[i].weight; at--)
			order[at] = order[at - 1];
		order[at] = &c->first[i];
		n++;
	}
	for (size_t i = 0; i < n; i++)
		step = step_jump(s, BPF_JEQ, order[i]->lo, 0, order[i]->to, step, order[i]->line);
	return step;
}

/* The cut that halves the weight of chunks [from, to) best. */
static size_t best_cut(const struct chunk *chunk, size_t from, size_t to)
{
	uint64_t before = from ? chunk[from - 1].weight : 0, total = chunk[to - 1].weight - before;
	uint64_t best = UINT64_MAX;
	size_t cut = from + 1;

	for (size_t i = from + 1; i < to; i++) {
		uint64_t left = chunk[i - 1].weight - before;
		uint64_t larger = left > total - left ? left : total - left;

		if (larger < best) {
			best = larger;
			cut = i;
		}
	}
	return cut;
}

static struct step *chunk_tree(struct steps *s, const struct chunk *chunk, size_t from, size_t to)
{
	struct step *below, *above;
	size_t cut;

	if (to - from == 1)
		return chunk_steps(s, &chunk[from]);
	cut = best_cut(chunk, from, to);
	below = chunk_tree(s, chunk, from, cut);
	above = chunk_tree(s, chunk, cut, to);
	return step_jump(s, BPF_JGE, chunk[cut].first->lo, 0, above, below, chunk[cut].first->line);
}

struct step *step_segments(struct steps *s, struct segment *seg, size_t n)
{
	struct chunk *chunk;
	uint64_t weight = 0;

	n = merge_segments(seg, n);
	if (n == 1)
		return seg[0].to;
	chunk = ARENA_ARRAY(s->arena, n, struct chunk);
	n = cut_chunks(s, seg, n, chunk);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < chunk[i].n; j++)
			weight += chunk[i].first[j].weight;
		chunk[i].weight = weight;
	}
	return chunk_tree(s, chunk, 0, n);
}

/* --- layout ----------------------------------------------------------------------------------- */

/* Instructions from the last to the first; entry i is i instructions before the end. */
struct layout {
	struct sock_filter *insn;
	line_id *line;
	struct cave_patch *patch;
	size_t n, max, npatches;
	bool full;
};

static void emit(struct layout *l, struct sock_filter insn, line_id line)
{
	if (l->n == l->max) {
		l->full = true;
		return;
	}
	l->insn[l->n] = insn;
	l->line[l->n++] = line;
}

/* A copy of a plain return, or a jump to anything else, in front of what is laid out. */
static void bring_near(struct layout *l, struct step *s)
{
	if (BPF_CLASS(s->code) == BPF_RET && !s->patch)
		emit(l, (struct sock_filter)BPF_STMT(s->code, s->k), s->line);
	else
		emit(l, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)l->n - s->home),
		     s->line);
	s->nearest = (uint32_t)l->n;
}

/* The distance that a jump written now has to what lies `nearest` - 1 from the end. */
static size_t distance(const struct layout *l, const struct step *s)
{
	return l->n - s->nearest;
}

static void emit_step(struct layout *l, struct step *s)
{
	struct sock_filter insn = { .code = s->code, .k = s->k };

	if (BPF_CLASS(s->code) == BPF_JMP) {
		insn.jt = (uint8_t)distance(l, s->then);
		insn.jf = (uint8_t)distance(l, s->otherwise);
	}
	if (s->patch && !l->full && l->n < l->max)
		l->patch[l->npatches++] = (struct cave_patch){ (uint32_t)l->n, s->patch - 1u };
	emit(l, insn, s->line);
	s->home = s->nearest = (uint32_t)l->n;
}

static void place(struct layout *l, struct step *s)
{
	struct step *far = s->then, *near = s->otherwise;

	if (s->home || l->full)
		return;
	if (BPF_CLASS(s->code) == BPF_JMP) {
		if (near->size > far->size)
			near = s->then, far = s->otherwise;
		place(l, far);
		place(l, near);
		/* Bringing one near moves the other one away: until both are. */
		while (!l->full && (distance(l, near) > JUMP_MAX || distance(l, far) > JUMP_MAX))
			bring_near(l, distance(l, far) > JUMP_MAX ? far : near);
	} else if (s->then) {
		place(l, s->then);
		if (distance(l, s->then) != 0)
			bring_near(l, s->then);
	}
	if (!l->full)
		emit_step(l, s);
}

static void reverse(struct layout *l, struct filter_program *out)
{
	for (size_t i = 0, j = l->n - 1; i < j; i++, j--) {
		struct sock_filter insn = l->insn[i];
		line_id line = l->line[i];

		l->insn[i] = l->insn[j];
		l->line[i] = l->line[j];
		l->insn[j] = insn;
		l->line[j] = line;
	}
	for (size_t i = 0, j = l->npatches; i < j; i++) {
		struct cave_patch patch = l->patch[i];

		l->patch[i] = l->patch[--j];
		l->patch[j] = patch;
	}
	for (size_t i = 0; i < l->npatches; i++)
		l->patch[i].insn = (uint32_t)(l->n - 1 - l->patch[i].insn);
	*out = (struct filter_program){ l->insn, l->line, l->n, l->patch, l->npatches };
}

bool steps_layout(struct steps *s, struct step *root, size_t limit, struct filter_program *out,
		  size_t *needed)
{
	/* A step brings at most two others near. */
	struct layout l = { .max = 3 * s->n + 1 };

	l.insn = ARENA_ARRAY(s->arena, l.max, struct sock_filter);
	l.line = ARENA_ARRAY(s->arena, l.max, line_id);
	l.patch = ARENA_ARRAY(s->arena, l.max, struct cave_patch);
	place(&l, root);
	if (l.full || l.n > limit) {
		*needed = l.n;
		return false;
	}
	reverse(&l, out);
	return true;
}
