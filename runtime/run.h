/* SPDX-License-Identifier: MIT */
/* What belongs to one start only, beside its plan. */
#ifndef CAVE_RUNTIME_RUN_H
#define CAVE_RUNTIME_RUN_H

#include <signal.h>

#include "cave.h"
#include "runtime/descriptors.h"
#include "runtime/gate.h"
#include "runtime/plan.h"
#include "runtime/pump.h"

struct run {
	const struct plan *plan;
	char **argv, **env;
	int outer[3]; /* 0 to 2 as the caller has them */
	struct descriptors descriptors;
	const int *join; /* cgroup.procs of groups that it joins; -1 among them is none */
	size_t njoin;
	int ruleset; /* the child adds to it: for this start only */
	bool own_ruleset; /* and not the plan's */
	struct trace *trace; /* NULL: the tool is not traced */
	int null; /* /dev/null, where it stands for one of 0 to 2; else -1 */
	sigset_t mask; /* the tool's */
	gate *gate; /* NULL: nothing is asked meanwhile */
};

/*
 * Fills *out, and *pump where output is limited; run_close() closes also after a failure, or where memory ran out.
 * With `internal` the kept descriptors may be of any kind.
 */
bool run_make(struct memory *m, const struct plan *plan, const struct cave_spawn *s, struct pump *pump,
	      bool internal, struct run *out, struct refusal *r);

/* Once the tool has been started, or was not. */
void run_close(struct run *run);

#endif
