/* SPDX-License-Identifier: MIT */
/* The network part of a policy: a control group that carries its programs. */
#ifndef CAVE_RUNTIME_EGRESS_H
#define CAVE_RUNTIME_EGRESS_H

#include <signal.h>

#include "bpf/artefact.h"
#include "runtime/cgroup.h"
#include "runtime/memory.h"
#include "runtime/report.h"

/* How cave-load is started. */
struct egress_helper {
	const char *path; /* NULL: it is sought */
	const char *tmpdir; /* where it may put the verifier's log; NULL: /tmp */
	sigset_t mask; /* its signal mask */
};

/*
 * Makes the group of this run and has cave-load attach the artefact's programs to it.  Refuses with
 * CAVE_NETWORK_UNAVAILABLE; then no group is left.  cgroup_remove() undoes it, also where memory ran out.
 */
bool egress_prepare(struct memory *m, const struct artefact *a, const struct egress_helper *helper,
		    struct cgroup *out, struct refusal *r);

#endif
