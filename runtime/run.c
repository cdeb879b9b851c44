/* SPDX-License-Identifier: MIT */
#include "runtime/run.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/env.h"

static bool check_keep(const struct cave_spawn *s, struct refusal *r)
{
	if (s->nkeep > CAVE_KEEP_MAX)
		return refuse(r, CAVE_FAILED, "too many descriptors to keep");
	for (size_t i = 0; i < s->nkeep; i++)
		if (s->keep[i] < 3 || (i && s->keep[i] <= s->keep[i - 1]))
			return refuse(r, CAVE_FAILED, "descriptors to keep must ascend, from 3");
	return true;
}

/* -1 stands for /dev/null, which is the same for all. */
static bool find_standard(struct run *run, const struct cave_spawn *s, int standard[3], struct refusal *r)
{
	for (int i = 0; i < 3; i++) {
		standard[i] = s->standard[i];
		if (standard[i] >= 0)
			continue;
		if (run->null < 0)
			run->null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (run->null < 0)
			return refuse_errno(r, CAVE_FAILED, errno, "cannot open /dev/null");
		standard[i] = run->null;
	}
	return true;
}

static bool find_descriptors(struct memory *m, struct run *run, const struct cave_spawn *s, struct refusal *r)
{
	int *keep = MEMORY_ARRAY(m, s->nkeep + 1, int), standard[3];

	for (size_t i = 0; i < s->nkeep; i++)
		keep[i] = s->keep[i];
	return find_standard(run, s, standard, r) &&
	       descriptors_check(standard, keep, s->nkeep, &run->descriptors, r);
}

bool run_make(struct memory *m, const struct plan *plan, const struct cave_spawn *s, struct run *out,
	      struct refusal *r)
{
	static char *const nothing[] = { NULL };

	*out = (struct run){ .plan = plan, .null = -1, .ruleset = plan->files.ruleset };
	if (!s->argv || !s->argv[0])
		return refuse(r, CAVE_FAILED, "no argv");
	if (!check_keep(s, r) || !find_descriptors(m, out, s, r))
		return false;
	if (s->mask)
		out->mask = *s->mask;
	else
		sigemptyset(&out->mask);
	out->argv = program_arguments(m, &plan->program, s->argv);
	return env_build(m, &plan->artefact, s->environment ? s->environment : nothing, &plan->folders,
			 &out->env, r);
}

void run_close(struct run *run)
{
	if (run->null >= 0)
		close(run->null);
	run->null = -1;
	if (run->own_ruleset && run->ruleset >= 0)
		close(run->ruleset);
	run->ruleset = -1;
}
