/* SPDX-License-Identifier: MIT */
/*
 * Syscall lines: checked as they are read, and resolved to clauses together with the built-in sets, for each
 * architecture on its own, since constants may differ.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/hostset.h"
#include "compiler/syscalls.h"
#include "compiler/syscalls_builtin.h"
#include "compiler/syscalls_clauses.h"
#include "compiler/syscalls_condition.h"
#include "compiler/syscalls_data.h"
#include "compiler/syscalls_errno.h"
#include "compiler/syscalls_promises.h"
#include "compiler/syscalls_rules.h"

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

/* The runtime's own start of the tool is no affair of the profile's lines. */
static bool is_own_exec(const struct policy *p, const struct syscall_row *row)
{
	return !p->bare && strcmp(row->name, "execve") == 0;
}

static const struct node *kid_of(const struct node *rule, enum node_kind kind)
{
	for (const struct node *n = rule->kids; n; n = n->next)
		if (n->kind == kind)
			return n;
	return NULL;
}

static bool check_errno(struct diags *d, const struct node *with, struct sys_result *out)
{
	int error = with->kids ? errno_by_name(with->kids->text) : 0;
	struct diag *e;

	if (!error) {
		e = with->kids ? diag_error(d, CAVE_UNKNOWN_NAME, with->at, "'%s' is no name of an error", with->kids->text) :
				 diag_error(d, CAVE_SYNTAX, with->at, "'with errno' does not say which error");
		diag_note(d, e, nowhere, "write: with errno NAME, such as EPERM, EACCES, ENOSYS");
		return false;
	}
	*out = (struct sys_result){ SYS_ERRNO, (uint16_t)error };
	return true;
}

static bool check_with(struct diags *d, const struct node *with, struct sys_result *out)
{
	if (strcmp(with->text, "errno") == 0)
		return check_errno(d, with, out);
	if (strcmp(with->text, "kill") == 0 && !with->kids) {
		*out = (struct sys_result){ SYS_KILL, 0 };
		return true;
	}
	diag_note(d, diag_error(d, CAVE_UNKNOWN_NAME, with->at, "'with %s' is no way to refuse a call", with->text),
		  nowhere, "write: with errno NAME, or: with kill");
	return false;
}

bool syscalls_result(struct diags *d, const struct node *rule, struct sys_result *out)
{
	const struct node *with = kid_of(rule, N_WITH), *logged = kid_of(rule, N_LOGGED);
	bool allow = strcmp(rule->text, "allow") == 0;
	size_t options = 0;

	for (const struct node *n = rule->kids; n; n = n->next)
		options += n->kind == N_WITH || n->kind == N_LOGGED;
	if (options > 1)
		diag_error(d, CAVE_SYNTAX, rule->at, "one 'with' or 'logged' is enough for a line");
	else if (allow && with)
		diag_error(d, CAVE_SYNTAX, with->at, "'with' says how a call is refused; this line allows");
	else if (!allow && logged)
		diag_error(d, CAVE_SYNTAX, logged->at,
			   "'logged' is for what is allowed; the kernel cannot log and answer with an error");
	else if (with)
		return check_with(d, with, out);
	else
		*out = allow ? (struct sys_result){ logged ? SYS_ALLOW_LOGGED : SYS_ALLOW, 0 } :
			       (struct sys_result){ SYS_ERRNO, EPERM };
	return options <= 1 && !(allow && with) && (allow || !logged);
}

static void check_plain_grant(struct diags *d, const struct node *item, const struct syscall_row *row,
			      const char *promise)
{
	bool group = item->text[0] == '@';
	struct diag *e = diag_error(d, CAVE_CONTRADICTION, item->name, "%s%s%s cannot be allowed: %s",
				    group ? item->text : "", group ? ": its member " : "", row->name, promise);

	diag_note(d, e, nowhere, "no profile can grant it whole; what the base set allows of it stays as it is");
}

/* What childProcess may grant, which is not known before all lines are read. */
static bool makes_processes(const struct syscall_row *row)
{
	return strcmp(row->name, "fork") == 0 || strcmp(row->name, "vfork") == 0 || strcmp(row->name, "clone") == 0;
}

static void check_grant(struct diags *d, struct policy *p, const struct node *item, const struct syscall_row *row,
			struct sys_result result)
{
	const char *promise;

