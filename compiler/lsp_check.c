/* SPDX-License-Identifier: MIT */
/* A document to diagnostics: what a compile says of it, and if that is nothing, what lint says. */
#include <string.h>

#include "compiler/lint.h"
#include "compiler/lsp.h"
#include "compiler/nested.h"
#include "compiler/parse.h"
#include "compiler/visible.h"

enum { MAX_DIAGNOSTICS = 200 };

/* Of the protocol. */
enum { LSP_ERROR = 1, LSP_WARNING, LSP_INFORMATION };

static bool is_json(const struct lsp_document *d)
{
	return d->text[strspn(d->text, " \t\r\n")] == '{';
}

static uint32_t read_text(struct compile *c, const struct lsp_document *d, const struct review_options *o)
{
	if (d->path && loader_init(&c->loader, &c->diags, d->path, o->root))
		return loader_profile_text(&c->loader, d->path, d->text, d->size);
	/* Without a root an include is refused. */
	return sources_add(&c->sources, "untitled", arena_strndup(&c->arena, d->text, d->size), d->size,
			   (struct span){ 0 }, false);
}

/* The syntax alone, with its errors in *to. */
static struct node *parse(struct diags *to, uint32_t file)
{
	struct node *tree = NULL;

	check_visible(to, file);
	parse_statements(to, file, &tree);
	return tree;
}

static bool is_fragment(const struct node *tree)
{
	for (const struct node *n = tree; n; n = n->next)
		if (n->kind == N_PROFILE || n->kind == N_FILTER)
			return false;
	return tree != NULL;
}

struct lsp_compiled lsp_compile(const struct lsp_document *d, const struct review_options *o, bool whole)
{
	struct lsp_compiled x = { .compile = compile_begin(), .name = d->path ? d->path : "untitled" };
	struct compile *c = x.compile;
	struct resolve_options options = { 0 };
	struct diags syntax;
	uint32_t file = read_text(c, d, o);

	x.fault = compile_rules(c, o->config, o->capabilities, &options);
	compile_arch(NULL, &options);
	if (x.fault || !file)
		return x;
	if (!is_json(d)) {
		diags_init(&syntax, &c->sources);
		x.tree = parse(&syntax, file);
		x.fragment = is_fragment(x.tree);
	}
	if (x.fragment)
		parse(&c->diags, file);
	else if (whole)
		compile_whole(c, &options, file, &x.fault);
	return x;
}

/* --- diagnostics --------------------------------------------------------------------------------- */

/* Where to show something about a place: in the document; what stands in an included file, at the include. */
static json_t *range_of(const struct lsp_document *d, const struct sources *s, struct span at)
{
	size_t mark;

	while (at.file > 1)
		at = s->file[at.file].included_from;
	if (!at.file)
		return lsp_range(d->text, d->size, 0, 0);
	mark = d->size - s->file[1].size;
	return lsp_range(d->text, d->size, at.begin + mark, at.end + mark);
}

static bool is_there(const json_t *all, const json_t *one)
{
	for (size_t i = 0; i < json_array_size(all); i++)
		if (json_equal(json_array_get(all, i), one))
			return true;
	return false;
}

/* What is said twice is shown once. */
static void add(json_t *all, json_t *range, int severity, const char *code, const char *message)
{
	json_t *one = json_pack("{s:o, s:i, s:s, s:o}", "range", range, "severity", severity, "source", "cave",
				"message", lsp_string(message));
	if (code)
		json_object_set_new(one, "code", json_string(code));
	if (json_array_size(all) < MAX_DIAGNOSTICS && !is_there(all, one))
		json_array_append(all, one);
	json_decref(one);
}

/* "part.cave:3:5: ", of a file that was included; nothing of the document itself. */
static const char *elsewhere(struct arena *a, const struct sources *s, struct span at)
{
	const struct source_file *f = &s->file[at.file];
	unsigned line, column;

	if (at.file < 2)
		return "";
	source_position(f, at.begin, &line, &column);
	return arena_printf(a, "%s:%u:%u: ", f->shown, line, column);
}

static void add_errors(json_t *all, const struct lsp_document *d, const struct compile *c)
{
	struct arena *a = c->sources.arena;

	for (const struct diag *i = c->diags.first; i; i = i->next) {
		const char *text = arena_printf(a, "%s%s", elsewhere(a, &c->sources, i->at), i->text);

		for (const struct diag_note *n = i->notes; n; n = n->next)
			text = arena_printf(a, "%s\n%snote: %s", text, elsewhere(a, &c->sources, n->at), n->text);
		add(all, range_of(d, &c->sources, i->at), i->code ? LSP_ERROR : LSP_INFORMATION,
		    i->code ? cave_code_name(i->code) : NULL, text);
	}
	for (size_t i = 0; i < c->nnested; i++)
		add_errors(all, d, c->nested[i]);
}

static void add_findings(json_t *all, const struct lsp_document *d, const struct lsp_compiled *x)
{
	static const int severity[SEVERITIES] = { LSP_INFORMATION, LSP_WARNING, LSP_ERROR };
	struct compile *c = x->compile;
	struct lint l = { .arena = &c->arena, .compile = c, .path = x->name };

	lint_policy(&l);
	for (size_t i = 0; i < l.n; i++) {
		const struct finding *f = &l.item[i];

		if (f->because)
			continue;
		add(all, range_of(d, &c->sources, f->at), severity[f->severity],
		    arena_printf(&c->arena, "CAVE%u", f->rule->id),
		    arena_printf(&c->arena, "%s%s%s%s", elsewhere(&c->arena, &c->sources, f->at), f->text,
				 f->instead ? "\ninstead: " : "", f->instead ? f->instead : ""));
	}
}

json_t *lsp_diagnostics(const struct lsp_document *d, const struct review_options *o)
{
	struct lsp_compiled x = lsp_compile(d, o, true);
	json_t *all = json_array();

	if (x.fault)
		add(all, lsp_range(d->text, d->size, 0, 0), LSP_ERROR, NULL, x.fault);
	add_errors(all, d, x.compile);
	if (!x.fault && !x.fragment && !compile_errors(x.compile))
		add_findings(all, d, &x);
	compile_end(x.compile);
	return all;
}
