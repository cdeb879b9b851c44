/* SPDX-License-Identifier: MIT */
#include "runtime/resolve_message.h"

#include <arpa/nameser.h>
#include <ctype.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>
#include <strings.h>

#include "cave/resolve.h"

enum { HEAD = 12, FLAG_QR = 0x8000, FLAG_OPCODE = 0x7800, FLAG_TC = 0x0200, FLAG_RD = 0x0100, FLAG_RA = 0x0080 };
enum { OPTION_EDE = 15, ROOM_LEAST = 512 };

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static uint8_t *put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
	return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
	return put16(put16(p, value >> 16), value & 0xffff);
}

/* --- questions ------------------------------------------------------------------------------------ */

/*
 * The name at `at`, uncompressed, as text.  The labels are read from the wire: a dot or a NUL inside a label must not
 * become a boundary.  Returns the bytes taken, 0 if it is no name.
 */
static size_t read_name(const uint8_t *message, size_t n, size_t at, char *text, bool *plain)
{
	size_t begin = at, length = 0;

	*plain = true;
	while (at < n && message[at]) {
		size_t label = message[at++];

		if (label > 63 || label > n - at || length + label + 1 >= NAME_TEXT)
			return 0;
		if (length)
			text[length++] = '.';
		for (size_t i = 0; i < label; i++) {
			unsigned char c = message[at + i];

			*plain = *plain && (isalnum(c) || c == '-' || c == '_') && c < 0x80;
			text[length++] = (char)tolower(c);
		}
		at += label;
	}
	text[length] = '\0';
	return at < n ? at + 1 - begin : 0;
}

/* The additional section of a question holds EDNS or nothing. */
static bool read_extension(const uint8_t *message, size_t n, struct question *q)
{
	const uint8_t *p = message + q->end;

	if (!get16(message + 10))
		return true;
	if (get16(message + 10) > 1 || n - q->end < 11 || p[0] || get16(p + 1) != ns_t_opt)
		return get16(message + 10) == 1; /* a signature, or the like: not for us */
	q->extended = true;
	q->room = get16(p + 3) < ROOM_LEAST ? ROOM_LEAST : get16(p + 3);
	return true;
}

bool question_read(const uint8_t *message, size_t n, struct question *out)
{
	struct question q = { .room = ROOM_LEAST };
	size_t name;

	if (n < HEAD || n > MESSAGE_MAX || get16(message + 2) & (FLAG_QR | FLAG_OPCODE | FLAG_TC) ||
	    get16(message + 4) != 1 || get16(message + 6) || get16(message + 8))
		return false;
	name = read_name(message, n, HEAD, q.name, &q.plain);
	if (!name || n - HEAD - name < 4)
		return false;
	q.id = get16(message);
	q.recursion = get16(message + 2) & FLAG_RD;
	q.type = get16(message + HEAD + name);
	q.class = get16(message + HEAD + name + 2);
	q.end = (uint16_t)(HEAD + name + 4);
	if (!read_extension(message, n, &q))
		return false;
	*out = q;
	return true;
}

size_t question_write(const char *name, uint16_t type, uint16_t id, uint8_t *out, size_t room)
{
	uint8_t *p = out;
	int n;

	if (room < HEAD + NS_MAXCDNAME + 4 + 11)
		return 0;
	p = put16(p, id);
	p = put16(p, FLAG_RD);
	p = put16(p, 1);
	p = put16(p, 0);
	p = put16(p, 0);
	p = put16(p, 1);
	n = dn_comp(name, p, NS_MAXCDNAME, NULL, NULL);
	if (n <= 0)
		return 0;
	p += n;
	p = put16(p, type);
	p = put16(p, ns_c_in);
	*p++ = 0; /* the root, owner of EDNS */
	p = put16(p, ns_t_opt);
	p = put16(p, MESSAGE_UDP);
	p = put32(p, 0);
	p = put16(p, 0);
	return (size_t)(p - out);
}

/* --- replies -------------------------------------------------------------------------------------- */

/* The names from the asked one to where the addresses stand. */
struct chain {
	char name[NS_MAXDNAME]; /* the last of it */
	uint32_t ttl;
};

/* Takes the CNAME of the chain's last name, if the reply has one.  -1 if it is broken. */
static int follow(ns_msg *m, struct chain *c)
{
	ns_rr rr;

	for (int i = 0; i < ns_msg_count(*m, ns_s_an); i++) {
		char target[NS_MAXDNAME];

		if (ns_parserr(m, ns_s_an, i, &rr))
			return -1;
		if (ns_rr_type(rr) != ns_t_cname || ns_rr_class(rr) != ns_c_in || strcasecmp(ns_rr_name(rr), c->name))
			continue;
		if (ns_name_uncompress(ns_msg_base(*m), ns_msg_end(*m), ns_rr_rdata(rr), target, sizeof target) < 0)
			return -1;
		c->ttl = ns_rr_ttl(rr) < c->ttl ? ns_rr_ttl(rr) : c->ttl;
		memcpy(c->name, target, sizeof target);
		return 1;
	}
	return 0;
}

