/* SPDX-License-Identifier: MIT */
/* Findings as text, as a compiler would give them (gcc), for GitHub's annotations, as JSON and as SARIF 2.1.0. */
#include <jansson.h>
#include <string.h>

#include "compiler/lint.h"
#include "compiler/visible.h"

static const char *const severities[SEVERITIES] = { "info", "warning", "error" };

const char *lint_severity(enum severity s)
{
	return severities[s];
}

/* --- for people ---------------------------------------------------------------------------------- */

static void put_place(const struct lint *l, struct span at, FILE *to)
{
	const char *file = l->path;
	unsigned line = 1, column = 1;

	lint_place(l, at, &file, &line, &column);
	visible_put(file, strlen(file), to);
	fprintf(to, ":%u:%u: ", line, column);
}

/* A secret stands on the line, whatever the finding is about. */
static bool holds_secret(const struct lint *l, struct span at)
{
	const char *file, *other;
	unsigned line, of, column;

	if (!lint_place(l, at, &file, &line, &column))
		return false;
	for (size_t i = 0; i < l->n; i++)
		if (l->item[i].secret && l->item[i].at.file == at.file && lint_place(l, l->item[i].at, &other, &of, &column) &&
		    of == line)
			return true;
	return false;
}

/* The source line; of a file that may hold secrets anywhere, none. */
static void put_line(const struct lint *l, struct span at, FILE *to)
{
	const struct source_file *f = &l->compile->sources.file[at.file];
	const char *text;
	unsigned line, column;

	if (!at.file || f->builtin || f->hidden || holds_secret(l, at))
		return;
	source_position(f, at.begin, &line, &column);
	text = f->text + at.begin - (column - 1);
	text += strspn(text, " \t");
	if (is_log_command(text, strcspn(text, "\r\n")))
		return;
	fputs("    ", to);
	visible_put(text, strcspn(text, "\r\n"), to);
	fputc('\n', to);
}

static void put_text(const struct lint *l, const struct finding *f, FILE *to)
{
	const char *file;
	unsigned line, column;

	put_place(l, f->at, to);
	fprintf(to, "%s: ", severities[f->severity]);
	visible_put(f->text, strlen(f->text), to);
	fprintf(to, " [CAVE%u]\n", f->rule->id);
	put_line(l, f->at, to);
	if (lint_place(l, f->other, &file, &line, &column)) {
		fputs("    the other line is ", to);
		visible_put(file, strlen(file), to);
		fprintf(to, ":%u\n", line);
	}
	if (f->instead) {
		fputs("    instead: ", to);
		visible_put(f->instead, strlen(f->instead), to);
		fputc('\n', to);
	}
}

static void put_gcc(const struct lint *l, const struct finding *f, FILE *to)
{
	put_place(l, f->at, to);
	fprintf(to, "%s: ", f->severity == SEVERITY_INFO ? "note" : severities[f->severity]);
	visible_put(f->text, strlen(f->text), to);
	fprintf(to, " [CAVE%u]\n", f->rule->id);
}

/* A message of a workflow command: what would end it is spelled out. */
static void put_escaped(struct arena *a, FILE *to, const char *s, bool property)
{
	for (s = visible_text(a, s); *s; s++)
		if (*s == '%')
			fputs("%25", to);
		else if (property && *s == ',')
			fputs("%2C", to);
		else if (property && *s == ':')
			fputs("%3A", to);
		else
			fputc(*s, to);
}

static void put_github(const struct lint *l, const struct finding *f, FILE *to)
{
	const char *file = l->path;
	unsigned line = 1, column = 1;

	lint_place(l, f->at, &file, &line, &column);
	fprintf(to, "::%s file=", f->severity == SEVERITY_INFO ? "notice" : severities[f->severity]);
	put_escaped(l->arena, to, file, true);
	fprintf(to, ",line=%u,col=%u,title=CAVE%u %s::", line, column, f->rule->id, f->rule->name);
	put_escaped(l->arena, to, f->text, false);
	if (f->instead) {
		fputs("; instead: ", to);
		put_escaped(l->arena, to, f->instead, false);
	}
	fputc('\n', to);
}

