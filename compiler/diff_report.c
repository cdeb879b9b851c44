/* SPDX-License-Identifier: MIT */
/* A diff as text for people, as Markdown and as JSON. */
#include <string.h>

#include "compiler/diff.h"
#include "compiler/visible.h"

static const struct way {
	const char *title, *outside, *sign, *colour, *name;
} ways[DIFF_WAYS] = {
	[DIFF_GRANTED] = { "newly granted", "outside of the maximum", "+", "\033[31m", "granted" },
	[DIFF_REFUSED] = { "newly refused", "granted by the maximum, not used", "-", "\033[32m", "refused" },
	[DIFF_CHANGED] = { "decided in another way", "decided in another way", "~", "\033[33m", "changed" },
};

static const char *title_of(enum diff_way way, const struct diff_names *names)
{
	return names->within ? ways[way].outside : ways[way].title;
}

/* What has no differences of reach at all. */
static bool is_equal(const struct diff *d)
{
	return d->found.n == 0;
}

/* What is within a maximum is not told what it might have. */
static bool is_shown(enum diff_way way, const struct diff_names *names)
{
	return !names->within || way == DIFF_GRANTED;
}

/* --- text ---------------------------------------------------------------------------------------- */

static void put(FILE *to, const char *s)
{
	visible_put(s, strlen(s), to);
}

static void print_entry(const struct diff_entry *e, enum diff_way way, bool colour, const char *example, FILE *to)
{
	const char *file;
	unsigned line = diff_line(e, &file);

	fprintf(to, "    %s%s ", colour ? ways[way].colour : "", ways[way].sign);
	put(to, e->text);
	fputs(colour ? "\033[0m" : "", to);
	if (e->amount) {
		fputs("  # ", to);
		put(to, e->amount);
	}
	if (e->profile)
		fprintf(to, "%sprofile %s", e->amount ? ", " : "  # ", e->profile);
	if (line) {
		fputs(e->amount || e->profile ? ", " : "  # ", to);
		put(to, file);
		fprintf(to, ":%u", line);
	}
	fputc('\n', to);
	if (example && e->example) {
		fprintf(to, "        %s: ", example);
		put(to, e->example);
		fputc('\n', to);
	}
}

static void print_way(const struct diff *d, const struct diff_names *names, enum diff_way way, bool colour, FILE *to)
{
	const struct diff_kind *kind = NULL;

	if (!diff_count(d, way) || !is_shown(way, names))
		return;
	fprintf(to, "%s%s%s\n", colour ? "\033[1m" : "", title_of(way, names), colour ? "\033[0m" : "");
	for (size_t i = 0; i < d->found.n; i++) {
		const struct diff_entry *e = &d->found.item[i];

		if (e->way != way)
			continue;
		if (e->kind != kind)
			fprintf(to, "  %s\n", e->kind->title);
		kind = e->kind;
		print_entry(e, way, colour, way != DIFF_GRANTED ? NULL : names->within ? "counterexample" : "example", to);
	}
}

static const char *summary(const struct diff *d, const struct diff_names *names)
{
	if (names->within)
		return diff_count(d, DIFF_GRANTED) ? NULL : "within the maximum";
	if (is_equal(d))
		return "equal reach";
	return diff_count(d, DIFF_GRANTED) ? NULL : "nothing is newly granted";
}

void diff_print(const struct diff *d, const struct diff_names *names, bool colour, FILE *to)
{
	const char *all = summary(d, names);

	for (enum diff_way way = 0; way < DIFF_WAYS; way++)
		print_way(d, names, way, colour, to);
	if (d->held.n && !names->within) {
		fprintf(to, "%sbecomes reachable while a credential is held%s\n", colour ? "\033[1m" : "",
			colour ? "\033[0m" : "");
		for (size_t i = 0; i < d->held.n; i++)
			print_entry(&d->held.item[i], DIFF_GRANTED, colour, NULL, to);
	}
	if (all)
		fprintf(to, "%s\n", all);
}

/* --- Markdown ------------------------------------------------------------------------------------ */

/* What is no letter of ASCII and no digit, as a reference: it means nothing to Markdown then. */
static void put_referred(FILE *to, const char *s)
{
	fputs("<code>", to);
	for (; *s; s++) {
		if ((*s >= '!' && *s < '0') || (*s > '9' && *s < 'A') || (*s > 'Z' && *s < 'a') || (*s > 'z' && *s < 0x7f))
			fprintf(to, "&#%d;", *s);
		else
			fputc(*s, to);
	}
	fputs("</code>", to);
}

/*
 * A code span; in a table the bar, which would end the cell, has a backslash before it.  Where the text has a backtick,
 * which would end the span, or a backslash, which a bar may follow, it is no span.
 */
