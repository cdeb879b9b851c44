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

#include "runtime/cgroup.h"

enum { NO_PORT = 9 }; /* discard: where nothing listens, nothing is shown */

/* A socket of the loopback address on a port that the kernel chooses; -1 with errno. */
static int inet(int family, int type, unsigned *port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} at = { .four = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } } };
	socklen_t size = sizeof at.four;
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (family == AF_INET6) {
		at.six = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
		size = sizeof at.six;
	}
	*port = NO_PORT;
	if (fd < 0 || bind(fd, &at.any, size) || (type == SOCK_STREAM && listen(fd, 64)) ||
	    getsockname(fd, &at.any, &size))
		return -1;
	*port = ntohs(family == AF_INET ? at.four.sin_port : at.six.sin6_port);
	return fd;
}

/* By a path, or by an abstract name, which leaves nothing behind: "@NAME" for the probe. */
static int local(int type, const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (*name != '@'));
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (n >= sizeof at.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(at.sun_path, name, n);
	if (*name == '@')
		at.sun_path[0] = 0;
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) ||
	    (type == SOCK_STREAM && listen(fd, 64)))
		return -1;
	return fd;
}

static const char *find_group(struct memory *m)
{
	struct refusal none;
	struct cgroup own;

	if (!cgroup_own(m, &own, &none))
		return "/sys/fs/cgroup/cgroup.procs";
	close(own.fd);
	return memory_printf(m, "%s/cgroup.procs", own.path);
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
	if ((o->tcp = inet(AF_INET, SOCK_STREAM, &o->tcp_port)) < 0 ||
	    (o->udp = inet(AF_INET, SOCK_DGRAM, &o->udp_port)) < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "a socket of 127.0.0.1 to be refused");
	o->tcp6 = inet(AF_INET6, SOCK_STREAM, &o->tcp6_port);
	o->udp6 = inet(AF_INET6, SOCK_DGRAM, &o->udp6_port);
	/* A path may be too long for one. */
	o->path_stream = local(SOCK_STREAM, memory_printf(m, "%s/socket", o->scratch.folder));
	o->path_datagram = local(SOCK_DGRAM, memory_printf(m, "%s/socket-dgram", o->scratch.folder));
	if ((o->unix_stream = local(SOCK_STREAM, o->unix_name)) < 0 ||
	    (o->unix_datagram = local(SOCK_DGRAM, memory_printf(m, "%s-dgram", o->unix_name))) < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "a unix socket to be refused");
	o->victim = start_victim();
	return o->victim >= 0 || refuse_errno(r, CAVE_FAILED, errno, "a process to be left alone");
}

bool outside_make(struct memory *m, const char *home, const char *policy, struct outside *out, struct refusal *r)
{
	struct outside o = { .victim = -1, .tcp = -1, .udp = -1, .tcp6 = -1, .udp6 = -1, .unix_stream = -1,
			     .unix_datagram = -1, .path_stream = -1, .path_datagram = -1, .policy = policy,
			     .group = find_group(m) };

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
	const int fds[] = { o->tcp,	    o->udp,	      o->tcp6,	      o->udp6,
			    o->unix_stream, o->unix_datagram, o->path_stream, o->path_datagram };

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