/* --- JSON ---------------------------------------------------------------------------------------- */

static json_t *text_json(const char *s)
{
	json_t *text = s ? json_string(s) : json_null();

	return text ? text : json_string("(not UTF-8)");
}

static json_t *place_json(const struct lint *l, struct span at)
{
	const char *file = l->path;
	unsigned line = 1, column = 1;

	lint_place(l, at, &file, &line, &column);
	return json_pack("{s:o, s:i, s:i}", "file", text_json(file), "line", (int)line, "column", (int)column);
}

static json_t *finding_json(const struct lint *l, const struct finding *f)
{
	json_t *o = place_json(l, f->at);

	json_object_set_new(o, "id", json_sprintf("CAVE%u", f->rule->id));
	json_object_set_new(o, "rule", json_string(f->rule->name));
	json_object_set_new(o, "severity", json_string(severities[f->severity]));
	json_object_set_new(o, "text", text_json(f->text));
	json_object_set_new(o, "instead", text_json(f->instead));
	json_object_set_new(o, "other", f->other.file ? place_json(l, f->other) : json_null());
	json_object_set_new(o, "suppressed", text_json(f->because));
	json_object_set_new(o, "fixable", json_boolean(f->fix.at.file != 0));
	if (f->fix.at.file)
		json_object_set_new(o, "fix", json_pack("{s:o, s:b}", "what", text_json(f->fix.what), "safe", f->fix.safe));
	return o;
}

static void report_json(const struct lint *l, size_t n, FILE *to)
{
	json_t *all = json_array();

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < l[i].n; k++)
			json_array_append_new(all, finding_json(&l[i], &l[i].item[k]));
	json_dumpf(all, to, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	fputc('\n', to);
	json_decref(all);
}

/* --- SARIF --------------------------------------------------------------------------------------- */

static json_t *message(const char *s)
{
	return json_pack("{s:o}", "text", text_json(s));
}

static const char *level(enum severity s)
{
	return s == SEVERITY_INFO ? "note" : severities[s];
}

/* A path as a URI: what has a meaning in one is spelled out. */
static json_t *uri(const struct lint *l, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
	const char *out = *path == '/' ? "file://" : "";

	for (; *path; path++)
		out = strchr(plain, *path) ? arena_printf(l->arena, "%s%c", out, *path) :
					     arena_printf(l->arena, "%s%%%02X", out, (unsigned char)*path);
	return json_string(out);
}

/* Columns count characters, source_position() bytes. */
static void position(const struct source_file *f, uint32_t offset, unsigned *line, unsigned *column)
{
	const char *begin;
	unsigned bytes;

	source_position(f, offset, line, &bytes);
	begin = f->text + offset - (bytes - 1);
	*column = 1;
	for (unsigned i = 0; i + 1 < bytes; i++)
		*column += ((unsigned char)begin[i] & 0xc0) != 0x80;
}

/* Columns from 1; the end is the one after the last. */
static json_t *region(const struct lint *l, struct span at)
{
	const struct source_file *f = &l->compile->sources.file[at.file];
	unsigned line, column, last_line, last_column;

	position(f, at.begin, &line, &column);
	position(f, at.end, &last_line, &last_column);
	return json_pack("{s:i, s:i, s:i, s:i}", "startLine", (int)line, "startColumn", (int)column, "endLine",
			 (int)last_line, "endColumn", (int)last_column);
}

static json_t *location(const struct lint *l, struct span at)
{
	const char *file = l->path;
	unsigned line, column;
	bool known = lint_place(l, at, &file, &line, &column);
	json_t *place = json_pack("{s:{s:o}}", "artifactLocation", "uri", uri(l, file));

	if (known)
		json_object_set_new(place, "region", region(l, at));
	return json_pack("{s:o}", "physicalLocation", place);
}

