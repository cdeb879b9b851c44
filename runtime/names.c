/* SPDX-License-Identifier: MIT */
#include "runtime/names.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/maps.h"
#include "runtime/names_hosts.h"
#include "runtime/thread.h"
#include "runtime/watch.h"

enum { LISTEN_BACKLOG = 16, PORT_TRIES = 32, STACK = 1 << 20 /* of who starts the resolver */ };

static bool fails(struct refusal *r, int error, const char *what)
{
	return refuse_errno(r, CAVE_NETWORK_UNAVAILABLE, error, "the resolver of host names; %s", what);
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

/* Numbers of runs: the ids of control groups are their folders' inode numbers. */
struct runs {
	uint64_t run[CAVE_NAMES_RUNS];
	size_t n;
};

static void list_known(int map_run, struct runs *out)
{
	bool more = map_next(map_run, NULL, &out->run[0]);

	for (out->n = 0; more && ++out->n < CAVE_NAMES_RUNS;)
		more = map_next(map_run, &out->run[out->n - 1], &out->run[out->n]);
}

/* Takes the run out of the list. */
static void strike(struct runs *list, uint64_t run)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->run[i] == run)
			list->run[i] = list->run[--list->n];
}

/*
 * A runtime that was killed has left its run in the maps; its control group is gone by now, or swept.  The map is read
 * first: a run that begins meanwhile has its group before it stands there.
 */
static void sweep(const struct names *n, const struct kept *kept)
{
	struct runs list;
	struct dirent *e;
	DIR *d;

	list_known(n->map_run, &list);
	d = list.n ? opendir(kept->group.path) : NULL;
	if (!d)
		return;
	while ((e = readdir(d)))
		strike(&list, e->d_ino);
	closedir(d);
	for (size_t i = 0; i < list.n; i++)
		forget_run(n->map_run, n->map_live, list.run[i]);
}

/* --- the sockets on which the tool's lookups arrive ------------------------------------------------- */

