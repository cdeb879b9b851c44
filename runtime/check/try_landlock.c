/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/check/trial.h"
#include "runtime/kernel.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

enum { ABI_TRUNCATE = 3, ABI_SCOPE = 6 };

static long abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_RULESET_VERSION);
}

static bool restrict_self(struct trial *t, const struct ll_ruleset_attr *attr, size_t size)
{
	long ruleset = syscall(SYS_landlock_create_ruleset, attr, size, 0);

	if (ruleset < 0)
		trial_fail(t, errno, "landlock_create_ruleset");
	else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, (int)ruleset, 0))
		trial_fail(t, errno, "landlock_restrict_self");
	else
		return true;
	return false;
}

static void cannot_read(struct trial *t)
{
	const struct ll_ruleset_attr attr = { .handled_access_fs = LL_FS_READ_FILE | LL_FS_WRITE_FILE };
	int before = open(t->host->file, O_RDONLY | O_CLOEXEC), after;
	long version = abi();

	if (version < 1)
		trial_fail(t, errno, "asking for the version of its interface");
	else if (before < 0)
		trial_fail(t, errno, "opening a file of one's own");
	else if (restrict_self(t, &attr, sizeof attr.handled_access_fs)) {
		after = open(t->host->file, O_RDONLY | O_CLOEXEC);
		if (after >= 0 || errno != EACCES)
			trial_fail(t, 0, "a file could still be opened");
		else
			trial_works(t, "version %ld; a child could not open a file that it could open before", version);
	}
}

void try_landlock(struct trial *t)
{
	trial_in_child(t, 0, -1, cannot_read);
}

static void cannot_truncate(struct trial *t)
{
	const struct ll_ruleset_attr attr = { .handled_access_fs = LL_FS_TRUNCATE };

	if (abi() < ABI_TRUNCATE)
		trial_fail(t, EOPNOTSUPP, "version %ld of its interface does not know truncate()", abi());
	else if (truncate(t->host->file, 0))
		trial_fail(t, errno, "truncating a file of one's own");
	else if (restrict_self(t, &attr, sizeof attr.handled_access_fs)) {
		if (!truncate(t->host->file, 0) || errno != EACCES)
			trial_fail(t, 0, "a file could still be truncated");
		else
			trial_works(t, "a child could not truncate a file that it could truncate before");
	}
}

void try_landlock_truncate(struct trial *t)
{
	trial_in_child(t, 0, -1, cannot_truncate);
}

static void cannot_signal(struct trial *t)
{
	const struct ll_ruleset_attr attr = { .handled_access_fs = LL_FS_EXECUTE, .scoped = LL_SCOPE_SIGNAL };
	pid_t parent = getppid();

	if (abi() < ABI_SCOPE)
		trial_fail(t, EOPNOTSUPP, "version %ld of its interface does not know signals", abi());
	else if (kill(parent, 0))
		trial_fail(t, errno, "signalling the parent");
	else if (restrict_self(t, &attr, sizeof attr)) {
		if (!kill(parent, 0) || errno != EPERM)
			trial_fail(t, 0, "a signal could still be sent to the parent");
		else
			trial_works(t, "a child could not signal its parent, which it could before");
	}
}

void try_landlock_scope(struct trial *t)
{
	trial_in_child(t, 0, -1, cannot_signal);
}
