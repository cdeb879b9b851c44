/* SPDX-License-Identifier: MIT */
#include "runtime/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/limits.h"
#include "runtime/mountinfo.h"

/* What a controller is asked to do; `old` is its name in the first version, and says which hierarchy has it. */
static const struct controller {
	enum cave_limit limit;
	const char *name;
	const char *file, *old_file; /* that takes the limit */
} controllers[GROUPS_OLD] = {
	{ CAVE_LIMIT_MEMORY, "memory", "memory.max", "memory.limit_in_bytes" },
	{ CAVE_LIMIT_TASKS, "pids", "pids.max", "pids.max" },
};

void groups_init(struct groups *g)
{
	*g = (struct groups){ .own.fd = -1, .aside.fd = -1, .run.fd = -1, .cpu_stat = -1, .oom = -1, .policy = -1 };
	for (unsigned i = 0; i < GROUPS_OLD; i++)
		g->old[i].fd = g->old_own[i].fd = g->procs[i] = -1;
}

/* --- files of a group ----------------------------------------------------------------------------- */

/* Returns an errno. */
static int put(const struct cgroup *c, const char *file, const char *text)
{
	int fd = openat(c->fd, file, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = errno;
	close(fd);
	return error;
}

/* The first bytes of a file, "" if it cannot be read. */
static const char *get(const struct cgroup *c, const char *file, char *text, size_t size)
{
	int fd = openat(c->fd, file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return text;
}

static bool exists(const struct cgroup *c, const char *file)
{
	return !faccessat(c->fd, file, F_OK, 0);
}

/* Puts a number, and asks whether it is what the kernel took: an exact limit, or none. */
static int put_number(const struct cgroup *c, const char *file, uint64_t value)
{
	char text[32], back[32];
	int error;

	snprintf(text, sizeof text, "%" PRIu64, value);
	error = put(c, file, text);
	if (error)
		return error;
	return strtoull(get(c, file, back, sizeof back), NULL, 10) == value ? 0 : ERANGE;
}

static bool fails(struct refusal *r, const struct controller *k, int error, const char *why, const char *path)
{
	const char *name = limit_table[k->limit].name;

	if (error)
		return refuse_errno(r, CAVE_FAILED, error,
				    "the limit %s needs the controller %s of control groups; %s %s", name, k->name,
				    why, path);
	return refuse(r, CAVE_FAILED, "the limit %s needs the controller %s of control groups; %s %s", name, k->name,
		      why, path);
}

/* --- what does not fit into memory ----------------------------------------------------------------- */

static bool host_swaps(struct memory *m)
{
	char *text;

	/* A heading, then a line for each. */
	return proc_read(m, "/proc/swaps", &text) || (strchr(text, '\n') && strchr(text, '\n')[1]);
}

/* What is swapped out is not counted as memory: so nothing of the run may be. */
static int forbid_swap(struct memory *m, const struct cgroup *c, const char *file, uint64_t value)
{
	if (exists(c, file))
		return put_number(c, file, value);
	return host_swaps(m) ? ENOENT : 0;
}

static bool bound_memory(struct memory *m, const struct controller *k, const struct cgroup *c, uint64_t value, bool old,
			 struct refusal *r)
{
	int error = put_number(c, old ? k->old_file : k->file, value);

	if (error)
		return fails(r, k, error, "it does not take the limit in", c->path);
	error = old ? forbid_swap(m, c, "memory.swappiness", 0) : forbid_swap(m, c, "memory.swap.max", 0);
	if (!error && old && exists(c, "memory.memsw.limit_in_bytes"))
		error = put_number(c, "memory.memsw.limit_in_bytes", value);
	if (error)
		return fails(r, k, error, "swap cannot be kept from it in", c->path);
	/* All of a run ends with one of its processes (cgroup-v2.rst, memory.oom.group). */
	if (!old && (error = put(c, "memory.oom.group", "1")))
		return fails(r, k, error, "it does not end a run as a whole in", c->path);
	return true;
}

static bool bound(struct memory *m, const struct controller *k, const struct cgroup *c, uint64_t value, bool old,
		  struct refusal *r)
{
	int error;

	if (k->limit == CAVE_LIMIT_MEMORY)
		return bound_memory(m, k, c, value, old, r);
	error = put_number(c, old ? k->old_file : k->file, value);
	return !error || fails(r, k, error, "it does not take the limit in", c->path);
}

/* --- the first version ---------------------------------------------------------------------------- */

static bool make_old(struct memory *m, struct groups *g, unsigned i, uint64_t value, struct refusal *r)
{
	const struct controller *k = &controllers[i];
	const char *own = NULL;
	int error = cgroup_find(m, k->name, &g->old_own[i], &own);

	if (error == ENOENT && !own)
		return fails(r, k, 0, "no hierarchy that the caller's own group can be found in has it", "");
	if (error)
		return fails(r, k, error, "the caller's own group cannot be opened:", own ? own : "");
	error = cgroup_new(m, g->old_own[i].fd, g->old_own[i].path, &g->old[i]);
	if (error)
		return fails(r, k, error, cgroup_why_not(error), g->old_own[i].path);
	if (!bound(m, k, &g->old[i], value, true, r))
		return false;
	g->procs[i] = openat(g->old[i].fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	return g->procs[i] >= 0 || fails(r, k, errno, "the run cannot join", g->old[i].path);
}

/* --- the second version --------------------------------------------------------------------------- */

static bool lists(const struct cgroup *c, const char *file, const char *word)
{
	char text[512];
	char *save, *at;

	get(c, file, text, sizeof text);
	for (at = strtok_r(text, " \n", &save); at; at = strtok_r(NULL, " \n", &save))
		if (!strcmp(at, word))
			return true;
	return false;
}

/* Lets a group hand a controller down ('+'), or no longer ('-').  Returns an errno. */
static int hand(const struct cgroup *c, const struct controller *k, char sign)
{
	char text[32];

	snprintf(text, sizeof text, "%c%s", sign, k->name);
	return put(c, "cgroup.subtree_control", text);
}

/* Of a process, or -1. */
static long parent_of(long pid)
{
	char path[32], text[512];
	const struct cgroup proc = { .fd = AT_FDCWD };
	const char *at;

	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	at = strrchr(get(&proc, path, text, sizeof text), ')');
	return at && at[1] == ' ' && at[2] && at[3] == ' ' ? strtol(at + 4, NULL, 10) : -1;
}

/*
 * Moves the processes of a group, if all of them are this one and its children.  The errno of the first failure, EBUSY
 * if others are in it: those that have been moved then stay so.
 */
static int move_ours(const struct cgroup *from, const struct cgroup *to)
{
	char text[4096], number[32], *end;
	int error = 0;

	get(from, "cgroup.procs", text, sizeof text);
	for (const char *at = text; *at && !error; at = end + (*end == '\n')) {
		long pid = strtol(at, &end, 10);

		if (end == at || (pid != getpid() && parent_of(pid) != getpid()))
			return EBUSY;
		snprintf(number, sizeof number, "%ld", pid);
		error = put(to, "cgroup.procs", number);
	}
	return error;
}

/* Returns an errno: EBUSY if others are in the caller's own group.  Undone by step_back(), after a failure too. */
static int step_aside(struct memory *m, struct groups *g)
{
	int error = cgroup_new(m, g->own.fd, g->own.path, &g->aside);

	return error ? error : move_ours(&g->own, &g->aside);
}

/* As it was before.  What cannot be moved back stays beneath, and is found empty by a later start. */
static void step_back(struct groups *g)
{
	const struct cgroup policy = { .fd = g->policy };

	if (g->aside.fd < 0)
		return;
	for (unsigned i = 0; i < GROUPS_OLD; i++) {
		if (g->passed_on[i])
			hand(&policy, &controllers[i], '-');
		if (g->handed[i])
			hand(&g->own, &controllers[i], '-');
	}
	move_ours(&g->aside, &g->own);
	unlinkat(g->aside.parent, g->aside.name, AT_REMOVEDIR);
	close(g->aside.fd);
	g->aside.fd = -1;
}

static bool no_handing_down(const struct controller *k, const struct cgroup *c, int error, struct refusal *r)
{
	if (error == EBUSY)
		return fails(r, k, error,
			     "a group with processes in it cannot hand it down (start caverun alone in a group that is "
			     "delegated, as with systemd-run --scope -p Delegate=yes):",
			     c->path);
	return fails(r, k, error, "it is not handed down by", c->path);
}

/* A controller is handed down by each group in turn; one that holds processes may not (cgroup-v2.rst). */
static bool policy_hands_down(struct groups *g, const struct controller *k, const struct cgroup *c, struct refusal *r)
{
	bool handed = lists(c, "cgroup.subtree_control", k->name);
	int error = handed ? 0 : hand(c, k, '+');

	g->policy = c->fd;
	g->passed_on[k - controllers] = !handed && !error;
	return !error || no_handing_down(k, c, error, r);
}

/*
 * The root may have processes, and hand down.  Of others the kernel lets some controllers (pids) be handed down all the
 * same, and then no group beneath can be joined (cgroup-v2.rst, Threads).
 */
static bool must_be_empty(const struct groups *g)
{
	return exists(&g->own, "cgroup.type") && g->aside.fd < 0;
}

static bool own_hands_down(struct memory *m, struct groups *g, const struct controller *k, bool may_move,
			   struct refusal *r)
{
	bool handed = lists(&g->own, "cgroup.subtree_control", k->name);
	int error = !must_be_empty(g) ? 0 : may_move ? step_aside(m, g) : EBUSY;

	if (!error && !handed) {
		error = hand(&g->own, k, '+');
		g->handed[k - controllers] = !error;
	}
	return !error || no_handing_down(k, &g->own, error, r);
}

static bool has_controllers(const struct artefact *a, const struct cgroup *own, bool in_new[GROUPS_OLD])
{
	bool any = false;

	for (unsigned i = 0; i < GROUPS_OLD; i++) {
		in_new[i] = a->limits.value[controllers[i].limit] && own->fd >= 0 &&
			    lists(own, "cgroup.controllers", controllers[i].name);
		any |= in_new[i];
	}
	return any;
}

static bool needs_cpu_stat(const struct artefact *a)
{
	return a->limits.value[CAVE_LIMIT_CPU_TIME] && a->max_children;
}

/*
 * One of this version is needed for processor time of several processes, which nothing else sums up exactly, and to
 * tell the addresses of one run from those of others.
 */
static bool needs_run(const struct artefact *a)
{
	return needs_cpu_stat(a) || a->host_record;
}

static bool make_run(struct memory *m, struct groups *g, const struct artefact *a, const struct cgroup *parent,
		     struct refusal *r)
{
	int error;

	if (parent->fd < 0)
		return refuse(r, CAVE_FAILED,
			      "the limit cpu-time of several processes needs control groups of version 2, and no mount "
			      "shows the caller's own");
	error = cgroup_new(m, parent->fd, parent->path, &g->run);
	if (error)
		return refuse_errno(r, CAVE_FAILED, error, "the limits need a control group; %s %s",
				    cgroup_why_not(error), parent->path);
	if (!needs_cpu_stat(a))
		return true;
	g->cpu_stat = openat(g->run.fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
	return g->cpu_stat >= 0 || refuse_errno(r, CAVE_FAILED, errno, "the limit cpu-time; %s/cpu.stat", g->run.path);
}

/* Each group on the way from the caller's own to the run's. */
static bool hand_all_down(struct memory *m, struct groups *g, const struct controller *k, const struct cgroup *parent,
			  bool may_move, struct refusal *r)
{
	return own_hands_down(m, g, k, may_move, r) && (parent == &g->own || policy_hands_down(g, k, parent, r));
}

static bool make_new(struct memory *m, struct groups *g, const struct artefact *a, const struct cgroup *parent,
		     const bool in_new[GROUPS_OLD], bool may_move, struct refusal *r)
{
	for (unsigned i = 0; i < GROUPS_OLD; i++)
		if (in_new[i] && !hand_all_down(m, g, &controllers[i], parent, may_move, r))
			return false;
	if (!make_run(m, g, a, parent, r))
		return false;
	for (unsigned i = 0; i < GROUPS_OLD; i++)
		if (in_new[i] && !bound(m, &controllers[i], &g->run, a->limits.value[controllers[i].limit], false, r))
			return false;
	return true;
}

/* --- all ------------------------------------------------------------------------------------------ */

static bool open_oom(struct groups *g, bool in_new, struct refusal *r)
{
	const struct cgroup *c = in_new ? &g->run : &g->old[0];

	g->oom = openat(c->fd, in_new ? "memory.events" : "memory.oom_control", O_RDONLY | O_CLOEXEC);
	return g->oom >= 0 || fails(r, &controllers[0], errno, "it does not tell when it is reached in", c->path);
}

static bool limits_any(const struct artefact *a)
{
	return a->limits.value[CAVE_LIMIT_MEMORY] || a->limits.value[CAVE_LIMIT_TASKS];
}

bool groups_make(struct memory *m, const struct artefact *a, const struct cgroup *parent, bool may_move,
		 struct groups *g, struct refusal *r)
{
	bool in_new[GROUPS_OLD];
	const char *own = NULL;

	if (!limits_any(a) && !needs_run(a))
		return true;
	if (!limits_any(a) && parent->fd >= 0)
		return make_run(m, g, a, parent, r);
	cgroup_find(m, NULL, &g->own, &own);
	if (parent->fd < 0)
		parent = &g->own;
	if ((has_controllers(a, &g->own, in_new) || needs_run(a)) && !make_new(m, g, a, parent, in_new, may_move, r))
		return false;
	for (unsigned i = 0; i < GROUPS_OLD; i++) {
		uint64_t value = a->limits.value[controllers[i].limit];

		if (value && !in_new[i] && !make_old(m, g, i, value, r))
			return false;
	}
	return !a->limits.value[CAVE_LIMIT_MEMORY] || open_oom(g, in_new[0], r);
}

/* "oom_kill N", as a line of its own in both versions; oom_kill_disable and oom_group_kill are others. */
bool groups_out_of_memory(const struct groups *g)
{
	static const char key[] = "\noom_kill ";
	char text[512] = "\n";
	ssize_t n = g->oom < 0 ? 0 : pread(g->oom, text + 1, sizeof text - 2, 0);
	const char *at;

	text[n > 0 ? n + 1 : 1] = 0;
	at = strstr(text, key);
	return at && strtoull(at + sizeof key - 1, NULL, 10) > 0;
}

void groups_freeze(const struct groups *g, bool freeze)
{
	if (g->run.fd >= 0)
		put(&g->run, "cgroup.freeze", freeze ? "1" : "0");
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

bool groups_remove(struct groups *g, struct refusal *r)
{
	bool ok = cgroup_remove(&g->run, r);

	for (unsigned i = 0; i < GROUPS_OLD; i++) {
		close_one(&g->procs[i]);
		ok = cgroup_remove(&g->old[i], ok ? r : NULL) && ok;
		close_one(&g->old_own[i].fd);
	}
	close_one(&g->cpu_stat);
	close_one(&g->oom);
	step_back(g);
	close_one(&g->own.fd);
	return ok;
}
