/* SPDX-License-Identifier: MIT */
/* The program that answers the lookups of a run: cave-resolve, under its own policy. */
#ifndef CAVE_RUNTIME_NAMES_RESOLVER_H
#define CAVE_RUNTIME_NAMES_RESOLVER_H

#include <pthread.h>

#include "bpf/artefact.h"
#include "cave.h"
#include "runtime/memory.h"
#include "runtime/report.h"

/* Of one prepared start: what its runs' resolvers have in common. */
struct names_prepared {
	const char *program, *file; /* cave-resolve, and its policy */
	struct cave_options options; /* for it; its strings are those of the tool's */
	struct artefact_address server[CAVE_RESOLVERS]; /* the host's name servers */
	size_t nservers;
	pthread_mutex_t lock; /* of what follows */
	struct cave_policy *policy;
	struct cave_prepared *prepared; /* NULL: not yet */
};

/*
 * Finds the resolver and its policy beside the loader of `options` or where they are installed.  `options` are those of
 * the tool, whose strings must last as long as *out.  Where more than one tool may be started the resolver's start is
 * prepared as well; else when it is needed, which for most runs is while the tool runs, or never.  Refuses with
 * CAVE_NETWORK_UNAVAILABLE or CAVE_FAILED; names_unprepare() is right in any case.
 */
bool names_prepare(struct memory *m, const struct cave_options *options, struct names_prepared *out, struct refusal *r);
void names_unprepare(struct names_prepared *p);

/* The sockets on which lookups arrive: UDP of IPv4 and IPv6, TCP of both, as cave-resolve's arguments; -1: none. */
enum { NAMES_SOCKETS = 4 };

/*
 * Starts it, with the record of the artefact's names and the other end of a socket of cave/resolve.h.  The calling
 * thread must last as long as it does.  The descriptors stay the caller's.
 */
bool names_resolver_start(struct names_prepared *p, const struct artefact *a, const int fd[NAMES_SOCKETS], int socket,
			  struct cave_tool **out, struct refusal *r);

#endif
