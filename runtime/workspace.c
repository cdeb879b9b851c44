/* SPDX-License-Identifier: MIT */
#include "runtime/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/kernel.h"

static const char prefix[] = "cave-";

enum { NAME_DIGITS = 16, MAKE_TRIES = 8, SWEEP_ENTRIES = 4096, SWEEP_FOLDERS = 16, SWEEP_REMOVALS = 4096 };

char *path_of(struct memory *m, int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path);
	if (n <= 0 || n == sizeof path || *path != '/')
		return NULL;
	return memory_string(m, path, (size_t)n);
}

bool workspace_open(struct memory *m, const char *what, const char *dir, struct workspace *out, struct refusal *r)
{
	struct workspace w = { .parent = -1 };

	w.fd = memory_hold(m, open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (w.fd < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "cannot open the %s %s", what, dir);
	w.path = path_of(m, w.fd);
	memory_let_go(m, w.fd);
	if (!w.path) {
		close(w.fd);
		return refuse(r, CAVE_FAILED, "the %s %s has no path that can be known", what, dir);
	}
	*out = w;
	return true;
}

/* --- removing one --------------------------------------------------------------------------------- */

/*
 * Who removes may be root, and who owns the folder somebody else, for whom nothing may be done that they could not do
 * themselves: what is emptied belongs to the folder's owner, and no mount that lies in it is entered.
 */
struct removal {
	int top;
	uid_t owner;
	unsigned moved;
	size_t *left; /* entries that may still be looked at */
};

static bool is_owned(const struct removal *r, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == r->owner;
}

/* A folder of the owner's on the same mount; never through a link.  -1 if it is anything else. */
static int open_own(const struct removal *r, int at, const char *name, int flags)
{
	struct k_open_how how = { .flags = (uint64_t)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				  .resolve = K_RESOLVE_NO_XDEV | K_RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof how);

	if (fd < 0 || is_owned(r, fd))
		return fd;
	close(fd);
	return -1;
}

/*
 * Makes a folder writable to us; false if it is none of the owner's.  Where another user owns the workspace, a name may
 * have come to stand for anything since it was looked at.
 */
static bool open_up(const struct removal *r, int at, const char *name)
{
	int fd = open_own(r, at, name, O_PATH);
	char link[32];

	if (fd < 0)
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	chmod(link, 0700);
	close(fd);
	return true;
}

/* The next entry; NULL at the end, or when enough has been looked at. */
static const char *next_entry(struct removal *r, DIR *list)
{
	struct dirent *e;

	do
		e = list && *r->left ? readdir(list) : NULL;
	while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	*r->left -= e != NULL;
	return e ? e->d_name : NULL;
}

/*
 * Empties one folder: files are unlinked, and folders that are not empty are moved up into `top`, so that a
 * tree of any depth needs two descriptors and no recursion.  Returns how many entries it got rid of.
 */
static size_t empty_one(struct removal *r, int dir)
{
	DIR *list = fdopendir(dir);
	const char *name;
	size_t done = 0;

	while ((name = next_entry(r, list))) {
		char up[32];

		if (!unlinkat(dirfd(list), name, 0) || !unlinkat(dirfd(list), name, AT_REMOVEDIR)) {
			done++;
			continue;
		}
		/* Moving a folder changes its "..", for which it must be writable itself. */
		if ((errno != ENOTEMPTY && errno != EEXIST) || !open_up(r, dirfd(list), name))
			continue;
		do
			snprintf(up, sizeof up, "cave-%u", r->moved++);
		while (!faccessat(r->top, up, F_OK, AT_SYMLINK_NOFOLLOW));
		done += !renameat(dirfd(list), name, r->top, up);
	}
	if (list)
		closedir(list);
	else
		close(dir);
	return done;
}

/* A folder that the tool made unreadable is opened all the same. */
static int open_below(const struct removal *r, const char *name)
{
	int fd = open_own(r, r->top, name, O_RDONLY);

	if (fd < 0 && open_up(r, r->top, name))
		fd = open_own(r, r->top, name, O_RDONLY);
	if (fd >= 0)
		fchmod(fd, 0700);
	return fd;
}

/* One pass over the folders in `top`; returns how much was done. */
static size_t empty_pass(struct removal *r)
{
	int copy = openat(r->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const char *name;
	size_t done = 0;

	while ((name = next_entry(r, list))) {
		int fd;

		if (!unlinkat(r->top, name, 0)) {
			done++;
			continue;
		}
		fd = open_below(r, name);
		if (fd >= 0)
			done += empty_one(r, fd);
		done += !unlinkat(r->top, name, AT_REMOVEDIR);
	}
	if (list)
		closedir(list);
	else if (copy >= 0)
		close(copy);
	return done;
}

/* The errno of what cannot be removed; 0 if nothing is left. */
static int remove_all(int parent, const struct workspace *w, size_t *left)
{
	struct removal r = { .top = w->fd, .left = left };
	struct stat st;
	int error;

	if (w->fd >= 0 && !fstat(w->fd, &st))
		r.owner = st.st_uid;
	if (w->fd >= 0)
		fchmod(w->fd, 0700);
	while ((error = unlinkat(parent, w->name, AT_REMOVEDIR) ? errno : 0) && w->fd >= 0 && empty_pass(&r))
		;
	return error == ENOENT ? 0 : error;
}

bool workspace_close(struct workspace *w, struct refusal *r)
{
	size_t all = SIZE_MAX;
	int error = 0;

	if (w->parent >= 0 && w->name) {
		error = remove_all(w->parent, w, &all);
		if (error && r)
			refuse_errno(r, CAVE_FAILED, error, "the folder %s is left behind",
				     w->path ? w->path : w->name);
		close(w->parent);
	}
	if (w->path || w->name)
		close(w->fd);
	*w = (struct workspace){ .fd = -1, .parent = -1 };
	return !error;
}

/* --- what killed runs have left ------------------------------------------------------------------- */

static bool is_fresh_name(const char *name)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) && strspn(name + n, "0123456789abcdef") == NAME_DIGITS && !name[n + NAME_DIGITS];
}

