/* SPDX-License-Identifier: MIT */
/* Steps of a syscall filter: equal ones shared, and their layout. */
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
