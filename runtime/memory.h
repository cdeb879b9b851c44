/* SPDX-License-Identifier: MIT */
/*
 * Memory that lives as long as one plan.  A request that cannot be met ends the process with a message and
 * STATUS_REFUSED, after undo(): nothing has been started then.
 */
#ifndef CAVE_RUNTIME_MEMORY_H
#define CAVE_RUNTIME_MEMORY_H

#include <stddef.h>

struct memory_block;

struct memory {
	struct memory_block *head;
	char *next, *end;
	void (*undo)(void *of); /* removes what would be left behind; it takes no memory; NULL if nothing would */
	void *of;
};

/* `n` bytes, aligned for any type, not cleared. */
void *memory_take(struct memory *m, size_t n);

/* An array of `n` elements, cleared; the product is checked. */
void *memory_array(struct memory *m, size_t n, size_t size);
#define MEMORY_ARRAY(m, n, type) ((type *)memory_array((m), (n), sizeof(type)))

char *memory_string(struct memory *m, const char *s, size_t n);
char *memory_printf(struct memory *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

void memory_free(struct memory *m);

#endif
