/* SPDX-License-Identifier: MIT */
/* `cavec dump`: an artefact as text. */
#ifndef CAVE_COMPILER_DUMP_H
#define CAVE_COMPILER_DUMP_H

#include <stdio.h>

/* Checks the artefact at `path` and prints it.  Returns the exit status; what is wrong goes to stderr. */
int dump_file(const char *path, FILE *to);

#endif
