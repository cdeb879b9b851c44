/* SPDX-License-Identifier: MIT */
/* Filters of system calls. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/check/trial.h"

/* getppid() answers `action`; everything else is allowed. */
static long install(unsigned action, unsigned flags)
{
	struct sock_filter insn[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof insn / sizeof *insn, .filter = insn };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void filtered(struct trial *t)
{
	if (install(SECCOMP_RET_ERRNO | EXDEV, 0))
		trial_fail(t, errno, "installing a filter");
	else if (syscall(SYS_getppid) != -1 || errno != EXDEV)
		trial_fail(t, 0, "a filter did not refuse a call");
	else
		trial_works(t, "a filter in a child refused one call, and no other");
}

void try_seccomp(struct trial *t)
{
	trial_in_child(t, 0, -1, filtered);
}

static void listened(struct trial *t)
{
	long fd = install(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);

	if (fd < 0) {
		trial_fail(t, errno, "installing a filter with a listener");
		return;
	}
	close((int)fd);
	/* Without anybody who listens the kernel refuses. */
	if (syscall(SYS_getppid) != -1 || errno != ENOSYS)
		trial_fail(t, 0, "a call that nobody answered went through");
	else
		trial_works(t, "a filter with a listener in a child; once that was closed, its calls failed");
}

void try_listener(struct trial *t)
{
	trial_in_child(t, 0, -1, listened);
}
