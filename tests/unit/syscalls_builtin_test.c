/* SPDX-License-Identifier: MIT */
/*
 * The tables of the built-in sets: the filters in them are what the generator makes of the clauses in them, and do what
 * these say; a policy has the filter of its sets, and one with a line of its own has none.
 */
#include <errno.h>
#include <string.h>

#include "compiler/syscalls.h"
#include "compiler/syscalls_rules.h"
#include "tests/unit/unit.h"

static bool same_filter(const struct filter_program *a, const struct filter_program *b)
{
	return a->n == b->n && memcmp(a->insn, b->insn, a->n * sizeof *a->insn) == 0 && a->npatches == b->npatches &&
	       memcmp(a->patch, b->patch, a->npatches * sizeof *a->patch) == 0 &&
	       memcmp(a->line, b->line, a->n * sizeof *a->line) == 0;
}

static bool right(uint32_t sets, enum sys_arch arch)
{
	const struct filter_program *ready = &builtin_tables.filter[sets][arch];
	const struct policy policy = { .base_syscalls = true };
	struct arena a = { NULL };
	struct filter_program made;
	struct sources sources;
	struct sys_rules rules;
	struct gen_error e;
	struct diags d;
	bool good;

	sources_init(&sources, &a);
	diags_init(&d, &sources);
	good = syscalls_resolve_sets(&d, &a, &policy, &builtin_tables, sets, arch, &rules) &&
	       seccomp_generate(&a, &rules, &made, &e) && same_filter(ready, &made) && syscalls_prove(&d, &rules, ready);
	arena_free(&a);
	return good;
}

static void filters(void)
{
	unsigned choices = 0, good = 0;

	for (uint32_t sets = 0; sets < BUILTIN_CHOICES; sets++)
		for (enum sys_arch arch = 0; arch < SYS_ARCHES && builtin_choice(sets); arch++) {
			choices++;
			good += right(sets, arch);
		}
	check(choices >= 42 * SYS_ARCHES && good == choices, "filters of the built-in sets: %u of %u are as generated",
	      good, choices);
}

static void policies(void)
{
	const struct node *const line[] = { NULL };
	struct net_interval all = { .hi = { UINT64_MAX, UINT64_MAX } };
	struct net_set none = { .resolver = false }, tcp = none;
	struct policy p = { .base_syscalls = true };
	const struct filter_program *offline, *online;

	tcp.cell[NET_TCP][NET_V4] = (struct net_cell){ &all, 1 };
	offline = syscalls_ready_filter(&p, &none, SYS_X86_64);
	online = syscalls_ready_filter(&p, &tcp, SYS_X86_64);
	check(offline == &builtin_tables.filter[BUILTIN_BIT(BUILTIN_BASE)][SYS_X86_64] && offline->n, "no network");
	check(online == &builtin_tables.filter[BUILTIN_BIT(BUILTIN_BASE) | BUILTIN_BIT(BUILTIN_NETWORK) |
					       BUILTIN_BIT(BUILTIN_TCP)][SYS_X86_64] && online->n, "a grant of tcp");
	p.sys_rule = line;
	p.nsys_rules = 1;
	check(!syscalls_ready_filter(&p, &none, SYS_X86_64), "a line of its own: to be generated");
	p.nsys_rules = 0;
	p.base_syscalls = false;
	check(!syscalls_ready_filter(&p, &none, SYS_X86_64), "without the base set: to be generated");
	p.base_syscalls = p.bare = true;
	check(!syscalls_ready_filter(&p, &none, SYS_X86_64), "a bare filter: to be generated");
}

int main(void)
{
	filters();
	policies();
	return unit_done();
}
