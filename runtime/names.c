/* SPDX-License-Identifier: MIT */
#include "runtime/names.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/api.h"
#include "runtime/helper.h"
#include "runtime/maps.h"
#include "runtime/resolver.h"

enum { READY_MS = 10000, SOCKETS = 4, LISTEN_BACKLOG = 16, PORT_TRIES = 32 };

static bool fails(struct refusal *r, int error, const char *what)
{
	return refuse_errno(r, CAVE_NETWORK_UNAVAILABLE, error, "the resolver of host names; %s", what);
}

/* --- once ----------------------------------------------------------------------------------------- */

static bool copy_error(struct refusal *r, const struct cave_error *e)
{
	return refuse(r, e->code == CAVE_FAILED ? CAVE_NETWORK_UNAVAILABLE : e->code,
		      "the resolver of host names; %s", e->text);
}

bool names_prepare(struct memory *m, const struct cave_options *options, struct names_prepared *out,
		   struct refusal *r)
{
	struct cave_options o = { .size = sizeof o,
				  .loader = options->loader,
				  .config = options->config,
				  .user = options->user,
				  .tmpdir = options->tmpdir };
	const char *policy = helper_find(m, options->loader, "cave-resolve.bpf");
	struct cave_error error;

	*out = (struct names_prepared){ .program = helper_find(m, options->loader, "cave-resolve") };
	if (!policy || !out->program)
		return fails(r, ENOENT, "cave-resolve is neither beside this program nor where it is installed");
	if (!resolver_read("/etc/resolv.conf", out->server, &out->nservers, r))
		return false;
	o.program = out->program;
	o.directory = "/";
	if (cave_policy_open(policy, &out->policy, &error) || cave_prepare(out->policy, &o, &out->prepared, &error))
		return copy_error(r, &error);
	return true;
}

void names_unprepare(struct names_prepared *p)
{
	cave_prepared_free(p->prepared);
	cave_policy_free(p->policy);
	*p = (struct names_prepared){ .program = NULL };
}

/* --- what dead runs left --------------------------------------------------------------------------- */

static void forget_run(int map_run, int map_live, uint64_t run)
{
	struct cave_names_key key, next;
	bool more = map_next(map_live, NULL, &next);

	while (more) {
		key = next;
		more = map_next(map_live, &key, &next);
		if (key.run == run)
			map_delete(map_live, &key);
	}
	map_delete(map_run, &run);
}

static bool is_there(const char *group, uint64_t run)
{
	char path[PATH_MAX];
	struct dirent *e;
	struct stat st;
	bool found = false;
	DIR *d = opendir(group);

	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof path, "%s/%s", group, e->d_name);
		found = !stat(path, &st) && st.st_ino == run;
	}
	if (d)
		closedir(d);
	return found || !d;
}

/* A runtime that was killed has left its run in the maps; its control group is gone by now, or swept. */
static void sweep(const struct names *n, const struct kept *kept)
{
	uint64_t run, next;
	bool more = map_next(n->map_run, NULL, &next);

	while (more) {
		run = next;
		more = map_next(n->map_run, &run, &next);
		if (!is_there(kept->group.path, run))
			forget_run(n->map_run, n->map_live, run);
	}
}

/* --- the sockets on which the tool's lookups arrive ------------------------------------------------- */

struct sockets {
	int fd[SOCKETS]; /* UDP and TCP of IPv4, then of IPv6, in the order of cave-resolve's arguments; -1: none */
	uint32_t port4, port6; /* in network order */
};

