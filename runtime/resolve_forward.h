/* SPDX-License-Identifier: MIT */
/* Questions on their way to the host's name servers. */
#ifndef CAVE_RUNTIME_RESOLVE_FORWARD_H
#define CAVE_RUNTIME_RESOLVE_FORWARD_H

#include <sys/socket.h>

#include "runtime/resolve_message.h"

enum {
	FORWARD_SERVERS = 3, /* as many as the C library asks */
	FORWARD_ROUNDS = 2, /* how often each is asked */
	FORWARD_WAIT = 1500, /* milliseconds for one try */
	FORWARD_PENDING = 128, /* questions at a time */
};

struct forwarder {
	struct sockaddr_storage server[FORWARD_SERVERS];
	size_t nservers;
};

/* One question and the try it is at.  fd is -1 while none is made. */
struct forward {
	int fd;
	bool stream, connecting;
	unsigned tries;
	uint64_t deadline; /* milliseconds of CLOCK_MONOTONIC */
	uint16_t type;
	uint8_t asked[512];
	size_t size;
	uint8_t *buffer; /* over a stream: the reply so far, with its length before it */
	size_t got;
};

enum progress { WAITING, REPLIED, FAILED };

/* Adds a server, "192.0.2.1" or "2001:db8::1", port 53.  False if the text is no address, or there are enough. */
bool forward_server(struct forwarder *f, const char *text);

/* Begins with the first server.  FAILED if no server can be asked. */
enum progress forward_begin(const struct forwarder *f, struct forward *q, const char *name, uint16_t type,
			    uint64_t now);

/* What poll() has to wait for. */
short forward_events(const struct forward *q);

/* Goes on after poll() said something, or at the deadline (`ready` is false).  REPLIED fills *out. */
enum progress forward_go(const struct forwarder *f, struct forward *q, bool ready, uint64_t now, struct reply *out);

/* Closes what is open; any number of times. */
void forward_end(struct forward *q);

#endif
