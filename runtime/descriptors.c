/* SPDX-License-Identifier: MIT */
#include "runtime/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/mountinfo.h"

/* Documentation/admin-guide/devices.txt: 5 char, 2 = /dev/ptmx. */
enum { PTMX_MINOR = 2 };

#define NULL_DEVICE makedev(1, 3)

static const char null_path[] = "/dev/null";

#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x20 /* linux/fcntl.h, 6.3 */
#endif

/* A memfd that may be executed: it has seals, no name in any folder, and an x bit. */
static bool is_executable_memory(int fd, const struct stat *st)
{
	return !st->st_nlink && st->st_mode & 0111 && fcntl(fd, F_GET_SEALS) >= 0;
}

/* One that may be made so by whoever has it open. */
static bool can_become_executable(int fd)
{
	struct stat st;
	int seals;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink)
		return false;
	seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && !(seals & F_SEAL_EXEC);
}

static bool is_connected_stream(int fd)
{
	struct sockaddr_storage peer;
	int domain = 0, type = 0;
	socklen_t n = sizeof domain, peer_size = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) || domain != AF_UNIX)
		return false;
	n = sizeof type;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) || type != SOCK_STREAM)
		return false;
	return !getpeername(fd, (struct sockaddr *)&peer, &peer_size);
}

static bool is_terminal_or_null(int fd, const struct stat *st)
{
	struct termios terminal;

	/* The controlling side of a pseudo-terminal types into the other: no tool is given that. */
	if (st->st_rdev == makedev(TTYAUX_MAJOR, PTMX_MINOR))
		return false;
	return st->st_rdev == NULL_DEVICE || !tcgetattr(fd, &terminal);
}

/* NULL if it is one that may be given, else what it is. */
static const char *fault(int fd, int flags, const struct stat *st)
{
	if (flags < 0 || flags & O_PATH)
		return "a mere path (O_PATH)";
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		if (is_kernel_file(fd))
			return "a file of the kernel";
		return is_executable_memory(fd, st) ? "executable memory" : NULL;
	case S_IFIFO:
		return NULL;
	case S_IFCHR:
		return is_terminal_or_null(fd, st) ? NULL : "a device";
	case S_IFSOCK:
		return is_connected_stream(fd) ? NULL : "a socket that is no connected unix stream";
	case S_IFDIR:
		return "a folder";
	case S_IFBLK:
		return "a device";
	default:
		return "a kernel object that is no file";
	}
}

/* A pipe that has a name in a folder has metadata there; others have theirs to themselves. */
static bool is_named(int fd, const struct stat *st)
{
	struct statfs fs;

	return S_ISREG(st->st_mode) || (S_ISFIFO(st->st_mode) && (fstatfs(fd, &fs) || fs.f_type != PIPEFS_MAGIC));
}

dev_t descriptors_terminals(const struct stat *st)
{
	unsigned type = major(st->st_rdev);

	return S_ISCHR(st->st_mode) && type >= UNIX98_PTY_SLAVE_MAJOR && type < UNIX98_PTY_SLAVE_MAJOR + 8 ? st->st_dev : 0;
}

/* The path by which the device of an earlier descriptor was found to open, or NULL. */
static const char *known_path(const struct descriptors *d, const struct stat *st, int flags)
{
	for (size_t i = 0; i < d->nreopened; i++)
		if (d->reopened[i].device == st->st_rdev && d->reopened[i].terminals == descriptors_terminals(st) &&
		    d->reopened[i].flags == flags)
			return d->reopened[i].path;
	return NULL;
}

static bool opens(const char *path, const struct stat *device, int flags)
{
	int fd = openat(AT_FDCWD, path, flags);
	struct stat st = { 0 };

	if (fd < 0)
		return false;
	if (fstat(fd, &st))
		st.st_rdev = 0;
	close(fd);
	return S_ISCHR(st.st_mode) && st.st_rdev == device->st_rdev &&
	       descriptors_terminals(&st) == descriptors_terminals(device);
}