	switch (syscall_grant(row, &promise)) {
	case GRANT_METADATA: p->requires_mounts = true; break;
	case GRANT_CONDITION:
		/* What is left of it under a guard is logged too, so it is no longer guarded. */
		p->requires_mounts |= result.action == SYS_ALLOW_LOGGED;
		break;
	case GRANT_NEVER:
		/* With a condition: see allow_if_narrow(); what makes processes: see allow_child_call(). */
		if (!item->kids && !makes_processes(row))
			check_plain_grant(d, item, row, promise);
		break;
	default: break;
	}
}

/* Its own start answers what the base set says: how a later exec is refused cannot be changed. */
static void check_own_exec(struct diags *d, const struct node *item, struct sys_result result)
{
	if (result.action != SYS_ERRNO || result.error != EPERM)
		diag_error(d, CAVE_UNSUPPORTED, item->name,
			   "%s%s: a later execve is refused with EPERM, in no other way",
			   item->text[0] == '@' ? item->text : "",
			   item->text[0] == '@' ? " has execve as a member" : "execve");
}

/* seccomp_uprobe_exception, kernel/seccomp.c, from Linux 6.14 on; made by anybody else they do nothing. */
static bool never_asked(const struct syscall_row *row)
{
	return strcmp(row->name, "uprobe") == 0 || strcmp(row->name, "uretprobe") == 0;
}

static void check_row(struct diags *d, struct policy *p, const struct node *item, const struct syscall_row *row,
		      struct sys_result result)
{
	bool allow = result.action == SYS_ALLOW || result.action == SYS_ALLOW_LOGGED;

	if (!allow && never_asked(row) && item->text[0] != '@')
		diag_remark(d, item->name, "the kernel asks no filter about %s: it returns from an operator's probe, and does "
			    "nothing for anybody else", row->name);
	else if (!allow && is_own_exec(p, row))
		check_own_exec(d, item, result);
	else if (allow && !p->bare)
		check_grant(d, p, item, row, result);
}

static void check_group(struct diags *d, struct policy *p, const struct node *item, struct sys_result result)
{
	size_t n;
	const struct syscall_row *rows = syscall_table(&n);
	unsigned before = d->errors;

	if (!syscall_group_exists(item->text + 1)) {
		unknown_name(d, item);
		return;
	}
	if (item->kids)
		diag_error(d, CAVE_VALUE, item->kids->at, "a condition stands on one call, not on a group");
	/* The first member that cannot be granted is enough to say why. */
	for (size_t i = 0; i < n && d->errors == before; i++)
		if (syscall_in_group(&rows[i], item->text + 1))
			check_row(d, p, item, &rows[i], result);
}

static void note_absence(struct diags *d, const struct policy *p, const struct node *item,
			 const struct syscall_row *row)
{
	const char *list = "", *before = "";

	for (unsigned arch = 0; arch < SYS_ARCHES; arch++)
		if (policy_has_arch(p, arch) && row->nr[arch] < 0) {
			list = arena_printf(d->sources->arena, "%s%s%s", list, before, sys_arch_name(arch));
			before = ", ";
		}
	if (*before)
		diag_remark(d, item->name, "%s does not exist on %s: the line has no effect there", row->name, list);
}

/* The condition for each architecture that has the call. */
static void check_condition(struct diags *d, const struct policy *p, const struct node *item,
			    const struct syscall_row *row)
{
	struct alternatives alt;
	bool good = true;

	for (unsigned arch = 0; arch < SYS_ARCHES && good; arch++) {
		if (!policy_has_arch(p, arch) || row->nr[arch] < 0)
			continue;
		good = condition_resolve(d, d->sources->arena, arch, row->name, item->kids, false, &alt);
		if (good && alternatives_normal(d->sources->arena, alt).n == 0) {
			diag_error(d, CAVE_VALUE, item->kids->at, "no arguments of %s satisfy this", row->name);
			return;
		}
	}
}

static void check_item(struct diags *d, struct policy *p, const struct node *item, struct sys_result result)
{
	const struct syscall_row *row;

	if (item->text[0] == '@') {
		check_group(d, p, item, result);
		return;
	}
	row = syscall_find(item->text);
	if (!row) {
		unknown_name(d, item);
		return;
	}
	note_absence(d, p, item, row);
	if (item->kids)
		check_condition(d, p, item, row);
	check_row(d, p, item, row, result);
}

