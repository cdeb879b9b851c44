/* SPDX-License-Identifier: MIT */
/* Attempts on other processes; the argument is a process id. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

/* process, signal */
static int send_signal(char *const *arg)
{
	return result(kill(number(arg[0]), number(arg[1])));
}

static int send_to_thread(char *const *arg)
{
	int pid = number(arg[0]);

	return result(syscall(SYS_tgkill, pid, pid, number(arg[1])));
}

static int send_to_task(char *const *arg)
{
	return result(syscall(SYS_tkill, number(arg[0]), number(arg[1])));
}

static int queue_signal(char *const *arg)
{
	siginfo_t info = { .si_code = SI_QUEUE };

	info.si_signo = number(arg[1]);
	info.si_pid = getpid();
	info.si_uid = getuid();
	return result(syscall(SYS_rt_sigqueueinfo, number(arg[0]), info.si_signo, &info));
}

static int queue_to_thread(char *const *arg)
{
	siginfo_t info = { .si_code = SI_QUEUE };
	int pid = number(arg[0]);

	info.si_signo = number(arg[1]);
	info.si_pid = getpid();
	info.si_uid = getuid();
	return result(syscall(SYS_rt_tgsigqueueinfo, pid, pid, info.si_signo, &info));
}

/* A process is made the owner of a pipe, which then sends it a signal of our choice (F_SETSIG). */
static int signal_by_owner(char *const *arg)
{
	int fd[2], error;

	if (pipe(fd) < 0)
		return errno;
	error = result(fcntl(fd[0], F_SETOWN, number(arg[0])));
	if (!error)
		error = result(fcntl(fd[0], F_SETSIG, number(arg[1])));
	if (!error)
		error = result(fcntl(fd[0], F_SETFL, O_ASYNC));
	if (!error)
		error = result(write(fd[1], "x", 1));
	return error;
}

static int pidfd(char *const *arg)
{
	int fd = (int)syscall(SYS_pidfd_open, number(arg[0]), 0);
	int error = result(fd);

	close(fd);
	return error;
}

static int pidfd_signal(char *const *arg)
{
	int fd = (int)syscall(SYS_pidfd_open, number(arg[0]), 0);
	int error = fd < 0 ? errno :
			     result(syscall(SYS_pidfd_send_signal, fd, number(arg[1]), NULL, 0));

	close(fd);
	return error;
}

/* The descriptor of a process by its folder in /proc. */
static int proc_signal(char *const *arg)
{
	char path[32];
	int fd, error;

	snprintf(path, sizeof path, "/proc/%d", number(arg[0]));
	fd = open(path, O_RDONLY | O_DIRECTORY);
	error = fd < 0 ? errno : result(syscall(SYS_pidfd_send_signal, fd, number(arg[1]), NULL, 0));
	close(fd);
	return error;
}

static int pidfd_steal(char *const *arg)
{
	int fd = (int)syscall(SYS_pidfd_open, number(arg[0]), 0);
	int error = fd < 0 ? errno : result(syscall(SYS_pidfd_getfd, fd, 0, 0));

	close(fd);
	return error;
}

static int trace(char *const *arg)
{
	int pid = number(arg[0]), error = result(ptrace(PTRACE_SEIZE, pid, 0, 0));

	if (!error)
		ptrace(PTRACE_DETACH, pid, 0, 0);
	return error;
}

/* Reads a byte of the code of a process that runs this program too. */
static int vm_read(char *const *arg)
{
	char byte;
	struct iovec mine = { .iov_base = &byte, .iov_len = 1 };
	struct iovec other = { .iov_base = (void *)(uintptr_t)vm_read, .iov_len = 1 };

	return result(process_vm_readv(number(arg[0]), &mine, 1, &other, 1, 0));
}

static int vm_write(char *const *arg)
{
	static char byte = 'x';
	struct iovec mine = { .iov_base = &byte, .iov_len = 1 };
	struct iovec other = { .iov_base = &byte, .iov_len = 1 };

	return result(process_vm_writev(number(arg[0]), &mine, 1, &other, 1, 0));
}

static int limit_other(char *const *arg)
{
	struct rlimit was;

	return result(prlimit(number(arg[0]), RLIMIT_NOFILE, NULL, &was));
}

static int set_limit_other(char *const *arg)
{
	struct rlimit was;
	int pid = number(arg[0]), error = result(prlimit(0, RLIMIT_CORE, NULL, &was));

	if (!error)
		error = result(prlimit(pid, RLIMIT_CORE, &was, NULL));
	return error;
}

static int limit_self(char *const *arg)
{
	struct rlimit was;
	int error = result(prlimit(0, RLIMIT_NOFILE, NULL, &was));

	(void)arg;
	if (!error)
		error = result(prlimit(getpid(), RLIMIT_NOFILE, NULL, &was));
	return error;
}

