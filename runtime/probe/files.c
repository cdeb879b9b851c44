/* SPDX-License-Identifier: MIT */
/* Attempts on files: contents, names, metadata, set-id bits. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* the same on every architecture (asm-generic/unistd.h, Linux 6.6) */
#endif

static int opened(int fd)
{
	int error = result(fd);

	close(fd);
	return error;
}

static int read_file(char *const *arg)
{
	char byte;
	int fd = open(arg[0], O_RDONLY);
	int error = fd < 0 ? errno : result(read(fd, &byte, 1));

	close(fd);
	return error;
}

static int write_file(char *const *arg)
{
	return opened(open(arg[0], O_WRONLY));
}

static int create_file(char *const *arg)
{
	return opened(open(arg[0], O_WRONLY | O_CREAT | O_EXCL, 0644));
}

static int create_unnamed(char *const *arg)
{
	return opened(open(arg[0], O_WRONLY | O_TMPFILE, 0644));
}

static int truncate_file(char *const *arg)
{
	return result(truncate(arg[0], 0));
}

static int unlink_file(char *const *arg)
{
	return result(unlink(arg[0]));
}

static int rename_file(char *const *arg)
{
	return result(rename(arg[0], arg[1]));
}

static int link_file(char *const *arg)
{
	return result(link(arg[0], arg[1]));
}

static int symlink_file(char *const *arg)
{
	return result(symlink(arg[0], arg[1]));
}

static int make_folder(char *const *arg)
{
	return result(mkdir(arg[0], 0755));
}

static int remove_folder(char *const *arg)
{
	return result(rmdir(arg[0]));
}

static int make_fifo(char *const *arg)
{
	return result(mknod(arg[0], S_IFIFO | 0644, 0));
}

static int make_device(char *const *arg)
{
	return result(mknod(arg[0], S_IFCHR | 0644, 1 << 8 | 3));
}

static int list_folder(char *const *arg)
{
	DIR *d = opendir(arg[0]);

	if (!d)
		return errno;
	closedir(d);
	return 0;
}

static int watch(char *const *arg)
{
	int fd = inotify_init1(0);
	int error = fd < 0 ? errno : result(inotify_add_watch(fd, arg[0], IN_ALL_EVENTS));

	close(fd);
	return error;
}

/* Metadata: each call leaves what it finds, where it can. */
static int change_mode(char *const *arg)
{
	return result(chmod(arg[0], 0644));
}

static int change_mode_fd(char *const *arg)
{
	int fd = open(arg[0], O_RDONLY);
	int error = fd < 0 ? errno : result(fchmod(fd, 0644));

	close(fd);
	return error;
}

static int change_mode_at(char *const *arg)
{
	return result(syscall(SYS_fchmodat, AT_FDCWD, arg[0], 0644));
}

static int change_mode_at2(char *const *arg)
{
	return result(syscall(SYS_fchmodat2, AT_FDCWD, arg[0], 0644, 0));
}

static int change_owner(char *const *arg)
{
	return result(chown(arg[0], getuid(), getgid()));
}

static int change_owner_link(char *const *arg)
{
	return result(lchown(arg[0], getuid(), getgid()));
}

static int change_owner_at(char *const *arg)
{
	return result(fchownat(AT_FDCWD, arg[0], getuid(), getgid(), 0));
}

static int change_times(char *const *arg)
{
	return result(utimes(arg[0], NULL));
}

static int change_times_at(char *const *arg)
{
	return result(utimensat(AT_FDCWD, arg[0], NULL, 0));
}

static int change_times_old(char *const *arg)
{
	return result(syscall(SYS_utime, arg[0], NULL));
}

static int change_times_futimesat(char *const *arg)
{
	return result(syscall(SYS_futimesat, AT_FDCWD, arg[0], NULL));
}

/* A descriptor that only names the file, which Landlock lets through, and its link in /proc. */
static int change_mode_by_name(char *const *arg)
{
	char path[32];
	int fd = open(arg[0], O_PATH), error;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	error = fd < 0 ? errno : result(chmod(path, 0644));
	close(fd);
	return error;
}

static int change_owner_by_name(char *const *arg)
{
	int fd = open(arg[0], O_PATH);
	int error = fd < 0 ? errno : result(fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH));

	close(fd);
	return error;
}

static int read_by_name(char *const *arg)
{
	char path[32];
	int fd = open(arg[0], O_PATH), error;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	error = fd < 0 ? errno : read_file((char *[]){ path });
	close(fd);
	return error;
}

/* The file's attributes by ioctl: "do not dump" (ioctl_iflags(2)). */
static int file_flags(char *const *arg)
{
	int fd = open(arg[0], O_RDONLY), flags = 0;
	int error = fd < 0 ? errno : result(ioctl(fd, FS_IOC_GETFLAGS, &flags));

	flags |= FS_NODUMP_FL;
	if (!error)
		error = result(ioctl(fd, FS_IOC_SETFLAGS, &flags));
	close(fd);
	return error;
}

static int empty_readonly(char *const *arg)
{
	return opened(open(arg[0], O_RDONLY | O_TRUNC));
}

static int set_attribute(char *const *arg)
{
	return result(setxattr(arg[0], "user.cave", "x", 1, 0));
}

static int set_attribute_link(char *const *arg)
{
	return result(lsetxattr(arg[0], "user.cave", "x", 1, 0));
}

static int remove_attribute(char *const *arg)
{
	return result(removexattr(arg[0], "user.cave"));
}

