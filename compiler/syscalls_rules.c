/* SPDX-License-Identifier: MIT */
/*
 * Syscall lines: checked as they are read, and resolved to clauses together with the built-in sets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/parse.h"
#include "compiler/syscalls.h"
#include "compiler/syscalls_builtin.h"
#include "compiler/syscalls_condition.h"
#include "compiler/syscalls_data.h"
#include "compiler/syscalls_promises.h"

static const struct span nowhere;

/* --- checking a user's line ------------------------------------------------------------------- */

static const char *call_candidate(const void *context, size_t i)
{
	size_t n;
	const struct syscall_row *rows = syscall_table(&n);

	(void)context;
	return i < n ? rows[i].name : NULL;
}

static const char *group_candidate(const void *context, size_t i)
{
	(void)context;
	return syscall_group(i);
}

static void unknown_name(struct diags *d, const struct node *item)
{
	bool group = item->text[0] == '@';
	const char *near = group ? did_you_mean(item->text + 1, group_candidate, NULL)
				 : did_you_mean(item->text, call_candidate, NULL);
	struct diag *e =
		diag_error(d, CAVE_UNKNOWN_NAME, item->name, "'%s' is no %s of the table (%s)",
			   item->text, group ? "group of system calls" : "system call",
			   syscalls_version);

	if (near)
		diag_note(d, e, nowhere, "did you mean '%s%s'?", group ? "@" : "", near);
}

/* What of the line arrives later.  Returns true if any of it is there. */
static bool unsupported(struct diags *d, const struct node *rule)
{
	unsigned before = d->errors;

	for (const struct node *n = rule->kids; n; n = n->next) {
		if (n->kind == N_WITH)
			diag_error(d, CAVE_UNSUPPORTED, n->at,
				   "an action of its own for a line is not supported yet");
		else if (n->kind == N_LOGGED)
			diag_error(d, CAVE_UNSUPPORTED, n->at, "'logged' is not supported yet");
		else if (n->kind == N_SYS_ITEM && n->kids)
			diag_error(d, CAVE_UNSUPPORTED, n->kids->at,
				   "conditions on arguments are not supported yet");
	}
	return d->errors != before;
}

static void check_grant(struct diags *d, struct policy *p, const struct node *item,
			const struct syscall_row *row)
{
	bool group = item->text[0] == '@';
	const char *promise;
	struct diag *e;

	switch (syscall_grant(row, &promise)) {
	case GRANT_METADATA: p->requires_mounts = true; break;
	case GRANT_NEVER:
		e = diag_error(d, CAVE_CONTRADICTION, item->name, "%s%s%s cannot be allowed: %s",
			       group ? item->text : "", group ? ": its member " : "", row->name,
			       promise);
		diag_note(d, e, nowhere,
			  "no profile can grant it; what the base set allows of it stays as it is");
		break;
	default: break;
	}
}

static bool in_group(const struct syscall_row *row, const struct node *item)
{
	return strcmp(row->group, item->text + 1) == 0;
}

static void check_group(struct diags *d, struct policy *p, const struct node *item, bool allow)
{
	size_t n;
	const struct syscall_row *rows = syscall_table(&n);
	unsigned before = d->errors;

	if (!syscall_group_exists(item->text + 1)) {
		unknown_name(d, item);
		return;
	}
	/* The first member that cannot be granted is enough to say why. */
	for (size_t i = 0; allow && i < n && d->errors == before; i++)
		if (in_group(&rows[i], item))
			check_grant(d, p, item, &rows[i]);
}

static void check_item(struct diags *d, struct policy *p, const struct node *item, bool allow)
{
	const struct syscall_row *row;

	if (item->text[0] == '@') {
		check_group(d, p, item, allow);
		return;
	}
	row = syscall_find(item->text);
	if (!row) {
		unknown_name(d, item);
		return;
	}
	if (row->nr[SYS_X86_64] < 0)
		diag_remark(d, item->name, "%s does not exist on %s: the line has no effect there",
			    row->name, sys_arch_name(SYS_X86_64));
	if (allow)
		check_grant(d, p, item, row);
}

void syscalls_check(struct diags *d, struct policy *p, const struct node *rule)
{
	bool allow = strcmp(rule->text, "allow") == 0;

	unsupported(d, rule);
	for (const struct node *n = rule->kids; n; n = n->next)
		if (n->kind == N_SYS_ITEM)
			check_item(d, p, n, allow);
}

/* --- resolving -------------------------------------------------------------------------------- */

