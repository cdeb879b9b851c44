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

line_id sources_line(struct sources *s, struct span at)
{
	const struct source_file *f = &s->file[at.file];
	unsigned line, column;

	if (!at.file || f->builtin)
		return 0;
	source_position(f, at.begin, &line, &column);
	for (size_t i = s->nlines; i-- > 1;)
		if (s->line[i].number == line && s->line[i].file == f->name)
			return (line_id)i;
	*ARENA_PUSH(s->arena, s->line, s->nlines, s->line_cap) = (struct source_line){
		.file = f->name,
		.number = line,
		.text = line_text(s->arena, f, at.begin),
	};
	return (line_id)(s->nlines - 1);
}

struct span span_join(struct span a, struct span b)
{
	return (struct span){ a.file, a.begin, b.end };
}
