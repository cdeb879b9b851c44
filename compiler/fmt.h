/* SPDX-License-Identifier: MIT */
/*
 * One layout for every profile.  Works on tokens, so that comments stay; what it makes is parsed again and must be the
 * same syntax tree.
 *
 *     text -> items (statements, comments, blank lines, as a tree of blocks) -> text
 */
#ifndef CAVE_COMPILER_FMT_H
#define CAVE_COMPILER_FMT_H

#include <stdbool.h>
#include <stdio.h>

#include "compiler/buffer.h"

enum fmt_kind { FMT_WORD, FMT_STRING, FMT_SET, FMT_SIGN, FMT_NEWLINE, FMT_COMMENT };

struct fmt_token {
	enum fmt_kind kind;
	const char *text; /* as written; a comment without blanks at its end */
	size_t n;
	unsigned line;
	bool first; /* nothing but blanks before it on its line */
};

struct fmt_tokens {
	struct fmt_token *item;
	size_t n, cap;
};

/* A statement, or a comment that stands alone. */
struct fmt_item {
	struct fmt_token *token; /* of the statement up to its block's brace */
	size_t n, cap;
	bool blank; /* a blank line before it */
	bool has_block; /* and then: */
	struct fmt_item *kids;
	size_t nkids, kids_cap;
	const char *comment; /* at its end; NULL: none */
	const char *opening; /* behind the brace that opens its block; NULL: none */
	unsigned line; /* where it ends, without its block */
};

/* The tokens of a text that parses. */
struct fmt_tokens fmt_scan(struct arena *a, const char *text, size_t size);

/* The statements of a file, as the only kids of *out. */
void fmt_items(struct arena *a, const struct fmt_tokens *tokens, struct fmt_item *out);

/* Everything laid out. */
void fmt_layout(const struct fmt_item *file, struct buffer *out);

/* The command: `cavec fmt …`, without its name.  Returns the exit status. */
int fmt_main(int argc, char **argv);

/*
 * Formats one text.  False if it has an error in its syntax, which is printed to `messages`; otherwise *out is in the
 * arena, and has the same syntax tree.
 */
bool fmt_text(struct arena *a, const char *name, const char *text, size_t size, FILE *messages, struct buffer *out);

#endif
