/* SPDX-License-Identifier: MIT */
/*
 * Random policies through this generator and through libseccomp: the same answer for every number and for the
 * boundaries of every argument.  A direct evaluation of the policy says who is right; where libseccomp is not, that
 * is counted and shown, and is no failure of ours.
 */
#include "bpf/vm.h"
#include "compiler/syscalls.h"
#include "tests/container_policy.h"
#include "tests/plain_policy.h"
#include "tests/unit/unit.h"

enum {
	POLICIES = 3000, /* in all, by turns for the three architectures */
	RULES = 30,
	DENSE = 10, /* one in ten allows most calls */
	SAMPLES = 24,
	NUMBERS = SYS_NUMBER_MAX + 1,
};

struct tally {
	size_t policies, refused, answers, ours, theirs;
	char first[200]; /* difference of libseccomp's */
};

static uint64_t rng(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t below(uint64_t *state, uint64_t n)
{
	return (rng(state) >> 11) % n;
}

/* --- random policies -------------------------------------------------------------------------- */

/* The calls whose name and number libseccomp knows too, here and on the architecture. */
static size_t shared_calls(struct arena *a, enum sys_arch arch, const struct syscall_row ***out)
{
	size_t rows, n = 0;
	const struct syscall_row *row = syscall_table(&rows);

	*out = ARENA_ARRAY(a, rows, const struct syscall_row *);
	for (size_t i = 0; i < rows; i++)
		if (row[i].nr[arch] >= 0 && seccomp_syscall_resolve_name(row[i].name) != __NR_SCMP_ERROR &&
		    seccomp_syscall_resolve_name_arch(plain_scmp_arch(arch), row[i].name) == row[i].nr[arch])
			(*out)[n++] = &row[i];
	return n;
}

static uint64_t random_value(uint64_t *state)
{
	static const uint64_t edges[] = { 0,	      1,	   2,	      38,	   0x5401,
					  0x7fffffff, 0x80000000,  0xffffffff, 0x100000000, 0x100000001,
					  0x7fffffffffffffff,	   UINT64_MAX - 1,	   UINT64_MAX };
	uint64_t r = rng(state);

	return r & 1 ? edges[(r >> 8) % (sizeof edges / sizeof edges[0])] : r >> (r >> 2) % 64;
}

static uint64_t random_mask(uint64_t *state)
{
	static const uint64_t masks[] = { 1, 0xf, 0x7e020000, 0xff00000000, 0xffffffff, 0x8000000000000000 };
	uint64_t r = rng(state);

	return r & 1 ? masks[(r >> 8) % (sizeof masks / sizeof masks[0])] : r >> (r >> 2) % 64;
}

static struct plain_condition random_condition(uint64_t *state, unsigned arg)
{
	static const enum scmp_compare ops[] = { SCMP_CMP_NE, SCMP_CMP_LT, SCMP_CMP_LE,	       SCMP_CMP_EQ,
						 SCMP_CMP_GE, SCMP_CMP_GT, SCMP_CMP_MASKED_EQ, SCMP_CMP_MASKED_EQ };
	struct plain_condition c = { .arg = arg, .op = ops[below(state, sizeof ops / sizeof ops[0])] };

	c.a = c.op == SCMP_CMP_MASKED_EQ ? random_mask(state) : random_value(state);
	c.b = c.op == SCMP_CMP_MASKED_EQ ? random_value(state) & c.a : 0;
	return c;
}

static struct sys_result random_result(uint64_t *state)
{
	static const struct sys_result result[] = {
		{ SYS_ALLOW, 0 }, { SYS_ALLOW, 0 }, { SYS_ERRNO, EPERM }, { SYS_ERRNO, ENOSYS }, { SYS_KILL, 0 }
	};

	return result[below(state, sizeof result / sizeof result[0])];
}

/*
 * One rule with up to three conditions, or up to four rules with one each.  libseccomp wants each argument at most once
 * in a rule; of several rules with several conditions it can take longer than anyone waits.
 */
static size_t random_rules_of(uint64_t *state, const struct syscall_row *row, const struct plain_policy *p,
			      struct plain_rule *rule)
{
	struct sys_result result = random_result(state);
	size_t n = 1 + below(state, 4), conditions = n > 1 ? 1 : below(state, 4);

	while (plain_answer_of(result) == plain_answer_of(p->otherwise))
		result = random_result(state);
	for (size_t i = 0; i < n; i++) {
		rule[i] = (struct plain_rule){ .name = row->name, .nr = (uint32_t)row->nr[p->arch], .result = result };
		for (unsigned arg = 0; conditions && arg < 3; arg++)
			if (below(state, 2) && rule[i].n < conditions)
				rule[i].condition[rule[i].n++] = random_condition(state, arg);
	}
	return n;
}

static struct plain_policy random_policy(struct arena *a, uint64_t *state, enum sys_arch arch,
					 const struct syscall_row **calls, size_t ncalls)
{
	struct plain_policy p = { .arch = arch, .width = 64 };
	size_t want = 1 + below(state, RULES);
	struct plain_rule *rule = ARENA_ARRAY(a, RULES + 4, struct plain_rule);

	p.otherwise = below(state, 4) ? (struct sys_result){ SYS_ERRNO, EPERM } : (struct sys_result){ SYS_ALLOW, 0 };
	p.rule = rule;
	/* Ascending numbers are not wanted, the same call twice neither. */
	for (size_t i = below(state, ncalls), step = 1 + 2 * below(state, 40); p.n < want; i += step) {
		const struct syscall_row *row = calls[i % ncalls];
		bool known = false;

		for (size_t j = 0; j < p.n; j++)
			known |= rule[j].name == row->name;
		if (known)
			break;
		p.n += random_rules_of(state, row, &p, &rule[p.n]);
	}
	return p;
}

/* --- comparing -------------------------------------------------------------------------------- */

struct programs {
	struct filter_program ours;
	const struct sock_filter *theirs;
	size_t ntheirs;
};

static void compare(const struct plain_policy *p, const struct programs *f, const struct seccomp_data *data,
		    struct tally *t)
{
	uint32_t right = plain_answer(p, data);
	uint32_t ours = cbpf_run(f->ours.insn, f->ours.n, data, NULL);
	uint32_t theirs = cbpf_run(f->theirs, f->ntheirs, data, NULL);

	t->answers++;
	t->ours += ours != right;
	t->theirs += theirs != right;
	if (theirs != right && !t->first[0])
		snprintf(t->first, sizeof t->first, "%s number %d (%llx, %llx, %llx): %x instead of %x",
			 sys_arch_name(p->arch), data->nr, (unsigned long long)data->args[0],
			 (unsigned long long)data->args[1], (unsigned long long)data->args[2], theirs, right);
}

/* A value at a boundary of a condition of the rule, or any. */
static uint64_t sample_value(uint64_t *state, const struct plain_rule *r, unsigned arg)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct plain_condition *c = &r->condition[i];

		if (c->arg != arg || below(state, 6) == 0)
			continue;
		if (c->op == SCMP_CMP_MASKED_EQ)
			return (c->b ^ (below(state, 3) ? 0 : UINT64_C(1) << below(state, 64))) |
			       (rng(state) & ~c->a);
		return (c->a + below(state, 3) - 1) ^ (below(state, 4) ? 0 : UINT64_C(1) << below(state, 64));
	}
	return random_value(state);
}