static int affinity(char *const *arg)
{
	cpu_set_t set;
	int error = result(sched_getaffinity(0, sizeof set, &set));

	if (!error)
		error = result(sched_setaffinity(number(arg[0]), sizeof set, &set));
	return error;
}

static int scheduler(char *const *arg)
{
	struct sched_param p = { 0 };

	return result(sched_setscheduler(number(arg[0]), SCHED_OTHER, &p));
}

static int scheduler_param(char *const *arg)
{
	struct sched_param p = { 0 };

	return result(sched_setparam(number(arg[0]), &p));
}

static int scheduler_attr(char *const *arg)
{
	/* struct sched_attr (linux/sched/types.h), whose header does not go with libc's. */
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof attr };

	return result(syscall(SYS_sched_setattr, number(arg[0]), &attr, 0));
}

static int priority(char *const *arg)
{
	return result(setpriority(PRIO_PROCESS, (id_t)number(arg[0]), 19));
}

static int priority_of_group(char *const *arg)
{
	return result(setpriority(PRIO_PGRP, (id_t)number(arg[0]), 19));
}

static int priority_of_user(char *const *arg)
{
	(void)arg;
	return result(setpriority(PRIO_USER, getuid(), 0));
}

/* IOPRIO_WHO_PROCESS, best effort, the lowest level (linux/ioprio.h). */
static int io_priority(char *const *arg)
{
	return result(syscall(SYS_ioprio_set, 1, number(arg[0]), 2 << 13 | 7));
}

static int compare(char *const *arg)
{
	return result(syscall(SYS_kcmp, getpid(), number(arg[0]), 1, 0, 0));
}

static int set_group(char *const *arg)
{
	return result(setpgid(number(arg[0]), 0));
}

/* Reads the file NAME of a process in /proc. */
static int proc_read(char *const *arg)
{
	char path[64], byte;
	int fd, error;

	snprintf(path, sizeof path, "/proc/%s/%s", arg[0], arg[1]);
	fd = open(path, O_RDONLY);
	error = fd < 0 ? errno : result(read(fd, &byte, 1));
	close(fd);
	/* /proc/PID/mem at address 0 is no memory: the open is what counts. */
	return error == EIO ? 0 : error;
}

static int death_signal(char *const *arg)
{
	(void)arg;
	return result(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

static int dumpable(char *const *arg)
{
	return result(prctl(PR_SET_DUMPABLE, number(arg[0]), 0, 0, 0));
}

/* The ioctl on standard input, the request as it stands. */
static int terminal(unsigned long request)
{
	static char byte = '\n';

	return result(syscall(SYS_ioctl, 0, request, &byte));
}

static int push_input(char *const *arg)
{
	(void)arg;
	return terminal(TIOCSTI);
}

static int push_input_high(char *const *arg)
{
	(void)arg;
	return terminal(0x100000000ul | TIOCSTI);
}

static int terminal_linux(char *const *arg)
{
	(void)arg;
	return terminal(TIOCLINUX);
}

const struct attempt process_attempts[] = {
	{ "kill", 2, send_signal },
	{ "tgkill", 2, send_to_thread },
	{ "tkill", 2, send_to_task },
	{ "sigqueue", 2, queue_signal },
	{ "tgsigqueue", 2, queue_to_thread },
	{ "setown", 2, signal_by_owner },
	{ "pidfd-open", 1, pidfd },
	{ "pidfd-signal", 2, pidfd_signal },
	{ "proc-signal", 2, proc_signal },
	{ "pidfd-getfd", 1, pidfd_steal },
	{ "ptrace", 1, trace },
	{ "vm-read", 1, vm_read },
	{ "vm-write", 1, vm_write },
	{ "prlimit", 1, limit_other },
	{ "prlimit-set", 1, set_limit_other },
	{ "prlimit-self", 0, limit_self },
	{ "affinity", 1, affinity },
	{ "scheduler", 1, scheduler },
	{ "sched-param", 1, scheduler_param },
	{ "sched-attr", 1, scheduler_attr },
	{ "priority", 1, priority },
	{ "priority-group", 1, priority_of_group },
	{ "priority-user", 0, priority_of_user },
	{ "io-priority", 1, io_priority },
	{ "kcmp", 1, compare },
	{ "setpgid", 1, set_group },
	{ "proc-read", 2, proc_read },
	{ "death-signal", 0, death_signal },
	{ "dumpable", 1, dumpable },
	{ "tiocsti", 0, push_input },
	{ "tiocsti-high", 0, push_input_high },
	{ "tioclinux", 0, terminal_linux },
	{ NULL, 0, NULL },
};
