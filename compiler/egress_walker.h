/* SPDX-License-Identifier: MIT */
/*
 * Inside the walk: egress_walk.c goes on from instruction to instruction, egress_walk_value.c computes, and
 * egress_walk_known.c passes by what has been shown already.
 */
#ifndef CAVE_COMPILER_EGRESS_WALKER_H
#define CAVE_COMPILER_EGRESS_WALKER_H

#include "compiler/egress_walk.h"

enum { STACK_SIZE = 256, MAX_WRITES = 6, MAX_FACTS = 8 };
enum { CALL_LOSES = 0x3f }; /* registers whose meaning a call takes away */

enum kind { UNSET, NUMBER, FIELD, CONTEXT, STACK, MAP, TABLE, PACKET, PACKET_END };

/*
 * A number, a pointer, or a field of a variable: bits [shift, shift + width) of it, moved left, then added to a number
 * or taken from one; or, while it is in network order, with its bytes swapped before it is moved.  That is all that
 * programs make of what they decide by before they compare it.
 */
struct value {
	uint8_t kind;
	uint8_t variable, shift, width, left;
	bool swapped : 1, negative : 1;
	bool scattered : 1; /* WALK_FLAGS, its bits where the byte has them */
	uint16_t map;
	int64_t add; /* NUMBER: itself; pointers: the offset */
};

/* What a path has stored and found out; paths that have not parted yet share one. */
struct memory {
	struct walk_byte stack[STACK_SIZE];
	struct walk_write write[MAX_WRITES];
	struct walk_fact fact[MAX_FACTS];
	size_t nwrites, nfacts;
	struct memory *next; /* of those that nobody uses any more */
};

/* Where a call of a function goes on, and the registers that it must leave alone. */
struct frame {
	size_t back;
	struct value reg[MAX_BPF_REG];
};

struct state {
	struct value reg[MAX_BPF_REG];
	const struct frame *frame; /* NULL: no function is followed */
	struct memory *memory;
	bool shared; /* the memory is another path's too */
	uint8_t peels;
};

struct walker {
	const struct walk *w;
	struct memory *unused;
	struct walk_region now; /* of the path that is followed */
	const uint8_t *decided; /* by instruction: the answer of all that goes on from there, or UNDECIDED */
	const uint8_t *known; /* by instruction: 1 + the first of w->known that begins there; NULL: none do */
	const uint8_t *does; /* by instruction: what there is to be done (egress_walk.c) */
	const struct judgement *judgement; /* that is followed by itself; NULL: the program is */
	uint16_t written; /* registers, by a judgement */
	uint16_t stack_from, stack_to; /* and bytes of the stack */
	uint8_t exits; /* that it went to */
};

static inline struct value walk_make_number(uint64_t n)
{
	return (struct value){ .kind = NUMBER, .add = (int64_t)n };
}

/* A field of one variable, as it stands there. */
static inline bool is_plain(const struct value *v)
{
	return v->kind == FIELD && !v->swapped && !v->negative && !v->add && !v->scattered;
}

/* The memory of the path, to be written to; NULL if there is none left. */
struct memory *walk_own(struct walker *k, struct state *s);

/* A field of a variable that is down to one value is a number. */
void walk_pin(const struct walker *k, struct value *v);

uint64_t walk_swap(uint64_t n, int bits);
bool walk_is_wide(const struct bpf_insn *insn);

/* That a register is written to; of a function, what its caller loses. */
void walk_note_written(struct walker *k, const struct state *s, unsigned reg);

/* An instruction that is no jump; false if it cannot be followed. */
bool walk_step(struct walker *k, struct state *s, const struct bpf_insn *insn);

/* bpf_skb_load_bytes(), of a packet that is long enough or too short.  How much it needs; 0: it cannot be followed. */
uint64_t walk_needed(const struct walker *k, const struct state *s);
bool walk_load_packet(struct walker *k, struct state *s, bool there);

/* A value as facts name it: a number, or a part of a variable. */
struct walk_operand walk_operand_of(const struct value *v);

/* Goes on at `at` with what is found out, for which there has to be room; `by`: the judgement that says so, or NULL. */
enum walk_end walk_with_facts(struct walker *k, struct state *s, const struct walk_fact *f, unsigned n,
			      const struct walk_known *by, size_t at);

/* Goes on at `at` with each part of the value's range by itself: below the number, at it, and above. */
enum walk_end walk_split(struct walker *k, struct state *s, const struct value *v, unsigned number, size_t at);

/* True if a judgement that is known begins here, and everything was done that comes of it; *end is how it ended. */
bool walk_known_judgement(struct walker *k, struct state *s, size_t at, enum walk_end *end);

#endif
