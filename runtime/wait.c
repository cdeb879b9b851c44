/* SPDX-License-Identifier: MIT */
#include "runtime/wait.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/report.h"

/* Faults of our own must end us, not wait in a queue. */
static const int not_waited[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

static void waited(sigset_t *set)
{
	sigfillset(set);
	for (unsigned i = 0; i < sizeof not_waited / sizeof *not_waited; i++)
		sigdelset(set, not_waited[i]);
}

void wait_prepare(sigset_t *before)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t set;

	waited(&set);
	sigprocmask(SIG_BLOCK, &set, before);
	/* Where the caller ignores it, the kernel would reap the tool itself and its status were lost. */
	sigaction(SIGCHLD, &standard, NULL);
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

/* True if the tool has ended.  A stop is shared with whoever waits for us, and so is going on. */
static bool reap(pid_t tool, int *status)
{
	pid_t pid;

	while ((pid = waitpid(tool, status, WNOHANG | WUNTRACED)) != 0) {
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0 || !WIFSTOPPED(*status))
			return true;
		suffer(WSTOPSIG(*status));
		kill(tool, SIGCONT);
	}
	return false;
}

/*
 * What the terminal sends to its whole foreground group (drivers/tty/tty_jobctrl.c, n_tty.c), and so to the tool
 * as well.  Everything else that comes from the kernel, an alarm() that was set before we were executed or a limit
 * of processor time, comes to us alone.
 */
static bool reached_tool(const siginfo_t *info)
{
	static const int terminal[] = { SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGWINCH, SIGCONT, SIGTTIN, SIGTTOU };

	for (size_t i = 0; info->si_code == SI_KERNEL && i < sizeof terminal / sizeof *terminal; i++)
		if (info->si_signo == terminal[i])
			return true;
	return false;
}

static void pass_on(pid_t tool, const siginfo_t *info)
{
	if (!reached_tool(info))
		kill(tool, info->si_signo);
}

int wait_for(pid_t tool)
{
	sigset_t set;
	siginfo_t info;
	int status = 0;

	waited(&set);
	while (!reap(tool, &status)) {
		if (sigwaitinfo(&set, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD)
			pass_on(tool, &info);
	}
	return status;
}

int wait_status(int status)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGINT) {
		sigaction(SIGINT, &standard, NULL);
		suffer(SIGINT);
	}
	return STATUS_SIGNALLED + WTERMSIG(status);
}