/* Set-id bits, on a file of one's own; the attempt got through if the bit is there afterwards. */
static int has_bit(const char *path, int error)
{
	struct stat s;

	if (error)
		return error;
	if (stat(path, &s) < 0)
		return errno;
	return s.st_mode & (S_ISUID | S_ISGID) ? 0 : ENOTSUP;
}

static int setid_chmod(char *const *arg)
{
	return has_bit(arg[0], result(chmod(arg[0], 04755)));
}

static int setid_fchmod(char *const *arg)
{
	int fd = open(arg[0], O_RDONLY);
	int error = has_bit(arg[0], fd < 0 ? errno : result(fchmod(fd, 02755)));

	close(fd);
	return error;
}

static int setid_fchmodat(char *const *arg)
{
	return has_bit(arg[0], result(syscall(SYS_fchmodat, AT_FDCWD, arg[0], 04755)));
}

static int setid_fchmodat2(char *const *arg)
{
	return has_bit(arg[0], result(syscall(SYS_fchmodat2, AT_FDCWD, arg[0], 04755, 0)));
}

static int setid_open(char *const *arg)
{
	return has_bit(arg[0], opened((int)syscall(SYS_open, arg[0], O_CREAT | O_WRONLY, 04755)));
}

static int setid_openat(char *const *arg)
{
	return has_bit(arg[0], opened(openat(AT_FDCWD, arg[0], O_CREAT | O_WRONLY, 04755)));
}

static int setid_openat2(char *const *arg)
{
	struct open_how how = { .flags = O_CREAT | O_WRONLY, .mode = 04755 };

	return has_bit(arg[0],
		       opened((int)syscall(SYS_openat2, AT_FDCWD, arg[0], &how, sizeof how)));
}

static int setid_creat(char *const *arg)
{
	return has_bit(arg[0], opened((int)syscall(SYS_creat, arg[0], 04755)));
}

static int setid_mkdir(char *const *arg)
{
	return has_bit(arg[0], result(syscall(SYS_mkdir, arg[0], 02755)));
}

static int setid_mkdirat(char *const *arg)
{
	return has_bit(arg[0], result(mkdirat(AT_FDCWD, arg[0], 02755)));
}

static int setid_mknod(char *const *arg)
{
	return has_bit(arg[0], result(mknod(arg[0], S_IFREG | 04755, 0)));
}

static int setid_mknodat(char *const *arg)
{
	return has_bit(arg[0], result(mknodat(AT_FDCWD, arg[0], S_IFREG | 04755, 0)));
}

/* The folder, then the new name: an unnamed file with the bit is given a name. */
static int setid_unnamed(char *const *arg)
{
	char path[32];
	int fd = open(arg[0], O_WRONLY | O_TMPFILE, 04755), error;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	error = fd < 0 ? errno :
			 result(linkat(AT_FDCWD, path, AT_FDCWD, arg[1], AT_SYMLINK_FOLLOW));
	error = has_bit(arg[1], error);
	close(fd);
	return error;
}

/* Bits above the mode's 32: the kernel drops them. */
static int setid_high(char *const *arg)
{
	return has_bit(arg[0], result(syscall(SYS_chmod, arg[0], 0x100000000ul | 04755)));
}

const struct attempt file_attempts[] = {
	{ "read", 1, read_file },
	{ "write", 1, write_file },
	{ "create", 1, create_file },
	{ "create-unnamed", 1, create_unnamed },
	{ "truncate", 1, truncate_file },
	{ "unlink", 1, unlink_file },
	{ "rename", 2, rename_file },
	{ "link", 2, link_file },
	{ "symlink", 2, symlink_file },
	{ "mkdir", 1, make_folder },
	{ "rmdir", 1, remove_folder },
	{ "mkfifo", 1, make_fifo },
	{ "mkdevice", 1, make_device },
	{ "list", 1, list_folder },
	{ "watch", 1, watch },
	{ "chmod", 1, change_mode },
	{ "fchmod", 1, change_mode_fd },
	{ "fchmodat", 1, change_mode_at },
	{ "fchmodat2", 1, change_mode_at2 },
	{ "chown", 1, change_owner },
	{ "lchown", 1, change_owner_link },
	{ "fchownat", 1, change_owner_at },
	{ "utimes", 1, change_times },
	{ "utimensat", 1, change_times_at },
	{ "utime", 1, change_times_old },
	{ "futimesat", 1, change_times_futimesat },
	{ "chmod-by-name", 1, change_mode_by_name },
	{ "chown-by-name", 1, change_owner_by_name },
	{ "read-by-name", 1, read_by_name },
	{ "file-flags", 1, file_flags },
	{ "empty-readonly", 1, empty_readonly },
	{ "setxattr", 1, set_attribute },
	{ "lsetxattr", 1, set_attribute_link },
	{ "removexattr", 1, remove_attribute },
	{ "setid-chmod", 1, setid_chmod },
	{ "setid-fchmod", 1, setid_fchmod },
	{ "setid-fchmodat", 1, setid_fchmodat },
	{ "setid-fchmodat2", 1, setid_fchmodat2 },
	{ "setid-open", 1, setid_open },
	{ "setid-openat", 1, setid_openat },
	{ "setid-openat2", 1, setid_openat2 },
	{ "setid-creat", 1, setid_creat },
	{ "setid-mkdir", 1, setid_mkdir },
	{ "setid-mkdirat", 1, setid_mkdirat },
	{ "setid-mknod", 1, setid_mknod },
	{ "setid-mknodat", 1, setid_mknodat },
	{ "setid-unnamed", 2, setid_unnamed },
	{ "setid-high", 1, setid_high },
	{ NULL, 0, NULL },
};
