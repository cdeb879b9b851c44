/* SPDX-License-Identifier: MIT */
/*
 * explain syscall: the emitted filter is followed for all arguments that the question leaves open; beside each answer
 * the clause that decides, which leads to the line.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "compiler/buffer.h"
#include "compiler/explain.h"
#include "compiler/syscalls.h"
#include "compiler/syscalls_condition.h"
#include "compiler/syscalls_errno.h"
#include "compiler/syscalls_regions.h"
#include "compiler/visible.h"

enum { ANSWERS_MAX = 8 };

struct answer {
	uint32_t value;
	const struct sys_clause *clause; /* that decides; NULL: none does */
	struct seccomp_data example;
};

/* The question on its way through the filter. */
struct asking {
	const struct sys_call *call;
	const struct sys_clause *asked; /* the condition of the question, as clauses */
	size_t nasked;
	uint32_t value; /* the filter's answer for the region at hand */
	struct answer answer[ANSWERS_MAX];
	size_t n;
	bool more;
};

/* --- following the filter ------------------------------------------------------------------------ */

static bool note(struct judge *j, const struct sys_clause *best)
{
	struct asking *a = j->context;
	struct seccomp_data input;
	enum found found;

	for (size_t i = 0; i < a->n; i++)
		if (a->answer[i].value == a->value && a->answer[i].clause == best)
			return true;
	found = region_input(&j->region, &input);
	j->too_many |= found == FOUND_TOO_MANY;
	if (found != FOUND)
		return found == FOUND_NONE;
	a->more |= a->n == ANSWERS_MAX;
	if (a->n < ANSWERS_MAX)
		a->answer[a->n++] = (struct answer){ a->value, best, input };
	return true;
}

static bool read_further(struct judge *j, const struct sys_clause *clause, size_t n,
			 bool (*decided)(struct judge *j, const struct sys_clause *best))
{
	struct judge k = { .region = j->region, .parts = j->parts, .context = j->context, .decided = decided };
	bool good = judge_clauses(&k, clause, n);

	j->parts = k.parts;
	j->too_many |= k.too_many;
	return good;
}

static bool concerned(struct judge *j, const struct sys_clause *asked)
{
	struct asking *a = j->context;

	if (!asked)
		return true;
	return read_further(j, a->call ? a->call->clause : NULL, a->call ? a->call->nclauses : 0, note);
}

static bool answered(struct judge *j, uint32_t answer, uint32_t words)
{
	struct asking *a = j->context;

	(void)words;
	a->value = answer;
	return judge_clauses(j, a->asked, a->nasked);
}

static bool follow(struct arena *arena, const struct filter_program *f, enum sys_arch arch, uint32_t nr,
		   struct asking *a)
{
	struct filter_view view;
	struct judge j = { .filter = &view, .context = a, .answered = answered, .decided = concerned };
	struct fact number, of;

	filter_view(arena, f, &view); /* it was proved */
	region_narrow(&j.region, WORD_NUMBER, UINT32_MAX, nr, nr, &number);
	region_narrow(&j.region, WORD_ARCH, UINT32_MAX, sys_arch_audit(arch), sys_arch_audit(arch), &of);
	return judge_filter(&j) && !j.too_many;
}

/* --- the question -------------------------------------------------------------------------------- */

/* Values in the order of the arguments, as a condition: "socket(domain == AF_INET && type == SOCK_RAW)". */
static const char *as_condition(struct explanation *x, int n, char **word)
{
	const struct syscall_arg *args = syscall_args(word[0]);
	const char *text = word[0];

	if (n == 1)
		return text;
	for (int i = 1; i < n; i++) {
		if (i > SYS_ARGS || !args || !args[i - 1].names) {
			complain("cavec explain: %s has no %d arguments that can be told apart", word[0], n - 1);
			return NULL;
		}
		if (strcmp(word[i], "-") == 0) /* any value */
			continue;
		text = arena_printf(x->arena, "%s%s%.*s == %s", text, text == word[0] ? "(" : " && ",
				    (int)syscall_arg_name(&args[i - 1]), args[i - 1].names, word[i]);
	}
	return text == word[0] ? text : arena_printf(x->arena, "%s)", text);
}

