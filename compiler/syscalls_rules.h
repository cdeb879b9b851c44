/* SPDX-License-Identifier: MIT */
/* Resolving syscall rules: what the resolver of profiles shares with the maker of the built-in tables. */
#ifndef CAVE_COMPILER_SYSCALLS_RULES_H
#define CAVE_COMPILER_SYSCALLS_RULES_H

#include "compiler/diag.h"
#include "compiler/policy.h"
#include "compiler/syscalls_builtin.h"

/* The rules of a policy for one architecture, on top of the built-in `sets`, a bit each. */
bool syscalls_resolve_sets(struct diags *d, struct arena *a, const struct policy *p,
			   const struct builtin_tables *tables, uint32_t sets, enum sys_arch arch,
			   struct sys_rules *out);

#endif