void syscalls_check(struct diags *d, struct policy *p, const struct node *rule)
{
	struct sys_result result = { SYS_ERRNO, EPERM };

	if (!syscalls_result(d, rule, &result) && strcmp(rule->text, "allow") == 0)
		result = (struct sys_result){ SYS_ALLOW, 0 };
	for (const struct node *n = rule->kids; n; n = n->next)
		if (n->kind == N_SYS_ITEM)
			check_item(d, p, n, result);
}

/* --- resolving -------------------------------------------------------------------------------- */

/* Those of others, with cap 0, are copied before one is added. */
struct clauses {
	const struct sys_clause *item;
	uint32_t n, cap;
	bool normal; /* as a built-in table has them */
};

/* How a call is refused whatever its arguments. */
struct denial {
	const struct node *item; /* NULL: it is not */
	struct sys_result result;
	line_id line;
};

struct resolution {
	struct diags *diags;
	struct arena *arena;
	const struct policy *policy;
	enum sys_arch arch;
	uint32_t sets; /* built-in ones, a bit each */
	const struct syscall_row *rows;
	size_t nrows;
	struct clauses *builtin; /* what the built-in sets say of each row */
	struct clauses *clauses; /* what holds for each row; the same where no line can change it */
	/* NULL where there are no lines: */
	struct clauses *may; /* what a line may say of each row beyond the built-in sets */
	struct denial *denied;
};

static void add_clause(struct resolution *r, struct clauses *to, struct sys_clause clause)
{
	if (to->n >= to->cap) {
		uint32_t cap = to->n < 4 ? 8 : 2 * to->n;
		struct sys_clause *bigger = ARENA_ARRAY(r->arena, cap, struct sys_clause);

		if (to->n)
			memcpy(bigger, to->item, to->n * sizeof *bigger);
		*to = (struct clauses){ bigger, to->n, cap, false };
	}
	((struct sys_clause *)to->item)[to->n++] = clause;
}

static void add_builtin(struct resolution *r, struct clauses *to, const struct builtin_call *call)
{
	/* Where programs may be executed, execve is not left to the runtime's own. */
	if (call->clause[0].result.action == SYS_EXEC_ONCE && (r->sets & BUILTIN_BIT(BUILTIN_EXECUTE)))
		return;
	if (to->n == 0)
		*to = (struct clauses){ call->clause, call->n, 0, true };
	else
		for (size_t i = 0; i < call->n; i++)
			add_clause(r, to, call->clause[i]);
}

static void add_set(struct resolution *r, struct clauses *to, struct builtin_calls calls)
{
	for (size_t i = 0; i < calls.n; i++)
		add_builtin(r, &to[calls.item[i].row], &calls.item[i]);
}

/*
 * Whether datagrams of IPv4 may go to more than addresses that stand alone: which of a range is the broadcast
 * address of some link is not known, and a name may have any.  What is for loopback does not leave the host.
 */
static bool reaches_ranges(const struct net_set *set)
{
	const struct net_cell *c = &set->cell[NET_UDP][NET_V4];

	for (size_t i = 0; i < c->n; i++)
		if (c->interval[i].lo.lo != c->interval[i].hi.lo &&
		    (c->interval[i].lo.lo >> 24 != 127 || c->interval[i].hi.lo >> 24 != 127))
			return true;
	for (size_t i = 0; set->hosts && i < set->hosts->nclasses; i++)
		if (set->hosts->class[i].ports[NET_UDP].n)
			return true;
	return false;
}

