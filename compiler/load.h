/* SPDX-License-Identifier: MIT */
/* Reading the profile, what it includes and its lists, all from beneath one root. */
#ifndef CAVE_COMPILER_LOAD_H
#define CAVE_COMPILER_LOAD_H

#include "compiler/diag.h"

struct loader {
	struct diags *diags;
	char *root; /* resolved, without a slash at its end; "" for / */
	const char **resolved; /* by file number: the resolved path */
	size_t nresolved, cap;
};

/*
 * Prepares to read from beneath `root` (NULL: the folder of `profile`).  Returns false with errno set if the
 * root cannot be resolved.
 */
bool loader_init(struct loader *l, struct diags *d, const char *profile, const char *root);

/* Prepares to read what a part of the profile, file number 1 of `d` as of `from`, includes. */
void loader_again(struct loader *l, struct diags *d, const struct loader *from);

/*
 * Reads the profile itself.  Returns its number, or 0 after an error was recorded; *failed is set instead for
 * one that is no refusal of the profile (a folder, no permission), with errno.
 */
uint32_t loader_profile(struct loader *l, const char *path, bool *failed);

/* What to say of the errno of a file that could not be read. */
const char *loader_fault(int error);

/* The same of a text that stands in for the file at `path`, which need not be there. */
uint32_t loader_profile_text(struct loader *l, const char *path, const char *text, size_t size);

/* True if writing to `path` would write over a file that was read. */
bool loader_is_source(const struct loader *l, const char *path);

/*
 * Reads `text`, a path relative to file `from` which names it at `at`.  Returns its number, or 0 after an error
 * was recorded (absent, unreadable, outside the root, a cycle), or if it has been read before.
 */
uint32_t loader_include(struct loader *l, uint32_t from, struct span at, const char *text);

/* The same for a list of destinations; one that has been read before is read again. */
uint32_t loader_list(struct loader *l, uint32_t from, struct span at, const char *text);

/*
 * The entries of a list, or of a set of hosts, in turn, one a line, without blanks around them and without comments,
 * which begin with `#`.  *at is 0 before the first; false after the last.
 */
bool list_next(const struct sources *sources, uint32_t file, size_t *at, struct span *out, const char **text);

#endif