static bool read_address(ns_rr *rr, uint16_t type, struct host_address *out)
{
	const uint8_t *p = ns_rr_rdata(*rr);

	*out = (struct host_address){ .six = type == ns_t_aaaa };
	if (ns_rr_rdlen(*rr) != (out->six ? 16 : 4))
		return false;
	for (int i = 0; out->six && i < 4; i++)
		out->word[i] = get32(p + 4 * i);
	if (!out->six)
		out->word[3] = get32(p);
	return true;
}

static bool collect(ns_msg *m, const struct chain *c, uint16_t type, struct reply *out)
{
	ns_rr rr;

	for (int i = 0; i < ns_msg_count(*m, ns_s_an); i++) {
		struct answer a;

		if (ns_parserr(m, ns_s_an, i, &rr))
			return false;
		if (ns_rr_type(rr) != type || ns_rr_class(rr) != ns_c_in || strcasecmp(ns_rr_name(rr), c->name))
			continue;
		if (!read_address(&rr, type, &a.address))
			return false;
		a.ttl = ns_rr_ttl(rr) < c->ttl ? ns_rr_ttl(rr) : c->ttl;
		if (a.ttl > INT32_MAX)
			a.ttl = 0; /* RFC 2181, 8 */
		if (out->n < ANSWERS_MAX)
			out->answer[out->n++] = a;
		else
			out->overflow = true;
	}
	return true;
}

/* The same question, byte for byte: name, type and class. */
static bool same_question(const uint8_t *message, size_t n, const uint8_t *asked, size_t asked_size)
{
	size_t question = asked_size - HEAD - 11;

	return n >= HEAD + question && get16(message + 4) == 1 && memcmp(message + HEAD, asked + HEAD, question) == 0;
}

bool reply_read(const uint8_t *message, size_t n, const uint8_t *asked, size_t asked_size, uint16_t type,
		struct reply *out)
{
	struct reply r = { 0 };
	struct chain chain = { .ttl = UINT32_MAX };
	ns_msg m;
	int more = 1;
	bool plain;

	if (n < HEAD || get16(message) != get16(asked) || !(get16(message + 2) & FLAG_QR) ||
	    get16(message + 2) & FLAG_OPCODE || !same_question(message, n, asked, asked_size))
		return false;
	r.rcode = get16(message + 2) & 0xf;
	r.truncated = get16(message + 2) & FLAG_TC;
	if (r.rcode || r.truncated) {
		*out = r;
		return true;
	}
	if (ns_initparse(message, (int)n, &m) || !read_name(asked, asked_size, HEAD, chain.name, &plain))
		return false;
	for (int i = 0; more == 1 && i < CHAIN_MAX; i++)
		more = follow(&m, &chain);
	if (more || !collect(&m, &chain, type, &r))
		return false;
	*out = r;
	return true;
}

/* Nobody is to keep an address for longer than it can be reached. */
static uint8_t *put_answer(uint8_t *p, const struct answer *a)
{
	uint32_t ttl = a->ttl < CAVE_RESOLVE_TTL_MOST ? a->ttl : CAVE_RESOLVE_TTL_MOST;

	p = put16(p, 0xc000 | HEAD); /* the name of the question */
	p = put16(p, a->address.six ? ns_t_aaaa : ns_t_a);
	p = put16(p, ns_c_in);
	p = put32(p, ttl);
	p = put16(p, a->address.six ? 16 : 4);
	for (int i = a->address.six ? 0 : 3; i < 4; i++)
		p = put32(p, a->address.word[i]);
	return p;
}

static uint8_t *put_extension(uint8_t *p, int ede)
{
	static const char text[] = "refused by policy";
	size_t n = ede == EDE_PROHIBITED ? sizeof text - 1 : 0;

	*p++ = 0;
	p = put16(p, ns_t_opt);
	p = put16(p, MESSAGE_UDP);
	p = put32(p, 0);
	p = put16(p, ede == EDE_NONE ? 0 : (unsigned)(6 + n));
	if (ede == EDE_NONE)
		return p;
	p = put16(p, OPTION_EDE);
	p = put16(p, (unsigned)(2 + n));
	p = put16(p, (unsigned)ede);
	memcpy(p, text, n);
	return p + n;
}

size_t reply_write(const uint8_t *message, const struct question *q, int rcode, int ede, const struct answer *answer,
		   size_t n, uint8_t *out, size_t room)
{
	enum { EXTENSION = 11 + 6 + 17 };
	size_t one = n && answer[0].address.six ? 28 : 16, fits = 0;
	uint8_t *p = out + q->end;

	if (room > q->end + (size_t)EXTENSION)
		fits = (room - q->end - EXTENSION) / one;
	fits = fits < n ? fits : n;
	memcpy(out, message, q->end);
	for (size_t i = 0; i < fits; i++)
		p = put_answer(p, &answer[i]);
	if (q->extended)
		p = put_extension(p, ede);
	put16(out + 2,
	      FLAG_QR | FLAG_RA | (q->recursion ? FLAG_RD : 0u) | (fits < n ? FLAG_TC : 0u) | (unsigned)rcode);
	put16(out + 6, (unsigned)fits);
	put16(out + 8, 0);
	put16(out + 10, q->extended ? 1 : 0);
	return (size_t)(p - out);
}
