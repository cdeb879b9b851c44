/* SPDX-License-Identifier: MIT */
/*
 * A filter before it is laid out: a graph of steps without cycles, in which equal steps are one
 * step. seccomp.c builds it from rules; layout turns it into instructions, back to front, so that
 * every jump distance is known when the jump is written.
 */
#ifndef CAVE_BPF_SECCOMP_STEPS_H
#define CAVE_BPF_SECCOMP_STEPS_H

#include "bpf/program.h"

/*
 * One instruction.  A jump goes to `then` or `otherwise`; a load or an AND is followed by `then`; a
 * return by nothing.  `patch` is 0, or 1 + enum cave_patch_kind.
 */
struct step {
	uint16_t code;
	uint8_t patch;
	uint32_t k;
	struct step *then, *otherwise;
	line_id line;  /* where the first rule that made it stands; equal steps of other rules share
			  it */
	uint32_t size; /* steps below, counted as a tree: which branch to lay out further away */
	uint32_t home, nearest; /* 1 + distance from the end: the step, and its latest copy or
				   trampoline */
	struct step *chain;	/* hash bucket */
};

enum { STEP_BUCKETS = 1024, STEP_MAX = 1 << 16 };

struct steps {
	struct arena *arena;
	struct step *bucket[STEP_BUCKETS];
	size_t n;
};

/* Values from `lo` up to the next segment's lead to `to`. */
struct segment {
	uint32_t lo;
	uint32_t weight; /* how often, roughly, it is executed */
	struct step *to;
	line_id line;
};

struct step *step_return(struct steps *s, uint32_t k, unsigned patch, line_id line);
struct step *step_jump(struct steps *s, unsigned op, uint32_t k, unsigned patch, struct step *then,
		       struct step *otherwise, line_id line);
/* Loads a word of struct seccomp_data; nothing at all if what follows does not look at it. */
struct step *step_load(struct steps *s, uint32_t offset, struct step *then, line_id line);
struct step *step_and(struct steps *s, uint32_t mask, struct step *then, line_id line);

/*
 * Decides by the value in the accumulator; segment[0].lo is 0, the segments ascend.  Neighbours
 * with the same target are merged.
 */
struct step *step_segments(struct steps *s, const struct segment *segment, size_t n);

/* Lays out the graph.  Returns false with *needed set if it is longer than `limit` instructions. */
bool steps_layout(struct steps *s, struct step *root, size_t limit, struct filter_program *out,
		  size_t *needed);

#endif