static void close_all(int *fd, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* A datagram socket at a port of the kernel's choosing, and a stream socket at the same; false with errno set. */
static bool open_pair(const struct sockaddr *at, socklen_t size, int *udp, int *tcp, uint32_t *port)
{
	struct sockaddr_in6 got;
	socklen_t n = sizeof got;
	int family = at->sa_family, error;

	*udp = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	*tcp = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*udp >= 0 && *tcp >= 0 && !bind(*udp, at, size) && !getsockname(*udp, (struct sockaddr *)&got, &n) &&
	    !bind(*tcp, (struct sockaddr *)&got, n) && !listen(*tcp, LISTEN_BACKLOG)) {
		*port = got.sin6_port; /* at the same place as sin_port */
		return true;
	}
	error = errno;
	close_all((int[]){ *udp, *tcp }, 2);
	*udp = *tcp = -1;
	errno = error;
	return false;
}

/* The port that is free for datagrams may be taken for streams: another, then. */
static bool open_either(const struct sockaddr *at, socklen_t size, int *udp, int *tcp, uint32_t *port)
{
	for (int i = 0; i < PORT_TRIES; i++)
		if (open_pair(at, size, udp, tcp, port) || errno != EADDRINUSE)
			return *udp >= 0;
	return false;
}

/* Without IPv6 on the host, lookups by it are refused. */
static bool open_sockets(struct sockets *s, struct refusal *r)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	*s = (struct sockets){ .fd = { -1, -1, -1, -1 } };
	if (!open_either((struct sockaddr *)&four, sizeof four, &s->fd[0], &s->fd[2], &s->port4))
		return fails(r, errno, "sockets at 127.0.0.1");
	open_either((struct sockaddr *)&six, sizeof six, &s->fd[1], &s->fd[3], &s->port6);
	return true;
}

/* --- keeping the addresses --------------------------------------------------------------------------- */

static bool is_over(const struct names *n, const struct cave_names_key *key, uint64_t now)
{
	struct cave_names_until value;

	if (map_get(n->map_live, key, &value))
		return true;
	for (int c = 0; c < CAVE_HOST_CLASSES; c++)
		if (value.until[c] > now)
			return false;
	return true;
}

/* Room for one more: of what is over, which connections may still use, the oldest goes.  False if all are needed. */
static bool make_room(struct names *n)
{
	uint64_t now = now_ns();

	for (size_t i = 0; n->nkeys == CAVE_RESOLVE_PER_RUN && i < n->nkeys; i++) {
		if (!is_over(n, &n->key[i], now))
			continue;
		map_delete(n->map_live, &n->key[i]);
		n->nkeys--;
		memmove(&n->key[i], &n->key[i + 1], (n->nkeys - i) * sizeof *n->key);
	}
	return n->nkeys < CAVE_RESOLVE_PER_RUN;
}

/* Puts an address where the programs look, or lets it stay there longer.  An errno. */
static int put(struct names *n, const struct cave_resolve_address *a, const struct names_verdict *v)
{
	struct cave_names_key key = { .run = n->run };
	struct cave_names_until value;
	bool known;
	int error;

	memcpy(key.address, a->word, sizeof key.address);
	known = !map_get(n->map_live, &key, &value);
	if (!known)
		value = (struct cave_names_until){ { 0 } };
	if (!known && !make_room(n))
		return ENOSPC;
	for (int c = 0; c < CAVE_HOST_CLASSES; c++)
		if (v->classes >> c & 1 && value.until[c] < v->expiry)
			value.until[c] = v->expiry;
	error = map_set(n->map_live, &key, &value);
	if (!error && !known)
		n->key[n->nkeys++] = key;
	return error;
}

/* What the resolver says is not believed: each address is judged, as if a forger had sent it. */
static struct cave_resolve_answer admit(struct names *n, const struct cave_resolve_message *m)
{
	struct cave_resolve_answer answer = { 0 };

	for (uint32_t i = 0; i < m->n && !answer.error; i++) {
		struct names_verdict v;

		answer.error = names_judge(&n->judge, m->name, &m->address[i], now_ns(), &v);
		if (answer.error || !v.classes)
			continue;
		answer.error = put(n, &m->address[i], &v);
		answer.admitted |= (uint64_t)1 << i;
	}
	if (answer.error)
		answer.admitted = 0;
	return answer;
}