static void compare_arguments(uint64_t *state, const struct plain_policy *p, const struct programs *f,
			      struct tally *t)
{
	for (size_t i = 0; i < p->n; i++)
		for (unsigned s = 0; p->rule[i].n && s < SAMPLES; s++) {
			struct seccomp_data data = { .nr = (int)p->rule[i].nr, .arch = sys_arch_audit(p->arch) };

			for (unsigned arg = 0; arg < 3; arg++)
				data.args[arg] = sample_value(state, &p->rule[i], arg);
			compare(p, f, &data, t);
		}
}

static void compare_numbers(const struct plain_policy *p, const struct programs *f, struct tally *t)
{
	static const uint64_t args[][3] = { { 0, 0, 0 }, { UINT64_MAX, UINT64_MAX, UINT64_MAX } };

	for (int nr = 0; nr < NUMBERS; nr++) {
		struct seccomp_data data = { .nr = nr, .arch = sys_arch_audit(p->arch) };

		memcpy(data.args, args[nr & 1], sizeof args[0]);
		compare(p, f, &data, t);
	}
}

/* Of another architecture every call ends the process, in both. */
static void compare_architectures(const struct plain_policy *p, const struct programs *f, struct tally *t)
{
	for (enum sys_arch arch = 0; arch < SYS_ARCHES; arch++) {
		struct seccomp_data data = { .nr = (int)p->rule[0].nr, .arch = sys_arch_audit(arch) };
		uint32_t ours = cbpf_run(f->ours.insn, f->ours.n, &data, NULL);
		uint32_t theirs = cbpf_run(f->theirs, f->ntheirs, &data, NULL);

		if (arch == p->arch)
			continue;
		t->answers++;
		t->ours += ours != SECCOMP_RET_KILL_PROCESS;
		t->theirs += theirs != SECCOMP_RET_KILL_PROCESS;
	}
}

