/* SPDX-License-Identifier: MIT */
/* The eBPF assembler. */
#include "bpf/egress_asm.h"

#include <stdint.h>

enum {
	MAX_INSNS = 1000000, /* BPF_COMPLEXITY_LIMIT_INSNS, kernel include/linux/bpf.h */
	MAX_OFFSET = INT16_MAX,
	STONE_AGE = 16384, /* a jump this old gets a stepping stone at the next place for one */
};

void asm_init(struct assembler *s, struct arena *a)
{
	*s = (struct assembler){ .arena = a };
}

asm_label asm_new_label(struct assembler *s)
{
	*ARENA_PUSH(s->arena, s->label, s->nlabels, s->labels_cap) = (struct asm_target){ 0 };
	return (asm_label)s->nlabels - 1;
}

bool asm_is_used(const struct assembler *s, asm_label label)
{
	return s->label[label].first != 0;
}

void asm_emit(struct assembler *s, struct bpf_insn insn)
{
	size_t n = s->n;

	*ARENA_PUSH(s->arena, s->line, n, s->line_cap) = s->current;
	*ARENA_PUSH(s->arena, s->insn, s->n, s->insn_cap) = insn;
}

/* Points a jump to the instruction `to`. */
static void land(struct assembler *s, struct asm_fixup *f, size_t to)
{
	size_t distance = to - f->insn - 1;

	f->landed = true;
	s->waiting--;
	if (distance <= MAX_OFFSET)
		s->insn[f->insn].off = (int16_t)distance;
	else if (distance > s->farthest)
		s->farthest = distance;
}

void asm_place(struct assembler *s, asm_label label)
{
	s->label[label].at = s->n;
	for (size_t i = s->label[label].first; i; i = s->fixup[i - 1].next)
		if (!s->fixup[i - 1].landed)
			land(s, &s->fixup[i - 1], s->n);
}

static void emit_jump(struct assembler *s, struct bpf_insn insn, asm_label label)
{
	*ARENA_PUSH(s->arena, s->fixup, s->nfixups, s->fixups_cap) =
		(struct asm_fixup){ .insn = s->n, .label = label, .next = s->label[label].first };
	s->label[label].first = s->nfixups;
	s->waiting++;
	asm_emit(s, insn);
}

void asm_jump(struct assembler *s, uint8_t code, uint8_t dst, uint32_t imm, asm_label label)
{
	emit_jump(s, (struct bpf_insn){ .code = code, .dst_reg = dst, .imm = (int32_t)imm }, label);
}

void asm_jump_reg(struct assembler *s, uint8_t code, uint8_t dst, uint8_t src, asm_label label)
{
	emit_jump(s, (struct bpf_insn){ .code = code, .dst_reg = dst, .src_reg = src }, label);
}

void asm_resolver(struct assembler *s, enum cave_hook hook, uint32_t slot, uint32_t field)
{
	*ARENA_PUSH(s->arena, s->patch, s->npatches, s->patch_cap) =
		(struct cave_resolver_patch){ hook, (uint32_t)s->n, slot, field };
}

void asm_judgement(struct assembler *s, struct judgement j, const asm_label *exit, unsigned exits)
{
	j.at = s->n;
	for (unsigned k = 0; k < JUDGED_EXITS; k++)
		if (exits >> k & 1)
			j.exit[k] = exit[k] + (size_t)1;
	*ARENA_PUSH(s->arena, s->judgement, s->njudgements, s->judgement_cap) = j;
}

static void load_pseudo(struct assembler *s, uint8_t dst, uint8_t pseudo, uint32_t first, uint32_t second)
{
	asm_emit(s, (struct bpf_insn){ .code = BPF_LD | BPF_IMM | BPF_DW,
				       .dst_reg = dst,
				       .src_reg = pseudo,
				       .imm = (int32_t)first });
	asm_emit(s, (struct bpf_insn){ .imm = (int32_t)second });
}

void asm_map(struct assembler *s, uint8_t dst, uint32_t map)
{
	load_pseudo(s, dst, BPF_PSEUDO_MAP_FD, map, 0);
}

