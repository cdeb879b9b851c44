/* SPDX-License-Identifier: MIT */
/*
 * System call policies as every compiler of filters knows them: by name, one action, conditions that all hold.  They
 * become rules of our generator, a filter by libseccomp, and answers by a direct evaluation.
 */
#ifndef CAVE_TESTS_PLAIN_POLICY_H
#define CAVE_TESTS_PLAIN_POLICY_H

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/program.h"
#include "compiler/syscalls_data.h"

enum { PLAIN_CONDITIONS = 4 };

/* (argument & a) == b for SCMP_CMP_MASKED_EQ, a comparison with `a` otherwise. */
struct plain_condition {
	unsigned arg;
	enum scmp_compare op;
	uint64_t a, b;
};

struct plain_rule {
	const char *name;
	uint32_t nr; /* on the policy's architecture */
	struct sys_result result;
	struct plain_condition condition[PLAIN_CONDITIONS];
	size_t n;
};

struct plain_policy {
	enum sys_arch arch;
	unsigned width; /* in which arguments are compared: 64, as libseccomp does, or 32 */
	struct sys_result otherwise;
	const struct plain_rule *rule;
	size_t n;
};

/* --- directly --------------------------------------------------------------------------------- */

static inline uint32_t plain_answer_of(struct sys_result r)
{
	switch (r.action) {
	case SYS_ALLOW: return SECCOMP_RET_ALLOW;
	case SYS_ALLOW_LOGGED: return SECCOMP_RET_LOG;
	case SYS_COUNTED: return SECCOMP_RET_USER_NOTIF;
	case SYS_ERRNO: return SECCOMP_RET_ERRNO | r.error;
	default: return SECCOMP_RET_KILL_PROCESS;
	}
}

static inline bool plain_holds(const struct plain_condition *c, unsigned width, uint64_t v)
{
	v = width == 32 ? v & UINT32_MAX : v;
	switch (c->op) {
	case SCMP_CMP_NE: return v != c->a;
	case SCMP_CMP_LT: return v < c->a;
	case SCMP_CMP_LE: return v <= c->a;
	case SCMP_CMP_EQ: return v == c->a;
	case SCMP_CMP_GE: return v >= c->a;
	case SCMP_CMP_GT: return v > c->a;
	default: return (v & c->a) == c->b;
	}
}

/* A policy has one action for all rules of a call, so their order says nothing. */
static inline uint32_t plain_answer(const struct plain_policy *p, const struct seccomp_data *data)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct plain_rule *r = &p->rule[i];
		bool all = r->nr == (uint32_t)data->nr;

		for (size_t j = 0; all && j < r->n; j++)
			all = plain_holds(&r->condition[j], p->width, data->args[r->condition[j].arg]);
		if (all)
			return plain_answer_of(r->result);
	}
	return plain_answer_of(p->otherwise);
}

/* --- as rules of our generator ---------------------------------------------------------------- */

static inline void plain_range(struct sys_range *range, size_t *n, bool some, uint64_t lo, uint64_t hi)
{
	if (some)
		range[(*n)++] = (struct sys_range){ lo, hi };
}

static inline struct sys_test plain_test(struct arena *a, const struct plain_condition *c, unsigned width)
{
	uint64_t max = width == 32 ? UINT32_MAX : UINT64_MAX, v = c->a;
	struct sys_range *range = ARENA_ARRAY(a, 2, struct sys_range);
	struct sys_test t = { .arg = (uint8_t)c->arg, .width = (uint8_t)width, .mask = max, .range = range };

	if (c->op == SCMP_CMP_MASKED_EQ) {
		t.mask = c->a;
		plain_range(range, &t.nranges, true, c->b, c->b);
		return t;
	}
	if (c->op == SCMP_CMP_NE || c->op == SCMP_CMP_LT || c->op == SCMP_CMP_LE)
		plain_range(range, &t.nranges, c->op == SCMP_CMP_LE || v > 0, 0, c->op == SCMP_CMP_LE ? v : v - 1);
	if (c->op == SCMP_CMP_EQ)
		plain_range(range, &t.nranges, true, v, v);
	if (c->op == SCMP_CMP_NE || c->op == SCMP_CMP_GT || c->op == SCMP_CMP_GE)
		plain_range(range, &t.nranges, c->op == SCMP_CMP_GE || v < max, c->op == SCMP_CMP_GE ? v : v + 1, max);
	return t;
}

static inline struct sys_clause plain_clause(struct arena *a, const struct plain_rule *r, unsigned width)
{
	struct sys_test *test = ARENA_ARRAY(a, PLAIN_CONDITIONS, struct sys_test);

	for (size_t i = 0; i < r->n; i++)
		test[i] = plain_test(a, &r->condition[i], width);
	return (struct sys_clause){ .result = r->result, .test = test, .ntests = r->n };
}

