/* SPDX-License-Identifier: MIT */
/*
 * A resolved syscall policy for one architecture: what the seccomp generator turns into code.
 *
 * Every system call that the architecture's table knows has an entry.  A call's decision is taken from its
 * clauses that match: a deny clause beats every allow, one that is counted or logged beats a plain allow, that beats
 * a guarded one, no clause at all means `refused`.  Numbers that are not in the table, and x32, get `unknown`.  A
 * foreign architecture ends the process.
 */
#ifndef CAVE_BPF_SYSRULES_H
#define CAVE_BPF_SYSRULES_H

#include "bpf/netset.h" /* line_id */

enum sys_action {
	SYS_ALLOW,
	SYS_ALLOW_LOGGED, /* SECCOMP_RET_LOG: allowed and logged */
	SYS_GUARD_METADATA, /* allowed where CAVE_PATCH_RET_METADATA says so */
	SYS_GUARD_SIGNAL, /* allowed where CAVE_PATCH_RET_SIGNAL says so */
	SYS_COUNTED, /* SECCOMP_RET_USER_NOTIF: the runtime, which counts processes, lets it through */
	SYS_EXEC_ONCE, /* allowed with the runtime's random value in arguments 3 to 5 */
	SYS_ERRNO, /* refused with sys_result.error; with 0 the call is not made either */
	SYS_KILL, /* SECCOMP_RET_KILL_PROCESS */
};

struct sys_result {
	enum sys_action action;
	uint16_t error; /* errno, for SYS_ERRNO */
};

static inline bool sys_result_equal(struct sys_result a, struct sys_result b)
{
	return a.action == b.action && a.error == b.error;
}

struct sys_range {
	uint64_t lo, hi; /* inclusive, unsigned */
};

/*
 * (argument `arg`, as `width` bits, & mask) lies in one of the ranges.  The ranges are sorted and disjoint and
 * not empty.  With `self` there are no ranges: the 32-bit argument equals the tool's own process id
 * (CAVE_PATCH_SELF).  A 32-bit test looks at the low half of the register only, as the kernel does when it
 * truncates the argument to an int.
 */
struct sys_test {
	uint8_t arg; /* 0 to 5 */
	uint8_t width; /* 32 or 64 */
	bool self;
	uint64_t mask;
	const struct sys_range *range;
	size_t nranges;
};

/* All tests hold -> the clause matches.  No tests: it always does. */
struct sys_clause {
	struct sys_result result;
	const struct sys_test *test;
	size_t ntests;
	line_id line;
};

struct sys_call {
	uint32_t nr;
	const char *name;
	const struct sys_clause *clause;
	size_t nclauses;
};

struct sys_rules {
	uint32_t arch; /* AUDIT_ARCH_* */
	const char *arch_name; /* "x86_64" */
	const struct sys_call *call; /* sorted by nr, no two equal */
	size_t ncalls;
	struct sys_result refused; /* a known call that no clause allows: ERRNO|EPERM in a profile */
	struct sys_result unknown; /* ERRNO|ENOSYS in a profile */
};

#endif
