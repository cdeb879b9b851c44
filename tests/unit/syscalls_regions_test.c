/* SPDX-License-Identifier: MIT */
/*
 * Regions: random filters are followed for all inputs at once, and random clauses read; every one of many inputs must
 * lie in exactly one of the regions that come out, with the answer that the interpreter, or reading the clauses for
 * this input alone, gives.
 */
#include <errno.h>
#include <linux/audit.h>
#include <string.h>

#include "compiler/syscalls_regions.h"
#include "tests/unit/unit.h"

enum { FILTERS = 4000, CLAUSES = 4000, INPUTS = 96, LENGTH = 40 };

static uint64_t rng(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint32_t below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((rng(state) >> 11) % n);
}

/* Few values, so that comparisons of one word are about the same ones, and the inputs meet them. */
static uint32_t some_value(uint64_t *state)
{
	static const uint32_t edges[] = { 0, 1, 2, 3, 7, 8, 0x10, 0x40, 0x7f, 0x100, 0x10001, 0x7fffffff, 0x80000000,
					  0xfffffffe, UINT32_MAX, SAMPLE_SELF };

	return edges[below(state, sizeof edges / sizeof *edges)] + (below(state, 4) ? 0 : below(state, 3) - 1);
}

static uint32_t some_mask(uint64_t *state)
{
	static const uint32_t masks[] = { 0, 1, 2, 3, 6, 0xf, 0x48, 0x70, 0xff00, 0x7e020000, 0x80000001, UINT32_MAX };

	return masks[below(state, sizeof masks / sizeof *masks)];
}

static const unsigned tried_words[] = { WORD_NUMBER, WORD_ARCH, WORD_ARGUMENTS, WORD_ARGUMENTS + 1, WORD_TOKEN };

static unsigned some_word(uint64_t *state)
{
	return tried_words[below(state, sizeof tried_words / sizeof *tried_words)];
}

/* --- inputs ----------------------------------------------------------------------------------- */

struct trial {
	struct seccomp_data input[INPUTS];
	unsigned met[INPUTS]; /* in how many regions */
	const struct filter_view *filter;
	const struct sys_clause *clause;
	size_t nclauses;
	bool wrong;
};

static uint32_t word_at(const struct seccomp_data *data, unsigned word)
{
	uint32_t value;

	memcpy(&value, (const char *)data + word * sizeof value, sizeof value);
	return value;
}

static void some_inputs(struct trial *t, uint64_t *state)
{
	for (unsigned i = 0; i < INPUTS; i++) {
		uint32_t word[WORDS];

		t->met[i] = 0;
		for (unsigned w = 0; w < WORDS; w++)
			word[w] = below(state, 4) ? some_value(state) : (uint32_t)rng(state);
		memcpy(&t->input[i], word, sizeof word);
	}
}

static bool contains(const struct region *r, const struct seccomp_data *data)
{
	for (unsigned w = 0; w < WORDS; w++)
		if (!region_allows(r, w, word_at(data, w)))
			return false;
	return true;
}

/* Bounds must hold for whatever is in the region, and an input of the region must be in it. */
static bool consistent(const struct region *r, const struct seccomp_data *data)
{
	static const uint32_t masks[] = { UINT32_MAX, 1, 6, 0x7e020000 };
	struct seccomp_data own;

	for (unsigned w = 0; w < WORDS; w++)
		for (unsigned m = 0; m < sizeof masks / sizeof *masks; m++) {
			uint32_t lo, hi, v = word_at(data, w) & masks[m];

			if (!region_bounds(r, w, masks[m], &lo, &hi) || v < lo || v > hi)
				return false;
		}
	return region_input(r, &own) == FOUND && contains(r, &own);
}

static bool once_each(const struct trial *t)
{
	for (unsigned i = 0; i < INPUTS; i++)
		if (t->met[i] != 1)
			return false;
	return !t->wrong;
}

/* --- filters ---------------------------------------------------------------------------------- */

static struct sock_filter some_insn(uint64_t *state, unsigned left)
{
	static const uint16_t compare[] = { BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JSET };
	uint8_t jt = (uint8_t)below(state, left), jf = (uint8_t)below(state, left);
	unsigned kind = below(state, 10);

