/* SPDX-License-Identifier: MIT */
/* What an allow line of a profile may do to the promises that every profile makes. */
#ifndef CAVE_COMPILER_SYSCALLS_PROMISES_H
#define CAVE_COMPILER_SYSCALLS_PROMISES_H

#include "compiler/syscalls_data.h"

enum grant {
	GRANT_PLAIN, /* the profile may allow it */
	GRANT_CONDITION, /* it may, and the built-in condition on the arguments stays */
	GRANT_METADATA, /* the same, and the host must bound it by a mount namespace */
	GRANT_NEVER, /* whole it would undo a promise; with a condition, see base/may.cave */
};

/* How a call can be granted.  *promise is set for GRANT_NEVER. */
enum grant syscall_grant(const struct syscall_row *row, const char **promise);

#endif
