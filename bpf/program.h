/* SPDX-License-Identifier: MIT */
/* What the generators emit: instructions, and the source line behind each. */
#ifndef CAVE_BPF_PROGRAM_H
#define CAVE_BPF_PROGRAM_H

#include <linux/bpf.h>
#include <linux/filter.h>

#include "bpf/arena.h"
#include "bpf/netset.h"
#include "bpf/sysrules.h"
#include "cave/artefact.h"
#include "cave/hooks.h"

/* A syscall filter (classic BPF).  line[i] is where insn[i] came from. */
struct filter_program {
	const struct sock_filter *insn;
	const line_id *line;
	size_t n;
	const struct cave_patch *patch; /* ascending by insn */
	size_t npatches;
};

/*
 * A map that the egress programs of a policy share (struct cave_map of cave/artefact.h).  A table has contents,
 * `value_size` bytes of them, and is read only; any other map is empty at first, and programs may write to it.
 */
struct map_def {
	const char *name; /* at most CAVE_MAP_NAME_MAX bytes of [a-z0-9_] */
	struct cave_map spec;
	const void *contents; /* of a table, else NULL */
};

struct map_list {
	const struct map_def *map; /* instructions refer to maps by their place in it */
	size_t n;
};

/* An egress program (eBPF).  A 16-byte load counts as two instructions, the second one all zero. */
struct hook_program {
	enum cave_hook hook;
	const struct bpf_insn *insn;
	const line_id *line;
	size_t n;
	const struct cave_resolver_patch *patch; /* ascending by insn */
	size_t npatches;
	const struct map_list *maps; /* one and the same for all programs of a policy; NULL: none */
};

/* Why a program could not be generated; the driver turns it into a diagnostic. */
struct gen_error {
	size_t needed, limit; /* instructions, or what `unit` says */
	const char *unit; /* NULL: instructions */
	const char *detail; /* the biggest contributors, in the arena; NULL if there are none to name */
};

/*
 * Generates the filter for `rules`.  Returns false with *error set, and *out untouched, if it would be longer
 * than the kernel's 4096 instructions (BPF_MAXINSNS, linux/bpf_common.h).
 */
bool seccomp_generate(struct arena *a, const struct sys_rules *rules, struct filter_program *out,
		      struct gen_error *error);

/*
 * Generates one program per hook, in the order of CAVE_HOOKS, out[CAVE_HOOK_COUNT].  Returns false with *error
 * set, and out untouched, if one would not load.
 */
bool egress_generate(struct arena *a, const struct net_set *set, struct hook_program *out,
		     struct gen_error *error);

#endif
