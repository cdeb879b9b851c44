/* SPDX-License-Identifier: MIT */
/*
 * Algebra of conditions: alternatives of tests are subtracted from each other, brought to a normal form and
 * written out again.  Everything is exact, or says that it is not.
 */
#ifndef CAVE_COMPILER_SYSCALLS_CLAUSES_H
#define CAVE_COMPILER_SYSCALLS_CLAUSES_H

#include "compiler/buffer.h"
#include "compiler/syscalls_condition.h"

/* Both hold. */
struct alternative alternative_both(struct arena *a, const struct alternative *x, const struct alternative *y);

/*
 * False only if no arguments satisfy all tests; a test of `self` may hold.  True if that was too much to find out,
 * which takes masks that overlap in many bits.
 */
bool alternative_possible(const struct alternative *x);

/* What of `from` is not in `what`; clauses with `self` take nothing away.  False if that has too many alternatives. */
bool alternatives_subtract(struct arena *a, struct alternatives from, struct alternatives what,
			   struct alternatives *out);

/*
 * The same condition with what is impossible or covered left out, neighbours joined, and everything in one order, so
 * that spellings of one condition become equal.
 */
struct alternatives alternatives_normal(struct arena *a, struct alternatives alt);

/* True if whatever satisfies `y` satisfies `x`, as far as their single tests show it. */
bool alternative_covers(const struct alternative *x, const struct alternative *y);

bool alternatives_equal(struct alternatives x, struct alternatives y);

/*
 * The clauses of one call in normal form: spellings that mean the same become the same clauses, and so the same filter.
 * Those with one result stand together.
 */
const struct sys_clause *clauses_normal(struct arena *a, const struct sys_clause *clause, size_t n, size_t *nout);

/* As text of the language, which means the same on every architecture. */
void alternatives_print(struct buffer *to, const struct syscall_arg *args, struct alternatives alt);

#endif
