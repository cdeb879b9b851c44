/* SPDX-License-Identifier: MIT */
/*
 * floor STEPS FILTER RULES GROUP PROGRAM [ARG…]: the least program that takes the kernel steps of a start.
 *
 * It checks nothing, resolves nothing and cannot explain a failure: what it costs is what the kernel costs.  STEPS are
 * letters: m mounts read-only in a namespace, l Landlock, g into the control group GROUP, p capabilities, parent-death
 * signal and descriptors, s the filter.  FILTER is a section cave.seccomp.ARCH of an artefact, whose unset constants
 * admit an exec that carries them.  RULES are paths, one a line; the last ones may be executed.
 */
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

enum { READ = LL_FS_READ_FILE | LL_FS_READ_DIR, EXECUTED = 2 };

struct start {
	const char *steps;
	char **argv;
	int ruleset;
	struct sock_fprog filter;
	long error;
};

#define SYS(nr, a, b, c, d, e, f)                                                                  \
	arch_syscall((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static long read_file(const char *path, char *to, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long n = read(fd, to, max);

	close(fd);
	return n;
}

static void add_rule(int ruleset, const char *path, int execute)
{
	struct ll_path_beneath_attr attr = { .allowed_access = READ | (execute ? LL_FS_EXECUTE : 0) };

	attr.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (attr.parent_fd < 0)
		return;
	if (syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attr, 0)) {
		attr.allowed_access &= ~(uint64_t)LL_FS_READ_DIR;
		syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attr, 0);
	}
	close(attr.parent_fd);
}

static int make_ruleset(const char *rules)
{
	struct ll_ruleset_attr attr = { 2 * LL_FS_IOCTL_DEV - 1, LL_NET_BIND_TCP | LL_NET_CONNECT_TCP,
					LL_SCOPE_ABSTRACT_UNIX_SOCKET | LL_SCOPE_SIGNAL };
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	char text[4096], *at = text, *end;
	long n = read_file(rules, text, sizeof text - 1), left = 0;

	text[n > 0 ? n : 0] = 0;
	for (char *c = text; *c; c++)
		left += *c == '\n';
	for (; (end = strchr(at, '\n')); at = end + 1, left--) {
		*end = 0;
		add_rule(fd, at, left <= EXECUTED);
	}
	return fd;
}

static long enter(struct start *s)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct k_mount_attr mounts = { .attr_set = K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID,
				       .propagation = MS_PRIVATE };
	long e = 0;

	if (strchr(s->steps, 'm'))
		e = SYS(SYS_mount_setattr, AT_FDCWD, "/", K_AT_RECURSIVE, &mounts, sizeof mounts, 0);
	SYS(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	if (!e && strchr(s->steps, 'l'))
		e = SYS(SYS_landlock_restrict_self, s->ruleset, 0, 0, 0, 0, 0);
	if (!e && strchr(s->steps, 'p')) {
		SYS(SYS_capset, &head, none, 0, 0, 0, 0);
		SYS(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
		SYS(SYS_close_range, 3, ~0u, K_CLOSE_RANGE_CLOEXEC, 0, 0, 0);
	}
	if (!e && strchr(s->steps, 's'))
		e = SYS(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &s->filter, 0, 0, 0);
	return e;
}

static void child(void *of)
{
	const uint64_t word = (uint64_t)CAVE_PATCH_UNSET << 32 | CAVE_PATCH_UNSET;
	static char *const environment[] = { NULL };
	struct start *s = of;

	s->error = enter(s);
	if (!s->error)
		s->error = SYS(SYS_execve, s->argv[0], s->argv, environment, word, word, word);
	SYS(SYS_exit_group, 125, 0, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
	static struct sock_filter insn[4096];
	static char stack[16384] __attribute__((aligned(16)));
	struct start s = { .steps = argv[1], .argv = argv + 5, .ruleset = -1, .filter = { 0, insn } };
	struct k_clone_args args = { .flags = CLONE_VM | CLONE_VFORK | K_CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD,
				     .stack = (uintptr_t)stack, .stack_size = sizeof stack };
	int status = 0;
	long pid;

	if (argc < 6)
		return 2;
	if (strchr(s.steps, 's'))
		s.filter.len = (unsigned short)(read_file(argv[2], (char *)insn, sizeof insn) / (long)sizeof *insn);
	if (strchr(s.steps, 'l'))
		s.ruleset = make_ruleset(argv[3]);
	if (strchr(s.steps, 'm'))
		args.flags |= CLONE_NEWNS;
	if (strchr(s.steps, 'g')) {
		args.flags |= K_CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)open(argv[4], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	pid = arch_clone3(&args, child, &s);
	if (pid < 0 || waitpid((pid_t)pid, &status, 0) < 0 || s.error)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
