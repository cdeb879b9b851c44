/* SPDX-License-Identifier: MIT */
#include "compiler/syscalls_points.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 16, RUNS_MAX = 1 << 23 };

const uint32_t sample_token[6] = { 0x11c0ffee, 0x22c0ffee, 0x33c0ffee, 0x44c0ffee, 0x55c0ffee, 0x66c0ffee };

/* --- patches ---------------------------------------------------------------------------------- */

static uint32_t sample_of(uint32_t kind)
{
	switch (kind) {
	case CAVE_PATCH_SELF: return SAMPLE_SELF;
	case CAVE_PATCH_RET_METADATA: return SAMPLE_METADATA;
	case CAVE_PATCH_RET_SIGNAL: return SAMPLE_SIGNAL;
	default: return sample_token[kind - CAVE_PATCH_EXEC_0];
	}
}

/* Every patch on an instruction of its form, with the constant unset; all but SELF at most once. */
static const char *complete(const struct filter_program *f, struct sock_filter *insn)
{
	size_t count[CAVE_PATCH_KINDS] = { 0 };

	for (size_t i = 0; i < f->npatches; i++) {
		const struct cave_patch *patch = &f->patch[i];
		bool returns = patch->kind == CAVE_PATCH_RET_METADATA ||
			       patch->kind == CAVE_PATCH_RET_SIGNAL;
		uint16_t code = returns ? BPF_RET | BPF_K : BPF_JMP | BPF_JEQ | BPF_K;

		if (patch->kind >= CAVE_PATCH_KINDS || patch->insn >= f->n ||
		    (i && patch->insn <= patch[-1].insn) || insn[patch->insn].code != code ||
		    insn[patch->insn].k != CAVE_PATCH_UNSET)
			return "a patch is out of place";
		if (count[patch->kind]++ && patch->kind != CAVE_PATCH_SELF)
			return "two patches of one kind";
		insn[patch->insn].k = sample_of(patch->kind);
	}
	return NULL;
}

/* The forms that can be followed: no other is ever needed. */
static bool is_plain(const struct sock_filter *f)
{
	switch (f->code) {
	case BPF_LD | BPF_W | BPF_ABS:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_RET | BPF_K:
	case BPF_JMP | BPF_JA:
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_K: return true;
	default: return false;
	}
}

static bool all_plain(const struct filter_program *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!is_plain(&f->insn[i]))
			return false;
	return true;
}

const char *filter_view(struct arena *a, uint32_t arch, const struct filter_program *f, struct filter_view *out)
{
	struct sock_filter *insn;
	const char *fault;
	size_t bad;

	if (!cbpf_check(f->insn, f->n, &bad) || !all_plain(f))
		return "the kernel would not accept it, or it uses an instruction that is not followed";
	insn = ARENA_ARRAY(a, f->n, struct sock_filter);
	memcpy(insn, f->insn, f->n * sizeof *insn);
	fault = complete(f, insn);
	if (!fault)
		*out = (struct filter_view){ a, arch, insn, f->n, ARENA_ARRAY(a, f->n, uint32_t) };
	return fault;
}

/* --- tests ------------------------------------------------------------------------------------ */

uint32_t word_of(unsigned arg, unsigned half)
{
	return 1u << (offsetof(struct seccomp_data, args) / sizeof(uint32_t) + 2 * arg + half);
}

/* The same question about the high half alone: 0 no, 1 it depends on the low half, 2 yes. */
static int high_half(const struct sys_test *t, uint64_t v)
{
	uint64_t lo = v & t->mask & ~(uint64_t)UINT32_MAX, hi = lo | (uint32_t)t->mask;
	int found = 0;

	for (size_t i = 0; i < t->nranges; i++) {
		if (t->range[i].lo <= lo && hi <= t->range[i].hi)
			return 2;
		if (t->range[i].lo <= hi && lo <= t->range[i].hi)
			found = 1;
	}
	return found;
}

bool test_holds(const struct sys_test *t, const struct seccomp_data *data, uint32_t *looked)
{
	uint64_t v = data->args[t->arg];

	if (t->width == 64) {
		int high = high_half(t, v);

		*looked |= word_of(t->arg, 1);
		if (high != 1)
			return high == 2;
	} else {
		v = (uint32_t)v;
	}
	*looked |= word_of(t->arg, 0);
	if (t->self)
		return v == SAMPLE_SELF;
	v &= t->mask;
	for (size_t i = 0; i < t->nranges; i++)
		if (t->range[i].lo <= v && v <= t->range[i].hi)
			return true;
	return false;
}

/* --- boundaries of a word --------------------------------------------------------------------- */

