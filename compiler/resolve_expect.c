/* SPDX-License-Identifier: MIT */
/* expect { … }: the lines are checked here, and kept until there are programs to run them on. */
#include <string.h>

#include "compiler/egress.h"
#include "compiler/resolve.h"
#include "compiler/syscalls.h"

static const struct span nowhere;

static bool is_word(const struct node *n, const char *word)
{
	return n && n->kind == N_WORD && strcmp(n->text, word) == 0;
}

static void expect_syscall(struct resolver *r, const struct node *n)
{
	unsigned before = r->diags->errors;

	syscalls_check_expectation(r->diags, r->policy, n);
	if (r->diags->errors == before)
		*ARENA_PUSH(r->arena, r->expectation, r->nexpectations, r->expectation_cap) = n;
}

static void expect_connect(struct resolver *r, const struct node *n)
{
	struct connect_expectation x;

	if (r->policy->bare)
		diag_error(r->diags, CAVE_SYNTAX, n->kids->at, "a bare filter has no network to expect something of");
	else if (egress_parse_expectation(r->diags, n, &x))
		*ARENA_PUSH(r->arena, r->connect, r->nconnects, r->connect_cap) = x;
}

void resolve_expect(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next) {
		if (strcmp(n->text, "allow") != 0 && strcmp(n->text, "deny") != 0)
			diag_note(r->diags,
				  diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "'%s' is no expectation", n->text),
				  nowhere, "write: allow …, or: deny …");
		else if (is_word(n->kids, "syscall"))
			expect_syscall(r, n);
		else if (is_word(n->kids, "connect"))
			expect_connect(r, n);
		else
			unsupported(r, n->kids->at, "expectations of anything but syscall and connect are");
	}
}
