/* SPDX-License-Identifier: MIT */
/*
 * The steps between clone3 and execve, in an order that cannot be changed freely; the reason stands beside
 * each.  The child shares the parent's memory: it makes raw system calls only, allocates nothing, and writes
 * nothing but struct child and its own stack.
 */
#include "runtime/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "runtime/raw.h"
#include "runtime/rights.h"
#include "runtime/trace.h"

const char spawn_step_clone[] = "clone3";
const char spawn_step_ids[] = "mapping its ids into a user namespace";
const char spawn_step_copy[] = "copying the mounts of its write grants";
const char spawn_step_mounts[] = "making its mounts read-only";
const char spawn_step_attach[] = "putting its write grants in place";
const char spawn_step_execve[] = "execve";

/* Of what covers a denial. */
#define COVERED (K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV | K_MOUNT_ATTR_NOEXEC)

/* --- what it may use ------------------------------------------------------------------------------ */

/* First: from here on the kernel counts what it uses.  The descriptors were opened by who may move it. */
static long join_groups(struct child *c)
{
	long error = 0;

	for (size_t i = 0; i < c->run->njoin && error >= 0; i++)
		if (c->run->join[i] >= 0)
			error = SYS3(SYS_write, c->run->join[i], "0", 1);
	return error < 0 ? error : 0;
}

/* Never more than the caller may use. */
static long bound(int resource, uint64_t value)
{
	struct k_rlimit l;
	long error;

	if (!value)
		return 0;
	error = SYS4(SYS_prlimit64, 0, resource, NULL, &l);
	if (error)
		return error;
	l.max = l.max < value ? l.max : value;
	l.cur = l.cur < l.max ? l.cur : l.max;
	return SYS4(SYS_prlimit64, 0, resource, &l, NULL);
}

/* After the last step that opens anything. */
static long set_limits(struct child *c)
{
	const uint64_t *value = c->plan->artefact->limits.value;
	long error = bound(RLIMIT_NOFILE, value[CAVE_LIMIT_OPEN_FILES]);

	return error ? error : bound(RLIMIT_FSIZE, value[CAVE_LIMIT_FILE_SIZE]);
}

/* --- ids ------------------------------------------------------------------------------------------ */

static long write_file(const char *path, const char *text, size_t n)
{
	long fd = SYS4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0), wrote;

	if (fd < 0)
		return fd;
	wrote = SYS3(SYS_write, fd, text, n);
	SYS2(SYS_close, fd, 0);
	return wrote < 0 ? wrote : 0;
}

static size_t put_number(char *to, unsigned long n)
{
	char digits[24];
	size_t length = 0;

	do
		digits[length++] = (char)('0' + n % 10);
	while (n /= 10);
	for (size_t i = 0; i < length; i++)
		to[i] = digits[length - 1 - i];
	return length;
}

/* "ID ID 1": an unprivileged process may map its own id and no other (user_namespaces(7)). */
static long map_id(const char *path, unsigned long id)
{
	char line[64];
	size_t n = put_number(line, id);

	line[n++] = ' ';
	n += put_number(line + n, id);
	memcpy(line + n, " 1\n", 3);
	return write_file(path, line, n + 3);
}

/* Before the mounts, which make /proc read-only.  A group can only be mapped once setgroups is given up. */
static long map_ids(struct child *c)
{
	long error;

	if (c->mode != CHILD_USERNS || c->plan->namespaces.mounts >= 0)
		return 0;
	error = write_file("/proc/self/setgroups", "deny", 4);
	if (!error || error == -ENOENT)
		error = map_id("/proc/self/gid_map", c->gid);
	return error ? error : map_id("/proc/self/uid_map", c->uid);
}

/* --- mounts --------------------------------------------------------------------------------------- */

static long same_file(long fd, dev_t dev, ino_t ino)
{
	struct stat st;
	/* Raw: fstat() of the C library may be another call (newfstatat, statx) with another structure. */
	long error = SYS4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);

	if (error)
		return error;
	return st.st_dev == dev && st.st_ino == ino ? 0 : -ESTALE;
}

static long set_attributes(long fd, const char *path, unsigned flags, uint64_t set)
{
	struct k_mount_attr attr = { .attr_set = set, .propagation = MS_PRIVATE };

	return SYS5(SYS_mount_setattr, fd, path, flags | K_AT_RECURSIVE, &attr, sizeof attr);
}

