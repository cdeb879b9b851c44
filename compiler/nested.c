/* SPDX-License-Identifier: MIT */
#include "compiler/nested.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/diff.h"

enum { SHOWN = 10 };

/* --- all of them --------------------------------------------------------------------------------- */

static void gather(struct arena *a, const struct compile *c, struct nested_list *to)
{
	for (size_t i = 0; i < c->nnested; i++) {
		*ARENA_PUSH(a, to->item, to->n, to->cap) = c->nested[i];
		gather(a, c->nested[i], to);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct compile *const *x = a, *const *y = b;

	return strcmp((*x)->policy.name, (*y)->policy.name);
}

struct nested_list nested_all(struct arena *a, const struct compile *c)
{
	struct nested_list all = { NULL, 0, 0 };

	gather(a, c, &all);
	if (all.n)
		qsort(all.item, all.n, sizeof *all.item, by_name);
	return all;
}

struct compile *nested_find(struct arena *a, const struct compile *c, const char *name)
{
	struct nested_list all = nested_all(a, c);

	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.item[i]->policy.name, name) == 0)
			return all.item[i];
	return NULL;
}

/* One name chooses one profile. */
static void check_names(struct compile *c)
{
	struct nested_list all = nested_all(&c->arena, c);

	for (size_t i = 0; i < all.n; i++) {
		const struct policy *p = &all.item[i]->policy;
		const char *before = i ? all.item[i - 1]->policy.name : "";

		if (strcmp(p->name, before) == 0 || strcmp(p->name, c->policy.name) == 0)
			diag_error(&all.item[i]->diags, CAVE_CONTRADICTION, p->at, "two profiles have the name '%s'", p->name);
	}
}

/* --- one ----------------------------------------------------------------------------------------- */

static void widens(struct compile *inner, const struct diff_entry *e)
{
	struct diags *d = &inner->diags;
	struct diag *error = diag_error(d, CAVE_WIDENS_PARENT, e->at.file ? e->at : inner->policy.at,
					"this profile grants more than the one around it: %s%s%s", e->kind->title,
					*e->text ? ", " : "", e->text);

	if (!e->at.file)
		diag_note(d, error, (struct span){ 0 }, "no line grants this: it is so by default, or comes with other grants");
	if (e->example)
		diag_note(d, error, (struct span){ 0 }, "for example: %s", e->example);
}

/* A call that is granted otherwise on each architecture is said once. */
static bool is_said(const struct diff_entries *found, size_t n)
{
	const char *call = json_string_value(json_object_get(found->item[n].detail, "call"));

	for (size_t i = 0; call && i < n; i++) {
		const char *before = json_string_value(json_object_get(found->item[i].detail, "call"));

		if (before && found->item[i].way == DIFF_GRANTED && strcmp(before, call) == 0)
			return true;
	}
	return false;
}

/* A nested profile lies within the one around it. */
static void check_within(struct compile *outer, struct compile *inner)
{
	struct diff d;
	size_t shown = 0;

	diff_policies(&inner->arena, outer, inner, &d);
	for (size_t i = 0; i < d.found.n && shown < SHOWN; i++) {
		const struct diff_entry *e = &d.found.item[i];

		/* Calls that no line grants come with what was said. */
		if (e->way != DIFF_GRANTED || is_said(&d.found, i) ||
		    (shown && !e->at.file && strcmp(e->kind->name, "syscall") == 0))
			continue;
		widens(inner, e);
		shown++;
	}
	diff_end(&d);
}

/* The text that it stands in, as its file number 1. */
static struct compile *begin_inner(struct compile *outer, const struct node *profile)
{
	const struct source_file *f = &outer->sources.file[profile->at.file];
	struct compile *inner = compile_begin();
	uint32_t file = sources_add(&inner->sources, f->name, f->text, f->size, (struct span){ 0 }, false);

	inner->sources.file[file].shown = f->shown;
	inner->around = outer;
	inner->operator = outer->operator;
	loader_again(&inner->loader, &inner->diags, &outer->loader);
	return inner;
}

static void resolve_one(struct compile *c, const struct resolve_options *o, const struct node *profile)
{
	struct compile *inner = begin_inner(c, profile);

	*ARENA_PUSH(&c->arena, c->nested, c->nnested, c->nested_cap) = inner;
	resolve_nested(&inner->diags, &inner->loader, o, profile, &inner->policy);
	compile_sets(inner, o);
	nested_resolve(inner, o);
	if (!c->diags.errors && !inner->diags.errors)
		check_within(c, inner);
}

/* However deep. */
static size_t count(const struct node *const *profile, size_t n)
{
	size_t all = n;

	for (size_t i = 0; i < n; i++)
		for (const struct node *kid = profile[i]->kids; kid; kid = kid->next)
			all += kid->kind == N_PROFILE ? count((const struct node *const[]){ kid }, 1) : 0;
	return all;
}

void nested_resolve(struct compile *c, const struct resolve_options *o)
{
	size_t n = c->around ? 0 : count(c->policy.nested, c->policy.nnested);

	if (n > ARTEFACT_NESTED_MAX) {
		diag_error(&c->diags, CAVE_UNSUPPORTED, c->policy.at, "%zu profiles are nested in this one, more than %d", n,
			   ARTEFACT_NESTED_MAX);
		return;
	}
	for (size_t i = 0; i < c->policy.nnested; i++)
		resolve_one(c, o, c->policy.nested[i]);
	if (!c->around)
		check_names(c);
}
