/* SPDX-License-Identifier: MIT */
/*
 * Messages of the DNS (RFC 1035), read and written by the C library's functions for them (arpa/nameser.h).  Every
 * message is hostile: questions are the tool's, replies come from the network.
 */
#ifndef CAVE_RUNTIME_RESOLVE_MESSAGE_H
#define CAVE_RUNTIME_RESOLVE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/hosts.h"

enum {
	MESSAGE_MAX = 65535,
	MESSAGE_UDP = 1232, /* what is asked for over UDP: DNS flag day 2020 */
	NAME_TEXT = 254, /* CAVE_HOST_NAME and its NUL */
	ANSWERS_MAX = 64, /* addresses of one name */
	CHAIN_MAX = 16, /* CNAMEs that are followed */
};

/* Extended DNS errors, RFC 8914. */
enum { EDE_NONE = -1, EDE_OTHER = 0, EDE_PROHIBITED = 18, EDE_NO_REACHABLE_AUTHORITY = 22, EDE_NETWORK_ERROR = 23 };

struct question {
	uint16_t id;
	uint16_t type, class;
	bool recursion; /* desired */
	bool extended; /* the asker knows EDNS */
	uint16_t room; /* bytes that a reply over UDP may have */
	bool plain; /* the name is of letters, digits, dashes and underscores: one that a policy can grant */
	char name[NAME_TEXT]; /* in lower case; empty for the root */
	uint16_t end; /* of the question in the message */
};

/*
 * Reads a question.  Returns false, and the message deserves no answer, if it is none: too short, a reply, not one
 * question.
 */
bool question_read(const uint8_t *message, size_t n, struct question *out);

/* An address of the asked name. */
struct answer {
	struct host_address address;
	uint32_t ttl; /* seconds, the least along its chain */
};

struct reply {
	int rcode;
	bool truncated;
	struct answer answer[ANSWERS_MAX];
	size_t n;
	bool overflow; /* there were more addresses than that */
};

/*
 * Reads a reply to the question `asked` for the address type `type`: id, question and the chain of CNAMEs from the
 * name to the addresses are checked; records that do not belong to it are left out.  Returns false if it is no answer
 * to that.
 */
bool reply_read(const uint8_t *message, size_t n, const uint8_t *asked, size_t asked_size, uint16_t type,
		struct reply *out);

/* Writes the question that is forwarded, with `id`.  Returns its size, 0 if it has none. */
size_t question_write(const char *name, uint16_t type, uint16_t id, uint8_t *out, size_t room);

/*
 * Writes a reply to the question in `message`: its code, the addresses, and an extended error unless that is EDE_NONE.
 * What does not fit in `room` is left out and marked so.  Returns the size.
 */
size_t reply_write(const uint8_t *message, const struct question *q, int rcode, int ede, const struct answer *answer,
		   size_t n, uint8_t *out, size_t room);

#endif