/* A copy of what is granted for writing, taken while it still is writable. */
static long clone_tree(const struct writable *w, int *tree)
{
	long error, fd = SYS3(SYS_open_tree, AT_FDCWD, w->path,
			      K_OPEN_TREE_CLONE | K_OPEN_TREE_CLOEXEC | K_AT_RECURSIVE);

	if (fd < 0)
		return fd;
	*tree = (int)fd;
	error = same_file(fd, w->dev, w->ino);
	return error ? error : set_attributes(fd, "", AT_EMPTY_PATH,
					      K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV |
						      (w->execute ? 0 : K_MOUNT_ATTR_NOEXEC));
}

/* Puts the copy over the read-only original, which is sought anew: a folder before it may have moved it. */
static long attach_tree(const struct writable *w, int tree)
{
	struct k_open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW };
	long error, fd = SYS4(SYS_openat2, AT_FDCWD, w->path, &how, sizeof how);

	if (fd < 0)
		return fd;
	error = same_file(fd, w->dev, w->ino);
	if (!error)
		error = SYS5(SYS_move_mount, tree, "", fd, "",
			     K_MOVE_MOUNT_F_EMPTY_PATH | K_MOVE_MOUNT_T_EMPTY_PATH);
	SYS2(SYS_close, fd, 0);
	return error;
}

/* There is none, or one that is finished. */
static bool makes_no_mounts(const struct child *c)
{
	return c->mode == CHILD_PLAIN || c->plan->namespaces.mounts >= 0;
}

/*
 * Where Landlock does not bound ioctl(), there are devices in /dev only, and single ones of them are granted
 * (runtime/files.c): a copy of it, before all mounts become ones without devices.
 */
static long clone_devices(struct child *c)
{
	long fd;

	c->devices = -1;
	if (makes_no_mounts(c) || c->plan->landlock_abi >= LL_ABI_IOCTL)
		return 0;
	fd = SYS3(SYS_open_tree, AT_FDCWD, "/dev", K_OPEN_TREE_CLONE | K_OPEN_TREE_CLOEXEC | K_AT_RECURSIVE);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	c->devices = (int)fd;
	return set_attributes(fd, "", AT_EMPTY_PATH, K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID);
}

static long attach_devices(struct child *c)
{
	long error;

	if (c->devices < 0)
		return 0;
	error = SYS5(SYS_move_mount, c->devices, "", AT_FDCWD, "/dev", K_MOVE_MOUNT_F_EMPTY_PATH);
	SYS2(SYS_close, c->devices, 0);
	c->devices = -1;
	return error;
}

/* While everything is writable still. */
static long clone_trees(struct child *c)
{
	const struct files *f = &c->plan->files;
	long error = clone_devices(c);

	for (size_t i = 0; i < f->nwritable && !makes_no_mounts(c) && !error; i++)
		error = clone_tree(&f->writable[i], &c->tree[i]);
	return error;
}

/*
 * Everything read-only.  MS_PRIVATE in the same call: without it these mounts would show on the host, and the
 * host's later ones here, writable.
 */
static long make_read_only(struct child *c)
{
	uint64_t devices = c->plan->landlock_abi >= LL_ABI_IOCTL ? 0 : K_MOUNT_ATTR_NODEV;
	long error;

	if (makes_no_mounts(c))
		return 0;
	error = set_attributes(AT_FDCWD, "/", 0, K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | devices);
	return error ? error : attach_devices(c);
}

