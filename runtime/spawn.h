/* SPDX-License-Identifier: MIT */
/* Starting the tool: one clone, and in the child every step from there to execve. */
#ifndef CAVE_RUNTIME_SPAWN_H
#define CAVE_RUNTIME_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "runtime/run.h"

struct init;

struct spawned {
	pid_t pid;
	int pidfd;
	/* Of a tool that may have processes of its own, that is the first one of their namespace: runtime/contained.h. */
	int channel; /* -1: it has none */
	struct init *init;
};

/*
 * Starts the tool of `run`, in the cgroup behind the descriptor `cgroup` unless that is -1.  All signals of
 * the caller must be blocked.  The calling thread must last as long as the tool: when it ends, the tool is killed.
 * On failure nothing runs and *out is untouched.  Takes no memory.
 */
bool spawn(const struct run *run, int cgroup, struct spawned *out, struct refusal *r);

#endif
