/* SPDX-License-Identifier: MIT */
/* What editors ask about a place: hover, definition; and formatting. */
#include <stdlib.h>
#include <string.h>

#include "compiler/explain.h"
#include "compiler/fmt.h"
#include "compiler/lsp.h"
#include "compiler/nested.h"

/* What a reader would point at: a statement, not its block or an operand. */
static bool is_statement(enum node_kind kind)
{
	return (kind >= N_PROFILE && kind <= N_USE) || kind == N_NET_RULE || kind == N_ENV_PASS || kind == N_ENV_SET ||
	       kind == N_FILE_RULE || kind == N_BASE || kind == N_SETTING || kind == N_SYS_RULE || kind == N_DEFAULT ||
	       kind == N_UNKNOWN || kind == N_EXPECTATION;
}

/* The innermost statement at a place, and the innermost profile around it. */
struct place {
	const struct node *statement, *profile, *path; /* path: of an include or a list */
};

static void find(const struct node *n, size_t offset, struct place *out)
{
	for (; n; n = n->next) {
		if (n->at.file != 1 || offset < n->at.begin || offset > n->at.end)
			continue;
		if (is_statement(n->kind))
			out->statement = n;
		if (n->kind == N_PROFILE)
			out->profile = n;
		if (n->kind == N_INCLUDE || n->kind == N_LIST_FILE)
			out->path = n;
		find(n->kids, offset, out);
	}
}

static size_t mark_of(const struct lsp_document *d, const struct compile *c)
{
	return d->size - c->sources.file[1].size;
}

static bool look(const struct lsp_document *d, const struct lsp_compiled *x, size_t offset, struct place *out)
{
	size_t mark = x->tree ? mark_of(d, x->compile) : 0;

	*out = (struct place){ NULL, NULL, NULL };
	if (offset < mark)
		return false;
	find(x->tree, offset - mark, out);
	return out->statement != NULL;
}

/* --- hover --------------------------------------------------------------------------------------- */

static struct compile *profile_at(const struct lsp_compiled *x, const struct place *p)
{
	struct compile *c = x->compile;

	if (!p->profile || strcmp(p->profile->text, c->policy.name) == 0)
		return c;
	return nested_find(&c->arena, c, p->profile->text);
}

/* A line of `expect` is a question. */
static bool ask(struct compile *c, const struct lsp_document *d, const struct node *expectation, FILE *to)
{
	struct explanation x = { .arena = &c->arena, .compile = c };
	char **word = NULL, *slash;
	size_t n = 0, cap = 0;

	if (d->path && (slash = strrchr(d->path, '/')) != NULL)
		x.folder = arena_strndup(&c->arena, d->path, (size_t)(slash - d->path));
	x.last = &x.first;
	for (const struct node *k = expectation->kids; k; k = k->next)
		*ARENA_PUSH(&c->arena, word, n, cap) =
			k->kind == N_SYS_ITEM && k->kids ?
				arena_strndup(&c->arena, c->sources.file[1].text + k->at.begin, k->at.end - k->at.begin) :
				arena_strdup(&c->arena, k->text);
	if (!n || !explain_question(&x, (int)n, word))
		return false;
	explain_answers(&x, to);
	return true;
}

static void tell(struct compile *c, const struct lsp_document *d, const struct place *p, FILE *to)
{
	const struct node *s = p->statement;

	if (s->kind == N_EXPECTATION && ask(c, d, s, to))
		return;
	if (s->kind != N_PROFILE && s->kind != N_FILTER) {
		if (explain_statement(c, s->at, to))
			return;
		if (s->kind == N_NET_RULE || s->kind == N_FILE_RULE || s->kind == N_SYS_RULE)
			fputs(strncmp(s->text, "deny", 4) == 0 ? "A denial wins over every line that grants the same.\n" :
							     "This line is counted together with others.\n",
			      to);
	}
	explain_summary(c, to);
}

json_t *lsp_hover(const struct lsp_document *d, const struct review_options *o, size_t offset)
{
	struct lsp_compiled x = lsp_compile(d, o, true);
	struct compile *c = NULL;
	json_t *result = NULL;
	struct place p;
	char *text = NULL;
	size_t size = 0;
	FILE *to;

	if (!x.fault && !x.fragment && !compile_errors(x.compile) && look(d, &x, offset, &p))
		c = profile_at(&x, &p);
	to = c ? open_memstream(&text, &size) : NULL;
	if (to) {
		size_t mark = mark_of(d, x.compile);

		tell(c, d, &p, to);
		fclose(to);
		result = json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind", "plaintext", "value", lsp_string(text),
				   "range",
				   lsp_range(d->text, d->size, p.statement->at.begin + mark, p.statement->at.end + mark));
	}
	free(text);
	compile_end(x.compile);
	return result ? result : json_null();
}

/* --- definition ---------------------------------------------------------------------------------- */

json_t *lsp_definition(const struct lsp_document *d, const struct review_options *o, size_t offset)
{
	struct lsp_compiled x = lsp_compile(d, o, false);
	struct arena *a = &x.compile->arena;
	json_t *result = NULL;
	struct place p;

	if (d->path && x.tree && (look(d, &x, offset, &p) || p.path) && p.path && p.path->text) {
		const char *slash = strrchr(d->path, '/');
		char *found = realpath(*p.path->text == '/' ? p.path->text :
				       arena_printf(a, "%.*s/%s", (int)(slash - d->path), d->path, p.path->text), NULL);

		if (found)
			result = json_pack("{s:s, s:o}", "uri", lsp_uri(a, found), "range", lsp_range("", 0, 0, 0));
		free(found);
	}
	compile_end(x.compile);
	return result ? result : json_null();
}

/* --- formatting ---------------------------------------------------------------------------------- */

json_t *lsp_formatting(const struct lsp_document *d, const char **error)
{
	struct arena a = { NULL };
	struct buffer out;
	json_t *result = NULL;
	char *said = NULL;
	size_t size = 0;
	FILE *messages = open_memstream(&said, &size); /* they are diagnostics already */

	if (!messages)
		return NULL;
	if (d->text[strspn(d->text, " \t\r\n")] == '{')
		*error = "a JSON profile is laid out by other tools";
	else if (!fmt_text(&a, d->path ? d->path : "untitled", d->text, d->size, messages, &out))
		*error = "a file with an error in its syntax is left alone";
	else if (out.n == d->size && memcmp(out.data, d->text, out.n) == 0)
		result = json_array();
	else
		result = json_pack("[{s:o, s:s%}]", "range", lsp_range(d->text, d->size, 0, d->size), "newText", out.data,
				   out.n);
	fclose(messages);
	free(said);
	arena_free(&a);
	return result;
}
