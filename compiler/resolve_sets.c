/* SPDX-License-Identifier: MIT */
/* use <NAME>: the statements of a built-in set, which stand in place of the line. */
#include <string.h>

#include "compiler/parse.h"
#include "compiler/resolve.h"
#include "compiler/sets.h"

static const struct span nowhere;

void refuse_set(struct resolver *r, const struct node *n, const struct builtin_set *set)
{
	const char *meant = set_nearest(n->text);
	struct diag *e;

	if (set && set->hosts) {
		e = diag_error(r->diags, CAVE_VALUE, n->at, "%s is a set of hosts", set->shown);
		diag_note(r->diags, e, nowhere, "write: network { allow tcp %s port 443 }", set->shown);
		return;
	}
	if (set) {
		e = diag_error(r->diags, CAVE_VALUE, n->at, "%s is a set of files and programs, not of hosts", set->shown);
		diag_note(r->diags, e, nowhere, "write: use %s", set->shown);
		return;
	}
	e = diag_error(r->diags, CAVE_UNKNOWN_NAME, n->at, "there is no set <%s>", n->text);
	if (meant)
		diag_note(r->diags, e, nowhere, "did you mean <%s>?", meant);
	diag_note(r->diags, e, nowhere, "cavec list names them");
}

static bool is_used(const struct resolver *r, const char *name)
{
	for (size_t i = 0; i < r->nsets; i++)
		if (strcmp(r->set[i], name) == 0)
			return true;
	return false;
}

/* What it says is marked as its own: the profile's word on the same thing comes first. */
static void use_set(struct resolver *r, const struct node *n, const struct builtin_set *set)
{
	const char *around = r->in_set;
	struct node *statements = NULL;
	uint32_t file;

	if (is_used(r, set->name))
		return;
	*ARENA_PUSH(r->arena, r->set, r->nsets, r->set_cap) = set->name;
	file = sources_add(r->diags->sources, set->shown, set->text, (size_t)(set->end - set->text), n->at, true);
	if (!parse_statements(r->diags, file, &statements))
		return;
	r->in_set = set->name;
	resolve_statements(r, statements);
	r->in_set = around;
}

void resolve_use(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next) {
		const struct builtin_set *set = set_find(n->text);

		if (set && !set->hosts)
			use_set(r, n, set);
		else
			refuse_set(r, n, set);
	}
}
