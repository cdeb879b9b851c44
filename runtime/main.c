/* SPDX-License-Identifier: MIT */
/* caverun: starts a tool under a compiled policy.  Reads as its pipeline: options, plan, egress, spawn, wait. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/descriptors.h"
#include "runtime/egress.h"
#include "runtime/options.h"
#include "runtime/plan.h"
#include "runtime/spawn.h"
#include "runtime/wait.h"

/*
 * Looks at /proc of the tool and keeps it open: Landlock's rule on /proc/self is a rule on an inode, which the
 * kernel would drop with its directory entry under memory pressure.
 */
static int hold_proc(pid_t tool)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d", (int)tool);
	return open(path, O_PATH | O_CLOEXEC);
}

static int inform(const char *text)
{
	return write(STDOUT_FILENO, text, strlen(text)) < 0 ? STATUS_REFUSED : 0;
}

static bool start_and_wait(const struct plan *plan, const struct cgroup *group, const sigset_t *mask,
			   int *status, struct refusal *r)
{
	pid_t tool;
	int proc;

	*status = wait_interrupted(); /* as waitpid() says it of a process that the signal ended */
	if (*status)
		return true;
	if (!spawn(plan, group->fd, mask, &tool, r))
		return false;
	proc = hold_proc(tool);
	*status = wait_for(tool);
	if (proc >= 0)
		close(proc);
	return true;
}

/* A shell says 126 where an exec is refused; whoever wrote the command line may not know that it is a script. */
static void explain(const struct plan *plan, int status)
{
	const struct program *p = &plan->program;

	if (p->nscripts && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_NOT_EXECUTABLE)
		report_note("note: %s is a script; if it starts another program, which the policy refuses, "
			    "name that program instead\n",
			    p->script[0]);
}

static bool run(struct plan *plan, const sigset_t *mask, int *status, struct refusal *r)
{
	struct cgroup group = { .parent = -1, .fd = -1 };
	bool ok;

	if (plan->artefact.requires & CAVE_REQUIRE_EGRESS &&
	    !egress_prepare(&plan->memory, &plan->artefact, mask, &group, r))
		return false;
	ok = start_and_wait(plan, &group, mask, status, r);
	cgroup_remove(&group);
	if (ok)
		explain(plan, *status);
	return ok;
}

static int refused(const struct refusal *r)
{
	report_refusal(r);
	return r->status;
}

int main(int argc, char **argv)
{
	struct descriptors descriptors;
	struct options options;
	struct refusal refusal;
	struct plan plan;
	sigset_t mask;
	int status = 0;
	bool ok;

	if (!options_parse(argc, argv, &options, &refusal))
		return refused(&refusal);
	if (options.information)
		return inform(options.information);
	if (!descriptors_check(&options, &descriptors, &refusal))
		return refused(&refusal);
	/* Before anything is made that would have to be removed. */
	wait_prepare(&mask);
	if (!plan_make(&options, &descriptors, environ, &plan, &refusal))
		return refused(&refusal);
	ok = run(&plan, &mask, &status, &refusal);
	plan_free(&plan);
	return ok ? wait_status(status) : refused(&refusal);
}