static void note_refused(struct names *n, const struct cave_resolve_message *m)
{
	size_t i = 0;

	pthread_mutex_lock(&n->lock);
	while (i < n->nrefused && strcmp(n->refused[i].name, m->name) != 0)
		i++;
	if (i == n->nrefused && i < NAMES_REFUSED_MAX) {
		memcpy(n->refused[i].name, m->name, sizeof m->name);
		n->refused[i].type = m->type;
		n->nrefused++;
	}
	if (i < n->nrefused)
		n->refused[i].count++;
	else
		n->others++;
	pthread_mutex_unlock(&n->lock);
}

/* False if that was no message: the socket's other end is gone, or somebody has taken the resolver over. */
static bool serve(struct names *n, bool *ready)
{
	struct cave_resolve_answer answer;
	struct cave_resolve_message m;
	ssize_t got;

	do
		got = recv(n->socket, &m, sizeof m, 0);
	while (got < 0 && errno == EINTR);
	if (got < (ssize_t)cave_resolve_size(0) || m.n > CAVE_RESOLVE_PER_NAME ||
	    got != (ssize_t)cave_resolve_size(m.n) || m.name[sizeof m.name - 1])
		return false;
	switch (m.kind) {
	case CAVE_RESOLVE_READY:
		*ready = n->judge.ready = true;
		return true;
	case CAVE_RESOLVE_ADMIT:
		answer = admit(n, &m);
		return send(n->socket, &answer, sizeof answer, MSG_NOSIGNAL) == (ssize_t)sizeof answer;
	case CAVE_RESOLVE_REFUSED:
		/* "?" stands for what could not be shown. */
		if (names_plain(m.name) || !strcmp(m.name, "?"))
			note_refused(n, &m);
		return true;
	default:
		return false;
	}
}

/* Without a resolver nothing is led to where it was: another program may get its port. */
static void *keep(void *of)
{
	struct names *n = of;
	bool ready;

	while (serve(n, &ready))
		;
	map_delete(n->map_run, &n->run);
	return NULL;
}

/* --- one run ------------------------------------------------------------------------------------------ */

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