void asm_table(struct assembler *s, uint8_t dst, uint32_t map, uint32_t offset)
{
	load_pseudo(s, dst, BPF_PSEUDO_MAP_VALUE, offset, map);
}

/* One stepping stone for every label that an old jump waits for. */
static void lay_stones(struct assembler *s)
{
	size_t begin = s->n;

	/* Too long already: stones would only multiply. */
	if (s->n > MAX_INSNS)
		return;
	for (; s->oldest < s->nfixups && begin - s->fixup[s->oldest].insn >= STONE_AGE;
	     s->oldest++) {
		asm_label label = s->fixup[s->oldest].label;

		if (s->fixup[s->oldest].landed)
			continue;
		if (s->label[label].stone <= begin) {
			s->label[label].stone = s->n + 1;
			asm_jump(s, BPF_JMP | BPF_JA, 0, 0, label);
		}
		land(s, &s->fixup[s->oldest], s->label[label].stone - 1);
	}
}

void asm_goto(struct assembler *s, asm_label label)
{
	asm_jump(s, BPF_JMP | BPF_JA, 0, 0, label);
	lay_stones(s);
}

void asm_load(struct assembler *s, uint8_t size, uint8_t dst, uint8_t src, int16_t offset)
{
	asm_emit(s, (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | size,
				       .dst_reg = dst,
				       .src_reg = src,
				       .off = offset });
}

void asm_store(struct assembler *s, uint8_t size, uint8_t dst, int16_t offset, uint8_t src)
{
	asm_emit(s, (struct bpf_insn){ .code = BPF_STX | BPF_MEM | size,
				       .dst_reg = dst,
				       .src_reg = src,
				       .off = offset });
}

void asm_move(struct assembler *s, uint8_t dst, uint8_t src)
{
	asm_emit(s, (struct bpf_insn){
			    .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = dst, .src_reg = src });
}

void asm_alu(struct assembler *s, uint8_t code, uint8_t dst, uint32_t imm)
{
	asm_emit(s, (struct bpf_insn){ .code = code, .dst_reg = dst, .imm = (int32_t)imm });
}

void asm_set(struct assembler *s, uint8_t dst, uint32_t value)
{
	asm_emit(s, (struct bpf_insn){ .code = BPF_ALU | BPF_MOV | BPF_K,
				       .dst_reg = dst,
				       .imm = (int32_t)value });
}

void asm_host_order(struct assembler *s, uint8_t reg, int bits)
{
	asm_emit(s, (struct bpf_insn){
			    .code = BPF_ALU | BPF_END | BPF_TO_BE, .dst_reg = reg, .imm = bits });
}

void asm_return(struct assembler *s, uint32_t value)
{
	asm_set(s, BPF_REG_0, value);
	asm_emit(s, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
}

bool asm_finish(struct assembler *s, enum cave_hook hook, struct hook_program *out,
		struct gen_error *error)
{
	static const char *const section[] = {
#define X(symbol, name, prog_type, attach_type) name,
		CAVE_HOOKS(X)
#undef X
	};

	bool far = s->farthest && s->n <= MAX_INSNS;

	if (far || s->waiting || s->n > MAX_INSNS) {
		*error = (struct gen_error){
			.needed = far ? s->farthest : s->n,
			.limit = far ? MAX_OFFSET : MAX_INSNS,
			.detail = arena_printf(s->arena, far ? "a jump in %s" : "%s",
					       section[hook]),
		};
		return false;
	}
	for (size_t i = 0; i < s->njudgements; i++)
		for (int k = 0; k < JUDGED_EXITS; k++)
			if (s->judgement[i].exit[k])
				s->judgement[i].exit[k] = s->label[s->judgement[i].exit[k] - 1].at;
	*out = (struct hook_program){
		.hook = hook,
		.insn = s->insn,
		.line = s->line,
		.n = s->n,
		.patch = s->patch,
		.npatches = s->npatches,
		.judgement = s->judgement,
		.njudgements = s->njudgements,
	};
	return true;
}
