/* SPDX-License-Identifier: MIT */
/*
 * Searching tables.  Each step looks at one key, or at three that lie a quarter apart, and moves on without a jump, so
 * that the verifier follows one path: with jumps it would follow one for every entry.  The sign of
 * `key - (sought + 1)`, which is that of 64 bits and cannot overflow, is multiplied by the length of the step.
 * (As a mask, by an arithmetic shift, it would cost no multiplication; but verifiers of 6.18 and later follow 0 and
 * -1 by themselves when they are masked.)  The processor waits for the keys of a step at once: three of them cost it
 * little more than one.
 *
 * Registers: R1 what comes of a step, R2 the number sought plus one, R5 the place in the table, and in one that is
 * free otherwise how far that is from where the search began.  R2 to R4 hold the digits of an IPv6 address before; R4
 * is free in other searches, and in those of one digit.
 */
#include "bpf/egress_gen.h"

enum {
	STEP = BPF_REG_1,
	SOUGHT = BPF_REG_2,
	PLACE = BPF_REG_5,
	DISTANCE = BPF_REG_3,
	DISTANCE6 = ADDR4, /* while there are digits */
	SPARE = BPF_REG_4,
};

/* Keys of one size, where the distance is, and whether a register is spare. */
struct search {
	uint8_t size, distance;
	bool spare;
};

static const struct search search4 = { BPF_W, DISTANCE, true }, search6 = { BPF_DW, DISTANCE6, false },
			   search6_alone = { BPF_DW, DISTANCE6, true };

static void alu(struct hook_gen *g, uint8_t op, uint8_t dst, uint32_t imm)
{
	asm_alu(&g->s, (uint8_t)(BPF_ALU64 | op | BPF_K), dst, imm);
}

static void alu_reg(struct hook_gen *g, uint8_t op, uint8_t dst, uint8_t src)
{
	asm_emit(&g->s, (struct bpf_insn){ .code = (uint8_t)(BPF_ALU64 | op | BPF_X), .dst_reg = dst, .src_reg = src });
}

/* dst = 1 if the key that lies `offset` bytes behind PLACE is less than SOUGHT, else 0. */
static void compare_key(struct hook_gen *g, uint8_t dst, uint32_t offset, uint8_t size)
{
	if (offset <= INT16_MAX) {
		asm_load(&g->s, size, dst, PLACE, (int16_t)offset);
	} else {
		asm_move(&g->s, dst, PLACE);
		alu(g, BPF_ADD, dst, offset);
		asm_load(&g->s, size, dst, dst, 0);
	}
	alu_reg(g, BPF_SUB, dst, SOUGHT);
	alu(g, BPF_RSH, dst, 63);
}

/* The place and the distance go to the last of `window` keys that is less than SOUGHT; the first one is. */
static void bisect(struct hook_gen *g, uint32_t window, struct search s)
{
	const uint32_t bytes = s.size == BPF_W ? 4 : 8;
	uint32_t left = window;

	while (left > 1) {
		const uint32_t parts = s.spare && left >= 4 ? 4 : 2, length = left / parts;

		compare_key(g, STEP, length * bytes, s.size);
		for (uint32_t i = 2; i < parts; i++) {
			compare_key(g, SPARE, i * length * bytes, s.size);
			alu_reg(g, BPF_ADD, STEP, SPARE);
		}
		alu(g, BPF_MUL, STEP, length * bytes);
		alu_reg(g, BPF_ADD, PLACE, STEP);
		alu_reg(g, BPF_ADD, s.distance, STEP);
		left -= (parts - 1) * length;
	}
}

/* STEP = the number that belongs to the key at that distance. */
static void load_number(struct hook_gen *g, const struct table_level *l, struct search s)
{
	if (s.size == BPF_DW)
		alu(g, BPF_RSH, s.distance, 1);
	asm_table(&g->s, STEP, l->map, l->numbers);
	alu_reg(g, BPF_ADD, STEP, s.distance);
	asm_load(&g->s, BPF_W, STEP, STEP, 0);
}