static json_t *fix_json(const struct lint *l, const struct lint_fix *fix)
{
	const struct source_file *f = &l->compile->sources.file[fix->at.file];
	json_t *replacement = json_pack("{s:o, s:{s:o}}", "deletedRegion", region(l, fix->at), "insertedContent", "text",
					text_json(fix->text));

	return json_pack("{s:o, s:[{s:{s:o}, s:[o]}]}", "description", message(fix->what), "artifactChanges",
			 "artifactLocation", "uri", uri(l, f->shown), "replacements", replacement);
}

static int rule_index(const struct lint_rule *rule)
{
	return (int)(rule - lint_rule(0));
}

static json_t *result_json(const struct lint *l, const struct finding *f)
{
	json_t *o = json_object();

	json_object_set_new(o, "ruleId", json_sprintf("CAVE%u", f->rule->id));
	json_object_set_new(o, "ruleIndex", json_integer(rule_index(f->rule)));
	json_object_set_new(o, "level", json_string(level(f->severity)));
	json_object_set_new(o, "message",
			    message(f->instead ? arena_printf(l->arena, "%s. Instead: %s.", f->text, f->instead) : f->text));
	json_object_set_new(o, "locations", json_pack("[o]", location(l, f->at)));
	if (f->other.file)
		json_object_set_new(o, "relatedLocations", json_pack("[o]", location(l, f->other)));
	if (f->fix.at.file)
		json_object_set_new(o, "fixes", json_pack("[o]", fix_json(l, &f->fix)));
	if (f->because)
		json_object_set_new(o, "suppressions",
				    json_pack("[{s:s, s:o}]", "kind", "inSource", "justification", text_json(f->because)));
	return o;
}

static json_t *rules_json(void)
{
	json_t *all = json_array();
	const struct lint_rule *r;

	for (size_t i = 0; (r = lint_rule(i)); i++) {
		json_t *o = json_object();

		json_object_set_new(o, "id", json_sprintf("CAVE%u", r->id));
		json_object_set_new(o, "name", json_string(r->name));
		json_object_set_new(o, "shortDescription", message(r->why));
		json_object_set_new(o, "defaultConfiguration", json_pack("{s:s}", "level", level(r->severity)));
		json_array_append_new(all, o);
	}
	return all;
}

static void report_sarif(const struct lint *l, size_t n, FILE *to)
{
	json_t *results = json_array(), *driver, *log;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < l[i].n; k++)
			json_array_append_new(results, result_json(&l[i], &l[i].item[k]));
	driver = json_pack("{s:s, s:s, s:o}", "name", "cavec", "version", CAVE_VERSION, "rules", rules_json());
	log = json_pack("{s:s, s:s, s:[{s:{s:o}, s:s, s:o}]}", "$schema", "https://json.schemastore.org/sarif-2.1.0.json",
			"version", "2.1.0", "runs", "tool", "driver", driver, "columnKind", "unicodeCodePoints", "results",
			results);
	json_dumpf(log, to, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	fputc('\n', to);
	json_decref(log);
}

/* --- all ----------------------------------------------------------------------------------------- */

void lint_report(const struct lint *l, size_t n, enum lint_format format, FILE *to)
{
	static void (*const lines[])(const struct lint *l, const struct finding *f, FILE *to) = {
		[LINT_TEXT] = put_text, [LINT_GCC] = put_gcc, [LINT_GITHUB] = put_github,
	};

	if (format == LINT_JSON) {
		report_json(l, n, to);
		return;
	}
	if (format == LINT_SARIF) {
		report_sarif(l, n, to);
		return;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < l[i].n; k++)
			if (!l[i].item[k].because)
				lines[format](&l[i], &l[i].item[k], to);
}
