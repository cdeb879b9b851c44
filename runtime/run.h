/* SPDX-License-Identifier: MIT */
/* What belongs to one start only, beside its plan. */
#ifndef CAVE_RUNTIME_RUN_H
#define CAVE_RUNTIME_RUN_H

#include <signal.h>

#include "cave.h"
#include "runtime/descriptors.h"
#include "runtime/plan.h"

struct run {
	const struct plan *plan;
	char **argv, **env;
	struct descriptors descriptors;
	int ruleset; /* the child adds to it: for this start only */
	bool own_ruleset; /* and not the plan's */
	int null; /* /dev/null, where it stands for one of 0 to 2; else -1 */
	sigset_t mask; /* the tool's */
};

/* Fills *out, which run_close() closes also after a failure, or where memory ran out. */
bool run_make(struct memory *m, const struct plan *plan, const struct cave_spawn *s, struct run *out,
	      struct refusal *r);

/* Once the tool has been started, or was not. */
void run_close(struct run *run);

#endif
