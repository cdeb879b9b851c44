/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), streaming: the artefact's digest and the policy's identity. */
#ifndef CAVE_BPF_SHA256_H
#define CAVE_BPF_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

struct sha256 {
	uint32_t h[8];
	uint64_t n; /* bytes added so far */
	uint8_t block[64]; /* the last n % 64 of them */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t n);

/* The digest of all that was added; `s` must be initialised again before its next use. */
void sha256_end(struct sha256 *s, uint8_t out[SHA256_SIZE]);

/* All three in one. */
void sha256(const void *data, size_t n, uint8_t out[SHA256_SIZE]);

#endif
