/* SPDX-License-Identifier: MIT */
/*
 * The kernel steps of a start and nothing else: no check, no resolution, no explanation.  What it costs is what the
 * kernel costs.
 *
 * Steps are letters: m mounts read-only in a namespace of its own, n enters the kept namespace, l Landlock, g into the
 * control group, p capabilities, parent-death signal and descriptors, s the filter.  FILTER is a section
 * cave.seccomp.ARCH of an artefact, whose unset constants admit an exec that carries them.  RULES are paths, one a
 * line; the last ones may be executed.
 */
#ifndef CAVE_TESTS_FLOOR_H
#define CAVE_TESTS_FLOOR_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch.h"
#include "runtime/kernel.h"

enum { FLOOR_READ = LL_FS_READ_FILE | LL_FS_READ_DIR, FLOOR_EXECUTED = 2, FLOOR_INSTRUCTIONS = 4096 };

struct floor {
	const char *steps;
	char **argv;
	int ruleset, mounts, group; /* as far as the steps need them */
	struct sock_fprog filter;
	long error;
};

#define FLOOR_SYS(nr, a, b, c, d, e, f)                                                                  \
	arch_syscall((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline long floor_read(const char *path, char *to, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long n = read(fd, to, max);

	close(fd);
	return n;
}

static inline void floor_add_rule(int ruleset, const char *path, int execute)
{
	struct ll_path_beneath_attr attr = { .allowed_access = FLOOR_READ | (execute ? LL_FS_EXECUTE : 0) };

	attr.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (attr.parent_fd < 0)
		return;
	if (syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attr, 0)) {
		attr.allowed_access &= ~(uint64_t)LL_FS_READ_DIR;
		syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attr, 0);
	}
	close(attr.parent_fd);
}

static inline int floor_ruleset(const char *rules)
{
	struct ll_ruleset_attr attr = { 2 * LL_FS_IOCTL_DEV - 1, LL_NET_BIND_TCP | LL_NET_CONNECT_TCP,
					LL_SCOPE_ABSTRACT_UNIX_SOCKET | LL_SCOPE_SIGNAL };
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	char text[4096], *at = text, *end;
	long n = floor_read(rules, text, sizeof text - 1), left = 0;

	text[n > 0 ? n : 0] = 0;
	for (char *c = text; *c; c++)
		left += *c == '\n';
	for (; (end = strchr(at, '\n')); at = end + 1, left--) {
		*end = 0;
		floor_add_rule(fd, at, left <= FLOOR_EXECUTED);
	}
	return fd;
}

static inline long floor_enter(struct floor *s)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct k_mount_attr mounts = { .attr_set = K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID,
				       .propagation = MS_PRIVATE };
	long e = 0;

	if (strchr(s->steps, 'n'))
		e = FLOOR_SYS(SYS_setns, s->mounts, CLONE_NEWNS, 0, 0, 0, 0);
	if (!e && strchr(s->steps, 'm'))
		e = FLOOR_SYS(SYS_mount_setattr, AT_FDCWD, "/", K_AT_RECURSIVE, &mounts, sizeof mounts, 0);
	FLOOR_SYS(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	if (!e && strchr(s->steps, 'l'))
		e = FLOOR_SYS(SYS_landlock_restrict_self, s->ruleset, 0, 0, 0, 0, 0);
	if (!e && strchr(s->steps, 'p')) {
		FLOOR_SYS(SYS_capset, &head, none, 0, 0, 0, 0);
		FLOOR_SYS(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
		FLOOR_SYS(SYS_close_range, 3, ~0u, K_CLOSE_RANGE_CLOEXEC, 0, 0, 0);
	}
	if (!e && strchr(s->steps, 's'))
		e = FLOOR_SYS(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &s->filter, 0, 0, 0);
	return e;
}

static inline void floor_child(void *of)
{
	const uint64_t word = (uint64_t)CAVE_PATCH_UNSET << 32 | CAVE_PATCH_UNSET;
	static char *const environment[] = { NULL };
	struct floor *s = of;

	s->error = floor_enter(s);
	if (!s->error)
		s->error = FLOOR_SYS(SYS_execve, s->argv[0], s->argv, environment, word, word, word);
	FLOOR_SYS(SYS_exit_group, 125, 0, 0, 0, 0, 0);
}

/* Starts it and sees it end; its exit status, or 125. */
static inline int floor_start(struct floor *s)
{
	static char stack[16384] __attribute__((aligned(16)));
	struct k_clone_args args = { .flags = CLONE_VM | CLONE_VFORK | K_CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD,
				     .stack = (uintptr_t)stack, .stack_size = sizeof stack };
	int status = 0;
	long pid;

	s->error = 0;
	if (strchr(s->steps, 'm'))
		args.flags |= CLONE_NEWNS;
	if (strchr(s->steps, 'g')) {
		args.flags |= K_CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)s->group;
	}
	pid = arch_clone3(&args, floor_child, s);
	if (pid < 0 || waitpid((pid_t)pid, &status, 0) < 0 || s->error)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* What the steps need, from the files FILTER, RULES and the folder GROUP. */
static inline void floor_prepare(struct floor *s, const char *filter, const char *rules, const char *group)
{
	static struct sock_filter insn[FLOOR_INSTRUCTIONS];

	s->filter = (struct sock_fprog){ 0, insn };
	if (strchr(s->steps, 's'))
		s->filter.len = (unsigned short)(floor_read(filter, (char *)insn, sizeof insn) / (long)sizeof *insn);
	if (strchr(s->steps, 'l'))
		s->ruleset = floor_ruleset(rules);
	if (strchr(s->steps, 'g'))
		s->group = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

#endif
