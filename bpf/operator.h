/* SPDX-License-Identifier: MIT */
/*
 * The operator's rules: one file that the compiler and the runtime read with this reader.  docs/operator.md has the
 * format.
 *
 * The text is the caller's and stays as it is; nothing is allocated, and no part of it is ever ignored.
 */
#ifndef CAVE_BPF_OPERATOR_H
#define CAVE_BPF_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/nat64.h"

#define OPERATOR_FILE "operator.conf" /* its name in a folder, as in /etc/cave */

enum {
	OPERATOR_SIZE_MAX = 1 << 18, /* bytes of the file */
	OPERATOR_WORD_MAX = 255, /* bytes of a name */
	OPERATOR_NAT64_MAX = 8, /* prefixes */
	/* What a policy may reach where the operator says nothing else: globally reachable addresses, and /48s. */
	OPERATOR_REACH_IPV4 = 1 << 20,
	OPERATOR_REACH_IPV6 = 1 << 18,
};

/* A part of the text. */
struct operator_word {
	const char *at;
	size_t n;
};

struct operator_rules {
	const char *text;
	size_t size;
	uint64_t reach_ipv4, reach_ipv6;
	bool listed; /* only policies whose identity is in the text are trusted */
	struct nat64 nat64[OPERATOR_NAT64_MAX]; /* of the host's network, beside the well-known one */
	size_t nnat64;
	struct operator_word record; /* an absolute path; n is 0 where none is asked for */
};

/* What is wrong, as a sentence without a full stop; no name of a variable is ever in it. */
struct operator_error {
	unsigned line;
	const char *text;
};

/* The rules where there is no file. */
void operator_defaults(struct operator_rules *out);

/*
 * Reads all of the text, which must outlive *out.  False, with *error set and *out untouched, if any of it is not as
 * the format says.
 */
bool operator_read(const char *text, size_t size, struct operator_rules *out, struct operator_error *error);

/* The capability of a variable by the built-in table and the text; false if it is no credential. */
bool operator_capability(const struct operator_rules *o, const char *name, struct operator_word *out);

bool operator_word_same(const struct operator_word *a, const struct operator_word *b);

/* Whether the policy of this identity, of CAVE_DIGEST_SIZE bytes, may be started. */
bool operator_trusts(const struct operator_rules *o, const uint8_t *identity);

#endif
