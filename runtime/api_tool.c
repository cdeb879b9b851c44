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

#include "runtime/contained.h"
#include "runtime/kernel.h"
#include "runtime/thread.h"
#include "runtime/tool.h"

struct starting {
	struct cave_tool *tool;
	const struct cave_spawn *spawn;
	struct refusal *refusal;
	struct refusal asked; /* where the gate never opens */
	bool ok;
};

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
	/* What was prepared, whatever has been chosen of the policy since. */
	t->own.artefact = p->plan.artefact;
	memcpy(t->own.bound, p->plan.bound, sizeof t->own.bound);
	t->own.user = p->plan.user;
	t->own.landlock_abi = p->plan.landlock_abi;
	t->own.dumpable = p->plan.dumpable;
	return plan_make(&t->own, p->policy, &p->options, r);
}

static int make_ruleset(const struct plan *plan)
{
	return ruleset_of(plan->files.rule, plan->files.nrules, plan->landlock_abi,
			  plan->artefact->requires & CAVE_REQUIRE_EGRESS);
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
static void make_ready(struct cave_prepared *p, struct cave_tool *t)
{
	int none = -1, ruleset;

	files_close(&t->own.files);
	if (!p->plan.keep)
		files_close(&p->plan.files);
	if (p->fresh || !p->plan.keep || atomic_load(&p->spare) >= 0)
		return;
	ruleset = make_ruleset(&p->plan);
	if (ruleset >= 0 && !atomic_compare_exchange_strong(&p->spare, &none, ruleset))
		close(ruleset);
}

/* A group of the run's own, by which its names' addresses are told from those of others. */
static bool start_names(struct cave_tool *t, struct refusal *r)
{
	const struct cave_prepared *p = t->prepared;

	t->names = MEMORY_ARRAY(&t->memory, 1, struct names);
	names_init(t->names);
	return names_start(p->names, p->plan.artefact, &p->plan.rules, &p->kept, t->groups.run.fd,
			   t->spawn.flags & CAVE_SPAWN_UNGUARDED, t->names, r);
}

/*
 * What is attached to the policy's group can be asked while the child sets itself up, where nothing but the child is
 * made before it is known.  It pays if the library's thread has been made, or will be of use again, and does not start
 * the tool itself: being woken takes it as long as asking.
 */
static bool can_ask_meanwhile(const struct cave_tool *t)
{
	const struct cave_prepared *p = t->prepared;

	return p->plan.keep && t->spawn.flags & CAVE_SPAWN_FROM_CALLER && !p->names && !t->trace &&
	       !t->run.plan->artefact->max_children && p->records.fd[0] < 0 && p->records.fd[1] < 0;
}

static bool verify(struct cave_tool *t, struct refusal *r)
{
	const struct kept *kept = &t->prepared->kept;

	if (kept->group.fd < 0)
		return true;
	if (!kept_verify_group(kept, r))
		return false;
	if (!can_ask_meanwhile(t))
		return kept_verify_programs(kept, r);
	t->run.gate = &t->gate;
	return true;
}

/* Straight into the policy's group, unless the limits need one for this run, beneath it. */
static bool find_groups(struct cave_tool *t, struct refusal *r)
{
	const struct kept *kept = &t->prepared->kept;

	if (!verify(t, r))
		return false;
	if (!groups_make(&t->memory, t->run.plan->artefact, &kept->group, t->spawn.flags & CAVE_SPAWN_ASIDE,
			 &t->groups, r))
		return false;
	t->run.join = t->groups.procs;
	t->run.njoin = GROUPS_OLD;
	t->into = t->groups.run.fd >= 0 ? t->groups.run.fd : kept->group.fd;
	return !t->prepared->names || start_names(t, r);
}

static bool find_trace(struct cave_tool *t, struct refusal *r)
{
	if (!t->spawn.trace)
		return true;
	/* A process has one filter with a listener at the most (seccomp(2)), and the counting is done by one. */
	if (t->run.plan->artefact->max_children)
		return refuse(r, CAVE_FAILED,
			      "a tool that may have processes cannot be traced; trace it with childProcess false");
	if (!trace_make(&t->memory, t->spawn.trace, t->run.plan->artefact, t->run.ruleset, &t->trace, r))
		return false;
	t->run.trace = t->trace;
	return trace_start(t->trace, r);
}

static bool prepare(void *of, struct refusal *r)
{
	struct starting *s = of;
	struct cave_tool *t = s->tool;
	const struct plan *plan;

	if (t->prepared->pid != getpid())
		return refuse(r, CAVE_FAILED, "it was prepared by another process, which has forked since: prepare anew");
	return api_take(&t->spawn, sizeof t->spawn, s->spawn, "struct cave_spawn", r) && find_plan(t, &plan, r) &&
	       run_make(&t->memory, plan, &t->spawn, &t->pump, t->internal, &t->run, r) && find_ruleset(t, plan, r) &&
	       find_trace(t, r) && find_groups(t, r);
}

static void start(void *of)
{
	struct starting *s = of;

	s->ok = spawn(&s->tool->run, s->tool->into, &s->tool->process, s->refusal);
}

static void start_here(struct starting *s)
{
	sigset_t before;
	int error = signals_block(&before);

	if (error) {
		refuse_errno(s->refusal, CAVE_FAILED, error, "blocking signals");
		return;
	}
	start(s);
	signals_restore(&before);
}

/* In the library's thread. */
static void ask(void *of)
{
	struct starting *s = of;
	struct cave_tool *t = s->tool;

	gate_set(&t->gate, kept_verify_programs(&t->prepared->kept, &s->asked) ? GATE_OPEN : GATE_NEVER);
}

/* The child executes nothing before the gate is open; whatever it made of that, the answer counts. */
static bool start_and_ask(struct starting *s)
{
	struct spawner *spawner = &s->tool->prepared->spawner;
	struct spawner_job job;
	int error = spawner_post(spawner, &job, ask, s);

	if (error)
		ask(s);
	start_here(s);
	if (!error)
		spawner_wait(spawner, &job);
	if (atomic_load(&s->tool->gate) == GATE_OPEN)
		return s->ok;
	*s->refusal = s->asked;
	return false;
}

static bool start_there(struct starting *s)
{
	struct spawner *spawner = &s->tool->prepared->spawner;
	struct spawner_job job;
	int error = spawner_post(spawner, &job, start, s);

	if (error)
		return refuse_errno(s->refusal, CAVE_FAILED, error, "a thread to start the tool");
	spawner_wait(spawner, &job);
	return s->ok;
}

static bool start_it(struct starting *s)
{
	struct cave_tool *t = s->tool;

	t->result.started_ns = now_ns();
	if (!(t->spawn.flags & CAVE_SPAWN_FROM_CALLER))
		return start_there(s);
	if (t->run.gate)
		return start_and_ask(s);
	start_here(s);
	return s->ok;
}

/* It runs: from now on its limits are kept. */
static bool keep_limits(struct cave_tool *t, struct refusal *r)
{
	const struct cave_limits *limits = &t->run.plan->artefact->limits;
	bool pumped = limits->value[CAVE_LIMIT_OUTPUT];
	int error = 0;

	t->started = true;
	watch_begin(&t->watch, limits, t->process.pidfd, t->process.pid, t->groups.cpu_stat, pumped ? &t->pump : NULL,
		    t->result.started_ns);
	if (pumped)
		pump_started(&t->pump, t->process.pidfd);
	if (!(t->spawn.flags & CAVE_SPAWN_UNGUARDED) && watch_check(&t->watch) >= 0)
		error = guard_add(&t->prepared->guard, &t->guarded, &t->watch);
	return !error || refuse_errno(r, CAVE_FAILED, error, "a thread to keep the tool's limits");
}

/* While nothing has been started. */
static bool start_pump(struct cave_tool *t, struct refusal *r)
{
	return !t->run.plan->artefact->limits.value[CAVE_LIMIT_OUTPUT] || pump_start(&t->pump, r);
}

static bool record_it(struct cave_tool *t, struct refusal *r)
{
	t->record.policy = t->prepared->policy;
	t->record.program = t->run.plan->program.path;
	t->record.result = &t->result;
	return record_start(&t->prepared->records, &t->record, r);
}

/* Was not started, or must not go on. */
static void give_up(struct cave_tool *t, const struct refusal *r)
{
	t->record.refusal = r;
	cave_tool_free(t, NULL);
}

enum cave_code api_spawn(struct cave_prepared *prepared, const struct cave_spawn *spawn, bool internal,
			 struct cave_tool **out, struct cave_error *error)
{
	struct refusal r;
	struct starting s = { .tool = api_make(sizeof *s.tool, &prepared->idle), .spawn = spawn, .refusal = &r };
	struct cave_tool *t = s.tool;
	bool ok;

	if (!t) {
		ok = refuse(&r, CAVE_FAILED, "out of memory");
		return api_answer(ok, &r, error);
	}
	t->prepared = prepared;
	t->internal = internal;
	t->run.null = t->run.ruleset = t->into = t->process.pidfd = t->proc = -1;
	groups_init(&t->groups);
	pump_init(&t->pump);
	plan_init(&t->own, &t->memory, prepared->policy);
	ok = api_guard(&t->memory, prepare, &s, &r) && start_pump(t, &r) && record_it(t, &r) && start_it(&s) &&
	     keep_limits(t, &r);
	/* Whose processes have a /proc of their own need not: its root stays. */
	if (ok && !t->process.init)
		t->proc = hold_proc(t->process.pid);
	run_close(&t->run);
	if (ok)
		make_ready(prepared, t);
	if (ok)
		*out = t;
	else
		give_up(t, &r);
	return api_answer(ok, &r, error);
}

enum cave_code cave_spawn(struct cave_prepared *prepared, const struct cave_spawn *spawn, struct cave_tool **out,
			  struct cave_error *error)
{
	return api_spawn(prepared, spawn, false, out, error);
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
	tool_ended(t, result ? -1 : wait_status_of(&info));
}

/* The earlier of two times in milliseconds, of which -1 is never. */
static int sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* The tool has ended, and so has its output. */
static bool is_over(struct cave_tool *t)
{
	if (!t->ended)
		reap(t, WNOHANG);
	return tool_over(t);
}

static bool await(struct cave_tool *t, int timeout_ms, struct refusal *r)
{
	struct pollfd p[2 + NAMES_SOCKETS] = { { .fd = t->process.pidfd, .events = POLLIN },
					       { .fd = t->pump.event, .events = POLLIN } };
	uint64_t end = now_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000;

	names_poll(t->names, p + 2);
	for (;;) {
		uint64_t now = now_ns();
		int left = timeout_ms < 0 ? -1 : now < end ? (int)((end - now + 999999) / 1000000) : 0;

		/* A descriptor below 0 is passed over: what has ended stays readable. */
		if (t->ended)
			p[0].fd = -1;
		if (poll(p, 2 + NAMES_SOCKETS, sooner(left, tool_check(t))) < 0) {
			if (errno != EINTR)
				return refuse_errno(r, CAVE_FAILED, errno, "cannot wait for the tool");
			continue;
		}
		names_heard(t->names, p + 2);
		if (is_over(t) || (timeout_ms >= 0 && now_ns() >= end))
			return true;
		if (p[1].revents)
			pump_heard(&t->pump);
	}
}

enum cave_code cave_wait(struct cave_tool *tool, int timeout_ms, bool *ended, struct cave_result *result,
			 struct cave_error *error)
{
	struct refusal r;
	size_t size = result ? result->size : 0;
	bool over = is_over(tool);

	if (!over && !await(tool, timeout_ms, &r))
		return api_answer(false, &r, error);
	over = is_over(tool);
	if (ended)
		*ended = over;
	if (!over || size < sizeof size)
		return CAVE_OK;
	if (size > sizeof *result)
		size = sizeof *result;
	memcpy((char *)result + sizeof size, (char *)&tool->result + sizeof size, size - sizeof size);
	return CAVE_OK;
}

enum cave_code cave_tool_verdict(const struct cave_tool *tool, struct cave_error *error)
{
	return tool_verdict(tool, error);
}

/* --- the end -------------------------------------------------------------------------------------- */

/* By its pidfd: what has been reaped cannot be confused with who has its number now. */
static void end(struct cave_tool *t)
{
	if (t->process.pidfd < 0)
		return;
	if (!t->ended && !syscall(SYS_pidfd_send_signal, t->process.pidfd, SIGKILL, NULL, 0))
		reap(t, 0);
}

enum cave_code cave_tool_free(struct cave_tool *tool, struct cave_error *error)
{
	memory_idle *idle = tool ? &tool->prepared->idle : NULL;
	struct refusal r, other;
	bool ok;

	/* One that was there before a fork is the parent's. */
	if (!tool || tool->prepared->pid != getpid())
		return CAVE_OK;
	end(tool);
	guard_remove(&tool->prepared->guard, &tool->guarded);
	pump_close(&tool->pump);
	trace_close(tool->trace);
	if (tool->process.pidfd >= 0) {
		contained_close(&tool->process);
		close(tool->process.pidfd);
	}
	if (tool->proc >= 0)
		close(tool->proc);
	ok = !tool->names || names_end(tool->names, &r);
	tool->record.pid = tool->process.pid;
	ok = record_end(&tool->prepared->records, &tool->record, ok ? &r : &other) && ok;
	ok = groups_remove(&tool->groups, ok ? &r : NULL) && ok;
	ok = plan_close(&tool->own, ok ? &r : NULL) && ok;
	api_free(tool, idle);
	return api_answer(ok, &r, error);
}