/* The built-in sets that a policy has, a bit each. */
static uint32_t sets_of(const struct policy *p, const struct net_set *set)
{
	if (p->bare)
		return 0;
	return BUILTIN_BIT(BUILTIN_BASE) | (net_set_empty(set) ? 0 : BUILTIN_BIT(BUILTIN_NETWORK)) |
	       (net_set_uses(set, NET_TCP) ? BUILTIN_BIT(BUILTIN_TCP) : 0) |
	       (net_set_uses(set, NET_UDP) ? BUILTIN_BIT(BUILTIN_UDP) : 0) |
	       (net_set_listens(set, NET_TCP) ? BUILTIN_BIT(BUILTIN_LISTEN) : 0) |
	       (reaches_ranges(set) ? BUILTIN_BIT(BUILTIN_UNICAST) : 0) |
	       (p->netlink_route ? BUILTIN_BIT(BUILTIN_NETLINK) : 0) |
	       (p->children ? BUILTIN_BIT(BUILTIN_EXECUTE) : 0) |
	       (p->max_processes ? BUILTIN_BIT(BUILTIN_CHILDREN) : 0) |
	       (p->limits.value[CAVE_LIMIT_MEMORY] ? BUILTIN_BIT(BUILTIN_MEMORY) : 0);
}

static bool is_denial(struct sys_result result)
{
	return result.action == SYS_ERRNO || result.action == SYS_KILL;
}

/* Without the base there is the runtime's own exec still, and what keeps a promise that a line could undo. */
static bool holds_without_base(const struct resolution *r, size_t row, struct sys_result result)
{
	const struct policy *p = r->policy;
	const char *name = r->rows[row].name;

	if (is_own_exec(p, &r->rows[row]))
		return true;
	if (!is_denial(result))
		return false;
	return strcmp(name, "memfd_create") == 0 ? p->children || p->limits.value[CAVE_LIMIT_MEMORY]
						 : strcmp(name, "mmap") == 0 && p->limits.value[CAVE_LIMIT_MEMORY];
}

static void start_with(struct resolution *r, size_t row)
{
	const struct clauses *builtin = &r->builtin[row];

	if (r->policy->base_syscalls)
		r->clauses[row] = (struct clauses){ builtin->item, builtin->n, 0, builtin->normal };
	else
		for (size_t i = 0; i < builtin->n; i++)
			if (holds_without_base(r, row, builtin->item[i].result))
				add_clause(r, &r->clauses[row], builtin->item[i]);
}

static void start_with_base(struct resolution *r, const struct builtin_tables *tables)
{
	for (enum builtin i = 0; i < BUILTIN_MAY; i++)
		if (r->sets & BUILTIN_BIT(i))
			add_set(r, r->builtin, tables->calls[i][r->arch]);
	if (r->sets && r->may)
		add_set(r, r->may, tables->calls[BUILTIN_MAY][r->arch]);
	for (size_t i = 0; i < r->nrows && r->clauses != r->builtin; i++)
		start_with(r, i);
}

/* --- an allow line ------------------------------------------------------------------------------ */

/* What a line says of one call on this architecture. */
struct line {
	const struct node *item;
	struct sys_result result;
	struct alternatives when;
	line_id line;
};

static void add_alternative(struct resolution *r, size_t row, const struct line *l, struct sys_result result,
			    struct alternative x)
{
	add_clause(r, &r->clauses[row], (struct sys_clause){ result, x.test, x.n, l->line });
}

static void add_line(struct resolution *r, size_t row, const struct line *l)
{
	for (size_t i = 0; i < l->when.n; i++)
		add_alternative(r, row, l, l->result, l->when.item[i]);
}

/* The built-in clauses of a call, where the line's condition holds too; `opened`: no longer guarded. */
static void allow_within_builtin(struct resolution *r, size_t row, const struct line *l, bool opened)
{
	bool any = false;

	for (size_t i = 0; i < r->builtin[row].n; i++) {
		const struct sys_clause *c = &r->builtin[row].item[i];
		struct alternative own = { c->test, c->ntests };
		bool plain = c->result.action == SYS_ALLOW || (opened && c->result.action == SYS_GUARD_METADATA);

		for (size_t j = 0; j < l->when.n; j++) {
			struct alternative both = alternative_both(r->arena, &own, &l->when.item[j]);

			if (!alternative_possible(&both))
				continue;
			any = true;
			add_alternative(r, row, l, plain ? l->result : c->result, both);
		}
	}
	if (!any)
		diag_error(r->diags, CAVE_CONTRADICTION, l->item->at,
			   "nothing is left of this: %s keeps the condition of the built-in sets, which excludes it",
			   r->rows[row].name);
}