struct clauses {
	struct sys_clause *item;
	size_t n, cap;
};

struct resolution {
	struct diags *diags;
	struct arena *arena;
	const struct syscall_row *rows;
	size_t nrows;
	struct clauses *builtin; /* what the built-in sets say of each row */
	struct clauses *clauses; /* what holds for each row */
};

static void add_clause(struct resolution *r, struct clauses *to, struct sys_clause clause)
{
	*ARENA_PUSH(r->arena, to->item, to->n, to->cap) = clause;
}

/*
 * Built-in text is the compiler's own: an error in it is found by the unit tests, and refuses to
 * compile.
 */
static bool builtin_error(struct resolution *r, const struct node *n, const char *what)
{
	diag_error(r->diags, CAVE_PROOF_FAILED, n->at, "built-in syscall set: %s", what);
	return false;
}

static bool builtin_result(struct resolution *r, const struct node *rule, struct sys_result *out)
{
	const struct node *with = rule->kids;

	*out = (struct sys_result){ .action = SYS_ALLOW };
	while (with && with->kind != N_WITH)
		with = with->next;
	if (!with) {
		if (strcmp(rule->text, "deny") == 0)
			*out = (struct sys_result){ SYS_ERRNO, EPERM };
		return true;
	}
	if (strcmp(with->text, "token") == 0)
		out->action = SYS_EXEC_ONCE;
	else if (strcmp(with->text, "guard") == 0 && strcmp(with->kids->text, "metadata") == 0)
		out->action = SYS_GUARD_METADATA;
	else if (strcmp(with->text, "guard") == 0 && strcmp(with->kids->text, "signal") == 0)
		out->action = SYS_GUARD_SIGNAL;
	else if (strcmp(with->text, "errno") == 0 && strcmp(with->kids->text, "ENOSYS") == 0)
		*out = (struct sys_result){ SYS_ERRNO, ENOSYS };
	else
		return builtin_error(r, with, "unknown 'with'");
	return true;
}

static bool builtin_item(struct resolution *r, const struct node *item, struct sys_result result)
{
	const struct syscall_row *row = syscall_find(item->text);
	struct alternatives alt = { &(struct alternative){ NULL, 0 }, 1 };

	if (!row)
		return builtin_error(r, item, "unknown system call");
	if (item->kids && !condition_resolve(r->diags, r->arena, row->name, item->kids, true, &alt))
		return false;
	for (size_t i = 0; i < alt.n; i++)
		add_clause(r, &r->builtin[row - r->rows],
			   (struct sys_clause){ .result = result,
						.test = alt.item[i].test,
						.ntests = alt.item[i].n });
	return true;
}

static bool builtin_rule(struct resolution *r, const struct node *rule)
{
	struct sys_result result;

	if (rule->kind != N_SYS_RULE)
		return builtin_error(r, rule, "not an allow or a deny");
	if (!builtin_result(r, rule, &result))
		return false;
	for (const struct node *n = rule->kids; n; n = n->next)
		if (n->kind == N_SYS_ITEM && !builtin_item(r, n, result))
			return false;
	return true;
}

static bool builtin_set(struct resolution *r, enum builtin which)
{
	struct builtin_text t = builtin_text(which);
	uint32_t file = sources_add(r->diags->sources, t.name, t.text, t.size, nowhere, true);
	struct node *statements;

	if (!parse_statements(r->diags, file, &statements))
		return false;
	for (const struct node *s = statements; s; s = s->next) {
		if (s->kind != N_SYSCALLS)
			return builtin_error(r, s, "not a syscalls block");
		for (const struct node *rule = s->kids; rule; rule = rule->next)
			if (!builtin_rule(r, rule))
				return false;
	}
	return true;
}

static bool builtin_sets(struct resolution *r, const struct policy *p, const struct net_set *set)
{
	return builtin_set(r, BUILTIN_BASE) && (net_set_empty(set) || builtin_set(r, BUILTIN_NETWORK)) &&
	       (!net_set_uses(set, NET_TCP) || builtin_set(r, BUILTIN_TCP)) &&
	       (!net_set_uses(set, NET_UDP) || builtin_set(r, BUILTIN_UDP)) &&
	       (!net_set_listens(set, NET_TCP) || builtin_set(r, BUILTIN_LISTEN)) &&
	       (!p->netlink_route || builtin_set(r, BUILTIN_NETLINK));
}

