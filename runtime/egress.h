/* SPDX-License-Identifier: MIT */
/* The network part of a policy: a control group that carries its programs. */
#ifndef CAVE_RUNTIME_EGRESS_H
#define CAVE_RUNTIME_EGRESS_H

#include <signal.h>

#include "bpf/artefact.h"
#include "runtime/cgroup.h"
#include "runtime/memory.h"
#include "runtime/report.h"

/*
 * Makes the group of this run and has cave-load attach the artefact's programs to it.  `mask` is the signal
 * mask of that helper.  Refuses with CAVE_NETWORK_UNAVAILABLE; then no group is left.
 */
bool egress_prepare(struct memory *m, const struct artefact *a, const sigset_t *mask, struct cgroup *out,
		    struct refusal *r);

#endif
