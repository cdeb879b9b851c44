/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/check/trial.h"
#include "runtime/kernel.h"

static void mapped(struct trial *t)
{
	trial_works(t, "a child in one, with its own id mapped");
}

void try_user_namespace(struct trial *t)
{
	trial_in_child(t, CLONE_NEWUSER, -1, mapped);
}

static void first(struct trial *t)
{
	if (getpid() != 1)
		trial_fail(t, 0, "its child is process %d", (int)getpid());
	else
		trial_works(t, "a child in one is its process 1");
}

void try_pid_namespace(struct trial *t)
{
	trial_in_child(t, CLONE_NEWPID | trial_user_flag(t), -1, first);
}

static bool can_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool make_read_only(struct trial *t)
{
	struct k_mount_attr attr = { .attr_set = K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE };

	if (!can_write(t->host->file))
		trial_fail(t, errno, "opening a file of one's own for writing");
	else if (syscall(SYS_mount_setattr, AT_FDCWD, "/", K_AT_RECURSIVE, &attr, sizeof attr))
		trial_fail(t, errno, "mount_setattr on all mounts");
	else if (can_write(t->host->file) || errno != EROFS)
		trial_fail(t, 0, "a file could still be written");
	else
		return true;
	return false;
}

static void read_only(struct trial *t)
{
	if (make_read_only(t))
		trial_works(t, "a child with mounts of its own made all of them read-only, and a file was");
}

void try_read_only(struct trial *t)
{
	trial_in_child(t, CLONE_NEWNS | trial_user_flag(t), -1, read_only);
}

static void give_back(struct trial *t)
{
	struct k_mount_attr attr = { .attr_set = K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV | K_MOUNT_ATTR_NOEXEC,
				     .propagation = MS_PRIVATE };
	long tree = syscall(SYS_open_tree, AT_FDCWD, t->host->folder,
			    K_OPEN_TREE_CLONE | K_OPEN_TREE_CLOEXEC | K_AT_RECURSIVE);

	if (tree < 0)
		trial_fail(t, errno, "open_tree");
	else if (syscall(SYS_mount_setattr, (int)tree, "", AT_EMPTY_PATH | K_AT_RECURSIVE, &attr, sizeof attr))
		trial_fail(t, errno, "mount_setattr on a copy of a folder");
	else if (!make_read_only(t))
		return;
	else if (syscall(SYS_move_mount, (int)tree, "", AT_FDCWD, t->host->folder, K_MOVE_MOUNT_F_EMPTY_PATH))
		trial_fail(t, errno, "move_mount");
	else if (!can_write(t->host->file))
		trial_fail(t, errno, "writing in the folder that was given back");
	else
		trial_works(t, "beneath read-only mounts a child gave itself one folder back, noexec");
}

void try_write_grant(struct trial *t)
{
	trial_in_child(t, CLONE_NEWNS | trial_user_flag(t), -1, give_back);
}

/* A file system of `type` with the options, or -1 with the step noted. */
static long file_system(struct trial *t, const char *type, const char *const options[], unsigned attributes)
{
	long mount, fs = syscall(SYS_fsopen, type, K_FSOPEN_CLOEXEC);

	if (fs < 0) {
		trial_fail(t, errno, "fsopen of %s", type);
		return -1;
	}
	for (; *options; options += 2)
		if (syscall(SYS_fsconfig, (int)fs, K_FSCONFIG_SET_STRING, options[0], options[1], 0)) {
			trial_fail(t, errno, "the option %s=%s of %s", options[0], options[1], type);
			return -1;
		}
	if (syscall(SYS_fsconfig, (int)fs, K_FSCONFIG_CMD_CREATE, NULL, NULL, 0)) {
		trial_fail(t, errno, "making one of %s", type);
		return -1;
	}
	mount = syscall(SYS_fsmount, (int)fs, K_FSMOUNT_CLOEXEC, attributes);
	if (mount < 0)
		trial_fail(t, errno, "fsmount of %s", type);
	return mount;
}

/* As for a tool that may have other processes. */
static void own_proc(struct trial *t)
{
	static const char *const options[] = { "subset", "pid", "hidepid", "ptraceable", NULL };
	long mount;

	if (!make_read_only(t))
		return;
	mount = file_system(t, "proc", options,
			    K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV | K_MOUNT_ATTR_NOEXEC);
	if (mount < 0)
		return;
	if (syscall(SYS_move_mount, (int)mount, "", AT_FDCWD, "/proc", K_MOVE_MOUNT_F_EMPTY_PATH))
		trial_fail(t, errno, "move_mount to /proc");
	else if (access("/proc/1/stat", R_OK) || !access("/proc/stat", F_OK))
		trial_fail(t, 0, "what it shows is not the processes alone");
	else
		trial_works(t, "a child mounted one that holds its own processes and nothing else");
}

void try_private_proc(struct trial *t)
{
	trial_in_child(t, CLONE_NEWPID | CLONE_NEWNS | trial_user_flag(t), -1, own_proc);
}

/* As over a folder that is denied, or /dev/shm. */
static void cover(struct trial *t)
{
	static const char *const options[] = { "mode", "0", NULL };
	long mount;

	if (!make_read_only(t))
		return;
	mount = file_system(t, "tmpfs", options, K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV);
	if (mount < 0)
		return;
	if (syscall(SYS_move_mount, (int)mount, "", AT_FDCWD, t->host->folder, K_MOVE_MOUNT_F_EMPTY_PATH))
		trial_fail(t, errno, "move_mount over a folder");
	else if (!access(t->host->file, F_OK))
		trial_fail(t, 0, "the file in it could still be seen");
	else
		trial_works(t, "a child covered a folder with an empty file system of memory");
}

void try_cover(struct trial *t)
{
	trial_in_child(t, CLONE_NEWNS | trial_user_flag(t), -1, cover);
}
