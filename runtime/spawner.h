/* SPDX-License-Identifier: MIT */
/*
 * A thread that starts tools.  The kernel sends the parent-death signal when the *thread* that made the child ends
 * (forget_original_parent(), kernel/exit.c), so tools of a host whose threads come and go are made by one that stays.
 */
#ifndef CAVE_RUNTIME_SPAWNER_H
#define CAVE_RUNTIME_SPAWNER_H

#include <pthread.h>
#include <stdbool.h>

/* On the stack of who waits for it. */
struct spawner_job {
	void (*run)(void *);
	void *of;
	struct spawner_job *next;
	bool done;
};

struct spawner {
	pthread_mutex_t lock;
	pthread_cond_t wake; /* of the thread: there is a job, or an end */
	pthread_cond_t done; /* of those who wait for their job */
	struct spawner_job *first, **last; /* a queue */
	pthread_t thread;
	bool running, end;
};

/* Returns an errno. */
int spawner_init(struct spawner *s);

/*
 * Has run(of) called in the thread, which is made if there is none yet; an errno if there can be no thread.  All
 * signals are blocked there.  The job is in use until spawner_wait(), which returns when run() has returned.
 */
int spawner_post(struct spawner *s, struct spawner_job *job, void (*run)(void *), void *of);
void spawner_wait(struct spawner *s, const struct spawner_job *job);

/* Ends the thread, and with it, by their parent-death signal, the tools that it started. */
void spawner_end(struct spawner *s);

#endif
