/* SPDX-License-Identifier: MIT */
/* Writing the artefact: whole or not at all. */
#ifndef CAVE_COMPILER_OUTPUT_H
#define CAVE_COMPILER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Puts `n` bytes into `path`.  A regular file is replaced in one step; what is there and is no regular file (a
 * pipe, a terminal) is written to.  Returns false with errno set, and a file that was there untouched.
 */
bool output_write(const char *path, const void *data, size_t n);

#endif
