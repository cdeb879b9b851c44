/* SPDX-License-Identifier: MIT */
/* Balanced decision trees over numbers of one to four 32-bit words. */
#ifndef CAVE_BPF_EGRESS_TREE_H
#define CAVE_BPF_EGRESS_TREE_H

#include "bpf/egress_asm.h"

enum { TREE_WORDS = 4 };

/* From `start`, most significant word first, up to the next segment's start: go to `leaf`. */
struct tree_segment {
	uint32_t start[TREE_WORDS];
	asm_label leaf;
	line_id line;
};

/*
 * Emits code that compares the `words` registers, in host order and zero-extended, most significant
 * first, and goes to the leaf of the segment that they lie in.  The segments are in ascending order
 * and the first one starts at 0, so that every value has one.
 */
void tree_emit(struct assembler *s, const uint8_t *reg, unsigned words,
	       const struct tree_segment *segment, size_t n);

#endif
