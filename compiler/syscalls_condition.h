/* SPDX-License-Identifier: MIT */
/* Conditions on arguments: from syntax to alternatives of tests. */
#ifndef CAVE_COMPILER_SYSCALLS_CONDITION_H
#define CAVE_COMPILER_SYSCALLS_CONDITION_H

#include "bpf/sysrules.h"
#include "compiler/ast.h"
#include "compiler/diag.h"
#include "compiler/syscalls_data.h"

/* All tests hold. */
struct alternative {
	const struct sys_test *test;
	size_t n;
};

/* One of the alternatives holds; none: never. */
struct alternatives {
	const struct alternative *item;
	size_t n;
};

enum { ALTERNATIVES_MAX = 256 };

/* Values that one `in` lists, neighbours as one: more is no filter that the kernel takes. */
enum { RANGES_MAX = 16384 };

/*
 * Resolves the condition of a call for one architecture.  `builtin` text may compare with `self`.  Returns false after
 * an error was recorded: an unknown argument or constant, a value that the argument cannot have, a
 * pointer, too many alternatives.
 */
bool condition_resolve(struct diags *d, struct arena *a, enum sys_arch arch, const char *call,
		       const struct node *condition, bool builtin, struct alternatives *out);

#endif
