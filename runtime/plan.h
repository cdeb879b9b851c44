/* SPDX-License-Identifier: MIT */
/*
 * What a start needs and can be known before: resolved to descriptors and strings.  What comes after takes it const.
 */
#ifndef CAVE_RUNTIME_PLAN_H
#define CAVE_RUNTIME_PLAN_H

#include "bpf/artefact.h"
#include "cave.h"
#include "runtime/files.h"
#include "runtime/folders.h"
#include "runtime/memory.h"
#include "runtime/namespaces.h"
#include "runtime/operator.h"
#include "runtime/policy.h"
#include "runtime/program.h"
#include "runtime/report.h"
#include "runtime/user.h"

enum { PLAN_BOUND = 3 };

struct plan {
	struct memory *memory; /* holds what is pointed to */
	const struct artefact *artefact; /* the policy's, as it was chosen then */
	struct operator_rules rules;
	int bound[PLAN_BOUND]; /* the file of the rules, and records; not the plan's to close; -1: none */
	int landlock_abi;
	int dumpable; /* PR_GET_DUMPABLE of the caller: a start may change it, and others start at the same time */
	const struct user *user; /* NULL: stay who the caller is */
	struct folders folders;
	const char *script; /* canonical; NULL: there is none */
	struct program_file script_seen;
	struct program program;
	bool keep; /* it is for many starts */
	struct files files;
	struct namespaces namespaces;
	int null; /* /dev/null, where it is kept for many starts; else -1 */
	const char *cwd; /* NULL: stay where the caller is */
};

/* From here on plan_close() may be called, and memory may run out at any time. */
void plan_init(struct plan *p, struct memory *m, const struct cave_policy *policy);

/* True if each tool has a folder of its own, and so a plan of its own. */
bool plan_is_fresh(const struct cave_policy *policy, const struct cave_options *o);

/* The operator's rules, what the host can enforce, and the user. */
bool plan_check(struct plan *p, const struct cave_options *o, struct refusal *r);

/* After that, in the order of the documentation: the folders, the program, the files. */
bool plan_make(struct plan *p, const struct cave_policy *policy, const struct cave_options *o, struct refusal *r);

/* Removes fresh folders; false, with *r if that is not NULL, if it stays. */
bool plan_close(struct plan *p, struct refusal *r);

#endif
