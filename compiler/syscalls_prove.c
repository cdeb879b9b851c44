/* SPDX-License-Identifier: MIT */
/*
 * The proof of a filter: it is run on every number and on every boundary of every argument that the
 * rules mention, and each answer is compared with the clauses read directly.  Nothing here knows
 * how the filter was made.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/vm.h"
#include "compiler/syscalls.h"
#include "compiler/syscalls_data.h"

static const struct span nowhere;

/*
 * What the runtime would put into the patches.  The returns get answers that nothing else gives, so
 * that the proof can tell them apart.
 */
enum {
	SAMPLE_SELF = 0x01234567,
	SAMPLE_METADATA = SECCOMP_RET_ERRNO | 0xe01,
	SAMPLE_SIGNAL = SECCOMP_RET_ERRNO | 0xe02,
};

static const uint32_t sample_token[6] = { 0x11c0ffee, 0x22c0ffee, 0x33c0ffee,
					  0x44c0ffee, 0x55c0ffee, 0x66c0ffee };

struct proof {
	struct diags *diags;
	struct arena *arena;
	const struct sys_rules *rules;
	struct sock_filter *insn; /* completed with the samples */
	size_t n;
	uint32_t *seen; /* room for following the filter, one for each instruction */
};

/* --- the policy, read directly ---------------------------------------------------------------- */

static bool test_holds(const struct sys_test *t, const struct seccomp_data *data)
{
	uint64_t v = data->args[t->arg];

	if (t->self)
		return (uint32_t)v == (uint32_t)SAMPLE_SELF;
	if (t->width == 32)
		v = (uint32_t)v;
	v &= t->mask;
	for (size_t i = 0; i < t->nranges; i++)
		if (t->range[i].lo <= v && v <= t->range[i].hi)
			return true;
	return false;
}

static bool clause_matches(const struct sys_clause *c, const struct seccomp_data *data)
{
	for (size_t i = 0; i < c->ntests; i++)
		if (!test_holds(&c->test[i], data))
			return false;
	return true;
}

static bool token_given(const struct seccomp_data *data)
{
	for (unsigned i = 0; i < 3; i++)
		if (data->args[3 + i] !=
		    ((uint64_t)sample_token[2 * i + 1] << 32 | sample_token[2 * i]))
			return false;
	return true;
}

/* True if `a` decides although `b` matches too: see bpf/sysrules.h. */
static bool beats(struct sys_result a, struct sys_result b)
{
	static const int rank[] = {
		[SYS_KILL] = 0,	     [SYS_ERRNO] = 1,	       [SYS_ALLOW_LOGGED] = 2,
		[SYS_ALLOW] = 3,     [SYS_GUARD_METADATA] = 4, [SYS_GUARD_SIGNAL] = 5,
		[SYS_EXEC_ONCE] = 6,
	};

	if (rank[a.action] != rank[b.action])
		return rank[a.action] < rank[b.action];
	return a.action == SYS_ERRNO && a.error < b.error;
}

