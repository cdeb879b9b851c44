/* SPDX-License-Identifier: MIT */
/*
 * Where output is limited, the tool writes to pipes of ours, and threads pass on what comes out of them: exactly as
 * many bytes as the limit says.  Threads, since passing on may block for as long as the reader likes, and what else is
 * to be watched must not wait.
 */
#ifndef CAVE_RUNTIME_PUMP_H
#define CAVE_RUNTIME_PUMP_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "runtime/report.h"

struct pump;

struct pump_stream {
	struct pump *pump;
	int from; /* our end of the pipe */
	int tool; /* the tool's; -1 once it has been started */
	int to; /* a copy of what the caller gave */
	/* Not on the thread's stack, which is left at once when the thread is cancelled. */
	char *buffer;
	struct pollfd ready; /* of `to` */
	pthread_t thread;
	bool running;
};

struct pump {
	uint64_t limit;
	_Atomic uint64_t seen; /* bytes that the tool has written */
	_Atomic unsigned left; /* streams that have not ended */
	atomic_bool full;
	atomic_int pidfd; /* of the tool, which is killed when it passes the limit; -1 until it has been started */
	int event; /* readable when the limit was passed, or a stream has ended */
	struct pump_stream stream[2];
	unsigned n;
};

/* A pump that has nothing to close. */
void pump_init(struct pump *p);

/*
 * Makes the pipes, and puts the tool's ends in place of standard[1] and standard[2]: one for both if the caller's are
 * one and the same, so that what is written comes in the order in which it was written.
 */
bool pump_make(struct pump *p, uint64_t limit, int standard[3], struct refusal *r);

/* Before the tool is started: what can fail. */
bool pump_start(struct pump *p, struct refusal *r);

/* Once the tool has its ends; `pidfd` must stay until pump_close(). */
void pump_started(struct pump *p, int pidfd);

/* True if the tool has written more than the limit. */
bool pump_full(const struct pump *p);

/* True if everything has been passed on that will be. */
bool pump_done(const struct pump *p);

/* What was told at `event` has been heard. */
void pump_heard(const struct pump *p);

/* Ends it, whatever has not been passed on. */
void pump_close(struct pump *p);

#endif