static void search_first(struct hook_gen *g, const struct table_level *l, struct search s)
{
	alu(g, BPF_ADD, SOUGHT, 1);
	asm_set(&g->s, s.distance, 0);
	asm_table(&g->s, PLACE, l->map, l->keys);
	bisect(g, l->window, s);
	load_number(g, l, s);
}

/*
 * The place and the distance at the entry whose number is in STEP, SOUGHT the number there plus `add` plus one.  That
 * the entry exists has to be shown to the verifier: to `outside` if it does not.
 */
static void enter_window(struct hook_gen *g, uint32_t map, uint32_t keys, uint32_t n, struct search s, uint8_t add,
			 asm_label outside)
{
	asm_jump(&g->s, BPF_JMP | BPF_JGE | BPF_K, STEP, n, outside);
	asm_move(&g->s, s.distance, STEP);
	alu(g, BPF_LSH, s.distance, s.size == BPF_W ? 2 : 3);
	asm_table(&g->s, PLACE, map, keys);
	alu_reg(g, BPF_ADD, PLACE, s.distance);
	asm_load(&g->s, s.size, SOUGHT, PLACE, 0);
	alu_reg(g, BPF_ADD, SOUGHT, add);
	alu(g, BPF_ADD, SOUGHT, 1);
}

/* The next digit, in the window that STEP leads to. */
static void search_window(struct hook_gen *g, const struct cell_table *t, unsigned level, uint8_t digit,
			  asm_label outside)
{
	const struct table_level *l = &t->level[level];

	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, STEP, ~TABLE_SPLIT);
	enter_window(g, l->map, l->keys, l->n, search6, digit, outside);
	bisect(g, l->window, search6);
	load_number(g, l, search6);
}

/* The four words of an IPv6 address, in R2 to R5, become three digits in R2 to R4. */
static void make_digits(struct hook_gen *g, unsigned n)
{
	alu(g, BPF_LSH, BPF_REG_2, 31);
	asm_move(&g->s, STEP, BPF_REG_3);
	alu(g, BPF_RSH, STEP, 1);
	alu_reg(g, BPF_OR, BPF_REG_2, STEP);
	if (n == 1)
		return;
	alu(g, BPF_AND, BPF_REG_3, 1);
	alu(g, BPF_LSH, BPF_REG_3, 43);
	alu(g, BPF_LSH, BPF_REG_4, 11);
	alu_reg(g, BPF_OR, BPF_REG_3, BPF_REG_4);
	asm_move(&g->s, BPF_REG_4, BPF_REG_5);
	alu(g, BPF_RSH, BPF_REG_5, 21);
	alu_reg(g, BPF_OR, BPF_REG_3, BPF_REG_5);
	if (n == 3)
		alu(g, BPF_AND, BPF_REG_4, ((uint32_t)1 << 21) - 1);
}

void search_address6(struct hook_gen *g, const struct cell_table *t, asm_label outside)
{
	static const uint8_t digit[TABLE_LEVELS] = { BPF_REG_2, BPF_REG_3, BPF_REG_4 };
	asm_label found = asm_new_label(&g->s);

	make_digits(g, t->nlevels);
	search_first(g, &t->level[0], t->nlevels == 1 ? search6_alone : search6);
	for (unsigned level = 1; level < t->nlevels; level++) {
		asm_label down = asm_new_label(&g->s);

		jump_if(g, BPF_JSET, STEP, TABLE_SPLIT, down);
		asm_goto(&g->s, found);
		asm_place(&g->s, down);
		search_window(g, t, level, digit[level], outside);
	}
	asm_place(&g->s, found);
}

void search_address4(struct hook_gen *g, const struct cell_table *t, uint8_t address)
{
	asm_move(&g->s, SOUGHT, address);
	search_first(g, &t->level[0], search4);
}

void search_ports(struct hook_gen *g, uint32_t window, asm_label inside, asm_label outside)
{
	const struct ports_table *t = g->tables->ports;

	enter_window(g, t->map, 0, t->n, search4, PORT, outside);
	asm_set(&g->s, DISTANCE, 0);
	bisect(g, window, search4);
	asm_jump(&g->s, BPF_JMP32 | BPF_JSET | BPF_K, DISTANCE, 4, inside);
}
