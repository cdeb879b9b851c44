/* SPDX-License-Identifier: MIT */
#include "runtime/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A mapping of its own, and as such given back whole. */
struct memory_block {
	struct memory_block *next;
	size_t size; /* of the mapping */
	max_align_t data[];
};

/*
 * More than most starts need.  Pages cost more than anything else here does, also those that are asked for beforehand:
 * what is not used has none.
 */
enum { BLOCK = 1 << 16 };

__attribute__((noreturn)) static void exhausted(struct memory *m)
{
	while (m->nheld)
		close(m->held[--m->nheld]);
	longjmp(*m->exhausted, 1);
}

void *memory_take(struct memory *m, size_t n)
{
	const size_t align = alignof(max_align_t);
	char *taken;

	if (n > SIZE_MAX / 2)
		exhausted(m);
	n = (n + align - 1) / align * align;
	if (n > (size_t)(m->end - m->next)) {
		size_t size = sizeof(struct memory_block) + n;
		struct memory_block *block;

		size = size < BLOCK ? BLOCK : size;
		block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED)
			exhausted(m);
		block->next = m->head;
		block->size = size;
		m->head = block;
		m->next = (char *)block->data;
		m->end = (char *)block + size;
	}
	taken = m->next;
	m->next += n;
	return taken;
}

void *memory_array(struct memory *m, size_t n, size_t size)
{
	size_t bytes;
	void *array;

	if (__builtin_mul_overflow(n, size, &bytes))
		exhausted(m);
	array = memory_take(m, bytes);
	memset(array, 0, bytes);
	return array;
}

char *memory_string(struct memory *m, const char *s, size_t n)
{
	char *copy = memory_take(m, n + 1);

	memcpy(copy, s, n);
	copy[n] = 0;
	return copy;
}

char *memory_printf(struct memory *m, const char *format, ...)
{
	va_list ap;
	int n;
	char *s;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	s = memory_take(m, (size_t)n + 1);
	va_start(ap, format);
	vsnprintf(s, (size_t)n + 1, format, ap);
	va_end(ap);
	return s;
}

int memory_hold(struct memory *m, int fd)
{
	if (fd < 0)
		return fd;
	if (m->nheld == MEMORY_HELD_MAX) {
		close(fd);
		exhausted(m);
	}
	m->held[m->nheld++] = fd;
	return fd;
}

int memory_let_go(struct memory *m, int fd)
{
	if (fd >= 0 && m->nheld && m->held[m->nheld - 1] == fd)
		m->nheld--;
	return fd;
}

void memory_close(struct memory *m, int fd)
{
	if (memory_let_go(m, fd) >= 0)
		close(fd);
}

static void give_back(struct memory_block *block)
{
	while (block) {
		struct memory_block *next = block->next;

		munmap(block, block->size);
		block = next;
	}
}

void memory_free(struct memory *m)
{
	give_back(m->head);
	m->head = NULL;
	m->next = m->end = NULL;
}

void memory_begin(struct memory *m, memory_idle *idle)
{
	m->head = atomic_exchange(idle, NULL);
	m->next = m->head ? (char *)m->head->data : NULL;
	m->end = m->head ? (char *)m->head + m->head->size : NULL;
}

void memory_end(struct memory *m, memory_idle *idle)
{
	struct memory_block *block = m->head, *none = NULL;

	/* The first one that it took stays. */
	while (block && block->next) {
		m->head = block->next;
		block->next = NULL;
		give_back(block);
		block = m->head;
	}
	if (block && !atomic_compare_exchange_strong(idle, &none, block))
		give_back(block);
}

void memory_idle_free(memory_idle *idle)
{
	give_back(atomic_exchange(idle, NULL));
}
