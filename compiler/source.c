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

uint32_t sources_add(struct sources *s, const char *name, const char *text, size_t size,
		     struct span included_from, bool builtin)
{
	*ARENA_PUSH(s->arena, s->file, s->nfiles, s->cap) = (struct source_file){
		.name = name,
		.shown = name,
		.text = text,
		.size = size,
		.included_from = included_from,
		.builtin = builtin,
	};
	return (uint32_t)(s->nfiles - 1);
}

void source_position(const struct source_file *f, uint32_t offset, unsigned *line, unsigned *column)
{
	const char *start = f->text, *end = f->text + offset, *newline;

	*line = 1;
	while ((newline = memchr(start, '\n', (size_t)(end - start)))) {
		start = newline + 1;
		++*line;
	}
	*column = (unsigned)(end - start) + 1;
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

static void index_lines(struct arena *a, struct source_file *f)
{
	size_t cap = 0;

	*ARENA_PUSH(a, f->start, f->nlines, cap) = 0;
	for (const char *p = f->text; (p = memchr(p, '\n', f->size - (size_t)(p - f->text)));)
		*ARENA_PUSH(a, f->start, f->nlines, cap) = (uint32_t)(++p - f->text);
	f->line = ARENA_ARRAY(a, f->nlines, line_id);
}

/* The number, from 0, of the line that holds the byte at `offset`. */
static size_t line_index(const struct source_file *f, uint32_t offset)
{
	size_t lo = 0, hi = f->nlines;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (f->start[mid] <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

line_id sources_line(struct sources *s, struct span at)
{
	struct source_file *f = &s->file[at.file];
	size_t i;

	if (!at.file || f->builtin)
		return 0;
	if (!f->nlines)
		index_lines(s->arena, f);
	i = line_index(f, at.begin);
	if (f->line[i])
		return f->line[i];
	f->line[i] = (line_id)s->nlines;
	*ARENA_PUSH(s->arena, s->line, s->nlines, s->line_cap) = (struct source_line){
		.file = f->name,
		.number = (uint32_t)i + 1,
		.text = line_text(s->arena, f, at.begin),
	};
	return f->line[i];
}

struct span span_join(struct span a, struct span b)
{
	return (struct span){ a.file, a.begin, b.end };
}
