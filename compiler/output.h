/* SPDX-License-Identifier: MIT */
/* Writing files: whole or not at all. */
#ifndef CAVE_COMPILER_OUTPUT_H
#define CAVE_COMPILER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Puts `n` bytes into `path`.  A regular file is replaced in one step; what is there and is no regular file (a
 * pipe, a terminal) is written to.  Returns false with errno set, and a file that was there untouched.
 */
bool output_write(const char *path, const void *data, size_t n);

/* The same for a text of the user's own: a loss of power leaves the old one or the new one. */
bool output_source(const char *path, const void *data, size_t n);

#endif
