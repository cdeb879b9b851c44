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
#include "compiler/syscalls_points.h"

static const struct span nowhere;

struct proof {
	struct diags *diags;
	struct arena *arena;
	const struct sys_rules *rules;
	struct filter_view filter;
};

/* --- the policy, read directly ---------------------------------------------------------------- */

static bool clause_matches(const struct sys_clause *c, const struct seccomp_data *data, uint32_t *looked)
{
	for (size_t i = 0; i < c->ntests; i++)
		if (!test_holds(&c->test[i], data, looked))
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

/*
 * What the policy says; `call` is the entry of data->nr, or NULL.  Adds to *looked the words of arguments that it
 * depends on.
 */
static uint32_t policy_answer(const struct proof *p, const struct sys_call *call,
			      const struct seccomp_data *data, uint32_t *looked)
{
	const struct sys_clause *best = NULL;

	if (data->arch != p->rules->arch)
		return SECCOMP_RET_KILL_PROCESS;
	if (!call)
		return answer_of(p, p->rules->unknown, data);
	for (size_t i = 0; i < call->nclauses; i++)
		if (clause_matches(&call->clause[i], data, looked) &&
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

enum { WORD_OF_ARCH = 1u << 1, WORDS_OF_NUMBER = 1u << 0 | WORD_OF_ARCH };

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

/*
 * Runs the filter on one input; `words` are those that it may look at.  Adds to *looked those that it or the policy did
 * look at.
 */
static bool agree(const struct proof *p, const struct sys_call *call, const struct seccomp_data *data, uint32_t words,
		  uint32_t *looked)
{
	uint32_t seen, expected = policy_answer(p, call, data, looked);
	uint32_t got = cbpf_run_words(p->filter.insn, p->filter.n, data, &seen);

	*looked |= seen;
	if (seen & ~words)
		return looks_elsewhere(p, call, data);
	return got == expected || report(p, call, data, expected, got);
}

/* The same, where nothing is to be learned from it. */
static bool agrees(const struct proof *p, const struct sys_call *call, const struct seccomp_data *data, uint32_t words)
{
	uint32_t looked = 0;

	return agree(p, call, data, words, &looked);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void mark_call(const struct proof *p, const struct sys_call *call, struct marks m[WORDS])
{
	for (size_t i = 0; i < call->nclauses; i++)
		for (size_t j = 0; j < call->clause[i].ntests; j++)
			points_of_test(&p->filter, &call->clause[i].test[j], m);
	points_of_filter(&p->filter, call->nr, m);
}

/* A call on its way through the explorer. */
struct judged {
	const struct proof *proof;
	const struct sys_call *call;
	uint32_t words;
};

static bool judge(const void *context, const struct seccomp_data *data, uint32_t *looked)
{
	const struct judged *j = context;

	return agree(j->proof, j->call, data, j->words, looked);
}

static bool too_many(const struct proof *p, const struct sys_call *call)
{
	struct diag *e = diag_error(p->diags, CAVE_UNSUPPORTED, nowhere,
				    "the conditions on %s combine too many values to be proved", call->name);

	for (size_t i = 0; i < call->nclauses; i++)
		if (call->clause[i].line) {
			const struct source_line *l = &p->diags->sources->line[call->clause[i].line];

			diag_note(p->diags, e, nowhere, "one of them is in %s, line %u", l->file, l->number);
			break;
		}
	diag_note(p->diags, e, nowhere, "fewer masks on one argument, or fewer arguments in one condition, make less");
	return false;
}

static bool prove_arguments(const struct proof *p, const struct sys_call *call)
{
	struct judged j = { p, call, words_of(call) };
	struct marks marks[WORDS] = { 0 };
	struct explorer e = { .filter = &p->filter, .judge = judge, .context = &j };

	mark_call(p, call, marks);
	if (explore(&e, call->nr, marks))
		return true;
	return e.too_many ? too_many(p, call) : false;
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
		struct values v = word_values(&p->filter, &marks[word]);

		for (unsigned bit = 0; word >= 6 && bit < 32; bit++)
			add_value(&p->filter, &v, sample_token[word - 6] ^ 1u << bit);
		for (size_t i = 0; i < v.n; i++) {
			set_token(&data);
			set_word(&data, word, v.item[i]);
			if (!agrees(p, call, &data, words))
				return false;
			set_word(&data, word, 0);
		}
	}
	set_token(&data);
	return agrees(p, call, &data, words);
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
		return agrees(p, call, &data, WORDS_OF_NUMBER);
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

	return find_call(p->rules, nr) || agrees(p, NULL, &data, WORDS_OF_NUMBER);
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
	for (size_t i = 0; i < p->filter.n; i++)
		for (uint32_t nr = p->filter.insn[i].k - 1, n = 0; n < 3; nr++, n++)
			if (BPF_CLASS(p->filter.insn[i].code) == BPF_JMP && nr >= BEYOND &&
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
	const struct sock_filter *f = &p->filter.insn[at];
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
		const struct sock_filter *f = &p->filter.insn[at];

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

	return arch == p->rules->arch || agrees(p, NULL, &data, WORD_OF_ARCH);
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

/* --- the whole ---------------------------------------------------------------------------------- */

static bool malformed(struct diags *d, const struct sys_rules *rules, const char *what)
{
	diag_error(d, CAVE_PROOF_FAILED, nowhere, "the %s filter is malformed: %s",
		   rules->arch_name, what);
	return false;
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
	struct proof p = { .diags = d, .arena = &arena, .rules = rules };
	const char *fault;
	bool holds;

	fault = filter_view(&arena, rules->arch, filter, &p.filter);
	holds = fault ? malformed(d, rules, arena_strdup(d->sources->arena, fault)) : prove_all(&p);
	arena_free(&arena);
	return holds;
}
