/* SPDX-License-Identifier: MIT */
/* What the child of a spawn does, and how it tells what failed. */
#ifndef CAVE_RUNTIME_SPAWN_CHILD_H
#define CAVE_RUNTIME_SPAWN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/filter.h"
#include "runtime/run.h"

enum child_mode {
	CHILD_PLAIN, /* no mount namespace */
	CHILD_MOUNTS, /* a mount namespace, by privilege */
	CHILD_USERNS, /* a mount namespace in a user namespace */
};

/*
 * Shared with the parent, which stands still until the child has executed or ended (CLONE_VFORK|CLONE_VM).
 * The child writes the last two, `tree` and `devices`; everything else is const to it.
 */
struct child {
	const struct plan *plan;
	const struct run *run;
	enum child_mode mode;
	pid_t parent;
	uid_t uid;
	gid_t gid;
	struct filter_values values;
	struct sock_filter *insn; /* completed but for the child's own id */
	struct namespaces kept; /* written by child_keep() */
	int *tree; /* one per plan->files.writable */
	int devices; /* a copy of /dev, until it is in place; -1: there is none */
	const char *step; /* the one that was begun last */
	int error; /* of that step; 0 if it did not fail */
	bool contained; /* it is made by the first process of a process namespace, whose descriptors it shares */
	int spared[8]; /* that process's own of them, ascending */
	size_t nspared;
	int listener; /* of the filter, where it is contained */
	int signal; /* set by the parent: what ended the child before it executed */
};

/* Names of steps after which a start without a mount namespace can be tried. */
extern const char spawn_step_clone[], spawn_step_ids[], spawn_step_copy[], spawn_step_mounts[], spawn_step_attach[];
extern const char spawn_step_execve[];

/* Runs in the child; never returns. */
void child_run(void *child);

/* The same, up to the mounts: leaves their namespaces in child->kept, which is as it shares our descriptors. */
void child_keep(void *child);

#endif
