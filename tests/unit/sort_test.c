/* SPDX-License-Identifier: MIT */
/* Sorting: against qsort(), by items of every size, and that equal items stay in their order. */
#include "bpf/sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

enum { MOST = 700 };

static int by_byte(const void *x, const void *y)
{
	return *(const uint8_t *)x - *(const uint8_t *)y;
}

static int by_bytes(const void *x, const void *y)
{
	return memcmp(x, y, 4);
}

static void fill(uint8_t *to, size_t n, unsigned *seed, int among)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)(rand_r(seed) % among);
}

/* All four bytes decide. */
static void compare(size_t n, size_t size, int among)
{
	uint8_t *a = malloc(n * size + 1), *b = malloc(n * size + 1);
	unsigned seed = (unsigned)(n + size);
	bool same = true;

	fill(a, n * size, &seed, among);
	memcpy(b, a, n * size);
	sort(a, n, size, by_bytes);
	qsort(b, n, size, by_bytes);
	for (size_t i = 0; i < n; i++)
		same &= !memcmp(a + i * size, b + i * size, 4);
	check(same, "%zu items of %zu bytes", n, size);
	free(a);
	free(b);
}

/* The first byte decides, the others say where it stood. */
static void keep_order(size_t n)
{
	uint8_t(*item)[4] = malloc(n * sizeof *item);
	unsigned seed = 5;
	bool kept = true;

	for (size_t i = 0; i < n; i++) {
		item[i][0] = (uint8_t)(rand_r(&seed) % 7);
		item[i][1] = (uint8_t)(i >> 8);
		item[i][2] = (uint8_t)i;
		item[i][3] = 0;
	}
	sort(item, n, sizeof *item, by_byte);
	for (size_t i = 1; i < n; i++)
		kept &= memcmp(item[i - 1], item[i], 3) < 0;
	check(kept, "%zu items, of which many are equal", n);
	free(item);
}

int main(void)
{
	static const size_t size[] = { 4, 8, 12, 17, 48 };

	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		for (size_t n = 0; n <= MOST; n = n < 20 ? n + 1 : n * 3)
			compare(n, size[i], n % 2 ? 256 : 3);
	keep_order(MOST);
	return unit_done();
}
