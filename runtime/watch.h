/* SPDX-License-Identifier: MIT */
/*
 * Limits that the kernel does not keep by itself: how long a tool runs, how much processor time it takes, how much it
 * writes.  Whoever waits for a tool asks again and again whether one has been reached, and a tool that has is ended.
 */
#ifndef CAVE_RUNTIME_WATCH_H
#define CAVE_RUNTIME_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "bpf/artefact.h"
#include "runtime/pump.h"
#include "runtime/report.h"

struct watch {
	const struct cave_limits *limits;
	int pidfd; /* of whom signals are sent to; the watch's to use, not to close */
	uint64_t deadline; /* CLOCK_MONOTONIC in nanoseconds; UINT64_MAX: none */
	int cpu_stat; /* cpu.stat of the run's control group, or -1: it is one process, and this is its clock */
	clockid_t cpu_clock;
	struct pump *pump; /* NULL: output is not limited */
	bool reached; /* a limit, and which */
	enum cave_limit limit;
	uint64_t kill_at; /* the end of the time that a tool has after SIGTERM */
	bool killed;
	bool over; /* nothing is left to be watched */
};

/* CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/* Begins when the tool has been started, at `started` nanoseconds; `pid` is its own. */
void watch_begin(struct watch *w, const struct cave_limits *limits, int pidfd, pid_t pid, int cpu_stat,
		 struct pump *pump, uint64_t started);

/*
 * Ends a tool that has reached a limit: at the end of its time by SIGTERM, and by SIGKILL 250 ms later; else by SIGKILL
 * alone.  Returns after how many milliseconds it must be asked again; -1: never.
 */
int watch_check(struct watch *w);

/* When the time is over, if that is bounded and not over yet; UINT64_MAX otherwise. */
uint64_t watch_deadline(const struct watch *w);

/* CAVE_OK, or the code of the limit that was reached, with a sentence about it in *r. */
enum cave_code watch_verdict(const struct watch *w, struct refusal *r);

#endif
