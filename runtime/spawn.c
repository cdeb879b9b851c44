/* SPDX-License-Identifier: MIT */
#include "runtime/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf_common.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch.h"
#include "runtime/contained.h"
#include "runtime/privilege.h"
#include "runtime/rights.h"
#include "runtime/spawn_child.h"
#include "runtime/trace.h"
#include "runtime/userns.h"

enum { STACK = 16384 };

static uint64_t namespaces(const struct plan *plan, enum child_mode mode)
{
	if (plan->namespaces.mounts >= 0)
		return 0;
	return (mode != CHILD_PLAIN ? CLONE_NEWNS : 0) | (mode == CHILD_USERNS ? CLONE_NEWUSER : 0);
}

/* One try.  True if it runs; else c->step, and c->error or c->signal. */
static bool try(struct child *c, int cgroup, void *stack, struct spawned *out)
{
	int pidfd = -1, status = 0;
	const uint64_t flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | K_CLONE_CLEAR_SIGHAND;
	struct k_clone_args args = { .flags = flags | namespaces(c->plan, c->mode), .exit_signal = SIGCHLD,
				     .pidfd = (uintptr_t)&pidfd, .stack = (uintptr_t)stack,
				     .stack_size = STACK };
	long pid;

	if (c->plan->artefact->max_children)
		return contained_start(c, namespaces(c->plan, c->mode), cgroup, out);
	if (cgroup >= 0) {
		args.flags |= K_CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	c->step = spawn_step_clone;
	c->error = 0;
	if (c->run->trace) {
		c->run->trace->pidfd = &pidfd;
		c->run->trace->mounts = c->mode != CHILD_PLAIN;
	}
	pid = arch_clone3(&args, child_run, c);
	if (pid < 0) {
		c->error = (int)-pid;
		return false;
	}
	if (!c->error && c->step == spawn_step_execve) {
		*out = (struct spawned){ (pid_t)pid, pidfd, -1, NULL };
		return true;
	}
	close(pidfd);
	while (waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!c->error && WIFSIGNALED(status))
		c->signal = WTERMSIG(status);
	return false;
}

/* The random value, and what the filter's other patches become under this mode. */
static bool complete(struct child *c, struct refusal *r)
{
	const struct artefact_filter *f = &c->plan->artefact->filter[ARCH_FILTER];

	if (getrandom(c->values.exec, sizeof c->values.exec, 0) != sizeof c->values.exec)
		return refuse_errno(r, CAVE_FAILED, errno, "getrandom");
	c->values.metadata = c->mode != CHILD_PLAIN && !c->run->descriptors.loose;
	/* In a process namespace no other process has a number, and its first process judges what goes to groups. */
	c->values.signals = c->plan->landlock_abi >= LL_ABI_SCOPE || c->plan->artefact->max_children;
	memcpy(c->insn, f->insn, f->n * sizeof *f->insn);
	filter_complete(f, &c->values, c->insn);
	return true;
}

/* --- without a mount namespace -------------------------------------------------------------------- */

/* Why the start cannot do without the namespace, or NULL. */
static const char *needs_mounts(const struct plan *p)
{
	if (p->artefact->children)
		return "the policy lets other programs be started, which only namespaces contain";
	if (p->artefact->requires & CAVE_REQUIRE_MOUNTS)
		return "the policy allows calls that only such a namespace bounds";
	if (p->files.ndenied)
		return "the policy denies something inside of what it grants";
	if (p->files.shm)
		return "the policy grants a private /dev/shm";
	if (p->landlock_abi < LL_ABI_TRUNCATE)
		return "this kernel's Landlock does not bound truncate()";
	if (program_is_privileged(p->program.path))
		return "the program has set-id bits or file capabilities";
	return NULL;
}

/*
 * The step failed for want of a namespace.  Anything else refuses the start: a write grant that changed while we
 * looked, or a shortage of memory, must not be a way to a weaker sandbox.
 */
static bool is_namespace_failure(const struct child *c)
{
	if (c->mode == CHILD_PLAIN)
		return false;
	/* Paths of the caller's play a part there, which others may have made unreachable. */
	if (c->step == spawn_step_copy || c->step == spawn_step_attach)
		return c->error == EPERM || c->error == ENOSYS;
	if (c->step != spawn_step_clone && c->step != spawn_step_ids && c->step != spawn_step_mounts)
		return false;
	switch (c->error) {
	case EPERM: /* not permitted, by the kernel or a security module */
	case EACCES:
	case ENOSPC: /* a limit of namespaces or mounts: clone(2), user_namespaces(7) */
	case EUSERS:
	case EINVAL: /* not built in; or / is no mount point, as in a chroot */
	case ENOSYS: /* mount_setattr() before Linux 5.12 */
		return true;
	default:
		return false;
	}
}

static bool fall_back(struct child *c, struct refusal *r)
{
	const char *why = needs_mounts(c->plan);

	if (why)
		return refuse_errno(r, CAVE_FAILED, c->error,
				    "a private mount namespace is not to be had and %s%s; %s", why,
				    userns_setting(), c->step);
	c->mode = CHILD_PLAIN;
	return true;
}

/* --- the start ------------------------------------------------------------------------------------ */

static bool failed(const struct child *c, struct refusal *r)
{
	if (c->step == spawn_step_execve)
		return refuse_program(r, c->error, c->plan->program.path, NULL);
	if (c->signal) {
		refuse(r, CAVE_FAILED, "signal %d ended the tool before it had started; %s", c->signal,
		       c->step);
		r->status = STATUS_SIGNALLED + c->signal;
		return false;
	}
	return refuse_errno(r, CAVE_FAILED, c->error, "cannot start the tool; %s", c->step);
}

static bool start(struct child *c, int cgroup, void *stack, struct spawned *out, struct refusal *r)
{
	if (c->run->descriptors.loose && c->plan->artefact->requires & CAVE_REQUIRE_MOUNTS)
		return refuse(r, CAVE_FAILED,
			      "the policy allows calls that change a file's mode, owner or times, and a file that is "
			      "given to the tool for reading lies outside its mounts: give it by a pipe");
	if (!complete(c, r))
		return false;
	if (try(c, cgroup, stack, out))
		return true;
	if (!is_namespace_failure(c))
		return failed(c, r);
	if (!fall_back(c, r) || !complete(c, r))
		return false;
	return try(c, cgroup, stack, out) || failed(c, r);
}

/*
 * A change of user or of user namespace in the child, which shares our memory, has made it undumpable (commit_creds(),
 * kernel/cred.c): not what we asked for.
 */
static void restore_dumpable(int dumpable)
{
	if (prctl(PR_GET_DUMPABLE) != dumpable)
		prctl(PR_SET_DUMPABLE, dumpable);
}

/* The child's stack is on ours, which stands still under the child: it is too short-lived to be worth a mapping. */
__attribute__((noinline)) static bool start_on_stack(struct child *c, int cgroup, struct spawned *out,
						     struct refusal *r)
{
	_Alignas(16) char stack[STACK];

	return start(c, cgroup, stack, out, r);
}

/*
 * And so are the filter and the descriptors of the write grants, no larger than they must be: that part of our stack
 * has been used before, and needs no new pages.
 */
static bool start_with_room(struct child *c, int cgroup, struct spawned *out, struct refusal *r)
{
	struct sock_filter insn[c->plan->artefact->filter[ARCH_FILTER].n];
	int tree[c->plan->files.nwritable + 1];

	c->insn = insn;
	c->tree = tree;
	return start_on_stack(c, cgroup, out, r);
}

bool spawn(const struct run *run, int cgroup, struct spawned *out, struct refusal *r)
{
	const struct plan *plan = run->plan;
	bool has_user = plan->namespaces.user >= 0;
	bool privileged = plan->namespaces.mounts >= 0 ? !has_user : has_capability(CAP_SYS_ADMIN);
	struct child c = { .plan = plan, .run = run, .mode = privileged ? CHILD_MOUNTS : CHILD_USERNS,
			   .parent = getpid(), .uid = geteuid(), .gid = getegid() };
	bool ok;

	ok = start_with_room(&c, cgroup, out, r);
	if (plan->user || has_user)
		restore_dumpable(plan->dumpable);
	return ok;
}
