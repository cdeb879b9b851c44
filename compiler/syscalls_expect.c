/* SPDX-License-Identifier: MIT */
/*
 * expect { allow|deny syscall NAME(args) }: the emitted filter is run on every input that can be told apart, and each
 * answer must be the one expected.  Without arguments the expectation is about all of them.
 */
#include <inttypes.h>
#include <string.h>

#include "compiler/syscalls.h"
#include "compiler/syscalls_condition.h"
#include "compiler/syscalls_points.h"

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

/* --- running ------------------------------------------------------------------------------------------ */

struct expected {
	const struct filter_view *filter;
	struct alternatives when;
	bool allowed;
	uint32_t *answer; /* of what was judged last */
	uint32_t *words; /* that it depended on */
	bool *met; /* some arguments satisfy the condition */
};

static bool concerned(const struct expected *x, const struct seccomp_data *data, uint32_t *looked)
{
	for (size_t i = 0; i < x->when.n; i++) {
		bool all = true;

		for (size_t j = 0; all && j < x->when.item[i].n; j++)
			all = test_holds(&x->when.item[i].test[j], data, looked);
		if (all)
			return true;
	}
	return false;
}

/* The runtime's own start of the tool: no affair of the profile's. */
static bool is_own_exec(const struct seccomp_data *data)
{
	for (unsigned i = 0; i < 3; i++)
		if (data->args[3 + i] != ((uint64_t)sample_token[2 * i + 1] << 32 | sample_token[2 * i]))
			return false;
	return true;
}

static bool judge(const void *context, const struct seccomp_data *data, uint32_t *looked)
{
	const struct expected *x = context;
	uint32_t seen = 0;

	if (!concerned(x, data, looked))
		return true;
	*x->met = true;
	*x->answer = cbpf_run_words(x->filter->insn, x->filter->n, data, &seen);
	*looked |= seen;
	*x->words = seen;
	if (*x->answer == SECCOMP_RET_ALLOW || *x->answer == SECCOMP_RET_LOG)
		return x->allowed || is_own_exec(data);
	/* What depends on the host is neither. */
	return !x->allowed && *x->answer != SAMPLE_METADATA && *x->answer != SAMPLE_SIGNAL;
}

static const char *answer_text(struct arena *a, uint32_t answer)
{
	switch (answer) {
	case SECCOMP_RET_ALLOW: return "is allowed";
	case SECCOMP_RET_LOG: return "is allowed and logged";
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

static void failed(struct diags *d, const struct node *expectation, const char *arch, const struct explorer *e,
		   const struct expected *x)
{
	const char *call = subject_of(expectation)->text;
	struct arena *a = d->sources->arena;
	struct diag *error;

	if (e->too_many) {
		diag_error(d, CAVE_UNSUPPORTED, expectation->at, "this takes too many values of %s to be checked", call);
		return;
	}
	error = diag_error(d, CAVE_EXPECTATION_FAILED, expectation->at, "the %s filter does not keep this", arch);
	diag_note(d, error, nowhere, "%s with %s %s", call, arguments_text(a, call, &e->data, *x->words),
		  answer_text(a, *x->answer));
}

static bool expect_on(struct diags *d, const struct node *expectation, enum sys_arch arch, uint32_t nr,
		      const struct filter_program *filter)
{
	static const struct alternative always = { NULL, 0 };
	const struct node *subject = subject_of(expectation);
	struct arena arena = { NULL };
	struct marks marks[WORDS] = { 0 };
	uint32_t answer = 0, words = 0;
	bool met = false, holds;
	struct filter_view view;
	struct expected x = { &view, { &always, 1 }, strcmp(expectation->text, "allow") == 0, &answer, &words, &met };
	struct explorer e = { .filter = &view, .judge = judge, .context = &x };

	/* The filter was proved and the condition was checked: neither fails. */
	filter_view(&arena, sys_arch_audit(arch), filter, &view);
	if (condition_of(subject))
		condition_resolve(d, &arena, arch, subject->text, condition_of(subject), false, &x.when);
	for (size_t i = 0; i < x.when.n; i++)
		for (size_t j = 0; j < x.when.item[i].n; j++)
			points_of_test(&view, &x.when.item[i].test[j], marks);
	points_of_filter(&view, nr, marks);
	holds = explore(&e, nr, marks);
	if (!holds)
		failed(d, expectation, sys_arch_name(arch), &e, &x);
	else if (!met)
		diag_error(d, CAVE_EXPECTATION_FAILED, expectation->at, "no arguments of %s satisfy this", subject->text);
	arena_free(&arena);
	return holds && met;
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