static void close_all(int *fd, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
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
static bool open_sockets(struct names *n, struct cave_names_run *at, struct refusal *r)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	*at = (struct cave_names_run){ 0 };
	if (!open_either((struct sockaddr *)&four, sizeof four, &n->lookups[0], &n->lookups[2], &at->port4))
		return fails(r, errno, "sockets at 127.0.0.1");
	open_either((struct sockaddr *)&six, sizeof six, &n->lookups[1], &n->lookups[3], &at->port6);
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

static void tell_address(const struct names *n, const uint32_t address[4])
{
	struct denials_told what = { .kind = DENIALS_ADDRESS };

	memcpy(what.word, address, sizeof what.word);
	if (n->told)
		n->told(n->told_of, &what);
}

/* Puts an address where the programs look, or lets it stay there longer.  An errno. */
static int put(struct names *n, const struct cave_resolve_address *a, const struct names_verdict *v)
{
	struct cave_names_key key = { .run = n->run };
	struct cave_names_until value;
	bool known;
	int error;

	if (!n->key)
		n->key = calloc(CAVE_RESOLVE_PER_RUN, sizeof *n->key);
	if (!n->key)
		return ENOMEM;
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
	if (error || known)
		return error;
	n->key[n->nkeys++] = key;
	tell_address(n, key.address);
	return 0;
}

/* What a name has lost.  Connections that stand go on: it has been an address of the class, and that is over. */
static int lower(struct names *n, const struct names_verdict *v)
{
	struct cave_names_key key = { .run = n->run };
	struct cave_names_until value;

	memcpy(key.address, v->address, sizeof key.address);
	if (map_get(n->map_live, &key, &value))
		return 0;
	for (int c = 0; c < CAVE_HOST_CLASSES; c++)
		value.until[c] = v->until[c] || !value.until[c] ? v->until[c] : 1;
	return map_set(n->map_live, &key, &value);
}

/* An errno. */
static int admit_one(struct names *n, const char *name, const struct cave_resolve_address *a, bool *reachable)
{
	struct names_verdict v;
	int error = names_judge(&n->judge, name, a, now_ns(), &v);

	if (error || !v.classes)
		return error;
	if (v.taken)
		error = lower(n, &v);
	if (error)
		return error;
	*reachable = true;
	return put(n, a, &v);
}

/* What does not fit is not reached. */
static bool admit_host(void *of, const char *name, const struct host_address *a)
{
	struct cave_resolve_address address = { .ttl = NAMES_FOREVER };
	bool reachable;

	memcpy(address.word, a->word, sizeof address.word);
	if (!a->six)
		address.word[2] = 0xffff;
	admit_one(of, name, &address, &reachable);
	return true;
}

/* What the resolver says is not believed: each address is judged, as if a forger had sent it. */
static struct cave_resolve_answer admit(struct names *n, const struct cave_resolve_message *m)
{
	struct cave_resolve_answer answer = { 0 };

	for (uint32_t i = 0; i < m->n && !answer.error; i++) {
		bool reachable = false;

		answer.error = admit_one(n, m->name, &m->address[i], &reachable);
		answer.admitted |= (uint64_t)reachable << i;
	}
	if (answer.error)
		answer.admitted = 0;
	return answer;
}

static enum denials_why why_refused(const struct hosts *granted, const char *name)
{
	struct host_match match;
	size_t at = 0;

	if (hosts_denied(granted, name))
		return DENIALS_DENIED;
	return hosts_match(granted, name, &at, &match) ? DENIALS_ELSEWHERE : DENIALS_NO_RULE;
}

/* "?" stands for what could not be shown. */
static void tell_refused(const struct names *n, const struct cave_resolve_message *m)
{
	struct denials_told what = { .kind = DENIALS_LOOKUP };

	if (!n->told || (!names_plain(m->name) && strcmp(m->name, "?") != 0))
		return;
	what.why = why_refused(&n->judge.hosts, m->name);
	memcpy(what.name, m->name, sizeof what.name);
	n->told(n->told_of, &what);
}

/* False if that was no message: the socket's other end is gone, or somebody has taken the resolver over. */
static bool serve(struct names *n)
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
	case CAVE_RESOLVE_ADMIT:
		answer = admit(n, &m);
		return send(n->socket, &answer, sizeof answer, MSG_NOSIGNAL) == (ssize_t)sizeof answer;
	case CAVE_RESOLVE_REFUSED:
		tell_refused(n, &m);
		return true;
	default:
		return false;
	}
}

/* --- the keeper --------------------------------------------------------------------------------------- */

/* True when the tool asks for a name; false at the run's end. */
static bool await_lookup(struct names *n)
{
	struct pollfd p[1 + NAMES_SOCKETS] = { { .fd = n->socket } };

	for (int i = 0; i < NAMES_SOCKETS; i++)
		p[1 + i] = (struct pollfd){ .fd = n->lookups[i], .events = POLLIN };
	while (poll(p, 1 + NAMES_SOCKETS, -1) < 0)
		if (errno != EINTR)
			return false;
	return !p[0].revents;
}

/* What the tool has asked waits in the sockets, which only the resolver has then: when it ends they are closed. */
static void resolve(struct names *n)
{
	struct refusal r;

	n->lost = !names_resolver_start(n->prepared, n->artefact, n->lookups, n->theirs, &n->resolver, &r);
	close_all(n->lookups, NAMES_SOCKETS);
	close_all(&n->theirs, 1);
	if (n->lost) {
		n->why = r;
		return;
	}
	while (serve(n))
		;
	n->lost = !atomic_load(&n->ending);
	if (n->lost)
		refuse(&n->why, CAVE_NETWORK_UNAVAILABLE,
		       "the resolver of host names has ended before the tool: no name was found from then on");
}

/* Without a resolver nothing is led to where it was: another program may get its port. */
static void *keep(void *of)
{
	struct names *n = of;

	if (await_lookup(n))
		resolve(n);
	map_delete(n->map_run, &n->run);
	close_all(n->lookups, NAMES_SOCKETS);
	return NULL;
}

