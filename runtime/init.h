/* SPDX-License-Identifier: MIT */
/*
 * The first process of the namespace that contains a tool and its processes.  It makes the tool, reaps what is
 * orphaned, counts processes, passes signals on.  When the tool ends, or whoever started it does, it ends, and the
 * kernel kills everything else in the namespace (zap_pid_ns_processes(), kernel/pid_namespace.c).
 *
 * It shares the starter's memory, as a thread does, and nothing else: it makes raw system calls only.
 */
#ifndef CAVE_RUNTIME_INIT_H
#define CAVE_RUNTIME_INIT_H

#include <stdatomic.h>

#include "runtime/count.h"
#include "runtime/spawn_child.h"

enum { INIT_STACK = 64 << 10, INIT_TOOL_STACK = 16 << 10 };

/* What it tells on its socket. */
enum { INIT_STARTED = 's', INIT_STOPPED = 't' };

/* In a mapping of its own, which must stay until it has been reaped. */
struct init {
	struct child *child; /* the starter's, who waits until it is told or the socket ends */
	int cgroup; /* that the tool is started in, or -1 */
	int socket, other; /* its own end of the socket, and the starter's, which it closes */
	int starter; /* a pidfd of whoever starts it */
	pid_t tool; /* as it is called in the namespace */
	int signals; /* signalfd */
	struct count count;
	atomic_int stopped; /* the signal that stopped the tool last */
	atomic_bool ended; /* the tool has, and by this: */
	int status; /* as waitpid() gives it */
	_Alignas(16) char stack[INIT_STACK];
	_Alignas(16) char tool_stack[INIT_TOOL_STACK];
};

/* Runs in it; never returns. */
void init_run(void *init);

#endif
