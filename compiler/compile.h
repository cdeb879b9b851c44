/* SPDX-License-Identifier: MIT */
/* The pipeline from a profile's file to an artefact's. */
#ifndef CAVE_COMPILER_COMPILE_H
#define CAVE_COMPILER_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses of cavec. */
enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_TROUBLE = 2 };

/* What is written: EMIT_DEFAULT is an artefact for a profile, and EMIT_BPF for a bare filter. */
enum emit { EMIT_DEFAULT, EMIT_BPF, EMIT_C, EMIT_OCI };

struct compile_options {
	const char *file; /* the profile */
	const char *out; /* the artefact */
	enum emit emit;
	const char *arch; /* of a bare filter: "x86_64", …; NULL: this machine's */
	const char *root; /* NULL: the profile's folder */
	const char *config; /* the operator's rules, a file or a folder; or NULL */
	const char *capabilities; /* the same, of which the table of credentials counts only; or NULL */
};

/*
 * Compiles, proves and writes.  Everything that is to be said goes to stderr.  Unless the result is EXIT_DONE,
 * nothing was written: a file that was there before is untouched.
 */
int compile_file(const struct compile_options *o);

/*
 * The same for a text in memory, under the built-in table, for tests and fuzzers; an include in it is refused.
 * On success *out is a malloc'd artefact of *size bytes, which is the caller's; otherwise *out is untouched.
 */
bool compile_text(const char *name, const char *text, size_t n, FILE *messages, void **out, size_t *size);

#endif
