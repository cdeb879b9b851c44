/* SPDX-License-Identifier: MIT */
/* What a grant becomes in the words of Landlock, for every version of its interface. */
#ifndef CAVE_RUNTIME_RIGHTS_H
#define CAVE_RUNTIME_RIGHTS_H

#include <stdint.h>
#include <sys/types.h>

/* The versions of the interface that brought something (Documentation/userspace-api/landlock.rst). */
enum { LL_ABI_REFER = 2, LL_ABI_TRUNCATE = 3, LL_ABI_NET = 4, LL_ABI_IOCTL = 5, LL_ABI_SCOPE = 6 };

/* Everything of the file system that a kernel of that version can refuse, so that nothing is left out by silence. */
uint64_t rights_handled(int abi);

/*
 * The rights of a grant with `flags` (CAVE_FILE_*) on what was opened: all below it if `mode` is that of a folder.
 * What the version does not know is left out: it cannot refuse it either.
 */
uint64_t rights_of(unsigned flags, mode_t mode, int abi);

#endif
