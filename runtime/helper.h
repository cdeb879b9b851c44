/* SPDX-License-Identifier: MIT */
/* The programs that do the runtime's rarer work. */
#ifndef CAVE_RUNTIME_HELPER_H
#define CAVE_RUNTIME_HELPER_H

#include "runtime/memory.h"

/*
 * The path of a file of the runtime's: beside cave-load if `loader` says where that is; else beside this executable, as
 * in a build, in ../libexec/cave of it, or where it is installed.  NULL if it is in none of these.
 */
const char *helper_find(struct memory *m, const char *loader, const char *name);

#endif
