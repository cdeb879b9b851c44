/* SPDX-License-Identifier: MIT */
/*
 * The container world's default policy (tests/data), and what is measured of a filter for it.  Its three calls with
 * conditions take ints, so they are compared in 32 bits.
 */
#ifndef CAVE_TESTS_CONTAINER_POLICY_H
#define CAVE_TESTS_CONTAINER_POLICY_H

#include <stdio.h>

#include "bpf/vm.h"
#include "tests/plain_policy.h"

#define CONTAINER_POLICY "tests/data/container-default-x86_64.txt"

enum { CONTAINER_NUMBERS = 470 }; /* below the end of the kernel's table, Linux 6.18 */

static inline enum scmp_compare container_compare(const char *name)
{
	return strcmp(name, "LT") == 0 ? SCMP_CMP_LT :
	       strcmp(name, "GT") == 0 ? SCMP_CMP_GT :
	       strcmp(name, "EQ") == 0 ? SCMP_CMP_EQ :
					 SCMP_CMP_MASKED_EQ;
}

/* "allow NAME NUMBER [ARGUMENT COMPARISON VALUE VALUE]", or errno:ERRNO for allow. */
static inline bool container_rule(struct arena *a, const char *line, struct plain_rule *out)
{
	char action[16], name[64], compare[16];
	struct plain_condition *c = out->condition;
	int n = sscanf(line, "%15s %63s %u %u %15s %lu %lu", action, name, &out->nr, &c->arg, compare, &c->a, &c->b);

	bool allow = strcmp(action, "allow") == 0;

	if ((n != 3 && n != 7) || (!allow && strncmp(action, "errno:", 6) != 0))
		return false;
	out->name = arena_strdup(a, name);
	out->result = allow ? (struct sys_result){ SYS_ALLOW, 0 } :
			      (struct sys_result){ SYS_ERRNO, (uint16_t)atoi(action + 6) };
	out->n = n == 7;
	if (n == 7)
		c->op = container_compare(compare);
	return true;
}

/* Read from the folder that the tests are run in.  No rules if it cannot be read. */
static inline struct plain_policy container_policy(struct arena *a)
{
	struct plain_policy p = { .arch = SYS_X86_64, .width = 32, .otherwise = { SYS_ERRNO, EPERM } };
	struct plain_rule *rule = NULL;
	FILE *f = fopen(CONTAINER_POLICY, "r");
	size_t cap = 0;
	char line[256];

	while (f && fgets(line, sizeof line, f)) {
		struct plain_rule r = { 0 };

		if (line[0] != '#' && container_rule(a, line, &r))
			*ARENA_PUSH(a, rule, p.n, cap) = r;
	}
	if (f)
		fclose(f);
	p.rule = rule;
	return p;
}

/* --- what is measured ------------------------------------------------------------------------- */

struct count {
	size_t n, sum, min, max;
};

struct executed {
	struct count allowed, refused; /* by their number alone */
	struct count arguments; /* by the boundaries of their conditions: sum of means in hundredths */
	size_t cached;
};

static inline void count_add(struct count *c, size_t v)
{
	c->min = c->n == 0 || v < c->min ? v : c->min;
	c->max = v > c->max ? v : c->max;
	c->sum += v;
	c->n++;
}

static inline double count_mean(const struct count *c)
{
	return c->n ? (double)c->sum / (double)c->n : 0;
}

/* As seccomp_is_const_allow (kernel/seccomp.c): what the kernel can tell without running the filter. */
static inline bool kernel_caches(const struct sock_filter *f, size_t n, uint32_t arch, uint32_t nr)
{
	uint32_t a = 0;
	bool taken;

	for (size_t pc = 0; pc < n; pc++) {
		switch (f[pc].code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (f[pc].k > offsetof(struct seccomp_data, arch))
				return false;
			a = f[pc].k == offsetof(struct seccomp_data, nr) ? nr : arch;
			continue;
		case BPF_RET | BPF_K: return f[pc].k == SECCOMP_RET_ALLOW;
		case BPF_JMP | BPF_JA: pc += f[pc].k; continue;
		case BPF_ALU | BPF_AND | BPF_K: a &= f[pc].k; continue;
		case BPF_JMP | BPF_JEQ | BPF_K: taken = a == f[pc].k; break;
		case BPF_JMP | BPF_JGE | BPF_K: taken = a >= f[pc].k; break;
		case BPF_JMP | BPF_JGT | BPF_K: taken = a > f[pc].k; break;
		case BPF_JMP | BPF_JSET | BPF_K: taken = a & f[pc].k; break;
		default: return false;
		}
		pc += taken ? f[pc].jt : f[pc].jf;
	}
	return false;
}

static inline const struct plain_rule *conditions_of(const struct plain_policy *p, uint32_t nr)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rule[i].nr == nr && p->rule[i].n)
			return &p->rule[i];
	return NULL;
}

static inline size_t steps_of(const struct sock_filter *f, size_t n, uint32_t arch, uint32_t nr, uint64_t arg)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = arch, .args = { arg } };
	size_t steps;

	cbpf_run(f, n, &data, &steps);
	return steps;
}

/* One call by the values around those of its conditions, or with each bit that its masks name. */
static inline struct count executed_arguments(const struct plain_policy *p, const struct sock_filter *f, size_t n,
					      uint32_t arch, uint32_t nr)
{
	struct count c = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct plain_condition *test = p->rule[i].condition;

		if (p->rule[i].nr != nr || p->rule[i].n == 0)
			continue;
		if (test->op == SCMP_CMP_MASKED_EQ)
			count_add(&c, steps_of(f, n, arch, nr, 0));
		for (unsigned bit = 0; bit < 32 && test->op == SCMP_CMP_MASKED_EQ; bit++)
			if (test->a >> bit & 1)
				count_add(&c, steps_of(f, n, arch, nr, UINT64_C(1) << bit));
		for (unsigned j = 0; j < 3 && test->op != SCMP_CMP_MASKED_EQ; j++)
			count_add(&c, steps_of(f, n, arch, nr, (test->a + j - 1) & UINT32_MAX));
	}
	return c;
}

static inline struct executed executed(const struct plain_policy *p, const struct sock_filter *f, size_t n)
{
	uint32_t arch = sys_arch_audit(p->arch);
	struct executed e = { 0 };

	for (uint32_t nr = 0; nr < CONTAINER_NUMBERS; nr++) {
		struct seccomp_data data = { .nr = (int)nr, .arch = arch };
		struct count c;

		if (!conditions_of(p, nr)) {
			count_add(plain_answer(p, &data) == SECCOMP_RET_ALLOW ? &e.allowed : &e.refused,
				  steps_of(f, n, arch, nr, 0));
			e.cached += kernel_caches(f, n, arch, nr);
			continue;
		}
		c = executed_arguments(p, f, n, arch, nr);
		count_add(&e.arguments, (size_t)(100 * count_mean(&c) + 0.5));
	}
	return e;
}

#endif
