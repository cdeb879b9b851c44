/* SPDX-License-Identifier: MIT */
/* The arena: what grows keeps its contents, where it is or elsewhere, and what is added is zero and nobody else's. */
#include "bpf/arena.h"

#include <string.h>

#include "tests/unit/unit.h"

static bool all(const unsigned char *p, size_t n, unsigned char value)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != value)
			return false;
	return true;
}

static void extending(void)
{
	struct arena a = { NULL };
	unsigned char *p = arena_alloc(&a, 100), *other, *moved;

	memset(p, 7, 100);
	check(arena_extend(&a, p, 100, 100, 1000) == p && all(p, 100, 7) && all(p + 100, 900, 0),
	      "what was allocated last grows where it is");
	other = arena_alloc(&a, 10);
	check(other >= p + 1000 && all(other, 10, 0), "the next one stands behind it");
	memset(other, 9, 10);
	moved = arena_extend(&a, p, 100, 1000, 2000);
	check(moved != p && all(moved, 100, 7) && all(moved + 100, 1900, 0) && all(other, 10, 9) && all(p, 100, 7),
	      "what was not is copied");
	p = arena_extend(&a, moved, 100, 2000, 4 << 20);
	check(p != moved && all(p, 100, 7) && all(p + 100, (4 << 20) - 100, 0),
	      "and so is what finds no room in its block");
	p = arena_extend(&a, NULL, 0, 0, 64);
	check(p && all(p, 64, 0), "nothing grows to something");
	arena_free(&a);
}

/* Two arrays that grow in turn. */
static void growing(void)
{
	struct arena a = { NULL };
	unsigned *x = NULL, *y = NULL;
	size_t nx = 0, ny = 0, xcap = 0, ycap = 0;
	bool right = true;

	for (unsigned i = 0; i < 100000; i++) {
		*ARENA_PUSH(&a, x, nx, xcap) = i;
		if (i % 3 == 0)
			*ARENA_PUSH(&a, y, ny, ycap) = ~i;
	}
	for (unsigned i = 0; i < 100000; i++)
		right = right && x[i] == i && (i % 3 || y[i / 3] == ~i);
	check(right && nx == 100000 && ny == 33334, "two arrays grow in turn");
	arena_free(&a);
}

int main(void)
{
	extending();
	growing();
	return unit_done();
}
