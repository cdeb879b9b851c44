/* SPDX-License-Identifier: MIT */
/*
 * expect { allow|deny syscall NAME(args) }: the emitted filter is followed for every input that satisfies the
 * condition, and each answer must be the one expected.  Without arguments the expectation is about all of them.
 */
#include <inttypes.h>
#include <string.h>

#include "compiler/syscalls.h"
#include "compiler/syscalls_condition.h"
#include "compiler/syscalls_regions.h"

static const struct span nowhere;

/* The word or item after `syscall`. */
static const struct node *subject_of(const struct node *expectation)
{
	return expectation->kids->next;
}

static const char *call_candidate(const void *context, size_t i)
{
	size_t n;
	const struct syscall_row *rows = syscall_table(&n);

	(void)context;
	return i < n ? rows[i].name : NULL;
}

static void unknown_call(struct diags *d, const struct node *subject)
{
	const char *near = did_you_mean(subject->text, call_candidate, NULL);
	struct diag *e = diag_error(d, CAVE_UNKNOWN_NAME, subject->name, "'%s' is no system call of the table (%s)",
				    subject->text, syscalls_version);

	if (near)
		diag_note(d, e, nowhere, "did you mean '%s'?", near);
}

/* Conditions hang on items only; a word is a call without one. */
static const struct node *condition_of(const struct node *subject)
{
	return subject->kind == N_SYS_ITEM ? subject->kids : NULL;
}

void syscalls_check_expectation(struct diags *d, const struct policy *p, const struct node *expectation)
{
	const struct node *subject = subject_of(expectation);
	const struct syscall_row *row;
	struct alternatives alt;
	bool good = true;

	if (!subject || subject->next || (subject->kind != N_WORD && subject->kind != N_SYS_ITEM)) {
		diag_note(d, diag_error(d, CAVE_SYNTAX, expectation->at, "this expects nothing of one system call"), nowhere,
			  "write: %s syscall NAME, or: %s syscall NAME(CONDITION)", expectation->text, expectation->text);
		return;
	}
	row = syscall_find(subject->text);
	if (!row) {
		unknown_call(d, subject);
		return;
	}
	for (unsigned arch = 0; arch < SYS_ARCHES && good && condition_of(subject); arch++)
		if (policy_has_arch(p, arch) && row->nr[arch] >= 0)
			good = condition_resolve(d, d->sources->arena, arch, row->name, condition_of(subject), false,
						 &alt);
}

/* --- judging ------------------------------------------------------------------------------------------ */

/* The alternatives of a condition, as clauses that say nothing else. */
struct condition {
	struct sys_clause *clause;
	size_t n;
};

struct expected {
	struct condition when;
	bool allowed;
	uint32_t answer; /* of the filter, for the region at hand */
	uint32_t words; /* that it depends on */
	bool met; /* some arguments satisfy the condition */
	struct seccomp_data input; /* that is not answered as expected */
};

static bool allows(uint32_t answer)
{
	return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG || answer == SECCOMP_RET_USER_NOTIF;
}

/* What depends on the host is neither. */
static bool refuses(uint32_t answer)
{
	return !allows(answer) && answer != SAMPLE_METADATA && answer != SAMPLE_SIGNAL;
}

/* The runtime's own start of the tool: no affair of the profile's. */
static bool is_own_exec(const struct region *r)
{
	for (unsigned i = 0; i < TOKEN_WORDS; i++) {
		uint32_t lo, hi;

		if (!region_bounds(r, WORD_TOKEN + i, UINT32_MAX, &lo, &hi) || lo != hi || lo != sample_token[i])
			return false;
	}
	return true;
}

/* The arguments of the region satisfy the condition if `concerned`. */
static bool judge(struct judge *j, const struct sys_clause *concerned)
{
	struct expected *x = j->context;
	bool good = x->allowed ? allows(x->answer) : refuses(x->answer) || is_own_exec(&j->region);
	enum found found;

	if (!concerned || (good && x->met))
		return true;
	found = region_input(&j->region, &x->input);
	j->too_many |= found == FOUND_TOO_MANY;
	x->met |= found == FOUND;
	return !j->too_many && (good || found == FOUND_NONE);
}

static bool judge_answer(struct judge *j, uint32_t answer, uint32_t words)
{
	struct expected *x = j->context;

	x->answer = answer;
	x->words = words;
	return judge_clauses(j, x->when.clause, x->when.n);
}

