/* SPDX-License-Identifier: MIT */
/*
 * Memory that lives as long as what it was taken for.  A request that cannot be met does not come back: it goes to
 * where `exhausted` says, after closing the descriptors that are held.  Whoever sets that undoes the rest.
 */
#ifndef CAVE_RUNTIME_MEMORY_H
#define CAVE_RUNTIME_MEMORY_H

#include <setjmp.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

struct memory_block;

enum { MEMORY_HELD_MAX = 16 };

struct memory {
	struct memory_block *head;
	char *next, *end;
	jmp_buf *exhausted; /* never NULL while memory is taken */
	int held[MEMORY_HELD_MAX]; /* descriptors that belong to nothing else yet */
	unsigned nheld;
};

/* `n` bytes, aligned for any type, not cleared. */
void *memory_take(struct memory *m, size_t n);

/* An array of `n` elements, cleared; the product is checked. */
void *memory_array(struct memory *m, size_t n, size_t size);
#define MEMORY_ARRAY(m, n, type) ((type *)memory_array((m), (n), sizeof(type)))

char *memory_string(struct memory *m, const char *s, size_t n);
char *memory_printf(struct memory *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * An open descriptor that nothing else would close if memory ran out: hold it while memory is taken.  Returns `fd`,
 * which may be negative.  The last one held is let go first, open, or closed.
 */
int memory_hold(struct memory *m, int fd);
int memory_let_go(struct memory *m, int fd);
void memory_close(struct memory *m, int fd);

void memory_free(struct memory *m);

/*
 * A block between two uses: giving memory back to the kernel and asking for it again costs more than most of what is
 * done with it, above all where other threads run.  memory_begin() takes the one that is idle, if there is one, for a
 * memory that has nothing yet; memory_end() frees `m` but for one that becomes idle.  Any threads may do so at once.
 */
typedef _Atomic(struct memory_block *) memory_idle;

void memory_begin(struct memory *m, memory_idle *idle);
void memory_end(struct memory *m, memory_idle *idle);
void memory_idle_free(memory_idle *idle);

#endif
