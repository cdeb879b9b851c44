/* SPDX-License-Identifier: MIT */
/* The built-in sets that a profile uses by name: compiler/sets, embedded in the binary. */
#ifndef CAVE_COMPILER_SETS_H
#define CAVE_COMPILER_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct builtin_set {
	const char *name; /* "git" */
	const char *shown; /* "<git>" */
	bool hosts; /* names of a network block, one a line; else bare statements of a profile */
	const char *text; /* NUL-terminated */
	const char *end; /* of the text: only the linker knows its size */
};

/* Changes with what any of them holds. */
extern const char sets_version[];

/* The i-th by name, or NULL after the last. */
const struct builtin_set *set_at(size_t i);

/* The set of that name, without angle brackets, or NULL. */
const struct builtin_set *set_find(const char *name);

/* The set whose name is nearest, or NULL. */
const char *set_nearest(const char *name);

/* `cavec list <NAME>`: prints the set; false if there is none of that name. */
bool set_list(const char *name, FILE *to);

#endif
