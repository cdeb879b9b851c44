/* SPDX-License-Identifier: MIT */
#include "runtime/names_resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/api.h"
#include "runtime/helper.h"
#include "runtime/resolver.h"

/* The descriptors that it gets, each an argument: the record, the socket to us, and those for lookups. */
enum { FDS = 2 + NAMES_SOCKETS, NUMBER = 12 };

static bool fails(struct refusal *r, int error, const char *what)
{
	return refuse_errno(r, CAVE_NETWORK_UNAVAILABLE, error, "the resolver of host names; %s", what);
}

static bool copy_error(struct refusal *r, const struct cave_error *e)
{
	return refuse(r, e->code == CAVE_FAILED ? CAVE_NETWORK_UNAVAILABLE : e->code,
		      "the resolver of host names; %s", e->text);
}

/* --- once ----------------------------------------------------------------------------------------- */

/* While the lock is held, or nobody else has it. */
static bool make_ready(struct names_prepared *p, struct refusal *r)
{
	struct cave_error error;

	if (p->prepared)
		return true;
	if ((p->policy || !cave_policy_open(p->file, &p->policy, &error)) &&
	    !cave_prepare(p->policy, &p->options, &p->prepared, &error))
		return true;
	return copy_error(r, &error);
}

bool names_prepare(struct memory *m, const struct cave_options *options, struct names_prepared *out, struct refusal *r)
{
	*out = (struct names_prepared){ .program = helper_find(m, options->loader, "cave-resolve"),
					.file = helper_find(m, options->loader, "cave-resolve.bpf") };
	pthread_mutex_init(&out->lock, NULL);
	out->options = (struct cave_options){ .size = sizeof out->options,
					      .loader = options->loader,
					      .config = options->config,
					      .program = out->program,
					      .user = options->user,
					      .directory = "/",
					      .tmpdir = options->tmpdir };
	if (!out->file || !out->program || access(out->program, X_OK))
		return fails(r, ENOENT, "cave-resolve is neither beside this program nor where it is installed");
	if (!resolver_read("/etc/resolv.conf", out->server, &out->nservers, r))
		return false;
	return options->flags & CAVE_PREPARE_ONCE || make_ready(out, r);
}

void names_unprepare(struct names_prepared *p)
{
	cave_prepared_free(p->prepared);
	cave_policy_free(p->policy);
	pthread_mutex_destroy(&p->lock);
	p->prepared = NULL;
	p->policy = NULL;
}

/* --- for a run ------------------------------------------------------------------------------------ */

/* The record that the resolver reads: the bytes that were checked here, in memory that nobody else has. */
static int record_copy(const struct artefact *a)
{
	int fd = memfd_create("cave-hosts", MFD_CLOEXEC);
	size_t done = 0;
	ssize_t n;

	while (fd >= 0 && done < a->host_record_size) {
		n = write(fd, (const char *)a->host_record + done, a->host_record_size - done);
		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0 && (done < a->host_record_size || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void show_server(const struct artefact_address *a, char text[INET6_ADDRSTRLEN])
{
	uint32_t word[4];

	for (int i = 0; i < 4; i++)
		word[i] = htonl(a->word[i]);
	inet_ntop(a->six ? AF_INET6 : AF_INET, a->six ? word : word + 3, text, INET6_ADDRSTRLEN);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static bool spawn_it(const struct names_prepared *p, const int fd[FDS], struct cave_tool **out, struct refusal *r)
{
	char number[FDS][NUMBER], server[CAVE_RESOLVERS][INET6_ADDRSTRLEN], *argv[1 + FDS + CAVE_RESOLVERS + 1] = { 0 };
	int keep[FDS];
	struct cave_spawn spawn = { .size = sizeof spawn,
				    .argv = argv,
				    .keep = keep,
				    .standard = { -1, -1, -1 },
				    .flags = CAVE_SPAWN_UNGUARDED | CAVE_SPAWN_FROM_CALLER };
	struct cave_error error;

	argv[0] = (char *)p->program;
	for (int i = 0; i < FDS; i++) {
		snprintf(number[i], NUMBER, "%d", fd[i]);
		argv[1 + i] = number[i];
		if (fd[i] >= 0)
			keep[spawn.nkeep++] = fd[i];
	}
	for (size_t i = 0; i < p->nservers; i++) {
		show_server(&p->server[i], server[i]);
		argv[1 + FDS + i] = server[i];
	}
	qsort(keep, spawn.nkeep, sizeof *keep, by_number);
	return !api_spawn(p->prepared, &spawn, true, out, &error) || copy_error(r, &error);
}

bool names_resolver_start(struct names_prepared *p, const struct artefact *a, const int fd[NAMES_SOCKETS], int socket,
			  struct cave_tool **out, struct refusal *r)
{
	int all[FDS] = { record_copy(a), socket };
	bool ok;

	memcpy(all + 2, fd, NAMES_SOCKETS * sizeof *fd);
	if (all[0] < 0)
		return fails(r, errno, "memfd_create");
	pthread_mutex_lock(&p->lock);
	ok = make_ready(p, r);
	pthread_mutex_unlock(&p->lock);
	ok = ok && spawn_it(p, all, out, r);
	close(all[0]);
	return ok;
}
