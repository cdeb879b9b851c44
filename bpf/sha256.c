/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 as FIPS 180-4 describes it; the names of the functions are those of its section 4.1.2.  Where the processor
 * has instructions for it, they take a fifth of the time.
 */
#include "bpf/sha256.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <asm/hwcap2.h>
#include <cpuid.h>
#include <immintrin.h>
#include <sys/auxv.h>
#endif

static const _Alignas(16) uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotr(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static inline uint32_t big_sigma0(uint32_t x)
{
	return rotr(x, 2) ^ rotr(x, 13) ^ rotr(x, 22);
}

static inline uint32_t big_sigma1(uint32_t x)
{
	return rotr(x, 6) ^ rotr(x, 11) ^ rotr(x, 25);
}

static inline uint32_t small_sigma0(uint32_t x)
{
	return rotr(x, 7) ^ rotr(x, 18) ^ x >> 3;
}

static inline uint32_t small_sigma1(uint32_t x)
{
	return rotr(x, 17) ^ rotr(x, 19) ^ x >> 10;
}

static inline uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The schedule is kept as a ring of 16 words: word t replaces word t - 16. */
static inline uint32_t schedule(uint32_t w[16], unsigned t)
{
	return w[t & 15] += small_sigma1(w[(t + 14) & 15]) + w[(t + 9) & 15] +
			    small_sigma0(w[(t + 1) & 15]);
}

/* One round, with the rotation of the eight working variables left to the order of the arguments. */
#define ROUND(a, b, c, d, e, f, g, h, word, constant)                                              \
	do {                                                                                       \
		uint32_t t1 = (h) + big_sigma1(e) + ((g) ^ ((e) & ((f) ^ (g)))) + (constant) + (word); \
		(d) += t1;                                                                         \
		(h) = t1 + big_sigma0(a) + (((a) & (b)) | ((c) & ((a) | (b))));                    \
	} while (0)

/* Eight rounds from t on, after which every variable is back in its place. */
#define EIGHT(WORD, t)                                                                             \
	do {                                                                                       \
		ROUND(a, b, c, d, e, f, g, h, WORD(w, (t)), k[base + (t)]);                        \
		ROUND(h, a, b, c, d, e, f, g, WORD(w, (t) + 1), k[base + (t) + 1]);                \
		ROUND(g, h, a, b, c, d, e, f, WORD(w, (t) + 2), k[base + (t) + 2]);                \
		ROUND(f, g, h, a, b, c, d, e, WORD(w, (t) + 3), k[base + (t) + 3]);                \
		ROUND(e, f, g, h, a, b, c, d, WORD(w, (t) + 4), k[base + (t) + 4]);                \
		ROUND(d, e, f, g, h, a, b, c, WORD(w, (t) + 5), k[base + (t) + 5]);                \
		ROUND(c, d, e, f, g, h, a, b, WORD(w, (t) + 6), k[base + (t) + 6]);                \
		ROUND(b, c, d, e, f, g, h, a, WORD(w, (t) + 7), k[base + (t) + 7]);                \
	} while (0)

#define FIRST(w, t) (w)[t]

static void compress(uint32_t v[8], const uint8_t *block)
{
	uint32_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
	uint32_t w[16];
	unsigned base = 0;

	for (unsigned i = 0; i < 16; i++)
		w[i] = big_endian(block + 4 * i);
	EIGHT(FIRST, 0);
	EIGHT(FIRST, 8);
	for (base = 16; base < 64; base += 16) {
		EIGHT(schedule, 0);
		EIGHT(schedule, 8);
	}
	v[0] += a;
	v[1] += b;
	v[2] += c;
	v[3] += d;
	v[4] += e;
	v[5] += f;
	v[6] += g;
	v[7] += h;
}

#ifdef __x86_64__

/*
 * The same by Intel's SHA extensions: the state is held as ABEF and CDGH, four rounds take two instructions, and
 * w[i & 3] becomes the next four words of the schedule.
 */
__attribute__((target("sha,sse4.1"))) static void compress_ni(uint32_t v[8], const uint8_t *p, size_t blocks)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i dcba = _mm_loadu_si128((const __m128i *)v), hgfe = _mm_loadu_si128((const __m128i *)(v + 4));
	__m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
	__m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
	__m128i w[4];

	for (; blocks; blocks--, p += 64) {
		__m128i abef_before = abef, cdgh_before = cdgh;

#pragma GCC unroll 16
		for (unsigned i = 0; i < 16; i++) {
			__m128i four;

			if (i < 4) {
				four = _mm_loadu_si128((const __m128i *)(p + 16 * i));
				w[i] = _mm_shuffle_epi8(four, swap);
			} else {
				four = _mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]);
				four = _mm_add_epi32(four, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
				w[i & 3] = _mm_sha256msg2_epu32(four, w[(i + 3) & 3]);
			}
			four = _mm_add_epi32(w[i & 3], _mm_load_si128((const __m128i *)&k[4 * i]));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, four);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(four, 0x0e));
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	cdab = _mm_shuffle_epi32(abef, 0x1b);
	efgh = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)v, _mm_blend_epi16(cdab, efgh, 0xf0));
	_mm_storeu_si128((__m128i *)(v + 4), _mm_alignr_epi8(efgh, cdab, 8));
}

