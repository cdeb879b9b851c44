/* SPDX-License-Identifier: MIT */
#include "runtime/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
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
		if (run->null < 0 && !descriptors_open_null(&run->null, r))
			return false;
		standard[i] = run->null;
	}
	return true;
}

/* The limit of open files bounds their numbers (getrlimit(2)); what is kept comes with its own. */
static bool check_numbers(const struct run *run, const struct cave_spawn *s, struct refusal *r)
{
	uint64_t limit = run->plan->artefact->limits.value[CAVE_LIMIT_OPEN_FILES];

	if (!limit || !s->nkeep || (uint64_t)s->keep[s->nkeep - 1] < limit)
		return true;
	return refuse(r, CAVE_FAILED, "descriptor %d is to be kept, and the limit open-files is %llu",
		      s->keep[s->nkeep - 1], (unsigned long long)limit);
}

/* One that leads to where the output goes. */
static bool leads_to_output(int fd, const int standard[3])
{
	struct stat st, out;

	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY || fstat(fd, &st) || (S_ISCHR(st.st_mode) && !isatty(fd)))
		return false;
	for (int i = 1; i < 3; i++)
		if (!fstat(standard[i], &out) && st.st_dev == out.st_dev && st.st_ino == out.st_ino)
			return true;
	return false;
}

/* A terminal of 0 is opened again for reading only; so nothing is written to it uncounted. */
static bool narrow_terminal(struct descriptors *d)
{
	for (size_t i = 0; i < d->nreopened; i++)
		if (d->reopened[i].fd == 0) {
			d->reopened[i].flags = (d->reopened[i].flags & ~O_ACCMODE) | O_RDONLY;
			d->reopened[i].narrowed = true;
			return true;
		}
	return false;
}

/* Output that is limited goes through us, and there is no other way for it. */
static bool limit_output(struct run *run, const int *keep, size_t nkeep, struct pump *pump, struct refusal *r)
{
	uint64_t limit = run->plan->artefact->limits.value[CAVE_LIMIT_OUTPUT];
	struct descriptors *d = &run->descriptors;
	int standard[3] = { d->standard[0], d->standard[1], d->standard[2] };

	if (!limit)
		return true;
	for (size_t i = 0; i < nkeep; i++)
		if (leads_to_output(keep[i], standard))
			return refuse(r, CAVE_FAILED, "output is limited, and descriptor %d leads past the limit",
				      keep[i]);
	if (!pump_make(pump, limit, standard, r) || !descriptors_check(standard, keep, nkeep, run->null, d, r))
		return false;
	if (isatty(standard[0]) ? !narrow_terminal(d) : leads_to_output(standard[0], run->outer))
		return refuse(r, CAVE_FAILED, "output is limited, and standard input leads past the limit");
	return true;
}

static bool find_descriptors(struct memory *m, struct run *run, const struct cave_spawn *s, struct pump *pump,
			     bool internal, struct refusal *r)
{
	int *keep = MEMORY_ARRAY(m, s->nkeep + 1, int), standard[3];

	for (size_t i = 0; i < s->nkeep; i++)
		keep[i] = s->keep[i];
	if (!find_standard(run, s, standard, r) || !check_numbers(run, s, r) ||
	    !descriptors_check(standard, keep, internal ? 0 : s->nkeep, run->null, &run->descriptors, r))
		return false;
	if (!files_check_handed(m, &run->plan->files, standard, 3, r) ||
	    !files_check_handed(m, &run->plan->files, keep, internal ? 0 : s->nkeep, r))
		return false;
	if (run->plan->artefact->children && (!descriptors_refuse_executable(standard, 3, r) ||
					     !descriptors_refuse_executable(keep, internal ? 0 : s->nkeep, r)))
		return false;
	run->descriptors.nkeep = s->nkeep;
	for (int i = 0; i < 3; i++)
		run->outer[i] = standard[i];
	return limit_output(run, keep, s->nkeep, pump, r);
}

bool run_make(struct memory *m, const struct plan *plan, const struct cave_spawn *s, struct pump *pump,
	      bool internal, struct run *out, struct refusal *r)
{
	static char *const nothing[] = { NULL };

	*out = (struct run){ .plan = plan, .null = plan->null, .ruleset = plan->files.ruleset };
	if (!s->argv || !s->argv[0])
		return refuse(r, CAVE_FAILED, "no argv");
	if (!check_keep(s, r) || !find_descriptors(m, out, s, pump, internal, r))
		return false;
	if (s->mask)
		out->mask = *s->mask;
	else
		sigemptyset(&out->mask);
	out->argv = program_arguments(m, &plan->program, s->argv);
	return env_build(m, plan->artefact, s->environment ? s->environment : nothing, &plan->folders,
			 &out->env, r);
}

void run_close(struct run *run)
{
	if (run->null >= 0 && run->null != run->plan->null)
		close(run->null);
	run->null = -1;
	if (run->own_ruleset && run->ruleset >= 0)
		close(run->ruleset);
	run->ruleset = -1;
}
