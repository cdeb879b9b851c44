/* SPDX-License-Identifier: MIT */
/* Bytes that grow, in an arena. */
#ifndef CAVE_COMPILER_BUFFER_H
#define CAVE_COMPILER_BUFFER_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bpf/arena.h"

struct buffer {
	struct arena *arena;
	char *data;
	size_t n, cap;
};

/* Makes room for `n` bytes more. */
static inline void buffer_reserve(struct buffer *b, size_t n)
{
	if (b->cap - b->n < n) {
		size_t cap = b->cap * 2 > b->n + n ? b->cap * 2 : b->n + n + 256;

		b->data = arena_extend(b->arena, b->data, b->n, b->cap, cap);
		b->cap = cap;
	}
}

static inline void buffer_add(struct buffer *b, const void *data, size_t n)
{
	buffer_reserve(b, n);
	if (n)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

/* Zero bytes up to a multiple of `alignment`, a power of two. */
static inline void buffer_align(struct buffer *b, size_t alignment)
{
	static const char zero[16];

	buffer_add(b, zero, -b->n & (alignment - 1));
}

__attribute__((format(printf, 2, 3))) static inline void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, format);
	va_copy(again, ap);
	buffer_reserve(b, 64); /* mostly enough */
	n = vsnprintf(b->data + b->n, b->cap - b->n, format, ap);
	if (n > 0 && (size_t)n >= b->cap - b->n) {
		buffer_reserve(b, (size_t)n + 1);
		n = vsnprintf(b->data + b->n, b->cap - b->n, format, again);
	}
	va_end(again);
	va_end(ap);
	b->n += n > 0 ? (size_t)n : 0;
}

static inline void buffer_text(struct buffer *b, const char *text)
{
	buffer_add(b, text, strlen(text));
}

/* What "%u" writes, of which a list of ports has thousands. */
static inline void buffer_number(struct buffer *b, unsigned n)
{
	char digits[3 * sizeof n];
	size_t at = sizeof digits;

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	buffer_add(b, digits + at, sizeof digits - at);
}

#endif
