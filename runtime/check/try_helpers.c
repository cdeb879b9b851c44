/* SPDX-License-Identifier: MIT */
/* The programs that do the runtime's rarer work: whether each is where it is sought, and can be executed. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cave.h"
#include "runtime/check/trial.h"
#include "runtime/helper.h"

enum { STATUS_EXECUTION = 126 }; /* 126 and 127: it was not executed */

/* Without what caverun gives it, it ends at once.  0, or the errno. */
static int execute(const char *path)
{
	char *const argv[] = { (char *)path, NULL }, *const env[] = { NULL };
	posix_spawn_file_actions_t quiet;
	int error, status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
	error = posix_spawn(&pid, path, &quiet, NULL, argv, env);
	posix_spawn_file_actions_destroy(&quiet);
	if (error)
		return error;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) < STATUS_EXECUTION ? 0 : ENOEXEC;
}

static bool try_helper(struct trial *t, const char *name)
{
	const char *path = helper_find(t->host->memory, NULL, name);
	int error = path ? execute(path) : ENOENT;

	if (error)
		trial_fail(t, error, "%s, which is sought beside caverun and in libexec/cave", path ? path : name);
	else
		trial_works(t, "%s was executed", path);
	return !error;
}

void try_loader(struct trial *t)
{
	try_helper(t, "cave-load");
}

/* With the policy that it runs under itself. */
void try_resolver(struct trial *t)
{
	const char *path = helper_find(t->host->memory, NULL, "cave-resolve.bpf");
	struct cave_policy *policy;
	struct cave_error error;

	if (!try_helper(t, "cave-resolve"))
		return;
	if (!path)
		trial_fail(t, ENOENT, "cave-resolve.bpf, which is sought where cave-resolve is");
	else if (cave_policy_open(path, &policy, &error))
		trial_fail(t, error.error, "%.200s", error.text);
	else
		cave_policy_free(policy);
}

void try_reporter(struct trial *t)
{
	try_helper(t, "cave-report");
}