/* The condition under which a profile may allow the call at all. */
static struct alternatives widest(struct resolution *r, size_t row)
{
	const struct clauses *from[] = { &r->builtin[row], &r->may[row] };
	struct alternative *item = ARENA_ARRAY(r->arena, from[0]->n + from[1]->n + 1, struct alternative);
	size_t n = 0;

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < from[k]->n; i++)
			if (from[k]->item[i].result.action == SYS_ALLOW)
				item[n++] = (struct alternative){ from[k]->item[i].test, from[k]->item[i].ntests };
	return (struct alternatives){ item, n };
}

/* `rest` is what the line asks for beyond what may be allowed. */
static void too_wide(struct resolution *r, size_t row, const struct line *l, struct alternatives rest)
{
	struct buffer text = { .arena = r->arena };
	const char *promise = "signals only inside"; /* what a condition is kept for where a call may be allowed whole */
	struct diag *e;

	syscall_grant(&r->rows[row], &promise);
	e = diag_error(r->diags, CAVE_CONTRADICTION, l->item->at, "%s cannot be allowed so far: %s",
		       r->rows[row].name, promise);
	if (rest.n == 0)
		return;
	alternatives_print(&text, syscall_args(r->rows[row].name), alternatives_normal(r->arena, rest));
	buffer_add(&text, "", 1);
	diag_note(r->diags, e, nowhere, "leave out: %s", text.data);
}

/* A line on a call that keeps a promise may add what does not undo it. */
static void allow_if_narrow(struct resolution *r, size_t row, const struct line *l)
{
	struct alternatives rest = { NULL, 0 };

	if (!alternatives_subtract(r->arena, l->when, widest(r, row), &rest) || rest.n)
		too_wide(r, row, l, rest);
	else
		add_line(r, row, l);
}

/* Where childProcess grants it, a line is about what it grants, which stays counted. */
static void allow_child_call(struct resolution *r, size_t row, const struct line *l)
{
	const char *promise;

	if (!r->policy->max_processes) {
		syscall_grant(&r->rows[row], &promise);
		check_plain_grant(r->diags, l->item, &r->rows[row], promise);
	} else if (l->result.action == SYS_ALLOW_LOGGED) {
		diag_error(r->diags, CAVE_UNSUPPORTED, l->item->at, "%s is counted; the kernel cannot log it as well",
			   r->rows[row].name);
	} else {
		allow_within_builtin(r, row, l, false);
	}
}

static void allow_row(struct resolution *r, size_t row, const struct line *l)
{
	const char *promise;
	enum grant grant = r->policy->bare ? GRANT_PLAIN : syscall_grant(&r->rows[row], &promise);
	bool judged = grant == GRANT_NEVER || strcmp(r->rows[row].name, "fcntl") == 0;

	if (grant == GRANT_PLAIN || (grant == GRANT_METADATA && !r->builtin[row].n))
		add_line(r, row, l);
	else if (grant == GRANT_NEVER && makes_processes(&r->rows[row]) && !l->item->kids)
		allow_child_call(r, row, l);
	else if (judged && l->item->kids)
		allow_if_narrow(r, row, l);
	else if (grant != GRANT_NEVER) /* which was refused when the line was checked */
		allow_within_builtin(r, row, l, grant == GRANT_METADATA || l->result.action == SYS_ALLOW_LOGGED);
}

/* --- a deny line -------------------------------------------------------------------------------- */

/* How it is refused is said by a line that names the call, rather than by one that names a group. */
static void deny_whole(struct resolution *r, size_t row, const struct line *l)
{
	struct denial *old = &r->denied[row];
	bool by_group = l->item->text[0] == '@', old_by_group = old->item && old->item->text[0] == '@';

	if (old->item && by_group && !old_by_group)
		return;
	if (old->item && by_group == old_by_group && !sys_result_equal(old->result, l->result)) {
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_CONTRADICTION, l->item->name, "%s is refused in two ways",
				     r->rows[row].name),
			  old->item->name, "the other one is here");
		return;
	}
	*old = (struct denial){ l->item, l->result, l->line };
}

static bool has_base_denials(const struct clauses *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (is_denial(c->item[i].result) && !c->item[i].line)
			return true;
	return false;
}