/* The runtime's own start of the tool is no affair of the profile's lines. */
static bool is_own_exec(const struct syscall_row *row)
{
	return strcmp(row->name, "execve") == 0;
}

static void start_with_base(struct resolution *r, const struct policy *p)
{
	for (size_t i = 0; i < r->nrows; i++)
		if (p->base_syscalls || is_own_exec(&r->rows[i]))
			for (size_t j = 0; j < r->builtin[i].n; j++)
				add_clause(r, &r->clauses[i], r->builtin[i].item[j]);
}

/* The built-in clauses of a call once more, as this line's; `opened`: no longer guarded. */
static void allow_conditionally(struct resolution *r, size_t row, line_id line, bool opened)
{
	for (size_t i = 0; i < r->builtin[row].n; i++) {
		struct sys_clause c = r->builtin[row].item[i];

		c.line = line;
		if (opened && c.result.action == SYS_GUARD_METADATA)
			c.result.action = SYS_ALLOW;
		add_clause(r, &r->clauses[row], c);
	}
}

static void allow_row(struct resolution *r, size_t row, line_id line)
{
	const char *promise;
	enum grant grant = syscall_grant(&r->rows[row], &promise);

	if (grant == GRANT_NEVER)
		return; /* refused when the line was checked */
	if (grant != GRANT_PLAIN && r->builtin[row].n)
		allow_conditionally(r, row, line, grant == GRANT_METADATA);
	else
		add_clause(r, &r->clauses[row],
			   (struct sys_clause){ .result = { .action = SYS_ALLOW }, .line = line });
}

static void apply_row(struct resolution *r, size_t row, bool allow, line_id line)
{
	if (allow)
		allow_row(r, row, line);
	else if (!is_own_exec(&r->rows[row]))
		add_clause(r, &r->clauses[row],
			   (struct sys_clause){ .result = { SYS_ERRNO, EPERM }, .line = line });
}

static void apply_item(struct resolution *r, const struct node *item, bool allow, line_id line)
{
	const struct syscall_row *row;

	if (item->text[0] != '@') {
		row = syscall_find(item->text);
		if (row)
			apply_row(r, (size_t)(row - r->rows), allow, line);
		return;
	}
	for (size_t i = 0; i < r->nrows; i++)
		if (in_group(&r->rows[i], item))
			apply_row(r, i, allow, line);
}

static void apply_rule(struct resolution *r, const struct node *rule)
{
	line_id line = sources_line(r->diags->sources, rule->at);

	for (const struct node *n = rule->kids; n; n = n->next)
		if (n->kind == N_SYS_ITEM)
			apply_item(r, n, strcmp(rule->text, "allow") == 0, line);
}

/* The rows of one architecture, by number. */
static void by_number(struct resolution *r, enum sys_arch arch, struct sys_rules *out)
{
	size_t row_of[SYS_NUMBER_MAX + 1] = { 0 }; /* 1 + row */
	struct sys_call *call = ARENA_ARRAY(r->arena, r->nrows, struct sys_call);
	size_t n = 0;

	for (size_t i = 0; i < r->nrows; i++)
		if (r->rows[i].nr[arch] >= 0)
			row_of[r->rows[i].nr[arch]] = i + 1;
	for (uint32_t nr = 0; nr <= SYS_NUMBER_MAX; nr++) {
		const struct clauses *c = row_of[nr] ? &r->clauses[row_of[nr] - 1] : NULL;

		if (c)
			call[n++] = (struct sys_call){ nr, r->rows[row_of[nr] - 1].name, c->item,
						       c->n };
	}
	*out = (struct sys_rules){
		.arch = sys_arch_audit(arch),
		.arch_name = sys_arch_name(arch),
		.call = call,
		.ncalls = n,
		.refused = { SYS_ERRNO, EPERM },
		.unknown = { SYS_ERRNO, ENOSYS },
	};
}

bool syscalls_resolve(struct diags *d, struct arena *a, const struct policy *p, const struct net_set *set,
		      struct sys_rules *out)
{
	struct resolution r = { .diags = d, .arena = a };

	r.rows = syscall_table(&r.nrows);
	r.builtin = ARENA_ARRAY(a, r.nrows, struct clauses);
	r.clauses = ARENA_ARRAY(a, r.nrows, struct clauses);
	if (!builtin_sets(&r, p, set))
		return false;
	start_with_base(&r, p);
	for (size_t i = 0; i < p->nsys_rules; i++)
		apply_rule(&r, p->sys_rule[i]);
	by_number(&r, SYS_X86_64, out);
	return true;
}
