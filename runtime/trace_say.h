/* SPDX-License-Identifier: MIT */
/* What is said of a refusal that was traced. */
#ifndef CAVE_RUNTIME_TRACE_SAY_H
#define CAVE_RUNTIME_TRACE_SAY_H

#include <linux/seccomp.h>

#include "runtime/trace.h"

/* A call that opens, changes or executes a file by its path. */
struct trace_call {
	unsigned nr;
	int at; /* which argument is the folder that a relative path begins in; -1: the current one */
	int path; /* which argument is the path */
	int flags; /* which one says how it is opened; or one of these */
};

enum {
	TRACE_CHANGES = -1, /* the name: it is made, or taken away */
	TRACE_WRITES = -2, /* what is in it */
	TRACE_EXECUTES = -3,
};

const struct trace_call *trace_calls(size_t *n);

/* A call that is continued: says so if the kernel will refuse the file, as far as that can be known. */
void trace_say_path(struct trace *t, const struct seccomp_notif *q);

/* A call that is refused with `error`; `by` is the instruction that led to it. */
void trace_say_call(struct trace *t, const struct seccomp_notif *q, int error, size_t by);

#endif
