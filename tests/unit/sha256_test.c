/* SPDX-License-Identifier: MIT */
/* SHA-256 against the vectors of FIPS 180-4's examples and NIST's long message, in one piece and in many. */
#include "bpf/sha256.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

static void hex(const uint8_t digest[SHA256_SIZE], char out[65])
{
	for (unsigned i = 0; i < SHA256_SIZE; i++)
		sprintf(out + 2 * i, "%02x", digest[i]);
}

static void whole(const char *name, const char *message, size_t n, const char *want)
{
	uint8_t digest[SHA256_SIZE];
	char got[65];

	sha256(message, n, digest);
	hex(digest, got);
	check(!strcmp(got, want), "sha256 %s", name);
}

/* Whatever the pieces, the digest is that of the whole. */
static void pieces(void)
{
	uint8_t message[300], want[SHA256_SIZE], got[SHA256_SIZE];
	bool same = true;

	for (size_t i = 0; i < sizeof message; i++)
		message[i] = (uint8_t)(i * 7);
	for (size_t n = 0; n <= sizeof message; n++) {
		sha256(message, n, want);
		for (size_t step = 1; step <= 129; step += 16) {
			struct sha256 s;

			sha256_init(&s);
			for (size_t at = 0; at < n; at += step)
				sha256_add(&s, message + at, n - at < step ? n - at : step);
			sha256_end(&s, got);
			same = same && !memcmp(want, got, sizeof got);
		}
	}
	check(same, "sha256 in pieces");
}

/*
 * The first time that many blocks come at once the processor is asked whether it has instructions for it, and all goes
 * that way from then on: called before that, so that a few at a time have gone the other one.
 */
static void many_blocks(void)
{
	enum { LENGTHS = 201 };
	static uint8_t message[40000], few[LENGTHS][SHA256_SIZE];
	uint8_t got[SHA256_SIZE];
	bool same = true;

	for (size_t i = 0; i < sizeof message; i++)
		message[i] = (uint8_t)(i * i >> 3 ^ i);
	for (size_t i = 0, n = sizeof message; i < LENGTHS; i++, n--) {
		struct sha256 s;

		sha256_init(&s);
		for (size_t at = 0; at < n; at += 1000)
			sha256_add(&s, message + at, n - at < 1000 ? n - at : 1000);
		sha256_end(&s, few[i]);
	}
	for (size_t i = 0, n = sizeof message; i < LENGTHS; i++, n--) {
		const uint8_t *want = few[i];
		struct sha256 s;

		sha256(message, n, got);
		same = same && !memcmp(want, got, sizeof got);
		/* An odd beginning first, so that the blocks are not those of the message. */
		sha256_init(&s);
		sha256_add(&s, message, 1 + n % 200);
		sha256_add(&s, message + 1 + n % 200, n - 1 - n % 200);
		sha256_end(&s, got);
		same = same && !memcmp(want, got, sizeof got);
	}
	check(same, "sha256 of many blocks at once");
}

int main(void)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char *million = malloc(1000000);

	if (!million)
		return 1;
	memset(million, 'a', 1000000);
	pieces();
	many_blocks();
	whole("empty", "", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	whole("abc", "abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	whole("two blocks", two, strlen(two),
	      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	whole("a million", million, 1000000,
	      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
	return unit_done();
}
