/* SPDX-License-Identifier: MIT */
/* Syscalls: tables, groups, the base set, resolution of rules, and their proof. */
#ifndef CAVE_COMPILER_SYSCALLS_H
#define CAVE_COMPILER_SYSCALLS_H

#include "bpf/program.h"
#include "compiler/ast.h"
#include "compiler/diag.h"
#include "compiler/policy.h"
#include "compiler/syscalls_data.h"

/* The version of the tables, named by `cavec --version`. */
extern const char syscalls_version[];

/*
 * Checks one N_SYS_RULE without resolving it: unknown names and groups (with a suggestion), conditions, how calls are
 * refused; of a profile also whether a call allowed whole would undo a promise.  May set p->requires_mounts.
 */
void syscalls_check(struct diags *d, struct policy *p, const struct node *rule);

/* What happens to the calls of an N_SYS_RULE.  Returns false after an error was recorded. */
bool syscalls_result(struct diags *d, const struct node *rule, struct sys_result *out);

/*
 * The rules of the policy for each of its architectures: the base set (if p->base_syscalls), what the network grants
 * add to it, and the profile's own lines.  Of a bare filter, its lines alone.  A condition that would let a promise
 * be undone, and two ways of refusing one call, are errors.
 */
bool syscalls_resolve(struct diags *d, struct arena *a, const struct policy *p, const struct net_set *set,
		      struct sys_rules out[SYS_ARCHES]);

/*
 * The same, to hold the rules of an inner profile against: without what only bounds a grant that the inner one has not.
 * A memory file cannot be executed where nothing is executed a second time, and without datagrams nothing is broadcast.
 */
bool syscalls_resolve_around(struct diags *d, struct arena *a, const struct policy *p, const struct net_set *set,
			     const struct policy *inner, const struct net_set *inner_set,
			     struct sys_rules out[SYS_ARCHES]);

/*
 * The filter for these rules, if they are those of built-in sets alone: it was generated when the compiler was built.
 * NULL if it is to be generated.
 */
const struct filter_program *syscalls_ready_filter(const struct policy *p, const struct net_set *set,
						   enum sys_arch arch);

/*
 * Follows the filter for every input there is, and compares each answer with a direct evaluation of the clauses.
 * Returns false with the first counterexample recorded.
 */
bool syscalls_prove(struct diags *d, const struct sys_rules *rules, const struct filter_program *filter);

/* Checks an N_EXPECTATION about system calls: names and conditions. */
void syscalls_check_expectation(struct diags *d, const struct policy *p, const struct node *expectation);

/*
 * Runs the filters on every expectation of the policy, for each architecture that has the call.  Returns false with the
 * first counterexample of each that does not hold recorded.
 */
bool syscalls_expect(struct diags *d, const struct policy *p, const struct filter_program filter[SYS_ARCHES]);

/* `cavec list [@group]`: prints groups, or the members of one.  Returns the exit status. */
int syscalls_list(const char *group, FILE *to);

#endif
