/* SPDX-License-Identifier: MIT */
/* The table of credential capabilities: the built-in rows and the operator's. */
#ifndef CAVE_COMPILER_CAPABILITIES_H
#define CAVE_COMPILER_CAPABILITIES_H

#include "bpf/arena.h"
#include "bpf/credentials.h"

/*
 * Reads the operator's file (NULL: none): lines of a capability and its variables, `#` begins a comment:
 *
 *     github GITHUB_TOKEN GH_TOKEN
 *
 * On success the table is in the arena.  Returns NULL, or a sentence that says what is wrong.
 */
const char *capabilities_read(struct arena *a, const char *file, const struct credential **out, size_t *n);

#endif
