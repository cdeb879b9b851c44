/* SPDX-License-Identifier: MIT */
#include "runtime/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/raw.h"

enum {
	K_WALL = 0x40000000, /* __WALL, linux/wait.h: whatever signal a child ends with */
	AT_ONCE = 64, /* signals, or children */
};

__attribute__((noreturn)) static void leave(void)
{
	SYS2(SYS_exit_group, 0, 0);
	for (;;)
		arch_trap();
}

static void tell(const struct init *i, char what)
{
	SYS3(SYS_write, i->socket, &what, 1);
}

/* --- the start ------------------------------------------------------------------------------------ */

/* Called by the tool's own steps: the descriptors that it may not close, since they are ours as well. */
static void spare(struct child *c, long fd)
{
	size_t at = c->nspared;

	while (at && c->spared[at - 1] > fd) {
		c->spared[at] = c->spared[at - 1];
		at--;
	}
	c->spared[at] = (int)fd;
	c->nspared++;
}

/* What is needed for watching: before there is a tool, so that nothing of it can fail afterwards. */
static long prepare(struct init *i)
{
	uint64_t all = ~0ull;
	long fd = above_standard(SYS4(SYS_signalfd4, -1, &all, 8, SFD_CLOEXEC | SFD_NONBLOCK));

	SYS2(SYS_close, i->other, 0);
	if (fd < 0)
		return fd;
	i->signals = (int)fd;
	i->child->step = "a /proc to count processes in";
	fd = above_standard(count_open_proc());
	if (fd < 0)
		return fd;
	i->count.proc = (int)fd;
	spare(i->child, i->socket);
	spare(i->child, i->starter);
	spare(i->child, i->signals);
	spare(i->child, i->count.proc);
	return 0;
}

/*
 * It shares our descriptors until it executes, so that the filter's listener becomes ours, and what it closes is closed
 * for both.  Returns 0 if it has executed.
 */
static long start_tool(struct init *i)
{
	struct k_clone_args args = { .flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | K_CLONE_CLEAR_SIGHAND,
				     .exit_signal = SIGCHLD, .stack = (uintptr_t)i->tool_stack,
				     .stack_size = sizeof i->tool_stack };
	struct child *c = i->child;
	int status = 0;
	long pid;

	if (i->cgroup >= 0) {
		args.flags |= K_CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)i->cgroup;
	}
	c->step = "clone3 of the tool";
	pid = arch_clone3(&args, child_run, c);
	if (pid < 0)
		return pid;
	if (!c->error && c->step == spawn_step_execve) {
		i->tool = (pid_t)pid;
		i->count.listener = c->listener;
		return 0;
	}
	while (SYS4(SYS_wait4, pid, &status, K_WALL, NULL) == -EINTR)
		;
	if (!c->error && WIFSIGNALED(status))
		c->signal = WTERMSIG(status);
	return c->error ? -c->error : -ECHILD;
}

/* What is left to be done: to signal the tool, whoever's it is, and to see what its threads do. */
static void drop_privileges(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	caps[0].effective = caps[0].permitted = 1u << CAP_KILL | 1u << CAP_SYS_PTRACE;
	SYS5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	SYS2(SYS_capset, &head, caps);
}

/* The tool's descriptors, which it has for itself now: who reads from it waits until they are closed. */
static void close_others(struct init *i)
{
	struct child *c = i->child;
	unsigned first = 0;

	spare(c, i->count.listener);
	for (size_t k = 0; k < c->nspared; k++) {
		if (c->spared[k] > (int)first)
			SYS3(SYS_close_range, first, c->spared[k] - 1, 0);
		first = (unsigned)c->spared[k] + 1;
	}
	SYS3(SYS_close_range, first, ~0u, 0);
}

/* --- while it runs -------------------------------------------------------------------------------- */

/* True if there may be more: whoever makes it as fast as it is taken must not keep us from all else. */
static bool reap(struct init *i)
{
	int status = 0;
	long pid;

	for (unsigned n = 0; n < AT_ONCE; n++) {
		pid = SYS4(SYS_wait4, -1, &status, WNOHANG | WUNTRACED | K_WALL, NULL);
		if (pid <= 0)
			return false;
		if (pid != i->tool)
			continue;
		if (WIFSTOPPED(status)) {
			atomic_store(&i->stopped, WSTOPSIG(status));
			tell(i, INIT_STOPPED);
			continue;
		}
		i->status = status;
		atomic_store(&i->ended, true);
		leave();
	}
	return true;
}

/* What the terminal sends to its whole foreground group has reached the tool as well: see wait.c. */
static bool from_terminal(const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_KERNEL;
}

/* As many at once as it takes to look at all else in between; true if children are still to be reaped. */
static bool take_signals(struct init *i)
{
	struct signalfd_siginfo info;
	bool more = false;

	for (unsigned n = 0; n < AT_ONCE && SYS3(SYS_read, i->signals, &info, sizeof info) == sizeof info; n++) {
		if (info.ssi_signo == SIGCHLD)
			more = reap(i);
		else if (!from_terminal(&info))
			SYS2(SYS_kill, i->tool, info.ssi_signo);
	}
	return more;
}

static void watch(struct init *i)
{
	const struct timespec now = { 0, 0 };
	bool more = false, children = false;

	for (;;) {
		/* One below 0 is passed over: a filter that no process has any more. */
		struct pollfd p[] = { { i->socket, POLLIN, 0 }, { i->starter, POLLIN, 0 },
				      { i->signals, POLLIN, 0 }, { i->count.listener, POLLIN, 0 } };

		if (SYS5(SYS_ppoll, p, 4, more || children ? &now : NULL, NULL, 8) < 0)
			continue;
		/* Nobody waits for us any more. */
		if (p[0].revents || p[1].revents)
			leave();
		if (children)
			children = reap(i);
		if (p[2].revents)
			children |= take_signals(i);
		if (more || p[3].revents)
			more = count_answer(&i->count);
	}
}

void init_run(void *of)
{
	struct init *i = of;
	long error;

	i->child->step = "what the first process of the namespace needs";
	error = prepare(i);
	if (!error)
		error = start_tool(i);
	if (error && !i->child->error && !i->child->signal)
		i->child->error = (int)-error;
	if (error)
		leave();
	close_others(i);
	/* Whoever announces a call waits for us, and has nothing else to do; an error only makes it slower. */
	SYS3(SYS_ioctl, i->count.listener, K_SECCOMP_NOTIF_SET_FLAGS, K_SECCOMP_SYNC_WAKE_UP);
	drop_privileges();
	/* The child's steps are over, and so is what they shared with the starter. */
	tell(i, INIT_STARTED);
	watch(i);
}