/* The host's handlers must not run in a thread that it does not know.  An errno. */
static int start_keeper(struct names *n)
{
	int pair[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return errno;
	n->socket = pair[0];
	n->theirs = pair[1];
	error = thread_start(&n->keeper, STACK, keep, n);
	n->kept = !error;
	return error;
}

/* --- one run ------------------------------------------------------------------------------------------ */

static bool open_maps(const struct kept *kept, struct names *n, struct refusal *r)
{
	static const char *const name[] = { CAVE_NAMES_RUN_MAP, CAVE_NAMES_LIVE_MAP };
	int map[2];

	if (!maps_open(kept->record.id[CAVE_HOOK_CONNECT4], name, map, 2))
		return fails(r, errno, "the maps of the policy's programs");
	n->map_run = map[0];
	n->map_live = map[1];
	return true;
}

static bool begin(struct names *n, const struct kept *kept, bool waiting, struct refusal *r)
{
	struct cave_names_run at;
	int error;

	if (!open_maps(kept, n, r) || !open_sockets(n, &at, r))
		return false;
	sweep(n, kept);
	names_hosts("/etc/hosts", &n->judge.hosts, admit_host, n);
	n->judge.ready = true;
	error = map_set(n->map_run, &n->run, &at);
	if (error)
		return fails(r, error, "the map of runs");
	error = waiting ? 0 : start_keeper(n);
	return !error || fails(r, error, "a thread");
}

void names_init(struct names *n)
{
	n->map_run = n->map_live = n->socket = n->theirs = -1;
	for (int i = 0; i < NAMES_SOCKETS; i++)
		n->lookups[i] = -1;
}

bool names_start(struct names_prepared *p, const struct artefact *a, const struct operator_rules *rules,
		 const struct kept *kept, int group, bool waiting, struct names *n, struct refusal *r)
{
	struct stat st;

	if (fstat(group, &st))
		return fails(r, errno, "the run's control group");
	n->run = st.st_ino;
	n->prepared = p;
	n->artefact = a;
	n->judge.nat64 = rules->nat64;
	n->judge.nnat64 = rules->nnat64;
	if (!hosts_open(a->host_record, a->host_record_size, &n->judge.hosts))
		return refuse(r, CAVE_FAILED, "the policy's record of host names is damaged");
	return begin(n, kept, waiting, r);
}

void names_tell(struct names *n, names_told *told, void *of)
{
	n->told = told;
	n->told_of = of;
	for (size_t i = 0; i < n->nkeys; i++)
		tell_address(n, n->key[i].address);
}

void names_poll(const struct names *n, struct pollfd p[NAMES_SOCKETS])
{
	for (int i = 0; i < NAMES_SOCKETS; i++)
		p[i] = (struct pollfd){ .fd = n && !n->kept ? n->lookups[i] : -1, .events = POLLIN };
}

void names_heard(struct names *n, struct pollfd p[NAMES_SOCKETS])
{
	bool heard = false;
	int error;

	for (int i = 0; i < NAMES_SOCKETS; i++)
		heard |= p[i].fd >= 0 && p[i].revents;
	if (!heard)
		return;
	error = start_keeper(n);
	if (error) {
		map_delete(n->map_run, &n->run);
		close_all(n->lookups, NAMES_SOCKETS);
		n->lost = true;
		fails(&n->why, error, "a thread");
	}
	for (int i = 0; i < NAMES_SOCKETS; i++)
		p[i].fd = -1;
}

bool names_end(struct names *n, struct refusal *r)
{
	atomic_store(&n->ending, true);
	if (n->socket >= 0)
		shutdown(n->socket, SHUT_RDWR);
	if (n->kept)
		pthread_join(n->keeper, NULL);
	if (n->resolver)
		cave_tool_free(n->resolver, NULL);
	for (size_t i = 0; i < n->nkeys; i++)
		map_delete(n->map_live, &n->key[i]);
	if (n->map_run >= 0)
		map_delete(n->map_run, &n->run);
	close_all(n->lookups, NAMES_SOCKETS);
	close_all((int[]){ n->socket, n->theirs, n->map_run, n->map_live }, 4);
	names_judge_end(&n->judge);
	free(n->key);
	if (n->lost && r)
		*r = n->why;
	return !n->lost;
}
