/* SPDX-License-Identifier: MIT */
#include "bpf/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 256 * 1024, ALIGNMENT = 16 };

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(ALIGNMENT) unsigned char bytes[];
};

static void out_of_memory(void)
{
	fputs("cavec: out of memory\n", stderr);
	exit(2);
}

static struct arena_block *new_block(size_t size)
{
	struct arena_block *b;

	if (size > SIZE_MAX - sizeof *b)
		out_of_memory();
	b = calloc(1, sizeof *b + size);
	if (!b)
		out_of_memory();
	b->size = size;
	return b;
}

static size_t rounded(size_t size)
{
	return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->head;
	void *p;

	if (size > SIZE_MAX / 2)
		out_of_memory();
	size = rounded(size);
	if (!b || b->size - b->used < size) {
		b = new_block(size > BLOCK_SIZE ? size : BLOCK_SIZE);
		b->next = a->head;
		a->head = b;
	}
	p = b->bytes + b->used;
	b->used += size;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / 2 / size)
		out_of_memory();
	return arena_alloc(a, n * size);
}

void *arena_extend(struct arena *a, void *p, size_t used, size_t size, size_t bigger)
{
	struct arena_block *b = a->head;
	void *copy;

	/* The last thing in its block grows where it is. */
	if (p && size <= bigger && bigger <= SIZE_MAX / 2 &&
	    (unsigned char *)p + rounded(size) == b->bytes + b->used &&
	    rounded(bigger) - rounded(size) <= b->size - b->used) {
		b->used += rounded(bigger) - rounded(size);
		return p;
	}
	copy = arena_alloc(a, bigger);
	if (used)
		memcpy(copy, p, used);
	return copy;
}

void *arena_grow(struct arena *a, void *array, size_t n, size_t *cap, size_t size)
{
	size_t before = *cap;

	if (n < before)
		return array;
	*cap = before ? before * 2 : 8;
	if (size && *cap > SIZE_MAX / 2 / size)
		out_of_memory();
	return arena_extend(a, array, n * size, before * size, *cap * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	memcpy(copy, s, n);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *format, va_list ap)
{
	char few[256]; /* mostly enough */
	va_list again;
	char *s;
	int n;

	va_copy(again, ap);
	n = vsnprintf(few, sizeof few, format, again);
	va_end(again);
	if (n < 0)
		out_of_memory();
	if ((size_t)n < sizeof few)
		return arena_strndup(a, few, (size_t)n);
	s = arena_alloc(a, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, format, ap);
	return s;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list ap;
	char *s;

	va_start(ap, format);
	s = arena_vprintf(a, format, ap);
	va_end(ap);
	return s;
}

void arena_free(struct arena *a)
{
	while (a->head) {
		struct arena_block *next = a->head->next;

		free(a->head);
		a->head = next;
	}
}
