/* SPDX-License-Identifier: MIT */
/*
 * cave-resolve: answers the name lookups of one run.  It forwards those of granted names to the host's name servers,
 * has their addresses admitted, and then answers; every other lookup is refused here.
 *
 *   cave-resolve RECORD SUPERVISOR UDP4 UDP6 TCP4 TCP6 SERVER…
 *
 * The first six are numbers of descriptors (-1: none): the policy's CAVE_RECORD_HOSTS, the socket of cave/resolve.h,
 * and the sockets on which the tool's questions arrive.  It has no privileges and a policy of its own, and ends when
 * the supervisor's socket does.
 */
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/resolve_forward.h"
#include "runtime/resolve_live.h"

enum { CLIENTS = 16, CLIENT_WAIT = 10000 /* milliseconds */, RECORD_MAX = 1 << 20 };
enum { UDP4, UDP6, TCP4, TCP6, SOCKETS };

/* A connection of the tool's, and the question that is read from it. */
struct client {
	int fd;	   /* -1: free */
	bool busy; /* a question of it is being answered */
	uint64_t deadline;
	size_t got;
	uint8_t message[2 + 512];
};

/* Who asked, and what. */
struct asker {
	int fd;
	struct client *client; /* NULL: a datagram, from `from` */
	struct sockaddr_storage from;
	socklen_t length;
	struct question question;
	uint8_t message[512];
	struct forward forward;
	bool used;
};

