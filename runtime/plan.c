/* SPDX-License-Identifier: MIT */
#include "runtime/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/arch.h"
#include "runtime/env.h"

/* An exec by a process whose ids differ clears the parent-death signal (begin_new_exec(), fs/exec.c). */
static bool check_ids(struct refusal *r)
{
	if (getuid() == geteuid() && getgid() == getegid())
		return true;
	return refuse(r, CAVE_FAILED,
		      "the real and the effective user or group of the caller differ: the tool would outlive it");
}

static bool check_host(struct plan *p, struct refusal *r)
{
	p->landlock_abi = landlock_abi();
	if (!p->landlock_abi)
		return refuse_errno(r, CAVE_FAILED, errno,
				    "this kernel has no Landlock, or it is not among the modules of lsm=; "
				    "without it files cannot be bounded");
	return true;
}

static bool find_user(struct plan *p, const struct cave_options *o, struct refusal *r)
{
	struct user *user;

	if (!o->user)
		return true;
	user = MEMORY_ARRAY(p->memory, 1, struct user);
	p->user = user;
	return user_find(p->memory, o->user, user, r);
}

/* The canonical path of what is named on the command line: a folder with O_DIRECTORY, else a regular file. */
static bool canonical(struct memory *m, const char *what, const char *path, int flags, const char **out,
		      struct program_file *seen, struct refusal *r)
{
	int fd = open(path, O_PATH | O_CLOEXEC | flags);
	struct stat st;

	if (fd < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "%s %s", what, path);
	*out = path_of(m, fd);
	if (fstat(fd, &st) || (!(flags & O_DIRECTORY) && !S_ISREG(st.st_mode)))
		*out = "";
	else if (seen)
		*seen = (struct program_file){ st.st_dev, st.st_ino };
	close(fd);
	if (*out && !**out)
		return refuse(r, CAVE_FAILED, "%s %s is no regular file", what, path);
	return *out || refuse(r, CAVE_FAILED, "%s %s has no path that can be known", what, path);
}

/*
 * Where a write grant is put in place anew, or the mounts are kept, the caller's own directory must be entered
 * again by its path, or the tool would stand on the read-only mount beneath.  One that / does not lead to (its mount
 * was detached, or it is another namespace's) is on a mount that stays writable: the kernel says "(unreachable)" in
 * place of its root.
 */
static bool find_cwd(struct plan *p, const struct cave_options *o, struct refusal *r)
{
	char cwd[PATH_MAX];
	long n;

	if (o->directory)
		return canonical(p->memory, "--chdir", o->directory, O_DIRECTORY, &p->cwd, NULL, r);
	p->cwd = p->folders.workspace.path;
	if (p->cwd)
		return true;
	n = syscall(SYS_getcwd, cwd, sizeof cwd);
	if (n > 0 && *cwd != '/')
		return refuse(r, CAVE_FAILED, "/ does not lead to the current directory: name another with --chdir");
	if (n > 0 && (files_mount(&p->files) || p->keep))
		p->cwd = memory_string(p->memory, cwd, (size_t)n);
	return true;
}

static bool find_program(struct plan *p, const struct cave_options *o, struct refusal *r)
{
	if (o->script && !canonical(p->memory, "--script", o->script, 0, &p->script, &p->script_seen, r))
		return false;
	return program_find(p->memory, o->program, p->script, o->search, &p->program, r);
}

static bool find_files(struct plan *p, int artefact_fd, const char *script, struct refusal *r)
{
	struct files_request request = { .artefact = p->artefact, .artefact_fd = artefact_fd,
					 .folders = &p->folders, .program = &p->program,
					 .script = p->script, .script_named = script,
					 .script_seen = p->script_seen, .landlock_abi = p->landlock_abi,
					 .bound = p->bound, .nbound = PLAN_BOUND, .keep = p->keep };

	return files_prepare(p->memory, &request, &p->files, r);
}

void plan_init(struct plan *p, struct memory *m, const struct cave_policy *policy)
{
	*p = (struct plan){ .memory = m, .artefact = policy->artefact,
			    .files = { .ruleset = -1 }, .namespaces = { -1, -1 }, .null = -1,
			    .bound = { -1, -1, -1 } };
	folders_init(&p->folders);
}

bool plan_is_fresh(const struct cave_policy *policy, const struct cave_options *o)
{
	return folders_are_fresh(policy->artefact, o);
}

static bool check_rules(struct plan *p, const char *config, struct refusal *r)
{
	return operator_load(p->memory, config, &p->rules, &p->bound[0], r) &&
	       operator_accepts(&p->rules, p->artefact, r) && env_check(p->memory, &p->rules, p->artefact, r);
}

bool plan_check(struct plan *p, const struct cave_options *o, struct refusal *r)
{
	return check_rules(p, o->config, r) && check_ids(r) && check_host(p, r) && find_user(p, o, r);
}

bool plan_make(struct plan *p, const struct cave_policy *policy, const struct cave_options *o, struct refusal *r)
{
	return folders_find(p->memory, p->artefact, o, p->user, &p->folders, r) && find_program(p, o, r) &&
	       find_files(p, policy->fd, o->script, r) && find_cwd(p, o, r);
}

bool plan_close(struct plan *p, struct refusal *r)
{
	namespaces_close(&p->namespaces);
	if (p->null >= 0)
		close(p->null);
	p->null = -1;
	files_close(&p->files);
	return folders_close(&p->folders, r);
}
