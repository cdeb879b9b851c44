/* SPDX-License-Identifier: MIT */
/*
 * Follows an egress program for all addresses and ports at once.  The inputs are a range of addresses and one of
 * ports; where the program decides, the range is cut in two, and each part followed by itself.  So every input
 * lies in exactly one region, and in each region the program gives one answer.
 */
#ifndef CAVE_COMPILER_EGRESS_WALK_H
#define CAVE_COMPILER_EGRESS_WALK_H

#include "bpf/vm.h"

typedef unsigned __int128 walk_number;

enum walk_variable { WALK_CONSTANT, WALK_ADDRESS, WALK_PORT, WALK_VARIABLES };

/* A byte of the context or the packet: itself, or the variable shifted right by `value` bits. */
struct walk_byte {
	uint8_t variable;
	uint8_t value;
};

/* For these inputs, ends included, the answer is the same. */
struct walk_region {
	walk_number lo[WALK_VARIABLES], hi[WALK_VARIABLES];
	bool allowed;
	bool rewritten; /* the program has written to the context */
};

struct walk {
	const struct hook_program *program;
	const struct ebpf_map *map;
	size_t nmaps;
	unsigned bits[WALK_VARIABLES]; /* how long the variables are */
	const struct walk_byte *ctx, *packet;
	size_t ctx_size, packet_size;
	bool (*visit)(void *closure, const struct walk_region *r); /* false ends the walk */
	void *closure;
};

enum walk_end {
	WALK_DONE,
	WALK_STOPPED, /* by visit() */
	WALK_LOST, /* the program does what cannot be followed: nothing has been shown */
};

enum walk_end walk_program(const struct walk *w);

/* Lays a number, most significant byte first, or constants, into the bytes from `at` on. */
static inline void walk_lay(struct walk_byte *at, enum walk_variable variable, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (struct walk_byte){ (uint8_t)variable, (uint8_t)(8 * (bytes - 1 - i)) };
}

static inline void walk_lay_constant(struct walk_byte *at, const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (struct walk_byte){ WALK_CONSTANT, ((const uint8_t *)data)[i] };
}

#endif
