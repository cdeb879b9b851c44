/* SPDX-License-Identifier: MIT */
/*
 * The proof of a filter.  It is followed for every input there is, by sets that get one answer (see
 * compiler/syscalls_regions.h); for each set the rules are read directly, parted further where they tell its inputs
 * apart, and the two answers are compared.  A difference is shown with an input that has it, on which the filter is run
 * by the interpreter.  Nothing here knows how the filter was made.
 */
#include <inttypes.h>
#include <string.h>

#include "compiler/syscalls.h"
#include "compiler/syscalls_data.h"
#include "compiler/syscalls_regions.h"

static const struct span nowhere;

struct proof {
	struct diags *diags;
	struct arena *arena;
	const struct sys_rules *rules;
	struct filter_view filter;
	/* Of the set that is judged: */
	const struct sys_call *call; /* NULL: no number of the table */
	uint32_t words; /* that the decision on `call` may depend on */
	uint32_t answer; /* the filter's */
};

/* --- differences ------------------------------------------------------------------------------ */

static const char *answer_name(struct arena *a, uint32_t answer)
{
	switch (answer) {
	case SECCOMP_RET_ALLOW: return "allow";
	case SECCOMP_RET_LOG: return "allow and log";
	case SECCOMP_RET_USER_NOTIF: return "count";
	case SECCOMP_RET_KILL_PROCESS: return "kill";
	case SAMPLE_METADATA: return "allow where metadata is bounded";
	case SAMPLE_SIGNAL: return "allow where signals are bounded";
	default: return arena_printf(a, "0x%08" PRIx32, answer);
	}
}

static void note_input(const struct proof *p, struct diag *e, const struct seccomp_data *data)
{
	diag_note(p->diags, e, nowhere,
		  "call %d%s%s%s of architecture 0x%08" PRIx32
		  " (0x%llx, 0x%llx, 0x%llx, 0x%llx, 0x%llx, 0x%llx)",
		  data->nr, p->call ? " (" : "", p->call ? p->call->name : "", p->call ? ")" : "", data->arch,
		  (unsigned long long)data->args[0], (unsigned long long)data->args[1],
		  (unsigned long long)data->args[2], (unsigned long long)data->args[3],
		  (unsigned long long)data->args[4], (unsigned long long)data->args[5]);
}

static bool report_answer(const struct proof *p, const struct seccomp_data *data, uint32_t expected)
{
	uint32_t run = cbpf_run(p->filter.insn, p->filter.n, data, NULL);
	struct diag *e =
		diag_error(p->diags, CAVE_PROOF_FAILED, nowhere,
			   "the %s filter does not do what the policy says", p->rules->arch_name);

	note_input(p, e, data);
	diag_note(p->diags, e, nowhere, "the policy: %s; the filter: %s",
		  answer_name(p->arena, expected), answer_name(p->arena, p->answer));
	if (run != p->answer)
		diag_note(p->diags, e, nowhere, "but run on it, the filter gives: %s", answer_name(p->arena, run));
	return false;
}

static bool report_look(const struct proof *p, const struct seccomp_data *data)
{
	struct diag *e =
		diag_error(p->diags, CAVE_PROOF_FAILED, nowhere,
			   "the %s filter looks at an argument that the policy does not mention",
			   p->rules->arch_name);

	note_input(p, e, data);
	return false;
}

static void too_many(const struct proof *p)
{
	struct diag *e = diag_error(p->diags, CAVE_UNSUPPORTED, nowhere,
				    "the conditions on %s combine too many values to be proved",
				    p->call ? p->call->name : "a call");

	for (size_t i = 0; p->call && i < p->call->nclauses; i++)
		if (p->call->clause[i].line) {
			const struct source_line *l = &p->diags->sources->line[p->call->clause[i].line];

			diag_note(p->diags, e, nowhere, "one of them is in %s, line %u", l->file, l->number);
			break;
		}
	diag_note(p->diags, e, nowhere, "fewer masks on one argument, or fewer arguments in one condition, make less");
}

/* True if there is no input in the region after all, so that nothing is wrong. */
static bool is_empty(struct judge *j, struct seccomp_data *input)
{
	enum found found = region_input(&j->region, input);

	j->too_many |= found == FOUND_TOO_MANY;
	return found == FOUND_NONE;
}

/* --- comparing -------------------------------------------------------------------------------- */

static bool compare(struct judge *j, uint32_t expected)
{
	const struct proof *p = j->context;
	struct seccomp_data input;

	if (p->answer == expected || is_empty(j, &input))
		return true;
	return j->too_many ? false : report_answer(p, &input, expected);
}

