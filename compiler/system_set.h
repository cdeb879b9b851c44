/* SPDX-License-Identifier: MIT */
/* The built-in file set `system`: what nearly every program opens, readable by default. */
#ifndef CAVE_COMPILER_SYSTEM_SET_H
#define CAVE_COMPILER_SYSTEM_SET_H

#include <stddef.h>

struct system_path {
	const char *path;
	unsigned flags; /* CAVE_FILE_* */
	const char *reason;
};

/* Sorted by path.  The version counts every change of the set. */
extern const struct system_path system_set[];
extern const size_t system_set_size;
extern const char system_set_version[];

#endif
