/* SPDX-License-Identifier: MIT */
/* A tool that runs, as the library and caverun see it. */
#ifndef CAVE_RUNTIME_TOOL_H
#define CAVE_RUNTIME_TOOL_H

#include "runtime/api.h"
#include "runtime/groups.h"
#include "runtime/guard.h"
#include "runtime/pump.h"
#include "runtime/run.h"
#include "runtime/spawn.h"
#include "runtime/trace.h"
#include "runtime/watch.h"

struct cave_tool {
	struct memory memory; /* holds this as well */
	struct cave_prepared *prepared;
	struct cave_spawn spawn;
	struct plan own; /* where every tool has one, as it has a workspace */
	struct run run;
	gate gate; /* of the child, where something is asked while it sets itself up */
	struct groups groups;
	struct pump pump;
	struct watch watch;
	struct guarded guarded; /* the guard's entry, where there is one */
	bool internal; /* one of our own: the resolver of another run */
	struct names *names; /* where the policy grants by host name, else NULL */
	int into; /* the control group that it is started in, -1 for the caller's; not its own to close */
	struct spawned process; /* pidfd is -1 if nothing was started */
	int proc;
	bool started, ended;
	struct cave_result result;
	struct trace *trace; /* NULL: none */
	struct record record; /* of its start and its end */
};

/* Keeps the limits: see watch_check().  After the end: until its output has ended too. */
int tool_check(struct cave_tool *t);

/* True if the tool has ended, and so has its output; then its result is whole. */
bool tool_over(struct cave_tool *t);

/* It has been reaped, with `status` as waitpid() gives it. */
void tool_ended(struct cave_tool *t, int status);

/* What ended it in its own place, CAVE_OK if nothing did; fills *error then. */
enum cave_code tool_verdict(const struct cave_tool *t, struct cave_error *error);

/* Before and after we stop together with the tool: nothing of it goes on, nor does its time stand still. */
void tool_freeze(const struct cave_tool *t, bool freeze);

#endif
