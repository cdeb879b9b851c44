/* SPDX-License-Identifier: MIT */
/*
 * Memory that lives as long as one compile.  Nothing is freed on its own; arena_free() frees all.
 * A request that cannot be met ends the process with a message and exit status 2: a compiler that is out of
 * memory has nothing better to do, and no caller has to test for it.
 */
#ifndef CAVE_BPF_ARENA_H
#define CAVE_BPF_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
};

/* `size` zeroed bytes, aligned for any type. */
void *arena_alloc(struct arena *a, size_t size);

/* An array of `n` zeroed elements; the product is checked. */
void *arena_array(struct arena *a, size_t n, size_t size);
#define ARENA_ARRAY(a, n, type) ((type *)arena_array((a), (n), sizeof(type)))

/*
 * `p` of `size` bytes, the first `used` of which matter, as `bigger` bytes: where it is if it was allocated last and
 * there is room behind it, else a copy.  What is added is zero.  `p` may be NULL, with 0 bytes.
 */
void *arena_extend(struct arena *a, void *p, size_t used, size_t size, size_t bigger);

/*
 * Makes room for one more element in an arena array that holds `n` of capacity `*cap`, moving it if need be,
 * and returns the array.  ARENA_PUSH counts the new element in and is a pointer to it.
 */
void *arena_grow(struct arena *a, void *array, size_t n, size_t *cap, size_t size);
#define ARENA_PUSH(a, array, n, cap)                                                               \
	((array) = arena_grow((a), (array), (n), &(cap), sizeof *(array)), &(array)[(n)++])

char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *format, va_list ap);

void arena_free(struct arena *a);

#endif
