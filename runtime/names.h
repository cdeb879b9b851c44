/* SPDX-License-Identifier: MIT */
/*
 * Grants by host name, for one run: its resolver, and the addresses that names have, which only we put where the
 * programs look (cave/names.h).
 */
#ifndef CAVE_RUNTIME_NAMES_H
#define CAVE_RUNTIME_NAMES_H

#include <pthread.h>

#include "bpf/artefact.h"
#include "cave.h"
#include "cave/names.h"
#include "runtime/kept.h"
#include "runtime/memory.h"
#include "runtime/names_judge.h"
#include "runtime/operator.h"
#include "runtime/report.h"

/* What can be prepared once: the resolver's own policy. */
struct names_prepared {
	struct cave_policy *policy;
	struct cave_prepared *prepared;
	const char *program;
	struct artefact_address server[CAVE_RESOLVERS]; /* the host's name servers */
	size_t nservers;
};

/* Names that were asked for and refused, for a report; the first ones. */
enum { NAMES_REFUSED_MAX = 64 };

struct names_refused {
	char name[256];
	uint32_t type;
	uint64_t count;
};

struct names {
	bool started;
	uint64_t run; /* the id of the run's control group */
	int map_run, map_live, map_asked;
	int socket; /* to the resolver */
	pthread_t keeper; /* puts addresses where the programs look, until the socket ends */
	struct cave_tool *resolver;
	struct names_judge judge; /* of what the resolver says */
	struct cave_names_key key[CAVE_RESOLVE_PER_RUN]; /* what it has put there */
	size_t nkeys;
	pthread_mutex_t lock; /* of what follows */
	struct names_refused refused[NAMES_REFUSED_MAX];
	size_t nrefused;
	uint64_t others; /* refused beyond those */
};

/*
 * Finds the resolver and its policy beside `helper` or where they are installed, and prepares its start.  `options` are
 * those of the tool.  Refuses with CAVE_NETWORK_UNAVAILABLE or CAVE_FAILED; names_unprepare() is right in any case.
 */
bool names_prepare(struct memory *m, const struct cave_options *options, struct names_prepared *out, struct refusal *r);
void names_unprepare(struct names_prepared *p);

/*
 * Starts the resolver of the run in `group`, a control group beneath the kept one, and waits until it answers.  On
 * failure nothing of it is left.
 */
bool names_start(struct memory *m, const struct names_prepared *p, const struct artefact *a,
		 const struct operator_rules *rules, const struct kept *kept, int group, struct names *out,
		 struct refusal *r);

/* Ends the resolver and takes the run's addresses out; nothing if it was not started. */
void names_end(struct names *n);

#endif
