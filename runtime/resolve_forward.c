/* SPDX-License-Identifier: MIT */
#include "runtime/resolve_forward.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

bool forward_server(struct forwarder *f, const char *text)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(NS_DEFAULTPORT) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(NS_DEFAULTPORT) };

	if (f->nservers == FORWARD_SERVERS)
		return false;
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(&f->server[f->nservers++], &v4, sizeof v4);
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(&f->server[f->nservers++], &v6, sizeof v6);
	else
		return false;
	return true;
}

static const struct sockaddr_storage *server_of(const struct forwarder *f, const struct forward *q)
{
	return &f->server[q->tries % f->nservers];
}

static socklen_t length_of(const struct sockaddr_storage *s)
{
	return s->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

void forward_end(struct forward *q)
{
	if (q->fd >= 0)
		close(q->fd);
	free(q->buffer);
	q->buffer = NULL;
	q->fd = -1;
}

/* --- one try -------------------------------------------------------------------------------------- */

/* A socket of its own, with a port of the kernel's choosing, and a random id: what a forger has to guess. */
static bool try_datagram(const struct forwarder *f, struct forward *q, uint64_t now)
{
	const struct sockaddr_storage *s = server_of(f, q);
	uint16_t id;

	forward_end(q);
	q->stream = false;
	if (getrandom(&id, sizeof id, 0) != sizeof id)
		return false;
	memcpy(q->asked, &id, sizeof id);
	q->fd = socket(s->ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	q->deadline = now + FORWARD_WAIT;
	return q->fd >= 0 && connect(q->fd, (const struct sockaddr *)s, length_of(s)) == 0 &&
	       send(q->fd, q->asked, q->size, MSG_NOSIGNAL) == (ssize_t)q->size;
}

/* The reply did not fit: the same server again, over a stream. */
static bool try_stream(const struct forwarder *f, struct forward *q, uint64_t now)
{
	const struct sockaddr_storage *s = server_of(f, q);

	forward_end(q);
	q->stream = q->connecting = true;
	q->got = 0;
	q->buffer = malloc(2 + MESSAGE_MAX);
	q->fd = socket(s->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	q->deadline = now + FORWARD_WAIT;
	return q->buffer && q->fd >= 0 &&
	       (connect(q->fd, (const struct sockaddr *)s, length_of(s)) == 0 || errno == EINPROGRESS);
}

static enum progress next_try(const struct forwarder *f, struct forward *q, uint64_t now)
{
	while (++q->tries < f->nservers * FORWARD_ROUNDS)
		if (try_datagram(f, q, now))
			return WAITING;
	forward_end(q);
	return FAILED;
}

enum progress forward_begin(const struct forwarder *f, struct forward *q, const char *name, uint16_t type,
			    uint64_t now)
{
	*q = (struct forward){ .fd = -1, .type = type };
	q->size = question_write(name, type, 0, q->asked, sizeof q->asked);
	if (!f->nservers || !q->size)
		return FAILED;
	return try_datagram(f, q, now) ? WAITING : next_try(f, q, now);
}

short forward_events(const struct forward *q)
{
	return q->stream && q->connecting ? POLLOUT : POLLIN;
}

/* --- going on ------------------------------------------------------------------------------------- */

/* A server that cannot or will not answer is not the last word. */
static enum progress judge(const struct forwarder *f, struct forward *q, const struct reply *r, uint64_t now)
{
	if (r->truncated && !q->stream)
		return try_stream(f, q, now) ? WAITING : next_try(f, q, now);
	if (r->truncated || (r->rcode != ns_r_noerror && r->rcode != ns_r_nxdomain))
		return next_try(f, q, now);
	forward_end(q);
	return REPLIED;
}

static enum progress go_datagram(const struct forwarder *f, struct forward *q, uint64_t now, struct reply *out)
{
	uint8_t message[MESSAGE_UDP];
	ssize_t n = recv(q->fd, message, sizeof message, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? WAITING : next_try(f, q, now);
	/* A forged one is no reason to give up: the right one may follow. */
	if (!reply_read(message, (size_t)n, q->asked, q->size, q->type, out))
		return WAITING;
	return judge(f, q, out, now);
}

static bool send_stream(struct forward *q)
{
	uint8_t message[2 + sizeof q->asked];
	int error = 0;
	socklen_t n = sizeof error;

	if (getsockopt(q->fd, SOL_SOCKET, SO_ERROR, &error, &n) || error)
		return false;
	message[0] = (uint8_t)(q->size >> 8);
	message[1] = (uint8_t)q->size;
	memcpy(message + 2, q->asked, q->size);
	q->connecting = false;
	return send(q->fd, message, 2 + q->size, MSG_NOSIGNAL) == (ssize_t)(2 + q->size);
}

static enum progress go_stream(const struct forwarder *f, struct forward *q, uint64_t now, struct reply *out)
{
	size_t wanted = 2;
	ssize_t n;

	if (q->connecting)
		return send_stream(q) ? WAITING : next_try(f, q, now);
	if (q->got >= 2)
		wanted = 2 + ((size_t)q->buffer[0] << 8 | q->buffer[1]);
	n = recv(q->fd, q->buffer + q->got, wanted - q->got, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return WAITING;
	if (n <= 0)
		return next_try(f, q, now);
	q->got += (size_t)n;
	if (q->got < 2 || q->got < 2 + ((size_t)q->buffer[0] << 8 | q->buffer[1]))
		return WAITING;
	if (!reply_read(q->buffer + 2, q->got - 2, q->asked, q->size, q->type, out))
		return next_try(f, q, now);
	return judge(f, q, out, now);
}

enum progress forward_go(const struct forwarder *f, struct forward *q, bool ready, uint64_t now, struct reply *out)
{
	if (!ready)
		return now >= q->deadline ? next_try(f, q, now) : WAITING;
	return q->stream ? go_stream(f, q, now, out) : go_datagram(f, q, now, out);
}
