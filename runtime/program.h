/* SPDX-License-Identifier: MIT */
/*
 * Finding PROGRAM, and what the kernel would start for it.
 *
 * The tool has one execve, the runtime's: so `#!` lines, and /usr/bin/env in them, are resolved here.
 */
#ifndef CAVE_RUNTIME_PROGRAM_H
#define CAVE_RUNTIME_PROGRAM_H

#include <sys/types.h>

#include "runtime/memory.h"
#include "runtime/report.h"

enum { PROGRAM_SCRIPTS_MAX = 4 }; /* as deep as the kernel goes, fs/exec.c */

/* What a path led to when it was looked at. */
struct program_file {
	dev_t dev;
	ino_t ino;
};

struct program {
	const char *path; /* absolute: what is executed */
	const char *loader; /* its ELF interpreter, NULL if it is static */
	const char *script[PROGRAM_SCRIPTS_MAX]; /* what led to it by a #! line, and so must be readable */
	size_t nscripts;
	struct program_file seen[PROGRAM_SCRIPTS_MAX + 1]; /* the scripts, then what is executed */
	char **argv; /* its beginning: what precedes the caller's own arguments */
};

/*
 * `name` is PROGRAM; a `script`, if not NULL, is its first argument.  `search` is the caller's PATH, or NULL.
 */
bool program_find(struct memory *m, const char *name, const char *script, const char *search,
		  struct program *out, struct refusal *r);

/* All arguments: `argv` is what the tool is called by and the caller's arguments. */
char **program_arguments(struct memory *m, const struct program *p, char *const *argv);

/* True if executing the file would change identity or capabilities: set-id bits, file capabilities. */
bool program_is_privileged(const char *path);

#endif