static inline int plain_compare_calls(const void *a, const void *b)
{
	const struct sys_call *x = a, *y = b;

	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/* Every call of the architecture's table, with the clauses that the policy has for it. */
static inline struct sys_rules plain_rules(struct arena *a, const struct plain_policy *p)
{
	size_t rows, n = 0;
	const struct syscall_row *row = syscall_table(&rows);
	struct sys_call *call = ARENA_ARRAY(a, rows, struct sys_call);

	for (size_t i = 0; i < rows; i++)
		if (row[i].nr[p->arch] >= 0)
			call[n++] = (struct sys_call){ .nr = (uint32_t)row[i].nr[p->arch], .name = row[i].name };
	qsort(call, n, sizeof *call, plain_compare_calls);
	for (size_t i = 0; i < p->n; i++) {
		struct sys_call *c = bsearch(&(struct sys_call){ .nr = p->rule[i].nr }, call, n, sizeof *call,
					     plain_compare_calls);
		struct sys_clause *clause = ARENA_ARRAY(a, c->nclauses + 1, struct sys_clause);

		if (c->nclauses)
			memcpy(clause, c->clause, c->nclauses * sizeof *clause);
		clause[c->nclauses++] = plain_clause(a, &p->rule[i], p->width);
		c->clause = clause;
	}
	return (struct sys_rules){ .arch = sys_arch_audit(p->arch),
				   .arch_name = sys_arch_name(p->arch),
				   .call = call,
				   .ncalls = n,
				   .refused = p->otherwise,
				   .unknown = p->otherwise };
}

/* --- by libseccomp ---------------------------------------------------------------------------- */

static inline uint32_t plain_scmp_arch(enum sys_arch arch)
{
	return arch == SYS_X86_64 ? SCMP_ARCH_X86_64 : arch == SYS_AARCH64 ? SCMP_ARCH_AARCH64 : SCMP_ARCH_RISCV64;
}

static inline uint32_t plain_scmp_action(struct sys_result r)
{
	switch (r.action) {
	case SYS_ALLOW: return SCMP_ACT_ALLOW;
	case SYS_ALLOW_LOGGED: return SCMP_ACT_LOG;
	case SYS_ERRNO: return SCMP_ACT_ERRNO(r.error);
	default: return SCMP_ACT_KILL_PROCESS;
	}
}

/*
 * libseccomp takes a call by the number that its name has on the machine's own architecture; one that is newer than
 * it by the bare number, which is right for that architecture alone.
 */
static inline int plain_add_rule(scmp_filter_ctx ctx, const struct plain_rule *r)
{
	struct scmp_arg_cmp cmp[PLAIN_CONDITIONS];
	int nr = seccomp_syscall_resolve_name(r->name);

	for (size_t i = 0; i < r->n; i++)
		cmp[i] = (struct scmp_arg_cmp){ r->condition[i].arg, r->condition[i].op, r->condition[i].a,
						r->condition[i].b };
	return seccomp_rule_add_array(ctx, plain_scmp_action(r->result), nr == __NR_SCMP_ERROR ? (int)r->nr : nr,
				      (unsigned)r->n, cmp);
}

/*
 * The filter that libseccomp makes, in the arena; level 1 is its linear form, 2 the binary tree.  Returns how many
 * instructions, 0 if it refuses.
 */
static inline size_t plain_libseccomp(struct arena *a, const struct plain_policy *p, uint32_t level,
				      const struct sock_filter **out)
{
	scmp_filter_ctx ctx = seccomp_init(plain_scmp_action(p->otherwise));
	uint32_t arch = plain_scmp_arch(p->arch);
	int fd = memfd_create("filter", MFD_CLOEXEC);
	bool ok = ctx && fd >= 0;
	struct sock_filter *insn;
	off_t size;

	if (ok && arch != seccomp_arch_native())
		ok = seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE) == 0 && seccomp_arch_add(ctx, arch) == 0;
	ok = ok && seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, level) == 0 &&
	     seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0;
	for (size_t i = 0; ok && i < p->n; i++)
		ok = plain_add_rule(ctx, &p->rule[i]) == 0;
	ok = ok && seccomp_export_bpf(ctx, fd) == 0;
	size = ok ? lseek(fd, 0, SEEK_END) : 0;
	insn = ARENA_ARRAY(a, (size_t)size / sizeof *insn + 1, struct sock_filter);
	ok = ok && pread(fd, insn, (size_t)size, 0) == size;
	if (fd >= 0)
		close(fd);
	seccomp_release(ctx);
	*out = insn;
	return ok ? (size_t)size / sizeof *insn : 0;
}

#endif
