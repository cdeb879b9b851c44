/* SPDX-License-Identifier: MIT */
/* Starting the tool: one clone, and in the child every step from there to execve. */
#ifndef CAVE_RUNTIME_SPAWN_H
#define CAVE_RUNTIME_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "runtime/plan.h"

/*
 * Starts the tool of `plan`, in the cgroup behind the descriptor `cgroup` unless that is -1.  All signals of
 * the caller must be blocked; `mask` is what the tool gets as its mask.  The calling thread must last as long
 * as the tool: when it ends, the tool is killed.  On failure nothing runs and *out is untouched.
 */
bool spawn(const struct plan *plan, int cgroup, const sigset_t *mask, pid_t *out, struct refusal *r);

#endif
