/* SPDX-License-Identifier: MIT */
/*
 * The path is walked one component at a time, each looked at through the descriptor that the next is opened from: what
 * was checked is what is read.  A symbolic link is refused, since whoever could write beside it could aim it.
 */
#include "runtime/operator.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool bad(struct refusal *r, int error, const char *what, const char *path)
{
	if (error)
		return refuse_errno(r, CAVE_FAILED, error, "the operator's rules in %s: %s", path, what);
	return refuse(r, CAVE_FAILED, "the operator's rules in %s: %s", path, what);
}

/*
 * Why somebody else could change what this is, or NULL.  In a sticky folder (/tmp) others can add and not replace,
 * and what is added there has another owner.
 */
static const char *changeable(const struct stat *st)
{
	bool sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it, or a folder above it, belongs to neither root nor the caller";
	if (st->st_mode & (S_IWGRP | S_IWOTH) && !sticky)
		return "it, or a folder above it, can be written by others";
	return NULL;
}

/* Opens `name` in the folder `at`, which is closed; a last component for reading. */
static int step(int at, const char *name, bool last)
{
	int how = last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
	int fd = openat(at, name, how | O_NOFOLLOW | O_CLOEXEC), error = errno;

	close(at);
	errno = error;
	return fd;
}

/* The file at an absolute path, every component of it checked.  -1 with *r or, unless that is NULL, *absent set. */
static int walk(struct memory *m, const char *path, bool *absent, struct refusal *r)
{
	char *rest = memory_string(m, path + 1, strlen(path + 1)), *name;
	int fd = openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *fault = NULL;
	struct stat st;

	while (fd >= 0 && (name = strsep(&rest, "/"))) {
		if (!*name)
			continue;
		fd = step(fd, name, !rest);
		if (fd >= 0 && (fstat(fd, &st) || (fault = changeable(&st)))) {
			bad(r, fault ? 0 : errno, fault ? fault : "fstat", path);
			close(fd);
			return -1;
		}
	}
	if (fd < 0 && absent && errno == ENOENT) {
		*absent = true;
	} else if (fd < 0) {
		bad(r, errno, errno == ELOOP || errno == ENOTDIR ? "no component of the path may be a link" : "open", path);
	}
	return fd;
}

static const char *absolute(struct memory *m, const char *path, struct refusal *r)
{
	char cwd[PATH_MAX];

	if (*path == '/')
		return path;
	if (!getcwd(cwd, sizeof cwd) || *cwd != '/') {
		bad(r, errno, "getcwd", path);
		return NULL;
	}
	return memory_printf(m, "%s/%s", cwd, path);
}

static bool read_text(struct memory *m, int fd, const char *path, char **out, size_t *size, struct refusal *r)
{
	char *text = memory_take(m, OPERATOR_SIZE_MAX + 1);
	size_t n = 0;
	ssize_t got;

	while (n < OPERATOR_SIZE_MAX + 1 && (got = read(fd, text + n, OPERATOR_SIZE_MAX + 1 - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return bad(r, errno, "read", path);
		n += got > 0 ? (size_t)got : 0;
	}
	*out = text;
	*size = n;
	return true;
}

static bool parse(struct memory *m, int fd, const char *path, struct operator_rules *out, struct refusal *r)
{
	struct operator_error error;
	struct stat st;
	char *text = NULL;
	size_t size = 0;

	if (fstat(fd, &st))
		return bad(r, errno, "fstat", path);
	if (!S_ISREG(st.st_mode))
		return bad(r, 0, "it is no regular file", path);
	if (!read_text(m, fd, path, &text, &size, r))
		return false;
	if (operator_read(text, size, out, &error))
		return true;
	return bad(r, 0, error.line ? memory_printf(m, "line %u: %s", error.line, error.text) : error.text, path);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

bool operator_load(struct memory *m, const char *path, struct operator_rules *out, int *out_fd, struct refusal *r)
{
	bool absent = false;
	int fd;

	if (!path) {
		fd = walk(m, OPERATOR_FOLDER "/" OPERATOR_FILE, &absent, r);
		if (absent) {
			operator_defaults(out);
			return true;
		}
		path = OPERATOR_FOLDER "/" OPERATOR_FILE;
	} else {
		path = absolute(m, path, r);
		if (path && is_folder(path))
			path = memory_printf(m, "%s/" OPERATOR_FILE, path);
		fd = path ? walk(m, path, NULL, r) : -1;
	}
	if (fd < 0)
		return false;
	*out_fd = fd;
	return parse(m, fd, path, out, r);
}

bool operator_accepts(const struct operator_rules *o, const struct artefact *a, struct refusal *r)
{
	/* The identity of the policy around a nested one covers it. */
	if (!operator_trusts(o, a->identity) && !(a->around && operator_trusts(o, a->around)))
		return refuse(r, CAVE_POLICY_UNTRUSTED,
			      "the identity of the policy is not among those that this host trusts");
	if (a->reach.ipv4 > o->reach_ipv4 || a->reach.ipv6 > o->reach_ipv6)
		return refuse(r, CAVE_POLICY_UNTRUSTED,
			      "the policy reaches %" PRIu64 " public IPv4 addresses and %" PRIu64 " public IPv6 /48 networks; "
			      "this host accepts %" PRIu64 " and %" PRIu64,
			      a->reach.ipv4, a->reach.ipv6, o->reach_ipv4, o->reach_ipv6);
	return true;
}
