/* SPDX-License-Identifier: MIT */
/*
 * What may be believed of a resolver: which addresses of which names the policy lets a run reach, and how many.  The
 * resolver reads hostile replies, so whatever it says is judged here as if a forger had said it.
 */
#ifndef CAVE_RUNTIME_NAMES_JUDGE_H
#define CAVE_RUNTIME_NAMES_JUDGE_H

#include <stdbool.h>

#include "bpf/hosts.h"
#include "bpf/nat64.h"
#include "cave/resolve.h"

/* As long as the run, instead of seconds: of what /etc/hosts says. */
#define NAMES_FOREVER UINT32_MAX

/* A name that has an address, until when.  Of the name there is a digest: two of one count as one name. */
struct names_pair {
	uint64_t name;
	uint32_t address[4];
	uint64_t over; /* when the record's own time ends: CLOCK_MONOTONIC in nanoseconds */
	uint64_t expiry; /* when the address goes, or that of a name's one that is wanted more */
	uint32_t classes;
};

struct names_judge {
	struct hosts hosts;
	const struct nat64 *nat64; /* the operator's */
	size_t nnat64;
	bool ready; /* /etc/hosts has been read: what comes now is from a resolver */
	struct names_pair *pair; /* CAVE_RESOLVE_PER_RUN of them; NULL: none yet */
	size_t npairs;
};

struct names_verdict {
	uint32_t classes; /* bit i for class i of the policy's record; 0: the address is not where the rules say */
	uint64_t expiry;
	bool taken; /* to make room a name has lost an address whose record was over: */
	uint32_t address[4];
	uint64_t until[CAVE_HOST_CLASSES]; /* when other names lose it, by class */
};

/* True if it is a name as a policy spells names: in lower case, of letters, digits, dashes, underscores and dots. */
bool names_plain(const char *name);

/*
 * Judges that a name has an address.  0, with *out set; or an errno: EINVAL if no sound resolver says so, ENOSPC if the
 * name, or the run, has as many as it may, of which no record is over.  names_judge_end() gives back the memory that
 * this takes.
 */
int names_judge(struct names_judge *j, const char *name, const struct cave_resolve_address *a, uint64_t now,
		struct names_verdict *out);
void names_judge_end(struct names_judge *j);

#endif
