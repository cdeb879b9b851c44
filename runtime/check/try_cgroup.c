/* SPDX-License-Identifier: MIT */
/* Control groups: the group that egress programs are attached to, and the controllers that bound a run. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/check/trial.h"
#include "runtime/groups.h"
#include "runtime/memory.h"

void try_cgroup(struct trial *t)
{
	if (t->host->group < 0)
		trial_refused(t, t->host->no_group);
	else
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
	if (!trial_without_group(t))
		trial_in_child(t, 0, t->host->group, cloned);
}

/* What was loaded is remembered at the group, as an attribute. */
void try_record(struct trial *t)
{
	static const char name[] = "user.cave-check";
	char back[8];

	if (trial_without_group(t))
		return;
	if (fsetxattr(t->host->group, name, "kept", 4, 0))
		trial_fail(t, errno, "setting an attribute of the new group");
	else if (fgetxattr(t->host->group, name, back, sizeof back) != 4 || memcmp(back, "kept", 4) != 0)
		trial_fail(t, errno, "reading the attribute of the new group");
	else
		trial_works(t, "an attribute of the new group was set and read");
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
	if (!trial_without_group(t))
		trial_in_child(t, 0, t->host->group, killed);
}

/* --- controllers ---------------------------------------------------------------------------------- */

/* What a start does for a limit, with the group that it makes for it. */
static void try_limit(struct trial *t, enum cave_limit limit, uint64_t value)
{
	struct memory m = { .head = NULL };
	struct artefact a = { .limits = { { 0 } } };
	const struct cgroup none = { .parent = -1, .fd = -1 };
	struct groups g;
	struct refusal r;
	bool ok;

	a.limits.value[limit] = value;
	groups_init(&g);
	ok = groups_make(&m, &a, &none, true, &g, &r);
	if (ok && g.run.fd >= 0)
		trial_works(t, "version 2: %s bounds what is in it%s", g.run.path,
			    g.aside.fd >= 0 ? ", beside the one that caverun waits in" : "");
	else if (ok)
		trial_works(t, "version 1: %s bounds what is in it",
			    g.old[g.old[0].fd < 0].path);
	else
		trial_refused(t, &r);
	groups_remove(&g, NULL);
	memory_free(&m);
}

void try_memory(struct trial *t)
{
	try_limit(t, CAVE_LIMIT_MEMORY, 1u << 30);
}

void try_pids(struct trial *t)
{
	try_limit(t, CAVE_LIMIT_TASKS, 64);
}