	if (kind == 0)
		return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, below(state, 100));
	if (kind == 1)
		return (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, some_mask(state));
	if (kind == 2)
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, jt);
	if (kind <= 4)
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, some_word(state) * 4);
	kind = compare[below(state, 4)];
	return (struct sock_filter)BPF_JUMP(BPF_JMP | kind | BPF_K,
					    kind == BPF_JSET ? some_mask(state) : some_value(state), jt, jf);
}

static bool filter_answered(struct judge *j, uint32_t answer, uint32_t words)
{
	struct trial *t = j->context;

	for (unsigned i = 0; i < INPUTS; i++) {
		uint32_t looked;

		if (!contains(&j->region, &t->input[i]))
			continue;
		t->met[i]++;
		t->wrong |= cbpf_run_words(t->filter->insn, t->filter->n, &t->input[i], &looked) != answer;
		t->wrong |= looked != words || !consistent(&j->region, &t->input[i]);
	}
	return true;
}

static void filters(void)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	unsigned right = 0, parted = 0;

	for (unsigned n = 0; n < FILTERS; n++) {
		struct sock_filter insn[LENGTH];
		struct filter_program f = { .insn = insn, .n = 4 + below(&state, LENGTH - 4) };
		struct arena a = { NULL };
		struct filter_view view;
		struct trial t = { .filter = &view };
		struct judge j = { .filter = &view, .context = &t, .answered = filter_answered };

		for (size_t i = 0; i < f.n; i++)
			insn[i] = some_insn(&state, (unsigned)(f.n - i > 1 ? f.n - i - 1 : 1));
		insn[f.n - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 7);
		some_inputs(&t, &state);
		right += !filter_view(&a, &f, &view) && judge_filter(&j) && once_each(&t);
		parted += j.parts > 4;
		arena_free(&a);
	}
	check(right == FILTERS && parted > FILTERS / 8,
	      "random filters: every input is in one region, with its answer (%u of %d; %u with several regions)", right,
	      FILTERS, parted);
}

/* --- clauses ---------------------------------------------------------------------------------- */

static struct sys_test some_test(struct arena *a, uint64_t *state)
{
	struct sys_range *range = ARENA_ARRAY(a, 3, struct sys_range);
	struct sys_test t = { .arg = 0, .width = 32, .mask = some_mask(state), .range = range };
	uint64_t next = 0;

	if (below(state, 8) == 0) {
		t.self = true;
		t.mask = UINT32_MAX;
		return t;
	}
	if (below(state, 2)) {
		t.width = 64;
		t.mask |= (uint64_t)some_mask(state) << 32;
	}
	for (size_t n = below(state, 3) + 1; t.nranges < n; t.nranges++) {
		uint64_t lo = some_value(state), hi = some_value(state);

		if (t.width == 64) {
			lo |= (uint64_t)some_value(state) << 32;
			hi |= (uint64_t)some_value(state) << 32;
		}
		if (lo > hi || lo < next)
			break;
		range[t.nranges] = (struct sys_range){ lo, hi };
		next = hi + 1;
		if (next == 0 || (t.width == 32 && next > UINT32_MAX)) {
			t.nranges++;
			break;
		}
	}
	return t;
}

static struct sys_clause some_clause(struct arena *a, uint64_t *state)
{
	static const struct sys_result result[] = { { SYS_ALLOW, 0 }, { SYS_ALLOW_LOGGED, 0 }, { SYS_GUARD_SIGNAL, 0 },
						    { SYS_ERRNO, EPERM }, { SYS_ERRNO, ENOSYS }, { SYS_KILL, 0 } };
	struct sys_clause c = { .result = result[below(state, 6)], .ntests = below(state, 4) };
	struct sys_test *test = ARENA_ARRAY(a, c.ntests + 1, struct sys_test);

	for (size_t i = 0; i < c.ntests; i++)
		test[i] = some_test(a, state);
	c.test = test;
	return c;
}

