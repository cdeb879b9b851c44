/* SPDX-License-Identifier: MIT */
/* syscalls { … }: the lines are checked here and resolved to clauses together with the base set. */
#include <string.h>

#include "compiler/resolve.h"
#include "compiler/syscalls.h"

static const struct span nowhere;
static const char *const sys_statements[] = { "allow", "deny", "base", NULL };

static void resolve_base(struct resolver *r, const struct node *n)
{
	if (strcmp(n->text, "none") == 0 || strcmp(n->text, "default") == 0)
		scalar_set(r, &r->base_syscalls, "base", n->text, n->name);
	else
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "'%s' is no base of system calls", n->text),
			  nowhere, "they are: base default (the default), base none");
}

void resolve_syscalls(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next) {
		if (n->kind == N_STRANGER) {
			stranger(r, n, "syscalls", sys_statements);
		} else if (n->kind == N_BASE) {
			resolve_base(r, n);
		} else {
			syscalls_check(r->diags, r->policy, n);
			*ARENA_PUSH(r->arena, r->sys_rule, r->nsys_rules, r->sys_cap) = n;
		}
	}
}