static uint32_t answer_of(const struct proof *p, struct sys_result r,
			  const struct seccomp_data *data)
{
	switch (r.action) {
	case SYS_ALLOW: return SECCOMP_RET_ALLOW;
	case SYS_ALLOW_LOGGED: return SECCOMP_RET_LOG;
	case SYS_GUARD_METADATA: return SAMPLE_METADATA;
	case SYS_GUARD_SIGNAL: return SAMPLE_SIGNAL;
	case SYS_EXEC_ONCE:
		return token_given(data) ? SECCOMP_RET_ALLOW
					 : answer_of(p, p->rules->refused, data);
	case SYS_ERRNO: return SECCOMP_RET_ERRNO | r.error;
	case SYS_KILL: break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* What the policy says; `call` is the entry of data->nr, or NULL. */
static uint32_t policy_answer(const struct proof *p, const struct sys_call *call,
			      const struct seccomp_data *data)
{
	const struct sys_clause *best = NULL;

	if (data->arch != p->rules->arch)
		return SECCOMP_RET_KILL_PROCESS;
	if (!call)
		return answer_of(p, p->rules->unknown, data);
	for (size_t i = 0; i < call->nclauses; i++)
		if (clause_matches(&call->clause[i], data) &&
		    (!best || beats(call->clause[i].result, best->result)))
			best = &call->clause[i];
	return answer_of(p, best ? best->result : p->rules->refused, data);
}

/* --- comparing -------------------------------------------------------------------------------- */

static const char *answer_name(struct arena *a, uint32_t answer)
{
	switch (answer) {
	case SECCOMP_RET_ALLOW: return "allow";
	case SECCOMP_RET_LOG: return "allow and log";
	case SECCOMP_RET_KILL_PROCESS: return "kill";
	case SAMPLE_METADATA: return "allow where metadata is bounded";
	case SAMPLE_SIGNAL: return "allow where signals are bounded";
	default: return arena_printf(a, "0x%08" PRIx32, answer);
	}
}

static bool report(const struct proof *p, const struct sys_call *call,
		   const struct seccomp_data *data, uint32_t expected, uint32_t got)
{
	struct diag *e =
		diag_error(p->diags, CAVE_PROOF_FAILED, nowhere,
			   "the %s filter does not do what the policy says", p->rules->arch_name);

	diag_note(p->diags, e, nowhere,
		  "call %d%s%s%s of architecture 0x%08" PRIx32
		  " (0x%llx, 0x%llx, 0x%llx, 0x%llx, 0x%llx, 0x%llx)",
		  data->nr, call ? " (" : "", call ? call->name : "", call ? ")" : "", data->arch,
		  (unsigned long long)data->args[0], (unsigned long long)data->args[1],
		  (unsigned long long)data->args[2], (unsigned long long)data->args[3],
		  (unsigned long long)data->args[4], (unsigned long long)data->args[5]);
	diag_note(p->diags, e, nowhere, "the policy: %s; the filter: %s",
		  answer_name(p->arena, expected), answer_name(p->arena, got));
	return false;
}

/* The words of struct seccomp_data that say which call it is, and those of an argument's halves. */
enum { WORD_OF_ARCH = 1u << 1, WORDS_OF_NUMBER = 1u << 0 | WORD_OF_ARCH };

static uint32_t word_of(unsigned arg, unsigned half)
{
	return 1u << (offsetof(struct seccomp_data, args) / sizeof(uint32_t) + 2 * arg + half);
}

/*
 * The words that the decision on `call` may depend on.  That the filter looks at no other proves
 * its answer for every value of the rest, and lets the kernel answer from its bitmap where there
 * are none.
 */
static uint32_t words_of(const struct sys_call *call)
{
	uint32_t words = WORDS_OF_NUMBER;

	for (size_t i = 0; call && i < call->nclauses; i++) {
		const struct sys_clause *c = &call->clause[i];

		for (size_t j = 0; j < c->ntests; j++)
			words |= word_of(c->test[j].arg, 0) |
				 (c->test[j].width == 64 ? word_of(c->test[j].arg, 1) : 0);
		for (unsigned half = 0; c->result.action == SYS_EXEC_ONCE && half < 6; half++)
			words |= word_of(3 + half / 2, half % 2);
	}
	return words;
}

static bool looks_elsewhere(const struct proof *p, const struct sys_call *call,
			    const struct seccomp_data *data)
{
	struct diag *e =
		diag_error(p->diags, CAVE_PROOF_FAILED, nowhere,
			   "the %s filter looks at an argument that the policy does not mention",
			   p->rules->arch_name);

	diag_note(p->diags, e, nowhere, "call %d%s%s%s", data->nr, call ? " (" : "",
		  call ? call->name : "", call ? ")" : "");
	return false;
}

/* Runs the filter on one input; `words` are those that it may look at. */
static bool agree(const struct proof *p, const struct sys_call *call,
		  const struct seccomp_data *data, uint32_t words)
{
	uint32_t looked, expected = policy_answer(p, call, data);
	uint32_t got = cbpf_run_words(p->insn, p->n, data, &looked);

	if (looked & ~words)
		return looks_elsewhere(p, call, data);
	return got == expected || report(p, call, data, expected, got);
}

/* --- boundaries of a word --------------------------------------------------------------------- */

/*
 * Arguments are taken as 32-bit words, low half first.  A mark is a value of the bits `mask` of a
 * word from which on an answer may be another: because a rule says so, or because the filter
 * compares with it on the way of this call. Between two marks of a whole word neither the policy
 * nor the filter can tell values apart, so one of them stands for all.
 */
enum { WORDS = 2 * SYS_ARGS };

struct mark {
	uint32_t mask, value;
};

struct marks {
	struct mark *item;
	size_t n, cap;
};

struct values {
	uint32_t *item;
	size_t n, cap;
};

static void push_mark(const struct proof *p, struct marks *m, uint32_t mask, uint32_t value)
{
	*ARENA_PUSH(p->arena, m->item, m->n, m->cap) = (struct mark){ mask, value & mask };
}

/*
 * From `value` on, something may differ; with a mask, from the next value above or below that it
 * leaves.
 */
static void mark_from(const struct proof *p, struct marks *m, uint32_t mask, uint32_t value)
{
	push_mark(p, m, mask, value);
	if (mask != UINT32_MAX) {
		push_mark(p, m, mask, value - 1);
		push_mark(p, m, mask, value + 1);
	}
}

/* The values from `lo` to `hi` of a word; `edges`: these two may be unlike those between them. */
static void mark_range(const struct proof *p, struct marks *m, uint32_t mask, uint32_t lo,
		       uint32_t hi, bool edges)
{
	mark_from(p, m, mask, lo);
	mark_from(p, m, mask, hi + 1);
	if (edges) {
		mark_from(p, m, mask, lo + 1);
		mark_from(p, m, mask, hi);
	}
}

static void mark_test(const struct proof *p, const struct sys_test *t, struct marks *m)
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

static bool jump_taken(const struct sock_filter *f, uint32_t v)
{
	switch (BPF_OP(f->code)) {
	case BPF_JEQ: return v == f->k;
	case BPF_JGE: return v >= f->k;
	case BPF_JGT: return v > f->k;
	default: return (v & f->k) != 0;
	}
}

static void mark_jump(const struct proof *p, struct marks *m, uint32_t mask,
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
static void follow(const struct proof *p, const struct seccomp_data *data, struct place at,
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

static void mark_filter(const struct proof *p, const struct sys_call *call, struct marks *m)
{
	struct seccomp_data data = { .nr = (int)call->nr, .arch = p->rules->arch };

	memset(p->seen, 0, p->n * sizeof *p->seen);
	follow(p, &data, (struct place){ 0, 1, UINT32_MAX }, p->seen, m);
}

static void mark_call(const struct proof *p, const struct sys_call *call, struct marks *m)
{
	for (size_t i = 0; i < call->nclauses; i++)
		for (size_t j = 0; j < call->clause[i].ntests; j++)
			mark_test(p, &call->clause[i].test[j], m);
	mark_filter(p, call, m);
}

static void add_value(const struct proof *p, struct values *v, uint32_t value)
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
static void combine_mask(const struct proof *p, struct values *all, const struct marks *m, size_t i)
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
static struct values word_values(const struct proof *p, const struct marks *m)
{
	struct values all = { NULL, 0, 0 };

	add_value(p, &all, 0);
	if (m->n)
		add_value(p, &all, UINT32_MAX);
	for (size_t i = 0; i < m->n; i++)
		if (m->item[i].mask != UINT32_MAX && m->item[i].mask != 0 && !mask_seen(m, i))
			combine_mask(p, &all, m, i);
	for (size_t i = 0; i < m->n; i++)
		if (m->item[i].mask == UINT32_MAX)
			add_value(p, &all, m->item[i].value);
	without_repeats(&all);
	return all;
}

/* --- calls ------------------------------------------------------------------------------------ */

struct odometer {
	struct values values[WORDS];
	size_t at[WORDS];
};

static void set_word(struct seccomp_data *data, unsigned word, uint32_t value)
{
	unsigned shift = word % 2 * 32;

	data->args[word / 2] &= ~(UINT64_C(0xffffffff) << shift);
	data->args[word / 2] |= (uint64_t)value << shift;
}

/* Turns to the next combination; only the words that change are written. */
static bool advance(struct odometer *o, struct seccomp_data *data)
{
	for (unsigned i = 0; i < WORDS; i++) {
		if (o->values[i].n == 1)
			continue;
		if (++o->at[i] < o->values[i].n) {
			set_word(data, i, o->values[i].item[o->at[i]]);
			return true;
		}
		o->at[i] = 0;
		set_word(data, i, o->values[i].item[0]);
	}
	return false;
}

/* All words against each other. */
static bool prove_arguments(const struct proof *p, const struct sys_call *call)
{
	struct seccomp_data data = { .nr = (int)call->nr, .arch = p->rules->arch };
	struct marks marks[WORDS] = { 0 };
	uint32_t words = words_of(call);
	struct odometer o = { 0 };

	mark_call(p, call, marks);
	for (unsigned i = 0; i < WORDS; i++) {
		o.values[i] = word_values(p, &marks[i]);
		set_word(&data, i, o.values[i].item[0]);
	}
	do {
		if (!agree(p, call, &data, words))
			return false;
	} while (advance(&o, &data));
	return true;
}

static void set_token(struct seccomp_data *data)
{
	for (unsigned half = 0; half < 6; half++)
		set_word(data, 6 + half, sample_token[half]);
}

/*
 * The random value, and whatever is wrong in one word alone: any bit of it, and anything that the
 * filter knows.
 */
static bool prove_token(const struct proof *p, const struct sys_call *call)
{
	struct seccomp_data data = { .nr = (int)call->nr, .arch = p->rules->arch };
	struct marks marks[WORDS] = { 0 };
	uint32_t words = words_of(call);

	mark_call(p, call, marks);
	for (unsigned word = 0; word < WORDS; word++) {
		struct values v = word_values(p, &marks[word]);

		for (unsigned bit = 0; word >= 6 && bit < 32; bit++)
			add_value(p, &v, sample_token[word - 6] ^ 1u << bit);
		for (size_t i = 0; i < v.n; i++) {
			set_token(&data);
			set_word(&data, word, v.item[i]);
			if (!agree(p, call, &data, words))
				return false;
			set_word(&data, word, 0);
		}
	}
	set_token(&data);
	return agree(p, call, &data, words);
}

static bool wants_token(const struct sys_call *call)
{
	for (size_t i = 0; i < call->nclauses; i++)
		if (call->clause[i].result.action == SYS_EXEC_ONCE)
			return true;
	return false;
}

static bool prove_call(const struct proof *p, const struct sys_call *call)
{
	struct seccomp_data data = { .nr = (int)call->nr, .arch = p->rules->arch };

	if (words_of(call) == WORDS_OF_NUMBER)
		return agree(p, call, &data, WORDS_OF_NUMBER);
	return wants_token(call) ? prove_token(p, call) : prove_arguments(p, call);
}

static const struct sys_call *find_call(const struct sys_rules *r, uint32_t nr)
{
	size_t lo = 0, hi = r->ncalls;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r->call[mid].nr < nr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->ncalls && r->call[lo].nr == nr ? &r->call[lo] : NULL;
}

/* A number that the table does not have; those that it has are proved by prove_call. */
static bool prove_hole(const struct proof *p, uint32_t nr)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = p->rules->arch };

	return find_call(p->rules, nr) || agree(p, NULL, &data, WORDS_OF_NUMBER);
}

enum { X32_BIT = 0x40000000, BEYOND = 600 };

static bool prove_holes(const struct proof *p)
{
	static const uint32_t far[] = { 4096,	    65535,	X32_BIT - 1, 0x7fffffff,
					0x80000000, 0xfffffffe, UINT32_MAX };

	for (uint32_t nr = 0; nr < BEYOND; nr++)
		if (!prove_hole(p, nr) || !prove_hole(p, X32_BIT | nr))
			return false;
	for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
		if (!prove_hole(p, far[i]))
			return false;
	/* Whatever the filter compares with may be a number that it should not know. */
	for (size_t i = 0; i < p->n; i++)
		for (uint32_t nr = p->insn[i].k - 1, n = 0; n < 3; nr++, n++)
			if (BPF_CLASS(p->insn[i].code) == BPF_JMP && nr >= BEYOND &&
			    !prove_hole(p, nr))
				return false;
	return true;
}

static bool untellable(const struct proof *p, uint32_t lo, uint32_t hi)
{
	diag_error(p->diags, CAVE_PROOF_FAILED, nowhere,
		   "the %s filter decides numbers from %" PRIu32 " to %" PRIu32 " by more than comparisons",
		   p->rules->arch_name, lo, hi);
	return false;
}

/*
 * All numbers from lo to hi, followed from instruction `at` with the number in the accumulator: each comparison parts
 * them, so that at a return one stands for all.
 */
static bool prove_range(const struct proof *p, size_t at, uint32_t lo, uint32_t hi)
{
	const struct sock_filter *f = &p->insn[at];
	size_t then = at + 1 + f->jt, otherwise = at + 1 + f->jf;
	uint64_t from = f->k; /* the first number that jumps */

	switch (f->code) {
	case BPF_RET | BPF_K: return prove_hole(p, lo);
	case BPF_JMP | BPF_JA: return prove_range(p, at + 1 + f->k, lo, hi);
	case BPF_JMP | BPF_JEQ | BPF_K:
		if (f->k < lo || f->k > hi)
			return prove_range(p, otherwise, lo, hi);
		return prove_range(p, then, f->k, f->k) &&
		       (f->k == lo || prove_range(p, otherwise, lo, f->k - 1)) &&
		       (f->k == hi || prove_range(p, otherwise, f->k + 1, hi));
	case BPF_JMP | BPF_JSET | BPF_K: /* without any of the bits no number is larger than all other bits */
		return lo > ~f->k ? prove_range(p, then, lo, hi) : untellable(p, lo, hi);
	case BPF_JMP | BPF_JGT | BPF_K: from++; break;
	case BPF_JMP | BPF_JGE | BPF_K: break;
	default: return untellable(p, lo, hi);
	}
	return (from <= lo || prove_range(p, otherwise, lo, hi < from ? hi : (uint32_t)from - 1)) &&
	       (from > hi || prove_range(p, then, lo > from ? lo : (uint32_t)from, hi));
}

/* The rest of the numbers, four thousand million of them. */
static bool prove_beyond(const struct proof *p)
{
	uint32_t a = 0;
	size_t at = 0;

	for (;; at++) {
		const struct sock_filter *f = &p->insn[at];

		if (f->code == (BPF_LD | BPF_W | BPF_ABS) && f->k == offsetof(struct seccomp_data, nr))
			return prove_range(p, at + 1, BEYOND, UINT32_MAX);
		if (BPF_CLASS(f->code) == BPF_RET)
			return prove_hole(p, BEYOND);
		if (f->code == (BPF_LD | BPF_W | BPF_ABS) && f->k == offsetof(struct seccomp_data, arch))
			a = p->rules->arch;
		else if (BPF_CLASS(f->code) == BPF_JMP)
			at += BPF_OP(f->code) == BPF_JA ? f->k : jump_taken(f, a) ? f->jt : f->jf;
		else
			return untellable(p, BEYOND, UINT32_MAX);
	}
}

/* Only the architecture may be looked at, so one number stands for all. */
static bool prove_foreign(const struct proof *p, uint32_t arch)
{
	struct seccomp_data data = { .arch = arch };

	return arch == p->rules->arch || agree(p, NULL, &data, WORD_OF_ARCH);
}

static bool prove_architectures(const struct proof *p)
{
	static const uint32_t known[] = { AUDIT_ARCH_X86_64,
					  AUDIT_ARCH_I386,
					  AUDIT_ARCH_AARCH64,
					  AUDIT_ARCH_ARM,
					  AUDIT_ARCH_RISCV64,
					  AUDIT_ARCH_RISCV32,
					  0,
					  UINT32_MAX };

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (!prove_foreign(p, known[i]))
			return false;
	for (unsigned bit = 0; bit < 32; bit++)
		if (!prove_foreign(p, p->rules->arch ^ 1u << bit))
			return false;
	return true;
}

/* --- patches ---------------------------------------------------------------------------------- */

static bool malformed(struct diags *d, const struct sys_rules *rules, const char *what)
{
	diag_error(d, CAVE_PROOF_FAILED, nowhere, "the %s filter is malformed: %s",
		   rules->arch_name, what);
	return false;
}

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
static bool complete(struct diags *d, const struct sys_rules *rules, const struct filter_program *f,
		     struct sock_filter *insn)
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
			return malformed(d, rules, "a patch is out of place");
		if (count[patch->kind]++ && patch->kind != CAVE_PATCH_SELF)
			return malformed(d, rules, "two patches of one kind");
		insn[patch->insn].k = sample_of(patch->kind);
	}
	return true;
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

static bool prove_all(const struct proof *p)
{
	for (size_t i = 0; i < p->rules->ncalls; i++)
		if (!prove_call(p, &p->rules->call[i]))
			return false;
	return prove_holes(p) && prove_beyond(p) && prove_architectures(p);
}

bool syscalls_prove(struct diags *d, const struct sys_rules *rules,
		    const struct filter_program *filter)
{
	struct arena arena = { NULL };
	struct proof p = { .diags = d, .arena = &arena, .rules = rules, .n = filter->n };
	bool holds;
	size_t bad;

	if (!cbpf_check(filter->insn, filter->n, &bad) || !all_plain(filter))
		return malformed(d, rules,
				 "the kernel would not accept it, or it uses an instruction that "
				 "is not followed");
	p.insn = ARENA_ARRAY(&arena, filter->n, struct sock_filter);
	p.seen = ARENA_ARRAY(&arena, filter->n, uint32_t);
	memcpy(p.insn, filter->insn, filter->n * sizeof *p.insn);
	holds = complete(d, rules, filter, p.insn) && prove_all(&p);
	arena_free(&arena);
	return holds;
}