struct resolver {
	struct hosts hosts;
	int supervisor;
	struct forwarder forwarder;
	int socket[SOCKETS];
	struct client client[CLIENTS];
	struct asker asker[FORWARD_PENDING];
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- answering ------------------------------------------------------------------------------------ */

static void close_client(struct client *c)
{
	close(c->fd);
	*c = (struct client){ .fd = -1 };
}

static void answer(struct asker *a, int rcode, int ede, const struct answer *list, size_t n)
{
	uint8_t out[2 + 4096];
	size_t room = a->client ? sizeof out - 2 : a->question.room, size;

	if (room > sizeof out - 2)
		room = sizeof out - 2;
	size = reply_write(a->message, &a->question, rcode, ede, list, n, out + 2, room);
	if (!a->client) {
		sendto(a->fd, out + 2, size, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&a->from, a->length);
		return;
	}
	out[0] = (uint8_t)(size >> 8);
	out[1] = (uint8_t)size;
	a->client->busy = false;
	a->client->deadline = now_ms() + CLIENT_WAIT;
	if (send(a->client->fd, out, 2 + size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)(2 + size))
		close_client(a->client);
}

/* Not for ever without a supervisor: nothing would be admitted any more, and nobody would end us. */
static void supervisor_gone(void)
{
	_exit(1);
}

static void report_refused(struct resolver *r, const struct question *q)
{
	struct cave_resolve_message m = { .kind = CAVE_RESOLVE_REFUSED, .type = q->type };

	strncpy(m.name, q->plain ? q->name : "?", sizeof m.name - 1);
	if (send(r->supervisor, &m, cave_resolve_size(0), MSG_NOSIGNAL) < 0)
		supervisor_gone();
}

static bool is_granted(const struct resolver *r, const char *name)
{
	struct host_match match;
	size_t at = 0;

	return !hosts_denied(&r->hosts, name) && hosts_match(&r->hosts, name, &at, &match);
}

/*
 * A granted name with a search domain behind it: the C library goes on to the name itself only if this one does not
 * exist (NXDOMAIN), and gives up if it is told that it may not ask.
 */
static bool is_searched(const struct resolver *r, const char *name)
{
	char prefix[NAME_TEXT];

	strcpy(prefix, name);
	for (char *dot = strrchr(prefix, '.'); dot; dot = strrchr(prefix, '.')) {
		*dot = '\0';
		if (is_granted(r, prefix))
			return true;
	}
	return false;
}

/*
 * Who does not say that it knows EDNS cannot be told why.  It gets NXDOMAIN, which every stub resolver takes for final:
 * musl takes REFUSED for no answer, and waits for its time-out; the GNU C library asks every other server as well.
 */
static void refuse(struct resolver *r, struct asker *a)
{
	const struct question *q = &a->question;
	bool final = !q->extended || (q->plain && is_searched(r, q->name));

	report_refused(r, q);
	answer(a, final ? ns_r_nxdomain : ns_r_refused, EDE_PROHIBITED, NULL, 0);
}

/*
 * What may be told of a reply: the addresses that are reachable now.  Where none is the name is there all the same, and
 * may have addresses of the other family: so no address, and no error.
 */
static void answer_reply(struct resolver *r, struct asker *a, struct reply *reply)
{
	const char *name = a->question.name;

	switch (reply->overflow ? NO_ROOM : live_admit(r->supervisor, name, reply->answer, &reply->n)) {
	case ADMITTED:
		answer(a, reply->rcode, EDE_NONE, reply->answer, reply->n);
		return;
	case NOT_HERE:
		report_refused(r, &a->question);
		answer(a, ns_r_noerror, EDE_PROHIBITED, NULL, 0);
		return;
	case NO_ROOM:
		answer(a, ns_r_servfail, EDE_OTHER, NULL, 0);
		return;
	case SUPERVISOR_GONE:
		supervisor_gone();
	}
}

/* --- asking --------------------------------------------------------------------------------------- */

static void finish(struct asker *a)
{
	forward_end(&a->forward);
	a->used = false;
}

static void go_on(struct resolver *r, struct asker *a, enum progress p, struct reply *reply)
{
	if (p == WAITING)
		return;
	if (p == REPLIED)
		answer_reply(r, a, reply);
	else
		answer(a, ns_r_servfail, EDE_NO_REACHABLE_AUTHORITY, NULL, 0);
	finish(a);
}

static void take_question(struct resolver *r, struct asker *a)
{
	const struct question *q = &a->question;

	if (!q->plain || q->class != ns_c_in || !is_granted(r, q->name)) {
		refuse(r, a);
		finish(a);
	} else if (q->type != ns_t_a && q->type != ns_t_aaaa) {
		answer(a, ns_r_noerror, EDE_NONE, NULL, 0); /* names are granted for their addresses alone */
		finish(a);
	} else {
		go_on(r, a, forward_begin(&r->forwarder, &a->forward, q->name, q->type, now_ms()), NULL);
	}
}

/* A free place; where there is none the question is dropped, and will be asked again. */
static struct asker *new_asker(struct resolver *r)
{
	for (size_t i = 0; i < FORWARD_PENDING; i++)
		if (!r->asker[i].used) {
			r->asker[i] = (struct asker){ .used = true, .forward = { .fd = -1 } };
			return &r->asker[i];
		}
	return NULL;
}

static void read_datagram(struct resolver *r, int fd)
{
	struct asker *a = new_asker(r), drop;
	ssize_t n;

	a = a ? a : &drop;
	a->length = sizeof a->from;
	a->fd = fd;
	n = recvfrom(fd, a->message, sizeof a->message, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&a->from,
		     &a->length);
	if (a == &drop)
		return;
	if (n < 0 || (size_t)n > sizeof a->message || !question_read(a->message, (size_t)n, &a->question))
		a->used = false;
	else
		take_question(r, a);
}

static void accept_client(struct resolver *r, int fd)
{
	int new = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	for (size_t i = 0; new >= 0 && i < CLIENTS; i++)
		if (r->client[i].fd < 0) {
			r->client[i] = (struct client){ .fd = new, .deadline = now_ms() + CLIENT_WAIT };
			return;
		}
	if (new >= 0)
		close(new);
}

static void read_client(struct resolver *r, struct client *c)
{
	size_t wanted = c->got < 2 ? 2 : 2 + ((size_t)c->message[0] << 8 | c->message[1]);
	struct asker *a;
	ssize_t n;

	if (wanted > sizeof c->message) {
		close_client(c);
		return;
	}
	n = recv(c->fd, c->message + c->got, wanted - c->got, 0);
	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			close_client(c);
		return;
	}
	c->got += (size_t)n;
	if (c->got < 2 || c->got < 2 + ((size_t)c->message[0] << 8 | c->message[1]))
		return;
	a = new_asker(r);
	if (!a || !question_read(c->message + 2, c->got - 2, &a->question)) {
		if (a)
			a->used = false;
		close_client(c);
		return;
	}
	a->client = c;
	memcpy(a->message, c->message + 2, c->got - 2);
	c->got = 0;
	c->busy = true;
	take_question(r, a);
}

/* --- the loop ------------------------------------------------------------------------------------- */

/* What one entry of the poll stands for. */
struct watched {
	struct client *client;
	struct asker *asker;
};

