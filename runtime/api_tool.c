/* SPDX-License-Identifier: MIT */
/* cave.h: tools, from their start to their end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/api.h"
#include "runtime/kernel.h"
#include "runtime/run.h"
#include "runtime/spawn.h"

struct cave_tool {
	struct memory memory; /* holds this as well */
	struct cave_prepared *prepared;
	struct cave_spawn spawn;
	struct plan own; /* where every tool has one, as it has a workspace */
	struct run run;
	int into; /* the control group that it is started in, -1 for the caller's; not its own to close */
	struct spawned process; /* pidfd is -1 if nothing was started */
	int proc;
	bool ended;
	struct cave_result result;
};

struct starting {
	struct cave_tool *tool;
	const struct cave_spawn *spawn;
	struct refusal *refusal;
	bool ok;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- starting ------------------------------------------------------------------------------------- */

/*
 * Looks at /proc of the tool and keeps it open: Landlock's rule on /proc/self is a rule on an inode, which the
 * kernel would drop with its directory entry under memory pressure.
 */
static int hold_proc(pid_t tool)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d", (int)tool);
	return open(path, O_PATH | O_CLOEXEC);
}

static bool find_plan(struct cave_tool *t, const struct plan **out, struct refusal *r)
{
	struct cave_prepared *p = t->prepared;

	*out = &p->plan;
	if (!p->fresh)
		return true;
	*out = &t->own;
	t->own.user = p->plan.user;
	t->own.landlock_abi = p->plan.landlock_abi;
	t->own.dumpable = p->plan.dumpable;
	return plan_make(&t->own, p->policy, &p->options, r);
}

static int make_ruleset(const struct plan *plan)
{
	return ruleset_of(plan->files.rule, plan->files.nrules, plan->landlock_abi,
			  plan->artefact.requires & CAVE_REQUIRE_EGRESS);
}

/* The plan's, if that is for this one start. */
static bool find_ruleset(struct cave_tool *t, const struct plan *plan, struct refusal *r)
{
	int ruleset;

	if (plan == &t->own)
		return true;
	if (!plan->keep)
		return !atomic_exchange(&t->prepared->started, true) ||
		       refuse(r, CAVE_FAILED, "it was prepared for one start (CAVE_PREPARE_ONCE)");
	ruleset = atomic_exchange(&t->prepared->spare, -1);
	if (ruleset < 0)
		ruleset = make_ruleset(plan);
	if (ruleset < 0)
		return refuse_errno(r, CAVE_FAILED, -ruleset, "landlock_create_ruleset or landlock_add_rule");
	t->run.ruleset = ruleset;
	t->run.own_ruleset = true;
	return true;
}

/* While the tool runs: what only its start needed is given back, and what the next needs is made. */
static void make_ready(struct cave_prepared *p)
{
	int none = -1, ruleset;

	if (!p->plan.keep)
		files_close(&p->plan.files);
	if (p->fresh || !p->plan.keep || atomic_load(&p->spare) >= 0)
		return;
	ruleset = make_ruleset(&p->plan);
	if (ruleset >= 0 && !atomic_compare_exchange_strong(&p->spare, &none, ruleset))
		close(ruleset);
}

/* Straight into the policy's group: nothing is kept for a single run. */
static bool find_group(struct cave_tool *t, struct refusal *r)
{
	const struct kept *kept = &t->prepared->kept;

	if (kept->group.fd < 0)
		return true;
	t->into = kept->group.fd;
	return kept_verify(kept, r);
}

static bool prepare(void *of, struct refusal *r)
{
	struct starting *s = of;
	struct cave_tool *t = s->tool;
	const struct plan *plan;

	return api_take(&t->spawn, sizeof t->spawn, s->spawn, "struct cave_spawn", r) && find_plan(t, &plan, r) &&
	       run_make(&t->memory, plan, &t->spawn, &t->run, r) && find_ruleset(t, plan, r) && find_group(t, r);
}

static void start(void *of)
{
	struct starting *s = of;

	s->ok = spawn(&s->tool->run, s->tool->into, &s->tool->process, s->refusal);
}

