/* SPDX-License-Identifier: MIT */
#include "runtime/guard.h"

#include <signal.h>
#include <time.h>

#include "runtime/thread.h"

enum { STACK = 64 << 10, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

/* Checks all, and returns after how many milliseconds again, or -1. */
static int check_all(struct guard *g)
{
	int next = -1;

	for (struct guarded *e = g->first; e; e = e->next) {
		int ms = watch_check(e->watch);

		if (ms >= 0 && (next < 0 || ms < next))
			next = ms;
	}
	return next;
}

static uint64_t time_of(int ms)
{
	return ms < 0 ? UINT64_MAX : now_ns() + (uint64_t)ms * NS_PER_MS;
}

static void wait_for(struct guard *g, int ms)
{
	struct timespec t;

	g->until = time_of(ms);
	if (ms < 0) {
		pthread_cond_wait(&g->wake, &g->lock);
		return;
	}
	t.tv_sec = (time_t)(g->until / NS_PER_S);
	t.tv_nsec = (long)(g->until % NS_PER_S);
	pthread_cond_timedwait(&g->wake, &g->lock, &t);
}

static void *serve(void *of)
{
	struct guard *g = of;

	pthread_mutex_lock(&g->lock);
	while (!g->end)
		wait_for(g, check_all(g));
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* The host's handlers must not run in a thread that it does not know. */
static int start(struct guard *g)
{
	int error = thread_start(&g->thread, STACK, serve, g);

	g->running = !error;
	return error;
}

int guard_init(struct guard *g)
{
	pthread_condattr_t attributes;
	int error = pthread_mutex_init(&g->lock, NULL);

	g->running = g->end = false;
	g->until = 0;
	g->first = NULL;
	if (!error)
		error = pthread_condattr_init(&attributes);
	if (error)
		return error;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	error = pthread_cond_init(&g->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	return error;
}

int guard_add(struct guard *g, struct guarded *entry, struct watch *w)
{
	int error;

	pthread_mutex_lock(&g->lock);
	error = g->running ? 0 : start(g);
	if (!error) {
		*entry = (struct guarded){ .watch = w, .next = g->first, .link = &g->first,
					    .listed = true };
		if (g->first)
			g->first->link = &entry->next;
		g->first = entry;
		/* Most have nothing due before what the thread waits for anyway. */
		if (time_of(watch_check(w)) < g->until)
			pthread_cond_signal(&g->wake);
	}
	pthread_mutex_unlock(&g->lock);
	return error;
}

void guard_remove(struct guard *g, struct guarded *entry)
{
	if (!entry->listed)
		return;
	pthread_mutex_lock(&g->lock);
	*entry->link = entry->next;
	if (entry->next)
		entry->next->link = entry->link;
	entry->listed = false;
	pthread_mutex_unlock(&g->lock);
}

void guard_lock(struct guard *g)
{
	pthread_mutex_lock(&g->lock);
}

void guard_unlock(struct guard *g)
{
	pthread_mutex_unlock(&g->lock);
}

void guard_end(struct guard *g)
{
	pthread_mutex_lock(&g->lock);
	g->end = true;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	if (g->running)
		pthread_join(g->thread, NULL);
	pthread_cond_destroy(&g->wake);
	pthread_mutex_destroy(&g->lock);
}
