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

/* Reads the policy once; from here on only the copy counts, whatever becomes of the file. */
static bool read_all(struct memory *m, int fd, const char *path, const void **data, size_t *size,
		     struct refusal *r)
{
	struct stat st;
	char *copy;
	size_t n = 0;
	ssize_t got;

	if (fstat(fd, &st))
		return refuse_errno(r, CAVE_FAILED, errno, "cannot read the policy %s", path);
	if (!S_ISREG(st.st_mode))
		return refuse(r, CAVE_POLICY_INVALID, "the policy %s is no regular file", path);
	if (st.st_size > (off_t)CAVE_ARTEFACT_MAX)
		return refuse(r, CAVE_POLICY_INVALID, "the policy %s is larger than %u bytes", path,
			      CAVE_ARTEFACT_MAX);
	copy = memory_take(m, (size_t)st.st_size);
	while (n < (size_t)st.st_size && (got = read(fd, copy + n, (size_t)st.st_size - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return refuse_errno(r, CAVE_FAILED, errno, "cannot read the policy %s", path);
		n += got > 0 ? (size_t)got : 0;
	}
	*data = copy;
	*size = n;
	return true;
}

static bool load(struct plan *p, int fd, const char *path, struct refusal *r)
{
	struct artefact_error error;
	const void *data = NULL;
	size_t size = 0;

	if (!read_all(&p->memory, fd, path, &data, &size, r))
		return false;
	if (!artefact_open(data, size, &p->artefact, &error))
		return refuse(r, CAVE_POLICY_INVALID, "the policy %s is invalid: %s", path, error.text);
	if (!p->artefact.filter[ARCH_FILTER].n)
		return refuse(r, CAVE_FAILED, "the policy %s has no syscall filter for %s", path,
			      artefact_arch_name(ARCH_FILTER));
	return true;
}

static bool check_rules(struct plan *p, const char *config, struct refusal *r)
{
	return operator_load(&p->memory, config, &p->rules, r) && operator_accepts(&p->rules, &p->artefact, r) &&
	       env_check(&p->memory, &p->rules, &p->artefact, r);
}

/* An exec by a process whose ids differ clears the parent-death signal (begin_new_exec(), fs/exec.c). */
static bool check_ids(struct refusal *r)
{
	if (getuid() == geteuid() && getgid() == getegid())
		return true;
	return refuse(r, CAVE_FAILED,
		      "the real and the effective user or group of caverun differ: the tool would outlive it");
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

static bool grants_workspace(const struct artefact *a)
{
	struct artefact_record record;

	for (size_t at = 0; artefact_next(a, &at, &record);)
		if (record.type == CAVE_RECORD_FILE && record.flags & CAVE_FILE_WORKSPACE)
			return true;
	return false;
}

static bool find_workspace(struct plan *p, const struct options *o, char *const *environment,
			   struct refusal *r)
{
	if (!grants_workspace(&p->artefact))
		return !o->workspace || refuse(r, CAVE_FAILED,
					       "--workspace: the policy grants no workspace");
	if (o->workspace)
		return workspace_open(&p->memory, o->workspace, &p->workspace, r);
	return workspace_make(&p->memory, env_get(environment, "TMPDIR"), p->user, &p->workspace, r);
}

static bool find_user(struct plan *p, const struct options *o, struct refusal *r)
{
	struct user *user;

	if (!o->user)
		return true;
	user = MEMORY_ARRAY(&p->memory, 1, struct user);
	p->user = user;
	return user_find(&p->memory, o->user, user, r);
}

/* The canonical path of what is named on the command line: a folder with O_DIRECTORY, else a regular file. */
static bool canonical(struct memory *m, const char *what, const char *path, int flags, const char **out,
		      struct refusal *r)
{
	int fd = open(path, O_PATH | O_CLOEXEC | flags);
	struct stat st;

	if (fd < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "%s %s", what, path);
	*out = path_of(m, fd);
	if (fstat(fd, &st) || (!(flags & O_DIRECTORY) && !S_ISREG(st.st_mode)))
		*out = "";
	close(fd);
	if (*out && !**out)
		return refuse(r, CAVE_FAILED, "%s %s is no regular file", what, path);
	return *out || refuse(r, CAVE_FAILED, "%s %s has no path that can be known", what, path);
}

/*
 * Where a write grant is put in place anew, the caller's own directory must be entered again by its path, or
 * the tool would stand on the read-only mount beneath.  One that / does not lead to (its mount was detached, or it
 * is another namespace's) is on a mount that stays writable: the kernel says "(unreachable)" in place of its root.
 */
static bool find_cwd(struct plan *p, const struct options *o, struct refusal *r)
{
	char cwd[PATH_MAX];
	long n;

	if (o->chdir)
		return canonical(&p->memory, "--chdir", o->chdir, O_DIRECTORY, &p->cwd, r);
	p->cwd = p->workspace.path;
	if (p->cwd)
		return true;
	n = syscall(SYS_getcwd, cwd, sizeof cwd);
	if (n > 0 && *cwd != '/')
		return refuse(r, CAVE_FAILED, "/ does not lead to the current directory: name another with --chdir");
	if (n > 0 && p->files.nwritable)
		p->cwd = memory_string(&p->memory, cwd, (size_t)n);
	return true;
}

static bool find_program(struct plan *p, const struct options *o, char *const *environment,
			 const char **script, struct refusal *r)
{
	*script = NULL;
	if (o->script && !canonical(&p->memory, "--script", o->script, 0, script, r))
		return false;
	return program_find(&p->memory, o->argv, *script, env_get(environment, "PATH"), &p->program, r);
}

static bool resolve(struct plan *p, const struct options *o, int artefact_fd, char *const *environment,
		    struct refusal *r)
{
	const char *script;
	struct files_request files = { .artefact = &p->artefact, .artefact_fd = artefact_fd,
				       .workspace = &p->workspace, .program = &p->program,
				       .landlock_abi = p->landlock_abi };

	if (!find_user(p, o, r) || !find_workspace(p, o, environment, r) ||
	    !find_program(p, o, environment, &script, r))
		return false;
	files.script = script;
	return files_prepare(&p->memory, &files, &p->files, r) && find_cwd(p, o, r) &&
	       env_build(&p->memory, &p->artefact, environment, p->workspace.path, &p->env, r);
}

static void remove_workspace(void *workspace)
{
	workspace_close(workspace);
}

bool plan_make(const struct options *o, const struct descriptors *d, char *const *environment, struct plan *out,
	       struct refusal *r)
{
	struct plan p = { .workspace = { .fd = -1, .parent = -1 }, .files = { .ruleset = -1 },
			  .descriptors = d, .keep = o->keep, .nkeep = o->nkeep };
	int fd = open(o->policy, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool ok;

	if (fd < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "cannot open the policy %s", o->policy);
	p.memory.undo = remove_workspace;
	p.memory.of = &p.workspace;
	ok = load(&p, fd, o->policy, r) && check_rules(&p, o->config, r) && check_ids(r) && check_host(&p, r) &&
	     resolve(&p, o, fd, environment, r);
	close(fd);
	if (!ok) {
		plan_free(&p);
		return false;
	}
	*out = p;
	out->memory.of = &out->workspace;
	return true;
}

void plan_free(struct plan *p)
{
	files_close(&p->files);
	workspace_close(&p->workspace);
	memory_free(&p->memory);
}
