/* SPDX-License-Identifier: MIT */
/*
 * The proof of a filter: it is run on every number and on every boundary of every argument that the rules
 * mention, and each answer is compared with the clauses read directly.  Nothing here knows how the filter
 * was made.
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
 * What the runtime would put into the patches.  The returns get answers that nothing else gives, so that the
 * proof can tell them apart.
 */
enum {
	SAMPLE_SELF = 0x01234567,
	SAMPLE_METADATA = SECCOMP_RET_ERRNO | 0xe01,
	SAMPLE_SIGNAL = SECCOMP_RET_ERRNO | 0xe02,
};

static const uint32_t sample_token[6] = { 0x11c0ffee, 0x22c0ffee, 0x33c0ffee, 0x44c0ffee, 0x55c0ffee, 0x66c0ffee };

struct proof {
	struct diags *diags;
	struct arena *arena;
	const struct sys_rules *rules;
	struct sock_filter *insn; /* completed with the samples */
	size_t n;
};

/* --- the policy, read directly -------------------------------------------------------------------- */

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
		if (data->args[3 + i] != ((uint64_t)sample_token[2 * i + 1] << 32 | sample_token[2 * i]))
			return false;
	return true;
}

/* True if `a` decides although `b` matches too: see bpf/sysrules.h. */
static bool beats(struct sys_result a, struct sys_result b)
{
	static const int rank[] = {
		[SYS_KILL] = 0,		  [SYS_ERRNO] = 1,	    [SYS_ALLOW_LOGGED] = 2, [SYS_ALLOW] = 3,
		[SYS_GUARD_METADATA] = 4, [SYS_GUARD_SIGNAL] = 5,   [SYS_EXEC_ONCE] = 6,
	};

	if (rank[a.action] != rank[b.action])
		return rank[a.action] < rank[b.action];
	return a.action == SYS_ERRNO && a.error < b.error;
}