static void push_mark(const struct filter_view *p, struct marks *m, uint32_t mask, uint32_t value)
{
	*ARENA_PUSH(p->arena, m->item, m->n, m->cap) = (struct mark){ mask, value & mask };
}

/*
 * From `value` on, something may differ; with a mask, from the next value above or below that it
 * leaves.
 */
static void mark_from(const struct filter_view *p, struct marks *m, uint32_t mask, uint32_t value)
{
	push_mark(p, m, mask, value);
	if (mask != UINT32_MAX) {
		push_mark(p, m, mask, value - 1);
		push_mark(p, m, mask, value + 1);
	}
}

/* The values from `lo` to `hi` of a word; `edges`: these two may be unlike those between them. */
static void mark_range(const struct filter_view *p, struct marks *m, uint32_t mask, uint32_t lo,
		       uint32_t hi, bool edges)
{
	mark_from(p, m, mask, lo);
	mark_from(p, m, mask, hi + 1);
	if (edges) {
		mark_from(p, m, mask, lo + 1);
		mark_from(p, m, mask, hi);
	}
}

void points_of_test(const struct filter_view *p, const struct sys_test *t, struct marks m[WORDS])
{
	struct marks *words = &m[2 * t->arg];
	uint32_t low = (uint32_t)t->mask, high = (uint32_t)(t->mask >> 32);

	if (t->self)
		mark_range(p, words, UINT32_MAX, SAMPLE_SELF, SAMPLE_SELF, false);
	for (size_t i = 0; i < t->nranges; i++) {
		const struct sys_range *r = &t->range[i];

		mark_range(p, words, low, (uint32_t)r->lo, (uint32_t)r->hi, false);
		if (t->width == 64)
			mark_range(p, words + 1, high, (uint32_t)(r->lo >> 32),
				   (uint32_t)(r->hi >> 32), true);
	}
}

/*
 * Where the filter is while it is followed: at instruction `pc`, with `mask` of word `word` loaded.
 */
struct place {
	size_t pc;
	uint32_t word, mask;
};

enum { FIRST_ARGUMENT = offsetof(struct seccomp_data, args) / sizeof(uint32_t), PLACES = 32 };

/* True if the filter was there before, with the same word loaded. */
static bool been_there(uint32_t *seen, const struct place *at)
{
	uint32_t bit = 1u << (at->word + (at->mask == UINT32_MAX ? 0 : PLACES / 2));
	bool before = (seen[at->pc] & bit) != 0;

	seen[at->pc] |= bit;
	return before;
}

bool jump_taken(const struct sock_filter *f, uint32_t v)
{
	switch (BPF_OP(f->code)) {
	case BPF_JEQ: return v == f->k;
	case BPF_JGE: return v >= f->k;
	case BPF_JGT: return v > f->k;
	default: return (v & f->k) != 0;
	}
}

static void mark_jump(const struct filter_view *p, struct marks *m, uint32_t mask,
		      const struct sock_filter *f)
{
	switch (BPF_OP(f->code)) {
	case BPF_JSET: push_mark(p, m, mask & f->k, 0); break;
	case BPF_JGE: mark_from(p, m, mask, f->k); break;
	case BPF_JGT: mark_from(p, m, mask, f->k + 1); break;
	default: mark_range(p, m, mask, f->k, f->k, false); break;
	}
}

/* Follows every way that the call can take through the filter, and marks what is compared on it. */
static void follow(const struct filter_view *p, const struct seccomp_data *data, struct place at,
		   uint32_t *seen, struct marks *m)
{
	while (at.pc < p->n && !been_there(seen, &at)) {
		const struct sock_filter *f = &p->insn[at.pc++];
		bool jump = BPF_CLASS(f->code) == BPF_JMP && BPF_OP(f->code) != BPF_JA;

		if (BPF_CLASS(f->code) == BPF_RET)
			return;
		if (f->code == (BPF_LD | BPF_W | BPF_ABS)) {
			at.word = f->k / 4;
			at.mask = UINT32_MAX;
		} else if (f->code == (BPF_ALU | BPF_AND | BPF_K)) {
			at.mask &= f->k;
		} else if (f->code == (BPF_JMP | BPF_JA)) {
			at.pc += f->k;
		} else if (jump && at.word < FIRST_ARGUMENT) {
			at.pc += jump_taken(f, (at.word == 0 ? (uint32_t)data->nr : data->arch) &
						       at.mask)
					 ? f->jt
					 : f->jf;
		} else if (jump) {
			mark_jump(p, &m[at.word - FIRST_ARGUMENT], at.mask, f);
			follow(p, data, (struct place){ at.pc + f->jt, at.word, at.mask }, seen, m);
			at.pc += f->jf;
		}
	}
}

