/* SPDX-License-Identifier: MIT */
/* Merging: the front half is moved out of the way, then each place gets the lesser of two items. */
#include "bpf/sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 6 };

struct sorter {
	size_t size;
	int (*order)(const void *, const void *);
	char *room; /* for half of the items, and one more */
};

static inline void move(char *to, const char *from, size_t size)
{
	for (; size >= 8; size -= 8, to += 8, from += 8)
		memcpy(to, from, 8);
	while (size--)
		*to++ = *from++;
}

static void insert_each(const struct sorter *s, char *base, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		char *at = base + i * s->size;

		if (s->order(at - s->size, at) <= 0)
			continue;
		move(s->room, at, s->size);
		for (; at > base && s->order(at - s->size, s->room) > 0; at -= s->size)
			move(at, at - s->size, s->size);
		move(at, s->room, s->size);
	}
}

/* `half` items in order, and behind them others in order. */
static void merge(const struct sorter *s, char *base, size_t half, size_t n)
{
	char *to = base, *back = base + half * s->size;
	const char *end = base + n * s->size, *front = s->room, *front_end = s->room + half * s->size;

	memcpy(s->room, base, half * s->size);
	while (front < front_end && back < end) {
		if (s->order(front, back) <= 0) {
			move(to, front, s->size);
			front += s->size;
		} else {
			move(to, back, s->size);
			back += s->size;
		}
		to += s->size;
	}
	memcpy(to, front, (size_t)(front_end - front));
}

static void sort_part(const struct sorter *s, char *base, size_t n)
{
	const size_t half = n / 2;

	if (n <= FEW) {
		insert_each(s, base, n);
		return;
	}
	sort_part(s, base, half);
	sort_part(s, base + half * s->size, n - half);
	if (s->order(base + (half - 1) * s->size, base + half * s->size) > 0)
		merge(s, base, half, n);
}

void sort(void *base, size_t n, size_t size, int (*order)(const void *, const void *))
{
	/* Most of what is sorted fits here; the C library would ask the kernel for the rest each time. */
	_Alignas(16) uint64_t few[1024];
	const size_t needed = (n / 2 + 1) * size;
	struct sorter s = { size, order, needed <= sizeof few ? (char *)few : malloc(needed) };

	if (!s.room) {
		qsort(base, n, size, order);
		return;
	}
	if (n > 1)
		sort_part(&s, base, n);
	if (s.room != (char *)few)
		free(s.room);
}
