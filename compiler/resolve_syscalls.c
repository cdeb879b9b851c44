/* SPDX-License-Identifier: MIT */
/*
 * syscalls { … } and filter NAME { … }: the lines are checked here; they are resolved to clauses, together with the
 * base set, when the network grants are known.
 */
#include <errno.h>
#include <string.h>

#include "compiler/resolve.h"
#include "compiler/syscalls.h"
#include "compiler/syscalls_data.h"
#include "compiler/syscalls_errno.h"

static const struct span nowhere;
static const char *const sys_statements[] = { "allow", "deny", "base", NULL };
static const char *const filter_statements[] = { "default", "unknown", "allow", "deny", NULL };

static void resolve_base(struct resolver *r, const struct node *n)
{
	if (strcmp(n->text, "none") == 0 || strcmp(n->text, "default") == 0)
		scalar_set(r, &r->base_syscalls, "base", n->text, n->name);
	else
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "'%s' is no base of system calls", n->text),
			  nowhere, "they are: base default (the default), base none");
}

/* The work that a call makes grows with the square of its conditions, and no filter of the kernel's holds so many. */
enum { CONDITIONS_MAX = 4096 };

static void count_condition(struct resolver *r, const struct node *item)
{
	size_t n;
	const struct syscall_row *rows = syscall_table(&n), *row = syscall_find(item->text);

	if (!row)
		return;
	if (!r->nconditions)
		r->nconditions = ARENA_ARRAY(r->arena, n, uint32_t);
	if (r->nconditions[row - rows] > CONDITIONS_MAX)
		return;
	if (++r->nconditions[row - rows] > CONDITIONS_MAX)
		diag_error(r->diags, CAVE_UNSUPPORTED, item->at, "this is condition number %d on %s; there may be %d",
			   CONDITIONS_MAX + 1, row->name, CONDITIONS_MAX);
}

static void add_rule(struct resolver *r, const struct node *n)
{
	for (const struct node *item = n->kids; item; item = item->next)
		if (item->kind == N_SYS_ITEM && item->kids)
			count_condition(r, item);
	syscalls_check(r->diags, r->policy, n);
	*ARENA_PUSH(r->arena, r->sys_rule, r->nsys_rules, r->sys_cap) = n;
}

void resolve_syscalls(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next) {
		if (n->kind == N_STRANGER) {
			stranger(r, n, "syscalls", sys_statements);
		} else if (n->kind == N_BASE) {
			resolve_base(r, n);
		} else {
			add_rule(r, n);
		}
	}
}

/* --- bare filters ------------------------------------------------------------------------------- */

/* default errno NAME, kill, allow or log; `unknown` may not allow, since that would let every x32 call through. */
static bool outcome(struct resolver *r, const struct node *n, struct sys_result *out)
{
	const char *what = n->kind == N_DEFAULT ? "default" : "unknown";
	int error = strcmp(n->text, "errno") == 0 && n->kids ? errno_by_name(n->kids->text) : 0;
	bool allows = strcmp(n->text, "allow") == 0 || strcmp(n->text, "log") == 0;

	if (error)
		*out = (struct sys_result){ SYS_ERRNO, (uint32_t)error };
	else if (strcmp(n->text, "kill") == 0 && !n->kids)
		*out = (struct sys_result){ SYS_KILL, 0 };
	else if (allows && !n->kids && n->kind == N_DEFAULT)
		*out = (struct sys_result){ n->text[0] == 'a' ? SYS_ALLOW : SYS_ALLOW_LOGGED, 0 };
	else if (allows && !n->kids)
		diag_error(r->diags, CAVE_UNSUPPORTED, n->at,
			   "what is not in the tables cannot be allowed: it has the x32 numbers of every call in it");
	else
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_UNKNOWN_NAME, n->at, "this is no answer of a filter"), nowhere,
			  "write: %s errno NAME, %s kill%s", what, what,
			  n->kind == N_DEFAULT ? ", default allow or default log" : "");
	return error || (!n->kids && (strcmp(n->text, "kill") == 0 || (allows && n->kind == N_DEFAULT)));
}

/* Once, or more than once with one meaning. */
static void set_outcome(struct resolver *r, const struct node *n, struct sys_result *value, struct span *at)
{
	struct sys_result given;

	if (!outcome(r, n, &given))
		return;
	if (at->file && (given.action != value->action || given.error != value->error))
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_CONTRADICTION, n->at, "this has two values"), *at,
			  "the other one is here");
	*value = given;
	*at = n->at;
}

void resolve_filter(struct resolver *r, const struct node *statement)
{
	struct span refused = nowhere, unknown = nowhere;

	r->policy->arches = 1u << r->options->arch;
	r->policy->refused = (struct sys_result){ SYS_ERRNO, EPERM };
	r->policy->unknown = (struct sys_result){ SYS_ERRNO, ENOSYS };
	for (const struct node *n = statement->kids; n; n = n->next) {
		if (n->kind == N_STRANGER)
			stranger(r, n, "a filter", filter_statements);
		else if (n->kind == N_DEFAULT)
			set_outcome(r, n, &r->policy->refused, &refused);
		else if (n->kind == N_UNKNOWN)
			set_outcome(r, n, &r->policy->unknown, &unknown);
		else
			add_rule(r, n);
	}
}
