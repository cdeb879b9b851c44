/* SPDX-License-Identifier: MIT */
#include "runtime/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/mountinfo.h"

#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#endif

/* A memfd that may be executed: it has seals, no name in any folder, and an x bit. */
static bool is_executable_memory(int fd, const struct stat *st)
{
	return !st->st_nlink && st->st_mode & 0111 && fcntl(fd, F_GET_SEALS) >= 0;
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

	return st->st_rdev == makedev(1, 3) || !tcgetattr(fd, &terminal);
}

/* NULL if it is one that may be given, else what it is. */
static const char *fault(int fd, const struct stat *st)
{
	int flags = fcntl(fd, F_GETFL);

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

static bool check_one(int fd, struct refusal *r)
{
	struct stat st;
	const char *is;

	if (fstat(fd, &st))
		return refuse_errno(r, CAVE_FAILED, errno, "descriptor %d", fd);
	is = fault(fd, &st);
	if (is)
		return refuse(r, CAVE_FAILED,
			      "descriptor %d is %s: a tool is given regular files, pipes, terminals, "
			      "/dev/null and connected unix streams only",
			      fd, is);
	return true;
}

/* open() takes the lowest free number, which is the one that was closed. */
static bool fill_standard(struct refusal *r)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return refuse_errno(r, CAVE_FAILED, errno,
					    "descriptor %d is closed and /dev/null cannot replace it", fd);
	return true;
}

bool descriptors_check(const struct options *o, struct refusal *r)
{
	if (!fill_standard(r))
		return false;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (!check_one(fd, r))
			return false;
	for (size_t i = 0; i < o->nkeep; i++)
		if (!check_one(o->keep[i], r))
			return false;
	return true;
}
