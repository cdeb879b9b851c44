/* SPDX-License-Identifier: MIT */
#include "runtime/onlooker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/message.h"

static const char *const places[] = { "cave-report", "../libexec/cave/cave-report" };

bool onlooker_open_log(const struct options *o, int *log, struct refusal *r)
{
	struct stat st;

	*log = -1;
	if (!o->log)
		return true;
	/* A tool that could write there before may have left a link. */
	*log = open(o->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	if (*log < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "--log %s", o->log);
	if (!fstat(*log, &st) && S_ISREG(st.st_mode))
		return true;
	close(*log);
	return refuse(r, CAVE_FAILED, "--log %s is no regular file", o->log);
}

/* Beside this executable, as in a build, or in ../libexec/cave of it, as installed. */
static bool find(char path[PATH_MAX + 32], struct refusal *r)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);

	while (n > 0 && exe[n - 1] != '/')
		n--;
	for (size_t i = 0; n > 0 && i < sizeof places / sizeof *places; i++) {
		snprintf(path, PATH_MAX + 32, "%.*s%s", (int)n, exe, places[i]);
		if (!access(path, X_OK))
			return true;
	}
	return refuse(r, CAVE_FAILED, "--report and --log need cave-report, which is neither beside caverun nor in "
				      "../libexec/cave");
}

/* So that none of them is overwritten before its turn. */
static int move_up(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, DENIALS_FDS_END);
}

static int start(char *const argv[], const int from[3], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	char *const env[] = { NULL };
	int error = posix_spawn_file_actions_init(&actions);

	for (int i = 0; i < 3 && !error; i++)
		error = from[i] < 0 ? posix_spawn_file_actions_addclose(&actions, DENIALS_GROUP + i)
				    : posix_spawn_file_actions_adddup2(&actions, from[i], DENIALS_GROUP + i);
	/* Signals stay blocked in it: it ends with us, whatever the terminal says. */
	if (!error)
		error = posix_spawn(pid, argv[0], &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static bool is_ready(int fd, char answer[DENIALS_ANSWER_MAX])
{
	ssize_t n;

	do
		n = read(fd, answer, DENIALS_ANSWER_MAX - 1);
	while (n < 0 && errno == EINTR);
	answer[n > 0 ? n : 0] = 0;
	return !strcmp(answer, DENIALS_OK);
}

static bool begin(const struct options *o, const int from[3], struct onlooker *d, struct refusal *r)
{
	char path[PATH_MAX + 32], answer[DENIALS_ANSWER_MAX];
	struct denials_counted none;
	char *argv[] = { path, (char *)o->policy, (char *)(o->profile ? o->profile : ""),
			 (char *)(o->report ? "1" : "0"), NULL };
	int error;

	if (!find(path, r))
		return false;
	error = start(argv, from, &d->helper);
	if (error)
		return refuse_errno(r, CAVE_FAILED, error, "%s", path);
	close(from[1]);
	if (is_ready(d->socket, answer))
		return true;
	onlooker_end(d, false, &none);
	return refuse(r, CAVE_FAILED, "--report or --log: %s", *answer ? answer : "cave-report ended without an answer");
}

bool onlooker_begin(const struct options *o, int group, int log, struct onlooker *out, struct refusal *r)
{
	struct onlooker d = { .helper = 0, .socket = -1 };
	int pair[2], from[3];
	bool ok;

	*out = d;
	if (!o->report && !o->log)
		return true;
	if (group < 0) {
		if (o->report)
			report_note("the policy grants no network: no destination is counted\n");
		if (log >= 0)
			close(log);
		return true;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return refuse_errno(r, CAVE_FAILED, errno, "socketpair");
	d.socket = pair[0];
	from[0] = move_up(group);
	from[1] = move_up(pair[1]);
	from[2] = move_up(log);
	close(pair[1]);
	if (log >= 0)
		close(log);
	ok = begin(o, from, &d, r);
	close(from[0]);
	if (from[2] >= 0)
		close(from[2]);
	if (ok)
		*out = d;
	return ok;
}

/* One that is gone hears nothing: its end is found out at ours. */
void onlooker_told(void *of, const struct denials_told *what)
{
	const struct onlooker *d = of;

	while (send(d->socket, what, sizeof *what, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

bool onlooker_end(struct onlooker *d, bool started, struct denials_counted *counted)
{
	ssize_t n;

	if (!d->helper)
		return false;
	if (!started)
		send(d->socket, DENIALS_NONE, strlen(DENIALS_NONE), MSG_NOSIGNAL);
	shutdown(d->socket, SHUT_WR);
	do
		n = read(d->socket, counted, sizeof *counted);
	while (n < 0 && errno == EINTR);
	close(d->socket);
	while (waitpid(d->helper, NULL, 0) < 0 && errno == EINTR)
		;
	d->helper = 0;
	return n == sizeof *counted;
}