static void one_policy(uint64_t *state, const struct plain_policy *p, struct arena *a, struct tally *t)
{
	struct sys_rules rules = plain_rules(a, p);
	struct programs f = { 0 };
	struct gen_error e;
	size_t bad;

	f.ntheirs = plain_libseccomp(a, p, 1 + (uint32_t)below(state, 2), &f.theirs);
	if (f.ntheirs == 0 || !cbpf_check(f.theirs, f.ntheirs, &bad)) {
		t->refused++;
		return;
	}
	t->policies++;
	if (!seccomp_generate(a, &rules, &f.ours, &e)) {
		t->ours++;
		return;
	}
	compare_numbers(p, &f, t);
	compare_arguments(state, p, &f, t);
	compare_architectures(p, &f, t);
}

/* Most calls, as the policies that people write: long runs with exceptions. */
static struct plain_policy dense_policy(struct arena *a, uint64_t *state, enum sys_arch arch,
					const struct syscall_row **calls, size_t ncalls)
{
	struct plain_policy p = { .arch = arch, .width = 64, .otherwise = { SYS_ERRNO, EPERM } };
	struct plain_rule *rule = ARENA_ARRAY(a, 4 * ncalls, struct plain_rule);
	uint64_t left_out = 2 + below(state, 12);

	p.rule = rule;
	for (size_t i = 0; i < ncalls; i++) {
		if (below(state, 40) == 0)
			p.n += random_rules_of(state, calls[i], &p, &rule[p.n]);
		else if (below(state, left_out))
			rule[p.n++] = (struct plain_rule){ .name = calls[i]->name,
							   .nr = (uint32_t)calls[i]->nr[arch],
							   .result = { SYS_ALLOW, 0 } };
	}
	return p;
}

static void random_policies(enum sys_arch arch)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15) + arch;
	const struct syscall_row **calls;
	struct arena table = { NULL };
	size_t ncalls = shared_calls(&table, arch, &calls);
	struct tally t = { 0 };

	check(ncalls > 250, "%s: %zu calls have the same number in libseccomp", sys_arch_name(arch), ncalls);
	for (unsigned i = 0; i < POLICIES / SYS_ARCHES; i++) {
		struct arena a = { NULL };
		struct plain_policy p = (i % DENSE ? random_policy : dense_policy)(&a, &state, arch, calls, ncalls);

		one_policy(&state, &p, &a, &t);
		arena_free(&a);
	}
	check(t.policies > POLICIES / SYS_ARCHES * 9 / 10, "%s: %zu policies compiled by both, %zu refused by libseccomp",
	      sys_arch_name(arch), t.policies, t.refused);
	check(t.ours == 0, "%s: our filters answer as the policies do (%zu answers, %zu wrong)", sys_arch_name(arch),
	      t.answers, t.ours);
	check(t.theirs < t.answers / 100, "%s: libseccomp agrees but for %zu answers", sys_arch_name(arch), t.theirs);
	if (t.theirs)
		printf("# the first of libseccomp's: %s\n", t.first);
	arena_free(&table);
}

/* --- the container world's default policy ----------------------------------------------------- */

static bool proves(struct arena *a, const struct sys_rules *rules, const struct filter_program *f)
{
	struct sources sources;
	struct diags diags;

	sources_init(&sources, a);
	diags_init(&diags, &sources);
	return syscalls_prove(&diags, rules, f);
}

/* The numbers of docs/syscalls.md: a filter that grows or slows down is noticed here. */
static void container(void)
{
	struct arena a = { NULL };
	struct plain_policy p = container_policy(&a);
	struct sys_rules rules = plain_rules(&a, &p);
	struct filter_program f = { 0 };
	struct executed e = { 0 };
	struct gen_error error;
	bool right = p.n > 300 && seccomp_generate(&a, &rules, &f, &error) && proves(&a, &rules, &f);

	check(right, "%s: generated and proved", CONTAINER_POLICY);
	if (right)
		e = executed(&p, f.insn, f.n);
	check(right && f.n <= 59, "%zu instructions", f.n);
	check(right && count_mean(&e.allowed) <= 9.45 && e.allowed.max <= 12, "allowed: %.2f executed, at most %zu",
	      count_mean(&e.allowed), e.allowed.max);
	check(right && count_mean(&e.refused) <= 8.25, "refused: %.2f executed", count_mean(&e.refused));
	check(right && count_mean(&e.arguments) <= 1050, "with conditions: %.2f executed",
	      count_mean(&e.arguments) / 100);
	check(right && e.cached == e.allowed.n && e.allowed.n == 305, "%zu of %zu allowed ones can be cached", e.cached,
	      e.allowed.n);
	arena_free(&a);
}

int main(void)
{
	container();
	for (enum sys_arch arch = 0; arch < SYS_ARCHES; arch++)
		random_policies(arch);
	return unit_done();
}