static bool holds(const struct sys_test *t, const struct seccomp_data *data)
{
	uint64_t v = t->width == 32 ? (uint32_t)data->args[0] : data->args[0];

	if (t->self)
		return v == SAMPLE_SELF;
	for (size_t i = 0; i < t->nranges; i++)
		if ((v & t->mask) >= t->range[i].lo && (v & t->mask) <= t->range[i].hi)
			return true;
	return false;
}

/* Lower is stronger, as bpf/sysrules.h has it. */
static unsigned strength(struct sys_result r)
{
	static const struct sys_result order[] = { { SYS_KILL, 0 },	    { SYS_ERRNO, EPERM }, { SYS_ERRNO, ENOSYS },
						   { SYS_ALLOW_LOGGED, 0 }, { SYS_ALLOW, 0 },	  { SYS_GUARD_SIGNAL, 0 } };
	unsigned i = 0;

	while (order[i].action != r.action || order[i].error != r.error)
		i++;
	return i;
}

static const unsigned no_clause = 6;

static unsigned strongest(const struct trial *t, const struct seccomp_data *data)
{
	unsigned best = no_clause;

	for (size_t i = 0; i < t->nclauses; i++) {
		const struct sys_clause *c = &t->clause[i];
		bool all = true;

		for (size_t n = 0; n < c->ntests; n++)
			all &= holds(&c->test[n], data);
		if (all && strength(c->result) < best)
			best = strength(c->result);
	}
	return best;
}

static bool clause_decided(struct judge *j, const struct sys_clause *best)
{
	struct trial *t = j->context;

	for (unsigned i = 0; i < INPUTS; i++) {
		if (!contains(&j->region, &t->input[i]))
			continue;
		t->met[i]++;
		t->wrong |= strongest(t, &t->input[i]) != (best ? strength(best->result) : no_clause);
		t->wrong |= !consistent(&j->region, &t->input[i]);
	}
	return true;
}

static void clauses(void)
{
	uint64_t state = UINT64_C(0xd1342543de82ef95);
	unsigned right = 0, parted = 0;

	for (unsigned n = 0; n < CLAUSES; n++) {
		struct arena a = { NULL };
		struct sys_clause clause[6];
		struct trial t = { .clause = clause, .nclauses = below(&state, 7) };
		struct judge j = { .context = &t, .decided = clause_decided };

		for (size_t i = 0; i < t.nclauses; i++)
			clause[i] = some_clause(&a, &state);
		some_inputs(&t, &state);
		right += judge_clauses(&j, clause, t.nclauses) && once_each(&t);
		parted += j.parts > 4;
		arena_free(&a);
	}
	check(right == CLAUSES && parted > CLAUSES / 5,
	      "random clauses: every input is in one region, with the clause that decides it (%u of %d; %u several)",
	      right, CLAUSES, parted);
}

/* --- contradictions ---------------------------------------------------------------------------- */

/* Facts about overlapping bits that no bounds show to exclude each other. */
static void contradictions(void)
{
	struct region r = { .word = { NULL } };
	struct fact odd, even;
	struct seccomp_data data;
	uint32_t lo, hi;
	bool empty;

	/* Two bits of three, and another two: not both of the first and none of the others at once. */
	empty = region_narrow(&r, WORD_ARGUMENTS, 3, 1, 2, &odd) && region_narrow(&r, WORD_ARGUMENTS, 7, 3, 4, &even) &&
		region_input(&r, &data) == FOUND_NONE;
	check(empty, "a region without any input is found to be empty");
	region_widen(&r, WORD_ARGUMENTS);
	check(region_input(&r, &data) == FOUND && region_bounds(&r, WORD_ARGUMENTS, 3, &lo, &hi) && lo == 1 && hi == 2,
	      "taken back, it is what it was");
	check(!region_narrow(&r, WORD_ARGUMENTS, 0x30, 1, 0xf, &even) && r.word[WORD_ARGUMENTS] == &odd,
	      "bounds between two values of a mask are seen to leave nothing");
}

int main(void)
{
	filters();
	clauses();
	contradictions();
	return unit_done();
}
