/* SPDX-License-Identifier: MIT */
/* The operator's file, for the compiler. */
#ifndef CAVE_COMPILER_OPERATOR_H
#define CAVE_COMPILER_OPERATOR_H

#include "bpf/arena.h"
#include "bpf/operator.h"

/*
 * Reads the rules (bpf/operator.h) from `path`: a file, or a folder with the file of the usual name; NULL: the built-in
 * rules.  Returns NULL, or a sentence that says what is wrong.
 */
const char *operator_file(struct arena *a, const char *path, struct operator_rules *out);

#endif
