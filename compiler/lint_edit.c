/* SPDX-License-Identifier: MIT */
/* What a fix does to the text, by the syntax tree: statements and operands are taken away, or statements added. */
#include <string.h>

#include "compiler/ast.h"
#include "compiler/fmt.h"
#include "compiler/lint.h"
#include "compiler/parse.h"

static const struct lint_fix no_fix;

/* Fixes are made in the profile's own file, which is number 1. */
static const struct node *tree_of(struct lint *l)
{
	struct node *tree = NULL;
	struct diags none;

	if (l->tree)
		return l->tree;
	diags_init(&none, &l->compile->sources);
	if (parse_statements(&none, 1, &tree))
		l->tree = tree;
	return l->tree;
}

static bool holds(struct span outer, struct span inner)
{
	return outer.begin <= inner.begin && inner.end <= outer.end;
}

static bool is_statement(const struct node *n)
{
	switch (n->kind) {
	case N_CREDENTIALS:
	case N_NET_RULE:
	case N_ENV_PASS:
	case N_ENV_SET:
	case N_FILE_RULE:
	case N_SETTING:
	case N_SYS_RULE: return true;
	default: return false;
	}
}

static const struct node *statement_of(const struct node *n, struct span at)
{
	for (; n; n = n->next)
		if (holds(n->at, at))
			return is_statement(n) ? n : statement_of(n->kids, at);
	return NULL;
}

static const struct node *statement_at(struct lint *l, struct span at)
{
	return at.file == 1 ? statement_of(tree_of(l), at) : NULL;
}

static bool is_operand(const struct node *n)
{
	return n->kind != N_WITH && n->kind != N_LOGGED && n->kind != N_EXCEPT && n->kind != N_PORT && n->kind != N_WITHIN;
}

/* The list that the place is an element of, as its first element; NULL if it is the only one, or in none. */
static const struct node *list_of(const struct node *statement, struct span at)
{
	const struct node *list = statement->kids;

	for (const struct node *n = statement->kids; statement->kind == N_NET_RULE; n = n->next) {
		if (!n)
			return NULL;
		if (n->kind == N_GROUP && holds(n->at, at)) {
			list = n->kids;
			break;
		}
	}
	return list && list->next && is_operand(list->next) ? list : NULL;
}

static const char *text_of(const struct lint *l)
{
	return l->compile->sources.file[1].text;
}

/* Between two elements stands nothing but a comma and blanks. */
static bool is_bare(const struct lint *l, uint32_t begin, uint32_t end)
{
	return !memchr(text_of(l) + begin, '#', end - begin);
}

struct lint_fix lint_remove_item(struct lint *l, struct span at, bool safe)
{
	const struct node *statement = statement_at(l, at), *before = NULL;
	const struct node *item = statement ? list_of(statement, at) : NULL;
	struct lint_fix fix = { .at = at, .text = "", .safe = safe, .what = "take it out of the line" };

	if (!statement)
		return no_fix;
	if (!item)
		return lint_remove(l, statement->at, safe);
	for (; item && !holds(item->at, at); item = item->next)
		before = item;
	if (!item)
		return no_fix;
	if (item->next && is_operand(item->next) && is_bare(l, item->at.end, item->next->at.begin))
		fix.at = (struct span){ 1, item->at.begin, item->next->at.begin };
	else if (before && is_bare(l, before->at.end, item->at.begin))
		fix.at = (struct span){ 1, before->at.end, item->at.end };
	else
		return no_fix;
	return fix;
}

struct lint_fix lint_append(struct lint *l, struct span at, const char *text, const char *what)
{
	const struct node *statement = statement_at(l, at);

	if (!statement)
		return no_fix;
	return (struct lint_fix){ .at = { 1, statement->at.end, statement->at.end },
				  .text = arena_printf(l->arena, "; %s", text), .what = what };
}

struct lint_fix lint_replace(struct lint *l, struct span at, const char *text, const char *what)
{
	const struct node *statement = statement_at(l, at);

	return statement ? (struct lint_fix){ .at = statement->at, .text = text, .what = what } : no_fix;
}

/* The first statement of the kind within a profile that is named at `at`. */
static const struct node *kind_within(const struct node *n, struct span at, enum node_kind kind)
{
	const struct node *found = NULL;

	for (; n && !found; n = n->next) {
		if (n->kind != N_PROFILE)
			continue;
		if (n->name.begin != at.begin) {
			found = kind_within(n->kids, at, kind);
			continue;
		}
		for (found = n->kids; found && found->kind != kind; found = found->next)
			;
	}
	return found;
}

struct lint_fix lint_remove_kind(struct lint *l, struct span profile, int kind)
{
	const struct node *found = profile.file == 1 ? kind_within(tree_of(l), profile, (enum node_kind)kind) : NULL;

	return found ? lint_remove(l, found->at, false) : no_fix;
}

/* The comment, and its line if nothing else stands on it. */
struct lint_fix lint_remove_comment(const struct lint *l, struct span at)
{
	const char *text = text_of(l);
	uint32_t begin = at.begin;
	bool alone;

	if (at.file != 1)
		return no_fix;
	while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t'))
		begin--;
	alone = begin == 0 || text[begin - 1] == '\n';
	return (struct lint_fix){ { 1, begin, alone && text[at.end] == '\n' ? at.end + 1 : at.end }, "", true,
				  "remove the comment" };
}