static void start_here(struct starting *s)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	start(s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool start_tool(struct starting *s)
{
	struct cave_tool *t = s->tool;
	int error = 0;

	t->result.started_ns = now_ns();
	if (t->spawn.flags & CAVE_SPAWN_FROM_CALLER)
		start_here(s);
	else
		error = spawner_call(&t->prepared->spawner, start, s);
	if (error)
		return refuse_errno(s->refusal, CAVE_FAILED, error, "a thread to start the tool");
	if (s->ok)
		t->proc = hold_proc(t->process.pid);
	return s->ok;
}

enum cave_code cave_spawn(struct cave_prepared *prepared, const struct cave_spawn *spawn,
			  struct cave_tool **out, struct cave_error *error)
{
	struct refusal r;
	struct starting s = { .tool = api_make(sizeof *s.tool), .spawn = spawn, .refusal = &r };
	struct cave_tool *t = s.tool;
	bool ok;

	if (!t) {
		ok = refuse(&r, CAVE_FAILED, "out of memory");
		return api_answer(ok, &r, error);
	}
	t->prepared = prepared;
	t->run.null = t->run.ruleset = t->into = t->process.pidfd = t->proc = -1;
	plan_init(&t->own, &t->memory, prepared->policy);
	ok = api_guard(&t->memory, prepare, &s, &r) && start_tool(&s);
	run_close(&t->run);
	if (ok)
		make_ready(prepared);
	if (ok)
		*out = t;
	else
		cave_tool_free(t, NULL);
	return api_answer(ok, &r, error);
}

/* --- while it runs -------------------------------------------------------------------------------- */

pid_t cave_tool_pid(const struct cave_tool *tool)
{
	return tool->process.pid;
}

int cave_tool_pidfd(const struct cave_tool *tool)
{
	return tool->process.pidfd;
}

enum cave_code cave_tool_signal(struct cave_tool *tool, int signal, struct cave_error *error)
{
	struct refusal r;

	if (!syscall(SYS_pidfd_send_signal, tool->process.pidfd, signal, NULL, 0))
		return CAVE_OK;
	refuse_errno(&r, CAVE_FAILED, errno, "cannot send signal %d to the tool", signal);
	return api_answer(false, &r, error);
}

/* What waitpid() would have said (wait(2)). */
static int wait_status_of(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_DUMPED:
		return info->si_status | 0x80;
	default:
		return info->si_status;
	}
}

/* Reaps it if it has ended; with WNOHANG in `flags` it may not have. */
static void reap(struct cave_tool *t, int flags)
{
	siginfo_t info = { .si_pid = 0 };
	int result;

	do
		result = waitid((idtype_t)K_P_PIDFD, (id_t)t->process.pidfd, &info, WEXITED | flags);
	while (result && errno == EINTR);
	if (!result && !info.si_pid)
		return;
	t->ended = true;
	t->result.status = result ? -1 : wait_status_of(&info);
	t->result.ended_ns = now_ns();
}

static bool await(struct cave_tool *t, int timeout_ms, struct refusal *r)
{
	struct pollfd p = { .fd = t->process.pidfd, .events = POLLIN };
	uint64_t end = now_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000;

	for (;;) {
		uint64_t now = now_ns();
		int left = timeout_ms < 0 ? -1 : now < end ? (int)((end - now + 999999) / 1000000) : 0;
		int n = poll(&p, 1, left);

		if (n < 0 && errno != EINTR)
			return refuse_errno(r, CAVE_FAILED, errno, "cannot wait for the tool");
		if (n > 0)
			reap(t, WNOHANG);
		if (t->ended || (n >= 0 && timeout_ms >= 0 && now_ns() >= end))
			return true;
	}
}

enum cave_code cave_wait(struct cave_tool *tool, int timeout_ms, bool *ended, struct cave_result *result,
			 struct cave_error *error)
{
	struct refusal r;
	size_t size = result ? result->size : 0;

	if (!tool->ended && !await(tool, timeout_ms, &r))
		return api_answer(false, &r, error);
	if (ended)
		*ended = tool->ended;
	if (!tool->ended || size < sizeof size)
		return CAVE_OK;
	if (size > sizeof *result)
		size = sizeof *result;
	memcpy((char *)result + sizeof size, (char *)&tool->result + sizeof size, size - sizeof size);
	return CAVE_OK;
}

/* --- the end -------------------------------------------------------------------------------------- */

/* By its pidfd: what has been reaped cannot be confused with who has its number now. */
static void end(struct cave_tool *t)
{
	if (t->process.pidfd < 0)
		return;
	if (!t->ended && !syscall(SYS_pidfd_send_signal, t->process.pidfd, SIGKILL, NULL, 0))
		reap(t, 0);
	close(t->process.pidfd);
}

enum cave_code cave_tool_free(struct cave_tool *tool, struct cave_error *error)
{
	struct refusal r;
	bool ok;

	if (!tool)
		return CAVE_OK;
	end(tool);
	if (tool->proc >= 0)
		close(tool->proc);
	ok = plan_close(&tool->own, &r);
	api_free(tool);
	return api_answer(ok, &r, error);
}
