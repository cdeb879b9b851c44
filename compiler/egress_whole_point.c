/* SPDX-License-Identifier: MIT */
/*
 * The proof for all inputs: the corners of its regions are run by the interpreter too, as they would be by the kernel.
 * What the walk takes an instruction for is so compared with what it does.
 */
#include <string.h>

#include "compiler/egress_whole.h"

_Static_assert((int)WIRE_MAX <= (int)WHOLE_CONTEXT, "a packet's bytes have places");

/* What the program is not to look at. */
static uint8_t filler(size_t at)
{
	return (uint8_t)(0xa5 ^ 37 * at);
}

static uint8_t byte_at(const struct walk_region *r, const struct walk_byte *b, size_t at)
{
	const walk_number n = r->lo[b->variable];

	switch (b->variable) {
	case WALK_CONSTANT:
		return b->value;
	case WALK_FLAGS:
		return (uint8_t)((filler(at) & ~WALK_FLAGS_MASK) | (n & 1) << 1 | (n >> 1 & 1) << 4);
	default:
		return (uint8_t)(n >> b->value);
	}
}

/* Of most bytes nothing is known; those that say something are few. */
static size_t find_laid(const struct walk_byte *from, size_t n, uint16_t *at)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (from[i].variable != WALK_UNKNOWN)
			at[found++] = (uint16_t)i;
	return found;
}

void whole_lay(struct whole *w, const struct walk *walk)
{
	w->walk = walk;
	w->ctx.n = find_laid(walk->ctx, walk->ctx_size, w->ctx.at);
	w->packet.n = find_laid(walk->packet, walk->packet_size, w->packet.at);
	for (size_t i = 0; i < WHOLE_CONTEXT; i++)
		w->filler[i] = filler(i);
}

static void fill(uint8_t *to, const struct whole *w, const struct walk_region *r, const struct walk_byte *from,
		 size_t n, const struct whole_laid *laid)
{
	memcpy(to, w->filler, n);
	for (size_t i = 0; i < laid->n; i++)
		to[laid->at[i]] = byte_at(r, &from[laid->at[i]], laid->at[i]);
}

/* What has become of the context, in words. */
static size_t find_writes(const uint8_t *before, const uint8_t *after, size_t n, struct walk_write *write)
{
	size_t found = 0;

	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint32_t was, word;

		memcpy(&was, before + i, 4);
		memcpy(&word, after + i, 4);
		if (was == word)
			continue;
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

	fill(before, w, at, walk->ctx, walk->ctx_size, &w->ctx);
	memcpy(after, before, walk->ctx_size);
	fill(packet, w, at, walk->packet, walk->packet_size, &w->packet);
	/* A program knows no more of the length than whether some bytes are there. */
	in.packet_size = at->lo[WALK_LENGTH] < walk->packet_size ? (size_t)at->lo[WALK_LENGTH] : walk->packet_size;
	if (!run_program(w->v, w->hook, &in, &result))
		return false;
	answer.allowed = result == 1;
	answer.nwrites = find_writes(before, after, walk->ctx_size, write);
	return whole_agrees(w, &answer);
}