/* Finds the path by which the device can be opened again; false if there is none. */
static bool find_path(int fd, const struct stat *st, int flags, struct reopened *out)
{
	char link[32];
	ssize_t n;

	/* What is most often given needs no question of /proc, which costs more than all else here. */
	if (st->st_rdev == NULL_DEVICE && opens(null_path, st, flags)) {
		strcpy(out->path, null_path);
		return true;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, out->path, sizeof out->path);
	if (n <= 0 || n == sizeof out->path)
		return false;
	out->path[n] = 0;
	return opens(out->path, st, flags);
}

/* Enters the device among those to be opened again; most often 0 to 2 are one and the same. */
static bool plan_reopening(int fd, int number, int has, const struct stat *st, struct descriptors *d)
{
	int flags = (has & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_NOCTTY | O_CLOEXEC;
	struct reopened *out = &d->reopened[d->nreopened];
	const char *known = known_path(d, st, flags);

	if (known)
		strcpy(out->path, known);
	else if (!find_path(fd, st, flags, out))
		return false;
	out->fd = number;
	out->flags = flags;
	out->device = st->st_rdev;
	out->terminals = descriptors_terminals(st);
	d->nreopened++;
	return true;
}

/* What is to be done about the mount that the descriptor was opened on. */
static void plan_one(int fd, int number, int flags, const struct stat *st, struct descriptors *d)
{
	if (S_ISCHR(st->st_mode)) {
		d->loose |= !plan_reopening(fd, number, flags, st, d);
	} else if ((flags & O_ACCMODE) == O_RDONLY && is_named(fd, st)) {
		d->loose = true;
	}
}

/* `number` is what it becomes in the tool. */
static bool check_one(int fd, int number, struct descriptors *d, struct refusal *r)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;
	const char *is;

	if (fstat(fd, &st))
		return refuse_errno(r, CAVE_FAILED, errno, "descriptor %d", fd);
	is = fault(fd, flags, &st);
	if (is)
		return refuse(r, CAVE_FAILED,
			      "descriptor %d is %s: a tool is given regular files, pipes, terminals, "
			      "/dev/null and connected unix streams only",
			      fd, is);
	plan_one(fd, number, flags, &st, d);
	return true;
}

bool descriptors_open_null(int *out, struct refusal *r)
{
	int fd = open(null_path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "cannot open /dev/null");
	if (fstat(fd, &st) || !S_ISCHR(st.st_mode) || st.st_rdev != NULL_DEVICE) {
		close(fd);
		return refuse(r, CAVE_FAILED, "/dev/null is not what it must be");
	}
	*out = fd;
	return true;
}

/* Known to be /dev/null: there is nothing to ask. */
static void add_null(int number, struct descriptors *d)
{
	d->reopened[d->nreopened++] = (struct reopened){ .fd = number, .flags = O_RDWR | O_NOCTTY | O_CLOEXEC,
							 .device = NULL_DEVICE, .path = "/dev/null" };
}

bool descriptors_check(const int standard[3], const int *keep, size_t nkeep, int null, struct descriptors *out,
		       struct refusal *r)
{
	*out = (struct descriptors){ .keep = keep, .nkeep = nkeep };
	for (int i = 0; i <= STDERR_FILENO; i++) {
		out->standard[i] = standard[i];
		if (null >= 0 && standard[i] == null)
			add_null(i, out);
		else if (!check_one(standard[i], i, out, r))
			return false;
	}
	for (size_t i = 0; i < nkeep; i++)
		if (!check_one(keep[i], keep[i], out, r))
			return false;
	return true;
}

bool descriptors_refuse_executable(const int *fd, size_t n, struct refusal *r)
{
	for (size_t i = 0; i < n; i++)
		if (can_become_executable(fd[i]))
			return refuse(r, CAVE_FAILED,
				      "descriptor %d is memory that the tool could make executable, and the policy lets "
				      "only listed programs be executed: make it with MFD_NOEXEC_SEAL, or use a pipe",
				      fd[i]);
	return true;
}
