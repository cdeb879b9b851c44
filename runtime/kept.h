/* SPDX-License-Identifier: MIT */
/*
 * Kept policies: a control group for each, beneath the caller's own and named after the policy, that carries its
 * programs from the first start on.  Later starts, of any process of the same user, clone their tool straight into it.
 *
 * Who uses one holds a shared lock on it (flock(2) on its folder); who finishes or removes one holds it alone.  So
 * nothing is removed while a tool runs, one process makes what several want at once, and a lock dies with its holder.
 */
#ifndef CAVE_RUNTIME_KEPT_H
#define CAVE_RUNTIME_KEPT_H

#include "bpf/artefact.h"
#include "runtime/cgroup.h"
#include "runtime/egress.h"
#include "runtime/kept_record.h"
#include "runtime/memory.h"
#include "runtime/report.h"

enum { KEPT_UNUSED_S = 3600, KEPT_TOUCH_S = 60 };

struct kept {
	struct cgroup own; /* the caller's; fd is -1 where nothing is kept */
	struct cgroup group;
	struct kept_record record;
	bool alone; /* nobody else finds it, and it is removed at the end */
	int freeze; /* the group's cgroup.freeze, or -1: opening it takes longer than reading it */
};

/* So that kept_release() does nothing. */
void kept_init(struct kept *k);

/*
 * Finds the policy's group, or makes it and has its programs loaded; on the way removes groups that nobody has used for
 * KEPT_UNUSED_S.  With `alone` it makes one that nobody else uses, and that is removed at the end.
 * *out is in use until kept_release(), which is also right after a failure, or where memory ran out.
 * Refuses with CAVE_NETWORK_UNAVAILABLE.
 */
bool kept_acquire(struct memory *m, const struct artefact *a, const struct egress_helper *helper, bool alone,
		  struct kept *out, struct refusal *r);

/*
 * Asks the kernel whether the group still is what it was made to be: the same owner and mode, not frozen, exactly the
 * policy's programs and those that bind the caller in force.  Before every start.
 */
bool kept_verify(const struct kept *k, struct refusal *r);

/* The one part of it, before a process is made there, and the other, before it executes the tool; any threads may. */
bool kept_verify_group(const struct kept *k, struct refusal *r);
bool kept_verify_programs(const struct kept *k, struct refusal *r);

void kept_release(struct kept *k);

/* One that is there. */
struct kept_entry {
	const struct kept_record *record; /* NULL: it was never finished */
	const char *path;
	bool used; /* somebody holds it */
	uint64_t unused_s; /* since the last start, to a minute */
};

/* Calls seen() for each beneath the caller's own group, as long as it returns true. */
bool kept_list(struct memory *m, bool (*seen)(void *context, const struct kept_entry *entry), void *context,
	       struct refusal *r);

/*
 * Removes those of the policy with that identity, or all if that is NULL.  *busy is how many are in use and stay,
 * *gone how many were removed.
 */
bool kept_forget(struct memory *m, const uint8_t *identity, unsigned *gone, unsigned *busy, struct refusal *r);

#endif
