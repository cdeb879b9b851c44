/* SPDX-License-Identifier: MIT */
/* Source files and positions in them. */
#ifndef CAVE_COMPILER_SOURCE_H
#define CAVE_COMPILER_SOURCE_H

#include <stdbool.h>

#include "bpf/arena.h"
#include "bpf/netset.h" /* line_id */

/* Bytes [begin, end) of a file; file 0 is no place at all. */
struct span {
	uint32_t file, begin, end;
};

struct source_file {
	const char *name; /* as recorded: relative to the root, never an absolute path */
	const char *shown; /* as in messages: as the user spelled it */
	const char *text; /* NUL-terminated; a NUL inside is an error of the lexer's */
	size_t size;
	struct span included_from; /* the include that brought it in */
	bool builtin; /* part of the compiler, not of the user's text */
	bool hidden; /* no line of it is ever shown: it may hold secrets anywhere */
	const uint32_t *start; /* of each line */
	line_id *id; /* of each line; 0 if it is not in the table of lines */
	size_t nlines;
};

/* A line that instructions can point at.  Entry 0 is the compiler's own. */
struct source_line {
	const char *file;
	uint32_t number;
	const char *text; /* without its newline and the blanks around it */
};

struct sources {
	struct arena *arena;
	struct source_file *file; /* file[0] is unused */
	size_t nfiles, cap;
	struct source_line *line;
	size_t nlines, line_cap;
};

void sources_init(struct sources *s, struct arena *a);

/*
 * Adds a file, shown as it is recorded; text and name must live in the arena.  A byte-order mark is left out.
 * Returns its number.
 */
uint32_t sources_add(struct sources *s, const char *name, const char *text, size_t size,
		     struct span included_from, bool builtin);

/* Line and column, from 1; the column counts bytes. */
void source_position(const struct source_file *f, uint32_t offset, unsigned *line, unsigned *column);

/* The line that `at` begins on, entered into the table if it is new.  Built-in files have line 0. */
line_id sources_line(struct sources *s, struct span at);

/* From the beginning of `a` to the end of `b`, which must be of one file. */
struct span span_join(struct span a, struct span b);

#endif
