/* SPDX-License-Identifier: MIT */
#include "compiler/at_once.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum {
	MOST_THREADS = 8,
	STACK = 8 << 20, /* as the first thread mostly has it; what is not used costs nothing */
};

struct work {
	void (*job)(void *closure, size_t i);
	void *closure;
	size_t n;
	atomic_size_t next;
};

static _Thread_local bool within; /* a job */

static void *do_jobs(void *closure)
{
	struct work *w = closure;

	within = true;
	for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n;)
		w->job(w->closure, i);
	within = false;
	return NULL;
}

static size_t start_threads(struct work *w, pthread_t *thread, size_t wanted)
{
	pthread_attr_t attributes;
	size_t n = 0;

	if (!wanted || pthread_attr_init(&attributes))
		return 0;
	if (!pthread_attr_setstacksize(&attributes, STACK))
		while (n < wanted && !pthread_create(&thread[n], &attributes, do_jobs, w))
			n++;
	pthread_attr_destroy(&attributes);
	return n;
}

/* This thread does jobs as well. */
static size_t helpers_for(size_t n)
{
	const long processors = n > 1 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
	const size_t more = processors > 1 ? (size_t)processors - 1 : 0, useful = n > 1 ? n - 1 : 0;
	const size_t wanted = more < useful ? more : useful;

	return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

void at_once(void (*job)(void *closure, size_t i), void *closure, size_t n)
{
	struct work w = { .job = job, .closure = closure, .n = n };
	pthread_t thread[MOST_THREADS];
	size_t started;

	if (within) {
		for (size_t i = 0; i < n; i++)
			job(closure, i);
		return;
	}
	started = start_threads(&w, thread, helpers_for(n));
	do_jobs(&w);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}
