/* SPDX-License-Identifier: MIT */
#include "runtime/namespaces.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch.h"
#include "runtime/privilege.h"
#include "runtime/spawn_child.h"

enum { STACK = 16384 };

/*
 * Records and grants whose mounts are the same for every tool.  Covers over denials are not: where the host replaces
 * what is covered, the kernel takes the cover away (detach_mounts(), fs/namespace.c), and only a start that covers anew
 * would see it.
 */
static bool is_same_for_all(const struct plan *plan)
{
	const unsigned same = CAVE_FILE_READ | CAVE_FILE_WRITE | CAVE_FILE_OPTIONAL | CAVE_FILE_RELATIVE |
			      CAVE_FILE_WORKSPACE | CAVE_FILE_SYSTEM | CAVE_FILE_EXECUTE | CAVE_FILE_FOLDER |
			      CAVE_FILE_HOME | CAVE_FILE_SLOT;
	struct artefact_record record;

	for (size_t at = 0; artefact_next(plan->artefact, &at, &record);)
		if (record.type == CAVE_RECORD_CHILDREN || (record.type == CAVE_RECORD_FILE && record.flags & ~same))
			return false;
	return true;
}

/*
 * The child shares our descriptors, and what it opens to keep is ours when it has ended.  It uses our memory as well,
 * and we stand still.
 */
static bool make(struct child *c)
{
	_Alignas(16) char stack[STACK];
	struct k_clone_args args = { .flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWNS |
					      K_CLONE_CLEAR_SIGHAND,
				     .exit_signal = SIGCHLD, .stack = (uintptr_t)stack, .stack_size = sizeof stack };
	int status = 0;
	long pid;

	if (c->mode == CHILD_USERNS)
		args.flags |= CLONE_NEWUSER;
	pid = arch_clone3(&args, child_keep, c);
	if (pid < 0)
		return false;
	while (waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
		;
	return !c->error;
}

void namespaces_keep(struct plan *plan)
{
	int tree[ARTEFACT_FILES_MAX];
	struct child c = { .plan = plan, .tree = tree, .uid = geteuid(), .gid = getegid(),
			   .mode = has_capability(CAP_SYS_ADMIN) ? CHILD_MOUNTS : CHILD_USERNS };
	bool ok;

	/* Without a path the working directory cannot be found again in them. */
	if (!plan->cwd || !is_same_for_all(plan) || plan->files.nwritable > ARTEFACT_FILES_MAX)
		return;
	c.kept = (struct namespaces){ -1, -1 };
	for (size_t i = 0; i < plan->files.nwritable; i++)
		tree[i] = -1;
	c.devices = -1;
	ok = make(&c);
	if (c.devices >= 0)
		close(c.devices);
	for (size_t i = 0; i < plan->files.nwritable; i++)
		if (tree[i] >= 0)
			close(tree[i]);
	if (ok)
		plan->namespaces = c.kept;
	else
		namespaces_close(&c.kept);
}

void namespaces_close(struct namespaces *n)
{
	if (n->mounts >= 0)
		close(n->mounts);
	if (n->user >= 0)
		close(n->user);
	n->mounts = n->user = -1;
}
