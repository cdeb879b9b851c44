/* SPDX-License-Identifier: MIT */
#include "runtime/contained.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch.h"
#include "runtime/init.h"
#include "runtime/raw.h"
#include "runtime/rights.h"

/* Waits for its word; false if it has ended without: others may have got a copy of the socket's other end by a fork. */
static bool has_started(int socket, int pidfd)
{
	struct pollfd p[] = { { socket, POLLIN, 0 }, { pidfd, POLLIN, 0 } };
	char what = 0;

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	return recv(socket, &what, 1, MSG_DONTWAIT) == 1 && what == INIT_STARTED;
}

static bool fails(struct child *c, const char *step, int error)
{
	c->step = step;
	c->error = error;
	return false;
}

static bool make_pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return false;
	for (int i = 0; i < 2; i++)
		ends[i] = (int)above_standard(ends[i]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return true;
	errno = ends[0] < 0 ? -ends[0] : -ends[1];
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			SYS2(SYS_close, ends[i], 0);
	return false;
}

/* Everything that it shares with us, and the ends of the socket. */
static bool make(struct child *c, int cgroup, struct init **out, int ends[2])
{
	long starter = above_standard(SYS2(SYS_pidfd_open, getpid(), 0));
	struct init *i;

	if (starter < 0)
		return fails(c, "pidfd_open", (int)-starter);
	i = mmap(NULL, sizeof *i, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (i == MAP_FAILED || !make_pair(ends)) {
		fails(c, "memory or a socket for the namespace's first process", errno);
		if (i != MAP_FAILED)
			munmap(i, sizeof *i);
		close((int)starter);
		return false;
	}
	i->child = c;
	i->cgroup = cgroup;
	i->other = ends[0];
	i->socket = ends[1];
	i->starter = (int)starter;
	i->count.max = c->plan->artefact->max_children + 1;
	i->count.scoped = c->plan->landlock_abi >= LL_ABI_SCOPE;
	*out = i;
	return true;
}

static long clone_it(struct init *i, uint64_t namespaces, int *pidfd)
{
	const uint64_t flags = CLONE_VM | CLONE_PIDFD | CLONE_NEWPID | K_CLONE_CLEAR_SIGHAND;
	struct k_clone_args args = { .flags = flags | namespaces, .exit_signal = SIGCHLD, .pidfd = (uintptr_t)pidfd,
				     .stack = (uintptr_t)i->stack, .stack_size = sizeof i->stack };

	return arch_clone3(&args, init_run, i);
}

bool contained_start(struct child *c, uint64_t namespaces, int cgroup, struct spawned *out)
{
	int ends[2], pidfd = -1;
	struct init *i;
	long pid;

	c->error = 0;
	c->contained = true;
	c->nspared = 0;
	if (!make(c, cgroup, &i, ends))
		return false;
	c->step = spawn_step_clone;
	pid = clone_it(i, namespaces, &pidfd);
	close(i->socket);
	close(i->starter);
	if (pid >= 0 && has_started(ends[0], pidfd)) {
		*out = (struct spawned){ (pid_t)pid, pidfd, ends[0], i };
		return true;
	}
	if (pid < 0)
		c->error = (int)-pid;
	close(ends[0]);
	while (pid >= 0 && waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (pid >= 0)
		close(pidfd);
	munmap(i, sizeof *i);
	return false;
}

int contained_status(const struct spawned *s, int status)
{
	if (!s->init)
		return status;
	/* If it has not said, something killed it, and the tool with it. */
	return atomic_load(&s->init->ended) ? s->init->status : SIGKILL;
}

int contained_stopped(const struct spawned *s)
{
	char what;

	while (recv(s->channel, &what, 1, MSG_DONTWAIT) == 1)
		;
	return atomic_exchange(&s->init->stopped, 0);
}

void contained_close(struct spawned *s)
{
	if (!s->init)
		return;
	close(s->channel);
	munmap(s->init, sizeof *s->init);
	s->init = NULL;
	s->channel = -1;
}
