/* SPDX-License-Identifier: MIT */
/* `# cave: ignore CAVE110 because …`: one finding, on one line, for a reason. */
#include <stdlib.h>
#include <string.h>

#include "compiler/fmt.h"
#include "compiler/lint.h"

static const char prefix[] = "cave: ignore ";

/* Blanks and the letters of a word. */
static const char *skip_word(const char *s)
{
	s += strcspn(s, " \t");
	return s + strspn(s, " \t");
}

static void read_comment(struct lint *l, uint32_t file, const struct fmt_token *t)
{
	const struct source_file *f = &l->compile->sources.file[file];
	const char *s = arena_strndup(l->arena, t->text, t->n) + 1;
	struct suppression *out;
	char *end;

	s += strspn(s, " \t");
	if (strncmp(s, prefix, strlen(prefix)) != 0)
		return;
	s += strlen(prefix);
	out = ARENA_PUSH(l->arena, l->suppression, l->nsuppressions, l->suppression_cap);
	*out = (struct suppression){ .line = t->first ? t->line + 1 : t->line };
	out->at = (struct span){ file, (uint32_t)(t->text - f->text), (uint32_t)(t->text - f->text + t->n) };
	if (strncmp(s, "CAVE", 4) == 0)
		out->id = (unsigned)strtoul(s + 4, &end, 10);
	s = skip_word(s);
	if (strncmp(s, "because", 7) == 0 && *skip_word(s))
		out->because = skip_word(s);
}

/* The files of the user's own; JSON has no comments. */
void lint_read_suppressions(struct lint *l)
{
	const struct sources *s = &l->compile->sources;

	for (uint32_t file = 1; file < s->nfiles; file++) {
		struct fmt_tokens tokens;

		if (s->file[file].builtin || s->file[file].hidden || !strstr(s->file[file].text, "cave: ignore"))
			continue;
		tokens = fmt_scan(l->arena, s->file[file].text, s->file[file].size);
		for (size_t i = 0; i < tokens.n; i++)
			if (tokens.item[i].kind == FMT_COMMENT)
				read_comment(l, file, &tokens.item[i]);
	}
}

/* --- what looks like an include, to readers of other languages ------------------------------------ */

static void check_comment(struct lint *l, uint32_t file, const struct fmt_token *t)
{
	static const char include[] = "#include";
	const struct source_file *f = &l->compile->sources.file[file];
	const size_t n = sizeof include - 1;
	uint32_t begin = (uint32_t)(t->text - f->text);

	if (t->n <= n || strncmp(t->text, include, n) != 0 || !strchr(" \t\"<", t->text[n]))
		return;
	lint_add(l, 108, (struct span){ file, begin, begin + (uint32_t)t->n }, "this is a comment: nothing is included")
		->instead = "include \"FILE\", or a blank behind the #";
}

void lint_comments(struct lint *l)
{
	const struct sources *s = &l->compile->sources;

	for (uint32_t file = 1; file < s->nfiles; file++) {
		struct fmt_tokens tokens;

		if (s->file[file].builtin || s->file[file].hidden || !strstr(s->file[file].text, "#include"))
			continue;
		tokens = fmt_scan(l->arena, s->file[file].text, s->file[file].size);
		for (size_t i = 0; i < tokens.n; i++)
			if (tokens.item[i].kind == FMT_COMMENT)
				check_comment(l, file, &tokens.item[i]);
	}
}

static void suppress_one(const struct lint *l, struct finding *f)
{
	const char *file;
	unsigned line, column;

	if (!lint_place(l, f->at, &file, &line, &column))
		return;
	for (size_t i = 0; i < l->nsuppressions; i++) {
		struct suppression *s = &l->suppression[i];

		if (s->at.file != f->at.file || s->line != line || s->id != f->rule->id)
			continue;
		s->used = true;
		if (s->because)
			f->because = s->because;
	}
}

/* Of this file's own findings. */
static bool is_about_suppressions(const struct suppression *s)
{
	return s->id == 180 || s->id == 181;
}

static void check_suppression(struct lint *l, const struct suppression *s)
{
	struct finding *f;

	if (s->because && s->used && lint_rule_by_id(s->id))
		return;
	if (!s->because) {
		f = lint_add(l, 180, s->at, "this suppression gives no reason, and suppresses nothing");
		f->instead = "# cave: ignore CAVE110 because the range is our own";
	} else if (!lint_rule_by_id(s->id)) {
		f = lint_add(l, 181, s->at, "there is no finding of this number");
		f->instead = "one of those in docs/review.md";
	} else {
		f = lint_add(l, 181, s->at, "the line has no finding CAVE%u", s->id);
		f->instead = "remove the comment";
	}
	f->fix = lint_remove_comment(l, s->at);
}

/* What is found of suppressions may be suppressed too, by lines about just that. */
void lint_suppress(struct lint *l)
{
	size_t n = l->n;

	for (size_t i = 0; i < n; i++)
		suppress_one(l, &l->item[i]);
	for (int own = 0; own <= 1; own++) {
		for (size_t i = 0; i < l->nsuppressions; i++)
			if (is_about_suppressions(&l->suppression[i]) == own)
				check_suppression(l, &l->suppression[i]);
		for (; n < l->n; n++)
			suppress_one(l, &l->item[n]);
	}
}