static uint32_t answer_of(struct sys_result r)
{
	switch (r.action) {
	case SYS_ALLOW: return SECCOMP_RET_ALLOW;
	case SYS_ALLOW_LOGGED: return SECCOMP_RET_LOG;
	case SYS_COUNTED: return SECCOMP_RET_USER_NOTIF;
	case SYS_GUARD_METADATA: return SAMPLE_METADATA;
	case SYS_GUARD_SIGNAL: return SAMPLE_SIGNAL;
	case SYS_ERRNO: return SECCOMP_RET_ERRNO | r.error;
	default: return SECCOMP_RET_KILL_PROCESS;
	}
}

static bool compare_token(struct judge *j, unsigned half);

static bool compare_token_part(struct judge *j, unsigned half, uint32_t lo, uint32_t hi)
{
	const struct proof *p = j->context;
	unsigned word = WORD_TOKEN + half;
	struct fact room;
	bool good;

	if (!region_narrow(&j->region, word, UINT32_MAX, lo, hi, &room))
		return true;
	good = lo == hi && lo == sample_token[half] ? compare_token(j, half + 1) :
						      compare(j, answer_of(p->rules->refused));
	region_widen(&j->region, word);
	return good;
}

/* The first `half` words are those of the random value; allowed with all of them, else refused. */
static bool compare_token(struct judge *j, unsigned half)
{
	uint32_t token, lo, hi;

	if (half == TOKEN_WORDS)
		return compare(j, SECCOMP_RET_ALLOW);
	token = sample_token[half];
	if (!region_bounds(&j->region, WORD_TOKEN + half, UINT32_MAX, &lo, &hi))
		return true;
	if (token < lo || token > hi)
		return compare_token_part(j, half, lo, hi);
	return compare_token_part(j, half, token, token) &&
	       (token == lo || compare_token_part(j, half, lo, token - 1)) &&
	       (token == hi || compare_token_part(j, half, token + 1, hi));
}

static bool compare_clause(struct judge *j, const struct sys_clause *best)
{
	const struct proof *p = j->context;
	struct sys_result result = best ? best->result : p->rules->refused;

	return result.action == SYS_EXEC_ONCE ? compare_token(j, 0) : compare(j, answer_of(result));
}

/* --- numbers and architectures ---------------------------------------------------------------- */

enum { WORDS_OF_ARCH = 1u << WORD_ARCH, WORDS_OF_NUMBER = 1u << WORD_NUMBER | WORDS_OF_ARCH };

/*
 * The words that the decision on `call` may depend on.  That the filter looks at no other lets the kernel answer from
 * its bitmap where there are none.
 */
static uint32_t words_of(const struct sys_call *call)
{
	uint32_t words = WORDS_OF_NUMBER;

	for (size_t i = 0; i < call->nclauses; i++) {
		const struct sys_clause *c = &call->clause[i];

		for (size_t j = 0; j < c->ntests; j++)
			words |= word_of(c->test[j].arg, 0) |
				 (c->test[j].width == 64 ? word_of(c->test[j].arg, 1) : 0);
		if (c->result.action == SYS_EXEC_ONCE)
			words |= ((1u << TOKEN_WORDS) - 1) << WORD_TOKEN;
	}
	return words;
}

/* The inputs of the region, whose numbers are all of `call` or all of no call. */
static bool judge_call(struct judge *j, const struct sys_call *call, uint32_t words)
{
	struct proof *p = j->context;
	struct seccomp_data input;

	if (!call || p->call != call)
		p->words = call ? words_of(call) : (uint32_t)WORDS_OF_NUMBER;
	p->call = call;
	if (words & ~p->words)
		return is_empty(j, &input) || (!j->too_many && report_look(p, &input));
	return call ? judge_clauses(j, call->clause, call->nclauses) : compare(j, answer_of(p->rules->unknown));
}

/* The same for those with numbers from lo to hi. */
static bool judge_numbers(struct judge *j, const struct sys_call *call, uint32_t words, uint32_t lo, uint32_t hi)
{
	struct fact room;
	bool good;

	if (!region_narrow(&j->region, WORD_NUMBER, UINT32_MAX, lo, hi, &room))
		return true;
	good = judge_call(j, call, words);
	region_widen(&j->region, WORD_NUMBER);
	return good;
}

/* Numbers between two calls; where bits of the number were tested, perhaps none of them is in the region. */
static bool judge_hole(struct judge *j, uint32_t words, uint32_t lo, uint32_t hi)
{
	while (lo < hi && hi - lo < SYS_NUMBER_MAX && !region_allows(&j->region, WORD_NUMBER, lo))
		lo++;
	return (lo == hi && !region_allows(&j->region, WORD_NUMBER, lo)) || judge_numbers(j, NULL, words, lo, hi);
}

