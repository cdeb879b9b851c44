/* SPDX-License-Identifier: MIT */
#include "runtime/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/kernel.h"
#include "runtime/mountinfo.h"

static const char prefix[] = "cave-";

enum { NAME_DIGITS = 16, MAKE_TRIES = 32, EMPTY_TRIES = 200, EMPTY_WAIT_MS = 25 };

bool cgroup_unavailable(struct refusal *r, int error, const char *what, const char *path)
{
	if (error)
		return refuse_errno(r, CAVE_NETWORK_UNAVAILABLE, error,
				    "the policy's network needs a control group of its own; %s %s", what,
				    path);
	return refuse(r, CAVE_NETWORK_UNAVAILABLE,
		      "the policy's network needs a control group of its own; %s%s", what, path);
}

/* --- where the caller's own group is -------------------------------------------------------------- */

/* True if the word is one of a list with commas between. */
static bool in_list(const char *list, size_t n, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list, *end = list + n; at <= end; at++) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t item = (size_t)((comma ? comma : end) - at);

		if (item == length && !memcmp(at, word, length))
			return true;
		at += item;
	}
	return false;
}

/*
 * The line "4:memory,hugetlb:/path" of /proc/self/cgroup that has the controller, or "0::/path", the place in the
 * second version's hierarchy (cgroup-v2.rst), for NULL.
 */
static char *own_path(char *text, const char *controller)
{
	char *line, *save;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (path && path[1] == '/' &&
		    (controller ? in_list(list + 1, (size_t)(path - list - 1), controller) : !strncmp(line, "0::", 3)))
			return path + 1;
	}
	return NULL;
}

static bool shows(const struct mount *mount, const char *controller)
{
	if (!controller)
		return !strcmp(mount->type, "cgroup2");
	return !strcmp(mount->type, "cgroup") && in_list(mount->super, strlen(mount->super), controller);
}

/* Where `own` is seen under this mount, which shows the hierarchy from `root` down; NULL if it is not. */
static char *under_mount(struct memory *m, const struct mount *mount, const char *own)
{
	size_t skip = strcmp(mount->root, "/") ? strlen(mount->root) : 0;

	if (!path_within(own, mount->root) || path_within(own, "/.."))
		return NULL;
	return memory_printf(m, "%s%s", mount->point, strcmp(own, "/") ? own + skip : "");
}

static bool is_cgroup(int fd, const char *controller)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) &&
	       ((unsigned long)fs.f_type & 0xffffffff) == (controller ? K_FS_CGROUP : K_FS_CGROUP2);
}