/* After they are read-only, and private; before the write grants, of which one there would not be found. */
static long mount_shm(struct child *c)
{
	if (!c->plan->files.shm)
		return 0;
	return SYS5(SYS_mount, "cave", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777");
}

static long attach_trees(struct child *c)
{
	const struct files *f = &c->plan->files;
	long error = 0;

	for (size_t i = 0; i < f->nwritable && !makes_no_mounts(c) && !error; i++)
		error = attach_tree(&f->writable[i], c->tree[i]);
	return error;
}

/* An empty folder that nobody may enter or list: its mode is 0, and its mount read-only. */
static long cover_of_folder(void)
{
	long error, mount = -1, fs = SYS2(SYS_fsopen, "tmpfs", K_FSOPEN_CLOEXEC);

	if (fs < 0)
		return fs;
	error = SYS5(SYS_fsconfig, fs, K_FSCONFIG_SET_STRING, "mode", "0", 0);
	if (!error)
		error = SYS5(SYS_fsconfig, fs, K_FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (!error)
		mount = SYS3(SYS_fsmount, fs, K_FSMOUNT_CLOEXEC, COVERED);
	SYS2(SYS_close, fs, 0);
	return error ? error : mount;
}

/* A device on a mount without devices: it cannot be opened. */
static long cover_of_file(void)
{
	long error, fd = SYS3(SYS_open_tree, AT_FDCWD, "/dev/null",
			      K_OPEN_TREE_CLONE | K_OPEN_TREE_CLOEXEC | K_AT_RECURSIVE);
	struct stat st;

	if (fd < 0)
		return fd;
	error = SYS4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
	if (!error && !S_ISCHR(st.st_mode))
		error = -ENODEV;
	if (!error)
		error = set_attributes(fd, "", AT_EMPTY_PATH, COVERED);
	if (error)
		SYS2(SYS_close, fd, 0);
	return error ? error : fd;
}

/* What is at `fd` itself, and what is mounted in it, but read-only. */
static long cover_of_itself(int at)
{
	long error, fd = SYS3(SYS_open_tree, at, "",
			      K_OPEN_TREE_CLONE | K_OPEN_TREE_CLOEXEC | K_AT_RECURSIVE | AT_EMPTY_PATH);

	if (fd < 0)
		return fd;
	error = set_attributes(fd, "", AT_EMPTY_PATH, K_MOUNT_ATTR_RDONLY);
	if (error)
		SYS2(SYS_close, fd, 0);
	return error ? error : fd;
}

static long cover_of(const struct denied *d, int at)
{
	if (d->only_write)
		return cover_of_itself(at);
	return d->folder ? cover_of_folder() : cover_of_file();
}

static long cover_one(const struct denied *d)
{
	struct k_open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = K_RESOLVE_NO_SYMLINKS };
	long error, cover, fd = SYS4(SYS_openat2, AT_FDCWD, d->path, &how, sizeof how);

	if (fd < 0)
		return fd;
	cover = cover_of(d, (int)fd);
	error = cover < 0 ? cover : same_file(fd, d->dev, d->ino);
	if (!error)
		error = SYS5(SYS_move_mount, cover, "", fd, "",
			     K_MOVE_MOUNT_F_EMPTY_PATH | K_MOVE_MOUNT_T_EMPTY_PATH);
	if (cover >= 0)
		SYS2(SYS_close, cover, 0);
	SYS2(SYS_close, fd, 0);
	return error;
}

/* Over everything else. */
static long cover_denied(struct child *c)
{
	const struct files *f = &c->plan->files;
	long error = 0;

	for (size_t i = 0; i < f->ndenied && !makes_no_mounts(c) && !error; i++)
		error = cover_one(&f->denied[i]);
	return error;
}

/* What was denied and not there may have come since. */
static long check_absent(struct child *c)
{
	const struct files *f = &c->plan->files;
	struct stat st;
	long error = 0;

	for (size_t i = 0; i < f->nabsent && !error; i++) {
		error = SYS4(SYS_newfstatat, AT_FDCWD, f->absent[i], &st, AT_SYMLINK_NOFOLLOW);
		error = error == -ENOENT || error == -ENOTDIR ? 0 : error ? error : -EEXIST;
	}
	return error;
}

/* First of all: the user namespace gives the right to enter the other, which moves the root and the directory. */
static long enter_namespaces(struct child *c)
{
	const struct namespaces *n = &c->plan->namespaces;
	long error = n->user >= 0 ? SYS2(SYS_setns, n->user, CLONE_NEWUSER) : 0;

	return error || n->mounts < 0 ? error : SYS2(SYS_setns, n->mounts, CLONE_NEWNS);
}

/*
 * Over the host's, which would show everybody's processes; where everything is private and read-only already.  It holds
 * the processes of the namespace and nothing else (proc(5), subset), and of those only what may be looked at: not the
 * first one, which is outside of the Landlock domain.
 */
static long mount_proc(struct child *c)
{
	long context, mount, error;

	if (!c->contained)
		return 0;
	context = SYS2(SYS_fsopen, "proc", K_FSOPEN_CLOEXEC);
	if (context < 0)
		return context;
	error = SYS5(SYS_fsconfig, context, K_FSCONFIG_SET_STRING, "subset", "pid", 0);
	if (!error)
		error = SYS5(SYS_fsconfig, context, K_FSCONFIG_SET_STRING, "hidepid", "ptraceable", 0);
	if (!error)
		error = SYS5(SYS_fsconfig, context, K_FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	mount = error ? error :
			SYS3(SYS_fsmount, context, K_FSMOUNT_CLOEXEC,
			     K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV | K_MOUNT_ATTR_NOEXEC);
	SYS2(SYS_close, context, 0);
	if (mount < 0)
		return mount;
	error = SYS5(SYS_move_mount, mount, "", AT_FDCWD, "/proc", K_MOVE_MOUNT_F_EMPTY_PATH);
	SYS2(SYS_close, mount, 0);
	return error;
}

/* After the mounts: the directory from before them is on the read-only mount beneath. */
static long enter_directory(struct child *c)
{
	return c->plan->cwd ? SYS2(SYS_chdir, c->plan->cwd, 0) : 0;
}

static long reopen(const struct reopened *old)
{
	struct stat st;
	long error, fd = SYS4(SYS_openat, AT_FDCWD, old->path, old->flags, 0);

	if (fd < 0)
		return fd;
	error = SYS4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
	if (!error && (!S_ISCHR(st.st_mode) || st.st_rdev != old->device ||
		       descriptors_terminals(&st) != old->terminals))
		error = -ESTALE;
	if (!error)
		error = SYS3(SYS_dup3, fd, old->fd, 0) < 0 ? -EBADF : 0;
	SYS2(SYS_close, fd, 0);
	return error;
}

/* Nobody sees whether two descriptors of /dev/null are of one open file: it has no offset, and nothing waits there. */
static bool both_null(const struct reopened *a, const struct reopened *b)
{
	return !strcmp(a->path, "/dev/null") && !strcmp(b->path, a->path) && a->flags == b->flags;
}

/*
 * After the mounts, which are read-only for devices' metadata too; before the change of user, who may have no
 * right to open the caller's terminal, and before Landlock, which would judge the opening.
 */
static long reopen_devices(struct child *c)
{
	const struct descriptors *d = &c->run->descriptors;
	const struct reopened *last = NULL;
	long error = 0;

	for (size_t i = 0; i < d->nreopened && error >= 0; i++) {
		const struct reopened *old = &d->reopened[i];

		if (c->mode == CHILD_PLAIN && !old->narrowed)
			continue;
		error = last && both_null(last, old) ? SYS3(SYS_dup3, last->fd, old->fd, 0) : reopen(old);
		last = old;
	}
	return error < 0 ? error : 0;
}

/* --- who it is ------------------------------------------------------------------------------------ */

/*
 * After the mounts, which need privilege; before the parent-death signal, which a change of user clears; groups
 * before the user, who could not change them any more.
 */
static long change_user(struct child *c)
{
	const struct user *u = c->plan->user;
	long error;

	if (!u)
		return 0;
	error = SYS2(SYS_setgroups, u->ngroups, u->group);
	if (!error)
		error = SYS3(SYS_setresgid, u->gid, u->gid, u->gid);
	return error ? error : SYS3(SYS_setresuid, u->uid, u->uid, u->uid);
}

/* Before Landlock and seccomp, which without privilege ask for it. */
static long set_no_new_privs(struct child *c)
{
	(void)c;
	return SYS5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* A link such as /proc/self/exe leads to a file that has its own grant, or none: it needs no rule itself. */
static long add_own_rule(const struct own_path *own, int ruleset)
{
	struct k_open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = K_RESOLVE_NO_MAGICLINKS };
	struct ll_path_beneath_attr attr = { .allowed_access = own->rights };
	long error, fd = SYS4(SYS_openat2, AT_FDCWD, own->path, &how, sizeof how);

	if (fd == -ELOOP || (own->optional && (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)))
		return 0;
	if (fd < 0)
		return fd;
	attr.parent_fd = (int)fd;
	error = SYS4(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attr, 0);
	if (error == -EINVAL) {
		/* A file takes the rights of a file only. */
		attr.allowed_access = LL_FS_READ_FILE;
		error = SYS4(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attr, 0);
	}
	SYS2(SYS_close, fd, 0);
	return error;
}

/*
 * /proc/self is this process only from here.  Where it may have others, each has its own, and they are all that is in
 * their /proc.
 */
static long add_own_rules(struct child *c)
{
	static const char self[] = "/proc/self";
	const struct files *f = &c->plan->files;
	long error = 0;

	for (size_t i = 0; i < f->nown && !error; i++)
		if (c->contained && !strcmp(f->own[i].path, self))
			error = add_own_rule(&(struct own_path){ "/proc", f->own[i].rights, false }, c->run->ruleset);
		else
			error = add_own_rule(&f->own[i], c->run->ruleset);
	return error;
}

/* After the mounts: a process under Landlock may not move any. */
static long restrict_files(struct child *c)
{
	return SYS2(SYS_landlock_restrict_self, c->run->ruleset, 0);
}

/*
 * After everything that needs privilege.  Landlock does not stop mount_setattr() or chroot(): only this does,
 * and seccomp.  Under no_new_privs execve gives nothing back, not to uid 0 either (security/commoncap.c), so
 * the bounding set can stay, and securebits with it.  The ambient set is empty with it (cap_capset()).
 */
static long drop_capabilities(struct child *c)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	(void)c;
	return SYS2(SYS_capset, &head, none);
}

/* After the change of user.  A parent that died before this is seen by its id: the kernel told nobody then. */
static long die_with_parent(struct child *c)
{
	long error;

	/* The namespace's first process ends it. */
	if (c->contained)
		return 0;
	error = SYS5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (error)
		return error;
	return SYS2(SYS_getppid, 0, 0) == c->parent ? 0 : -ESRCH;
}

/* --- what it inherits ----------------------------------------------------------------------------- */

/*
 * Before the devices are opened anew, under these numbers.  One of 0 to 2 that becomes another of them must not be
 * overwritten before its turn.  The flag close-on-exec is not copied.
 */
static long place_standard(struct child *c)
{
	const int *standard = c->run->descriptors.standard;
	long from[3], error = 0;

	for (int i = 0; i < 3 && !error; i++) {
		bool moved = standard[i] < 3 && standard[i] != i;

		from[i] = moved ? SYS3(SYS_fcntl, standard[i], F_DUPFD_CLOEXEC, 3) : standard[i];
		error = from[i] < 0 ? from[i] : 0;
	}
	for (int i = 0; i < 3 && !error; i++) {
		long fd = from[i] == i ? SYS3(SYS_fcntl, i, F_SETFD, 0) : SYS3(SYS_dup3, from[i], i, 0);

		error = fd < 0 ? fd : 0;
	}
	return error;
}

/*
 * Everything above 2 closes at execve but what was asked for; the steps after this still need theirs.  Where the
 * descriptors are shared with the namespace's first process, which needs none of ours, all is closed now.
 */
static long close_between(const struct child *c, unsigned first, unsigned last)
{
	return first > last ? 0 : SYS3(SYS_close_range, first, last, c->contained ? 0 : K_CLOSE_RANGE_CLOEXEC);
}

/* Both lists ascend. */
static long close_descriptors(struct child *c)
{
	const struct descriptors *d = &c->run->descriptors;
	size_t kept = 0, spared = 0;
	unsigned first = 3;
	long error = 0;

	while ((kept < d->nkeep || spared < c->nspared) && !error) {
		bool keep = kept < d->nkeep && (spared == c->nspared || d->keep[kept] < c->spared[spared]);
		unsigned fd = (unsigned)(keep ? d->keep[kept++] : c->spared[spared++]);

		error = close_between(c, first, fd - 1);
		if (!error && keep)
			error = SYS3(SYS_fcntl, fd, F_SETFD, 0);
		first = fd + 1;
	}
	return error ? error : close_between(c, first, ~0u);
}

/* While signals are blocked still, and before the filter, which knows nothing of it. */
static long wait_at_gate(struct child *c)
{
	return c->run->gate ? gate_wait(c->run->gate) : 0;
}

/* The handlers are gone by CLONE_CLEAR_SIGHAND: from here a signal can end the child, and shall. */
static long restore_signals(struct child *c)
{
	return SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &c->run->mask, NULL, 8);
}

