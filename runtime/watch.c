/* SPDX-License-Identifier: MIT */
#include "runtime/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/limits.h"
#include "runtime/clock.h"

enum { CPUCLOCK_SCHED = 2 /* include/linux/posix-timers.h */ };

enum {
	GRACE_MS = 250,
	/*
	 * Processor time is looked at so often at least.  All processors together cannot use up what is left any
	 * sooner than shared among them; a tool may use more of them than we are allowed to.
	 */
	CPU_MS = 10,
};

static const uint64_t ms = 1000000;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_read(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * ms + (uint64_t)t.tv_nsec;
}

void watch_begin(struct watch *w, const struct cave_limits *limits, int pidfd, pid_t pid, int cpu_stat,
		 struct pump *pump, uint64_t started)
{
	uint64_t time = limits->value[CAVE_LIMIT_TIME];

	*w = (struct watch){ .limits = limits, .pidfd = pidfd, .cpu_stat = cpu_stat, .pump = pump };
	w->deadline = time ? started + time * ms : UINT64_MAX;
	/*
	 * What clock_getcpuclockid(3) gives, which asks whether it is there: of a process that we have not reaped, so the
	 * number is its, and the clock is (make_process_cpuclock(), include/linux/posix-timers.h).
	 */
	w->cpu_clock = (clockid_t)(~(unsigned)pid << 3 | CPUCLOCK_SCHED);
}

static void send(const struct watch *w, int signal)
{
	syscall(SYS_pidfd_send_signal, w->pidfd, signal, NULL, 0);
}

/* --- processor time ------------------------------------------------------------------------------- */

/* "usage_usec N" is the first line (cgroup-v2.rst, cpu.stat). */
static uint64_t group_usage(int fd)
{
	static const char key[] = "usage_usec ";
	char text[64];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);

	if (n < (ssize_t)sizeof key || memcmp(text, key, sizeof key - 1))
		return UINT64_MAX; /* it cannot be known any more: that is no way to have more of it */
	text[n] = 0;
	return strtoull(text + sizeof key - 1, NULL, 10) * 1000;
}

static uint64_t cpu_used(const struct watch *w)
{
	struct timespec t;

	if (w->cpu_stat >= 0)
		return group_usage(w->cpu_stat);
	if (clock_gettime(w->cpu_clock, &t))
		return 0; /* it has ended */
	return (uint64_t)t.tv_sec * 1000 * ms + (uint64_t)t.tv_nsec;
}

/* In nanoseconds; 0: all of it has been used. */
static uint64_t cpu_left(const struct watch *w)
{
	uint64_t limit = w->limits->value[CAVE_LIMIT_CPU_TIME], used;

	if (!limit)
		return UINT64_MAX;
	used = cpu_used(w);
	return used < limit * ms ? limit * ms - used : 0;
}

/* --- the end -------------------------------------------------------------------------------------- */

/* With SIGCONT, since a tool that is stopped hears nothing else. */
static void ask_to_end(struct watch *w, uint64_t now)
{
	w->kill_at = now + GRACE_MS * ms;
	send(w, SIGTERM);
	send(w, SIGCONT);
}

static void kill_now(struct watch *w)
{
	w->killed = true;
	send(w, SIGKILL);
}

static void reach(struct watch *w, enum cave_limit limit, uint64_t now)
{
	w->reached = true;
	w->limit = limit;
	if (limit == CAVE_LIMIT_TIME)
		ask_to_end(w, now);
	else
		kill_now(w);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When to look again, in nanoseconds from now. */
static uint64_t next(const struct watch *w, uint64_t now, uint64_t cpu)
{
	uint64_t until = UINT64_MAX;

	if (w->killed)
		return UINT64_MAX;
	if (w->reached)
		return w->kill_at > now ? w->kill_at - now : 0;
	if (w->deadline != UINT64_MAX)
		until = w->deadline > now ? w->deadline - now : 0;
	if (cpu != UINT64_MAX)
		until = earlier(until, earlier(CPU_MS * ms, cpu / (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) + ms));
	return until;
}

/* Its number may be another's by now; its descriptor is nobody else's. */
static bool has_ended(const struct watch *w)
{
	struct pollfd p = { .fd = w->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

int watch_check(struct watch *w)
{
	uint64_t now = now_ns(), cpu = UINT64_MAX, until;
	bool ended = has_ended(w);

	/* What it has written may have to be waited for still. */
	if (w->over || (ended && !w->pump))
		return -1;
	if (!w->reached) {
		cpu = ended ? UINT64_MAX : cpu_left(w);
		if (w->pump && pump_full(w->pump))
			reach(w, CAVE_LIMIT_OUTPUT, now);
		else if (!cpu)
			reach(w, CAVE_LIMIT_CPU_TIME, now);
		else if (now >= w->deadline)
			reach(w, CAVE_LIMIT_TIME, now);
	} else if (!w->killed && now >= w->kill_at) {
		kill_now(w);
	}
	until = next(w, now, cpu);
	if (until == UINT64_MAX)
		return -1;
	/* A day is far enough for whoever waits in milliseconds. */
	return (int)earlier((until + ms - 1) / ms, 86400000);
}

uint64_t watch_deadline(const struct watch *w)
{
	return w->reached ? w->killed ? UINT64_MAX : w->kill_at : w->deadline;
}

enum cave_code watch_verdict(const struct watch *w, struct refusal *r)
{
	static const struct {
		enum cave_limit limit;
		enum cave_code code;
		const char *what;
	} verdicts[] = {
		{ CAVE_LIMIT_TIME, CAVE_TIMEOUT, "the tool ran for longer than %s" },
		{ CAVE_LIMIT_CPU_TIME, CAVE_TIMEOUT, "the tool used more processor time than %s" },
		{ CAVE_LIMIT_OUTPUT, CAVE_OUTPUT_LIMIT, "the tool wrote more than %s of output" },
		{ CAVE_LIMIT_MEMORY, CAVE_FAILED, "the tool used more memory than %s" },
	};
	char text[LIMIT_TEXT];

	for (size_t i = 0; w->reached && i < sizeof verdicts / sizeof *verdicts; i++) {
		if (verdicts[i].limit != w->limit)
			continue;
		limit_text(limit_table[w->limit].kind, w->limits->value[w->limit], text);
		refuse(r, verdicts[i].code, verdicts[i].what, text);
		r->status = STATUS_LIMIT;
		return verdicts[i].code;
	}
	return CAVE_OK;
}
