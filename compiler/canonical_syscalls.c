/* SPDX-License-Identifier: MIT */
/*
 * The syscalls block of the canonical text: one line for each call or group and each way of deciding it, with the
 * condition in normal form.  A condition that differs between architectures keeps the names of its constants.
 */
#include <errno.h>
#include <stdlib.h>

#include "compiler/canonical.h"
#include "compiler/syscalls.h"
#include "compiler/syscalls_clauses.h"
#include "compiler/syscalls_errno.h"

struct sys_line {
	const char *verb, *name;
	const char *manner; /* " with kill", … */
	const struct node *condition; /* NULL: always */
};

static int by_line(const void *a, const void *b)
{
	const struct sys_line *x = a, *y = b;
	int order = strcmp(x->verb, y->verb);

	order = order ? order : strcmp(x->name, y->name);
	order = order ? order : strcmp(x->manner, y->manner);
	return order ? order : (x->condition != NULL) - (y->condition != NULL);
}

static bool same_key(const struct sys_line *x, const struct sys_line *y)
{
	return strcmp(x->verb, y->verb) == 0 && strcmp(x->name, y->name) == 0 && strcmp(x->manner, y->manner) == 0;
}

static const char *manner_of(struct arena *a, struct sys_result result)
{
	switch (result.action) {
	case SYS_ALLOW_LOGGED: return " logged";
	case SYS_KILL: return " with kill";
	case SYS_ERRNO:
		return result.error == EPERM ? "" : arena_printf(a, " with errno %s", errno_name(result.error));
	default: return "";
	}
}

/* --- conditions ------------------------------------------------------------------------------------ */

static void put_condition(struct buffer *b, const struct node *n);

static void put_pair(struct buffer *b, const struct node *n, const char *operator, bool parentheses)
{
	const char *open = parentheses ? "(" : "", *close = parentheses ? ")" : "";

	buffer_printf(b, "%s", open);
	put_condition(b, n->kids);
	buffer_printf(b, "%s %s %s", close, operator, open);
	put_condition(b, n->kids->next);
	buffer_printf(b, "%s", close);
}

static void put_in(struct buffer *b, const struct node *n)
{
	put_condition(b, n->kids);
	buffer_printf(b, " in { ");
	for (const struct node *v = n->kids->next; v; v = v->next) {
		put_condition(b, v);
		buffer_printf(b, v->next ? ", " : " }");
	}
}

static void put_mask(struct buffer *b, const struct node *n)
{
	bool simple = n->kids->next->kind == N_WORD;

	put_condition(b, n->kids);
	buffer_printf(b, simple ? " & " : " & (");
	put_condition(b, n->kids->next);
	buffer_printf(b, simple ? "" : ")");
}

/* As it was written. */
static void put_condition(struct buffer *b, const struct node *n)
{
	switch (n->kind) {
	case N_OR: put_pair(b, n, "||", true); break;
	case N_AND: put_pair(b, n, "&&", true); break;
	case N_COMPARE: put_pair(b, n, n->text, false); break;
	case N_UNION: put_pair(b, n, "|", false); break;
	case N_MASK: put_mask(b, n); break;
	case N_IN: put_in(b, n); break;
	case N_TRUTH: put_condition(b, n->kids); break;
	case N_NOT:
		buffer_printf(b, "!(");
		put_condition(b, n->kids);
		buffer_printf(b, ")");
		break;
	default: buffer_printf(b, "%s", n->text); break;
	}
}

/* What `n` lines with one key say together on one architecture. */
static struct alternatives together(struct arena *a, enum sys_arch arch, const struct sys_line *line, size_t n)
{
	struct alternative *item = NULL;
	size_t count = 0, cap = 0;
	struct sources sources;
	struct diags none;

	/* They were resolved before: there is nothing to report. */
	sources_init(&sources, a);
	diags_init(&none, &sources);
	for (size_t i = 0; i < n; i++) {
		struct alternatives alt = { NULL, 0 };

		condition_resolve(&none, a, arch, line->name, line[i].condition, false, &alt);
		for (size_t j = 0; j < alt.n; j++)
			*ARENA_PUSH(a, item, count, cap) = alt.item[j];
	}
	return alternatives_normal(a, (struct alternatives){ item, count });
}

/* Puts *out to the normal form if it is the same on all architectures that have the call. */
static bool one_form(struct arena *a, const struct sys_line *line, size_t n, struct alternatives *out)
{
	const struct syscall_row *row = syscall_find(line->name);
	struct alternatives first = { NULL, 0 };
	bool have = false;

	for (unsigned arch = 0; arch < SYS_ARCHES; arch++) {
		struct alternatives here;

		if (row->nr[arch] < 0)
			continue;
		here = together(a, arch, line, n);
		if (have && !alternatives_equal(first, here))
			return false;
		first = here;
		have = true;
	}
	*out = first;
	return have;
}

static void put_conditions(struct buffer *b, const struct sys_line *line, size_t n)
{
	struct alternatives alt;

	if (one_form(b->arena, line, n, &alt)) {
		if (alt.n == 1 && alt.item[0].n == 0)
			return;
		buffer_printf(b, "(");
		alternatives_print(b, syscall_args(line->name), alt);
	} else {
		buffer_printf(b, "(");
		for (size_t i = 0; i < n; i++) {
			buffer_printf(b, i ? " || (" : n > 1 ? "(" : "");
			put_condition(b, line[i].condition);
			buffer_printf(b, n > 1 ? ")" : "");
		}
	}
	buffer_printf(b, ")");
}

/* --- lines ------------------------------------------------------------------------------------------- */

static size_t gather(struct arena *a, const struct policy *p, struct sys_line **out)
{
	struct sys_line *line = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < p->nsys_rules; i++) {
		const struct node *rule = p->sys_rule[i];
		struct sys_result result = { SYS_ALLOW, 0 };

		syscalls_result(NULL, rule, &result);
		for (const struct node *item = rule->kids; item; item = item->next)
			if (item->kind == N_SYS_ITEM)
				*ARENA_PUSH(a, line, n, cap) = (struct sys_line){ rule->text, item->text,
										  manner_of(a, result), item->kids };
	}
	*out = line;
	return n;
}

void canonical_syscalls(const struct policy *p, struct buffer *b)
{
	struct sys_line *line;
	size_t n = gather(b->arena, p, &line), same;

	if (n)
		qsort(line, n, sizeof *line, by_line);
	buffer_printf(b, "    syscalls {\n        base %s\n", p->base_syscalls ? "default" : "none");
	for (size_t i = 0; i < n; i += same) {
		for (same = 1; i + same < n && same_key(&line[i], &line[i + same]);)
			same++;
		buffer_printf(b, "        %s %s", line[i].verb, line[i].name);
		if (line[i].condition) /* one that is always comes first */
			put_conditions(b, &line[i], same);
		buffer_printf(b, "%s\n", line[i].manner);
	}
	buffer_printf(b, "    }\n");
}
