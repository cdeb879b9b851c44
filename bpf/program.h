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

/*
 * Where a program judges something, and goes from `at` to one of the exits.  That is what the generator meant: the
 * proof shows it before it makes use of it.
 */
enum judgement_kind {
	/*
	 * Whether a peer is granted, or an endpoint of one's own: the protocol is in R0, the port in R7, the address in R8
	 * (IPv4) or R2 to R5 (IPv6), all in host order.
	 */
	JUDGED_PEER,
	JUDGED_OWN,
	JUDGED_SOME_PORT, /* whether UDP reaches some IPv4 address by the port in R7, or that is 0 */
	/*
	 * Whether UDP reaches the IPv4 address in R1 by some port; a program may know at the same time whether it does by
	 * the port in R7.
	 */
	JUDGED_SOME_ADDRESS,
	JUDGED_KINDS,
};

/* JUDGED_SOME_ADDRESS: yes and no are about the port too, the others about the address alone. */
enum judged_exit { JUDGED_NO, JUDGED_YES, JUDGED_UNREACHED, JUDGED_REACHED, JUDGED_EXITS };

struct judgement {
	enum judgement_kind what;
	enum net_proto proto;
	enum net_family family;
	size_t at, exit[JUDGED_EXITS]; /* instructions; an exit that is 0 is none */
};

/*
 * A function that programs share (cave/artefact.h says how they call it).  It takes numbers in R1 to R5 and returns one
 * in R0; it calls none itself.
 */
struct function {
	const char *name;
	unsigned arguments;
	const struct bpf_insn *insn;
	const line_id *line;
	size_t n;
};

enum { FUNCTIONS_MAX = CAVE_FUNCTIONS_MAX };

struct function_list {
	struct function function[FUNCTIONS_MAX];
	size_t n;
};

/*
 * An egress program (eBPF), and behind it the functions that it calls.  A 16-byte load counts as two instructions, the
 * second one all zero.
 */
struct hook_program {
	enum cave_hook hook;
	const struct bpf_insn *insn;
	const line_id *line;
	size_t n;
	size_t shared; /* so many of these, the last ones, are the functions'; a call's `imm` leads there */
	uint32_t called; /* bit i: function i is one of them; they are in that order */
	const struct function_list *functions; /* one and the same for all programs of a policy; NULL: not known */
	const struct cave_resolver_patch *patch; /* ascending by insn */
	size_t npatches;
	const struct judgement *judgement;
	size_t njudgements;
	size_t refusal; /* the instruction from which on what is refused is counted; 0: not known */
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
