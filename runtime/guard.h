/* SPDX-License-Identifier: MIT */
/* A thread that keeps the limits of a host's tools, whatever the host does meanwhile. */
#ifndef CAVE_RUNTIME_GUARD_H
#define CAVE_RUNTIME_GUARD_H

#include <pthread.h>
#include <stdbool.h>

#include "runtime/watch.h"

struct guarded {
	struct watch *watch;
	struct guarded *next, **link; /* others' entries come and go beside it: looked at under the lock only */
	bool listed; /* in the list of a guard: whoever added it knows, and nobody else looks */
};

struct guard {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, end;
	uint64_t until; /* the thread sleeps so long, CLOCK_MONOTONIC in nanoseconds */
	struct guarded *first;
};

/* Returns an errno. */
int guard_init(struct guard *g);

/* Watches from now on; starts the thread if there is none.  Returns an errno. */
int guard_add(struct guard *g, struct guarded *entry, struct watch *w);

/* What `entry` watches may go afterwards.  Nothing if it is in no list. */
void guard_remove(struct guard *g, struct guarded *entry);

void guard_lock(struct guard *g);
void guard_unlock(struct guard *g);

void guard_end(struct guard *g);

#endif