static uint32_t answer_of(const struct proof *p, struct sys_result r, const struct seccomp_data *data)
{
	switch (r.action) {
	case SYS_ALLOW: return SECCOMP_RET_ALLOW;
	case SYS_ALLOW_LOGGED: return SECCOMP_RET_LOG;
	case SYS_GUARD_METADATA: return SAMPLE_METADATA;
	case SYS_GUARD_SIGNAL: return SAMPLE_SIGNAL;
	case SYS_EXEC_ONCE: return token_given(data) ? SECCOMP_RET_ALLOW : answer_of(p, p->rules->refused, data);
	case SYS_ERRNO: return SECCOMP_RET_ERRNO | r.error;
	case SYS_KILL: break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* What the policy says; `call` is the entry of data->nr, or NULL. */
static uint32_t policy_answer(const struct proof *p, const struct sys_call *call, const struct seccomp_data *data)
{
	const struct sys_clause *best = NULL;

	if (data->arch != p->rules->arch)
		return SECCOMP_RET_KILL_PROCESS;
	if (!call)
		return answer_of(p, p->rules->unknown, data);
	for (size_t i = 0; i < call->nclauses; i++)
		if (clause_matches(&call->clause[i], data) && (!best || beats(call->clause[i].result, best->result)))
			best = &call->clause[i];
	return answer_of(p, best ? best->result : p->rules->refused, data);
}

/* --- comparing ------------------------------------------------------------------------------------ */

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

static bool report(const struct proof *p, const struct sys_call *call, const struct seccomp_data *data,
		   uint32_t expected, uint32_t got)
{
	struct diag *e = diag_error(p->diags, CAVE_PROOF_FAILED, nowhere,
				    "the %s filter does not do what the policy says", p->rules->arch_name);

	diag_note(p->diags, e, nowhere,
		  "call %d%s%s%s of architecture 0x%08" PRIx32 " (0x%llx, 0x%llx, 0x%llx, 0x%llx, 0x%llx, 0x%llx)",
		  data->nr, call ? " (" : "", call ? call->name : "", call ? ")" : "", data->arch,
		  (unsigned long long)data->args[0], (unsigned long long)data->args[1],
		  (unsigned long long)data->args[2], (unsigned long long)data->args[3],
		  (unsigned long long)data->args[4], (unsigned long long)data->args[5]);
	diag_note(p->diags, e, nowhere, "the policy: %s; the filter: %s", answer_name(p->arena, expected),
		  answer_name(p->arena, got));
	return false;
}

/* The words of struct seccomp_data that say which call it is, and those of an argument's halves. */
enum { WORD_OF_ARCH = 1u << 1, WORDS_OF_NUMBER = 1u << 0 | WORD_OF_ARCH };

static uint32_t word_of(unsigned arg, unsigned half)
{
	return 1u << (offsetof(struct seccomp_data, args) / sizeof(uint32_t) + 2 * arg + half);
}

/*
 * The words that the decision on `call` may depend on.  That the filter looks at no other proves its answer for
 * every value of the rest, and lets the kernel answer from its bitmap where there are none.
 */
static uint32_t words_of(const struct sys_call *call)
{
	uint32_t words = WORDS_OF_NUMBER;

	for (size_t i = 0; call && i < call->nclauses; i++) {
		const struct sys_clause *c = &call->clause[i];

		for (size_t j = 0; j < c->ntests; j++)
			words |= word_of(c->test[j].arg, 0) | (c->test[j].width == 64 ? word_of(c->test[j].arg, 1) : 0);
		for (unsigned half = 0; c->result.action == SYS_EXEC_ONCE && half < 6; half++)
			words |= word_of(3 + half / 2, half % 2);
	}
	return words;
}

static bool looks_elsewhere(const struct proof *p, const struct sys_call *call, const struct seccomp_data *data)
{
	struct diag *e = diag_error(p->diags, CAVE_PROOF_FAILED, nowhere,
				    "the %s filter looks at an argument that the policy does not mention",
				    p->rules->arch_name);

	diag_note(p->diags, e, nowhere, "call %d%s%s%s", data->nr, call ? " (" : "", call ? call->name : "",
		  call ? ")" : "");
	return false;
}

/* Runs the filter on one input; `words` are those that it may look at. */
static bool agree(const struct proof *p, const struct sys_call *call, const struct seccomp_data *data, uint32_t words)
{
	uint32_t looked, expected = policy_answer(p, call, data);
	uint32_t got = cbpf_run_words(p->insn, p->n, data, &looked);

	if (looked & ~words)
		return looks_elsewhere(p, call, data);
	return got == expected || report(p, call, data, expected, got);
}

/* --- boundaries of an argument -------------------------------------------------------------------- */

struct values {
	uint64_t *item;
	size_t n, cap;
};

static void add_value(const struct proof *p, struct values *v, uint64_t value)
{
	*ARENA_PUSH(p->arena, v->item, v->n, v->cap) = value;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void without_repeats(struct values *v)
{
	size_t kept = 0;

	if (v->n)
		qsort(v->item, v->n, sizeof *v->item, compare_u64);
	for (size_t i = 0; i < v->n; i++)
		if (kept == 0 || v->item[i] != v->item[kept - 1])
			v->item[kept++] = v->item[i];
	v->n = kept;
}

static uint64_t width_mask(const struct sys_test *t)
{
	return t->width == 32 ? UINT32_MAX : UINT64_MAX;
}

/* A boundary; of 64 bits also with the high half one less and one more, and with the low half all zeros and ones. */
static void add_boundary(const struct proof *p, struct values *v, uint64_t value, const struct sys_test *t)
{
	if (t->width == 32) {
		add_value(p, v, value & t->mask);
		return;
	}
	for (int i = -1; i <= 1; i++) {
		uint64_t near = value + ((uint64_t)i << 32);

		add_value(p, v, near & t->mask);
		add_value(p, v, (near & ~(uint64_t)UINT32_MAX) & t->mask);
		add_value(p, v, (near | UINT32_MAX) & t->mask);
	}
}

/* The values of the masked bits at which the test can change its mind, and for a true mask each bit alone. */
static void add_test_values(const struct proof *p, struct values *v, const struct sys_test *t)
{
	if (t->self) {
		for (int i = -1; i <= 1; i++)
			add_value(p, v, (uint32_t)(SAMPLE_SELF + i));
		return;
	}
	for (size_t i = 0; i < t->nranges; i++) {
		add_boundary(p, v, t->range[i].lo - 1, t);
		add_boundary(p, v, t->range[i].lo, t);
		add_boundary(p, v, t->range[i].hi, t);
		add_boundary(p, v, t->range[i].hi + 1, t);
	}
	if ((t->mask & width_mask(t)) == width_mask(t))
		return;
	for (unsigned bit = 0; bit < t->width; bit++)
		if (t->mask >> bit & 1)
			add_value(p, v, UINT64_C(1) << bit);
}

/* All tests of `call` that look at argument `arg`; *n of them. */
static const struct sys_test **tests_of(const struct proof *p, const struct sys_call *call, unsigned arg, size_t *n)
{
	const struct sys_test **list = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < call->nclauses; i++)
		for (size_t j = 0; j < call->clause[i].ntests; j++)
			if (call->clause[i].test[j].arg == arg)
				*ARENA_PUSH(p->arena, list, *n, cap) = &call->clause[i].test[j];
	return list;
}

static bool seen_before(const struct sys_test *const *list, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (list[j]->mask == list[i]->mask && list[j]->self == list[i]->self)
			return true;
	return false;
}

static bool is_whole(const struct sys_test *t)
{
	return t->self || (t->mask & width_mask(t)) == width_mask(t);
}

/* Every value so far with the bits of mask list[i] set to each of its boundary values. */
static void combine_mask(const struct proof *p, struct values *all, const struct sys_test *const *list, size_t n,
			 size_t i)
{
	struct values own = { NULL, 0, 0 }, combined = { NULL, 0, 0 };

	for (size_t j = i; j < n; j++)
		if (!list[j]->self && list[j]->mask == list[i]->mask)
			add_test_values(p, &own, list[j]);
	add_value(p, &own, 0);
	add_value(p, &own, list[i]->mask & width_mask(list[i]));
	without_repeats(&own);
	for (size_t a = 0; a < all->n; a++)
		for (size_t b = 0; b < own.n; b++)
			add_value(p, &combined, (all->item[a] & ~list[i]->mask) | own.item[b]);
	*all = combined;
}

/* The values of one argument: where masks are in play, each mask's crossed with the others', on zeros and on ones. */
static struct values argument_values(const struct proof *p, const struct sys_call *call, unsigned arg)
{
	struct values all = { NULL, 0, 0 };
	size_t n;
	const struct sys_test **list = tests_of(p, call, arg, &n);

	add_value(p, &all, 0);
	if (n)
		add_value(p, &all, width_mask(list[0]));
	for (size_t i = 0; i < n; i++) {
		if (!is_whole(list[i]) && !seen_before(list, i))
			combine_mask(p, &all, list, n, i);
	}
	for (size_t i = 0; i < n; i++)
		if (is_whole(list[i]))
			add_test_values(p, &all, list[i]);
	without_repeats(&all);
	return all;
}

/* --- calls ---------------------------------------------------------------------------------------- */

struct odometer {
	struct values values[SYS_ARGS];
	size_t at[SYS_ARGS];
};

static bool advance(struct odometer *o)
{
	for (unsigned i = 0; i < SYS_ARGS; i++) {
		if (++o->at[i] < o->values[i].n)
			return true;
		o->at[i] = 0;
	}
	return false;
}

static void fill_arguments(const struct odometer *o, struct seccomp_data *data)
{
	for (unsigned i = 0; i < SYS_ARGS; i++)
		data->args[i] = o->values[i].item[o->at[i]];
}

static bool prove_arguments(const struct proof *p, const struct sys_call *call)
{
	struct seccomp_data data = { .nr = (int)call->nr, .arch = p->rules->arch };
	uint32_t words = words_of(call);
	struct odometer o = { 0 };

	if (words == WORDS_OF_NUMBER)
		return agree(p, call, &data, words);
	for (unsigned i = 0; i < SYS_ARGS; i++)
		o.values[i] = argument_values(p, call, i);
	do {
		fill_arguments(&o, &data);
		if (!agree(p, call, &data, words))
			return false;
	} while (advance(&o));
	return true;
}

/* The random value, and everything that is wrong in one half of it. */
static bool prove_token(const struct proof *p, const struct sys_call *call)
{
	struct seccomp_data data = { .nr = (int)call->nr, .arch = p->rules->arch };

	for (unsigned wrong = 0; wrong <= 6; wrong++)
		for (unsigned bit = 0; bit < 32; bit++) {
			for (unsigned i = 0; i < 3; i++)
				data.args[3 + i] = (uint64_t)sample_token[2 * i + 1] << 32 | sample_token[2 * i];
			if (wrong < 6)
				data.args[3 + wrong / 2] ^= UINT64_C(1) << (32 * (wrong % 2) + bit);
			if (!agree(p, call, &data, words_of(call)))
				return false;
		}
	return true;
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
	return prove_arguments(p, call) && (!wants_token(call) || prove_token(p, call));
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
			if (BPF_CLASS(p->insn[i].code) == BPF_JMP && nr >= BEYOND && !prove_hole(p, nr))
				return false;
	return true;
}

/* Only the architecture may be looked at, so one number stands for all. */
static bool prove_foreign(const struct proof *p, uint32_t arch)
{
	struct seccomp_data data = { .arch = arch };

	return arch == p->rules->arch || agree(p, NULL, &data, WORD_OF_ARCH);
}

static bool prove_architectures(const struct proof *p)
{
	static const uint32_t known[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386,	 AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM,
					  AUDIT_ARCH_RISCV64, AUDIT_ARCH_RISCV32, 0, UINT32_MAX };

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (!prove_foreign(p, known[i]))
			return false;
	for (unsigned bit = 0; bit < 32; bit++)
		if (!prove_foreign(p, p->rules->arch ^ 1u << bit))
			return false;
	return true;
}

/* --- patches -------------------------------------------------------------------------------------- */

static bool malformed(struct diags *d, const struct sys_rules *rules, const char *what)
{
	diag_error(d, CAVE_PROOF_FAILED, nowhere, "the %s filter is malformed: %s", rules->arch_name, what);
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
		bool returns = patch->kind == CAVE_PATCH_RET_METADATA || patch->kind == CAVE_PATCH_RET_SIGNAL;
		uint16_t code = returns ? BPF_RET | BPF_K : BPF_JMP | BPF_JEQ | BPF_K;

		if (patch->kind >= CAVE_PATCH_KINDS || patch->insn >= f->n || (i && patch->insn <= patch[-1].insn) ||
		    insn[patch->insn].code != code || insn[patch->insn].k != CAVE_PATCH_UNSET)
			return malformed(d, rules, "a patch is out of place");
		if (count[patch->kind]++ && patch->kind != CAVE_PATCH_SELF)
			return malformed(d, rules, "two patches of one kind");
		insn[patch->insn].k = sample_of(patch->kind);
	}
	return true;
}

static bool prove_all(const struct proof *p)
{
	for (size_t i = 0; i < p->rules->ncalls; i++)
		if (!prove_call(p, &p->rules->call[i]))
			return false;
	return prove_holes(p) && prove_architectures(p);
}

bool syscalls_prove(struct diags *d, const struct sys_rules *rules, const struct filter_program *filter)
{
	struct arena arena = { NULL };
	struct proof p = { d, &arena, rules, NULL, filter->n };
	bool holds;
	size_t bad;

	if (!cbpf_check(filter->insn, filter->n, &bad))
		return malformed(d, rules, "the kernel would not accept it");
	p.insn = ARENA_ARRAY(&arena, filter->n, struct sock_filter);
	memcpy(p.insn, filter->insn, filter->n * sizeof *p.insn);
	holds = complete(d, rules, filter, p.insn) && prove_all(&p);
	arena_free(&arena);
	return holds;
}