static size_t watch(struct resolver *r, struct pollfd *p, struct watched *w, uint64_t now, int *wait)
{
	uint64_t next = UINT64_MAX;
	size_t n = 0;

	p[n++] = (struct pollfd){ r->supervisor, 0, 0 }; /* its end is reported unasked */
	for (int i = 0; i < SOCKETS; i++)
		p[n++] = (struct pollfd){ r->socket[i], POLLIN, 0 };
	for (size_t i = 0; i < CLIENTS; i++) {
		struct client *c = &r->client[i];

		if (c->fd < 0 || c->busy)
			continue;
		next = c->deadline < next ? c->deadline : next;
		w[n] = (struct watched){ c, NULL };
		p[n++] = (struct pollfd){ c->fd, POLLIN, 0 };
	}
	for (size_t i = 0; i < FORWARD_PENDING; i++) {
		struct asker *a = &r->asker[i];

		if (!a->used)
			continue;
		next = a->forward.deadline < next ? a->forward.deadline : next;
		w[n] = (struct watched){ NULL, a };
		p[n++] = (struct pollfd){ a->forward.fd, forward_events(&a->forward), 0 };
	}
	*wait = next == UINT64_MAX ? -1 : next <= now ? 0 : (int)(next - now);
	return n;
}

static void serve(struct resolver *r, const struct pollfd *p, const struct watched *w)
{
	uint64_t now = now_ms();

	if (w->client && p->revents)
		read_client(r, w->client);
	else if (w->client && now >= w->client->deadline)
		close_client(w->client);
	if (w->asker) {
		struct reply reply;
		enum progress go = forward_go(&r->forwarder, &w->asker->forward, p->revents, now, &reply);

		go_on(r, w->asker, go, &reply);
	}
}

static void loop(struct resolver *r)
{
	struct pollfd p[1 + SOCKETS + CLIENTS + FORWARD_PENDING];
	struct watched w[1 + SOCKETS + CLIENTS + FORWARD_PENDING];

	for (;;) {
		int wait;
		size_t n = watch(r, p, w, now_ms(), &wait);

		if (poll(p, n, wait) < 0 && errno != EINTR)
			return;
		if (p[0].revents)
			return;
		for (size_t i = 1 + SOCKETS; i < n; i++)
			serve(r, &p[i], &w[i]);
		for (int i = 0; i < SOCKETS; i++)
			if (p[1 + i].revents && i < TCP4)
				read_datagram(r, r->socket[i]);
			else if (p[1 + i].revents)
				accept_client(r, r->socket[i]);
	}
}

/* --- the start ------------------------------------------------------------------------------------ */

static int fault(const char *what)
{
	fprintf(stderr, "cave-resolve: %s\n", what);
	return 1;
}

/* The whole of a file, with a NUL behind it; NULL if it cannot be read or is longer than `max`. */
static char *slurp(int fd, size_t max, size_t *size)
{
	char *data = malloc(max + 2);
	size_t n = 0;
	ssize_t got = 1;

	while (data && got > 0 && n <= max) {
		got = read(fd, data + n, max + 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (!data || got < 0 || n > max) {
		free(data);
		return NULL;
	}
	data[n] = '\0';
	*size = n;
	return data;
}

static bool read_descriptors(struct resolver *r, char **argv, int *record)
{
	int fd[2 + SOCKETS];

	for (int i = 0; i < 2 + SOCKETS; i++) {
		char *end;
		long n = strtol(argv[i], &end, 10);

		if (*end || !*argv[i] || n < -1 || n > 1 << 20)
			return false;
		fd[i] = (int)n;
	}
	*record = fd[0];
	r->supervisor = fd[1];
	memcpy(r->socket, fd + 2, sizeof r->socket);
	return fd[0] >= 0 && fd[1] >= 0;
}

int main(int argc, char **argv)
{
	static struct resolver r; /* too large for a stack */
	int record;
	size_t size;
	char *data;

	if (argc < 7 || !read_descriptors(&r, argv + 1, &record))
		return fault("usage: cave-resolve RECORD SUPERVISOR UDP4 UDP6 TCP4 TCP6 SERVER…");
	for (int i = 7; i < argc; i++)
		if (!forward_server(&r.forwarder, argv[i]))
			return fault("a name server is no address, or there are more than three");
	data = slurp(record, RECORD_MAX, &size);
	if (!data || !hosts_open(data, size, &r.hosts))
		return fault("the record of host names is damaged");
	for (size_t i = 0; i < CLIENTS; i++)
		r.client[i].fd = -1;
	signal(SIGPIPE, SIG_IGN);
	loop(&r);
	return 0;
}