static const char *server_text(struct memory *m, const struct artefact_address *a)
{
	char text[INET6_ADDRSTRLEN];
	uint32_t word[4];

	for (int i = 0; i < 4; i++)
		word[i] = htonl(a->word[i]);
	return memory_printf(m, "%s",
			     inet_ntop(a->six ? AF_INET6 : AF_INET, a->six ? word : word + 3, text, sizeof text));
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Starts it with its descriptors, under its own policy. */
static bool start_resolver(struct memory *m, const struct names_prepared *p, const struct sockets *s, int record,
			   int socket, struct names *n, struct refusal *r)
{
	const int fd[] = { record, socket, s->fd[0], s->fd[1], s->fd[2], s->fd[3] };
	char **argv = MEMORY_ARRAY(m, 8 + CAVE_RESOLVERS, char *);
	struct cave_spawn spawn = {
		.size = sizeof spawn, .argv = argv, .standard = { -1, -1, -1 }, .flags = CAVE_SPAWN_UNGUARDED
	};
	struct cave_error error;
	int keep[sizeof fd / sizeof *fd];

	argv[0] = (char *)p->program;
	for (size_t i = 0; i < sizeof fd / sizeof *fd; i++) {
		argv[1 + i] = memory_printf(m, "%d", fd[i]);
		if (fd[i] >= 0)
			keep[spawn.nkeep++] = fd[i];
	}
	for (size_t i = 0; i < p->nservers; i++)
		argv[7 + i] = (char *)server_text(m, &p->server[i]);
	qsort(keep, spawn.nkeep, sizeof *keep, by_number);
	spawn.keep = keep;
	return !api_spawn(p->prepared, &spawn, true, &n->resolver, &error) || copy_error(r, &error);
}

/* Until it answers questions; what /etc/hosts says of granted names stands in the map by then. */
static bool await_ready(struct names *n, struct refusal *r)
{
	struct pollfd p = { .fd = n->socket, .events = POLLIN };
	uint64_t end = now_ns() + (uint64_t)READY_MS * 1000000u;
	bool ready = false;

	while (!ready) {
		uint64_t now = now_ns();
		int got = now < end ? poll(&p, 1, (int)((end - now) / 1000000u) + 1) : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return fails(r, got ? errno : ETIMEDOUT, "cave-resolve does not begin");
		if (!serve(n, &ready))
			return fails(r, ECONNRESET, "cave-resolve has ended at once");
	}
	return true;
}

static bool open_maps(const struct kept *kept, struct names *n, struct refusal *r)
{
	uint32_t program = kept->record.id[CAVE_HOOK_CONNECT4];

	n->map_run = map_open(program, CAVE_NAMES_RUN_MAP);
	n->map_live = n->map_run < 0 ? -1 : map_open(program, CAVE_NAMES_LIVE_MAP);
	return n->map_live >= 0 || fails(r, errno, "the maps of the policy's programs");
}

static bool begin(struct memory *m, const struct names_prepared *p, const struct artefact *a, struct names *n,
		  const struct sockets *s, struct refusal *r)
{
	struct cave_names_run value = { s->port4, s->port6 };
	int pair[2], record = record_copy(a), error;
	bool ok;

	if (record < 0)
		return fails(r, errno, "memfd_create");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		ok = fails(r, errno, "socketpair");
		close(record);
		return ok;
	}
	n->socket = pair[0];
	ok = start_resolver(m, p, s, record, pair[1], n, r);
	close(pair[1]);
	close(record);
	if (!ok || !await_ready(n, r))
		return false;
	error = map_set(n->map_run, &n->run, &value);
	if (error)
		return fails(r, error, "the map of runs");
	error = pthread_create(&n->keeper, NULL, keep, n);
	return !error || fails(r, error, "a thread");
}

bool names_start(struct memory *m, const struct names_prepared *p, const struct artefact *a,
		 const struct operator_rules *rules, const struct kept *kept, int group, struct names *out,
		 struct refusal *r)
{
	struct sockets s;
	struct stat st;
	bool ok;

	out->map_run = out->map_live = out->socket = -1;
	pthread_mutex_init(&out->lock, NULL);
	if (fstat(group, &st))
		return fails(r, errno, "the run's control group");
	out->run = st.st_ino;
	if (!hosts_open(a->host_record, a->host_record_size, &out->judge.hosts))
		return refuse(r, CAVE_FAILED, "the policy's record of host names is damaged");
	out->judge.nat64 = rules->nat64;
	out->judge.nnat64 = rules->nnat64;
	if (!open_maps(kept, out, r) || !open_sockets(&s, r)) {
		names_end(out);
		return false;
	}
	sweep(out, kept);
	ok = begin(m, p, a, out, &s, r);
	/* Only the resolver has them: when it ends, whoever asks is told so at once. */
	close_all(s.fd, SOCKETS);
	out->started = ok;
	if (!ok)
		names_end(out);
	return ok;
}

void names_end(struct names *n)
{
	if (n->socket >= 0)
		shutdown(n->socket, SHUT_RDWR);
	if (n->started)
		pthread_join(n->keeper, NULL);
	if (n->resolver)
		cave_tool_free(n->resolver, NULL);
	for (size_t i = 0; i < n->nkeys; i++)
		map_delete(n->map_live, &n->key[i]);
	if (n->map_run >= 0)
		map_delete(n->map_run, &n->run);
	close_all((int[]){ n->socket, n->map_run, n->map_live }, 3);
	pthread_mutex_destroy(&n->lock);
	n->started = false;
	n->resolver = NULL;
	n->nkeys = 0;
	n->socket = n->map_run = n->map_live = -1;
}
