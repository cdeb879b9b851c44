/* SPDX-License-Identifier: MIT */
/* Syscalls: tables, groups, the base set, resolution of rules, and their proof. */
#ifndef CAVE_COMPILER_SYSCALLS_H
#define CAVE_COMPILER_SYSCALLS_H

#include "bpf/program.h"
#include "compiler/ast.h"
#include "compiler/diag.h"
#include "compiler/policy.h"

/* The version of the tables, named by `cavec --version`. */
extern const char syscalls_version[];

/*
 * Checks one N_SYS_RULE of a user's profile without resolving it: unknown names and groups (with a
 * suggestion), promises that the line would undo, what arrives later.  May set p->requires_mounts.
 */
void syscalls_check(struct diags *d, struct policy *p, const struct node *rule);

/*
 * The rules of the policy: the base set (if p->base_syscalls), what the network grants add to it, and the
 * profile's own lines.
 */
bool syscalls_resolve(struct diags *d, struct arena *a, const struct policy *p, const struct net_set *set,
		      struct sys_rules *out);

/*
 * Interprets the filter on every number of the table, holes, numbers past it, x32 and foreign architectures,
 * crossed with every boundary of every argument that the rules mention, and compares with a direct
 * evaluation of the clauses.  Returns false with the first counterexample recorded.
 */
bool syscalls_prove(struct diags *d, const struct sys_rules *rules, const struct filter_program *filter);

/* `cavec list [@group]`: prints groups, or the members of one.  Returns the exit status. */
int syscalls_list(const char *group, FILE *to);

#endif
