/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer target for what the resolver of a run reads: questions of the tool, replies of the network, /etc/hosts.
 *
 *     make fuzz
 *     tests/fuzz/resolve.sh          a bounded run over the corpus and from it
 *     tests/fuzz/resolve.sh 600      ten minutes; what is found is added to the corpus
 *
 * The first byte of the input says what the rest is.  Of a reply the fuzzer gives what comes after the id and the
 * question, which are filled in, or all of it.
 */
#include <arpa/nameser.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/names_hosts.h"
#include "runtime/resolve_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char name[] = "api.wild.test";

/* A copy of exactly that size, so that what is read beyond it is seen. */
static uint8_t *copy_of(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	return copy;
}

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* What is read is a name as it stands in the message, and every answer to it is one that fits. */
static void fuzz_question(const uint8_t *data, size_t size)
{
	uint8_t *message = copy_of(data, size), out[512];
	struct answer list[3] = { { .ttl = 1 }, { .ttl = 2 }, { .ttl = 3 } };
	struct question q;

	if (question_read(message, size, &q)) {
		require(q.end <= size && strlen(q.name) < NAME_TEXT && q.room >= sizeof out);
		for (int i = 0; i < 4; i++) {
			size_t n = reply_write(message, &q, i, i & 1 ? EDE_PROHIBITED : EDE_NONE, list,
					       (size_t)i & 3, out, sizeof out);

			require(n >= q.end && n <= sizeof out && !memcmp(out, message, 2));
			list[0].address.six = list[1].address.six = list[2].address.six = i > 1;
		}
	}
	free(message);
}

/* Nothing comes of a reply but addresses of the type that was asked for, at most as many as fit. */
static void check_reply(const uint8_t *message, size_t size, uint16_t type)
{
	uint8_t asked[512];
	size_t n = question_write(name, type, 0x1234, asked, sizeof asked);
	struct reply r = { .rcode = -1 };

	if (reply_read(message, size, asked, n, type, &r)) {
		require(r.rcode >= 0 && r.n <= ANSWERS_MAX && size >= n - 11 && !memcmp(message, asked, 2));
		require(!(r.n && (r.rcode || r.truncated)));
		for (size_t i = 0; i < r.n; i++)
			require(r.answer[i].address.six == (type == ns_t_aaaa) && r.answer[i].ttl <= INT32_MAX);
	} else {
		require(r.rcode == -1);
	}
}

static void fuzz_reply(const uint8_t *data, size_t size, uint16_t type, bool whole)
{
	uint8_t asked[512], *message;
	size_t n = question_write(name, type, 0x1234, asked, sizeof asked) - 11;

	if (whole) {
		message = copy_of(data, size);
		check_reply(message, size, type);
	} else if (size >= 8) {
		/* The flags and the counts are the fuzzer's, the id and the question are right. */
		message = malloc(n + size - 8);
		require(message != NULL);
		memcpy(message, asked, n);
		memcpy(message + 2, data, 2);
		message[2] |= 0x80;
		memcpy(message + 6, data + 2, 6);
		memcpy(message + n, data + 8, size - 8);
		check_reply(message, n + size - 8, type);
	} else {
		return;
	}
	free(message);
}

static bool is_sound(void *of, const char *found, const struct host_address *a)
{
	(void)of;
	require(strlen(found) <= 253 && !found[strcspn(found, "ABCDEFGHIJKLMNOPQRSTUVWXYZ \t\r\n#")]);
	require(a->six || !(a->word[0] | a->word[1] | a->word[2]));
	return true;
}

/* *.test is granted. */
static void fuzz_hosts_file(const uint8_t *data, size_t size)
{
	static const uint32_t record[] = { 1, 1, 1, 0, 0, /* class */ 1, 6 | 443 << 16, 443, /* place */ 1, 0, 0,
					   /* grant */ 0, 0, 1 | 4 << 16, 0x74736574 };
	char *text = malloc(size + 1);
	struct hosts hosts;

	require(text && hosts_open(record, sizeof record, &hosts));
	memcpy(text, data, size);
	text[size] = '\0';
	names_hosts_read(text, &hosts, is_sound, NULL);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > 4096)
		return 0;
	switch (data[0] & 7) {
	case 0:
	case 1:
		fuzz_question(data + 1, size - 1);
		break;
	case 2:
		fuzz_hosts_file(data + 1, size - 1);
		break;
	case 3:
	case 4:
		fuzz_reply(data + 1, size - 1, data[0] & 1 ? ns_t_a : ns_t_aaaa, true);
		break;
	default:
		fuzz_reply(data + 1, size - 1, data[0] & 1 ? ns_t_a : ns_t_aaaa, false);
	}
	return 0;
}
