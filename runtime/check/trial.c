/* SPDX-License-Identifier: MIT */
#include "runtime/check/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/kernel.h"

void trial_fail(struct trial *t, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(t->detail, sizeof t->detail, format, ap);
	va_end(ap);
	t->error = error ? error : EPROTO;
}

void trial_refused(struct trial *t, const struct refusal *r)
{
	char errno_text[128];
	size_t n = (size_t)snprintf(errno_text, sizeof errno_text, ": %s (errno %d)", strerror(r->error), r->error);
	size_t length = strlen(r->text);

	if (length > n && !strcmp(r->text + length - n, errno_text))
		length -= n;
	trial_fail(t, r->error ? r->error : ENOENT, "%.*s", (int)length, r->text);
}

bool trial_without_group(struct trial *t)
{
	t->untried = t->host->group < 0;
	if (t->untried)
		trial_fail(t, ENOENT, "not tried: it takes a control group (cgroup_v2)");
	return t->untried;
}

void trial_works(struct trial *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(t->detail, sizeof t->detail, format, ap);
	va_end(ap);
	t->error = 0;
}

unsigned long long trial_user_flag(const struct trial *t)
{
	return t->host->privileged ? 0 : CLONE_NEWUSER;
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* "ID ID 1", as caverun maps its own. */
static bool map_ids(uid_t uid, gid_t gid)
{
	char line[64];

	if (!put("/proc/self/setgroups", "deny") && errno != ENOENT)
		return false;
	snprintf(line, sizeof line, "%u %u 1\n", gid, gid);
	if (!put("/proc/self/gid_map", line))
		return false;
	snprintf(line, sizeof line, "%u %u 1\n", uid, uid);
	return put("/proc/self/uid_map", line);
}

static __attribute__((noreturn)) void child(struct trial *t, bool user, uid_t uid, gid_t gid, trial_fn *fn)
{
	if (user && !map_ids(uid, gid))
		trial_fail(t, errno, "mapping its ids into a user namespace");
	else
		fn(t);
	_exit(0);
}

void trial_in_child(struct trial *t, unsigned long long flags, int cgroup, trial_fn *fn)
{
	struct k_clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int status = 0;
	long pid;

	if (cgroup >= 0) {
		args.flags |= K_CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	trial_fail(t, ECHILD, "its child ended before it had an answer");
	pid = syscall(SYS_clone3, &args, sizeof args);
	if (!pid)
		child(t, flags & CLONE_NEWUSER, uid, gid, fn);
	if (pid < 0) {
		trial_fail(t, errno, "clone3");
		return;
	}
	while (waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && t->error == ECHILD)
		trial_fail(t, ECHILD, "its child was ended by signal %d", WTERMSIG(status));
}
