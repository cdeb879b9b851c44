/* SPDX-License-Identifier: MIT */
#include "runtime/wait.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/contained.h"
#include "runtime/report.h"

/* Faults of our own must end us, not wait in a queue. */
static const int not_waited[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

static void waited(sigset_t *set)
{
	sigfillset(set);
	for (unsigned i = 0; i < sizeof not_waited / sizeof *not_waited; i++)
		sigdelset(set, not_waited[i]);
}

bool wait_prepare(sigset_t *before, int *signals, struct refusal *r)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t set;
	int fd;

	waited(&set);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "signalfd");
	/* Where the caller ignores it, the kernel would reap the tool itself and its status were lost. */
	if (sigprocmask(SIG_BLOCK, &set, before) || sigaction(SIGCHLD, &standard, NULL)) {
		close(fd);
		return refuse_errno(r, CAVE_FAILED, errno, "blocking signals");
	}
	*signals = fd;
	return true;
}

int wait_interrupted(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action;
	sigset_t pending;

	sigpending(&pending);
	for (unsigned i = 0; i < sizeof ending / sizeof *ending; i++)
		/* One that is blocked is kept even if it is ignored. */
		if (sigismember(&pending, ending[i]) == 1 && !sigaction(ending[i], NULL, &action) &&
		    action.sa_handler != SIG_IGN)
			return ending[i];
	return 0;
}

/* Does to ourselves what the signal would have done, had it not been blocked. */
static void suffer(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	kill(getpid(), signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* --- stops ---------------------------------------------------------------------------------------- */

/* SIGCONT at that time, which lets a stopped process go on; NULL if there is no need. */
static bool arm(clockid_t clock, uint64_t ns, timer_t *timer)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
	struct itimerspec at = { .it_value = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) } };

	if (timer_create(clock, &event, timer))
		return false;
	if (!timer_settime(*timer, TIMER_ABSTIME, &at, NULL))
		return true;
	timer_delete(*timer);
	return false;
}

/*
 * A tool can stop itself, and us with it, and have itself woken by a timer of its own.  So have we, when its time or
 * its processor time is over; what has a control group is frozen as long as we cannot look.
 */
static void stop_together(struct cave_tool *tool, int signal)
{
	const struct watch *w = &tool->watch;
	uint64_t cpu = w->limits->value[CAVE_LIMIT_CPU_TIME] * 1000000;
	bool timed = false, counted = false;
	timer_t time, used;

	if (watch_deadline(w) != UINT64_MAX)
		timed = arm(CLOCK_MONOTONIC, watch_deadline(w), &time);
	if (cpu && w->cpu_stat < 0)
		counted = arm(w->cpu_clock, cpu, &used);
	tool_freeze(tool, true);
	suffer(signal);
	tool_freeze(tool, false);
	if (timed)
		timer_delete(time);
	if (counted)
		timer_delete(used);
}

/* A stop is shared with whoever waits for us, and so is going on. */
static void share_stop(struct cave_tool *tool, int signal)
{
	stop_together(tool, signal);
	kill(tool->process.pid, SIGCONT);
}

/* True if the tool has ended. */
static bool reap(struct cave_tool *tool)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(tool->process.pid, &status, WNOHANG | WUNTRACED)) != 0) {
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0 || !WIFSTOPPED(status)) {
			tool_ended(tool, pid < 0 ? -1 : status);
			return true;
		}
		share_stop(tool, WSTOPSIG(status));
	}
	return false;
}

/* --- signals -------------------------------------------------------------------------------------- */

/*
 * What the terminal sends to its whole foreground group (drivers/tty/tty_jobctrl.c, n_tty.c), and so to the tool
 * as well.  Everything else that comes from the kernel, an alarm() that was set before we were executed or a limit
 * of processor time, comes to us alone.
 */
static bool reached_tool(const struct signalfd_siginfo *info)
{
	static const int terminal[] = { SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGWINCH, SIGCONT, SIGTTIN, SIGTTOU };

	/* That the terminal is gone its session's leader alone is told (tty_signal_session_leader()). */
	if ((info->ssi_signo == SIGHUP || info->ssi_signo == SIGCONT) && getsid(0) == getpid())
		return false;
	for (size_t i = 0; info->ssi_code == SI_KERNEL && i < sizeof terminal / sizeof *terminal; i++)
		if ((int)info->ssi_signo == terminal[i])
			return true;
	return false;
}

/* Our own timer is nobody's signal. */
static void pass_on(const struct cave_tool *tool, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo != SIGCHLD && info->ssi_code != SI_TIMER && !reached_tool(info))
		kill(tool->process.pid, (int)info->ssi_signo);
}

static bool ends_us(const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGINT || info->ssi_signo == SIGTERM || info->ssi_signo == SIGHUP ||
	       info->ssi_signo == SIGQUIT;
}

/* The next signal, if there is one.  False if it ends us, when only output is waited for. */
static bool take_signal(const struct cave_tool *tool, int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof info) != sizeof info)
		return true;
	if (!tool->ended)
		pass_on(tool, &info);
	return !tool->ended || !ends_us(&info);
}

int wait_for(struct cave_tool *tool, int signals)
{
	struct pollfd p[3 + NAMES_SOCKETS] = { { .fd = signals, .events = POLLIN },
					       { .fd = tool->pump.event, .events = POLLIN },
					       { .fd = tool->process.channel, .events = POLLIN } };
	int stop;

	names_poll(tool->names, p + 3);

	for (;;) {
		if (!tool->ended)
			reap(tool);
		if (tool_over(tool))
			break;
		if (poll(p, 3 + NAMES_SOCKETS, tool_check(tool)) < 0)
			continue;
		names_heard(tool->names, p + 3);
		if (p[1].revents)
			pump_heard(&tool->pump);
		if (p[2].revents & POLLIN && (stop = contained_stopped(&tool->process)))
			share_stop(tool, stop);
		if (p[2].revents & POLLHUP) /* which stays so until it has been reaped */
			p[2].fd = -1;
		/* What came with the tool's end needs no reading. */
		if (p[0].revents && (tool->ended || !reap(tool)) && !take_signal(tool, signals))
			break;
	}
	return tool->result.status;
}

int wait_status_number(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNALLED + WTERMSIG(status);
}

int wait_status(int status)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) {
		sigaction(SIGINT, &standard, NULL);
		suffer(SIGINT);
	}
	return wait_status_number(status);
}