/* Ours, or of a user that we may have given it to, in the mode that it was made with, and nobody holds it. */
static bool is_left(int fd)
{
	uid_t self = geteuid();
	struct stat st;

	return !fstat(fd, &st) && (st.st_uid == self || !self) && (st.st_mode & 07777) == 0700 &&
	       !flock(fd, LOCK_EX | LOCK_NB);
}

static void sweep_one(int parent, const char *name, size_t *left)
{
	struct workspace w = { .parent = -1, .name = name };

	w.fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w.fd < 0)
		return;
	if (is_left(w.fd))
		remove_all(parent, &w, left);
	close(w.fd);
}

/*
 * Among what is first in the folder, and no more than is removed soon, the rest being for later starts: a start must
 * not take longer because others have filled /tmp, or folders in it, or because many tools run.
 */
static void sweep(int parent)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	size_t left = SWEEP_REMOVALS;
	struct dirent *e;

	for (unsigned seen = 0, looked = 0; list && seen < SWEEP_ENTRIES && looked < SWEEP_FOLDERS; seen++) {
		e = readdir(list);
		if (!e)
			break;
		if (!is_fresh_name(e->d_name))
			continue;
		sweep_one(parent, e->d_name, &left);
		looked++;
	}
	if (list)
		closedir(list);
	else if (copy >= 0)
		close(copy);
}

/* --- making one ----------------------------------------------------------------------------------- */

/* mkdirat() under a name that nobody can foresee; *path is the folder's, `in` that of its parent. */
static int make_in(struct memory *m, int parent, const char *in, const char **path, const char **name)
{
	for (unsigned tries = 0; tries < MAKE_TRIES; tries++) {
		uint64_t random;

		if (getrandom(&random, sizeof random, 0) != sizeof random)
			return errno;
		*path = memory_printf(m, "%s/%s%016llx", strcmp(in, "/") ? in : "", prefix, (unsigned long long)random);
		*name = strrchr(*path, '/') + 1;
		if (!mkdirat(parent, *name, 0700))
			return 0;
		if (errno != EEXIST)
			return errno;
	}
	return EEXIST;
}

/* Held as long as it is in use: one that can be locked belongs to nobody any more, and another run may remove it. */
static int open_fresh(struct workspace *w, const struct user *owner)
{
	struct stat st;

	w->fd = openat(w->parent, w->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd < 0)
		return errno == ENOENT ? EAGAIN : errno;
	if (flock(w->fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? EAGAIN : errno;
	if (fstat(w->fd, &st) || !st.st_nlink)
		return EAGAIN;
	return fchmod(w->fd, 0700) || (owner && fchown(w->fd, owner->uid, owner->gid)) ? errno : 0;
}

/* *again if another run was just looking at it, and may have removed it. */
static bool make_once(struct memory *m, const char *what, const char *dir, const struct user *owner,
		      struct workspace *out, bool *again, struct refusal *r)
{
	struct workspace w = { .fd = -1 };
	const char *in;
	int error;

	*again = false;
	w.parent = memory_hold(m, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (w.parent < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "cannot make a %s in %s", what, dir);
	sweep(w.parent);
	in = path_of(m, w.parent);
	/* From where the folder is made until *out has it, no memory is taken: what would remove it if there is none? */
	error = in ? make_in(m, w.parent, in, &w.path, &w.name) : ENOENT;
	memory_let_go(m, w.parent);
	if (error) {
		close(w.parent);
		return refuse_errno(r, CAVE_FAILED, error, "cannot make a %s in %s", what, dir);
	}
	error = open_fresh(&w, owner);
	if (error) {
		workspace_close(&w, NULL);
		*again = error == EAGAIN;
		return refuse_errno(r, CAVE_FAILED, error, "cannot use the %s made in %s", what, dir);
	}
	*out = w;
	return true;
}

bool workspace_make(struct memory *m, const char *what, const char *tmpdir, const struct user *owner,
		    struct workspace *out, struct refusal *r)
{
	const char *dir = tmpdir && *tmpdir == '/' ? tmpdir : "/tmp";
	bool again = true, ok = false;

	for (unsigned tries = 0; again && tries < MAKE_TRIES; tries++)
		ok = make_once(m, what, dir, owner, out, &again, r);
	return ok;
}