/* True if the answer is right and depends on nothing but the number, without asking further. */
static bool is_plain(const struct proof *p, const struct sys_call *call, uint32_t words)
{
	struct sys_result r = call->nclauses ? call->clause[0].result : p->rules->refused;

	return words == WORDS_OF_NUMBER && call->nclauses <= 1 && !(call->nclauses && call->clause[0].ntests) &&
	       r.action != SYS_EXEC_ONCE && answer_of(r) == p->answer;
}

/* The first call of the table that has this number or a larger one. */
static size_t find_call(const struct sys_rules *r, uint32_t nr)
{
	size_t lo = 0, hi = r->ncalls;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r->call[mid].nr < nr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Each call of the table that has one of the numbers from lo to hi, and what lies between two of them. */
static bool judge_table(struct judge *j, uint32_t words, uint32_t lo, uint32_t hi)
{
	const struct proof *p = j->context;
	const struct sys_call *call = p->rules->call + find_call(p->rules, lo), *end = p->rules->call + p->rules->ncalls;

	for (; call < end && call->nr <= hi; call++) {
		if (call->nr > lo && !judge_hole(j, words, lo, call->nr - 1))
			return false;
		if (region_allows(&j->region, WORD_NUMBER, call->nr) && !is_plain(p, call, words) &&
		    !judge_numbers(j, call, words, call->nr, call->nr))
			return false;
		if (call->nr == hi)
			return true;
		lo = call->nr + 1;
	}
	return judge_hole(j, words, lo, hi);
}

static bool judge_native(struct judge *j, uint32_t words)
{
	const struct proof *p = j->context;
	const struct sys_rules *r = p->rules;
	uint32_t lo, hi;
	size_t i;

	if (!region_bounds(&j->region, WORD_NUMBER, UINT32_MAX, &lo, &hi))
		return true;
	if (lo < hi)
		return judge_table(j, words, lo, hi);
	if (p->call && p->call->nr == lo) /* most often the same as before */
		return judge_call(j, p->call, words);
	i = find_call(r, lo);
	return judge_call(j, i < r->ncalls && r->call[i].nr == lo ? &r->call[i] : NULL, words);
}

/* Of any other architecture nothing but that may be looked at. */
static bool judge_foreign(struct judge *j, uint32_t words)
{
	struct proof *p = j->context;
	struct seccomp_data input;

	p->call = NULL;
	if (words & ~(uint32_t)WORDS_OF_ARCH)
		return is_empty(j, &input) || (!j->too_many && report_look(p, &input));
	return compare(j, SECCOMP_RET_KILL_PROCESS);
}

/* A filter that did not ask for the architecture gives one answer to the native one and to others. */
static bool judge_architectures(struct judge *j, uint32_t words, uint32_t lo, uint32_t hi)
{
	uint32_t native = ((const struct proof *)j->context)->rules->arch;
	struct fact room;
	bool good;

	if (!region_narrow(&j->region, WORD_ARCH, UINT32_MAX, lo, hi, &room))
		return true;
	good = lo == native ? judge_native(j, words) : judge_foreign(j, words);
	region_widen(&j->region, WORD_ARCH);
	return good;
}

static bool judge_answer(struct judge *j, uint32_t answer, uint32_t words)
{
	struct proof *p = j->context;
	uint32_t native = p->rules->arch, lo, hi;

	p->answer = answer;
	if (!region_bounds(&j->region, WORD_ARCH, UINT32_MAX, &lo, &hi))
		return true;
	if (native < lo || native > hi)
		return judge_foreign(j, words);
	if (lo == hi)
		return judge_native(j, words);
	return judge_architectures(j, words, native, native) &&
	       (native == lo || judge_architectures(j, words, lo, native - 1)) &&
	       (native == hi || judge_architectures(j, words, native + 1, hi));
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool malformed(struct diags *d, const struct sys_rules *rules, const char *what)
{
	diag_error(d, CAVE_PROOF_FAILED, nowhere, "the %s filter is malformed: %s",
		   rules->arch_name, what);
	return false;
}

static bool prove_all(struct proof *p)
{
	struct judge j = {
		.filter = &p->filter,
		.context = p,
		.answered = judge_answer,
		.decided = compare_clause,
	};
	bool holds = judge_filter(&j);

	if (j.too_many)
		too_many(p);
	return holds;
}

bool syscalls_prove(struct diags *d, const struct sys_rules *rules,
		    const struct filter_program *filter)
{
	struct proof p = { .diags = d, .arena = d->sources->arena, .rules = rules };
	const char *fault = filter_view(p.arena, filter, &p.filter);

	return fault ? malformed(d, rules, fault) : prove_all(&p);
}
