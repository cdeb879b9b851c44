/* SPDX-License-Identifier: MIT */
/* Attempts to make processes and threads, to run programs, and to enter other namespaces. */
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

extern char **environ;

/* In the child `pid` is 0: it ends.  The parent reaps it. */
static int after_fork(long pid)
{
	int error = errno;

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return error;
	waitpid((pid_t)pid, NULL, __WALL);
	return 0;
}

static int do_fork(char *const *arg)
{
	(void)arg;
	return after_fork(syscall(SYS_fork));
}

static int libc_fork(char *const *arg)
{
	(void)arg;
	return after_fork(fork());
}

static int do_vfork(char *const *arg)
{
	pid_t pid;

	(void)arg;
	pid = vfork();
	if (pid == 0)
		_exit(0);
	return after_fork(pid);
}

/* Flags that leave the child a stack: not CLONE_VM. */
static int clone_flags(char *const *arg)
{
	return after_fork(syscall(SYS_clone, strtoul(arg[0], NULL, 0) | SIGCHLD, 0, 0, 0, 0));
}

static int leave(void *unused)
{
	(void)unused;
	_exit(0);
}

/* A process that shares our memory, with a stack of its own. */
static int clone_memory(char *const *arg)
{
	static char stack[16384] __attribute__((aligned(16)));

	(void)arg;
	return after_fork(clone(leave, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL));
}

static int clone3_flags(char *const *arg)
{
	struct clone_args args = { .flags = strtoull(arg[0], NULL, 0), .exit_signal = SIGCHLD };

	return after_fork(syscall(SYS_clone3, &args, sizeof args));
}

static int spawn(char *const *arg)
{
	char *const argv[] = { arg[0], NULL };
	pid_t pid;
	int error = posix_spawn(&pid, arg[0], NULL, NULL, argv, environ);

	return error ? error : after_fork(pid);
}

static void *nothing(void *unused)
{
	return unused;
}

static int thread(char *const *arg)
{
	pthread_t t;
	int error = pthread_create(&t, NULL, nothing, NULL);

	(void)arg;
	return error ? error : pthread_join(t, NULL);
}

static void *exec_in_thread(void *path)
{
	char *const argv[] = { path, NULL };

	execve(path, argv, environ);
	return (void *)(intptr_t)errno;
}

static int thread_exec(char *const *arg)
{
	void *error = NULL;
	pthread_t t;
	int failed = pthread_create(&t, NULL, exec_in_thread, arg[0]);

	if (failed)
		return failed;
	pthread_join(t, &error);
	return (int)(intptr_t)error;
}

/* Only comes back if refused. */
static int do_exec(char *const *arg)
{
	char *const argv[] = { arg[0], NULL };

	return result(execve(arg[0], argv, environ));
}

static int exec_at(char *const *arg)
{
	char *const argv[] = { arg[0], NULL };

	return result(syscall(SYS_execveat, AT_FDCWD, arg[0], argv, environ, 0));
}

/* A copy of the program FILE in anonymous memory, run by its descriptor. */
static int memory_file(const char *path)
{
	char room[4096];
	ssize_t n;
	int from = open(path, O_RDONLY), to = (int)syscall(SYS_memfd_create, "copy", 0);

	while (to >= 0 && (n = read(from, room, sizeof room)) > 0)
		if (write(to, room, (size_t)n) != n)
			break;
	close(from);
	return to;
}

static int exec_memory(char *const *arg)
{
	char *const argv[] = { arg[0], NULL };
	int fd = memory_file(arg[0]);

	return fd < 0 ? errno : result(syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH));
}

static int exec_memory_proc(char *const *arg)
{
	char *const argv[] = { arg[0], NULL };
	char path[32];
	int fd = memory_file(arg[0]);

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return fd < 0 ? errno : result(execve(path, argv, environ));
}

/* What a loader does with a program: maps it executable. */
static int map_executable(char *const *arg)
{
	int fd = open(arg[0], O_RDONLY), error;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	error = at == MAP_FAILED ? errno : 0;
	if (!error)
		munmap(at, 4096);
	close(fd);
	return error;
}

static int unshare_flags(char *const *arg)
{
	return result(unshare((int)strtoul(arg[0], NULL, 0)));
}

static int join_namespace(char *const *arg)
{
	int fd = open(arg[0], O_RDONLY);
	int error = fd < 0 ? errno : result(setns(fd, 0));

	close(fd);
	return error;
}

/* setns with a descriptor that is none: what the call itself answers. */
static int join_nothing(char *const *arg)
{
	(void)arg;
	return result(setns(-1, 0));
}

const struct attempt child_attempts[] = {
	{ "fork", 0, do_fork },
	{ "libc-fork", 0, libc_fork },
	{ "vfork", 0, do_vfork },
	{ "clone", 1, clone_flags },
	{ "clone-memory", 0, clone_memory },
	{ "clone3", 1, clone3_flags },
	{ "spawn", 1, spawn },
	{ "thread", 0, thread },
	{ "thread-exec", 1, thread_exec },
	{ "exec", 1, do_exec },
	{ "exec-at", 1, exec_at },
	{ "exec-memory", 1, exec_memory },
	{ "exec-memory-proc", 1, exec_memory_proc },
	{ "map-exec", 1, map_executable },
	{ "unshare", 1, unshare_flags },
	{ "setns", 1, join_namespace },
	{ "setns-nothing", 0, join_nothing },
	{ NULL, 0, NULL },
};
