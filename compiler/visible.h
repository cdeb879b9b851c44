/* SPDX-License-Identifier: MIT */
/* A profile is what a reviewer sees: bytes that hide, reorder or break text are refused wherever they stand. */
#ifndef CAVE_COMPILER_VISIBLE_H
#define CAVE_COMPILER_VISIBLE_H

#include "compiler/diag.h"

/*
 * Records an error for the first byte of each line that a reader may not see as the compiler does: a carriage
 * return that ends no line, other controls, bytes that are no UTF-8, and the Unicode characters that are invisible or
 * blank, turn the direction of the text, or end a line in some editors only.
 */
void check_visible(struct diags *d, uint32_t file);

/*
 * Text of others on its way to a terminal, a log or a comment: in place of such a character, of the end of a line, and
 * of a byte that is no UTF-8 stands a question mark.
 */
void visible_put(const char *s, size_t n, FILE *to);
char *visible_text(struct arena *a, const char *s);

/* A line of this program's own on standard error, with what it quotes shown so. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True if the log of a workflow would take the line for a command: `::name …::`, whatever blanks stand before it. */
bool is_log_command(const char *line, size_t n);

/* True if there is no such character in the `n` bytes at `text`: they can be shown. */
bool text_visible(const char *text, size_t n);

#endif