static void put_code(FILE *to, const char *s, bool table)
{
	struct arena a = { NULL };
	const char *shown = visible_text(&a, s);

	if (strpbrk(shown, "`\\") || (!table && strchr(shown, '|'))) {
		put_referred(to, shown);
	} else {
		fputc('`', to);
		for (const char *c = shown; *c; c++)
			fputs(*c == '|' ? "\\|" : (char[2]){ *c, '\0' }, to);
		fputc('`', to);
	}
	arena_free(&a);
}

static void markdown_row(const struct diff_entry *e, const char *first, FILE *to)
{
	const char *file;
	unsigned line = diff_line(e, &file);

	fprintf(to, "| %s | ", first);
	put_code(to, e->text, true);
	fputs(" | ", to);
	if (e->amount)
		put_code(to, e->amount, true);
	if (e->profile)
		fprintf(to, "%sprofile `%s`", e->amount ? ", " : "", e->profile);
	fputs(" | ", to);
	if (line)
		put_code(to, arena_printf(e->side->sources.arena, "%s:%u", file, line), true);
	fputs(" |\n", to);
}

static void markdown_head(const char *title, const char *first, FILE *to)
{
	fprintf(to, "\n#### %c%s\n\n| %s | | how much | line |\n| --- | --- | --- | --- |\n", title[0] - 'a' + 'A',
		title + 1, first);
}

static void markdown_way(const struct diff *d, const struct diff_names *names, enum diff_way way, FILE *to)
{
	if (!diff_count(d, way) || !is_shown(way, names))
		return;
	markdown_head(title_of(way, names), "kind", to);
	for (size_t i = 0; i < d->found.n; i++)
		if (d->found.item[i].way == way)
			markdown_row(&d->found.item[i], d->found.item[i].kind->title, to);
}

void diff_markdown(const struct diff *d, const struct diff_names *names, FILE *to)
{
	const char *all = summary(d, names);

	fputs("### Reach of ", to);
	put_code(to, names->new, false);
	fputs(names->within ? " within " : " compared with ", to);
	put_code(to, names->old, false);
	fputc('\n', to);
	if (all)
		fprintf(to, "\n**%c%s.**\n", all[0] - 'a' + 'A', all + 1);
	for (enum diff_way way = 0; way < DIFF_WAYS; way++)
		markdown_way(d, names, way, to);
	if (d->held.n && !names->within) {
		markdown_head("becomes reachable while a credential is held", "kind", to);
		for (size_t i = 0; i < d->held.n; i++)
			markdown_row(&d->held.item[i], d->held.item[i].kind->title, to);
	}
}

/* --- JSON ---------------------------------------------------------------------------------------- */

/* Paths need not be UTF-8, which JSON must be: then they are left to the human forms. */
static json_t *text_json(const char *s)
{
	json_t *text = s ? json_string(s) : json_null();

	return text ? text : json_string("(not UTF-8)");
}

static json_t *entry_json(const struct diff_entry *e)
{
	json_t *o = json_object();
	const char *file;
	unsigned line = diff_line(e, &file);

	json_object_set_new(o, "kind", json_string(e->kind->name));
	json_object_set_new(o, "text", text_json(e->text));
	json_object_set_new(o, "amount", text_json(e->amount));
	json_object_set_new(o, "profile", text_json(e->profile));
	json_object_set_new(o, "example", text_json(e->example));
	json_object_set_new(o, "file", line ? text_json(file) : json_null());
	json_object_set_new(o, "line", line ? json_integer(line) : json_null());
	json_object_update_missing(o, e->detail);
	return o;
}

static json_t *way_json(const struct diff *d, enum diff_way way)
{
	json_t *all = json_array();

	for (size_t i = 0; i < d->found.n; i++)
		if (d->found.item[i].way == way)
			json_array_append_new(all, entry_json(&d->found.item[i]));
	return all;
}

bool diff_json(const struct diff *d, const struct diff_names *names, FILE *to)
{
	json_t *o = json_pack("{s:i, s:o, s:o, s:b}", "version", 1, names->within ? "maximum" : "old",
			      text_json(names->old), names->within ? "file" : "new", text_json(names->new), "equal",
			      is_equal(d));
	json_t *held = json_array();
	bool good;

	for (enum diff_way way = 0; way < DIFF_WAYS; way++)
		json_object_set_new(o, ways[way].name, way_json(d, way));
	for (size_t i = 0; i < d->held.n; i++)
		json_array_append_new(held, entry_json(&d->held.item[i]));
	json_object_set_new(o, "reachable_with_credential", held);
	good = json_dumpf(o, to, JSON_INDENT(2) | JSON_ENSURE_ASCII) == 0 && fputc('\n', to) != EOF;
	json_decref(o);
	return good;
}