/* With a listener, if processes are counted: a call that waits for its answer is not to be restarted by signals. */
static long install(struct child *c, const struct sock_fprog *program)
{
	long fd;

	if (!c->contained)
		return SYS3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
	fd = SYS3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | K_SECCOMP_WAIT_KILLABLE_RECV,
		  program);
	if (fd == -EINVAL) /* before Linux 5.19 */
		fd = SYS3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
	if (fd < 0)
		return fd;
	c->listener = (int)fd;
	return 0;
}

/* The last step but one: it would refuse those before it. */
static long set_filter(struct child *c)
{
	const struct artefact_filter *f = &c->plan->artefact->filter[ARCH_FILTER];
	struct sock_fprog program = { .len = (unsigned short)f->n, .filter = c->insn };

	filter_set_self(f, (uint32_t)SYS2(SYS_getpid, 0, 0), c->insn);
	if (c->run->trace)
		return trace_install(c->run->trace, c->insn, f->n);
	return install(c, &program);
}

/* The filter lets this execve through by the random value in the registers that the call does not use. */
static long execute(struct child *c)
{
	const uint64_t *word = c->values.exec;

	return SYS6(SYS_execve, c->plan->program.path, c->run->argv, c->run->env, word[0],
		    word[1], word[2]);
}

/* An execve that the kernel has made does not come back; a filter can give any answer, 0 as well. */
static long not_executed(struct child *c)
{
	(void)c;
	return -EPROTO;
}

