/* SPDX-License-Identifier: MIT */
/*
 * The proof for all inputs: the corners of its regions are run by the interpreter too, as they would be by the kernel.
 * What the walk takes an instruction for is so compared with what it does.
 */
#include <string.h>

#include "compiler/egress_whole.h"

/* What the program is not to look at. */
static uint8_t filler(size_t at)
{
	return (uint8_t)(0xa5 ^ 37 * at);
}

static inline uint8_t byte_at(const struct walk_region *r, const struct walk_byte *b, size_t at)
{
	walk_number n;

	if (b->variable == WALK_UNKNOWN)
		return filler(at);
	n = r->lo[b->variable];
	switch (b->variable) {
	case WALK_CONSTANT:
		return b->value;
	case WALK_FLAGS:
		return (uint8_t)((filler(at) & ~WALK_FLAGS_MASK) | (n & 1) << 1 | (n >> 1 & 1) << 4);
	default:
		return (uint8_t)(n >> b->value);
	}
}

static void fill(uint8_t *to, const struct walk_region *r, const struct walk_byte *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = byte_at(r, &from[i], i);
}

/* What has become of the context, in words. */
static size_t find_writes(const uint8_t *before, const uint8_t *after, size_t n, struct walk_write *write)
{
	size_t found = 0;

	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint32_t word;

		if (!memcmp(before + i, after + i, 4))
			continue;
		memcpy(&word, after + i, 4);
		write[found++] = (struct walk_write){ (int64_t)i, 4, word };
	}
	return found;
}

bool whole_point(struct whole *w, const struct walk_region *at)
{
	uint8_t before[WHOLE_CONTEXT], after[WHOLE_CONTEXT], packet[WIRE_MAX];
	struct walk_write write[WHOLE_CONTEXT / 4];
	const struct walk *walk = w->walk;
	struct ebpf_input in = { .ctx = after, .ctx_size = walk->ctx_size,
				 .packet = walk->packet ? packet : NULL };
	struct walk_answer answer = { .region = at, .write = write };
	uint64_t result;

	fill(before, at, walk->ctx, walk->ctx_size);
	memcpy(after, before, walk->ctx_size);
	fill(packet, at, walk->packet, walk->packet_size);
	/* A program knows no more of the length than whether some bytes are there. */
	in.packet_size = at->lo[WALK_LENGTH] < walk->packet_size ? (size_t)at->lo[WALK_LENGTH] : walk->packet_size;
	if (!run_program(w->v, w->hook, &in, &result))
		return false;
	answer.allowed = result == 1;
	answer.nwrites = find_writes(before, after, walk->ctx_size, write);
	return whole_agrees(w, &answer);
}
