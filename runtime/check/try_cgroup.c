/* SPDX-License-Identifier: MIT */
/* Control groups: the group that egress programs are attached to, and the controllers that bound a run. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/check/trial.h"
#include "runtime/memory.h"
#include "runtime/mountinfo.h"

static bool no_group(struct trial *t)
{
	if (t->host->group < 0)
		trial_fail(t, t->host->group_error, "%s", t->host->group_fault);
	return t->host->group < 0;
}

void try_cgroup(struct trial *t)
{
	if (!no_group(t))
		trial_works(t, "%s was made", t->host->group_path);
}

static bool put(int folder, const char *name, const char *text)
{
	int fd = openat(folder, name, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return ok;
}

static void cloned(struct trial *t)
{
	trial_works(t, "a child began in the new group");
}

void try_clone_into_cgroup(struct trial *t)
{
	if (!no_group(t))
		trial_in_child(t, 0, t->host->group, cloned);
}

/* Kills itself, being in the group. */
static void killed(struct trial *t)
{
	trial_works(t, "a child in the group was killed by its cgroup.kill");
	if (put(t->host->group, "cgroup.kill", "1"))
		sleep(5);
	trial_fail(t, errno, "writing cgroup.kill");
}

void try_cgroup_kill(struct trial *t)
{
	if (!no_group(t))
		trial_in_child(t, 0, t->host->group, killed);
}

/* --- controllers ---------------------------------------------------------------------------------- */

/* True if `word` is one of the comma-separated words of `list`. */
static bool lists(const char *list, size_t n, const char *word)
{
	size_t length = strlen(word);

	for (const char *end = list + n; list < end; list += strcspn(list, ",:") + 1)
		if (strcspn(list, ",:") == length && !memcmp(list, word, length))
			return true;
	return false;
}

/* The caller's own group in the version 1 hierarchy of a controller: "4:memory:/path". */
static const char *own_group(struct memory *m, const char *controller)
{
	char *text, *line, *save, *path;

	if (proc_read(m, "/proc/self/cgroup", &text))
		return NULL;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strcspn(line, ":");
		path = *line ? strchr(line + 1, ':') : NULL;
		if (path && lists(line + 1, (size_t)(path - line - 1), controller))
			return path + 1;
	}
	return NULL;
}

/* Makes a group beneath the caller's own there, sets one limit, and removes it. */
static void limit_version1(struct trial *t, const char *at, const char *file, const char *value)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/cave-check-%d", at, (int)getpid());
	if (mkdir(path, 0700)) {
		trial_fail(t, errno, "making a group in %s", at);
		return;
	}
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !put(fd, file, value))
		trial_fail(t, errno, "writing %s in a group of %s", file, at);
	else
		trial_works(t, "version 1: %s was written in a new group of %s", file, at);
	if (fd >= 0)
		close(fd);
	rmdir(path);
}

static void find_version1(struct trial *t, struct memory *m, const char *controller, const char *file,
			  const char *value)
{
	const char *own = own_group(m, controller);
	struct mounts mounts;

	if (!own || mountinfo_read(m, &mounts)) {
		trial_fail(t, ENOENT, "no hierarchy has the controller %s for a group of the caller's", controller);
		return;
	}
	for (size_t i = 0; i < mounts.n; i++) {
		const struct mount *mount = &mounts.mount[i];
		size_t skip = strcmp(mount->root, "/") ? strlen(mount->root) : 0;

		if (strcmp(mount->type, "cgroup") || !lists(mount->super, strlen(mount->super), controller) ||
		    !path_within(own, mount->root))
			continue;
		limit_version1(t, memory_printf(m, "%s%s", mount->point, strcmp(own, "/") ? own + skip : ""),
			       file, value);
		return;
	}
	trial_fail(t, ENOENT, "the controller %s is mounted nowhere", controller);
}

static void try_controller(struct trial *t, const char *controller, const char *file, const char *file1,
			   const char *value)
{
	struct memory m = { .head = NULL };

	if (t->host->group >= 0 && !faccessat(t->host->group, file, F_OK, 0)) {
		if (put(t->host->group, file, value))
			trial_works(t, "version 2: %s was written in the new group", file);
		else
			trial_fail(t, errno, "writing %s in %s", file, t->host->group_path);
	} else {
		find_version1(t, &m, controller, file1, value);
	}
	memory_free(&m);
}

void try_memory(struct trial *t)
{
	try_controller(t, "memory", "memory.max", "memory.limit_in_bytes", "1073741824");
}

void try_pids(struct trial *t)
{
	try_controller(t, "pids", "pids.max", "pids.max", "64");
}
