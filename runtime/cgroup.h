/* SPDX-License-Identifier: MIT */
/*
 * The control group of one run, beneath the caller's own: what already binds the caller binds the tool as well.
 * Only the second version of control groups can carry egress programs.
 */
#ifndef CAVE_RUNTIME_CGROUP_H
#define CAVE_RUNTIME_CGROUP_H

#include "runtime/memory.h"
#include "runtime/report.h"

struct cgroup {
	int parent; /* the caller's own */
	int fd; /* this one, locked as long as it is open */
	const char *name; /* in the parent */
	const char *path; /* for messages */
};

/*
 * Finds the caller's own group wherever the hierarchy is mounted, clears what dead runs left in it, and makes
 * a new one.  Refuses with CAVE_NETWORK_UNAVAILABLE, naming what is missing.
 */
bool cgroup_make(struct memory *m, struct cgroup *out, struct refusal *r);

/* Kills whatever is left in it, waits until it is empty, and removes it.  False, with *r if not NULL, if it stays. */
bool cgroup_remove(struct cgroup *c, struct refusal *r);

#endif
