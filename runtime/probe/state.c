/* SPDX-License-Identifier: MIT */
/* Reports of what the tool was started with; each prints lines of its own before its result. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

extern char **environ;

static int print_environment(char *const *arg)
{
	(void)arg;
	for (char **e = environ; *e; e++)
		puts(*e);
	return 0;
}

/* The open descriptors, but those that the listing itself needs. */
static int print_descriptors(char *const *arg)
{
	(void)arg;
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	return 0;
}

static int print_capabilities(char *const *arg)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct set[2] = { { 0 } };
	int ambient = 0;

	(void)arg;
	if (syscall(SYS_capget, &header, set) < 0)
		return errno;
	for (int cap = 0; cap < 64; cap++)
		ambient |= prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1;
	printf("effective %x%08x permitted %x%08x inheritable %x%08x ambient %d\n",
	       set[1].effective, set[0].effective, set[1].permitted, set[0].permitted,
	       set[1].inheritable, set[0].inheritable, ambient);
	return 0;
}

static int print_no_new_privs(char *const *arg)
{
	(void)arg;
	printf("no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	return 0;
}

static int print_ids(char *const *arg)
{
	(void)arg;
	printf("uid %u %u gid %u %u\n", getuid(), geteuid(), getgid(), getegid());
	return 0;
}

static int print_folder(char *const *arg)
{
	char room[4096];

	(void)arg;
	if (!getcwd(room, sizeof room))
		return errno;
	puts(room);
	return 0;
}

/* Says that it is there, and its process id, and waits so many milliseconds. */
static int wait_here(char *const *arg)
{
	printf("here %d\n", getpid());
	fflush(stdout);
	poll(NULL, 0, number(arg[0]));
	return 0;
}

static int end_with(char *const *arg)
{
	exit(number(arg[0]));
}

const struct attempt state_attempts[] = {
	{ "environment", 0, print_environment },
	{ "descriptors", 0, print_descriptors },
	{ "capabilities", 0, print_capabilities },
	{ "no-new-privs", 0, print_no_new_privs },
	{ "ids", 0, print_ids },
	{ "folder", 0, print_folder },
	{ "wait", 1, wait_here },
	{ "exit", 1, end_with },
	{ NULL, 0, NULL },
};
