/* SPDX-License-Identifier: MIT */
/*
 * Grants by host name, for one run: its resolver, and the addresses that names have, which only we put where the
 * programs look (cave/names.h).
 */
#ifndef CAVE_RUNTIME_NAMES_H
#define CAVE_RUNTIME_NAMES_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "bpf/artefact.h"
#include "cave.h"
#include "cave/names.h"
#include "runtime/kept.h"
#include "runtime/names_judge.h"
#include "runtime/names_resolver.h"
#include "runtime/operator.h"
#include "runtime/refused/protocol.h"
#include "runtime/report.h"

/* Hears of addresses that become reachable, and of lookups that are refused; mostly in a thread of the run's own. */
typedef void names_told(void *of, const struct denials_told *what);

struct names {
	bool kept; /* there is a keeper */
	atomic_bool ending;
	uint64_t run; /* the id of the run's control group */
	int map_run, map_live;
	int lookups[NAMES_SOCKETS]; /* where the tool's questions arrive, until the resolver has them */
	int socket, theirs; /* to the resolver; its end */
	struct names_prepared *prepared;
	const struct artefact *artefact;
	/* Starts the resolver when the tool first asks for a name, and puts addresses where the programs look. */
	pthread_t keeper;
	struct cave_tool *resolver;
	bool lost; /* there was none when there should have been: */
	struct refusal why;
	struct names_judge judge; /* of what the resolver says */
	struct cave_names_key *key; /* what it has put there, CAVE_RESOLVE_PER_RUN at most; NULL: nothing yet */
	size_t nkeys;
	names_told *told; /* NULL: nobody wants to know */
	void *told_of;
};

/* Before names_start(), so that names_end() is right in any case; *n is cleared. */
void names_init(struct names *n);

/*
 * From now on the lookups of the run in `group`, a control group beneath the kept one, lead to its resolver, which is
 * started by the first of them; what /etc/hosts says of granted names can be reached.  All that is given must last
 * until names_end().  With `waiting` somebody polls what names_poll() says until then; else a thread does.
 */
bool names_start(struct names_prepared *p, const struct artefact *a, const struct operator_rules *rules,
		 const struct kept *kept, int group, bool waiting, struct names *n, struct refusal *r);

/* Before anything is polled: tells what there is, and from then on what comes. */
void names_tell(struct names *n, names_told *told, void *of);

/* What is to be polled, and then given to names_heard(): of no run, NULL, nothing.  A descriptor below 0 is none. */
void names_poll(const struct names *n, struct pollfd p[NAMES_SOCKETS]);
void names_heard(struct names *n, struct pollfd p[NAMES_SOCKETS]);

/*
 * Ends the resolver and takes the run's addresses out.  False, with *r set unless NULL, if lookups have failed because
 * there was no resolver.
 */
bool names_end(struct names *n, struct refusal *r);

#endif
