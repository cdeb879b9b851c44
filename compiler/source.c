/* SPDX-License-Identifier: MIT */
#include "compiler/source.h"

#include <string.h>

void sources_init(struct sources *s, struct arena *a)
{
	memset(s, 0, sizeof *s);
	s->arena = a;
	ARENA_PUSH(a, s->file, s->nfiles, s->cap)->name = "";
	ARENA_PUSH(a, s->line, s->nlines, s->line_cap)->file = "";
	s->line[0].text = "";
}

/* Where each line begins. */
static void index_lines(struct arena *a, struct source_file *f)
{
	const char *end = f->text + f->size, *newline;
	uint32_t *start = NULL;
	size_t cap = 0;

	*ARENA_PUSH(a, start, f->nlines, cap) = 0;
	for (const char *at = f->text; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
		*ARENA_PUSH(a, start, f->nlines, cap) = (uint32_t)(newline + 1 - f->text);
	f->start = start;
	f->id = ARENA_ARRAY(a, f->nlines, line_id);
}

uint32_t sources_add(struct sources *s, const char *name, const char *text, size_t size,
		     struct span included_from, bool builtin)
{
	size_t mark = size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;

	*ARENA_PUSH(s->arena, s->file, s->nfiles, s->cap) = (struct source_file){
		.name = name,
		.shown = name,
		.text = text + mark,
		.size = size - mark,
		.included_from = included_from,
		.builtin = builtin,
	};
	index_lines(s->arena, &s->file[s->nfiles - 1]);
	return (uint32_t)(s->nfiles - 1);
}

void source_position(const struct source_file *f, uint32_t offset, unsigned *line, unsigned *column)
{
	size_t low = 0, high = f->nlines;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (f->start[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	*line = (unsigned)low + 1;
	*column = offset - f->start[low] + 1;
}

/* The text of the line around `offset`, trimmed. */
static const char *line_text(struct arena *a, const struct source_file *f, uint32_t offset)
{
	const char *start = f->text + offset, *end = start, *limit = f->text + f->size;

	while (start > f->text && start[-1] != '\n')
		start--;
	while (end < limit && *end != '\n')
		end++;
	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	while (start < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return arena_strndup(a, start, (size_t)(end - start));
}

line_id sources_line(struct sources *s, struct span at)
{
	const struct source_file *f = &s->file[at.file];
	unsigned line, column;

	if (!at.file || f->builtin)
		return 0;
	source_position(f, at.begin, &line, &column);
	if (f->id[line - 1])
		return f->id[line - 1];
	*ARENA_PUSH(s->arena, s->line, s->nlines, s->line_cap) = (struct source_line){
		.file = f->name,
		.number = line,
		.text = line_text(s->arena, f, at.begin),
	};
	return f->id[line - 1] = (line_id)(s->nlines - 1);
}

struct span span_join(struct span a, struct span b)
{
	return (struct span){ a.file, a.begin, b.end };
}
