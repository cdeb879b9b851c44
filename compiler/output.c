/* SPDX-License-Identifier: MIT */
#include "compiler/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t done = write(fd, data, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		data += done;
		n -= (size_t)done;
	}
	return true;
}

static bool write_through(const char *path, const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write_all(fd, data, n);
	return close(fd) == 0 && good;
}

static bool exchange(const char *a, const char *b)
{
	return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0;
}

/*
 * `temporary` takes the place of `path`.  Where there is a file already the two are exchanged and the old one is
 * removed: a rename over it would have ext4 write the new one to the disk first (auto_da_alloc, ext4(5)), which takes
 * longer than the compile.  What a loss of power leaves is caught by the digest.
 */
static bool take_place(const char *temporary, const char *path)
{
	int error;

	if (!exchange(temporary, path))
		return rename(temporary, path) == 0;
	if (unlink(temporary) == 0)
		return true;
	error = errno;
	exchange(temporary, path);
	errno = error;
	return false;
}

/* A new file beside `path`, then in its place. */
static bool replace(const char *path, const void *data, size_t n, mode_t mode, bool durable)
{
	size_t length = strlen(path);
	char *temporary = malloc(length + sizeof ".XXXXXX");
	bool good = false;
	int fd, error;

	if (!temporary)
		return false;
	memcpy(temporary, path, length);
	memcpy(temporary + length, ".XXXXXX", sizeof ".XXXXXX");
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd >= 0) {
		good = write_all(fd, data, n) && fchmod(fd, mode) == 0;
		good = good && (!durable || fsync(fd) == 0);
		good = close(fd) == 0 && good;
		good = good && (durable ? rename(temporary, path) == 0 : take_place(temporary, path));
		error = errno;
		if (!good)
			unlink(temporary);
		errno = error;
	}
	free(temporary);
	return good;
}

static bool write_whole(const char *path, const void *data, size_t n, bool durable)
{
	const mode_t mask = umask(0);
	char found[PATH_MAX];
	const char *target = realpath(path, found); /* through a link, to the file it names */
	struct stat st;
	bool there;

	umask(mask);
	there = stat(path, &st) == 0;
	if (there && S_ISDIR(st.st_mode))
		errno = EISDIR;
	if (there && !S_ISREG(st.st_mode))
		return !S_ISDIR(st.st_mode) && write_through(path, data, n);
	return replace(target ? target : path, data, n, there ? st.st_mode & 0777 : 0666 & ~mask, durable);
}

bool output_write(const char *path, const void *data, size_t n)
{
	return write_whole(path, data, n, false);
}

bool output_source(const char *path, const void *data, size_t n)
{
	return write_whole(path, data, n, true);
}
