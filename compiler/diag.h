/* SPDX-License-Identifier: MIT */
/*
 * Diagnostics are records: collected while compiling, sorted and printed once.
 *
 *     fetch.cave:4:15: error: sentence [code]
 *         allow tcp 10.1.2.3/8 port 443
 *                   ^~~~~~~~~~
 *         note: what to write instead
 */
#ifndef CAVE_COMPILER_DIAG_H
#define CAVE_COMPILER_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "cave/codes.h"
#include "compiler/source.h"

struct diag_note {
	struct span at; /* may be nowhere */
	const char *text;
	struct diag_note *next;
};

struct diag {
	enum cave_code code; /* CAVE_OK: a note, not an error */
	struct span at;
	const char *text;
	bool secret; /* the source line must not be shown: it may identify a secret */
	struct diag_note *notes, **last;
	struct diag *next;
};

struct diags {
	struct sources *sources;
	struct diag *first, **last;
	unsigned errors, notes;
};

void diags_init(struct diags *d, struct sources *s);

/* Records an error.  The result takes notes; it belongs to the arena. */
struct diag *diag_error(struct diags *d, enum cave_code code, struct span at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Records a remark that is no error: a note of its own. */
struct diag *diag_remark(struct diags *d, struct span at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds to `of` a line "note: …", with a place and its source line, or without (a zero span). */
void diag_note(struct diags *d, struct diag *of, struct span at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Prints all, in order of file and position, errors capped at 50. */
void diags_print(const struct diags *d, FILE *to);

/*
 * The candidate nearest to `word` by edit distance, or NULL if none is near enough to be meant.
 * `candidate(context, i)` yields the names, NULL after the last.
 */
const char *did_you_mean(const char *word, const char *(*candidate)(const void *context, size_t i),
			 const void *context);

#endif