/*
 * In a virtual machine each question to the processor is a trap, so only one is asked: whether there is a leaf 7 at all
 * the kernel has told, with a feature that is named in it (arch/x86/kernel/cpu/common.c).  No processor has the
 * extensions without SSE4.1.
 */
static bool has_instructions(void)
{
	unsigned a, b, c, d;

	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE))
		return false;
	__cpuid_count(7, 0, a, b, c, d);
	return b & bit_SHA;
}

#else

static void compress_ni(uint32_t v[8], const uint8_t *p, size_t blocks)
{
	(void)v, (void)p, (void)blocks;
}

static bool has_instructions(void)
{
	return false;
}

#endif

/* Asking, in a virtual machine, costs as much as some twenty blocks. */
enum { WORTH_ASKING = 32 };
enum way { NOT_ASKED, PLAIN, INSTRUCTIONS };

/* What the processor has answered, whoever asked it: the same for all threads, and for ever. */
static _Atomic uint8_t answered;

static uint8_t ask(size_t blocks)
{
	uint8_t way = atomic_load_explicit(&answered, memory_order_relaxed);

	if (way == NOT_ASKED && blocks >= WORTH_ASKING) {
		way = has_instructions() ? INSTRUCTIONS : PLAIN;
		atomic_store_explicit(&answered, way, memory_order_relaxed);
	}
	return way;
}

static void compress_all(struct sha256 *s, const uint8_t *p, size_t blocks)
{
	if (ask(blocks) == INSTRUCTIONS)
		compress_ni(s->h, p, blocks);
	else
		for (; blocks; blocks--, p += sizeof s->block)
			compress(s->h, p);
}

void sha256_init(struct sha256 *s)
{
	*s = (struct sha256){
		.h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
		       0x1f83d9ab, 0x5be0cd19 },
	};
}

void sha256_add(struct sha256 *s, const void *data, size_t n)
{
	const uint8_t *p = data;
	size_t held = s->n % sizeof s->block;

	s->n += n;
	if (held) {
		size_t take = sizeof s->block - held < n ? sizeof s->block - held : n;

		memcpy(s->block + held, p, take);
		p += take;
		n -= take;
		if (held + take < sizeof s->block)
			return;
		compress_all(s, s->block, 1);
	}
	compress_all(s, p, n / sizeof s->block);
	if (n % sizeof s->block)
		memcpy(s->block, p + n - n % sizeof s->block, n % sizeof s->block);
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_SIZE])
{
	static const uint8_t padding[64] = { 0x80 };
	uint64_t bits = s->n * 8;
	uint8_t length[8];

	for (unsigned i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(s, padding, 1 + (119 - s->n % 64) % 64);
	sha256_add(s, length, sizeof length);
	for (unsigned i = 0; i < SHA256_SIZE; i++)
		out[i] = (uint8_t)(s->h[i / 4] >> (24 - i % 4 * 8));
}

void sha256(const void *data, size_t n, uint8_t out[SHA256_SIZE])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, data, n);
	sha256_end(&s, out);
}
