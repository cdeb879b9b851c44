/* SPDX-License-Identifier: MIT */
/* Loading the network programs of a policy. */
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
	sigset_t mask; /* its signal mask */
};

/* The name servers of the host, where the policy grants them; else none. */
struct egress_servers {
	struct artefact_address address[CAVE_RESOLVERS];
	size_t n;
};

bool egress_servers_read(const struct artefact *a, struct egress_servers *out, struct refusal *r);

/* Refuses with CAVE_NETWORK_UNAVAILABLE if we may not load and attach programs. */
bool egress_check_privileges(struct refusal *r);

/*
 * Has cave-load attach the artefact's programs to the group, and enter there which they are (runtime/kept.h).  Refuses
 * with CAVE_NETWORK_UNAVAILABLE; the group may hold some of them then.
 */
bool egress_load(struct memory *m, const struct artefact *a, const struct egress_servers *servers,
		 const struct egress_helper *helper, const struct cgroup *c, struct refusal *r);

#endif
