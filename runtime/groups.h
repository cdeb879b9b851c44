/* SPDX-License-Identifier: MIT */
/*
 * The control groups of one run: those that bound its memory and its tasks, in whichever version of the hierarchy the
 * controllers are, and one of the second version that counts processor time.
 */
#ifndef CAVE_RUNTIME_GROUPS_H
#define CAVE_RUNTIME_GROUPS_H

#include "bpf/artefact.h"
#include "runtime/cgroup.h"

enum { GROUPS_OLD = 2 }; /* hierarchies of the first version: memory and pids */

struct groups {
	struct cgroup own; /* the caller's own of the second version, where there is no other parent; fd -1: none */
	struct cgroup aside; /* beneath `own`: where this process waits meanwhile; fd -1: it stays where it is */
	bool handed[GROUPS_OLD]; /* controllers that `own` hands down since then, */
	bool passed_on[GROUPS_OLD]; /* and those that the policy's group does, */
	int policy; /* which this is; -1: there is none */
	struct cgroup run; /* of the second version, to be started in; fd -1: none is needed */
	struct cgroup old[GROUPS_OLD], old_own[GROUPS_OLD];
	int procs[GROUPS_OLD]; /* their cgroup.procs: the tool joins by writing "0"; -1: none */
	int cpu_stat; /* of `run`, or -1 */
	int oom; /* where the kernel counts what it killed for want of memory, or -1 */
};

/* A struct that groups_remove() does nothing about. */
void groups_init(struct groups *g);

/*
 * Makes what the limits need, beneath `parent` (the policy's own group, if it has one) or the caller's own.  Refuses
 * with the controller that is missing.  groups_remove() is right after a failure as well.
 *
 * In the second version a group with processes in it hands no controller down.  If this process and its children are
 * all that is in the caller's own, and `may_move` allows it, they wait in another one beneath it until groups_remove().
 */
bool groups_make(struct memory *m, const struct artefact *a, const struct cgroup *parent, bool may_move,
		 struct groups *out, struct refusal *r);

/* True if the kernel has killed a process of the run because its memory was used up. */
bool groups_out_of_memory(const struct groups *g);

/* Stops all of the run where it has a group that can (cgroup-v2.rst, cgroup.freeze), or lets it go on. */
void groups_freeze(const struct groups *g, bool freeze);

/* After the last process; false, with *r if not NULL, if one stays. */
bool groups_remove(struct groups *g, struct refusal *r);

#endif
