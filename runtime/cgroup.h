/* SPDX-License-Identifier: MIT */
/*
 * Control groups beneath the caller's own: what already binds the caller binds the tool as well.  Only the second
 * version of control groups can carry egress programs.
 */
#ifndef CAVE_RUNTIME_CGROUP_H
#define CAVE_RUNTIME_CGROUP_H

#include "runtime/memory.h"
#include "runtime/report.h"

struct cgroup {
	int parent; /* the group that it is in; not its own to close */
	int fd; /* of one run's: locked as long as it is open */
	const char *name; /* in the parent */
	const char *path; /* for messages */
};

/* The caller's own group, wherever the hierarchy is mounted: fd and path.  Refuses with CAVE_NETWORK_UNAVAILABLE. */
bool cgroup_own(struct memory *m, struct cgroup *out, struct refusal *r);

/*
 * The caller's own group in the hierarchy of the first version that has the controller; NULL: in that of the second.
 * Returns an errno; with ENOENT *own is the group's path in its hierarchy, or NULL if there is no such hierarchy here.
 */
int cgroup_find(struct memory *m, const char *controller, struct cgroup *out, const char **own);

/* Clears what dead runs left in `parent`, whose path is `path`, and makes a new one for one run. */
bool cgroup_make(struct memory *m, int parent, const char *path, struct cgroup *out, struct refusal *r);

/* The same without words: returns an errno. */
int cgroup_new(struct memory *m, int parent, const char *path, struct cgroup *out);

/* Kills whatever is left in it, waits until it is empty, and removes it.  False, with *r if not NULL, if it stays. */
bool cgroup_remove(struct cgroup *c, struct refusal *r);

/* Removes the groups of runs in `parent` that no run holds any more. */
void cgroup_sweep(int parent);

/* True if the name still leads to what was opened: another may have swept it before we held the lock. */
bool cgroup_still_there(const struct cgroup *c);

/* "the policy's network needs a control group of its own; WHAT PATH", with the errno if that is not 0. */
bool cgroup_unavailable(struct refusal *r, int error, const char *what, const char *path);

/* Why one cannot be made, for that sentence. */
const char *cgroup_why_not(int error);

#endif