static const char *answer_text(struct arena *a, uint32_t answer)
{
	switch (answer) {
	case SECCOMP_RET_ALLOW: return "is allowed";
	case SECCOMP_RET_LOG: return "is allowed and logged";
	case SECCOMP_RET_USER_NOTIF: return "is allowed by the runtime, which counts processes";
	case SECCOMP_RET_KILL_PROCESS: return "ends the process";
	case SAMPLE_METADATA: return "is allowed where a mount namespace bounds changes of metadata";
	case SAMPLE_SIGNAL: return "is allowed where signals stay inside";
	default: return arena_printf(a, "is refused with error %u", answer & SECCOMP_RET_DATA);
	}
}

/* The arguments that the answer depends on, by name where they have one. */
static const char *arguments_text(struct arena *a, const char *call, const struct seccomp_data *data, uint32_t words)
{
	const struct syscall_arg *args = syscall_args(call);
	const char *text = "", *before = "";

	for (unsigned i = 0; i < SYS_ARGS; i++) {
		const char *name = args && args[i].names ? arena_strndup(a, args[i].names, syscall_arg_name(&args[i])) :
							   arena_printf(a, "argument %u", i + 1);

		if (!(words & (word_of(i, 0) | word_of(i, 1))))
			continue;
		text = arena_printf(a, "%s%s%s = 0x%" PRIx64, text, before, name, (uint64_t)data->args[i]);
		before = ", ";
	}
	return *text ? text : "any arguments";
}

static void failed(struct diags *d, const struct node *expectation, const char *arch, const struct expected *x)
{
	const char *call = subject_of(expectation)->text;
	struct arena *a = d->sources->arena;
	struct diag *error = diag_error(d, CAVE_EXPECTATION_FAILED, expectation->at, "the %s filter does not keep this",
					arch);

	diag_note(d, error, nowhere, "%s with %s %s", call, arguments_text(a, call, &x->input, x->words),
		  answer_text(a, x->answer));
}

static struct condition condition_clauses(struct diags *d, struct arena *a, const struct node *subject,
					  enum sys_arch arch)
{
	struct alternatives when = { &(struct alternative){ NULL, 0 }, 1 };
	struct condition c = { NULL, 0 };

	/* It was checked before: this does not fail. */
	if (condition_of(subject))
		condition_resolve(d, a, arch, subject->text, condition_of(subject), false, &when);
	c.clause = ARENA_ARRAY(a, when.n + 1, struct sys_clause);
	for (; c.n < when.n; c.n++)
		c.clause[c.n] = (struct sys_clause){ .test = when.item[c.n].test, .ntests = when.item[c.n].n };
	return c;
}

static bool expect_on(struct diags *d, const struct node *expectation, enum sys_arch arch, uint32_t nr,
		      const struct filter_program *filter)
{
	const struct node *subject = subject_of(expectation);
	struct arena arena = { NULL };
	struct filter_view view;
	struct expected x = { .allowed = strcmp(expectation->text, "allow") == 0 };
	struct judge j = { .filter = &view, .context = &x, .answered = judge_answer, .decided = judge };
	struct fact number, of;
	bool holds;

	filter_view(&arena, filter, &view); /* it was proved */
	x.when = condition_clauses(d, &arena, subject, arch);
	region_narrow(&j.region, WORD_NUMBER, UINT32_MAX, nr, nr, &number);
	region_narrow(&j.region, WORD_ARCH, UINT32_MAX, sys_arch_audit(arch), sys_arch_audit(arch), &of);
	holds = judge_filter(&j);
	if (j.too_many)
		diag_error(d, CAVE_UNSUPPORTED, expectation->at, "this takes too many values of %s to be checked",
			   subject->text);
	else if (!holds)
		failed(d, expectation, sys_arch_name(arch), &x);
	else if (!x.met)
		diag_error(d, CAVE_EXPECTATION_FAILED, expectation->at, "no arguments of %s satisfy this", subject->text);
	arena_free(&arena);
	return holds && x.met;
}

bool syscalls_expect(struct diags *d, const struct policy *p, const struct filter_program filter[SYS_ARCHES])
{
	bool all = true;

	for (size_t i = 0; i < p->nexpectations; i++) {
		const struct syscall_row *row = syscall_find(subject_of(p->expectation[i])->text);
		bool good = true;

		for (unsigned arch = 0; arch < SYS_ARCHES && good; arch++)
			if (policy_has_arch(p, arch) && row->nr[arch] >= 0)
				good = expect_on(d, p->expectation[i], arch, (uint32_t)row->nr[arch], &filter[arch]);
		all &= good;
	}
	return all;
}
