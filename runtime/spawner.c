/* SPDX-License-Identifier: MIT */
#include "runtime/spawner.h"

#include <errno.h>
#include <signal.h>

#include "runtime/thread.h"

enum { STACK = 512 << 10 }; /* spawn() keeps the filter and the child's stack on its own */

static struct spawner_job *take(struct spawner *s)
{
	struct spawner_job *job;

	while (!s->first && !s->end)
		pthread_cond_wait(&s->wake, &s->lock);
	job = s->first;
	if (job) {
		s->first = job->next;
		if (!s->first)
			s->last = &s->first;
	}
	return job;
}

static void *serve(void *of)
{
	struct spawner *s = of;
	struct spawner_job *job;

	pthread_mutex_lock(&s->lock);
	while ((job = take(s))) {
		pthread_mutex_unlock(&s->lock);
		job->run(job->of);
		pthread_mutex_lock(&s->lock);
		job->done = true;
		pthread_cond_broadcast(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int spawner_init(struct spawner *s)
{
	int error = pthread_mutex_init(&s->lock, NULL);

	s->first = NULL;
	s->last = &s->first;
	s->running = s->end = false;
	if (!error)
		error = pthread_cond_init(&s->wake, NULL);
	return error ? error : pthread_cond_init(&s->done, NULL);
}

/* The host's handlers must not run in a thread that it does not know. */
static int start(struct spawner *s)
{
	int error = thread_start(&s->thread, STACK, serve, s);

	s->running = !error;
	return error;
}

int spawner_post(struct spawner *s, struct spawner_job *job, void (*run)(void *), void *of)
{
	int error;

	*job = (struct spawner_job){ .run = run, .of = of };
	pthread_mutex_lock(&s->lock);
	error = s->running ? 0 : start(s);
	if (!error) {
		*s->last = job;
		s->last = &job->next;
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	return error;
}

void spawner_wait(struct spawner *s, const struct spawner_job *job)
{
	pthread_mutex_lock(&s->lock);
	while (!job->done)
		pthread_cond_wait(&s->done, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

void spawner_end(struct spawner *s)
{
	pthread_mutex_lock(&s->lock);
	s->end = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (s->running)
		pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->done);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
}