/* Where a line says how a call is refused, the base set does not: what is left of its own denials is the rest. */
static void cut_base_denials(struct resolution *r, size_t row, const struct line *l)
{
	struct clauses kept = { .item = NULL };

	if (!has_base_denials(&r->clauses[row]))
		return;
	for (size_t i = 0; i < r->clauses[row].n; i++) {
		struct sys_clause c = r->clauses[row].item[i];
		struct alternative own = { c.test, c.ntests };
		struct alternatives rest = { &own, 1 };

		if (is_denial(c.result) && !c.line)
			alternatives_subtract(r->arena, rest, l->when, &rest);
		for (size_t j = 0; j < rest.n; j++)
			add_clause(r, &kept, (struct sys_clause){ c.result, rest.item[j].test, rest.item[j].n, c.line });
	}
	r->clauses[row] = kept;
}

static void deny_row(struct resolution *r, size_t row, const struct line *l)
{
	if (is_own_exec(r->policy, &r->rows[row])) {
		if (r->policy->children)
			diag_error(r->diags, CAVE_CONTRADICTION, l->item->at,
				   "execve cannot be denied: childProcess lets programs be started");
		return;
	}
	if (l->item->kids) {
		cut_base_denials(r, row, l);
		add_line(r, row, l);
	} else {
		deny_whole(r, row, l);
	}
}

/* A call that is refused whatever its arguments: what is left beside it is how, for some of them. */
static void apply_denials(struct resolution *r)
{
	for (size_t i = 0; i < r->nrows; i++) {
		struct clauses kept = { .item = NULL };

		if (!r->denied[i].item)
			continue;
		for (size_t j = 0; j < r->clauses[i].n; j++)
			if (is_denial(r->clauses[i].item[j].result) && r->clauses[i].item[j].line)
				add_clause(r, &kept, r->clauses[i].item[j]);
		add_clause(r, &kept, (struct sys_clause){ r->denied[i].result, NULL, 0, r->denied[i].line });
		r->clauses[i] = kept;
	}
}

static void apply_row(struct resolution *r, size_t row, struct line *l)
{
	static const struct alternative always = { NULL, 0 };

	if (r->rows[row].nr[r->arch] < 0)
		return;
	l->when = (struct alternatives){ &always, 1 };
	if (l->item->kids && !condition_resolve(r->diags, r->arena, r->arch, r->rows[row].name, l->item->kids,
						false, &l->when))
		return;
	if (is_denial(l->result))
		deny_row(r, row, l);
	else
		allow_row(r, row, l);
}

static void apply_item(struct resolution *r, struct line *l)
{
	const struct syscall_row *row;

	if (l->item->text[0] != '@') {
		row = syscall_find(l->item->text);
		if (row)
			apply_row(r, (size_t)(row - r->rows), l);
		return;
	}
	for (size_t i = 0; i < r->nrows; i++)
		if (syscall_in_group(&r->rows[i], l->item->text + 1))
			apply_row(r, i, l);
}

static void apply_rule(struct resolution *r, const struct node *rule)
{
	struct line l = { .line = sources_line(r->diags->sources, rule->at) };

	if (!syscalls_result(r->diags, rule, &l.result))
		return;
	for (l.item = rule->kids; l.item; l.item = l.item->next)
		if (l.item->kind == N_SYS_ITEM)
			apply_item(r, &l);
}

/* --- the whole ---------------------------------------------------------------------------------- */

/* The rows of one architecture, by number. */
static void by_number(struct resolution *r, struct sys_rules *out)
{
	uint16_t row_of[SYS_NUMBER_MAX + 1] = { 0 }; /* 1 + row */
	struct sys_call *call = ARENA_ARRAY(r->arena, r->nrows, struct sys_call);
	size_t n = 0;

	for (size_t i = 0; i < r->nrows; i++)
		if (r->rows[i].nr[r->arch] >= 0)
			row_of[r->rows[i].nr[r->arch]] = (uint16_t)(i + 1);
	for (uint32_t nr = 0; nr <= SYS_NUMBER_MAX; nr++) {
		const struct clauses *c = &r->clauses[row_of[nr] - 1];
		const struct sys_clause *clause = c->item;
		size_t nclauses = c->n;

		if (!row_of[nr])
			continue;
		if (!c->normal)
			clause = clauses_normal(r->arena, clause, nclauses, &nclauses);
		call[n++] = (struct sys_call){ nr, r->rows[row_of[nr] - 1].name, clause, nclauses };
	}
	*out = (struct sys_rules){
		.arch = sys_arch_audit(r->arch),
		.arch_name = sys_arch_name(r->arch),
		.call = call,
		.ncalls = n,
		.refused = r->policy->bare ? r->policy->refused : (struct sys_result){ SYS_ERRNO, EPERM },
		.unknown = r->policy->bare ? r->policy->unknown : (struct sys_result){ SYS_ERRNO, ENOSYS },
	};
}

