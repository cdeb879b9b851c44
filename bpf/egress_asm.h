/* SPDX-License-Identifier: MIT */
/*
 * An assembler for eBPF with labels.  Jumps go forward.  One whose label would come to lie out of
 * reach of a 16-bit offset is led over a stepping stone: a `ja` placed where nothing falls through.
 */
#ifndef CAVE_BPF_EGRESS_ASM_H
#define CAVE_BPF_EGRESS_ASM_H

#include "bpf/program.h"

/* No label: what would be jumped to is the next instruction. */
typedef uint32_t asm_label;

struct asm_fixup {
	size_t insn;
	asm_label label;
	bool landed;
	size_t next; /* of the same label: index + 1 */
};

struct asm_target {
	size_t first; /* its jumps: index + 1 of a fixup */
	size_t stone; /* its last stepping stone: instruction + 1 */
	size_t at; /* where it has been placed; 0: nowhere */
};

struct assembler {
	struct arena *arena;
	struct bpf_insn *insn;
	line_id *line;
	size_t n, insn_cap, line_cap;
	struct asm_target *label;
	size_t nlabels, labels_cap;
	struct asm_fixup *fixup; /* every jump, in order */
	size_t nfixups, fixups_cap;
	size_t oldest, waiting; /* before `oldest` all have landed; so many have not */
	line_id current; /* the line of what is emitted next */
	struct cave_resolver_patch *patch; /* constants that the runtime sets */
	size_t npatches, patch_cap;
	struct judgement *judgement; /* exits are labels, plus 1 */
	size_t njudgements, judgement_cap;
	size_t farthest; /* the longest jump, where it is more than an offset can hold */
};

void asm_init(struct assembler *s, struct arena *a);
asm_label asm_new_label(struct assembler *s);

/* The label is here: at the next instruction. */
void asm_place(struct assembler *s, asm_label label);

/* Whether anything jumps to the label: the kernel takes no instruction that cannot be reached. */
bool asm_is_used(const struct assembler *s, asm_label label);

void asm_emit(struct assembler *s, struct bpf_insn insn);

/* A jump to `label`: `code` is the whole opcode; `dst` and `imm` are compared. */
void asm_jump(struct assembler *s, uint8_t code, uint8_t dst, uint32_t imm, asm_label label);

/* The same, with a register in place of `imm`. */
void asm_jump_reg(struct assembler *s, uint8_t code, uint8_t dst, uint8_t src, asm_label label);

/* The next instruction, a jump, compares with a field of a resolver's slot (cave/artefact.h). */
void asm_resolver(struct assembler *s, enum cave_hook hook, uint32_t slot, uint32_t field);

/* A judgement begins at the next instruction; its `at` and its exits are set here: those of a mask, by number. */
void asm_judgement(struct assembler *s, struct judgement j, const asm_label *exit, unsigned exits);

/*
 * dst = the map of that number, for a helper; dst = the address of a byte of the one value that a table has.
 * Two instructions.
 */
void asm_map(struct assembler *s, uint8_t dst, uint32_t map);
void asm_table(struct assembler *s, uint8_t dst, uint32_t map, uint32_t offset);

/* An unconditional jump.  Stepping stones may follow it. */
void asm_goto(struct assembler *s, asm_label label);

/* Short forms of what the hooks consist of. */
void asm_load(struct assembler *s, uint8_t size, uint8_t dst, uint8_t src, int16_t offset);
void asm_store(struct assembler *s, uint8_t size, uint8_t dst, int16_t offset, uint8_t src);
void asm_move(struct assembler *s, uint8_t dst, uint8_t src); /* 64 bits */
void asm_alu(struct assembler *s, uint8_t code, uint8_t dst, uint32_t imm);
void asm_set(struct assembler *s, uint8_t dst, uint32_t value); /* 32 bits, zero-extended */
void asm_host_order(struct assembler *s, uint8_t reg, int bits); /* from network order */
void asm_return(struct assembler *s, uint32_t value);

/*
 * Hands over the program.  Returns false with *error set, and *out untouched, if it is longer than
 * the kernel takes.  Every label must have been placed.
 */
bool asm_finish(struct assembler *s, enum cave_hook hook, struct hook_program *out,
		struct gen_error *error);

#endif