static const struct {
	const char *name;
	long (*run)(struct child *);
} steps[] = {
	{ "joining its control groups", join_groups },
	{ "entering its namespaces", enter_namespaces },
	{ spawn_step_ids, map_ids },
	{ spawn_step_copy, clone_trees },
	{ spawn_step_mounts, make_read_only },
	{ "mounting a private /dev/shm", mount_shm },
	{ spawn_step_attach, attach_trees },
	{ "covering what is denied", cover_denied },
	{ "looking for what is denied and was not there", check_absent },
	{ "mounting a /proc of its own", mount_proc },
	{ "entering its directory", enter_directory },
	{ "placing its standard descriptors", place_standard },
	{ "opening its devices anew", reopen_devices },
	{ "changing the user", change_user },
	{ "no_new_privs", set_no_new_privs },
	{ "opening what only it can open (/proc/self, /dev/shm)", add_own_rules },
	{ "landlock_restrict_self", restrict_files },
	{ "dropping capabilities", drop_capabilities },
	{ "the parent-death signal", die_with_parent },
	{ "close_range", close_descriptors },
	{ "waiting for what is asked meanwhile", wait_at_gate },
	{ "the signal mask", restore_signals },
	{ "setting its limits", set_limits },
	{ "seccomp", set_filter },
	{ spawn_step_execve, execute },
	{ "the policy's filter answered execve in the kernel's place", not_executed },
};

