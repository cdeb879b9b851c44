/* SPDX-License-Identifier: MIT */
/*
 * nouserns UID COMMAND…: runs a command as an ordinary user on a host that hands out no user namespaces.
 *
 * The limit is set in a user namespace of our own, so that the rest of the machine keeps its own: there
 * user.max_user_namespaces is 0, and the user has no capability (kernel/ucount.c).
 */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(99);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

/* Maps every id of `pid`, which has made a user namespace, to itself. */
static void map_ids(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/uid_map", (int)pid);
	put(path, "0 0 65536");
	snprintf(path, sizeof path, "/proc/%d/gid_map", (int)pid);
	put(path, "0 0 65536");
}

int main(int argc, char **argv)
{
	int made[2], mapped[2], status;
	char byte = 0;
	uid_t uid;
	pid_t parent;

	if (argc < 3 || pipe(made) < 0 || pipe(mapped) < 0)
		return 99;
	uid = (uid_t)strtoul(argv[1], NULL, 10);
	parent = getpid();
	/* The child maps; this process stays the command itself, with its id and its terminal. */
	if (fork() == 0) {
		close(made[1]);
		if (read(made[0], &byte, 1) != 1)
			_exit(1);
		map_ids(parent);
		_exit(write(mapped[1], &byte, 1) != 1);
	}
	if (unshare(CLONE_NEWUSER) < 0)
		fail("unshare");
	if (write(made[1], &byte, 1) != 1 || read(mapped[0], &byte, 1) != 1 || wait(&status) < 0 || status)
		fail("mapping");
	put("/proc/sys/user/max_user_namespaces", "0");
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		fail("setresuid");
	for (int i = 0; i < 2; i++) {
		close(made[i]);
		close(mapped[i]);
	}
	execvp(argv[2], argv + 2);
	fail(argv[2]);
}
