/* SPDX-License-Identifier: MIT */
/*
 * Tracing: the filter asks a thread of ours where it would refuse, and for calls that open or change files by a path.
 * The thread gives the answer that the filter would have given, and says what was refused.
 *
 * Never weaker: a call that the filter allows is continued, and the kernel judges it as it would have; the decision is
 * about numbers and registers, which nobody can change meanwhile.  What the thread reads of the tool's memory is for
 * the report alone.  When the descriptor that these questions come from is closed, they are answered with ENOSYS
 * (seccomp_do_user_notification(), kernel/seccomp.c).
 */
#ifndef CAVE_RUNTIME_TRACE_H
#define CAVE_RUNTIME_TRACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "bpf/artefact.h"
#include "cave.h"
#include "runtime/memory.h"
#include "runtime/report.h"

enum { TRACE_SAID = 1024 };

struct trace {
	const struct cave_trace *sink;
	const struct artefact *artefact;
	int ruleset; /* Landlock's, to ask what it refuses; -1: closed */
	struct sock_filter *insn, *variant; /* as the filter would have been, and as it is */
	size_t n;
	const int *pidfd; /* of the child, as soon as there is one */
	bool mounts; /* it has a mount namespace of its own */
	atomic_int listener; /* of the child, in its own table; -1 until then */
	atomic_int answer; /* to the child: 1 go on, or a negative errno; 0 until then */
	atomic_bool stop;
	pthread_t thread;
	bool running;
	uint64_t said[TRACE_SAID]; /* hashes of what was said */
	atomic_uint_fast64_t calls, files;
};

/* Takes what it needs; the filter may be too long for it.  After a failure *out may be set, for trace_close(). */
bool trace_make(struct memory *m, const struct cave_trace *sink, const struct artefact *a, int ruleset,
		struct trace **out, struct refusal *r);

/* Before the tool is started. */
bool trace_start(struct trace *t, struct refusal *r);

/* Ends the thread; the tool has ended, or was not started.  NULL is allowed. */
void trace_close(struct trace *t);

/*
 * In the child, in place of installing `insn`: installs the variant, and does not come back before its listener is held
 * by the thread.  Makes raw system calls only.  Returns 0 or a negative errno.
 */
long trace_install(struct trace *t, const struct sock_filter *insn, size_t n);

#endif
