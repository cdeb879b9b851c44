/* SPDX-License-Identifier: MIT */
/* The operator's rules on this host: who may have written them, and what they say of a policy. */
#ifndef CAVE_RUNTIME_OPERATOR_H
#define CAVE_RUNTIME_OPERATOR_H

#include "bpf/artefact.h"
#include "bpf/operator.h"
#include "runtime/memory.h"
#include "runtime/report.h"

#define OPERATOR_FOLDER "/etc/cave"

/*
 * Reads `path`, a file or a folder that holds one; NULL: OPERATOR_FOLDER, which may be without one.  Refuses what is
 * absent, malformed, or could be changed by anybody but root and the effective user.  The rules are in `m`; the
 * file stays open as *fd, which is the caller's, where there is one.
 */
bool operator_load(struct memory *m, const char *path, struct operator_rules *out, int *fd,
		   struct refusal *r);

/* Whether this host accepts the policy, with CAVE_POLICY_UNTRUSTED if not. */
bool operator_accepts(const struct operator_rules *o, const struct artefact *a, struct refusal *r);

#endif