/* Room for what is known of each row: the same for every architecture, one after the other. */
static struct resolution resolution(struct diags *d, struct arena *a, const struct policy *p, uint32_t sets)
{
	struct resolution r = { .diags = d, .arena = a, .policy = p, .sets = sets };

	r.rows = syscall_table(&r.nrows);
	r.builtin = r.clauses = ARENA_ARRAY(a, r.nrows, struct clauses);
	if (p->nsys_rules || !p->base_syscalls)
		r.clauses = ARENA_ARRAY(a, r.nrows, struct clauses);
	if (p->nsys_rules) {
		r.may = ARENA_ARRAY(a, r.nrows, struct clauses);
		r.denied = ARENA_ARRAY(a, r.nrows, struct denial);
	}
	return r;
}

/* Forgets the architecture before. */
static void clear(struct resolution *r)
{
	memset(r->builtin, 0, r->nrows * sizeof *r->builtin);
	memset(r->clauses, 0, r->nrows * sizeof *r->clauses);
	if (r->may)
		memset(r->may, 0, r->nrows * sizeof *r->may);
	if (r->denied)
		memset(r->denied, 0, r->nrows * sizeof *r->denied);
}

static void resolve_on(struct resolution *r, const struct builtin_tables *tables, enum sys_arch arch,
		       struct sys_rules *out)
{
	r->arch = arch;
	start_with_base(r, tables);
	for (size_t i = 0; i < r->policy->nsys_rules; i++)
		apply_rule(r, r->policy->sys_rule[i]);
	if (r->denied)
		apply_denials(r);
	by_number(r, out);
}

bool syscalls_resolve_sets(struct diags *d, struct arena *a, const struct policy *p,
			   const struct builtin_tables *tables, uint32_t sets, enum sys_arch arch,
			   struct sys_rules *out)
{
	struct resolution r = resolution(d, a, p, sets);

	resolve_on(&r, tables, arch, out);
	return d->errors == 0;
}

static bool resolve_all(struct diags *d, struct arena *a, const struct policy *p, uint32_t sets,
			struct sys_rules out[SYS_ARCHES])
{
	struct resolution r = resolution(d, a, p, sets);

	for (unsigned arch = 0; arch < SYS_ARCHES && !d->errors; arch++)
		if (policy_has_arch(p, arch)) {
			resolve_on(&r, &builtin_tables, arch, &out[arch]);
			clear(&r);
		}
	return d->errors == 0;
}

bool syscalls_resolve(struct diags *d, struct arena *a, const struct policy *p, const struct net_set *set,
		      struct sys_rules out[SYS_ARCHES])
{
	return resolve_all(d, a, p, sets_of(p, set), out);
}

bool syscalls_resolve_around(struct diags *d, struct arena *a, const struct policy *p, const struct net_set *set,
			     const struct policy *inner, const struct net_set *inner_set,
			     struct sys_rules out[SYS_ARCHES])
{
	const uint32_t has = sets_of(inner, inner_set);
	const uint32_t moot = (has & BUILTIN_BIT(BUILTIN_UDP) ? 0 : BUILTIN_BIT(BUILTIN_UNICAST)) |
			      (has & BUILTIN_BIT(BUILTIN_EXECUTE) ? 0 : BUILTIN_BIT(BUILTIN_EXECUTE));

	return resolve_all(d, a, p, sets_of(p, set) & ~moot, out);
}

const struct filter_program *syscalls_ready_filter(const struct policy *p, const struct net_set *set,
						   enum sys_arch arch)
{
	const struct filter_program *f = &builtin_tables.filter[sets_of(p, set)][arch];

	return p->nsys_rules == 0 && p->base_syscalls && f->n ? f : NULL;
}