void child_run(void *shared)
{
	struct child *c = shared;

	for (size_t i = 0; i < sizeof steps / sizeof *steps && !c->error; i++) {
		c->step = steps[i].name;
		c->error = (int)-steps[i].run(c);
	}
	/* The filter may refuse even this; then the trap ends the process. */
	SYS2(SYS_exit_group, STATUS_REFUSED, 0);
	arch_trap();
}

/* --- mounts that are kept ------------------------------------------------------------------------- */

static long root_of(struct k_statx *out)
{
	return SYS5(SYS_statx, AT_FDCWD, "/", 0, K_STATX_MNT_ID | K_STATX_INO, out);
}

/*
 * setns() moves the root to that of the namespace: where the host's is another one (chroot(2)), a start that enters it
 * would see more than the host.
 */
static long check_root(struct child *c)
{
	struct k_statx before, after;
	long error = root_of(&before);

	if (!error)
		error = SYS2(SYS_setns, c->kept.mounts, CLONE_NEWNS);
	if (!error)
		error = root_of(&after);
	if (error)
		return error;
	return before.mount_id == after.mount_id && before.ino == after.ino ? 0 : -EXDEV;
}

static long keep_namespaces(struct child *c)
{
	long fd = SYS4(SYS_openat, AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC, 0);

	c->kept.mounts = fd < 0 ? -1 : (int)fd;
	if (fd >= 0 && c->mode == CHILD_USERNS) {
		fd = SYS4(SYS_openat, AT_FDCWD, "/proc/self/ns/user", O_RDONLY | O_CLOEXEC, 0);
		c->kept.user = fd < 0 ? -1 : (int)fd;
	}
	return fd < 0 ? fd : check_root(c);
}

void child_keep(void *shared)
{
	static long (*const keep[])(struct child *) = { map_ids,	    clone_trees,  make_read_only,
							attach_trees, cover_denied, keep_namespaces };
	struct child *c = shared;

	for (size_t i = 0; i < sizeof keep / sizeof *keep && !c->error; i++)
		c->error = (int)-keep[i](c);
	SYS2(SYS_exit_group, 0, 0);
	arch_trap();
}