static bool default_arch(enum sys_arch *out)
{
	struct utsname machine;

	*out = SYS_X86_64;
	for (unsigned arch = 0; uname(&machine) == 0 && arch < SYS_ARCHES; arch++)
		if (strcmp(sys_arch_name(arch), machine.machine) == 0)
			*out = arch;
	return true;
}

/* The condition of the question as clauses; false after an error was recorded. */
static bool read_condition(struct explanation *x, enum sys_arch arch, const struct node *item, struct asking *a)
{
	struct alternatives when = { &(struct alternative){ NULL, 0 }, 1 };
	struct sys_clause *clause;

	if (item->kind == N_SYS_ITEM && item->kids &&
	    !condition_resolve(&x->compile->diags, x->arena, arch, item->text, item->kids, false, &when))
		return false;
	clause = ARENA_ARRAY(x->arena, when.n + 1, struct sys_clause);
	for (size_t i = 0; i < when.n; i++)
		clause[i] = (struct sys_clause){ .test = when.item[i].test, .ntests = when.item[i].n };
	a->asked = clause;
	a->nasked = when.n;
	return true;
}

/* --- the answers --------------------------------------------------------------------------------- */

static enum verdict verdict_of(uint32_t answer)
{
	switch (answer) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG: return VERDICT_ALLOWED;
	case SECCOMP_RET_USER_NOTIF:
	case SAMPLE_METADATA:
	case SAMPLE_SIGNAL: return VERDICT_DEPENDS;
	default: return VERDICT_REFUSED;
	}
}

static const char *answer_text(struct arena *a, uint32_t answer)
{
	switch (answer) {
	case SECCOMP_RET_ALLOW: return "is let through";
	case SECCOMP_RET_LOG: return "is let through and logged";
	case SECCOMP_RET_USER_NOTIF: return "is let through while there are fewer processes than granted";
	case SECCOMP_RET_KILL_PROCESS: return "ends the process";
	case SECCOMP_RET_ERRNO: return "is answered as if it had been made, and is not made";
	case SAMPLE_METADATA: return "is let through where a mount namespace bounds changes of metadata, else EPERM";
	case SAMPLE_SIGNAL: return "is let through where signals stay inside, else EPERM";
	default: return arena_printf(a, "is refused with %s", errno_name((int)(answer & SECCOMP_RET_DATA)));
	}
}

static const char *why_text(const struct answer *a, bool bare)
{
	bool allows = verdict_of(a->value) != VERDICT_REFUSED;

	if (a->clause && a->clause->line)
		return allows ? "this line allows it" : "this line denies it";
	if (a->clause && a->clause->result.action == SYS_EXEC_ONCE)
		return "the runtime's own start of the tool is let through once, by a random value, and no other";
	if (bare)
		return "no line is about it, so the filter's default holds";
	if (a->clause)
		return allows ? "the base set allows it, or what another grant needs" : "the base set denies it";
	return "no line allows it, and the base set does not";
}

/* How near a rule is to be the one that a clause of this call came from: several may begin on one line. */
static int nearness(const struct node *rule, const struct syscall_row *row, bool allows)
{
	if ((strcmp(rule->text, "allow") == 0) != allows)
		return 1;
	for (const struct node *item = rule->kids; item; item = item->next)
		if (item->kind == N_SYS_ITEM && (strcmp(item->text, row->name) == 0 ||
						 (*item->text == '@' && syscall_in_group(row, item->text + 1))))
			return 3;
	return 2;
}

static struct span line_at(const struct compile *c, line_id line, const struct syscall_row *row, bool allows)
{
	struct span found = { 0 };
	int best = 0;

