/* SPDX-License-Identifier: MIT */
/*
 * Everything that a start needs, resolved to descriptors and strings before anything is started.  What comes
 * after takes it const.
 */
#ifndef CAVE_RUNTIME_PLAN_H
#define CAVE_RUNTIME_PLAN_H

#include "bpf/artefact.h"
#include "runtime/descriptors.h"
#include "runtime/files.h"
#include "runtime/memory.h"
#include "runtime/operator.h"
#include "runtime/options.h"
#include "runtime/program.h"
#include "runtime/report.h"
#include "runtime/user.h"
#include "runtime/workspace.h"

struct plan {
	struct memory memory; /* holds all of it */
	struct artefact artefact;
	struct operator_rules rules;
	int landlock_abi;
	const struct user *user; /* NULL: stay who the caller is */
	struct workspace workspace;
	struct program program;
	struct files files;
	char **env;
	const char *cwd; /* NULL: stay where the caller is */
	const struct descriptors *descriptors;
	const int *keep; /* as in struct options */
	size_t nkeep;
};

/*
 * Makes the plan, in the order of the documentation: the policy and its checks, the operator's rules, what the
 * host can enforce, then the folder, the files, the program and the environment.  plan_free() undoes it,
 * a fresh workspace included; after a failure nothing is left.
 */
bool plan_make(const struct options *o, const struct descriptors *d, char *const *environment, struct plan *out,
	       struct refusal *r);

void plan_free(struct plan *p);

#endif