void points_of_filter(const struct filter_view *p, uint32_t nr, struct marks m[WORDS])
{
	struct seccomp_data data = { .nr = (int)nr, .arch = p->arch };

	memset(p->seen, 0, p->n * sizeof *p->seen);
	follow(p, &data, (struct place){ 0, 1, UINT32_MAX }, p->seen, m);
}

void add_value(const struct filter_view *p, struct values *v, uint32_t value)
{
	*ARENA_PUSH(p->arena, v->item, v->n, v->cap) = value;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void without_repeats(struct values *v)
{
	size_t kept = 0;

	if (v->n)
		qsort(v->item, v->n, sizeof *v->item, compare_u32);
	for (size_t i = 0; i < v->n; i++)
		if (kept == 0 || v->item[i] != v->item[kept - 1])
			v->item[kept++] = v->item[i];
	v->n = kept;
}

/*
 * Every value so far with the bits of mask m->item[i] set to each of their values: the marked ones,
 * each bit alone.
 */
static void combine_mask(const struct filter_view *p, struct values *all, const struct marks *m, size_t i)
{
	struct values own = { NULL, 0, 0 }, combined = { NULL, 0, 0 };
	uint32_t mask = m->item[i].mask;

	add_value(p, &own, 0);
	add_value(p, &own, mask);
	for (unsigned bit = 0; bit < 32; bit++)
		if (mask >> bit & 1)
			add_value(p, &own, 1u << bit);
	for (size_t j = i; j < m->n; j++)
		if (m->item[j].mask == mask)
			add_value(p, &own, m->item[j].value);
	without_repeats(&own);
	for (size_t a = 0; a < all->n; a++)
		for (size_t b = 0; b < own.n; b++)
			add_value(p, &combined, (all->item[a] & ~mask) | own.item[b]);
	without_repeats(&combined);
	*all = combined;
}

static bool mask_seen(const struct marks *m, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (m->item[j].mask == m->item[i].mask)
			return true;
	return false;
}

/*
 * What to try for a word: each mask's values crossed with the others', on zeros and on ones; the
 * whole ones as is.
 */
struct values word_values(const struct filter_view *p, const struct marks *m)
{
	struct values all = { NULL, 0, 0 };

	add_value(p, &all, 0);
	if (m->n)
		add_value(p, &all, UINT32_MAX);
	for (size_t i = 0; i < m->n && all.n <= VALUES_MAX; i++)
		if (m->item[i].mask != UINT32_MAX && m->item[i].mask != 0 && !mask_seen(m, i))
			combine_mask(p, &all, m, i);
	for (size_t i = 0; i < m->n; i++)
		if (m->item[i].mask == UINT32_MAX)
			add_value(p, &all, m->item[i].value);
	without_repeats(&all);
	return all;
}

/* --- exploring -------------------------------------------------------------------------------- */

void set_word(struct seccomp_data *data, unsigned word, uint32_t value)
{
	unsigned shift = word % 2 * 32;

	data->args[word / 2] &= ~(UINT64_C(0xffffffff) << shift);
	data->args[word / 2] |= (uint64_t)value << shift;
}

/*
 * The words in `fixed` have been given each of their values by the callers.  The first other word that was looked at is
 * given each of its own; where there is none, this judgement stands for all values of the rest.
 */
static bool explore_rest(struct explorer *e, uint32_t fixed)
{
	uint32_t looked = 0, open;
	unsigned word;

	if (e->runs++ >= RUNS_MAX) {
		e->too_many = true;
		return false;
	}
	if (!e->judge(e->context, &e->data, &looked))
		return false;
	open = looked & ~fixed & ~((1u << FIRST_ARGUMENT) - 1);
	if (!open)
		return true;
	word = (unsigned)__builtin_ctz(open) - FIRST_ARGUMENT;
	for (size_t i = 0; i < e->values[word].n; i++) {
		set_word(&e->data, word, e->values[word].item[i]);
		if (!explore_rest(e, fixed | 1u << (word + FIRST_ARGUMENT)))
			return false;
	}
	set_word(&e->data, word, e->values[word].item[0]);
	return true;
}

bool explore(struct explorer *e, uint32_t nr, const struct marks marks[WORDS])
{
	e->data = (struct seccomp_data){ .nr = (int)nr, .arch = e->filter->arch };
	for (unsigned i = 0; i < WORDS; i++) {
		e->values[i] = word_values(e->filter, &marks[i]);
		if (e->values[i].n > VALUES_MAX) {
			e->too_many = true;
			return false;
		}
		set_word(&e->data, i, e->values[i].item[0]);
	}
	return explore_rest(e, 0);
}
