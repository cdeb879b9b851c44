/* SPDX-License-Identifier: MIT */
/*
 * Paths of files: where each begins (the machine, the artefact's folder, or a place by name), how it is spelled, and
 * which lie within which.  Flags are CAVE_FILE_*; those of a base say where a path begins.
 */
#ifndef CAVE_COMPILER_PATHS_H
#define CAVE_COMPILER_PATHS_H

#include "bpf/arena.h"
#include "bpf/artefact.h"
#include "compiler/resolve.h"

/* A path and its flags: a base, and FOLDER where it was written with a final slash. */
struct file_path {
	const char *path; /* without ".", ".." and empty elements; of a folder slot it begins with the slot's name */
	unsigned flags;
};

/*
 * The path that an operand names (N_WORD, N_STRING, N_FOLDER).  Returns false after an error was recorded: no place of
 * that name, "..", the root, a wildcard.
 */
bool path_resolve(struct resolver *r, const struct node *n, struct file_path *out);

/*
 * `path` without empty and "." elements and without a final slash; an absolute path keeps its leading one.  *up is set
 * if an element is "..", which is kept.
 */
char *path_normal(struct arena *a, const char *path, bool *up);

/* The path as a profile spells it: "\"/etc/hosts\"", "workspace/a", "folder in/a", "home/a". */
const char *path_spelling(struct arena *a, const char *path, unsigned flags);

/* True if a path is a whole place: workspace, tmp, home, folder NAME. */
bool path_is_place(const char *path, unsigned flags);

enum { PLACE_SPELLING_SIZE = ARTEFACT_SLOT_MAX + 16 };

/*
 * The place for which the bytes at `at` stand in a value of env (CAVE_ENV_*_BYTE), as a profile spells it:
 * "${workspace}", "${folder:in}".  Returns how many bytes these are.
 */
size_t place_spelling(const char *at, char out[PLACE_SPELLING_SIZE]);

/* A value of env as a string of a profile, places spelled out. */
const char *value_spelling(struct arena *a, const char *value);

/* True if `path` is `folder`, or lies below it; both begin at the same base. */
bool path_below(const struct file_path *path, const struct file_path *folder);

/*
 * True if one is of the home folder and the other, of the machine, may be, hold or lie in somebody's home folder: where
 * that is, is known at the start only.  What is the system's is nobody's.
 */
bool path_may_meet(const struct file_path *a, const struct file_path *b);

#endif