	for (size_t i = 0; line && i < c->policy.nsys_rules; i++) {
		struct span at = c->policy.sys_rule[i]->at;
		int near = nearness(c->policy.sys_rule[i], row, allows);
		unsigned number, column;

		source_position(&c->sources.file[at.file], at.begin, &number, &column);
		if (c->sources.file[at.file].id[number - 1] != line || near <= best)
			continue;
		best = near;
		found = at;
	}
	return found;
}

/* The call with those arguments that its decision looks at. */
static const char *example_text(struct arena *arena, const struct asking *a, const char *name,
				const struct seccomp_data *data)
{
	const struct syscall_arg *args = syscall_args(name);
	const char *text = name, *before = "(";
	unsigned looked = 0;

	for (size_t i = 0; a->call && i < a->call->nclauses; i++)
		for (size_t j = 0; j < a->call->clause[i].ntests; j++)
			looked |= 1u << a->call->clause[i].test[j].arg;
	for (unsigned i = 0; args && i < SYS_ARGS; i++)
		if (looked >> i & 1) {
			text = arena_printf(arena, "%s%s%.*s == 0x%" PRIx64, text, before, (int)syscall_arg_name(&args[i]),
					    args[i].names ? args[i].names : "", (uint64_t)data->args[i]);
			before = " && ";
		}
	return text == name ? name : arena_printf(arena, "%s)", text);
}

static void add_answers(struct explanation *x, const struct asking *a, const struct syscall_row *row, const char *what,
			enum sys_arch arch)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct answer *one = &a->answer[i];
		const char *part = a->n == 1 ? what : example_text(x->arena, a, row->name, &one->example);
		struct reason *r = explain_add(x, verdict_of(one->value), part, why_text(one, x->compile->policy.bare));

		r->at = line_at(x->compile, one->clause ? one->clause->line : 0, row,
				verdict_of(one->value) != VERDICT_REFUSED);
		r->how = arena_printf(x->arena, "the syscall filter for %s (seccomp): it %s%s", sys_arch_name(arch),
				      answer_text(x->arena, one->value),
				      a->n == 1 ? "" : ", as an example of all that get this answer");
	}
	if (a->more)
		explain_add(x, VERDICT_DEPENDS, what, "there are more cases than are shown");
}

static bool unknown_call(const char *name)
{
	complain("cavec explain: '%s' is no system call of the table (%s)", name, syscalls_version);
	return false;
}

bool explain_syscall(struct explanation *x, int n, char **word)
{
	const struct syscall_row *row;
	const struct node *node, *item;
	struct asking a = { .n = 0 };
	enum sys_arch arch;
	const char *what = n ? as_condition(x, n, word) : NULL;

	if (n == 0)
		fputs("cavec explain: write: syscall NAME, syscall NAME VALUE…, or syscall 'NAME(CONDITION)'\n", stderr);
	if (!what)
		return false;
	what = arena_printf(x->arena, "syscall %s", what);
	node = explain_parse(x, what);
	item = node ? node->kids->next : NULL;
	if (!item)
		return false;
	row = syscall_find(item->text);
	default_arch(&arch);
	if (!row)
		return unknown_call(item->text);
	if (!policy_has_arch(&x->compile->policy, arch) || row->nr[arch] < 0) {
		fprintf(stderr, "cavec explain: there is no such call, or no filter, for %s\n", sys_arch_name(arch));
		return false;
	}
	if (!read_condition(x, arch, item, &a))
		return false;
	for (size_t i = 0; i < x->compile->rules[arch].ncalls; i++)
		if (x->compile->rules[arch].call[i].nr == (uint32_t)row->nr[arch])
			a.call = &x->compile->rules[arch].call[i];
	if (!follow(x->arena, &x->compile->filter[arch], arch, (uint32_t)row->nr[arch], &a)) {
		fputs("cavec explain: this takes too many values to be followed\n", stderr);
		return false;
	}
	if (a.n == 0)
		fputs("cavec explain: no arguments satisfy this\n", stderr);
	add_answers(x, &a, row, what, arch);
	return a.n > 0;
}