/* Opens the caller's group under the first mount that shows it: a later mount may have covered one. */
static int open_own(struct memory *m, const struct mounts *mounts, const char *controller, const char *own,
		    const char **path)
{
	for (size_t i = 0; i < mounts->n; i++) {
		char *at = shows(&mounts->mount[i], controller) ? under_mount(m, &mounts->mount[i], own) : NULL;
		int fd = at ? open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

		if (fd >= 0 && is_cgroup(fd, controller)) {
			*path = at;
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* The number of our group in the second version's hierarchy, which is that of its folder; 0 if it cannot be had. */
static uint64_t own_number(void)
{
	struct k_pidfd_info info = { .mask = K_PIDFD_INFO_CGROUPID };
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	bool known = fd >= 0 && !ioctl(fd, K_PIDFD_GET_INFO, &info) && info.mask & K_PIDFD_INFO_CGROUPID;

	if (fd >= 0)
		close(fd);
	return known ? info.cgroup_id : 0;
}

/* `fd` if it is that group's, else -1, and it is closed. */
static int only_if(int fd, uint64_t number)
{
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_ino == number)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Our own group beneath `top`, which is closed: the group there, as in a container, or the one that /proc names. */
static int open_beneath(struct memory *m, int top, const char *path, uint64_t number, struct cgroup *c)
{
	struct stat st;
	char *text, *own;

	c->path = path;
	if (!fstat(top, &st) && st.st_ino == number)
		return top;
	memory_hold(m, top);
	own = proc_read(m, "/proc/self/cgroup", &text) ? NULL : own_path(text, NULL);
	c->fd = own && own[1] ? only_if(openat(top, own + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC), number) : -1;
	memory_close(m, top);
	if (c->fd >= 0)
		c->path = memory_printf(m, "%s%s", path, own);
	return c->fd;
}

/*
 * Where it most often is, if the kernel says that it is there: finding the mount costs more than all else.  False if it
 * has to be sought.
 */
static bool open_usual(struct memory *m, struct cgroup *c)
{
	static const char *const usual[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	uint64_t number = own_number();

	c->fd = -1;
	for (size_t i = 0; number && c->fd < 0 && i < sizeof usual / sizeof *usual; i++) {
		int top = openat(AT_FDCWD, usual[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (top >= 0 && is_cgroup(top, NULL))
			c->fd = open_beneath(m, top, usual[i], number, c);
		else if (top >= 0)
			close(top);
	}
	return c->fd >= 0;
}

int cgroup_find(struct memory *m, const char *controller, struct cgroup *c, const char **own)
{
	struct mounts mounts;
	char *text;
	int error;

	c->fd = -1;
	if (!controller && open_usual(m, c))
		return 0;
	error = proc_read(m, "/proc/self/cgroup", &text);
	if (!error) {
		*own = own_path(text, controller);
		error = mountinfo_read(m, &mounts);
	}
	if (error)
		return error;
	for (size_t i = 0; i < mounts.n && *own; i++)
		if (shows(&mounts.mount[i], controller)) {
			c->fd = open_own(m, &mounts, controller, *own, &c->path);
			return c->fd < 0 ? ENOENT : 0;
		}
	*own = NULL;
	return ENOENT;
}

bool cgroup_own(struct memory *m, struct cgroup *c, struct refusal *r)
{
	const char *own = NULL;
	int error = cgroup_find(m, NULL, c, &own);

	if (!error)
		return true;
	if (error != ENOENT)
		return cgroup_unavailable(r, error, "cannot read", "/proc/self");
	if (!own)
		return cgroup_unavailable(r, 0, "no hierarchy of control groups of version 2 is mounted here", "");
	return cgroup_unavailable(r, 0, "no mount of cgroup2 shows the caller's own group ", own);
}

/* --- leftovers ------------------------------------------------------------------------------------ */

static bool is_run_name(const char *name)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) &&
	       strspn(name + n, "0123456789abcdef") == NAME_DIGITS && !name[n + NAME_DIGITS];
}

/* A run holds the lock of its group: one that can be locked belongs to nobody.  A populated one stays (EBUSY). */
static void sweep_one(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(parent, name, AT_REMOVEDIR);
	close(fd);
}

/* Its links are its name, its dot, and those of the groups beneath it (fs/kernfs/inode.c). */
static bool is_childless(int group)
{
	struct stat st;

	return !fstat(group, &st) && st.st_nlink == 2;
}

void cgroup_sweep(int parent)
{
	int copy = is_childless(parent) ? -1 : openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (is_run_name(e->d_name))
			sweep_one(parent, e->d_name);
	if (list)
		closedir(list);
	else if (copy >= 0)
		close(copy);
}

/* --- one run's ------------------------------------------------------------------------------------ */

bool cgroup_still_there(const struct cgroup *c)
{
	struct stat ours, named;

	return !fstat(c->fd, &ours) && !fstatat(c->parent, c->name, &named, AT_SYMLINK_NOFOLLOW) &&
	       ours.st_ino == named.st_ino;
}

/*
 * One try; an errno, or EAGAIN if another run was just looking at it or has swept it away.  Nobody else may open
 * it: whoever holds its lock could make us wait.
 */
static int make_one(struct memory *m, const char *parent, struct cgroup *c)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return errno;
	c->path = memory_printf(m, "%s/%s%016llx", parent, prefix, (unsigned long long)random);
	c->name = strrchr(c->path, '/') + 1;
	if (mkdirat(c->parent, c->name, 0700))
		return errno;
	c->fd = openat(c->parent, c->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->fd >= 0 && !flock(c->fd, LOCK_EX | LOCK_NB) && cgroup_still_there(c))
		return 0;
	if (c->fd >= 0)
		close(c->fd);
	unlinkat(c->parent, c->name, AT_REMOVEDIR);
	return EAGAIN;
}

const char *cgroup_why_not(int error)
{
	switch (error) {
	case EROFS:
		return "cgroupfs is mounted read-only at";
	case EACCES:
	case EPERM:
		return "these privileges may not make one in (run as root, or delegate the group)";
	default:
		return "cannot make one in";
	}
}

int cgroup_new(struct memory *m, int parent, const char *path, struct cgroup *out)
{
	struct cgroup c = { .parent = parent, .fd = -1 };
	int error = EAGAIN;

	cgroup_sweep(parent);
	for (unsigned tries = 0; error == EAGAIN && tries < MAKE_TRIES; tries++)
		error = make_one(m, path, &c);
	if (!error)
		*out = c;
	return error;
}

bool cgroup_make(struct memory *m, int parent, const char *path, struct cgroup *out, struct refusal *r)
{
	int error = cgroup_new(m, parent, path, out);

	return !error || cgroup_unavailable(r, error, cgroup_why_not(error), path);
}

static void kill_all(const struct cgroup *c)
{
	int fd = openat(c->fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1", 1) < 0 && errno == EINTR)
		kill_all(c);
	close(fd);
}

/* rmdir says EBUSY until the last process is gone, which a signal makes soon and not at once. */
bool cgroup_remove(struct cgroup *c, struct refusal *r)
{
	bool ok = true;

	if (c->fd < 0)
		return true;
	for (unsigned tries = 0; unlinkat(c->parent, c->name, AT_REMOVEDIR) && errno == EBUSY; tries++) {
		if (!tries)
			kill_all(c);
		if (tries == EMPTY_TRIES) {
			ok = !r || refuse(r, CAVE_FAILED, "processes are left in %s", c->path);
			break;
		}
		poll(NULL, 0, tries ? EMPTY_WAIT_MS : 1);
	}
	close(c->fd);
	*c = (struct cgroup){ .parent = -1, .fd = -1 };
	return ok;
}
