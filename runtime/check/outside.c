/* SPDX-License-Identifier: MIT */
#include "runtime/check/outside.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* A socket of 127.0.0.1 on a port that the kernel chooses; -1 with errno. */
static int inet(int type, unsigned *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof at;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) || (type == SOCK_STREAM && listen(fd, 64)) ||
	    getsockname(fd, (struct sockaddr *)&at, &size))
		return -1;
	*port = ntohs(at.sin_port);
	return fd;
}

/* Of an abstract name, which leaves nothing behind; "@NAME" for the probe. */
static int local(int type, const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strncpy(at.sun_path + 1, name + 1, sizeof at.sun_path - 2);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) ||
	    (type == SOCK_STREAM && listen(fd, 64)))
		return -1;
	return fd;
}

/* Ends with us; its environment is one that can be looked for. */
static pid_t start_victim(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (getppid() == parent)
		pause();
	_exit(0);
}

static bool make(struct memory *m, struct outside *o, struct refusal *r)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return refuse_errno(r, CAVE_FAILED, errno, "getrandom");
	o->unix_name = memory_printf(m, "@cave-conformance-%016llx", (unsigned long long)random);
	if ((o->tcp = inet(SOCK_STREAM, &o->tcp_port)) < 0 || (o->udp = inet(SOCK_DGRAM, &o->udp_port)) < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "a socket of 127.0.0.1 to be refused");
	if ((o->unix_stream = local(SOCK_STREAM, o->unix_name)) < 0 ||
	    (o->unix_datagram = local(SOCK_DGRAM, memory_printf(m, "%s-dgram", o->unix_name))) < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "a unix socket to be refused");
	o->victim = start_victim();
	return o->victim >= 0 || refuse_errno(r, CAVE_FAILED, errno, "a process to be left alone");
}

bool outside_make(struct memory *m, const char *home, struct outside *out, struct refusal *r)
{
	struct outside o = { .victim = -1, .tcp = -1, .udp = -1, .unix_stream = -1, .unix_datagram = -1 };

	if (!scratch_make(m, home, &o.scratch, r))
		return false;
	if (!make(m, &o, r)) {
		outside_remove(&o);
		return false;
	}
	*out = o;
	return true;
}

void outside_remove(struct outside *o)
{
	const int fds[] = { o->tcp, o->udp, o->unix_stream, o->unix_datagram };

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (o->victim > 0) {
		kill(o->victim, SIGKILL);
		while (waitpid(o->victim, NULL, 0) < 0 && errno == EINTR)
			;
	}
	scratch_remove(&o->scratch);
}
