/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/check/trial.h"
#include "runtime/kernel.h"

enum { PATIENCE_MS = 5000 };

static void signal_by_descriptor(struct trial *t)
{
	pid_t pid = fork();
	struct pollfd end;

	if (!pid) {
		pause();
		_exit(0);
	}
	end = (struct pollfd){ .fd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	if (end.fd < 0)
		trial_fail(t, errno, "pidfd_open");
	else if (syscall(SYS_pidfd_send_signal, end.fd, SIGKILL, NULL, 0))
		trial_fail(t, errno, "pidfd_send_signal");
	else if (poll(&end, 1, PATIENCE_MS) != 1)
		trial_fail(t, ETIMEDOUT, "its end was not seen");
	else
		trial_works(t, "a child was opened, killed and seen to end by its descriptor");
	if (pid > 0)
		kill(pid, SIGKILL);
}

void try_pidfd(struct trial *t)
{
	trial_in_child(t, 0, -1, signal_by_descriptor);
}

/* Ends while its own child holds `end`, which that child's death closes. */
static __attribute__((noreturn)) void die_before_child(int end)
{
	int ready[2];
	char c;

	if (pipe(ready))
		_exit(1);
	if (!fork()) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(1);
	}
	close(end);
	_exit(read(ready[0], &c, 1) == 1 ? 0 : 1);
}

static void orphaned(struct trial *t)
{
	int ends[2], status = 0;
	struct pollfd seen;
	pid_t pid;

	if (pipe(ends)) {
		trial_fail(t, errno, "pipe");
		return;
	}
	pid = fork();
	if (!pid)
		die_before_child(ends[1]);
	close(ends[1]);
	seen = (struct pollfd){ .fd = ends[0] };
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		trial_fail(t, errno, "asking for the signal");
	else if (poll(&seen, 1, PATIENCE_MS) != 1)
		trial_fail(t, ETIMEDOUT, "a child outlived its parent");
	else
		trial_works(t, "a child was killed when its parent ended");
}

void try_death_signal(struct trial *t)
{
	trial_in_child(t, 0, -1, orphaned);
}

static void marked(struct trial *t)
{
	int fd = open("/", O_PATH);

	if (fd < 0 || syscall(SYS_close_range, fd, ~0u, K_CLOSE_RANGE_CLOEXEC))
		trial_fail(t, errno, "close_range");
	else if (fcntl(fd, F_GETFD) != FD_CLOEXEC)
		trial_fail(t, 0, "a descriptor was not marked");
	else
		trial_works(t, "a descriptor was marked to be closed at exec");
}

void try_close_range(struct trial *t)
{
	trial_in_child(t, 0, -1, marked);
}
