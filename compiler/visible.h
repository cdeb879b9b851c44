/* SPDX-License-Identifier: MIT */
/* A profile is what a reviewer sees: bytes that hide, reorder or break text are refused wherever they stand. */
#ifndef CAVE_COMPILER_VISIBLE_H
#define CAVE_COMPILER_VISIBLE_H

#include "compiler/diag.h"

/*
 * Records an error for the first byte of each line that a reader may not see as the compiler does: a carriage
 * return that ends no line, other controls, and the Unicode characters that are invisible, turn the direction
 * of the text, or end a line in some editors only.
 */
void check_visible(struct diags *d, uint32_t file);

/* True if there is no such character in the `n` bytes at `text`: they can be shown. */
bool text_visible(const char *text, size_t n);

#endif
