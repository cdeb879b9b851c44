/* SPDX-License-Identifier: MIT */
/*
 * Counting the processes of a namespace: every call that would make one is announced by the filter
 * (SECCOMP_RET_USER_NOTIF), waits until it is let through, and fails with EAGAIN if there would be too many.
 *
 * What may never happen is one too many.  A call that was let through makes its process a moment later, or fails: until
 * one of both is certain, it counts as a process.  Zombies count: they have a number each, of which there are not many.
 */
#ifndef CAVE_RUNTIME_COUNT_H
#define CAVE_RUNTIME_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { COUNT_GRANTS = 64, COUNT_QUEUE = 64 };

/* A call that was let through. */
struct count_grant {
	pid_t thread, process; /* whose thread it is */
	pid_t newest; /* of the processes that there were before */
	bool alone; /* no other thread of the process is, or has been since, on its way as well */
};

struct count_request {
	uint64_t id;
	pid_t thread;
	enum {
		COUNT_MAKES, /* a process */
		COUNT_ACTION, /* sets what becomes of SIGCHLD, by the structure at `action` */
		COUNT_SIGNALS_OWN, /* its own process group, which others may be in */
		COUNT_SIGNALS, /* another's */
	} kind;
	uint64_t action;
};

struct count {
	int listener; /* of the filter; -1 when no process is left that has it */
	int proc; /* a folder: /proc of the namespace */
	bool scoped; /* signals stay inside whoever they are for */
	unsigned max; /* processes, the first one of the namespace not among them */
	struct count_grant grant[COUNT_GRANTS]; /* of which it is not certain what became of them */
	unsigned ngrants;
	struct count_request queue[COUNT_QUEUE]; /* announced and not answered */
	unsigned nqueue;
};

/* Opens a /proc of this process's namespace, seen by nobody else.  Returns -errno. */
long count_open_proc(void);

/*
 * Answers one call that the filter announces, and returns whether more are waiting: who has calls made as fast as they
 * are answered must not keep the caller from what else it waits for.  Raw system calls only.
 */
bool count_answer(struct count *c);

#endif
