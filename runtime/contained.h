/* SPDX-License-Identifier: MIT */
/* Starting a tool that may have processes of its own: the starter's side of runtime/init.h. */
#ifndef CAVE_RUNTIME_CONTAINED_H
#define CAVE_RUNTIME_CONTAINED_H

#include "runtime/spawn.h"
#include "runtime/spawn_child.h"

/*
 * One try.  True if it runs; else c->step, and c->error or c->signal.  *out is given back by contained_close() once its
 * process has been reaped.
 */
bool contained_start(struct child *c, uint64_t namespaces, int cgroup, struct spawned *out);

/* The tool's wait status, where `status` is that of its namespace's first process. */
int contained_status(const struct spawned *s, int status);

/* The signal that has stopped the tool since this was asked last, or 0. */
int contained_stopped(const struct spawned *s);

void contained_close(struct spawned *s);

#endif
