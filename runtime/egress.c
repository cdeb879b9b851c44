/* SPDX-License-Identifier: MIT */
/*
 * Loading programs is what most starts do not need, and takes threads and memory: a helper does it.  It gets four
 * descriptors and answers on one of them (runtime/load_main.c).
 */
#include "runtime/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cave_libexec.h"
#include "runtime/kernel.h"
#include "runtime/helper.h"
#include "runtime/load_protocol.h"
#include "runtime/privilege.h"
#include "runtime/resolver.h"

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#endif
#define SEALS 0xf /* F_SEAL_SEAL, SHRINK, GROW and WRITE (linux/fcntl.h) */

static bool helper_fails(struct refusal *r, int error, const char *what)
{
	return refuse_errno(r, CAVE_NETWORK_UNAVAILABLE, error,
			    "the policy's network programs cannot be loaded; %s", what);
}

/* bpf_prog_load() (kernel/bpf/syscall.c) asks for both, or for CAP_SYS_ADMIN in place of either. */
bool egress_check_privileges(struct refusal *r)
{
	bool bpf = has_capability(CAP_NR_BPF) || has_capability(CAP_SYS_ADMIN);
	bool net = has_capability(CAP_NET_ADMIN) || has_capability(CAP_SYS_ADMIN);

	if (bpf && net)
		return true;
	return refuse(r, CAVE_NETWORK_UNAVAILABLE,
		      "the policy grants network, and bounding it needs %s%s%s, which caverun has not",
		      bpf ? "" : "CAP_BPF", bpf || net ? "" : " and ", net ? "" : "CAP_NET_ADMIN");
}

/* The helper sees the bytes that were checked here, and nobody can change them. */
static int sealed_copy(const struct artefact *a)
{
	int fd = memfd_create("cave-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t done = 0;
	ssize_t n;

	while (fd >= 0 && done < a->size) {
		n = write(fd, a->data + done, a->size - done);
		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0 && (done < a->size || fcntl(fd, F_ADD_SEALS, SEALS))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Reads the answer until the helper closes its end. */
static void read_answer(int fd, char *answer, size_t max)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < max && (got = read(fd, answer + n, max - 1 - n)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	answer[n] = 0;
}

static int start_helper(char *const argv[], const int from[LOAD_FDS], const sigset_t *mask, char **env,
			pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	for (int i = 0; i < LOAD_FDS && !error; i++)
		error = posix_spawn_file_actions_adddup2(&actions, from[i], LOAD_FD_FIRST + i);
	if (!error)
		error = posix_spawnattr_init(&attributes);
	if (!error) {
		posix_spawnattr_setsigmask(&attributes, mask);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
		error = posix_spawn(pid, argv[0], &actions, &attributes, argv, env);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/*
 * Moves a descriptor out of the range that the helper's own will be dup2()ed to, so that none of them is
 * overwritten before its turn.
 */
static int move_up(int fd)
{
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOAD_FD_FIRST + LOAD_FDS);

	if (fd >= 0)
		close(fd);
	return moved;
}

static bool ask(char *const argv[], const int from[LOAD_FDS], int answers, const sigset_t *mask, char **env,
		struct refusal *r)
{
	char answer[LOAD_ANSWER_MAX];
	int error, status = 0;
	pid_t pid;

	error = start_helper(argv, from, mask, env, &pid);
	for (int i = 0; i < LOAD_FDS; i++)
		close(from[i]);
	if (error)
		return helper_fails(r, error, argv[0]);
	read_answer(answers, answer, sizeof answer);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status) && !strcmp(answer, LOAD_OK))
		return true;
	return refuse(r, CAVE_NETWORK_UNAVAILABLE, "%s",
		      *answer ? answer : "cave-load ended without an answer");
}

/* The helper's arguments: its own path, and the name servers of the host where the policy grants them. */
static bool make_arguments(struct memory *m, const struct egress_servers *servers, const char *loader,
			   char *argv[CAVE_RESOLVERS + 2], struct refusal *r)
{
	size_t n = servers->n;

	argv[0] = (char *)helper_find(m, loader, "cave-load");
	if (!argv[0])
		return helper_fails(r, ENOENT,
				    "cave-load is neither beside this program, in ../libexec/cave, nor in " CAVE_LIBEXEC);
	for (size_t i = 0; i < n; i++) {
		const struct artefact_address *a = &servers->address[i];

		argv[1 + i] = memory_printf(m, "%d:%x:%x:%x:%x", a->six, a->word[0], a->word[1], a->word[2],
					    a->word[3]);
	}
	argv[1 + n] = NULL;
	return true;
}

bool egress_load(struct memory *m, const struct artefact *a, const struct egress_servers *servers,
		 const struct egress_helper *helper, const struct cgroup *c, struct refusal *r)
{
	char *env[] = { NULL };
	char *argv[CAVE_RESOLVERS + 2];
	int answer[2], from[LOAD_FDS];
	bool ok;

	if (!make_arguments(m, servers, helper->path, argv, r))
		return false;
	if (pipe2(answer, O_CLOEXEC))
		return helper_fails(r, errno, "pipe2");
	from[LOAD_ARTEFACT] = move_up(sealed_copy(a));
	from[LOAD_CGROUP] = fcntl(c->fd, F_DUPFD_CLOEXEC, LOAD_FD_FIRST + LOAD_FDS);
	from[LOAD_PARENT] = fcntl(c->parent, F_DUPFD_CLOEXEC, LOAD_FD_FIRST + LOAD_FDS);
	from[LOAD_ANSWER] = move_up(answer[1]);
	if (from[LOAD_ARTEFACT] < 0 || from[LOAD_CGROUP] < 0 || from[LOAD_PARENT] < 0 || from[LOAD_ANSWER] < 0)
		ok = helper_fails(r, errno, "memfd_create");
	else
		ok = ask(argv, from, answer[0], &helper->mask, env, r);
	close(answer[0]);
	return ok;
}

bool egress_servers_read(const struct artefact *a, struct egress_servers *out, struct refusal *r)
{
	out->n = 0;
	return !a->nresolver || resolver_read("/etc/resolv.conf", out->address, &out->n, r);
}
