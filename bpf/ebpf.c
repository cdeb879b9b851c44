/* SPDX-License-Identifier: MIT */
/*
 * An interpreter of the part of eBPF that the egress programs use, and its checker.
 *
 * What an instruction means is in the kernel's
 * Documentation/bpf/standardization/instruction-set.rst.  Values carry their kind, as in the
 * verifier: a number, the context, or a place in the stack.
 */
#include "bpf/vm.h"

#include <stdlib.h>
#include <string.h>

enum { STACK_SIZE = 64, MAX_HELPER_SIZE = 64 };

enum kind { UNSET, NUMBER, CONTEXT, STACK };

struct machine {
	uint64_t
		value[MAX_BPF_REG]; /* STACK: bytes below the frame pointer, as a negative number */
	uint8_t kind[MAX_BPF_REG];
	uint8_t stack[STACK_SIZE];
	uint64_t written; /* which bytes of the stack hold something */
};

/* --- checking ------------------------------------------------------------- */

static bool check_jump(const struct bpf_insn *insn, size_t n, size_t at)
{
	return insn->off >= 0 && (size_t)insn->off < n - at - 1;
}

static bool check_load_store(const struct bpf_insn *insn)
{
	switch (insn->code) {
	case BPF_LDX | BPF_MEM | BPF_B:
	case BPF_LDX | BPF_MEM | BPF_H:
	case BPF_LDX | BPF_MEM | BPF_W:
		return insn->imm == 0 && insn->dst_reg < BPF_REG_10;
	case BPF_STX | BPF_MEM | BPF_W:
		return insn->imm == 0;
	default:
		return false;
	}
}

static bool check_alu(const struct bpf_insn *insn)
{
	if (insn->off || insn->dst_reg >= BPF_REG_10)
		return false;
	switch (insn->code) {
	case BPF_ALU64 | BPF_MOV | BPF_X:
	case BPF_ALU | BPF_XOR | BPF_X:
		return insn->imm == 0;
	case BPF_ALU | BPF_MOV | BPF_K:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_ALU64 | BPF_ADD | BPF_K:
		return insn->src_reg == 0;
	case BPF_ALU | BPF_END | BPF_TO_BE:
		return insn->src_reg == 0 && (insn->imm == 16 || insn->imm == 32);
	default:
		return false;
	}
}

static bool check_control(const struct bpf_insn *insn, size_t n, size_t at)
{
	switch (insn->code) {
	case BPF_JMP | BPF_JA:
		return !insn->dst_reg && !insn->src_reg && !insn->imm && check_jump(insn, n, at);
	case BPF_JMP32 | BPF_JEQ | BPF_K:
	case BPF_JMP32 | BPF_JNE | BPF_K:
	case BPF_JMP32 | BPF_JGE | BPF_K:
	case BPF_JMP32 | BPF_JLT | BPF_K:
		return !insn->src_reg && check_jump(insn, n, at);
	case BPF_JMP | BPF_CALL:
		return !insn->dst_reg && !insn->src_reg && !insn->off &&
		       insn->imm == BPF_FUNC_skb_load_bytes;
	case BPF_JMP | BPF_EXIT:
		return !insn->dst_reg && !insn->src_reg && !insn->off && !insn->imm;
	default:
		return false;
	}
}

static bool check_insn(const struct bpf_insn *insn, size_t n, size_t at)
{
	if (insn->dst_reg >= MAX_BPF_REG || insn->src_reg >= MAX_BPF_REG)
		return false;
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
	case BPF_STX:
		return check_load_store(insn);
	case BPF_ALU:
	case BPF_ALU64:
		return check_alu(insn);
	case BPF_JMP:
	case BPF_JMP32:
		return check_control(insn, n, at);
	default:
		return false;
	}
}

/* Marks what can run after instruction `at`; what lies before it has been seen. */
static void mark_next(const struct bpf_insn *insn, size_t at, bool *reached)
{
	bool jumps = BPF_CLASS(insn[at].code) == BPF_JMP32 || insn[at].code == (BPF_JMP | BPF_JA);

	if (jumps)
		reached[at + 1 + (size_t)insn[at].off] = true;
	if (insn[at].code != (BPF_JMP | BPF_JA) && insn[at].code != (BPF_JMP | BPF_EXIT))
		reached[at + 1] = true;
}

/* Instructions that cannot be reached are refused at load (check_cfg, kernel/bpf/verifier.c). */
static size_t first_unreachable(const struct bpf_insn *insn, size_t n)
{
	bool *reached = calloc(n + 1, sizeof *reached);
	size_t at = 0;

	if (!reached)
		return 0;
	reached[0] = true;
	for (; at < n && reached[at]; at++)
		mark_next(insn, at, reached);
	free(reached);
	return at;
}

bool ebpf_check(const struct bpf_insn *insn, size_t n, size_t *bad)
{
	size_t at = 0;

	while (at < n && check_insn(&insn[at], n, at))
		at++;
	/* All jumps go forward, so a program that ends in exit ends there at the latest. */
	if (n && at == n && insn[n - 1].code == (BPF_JMP | BPF_EXIT)) {
		at = first_unreachable(insn, n);
		if (at == n)
			return true;
	}
	*bad = at < n ? at : n ? n - 1 : 0;
	return false;
}

/* --- memory --------------------------------------------------------------- */

static unsigned size_of(uint8_t code)
{
	return BPF_SIZE(code) == BPF_B ? 1 : BPF_SIZE(code) == BPF_H ? 2 : 4;
}

static uint64_t read_memory(const void *from, unsigned size)
{
	uint16_t h;
	uint32_t w;

	if (size == 1)
		return *(const uint8_t *)from;
	if (size == 2) {
		memcpy(&h, from, sizeof h);
		return h;
	}
	memcpy(&w, from, sizeof w);
	return w;
}

/*
 * The bytes [offset, offset + size) of the stack, offset negative: as bits of `written`; 0 if
 * outside.
 */
static uint64_t stack_bytes(int64_t offset, unsigned size)
{
	uint64_t bits = size >= 64 ? UINT64_MAX : ((uint64_t)1 << size) - 1;

	if (offset < -STACK_SIZE || offset + (int64_t)size > 0)
		return 0;
	return bits << (STACK_SIZE + offset);
}

static bool load(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in)
{
	unsigned size = size_of(insn->code);
	int64_t offset;
	uint64_t bytes;

	if (m->kind[insn->src_reg] != CONTEXT && m->kind[insn->src_reg] != STACK)
		return false;
	offset = (int64_t)m->value[insn->src_reg] + insn->off;
	if (offset & (size - 1))
		return false;
	if (m->kind[insn->src_reg] == CONTEXT) {
		if (offset < 0 || (size_t)offset + size > in->ctx_size)
			return false;
		m->value[insn->dst_reg] = read_memory((const char *)in->ctx + offset, size);
	} else {
		bytes = stack_bytes(offset, size);
		if (!bytes || (m->written & bytes) != bytes)
			return false;
		m->value[insn->dst_reg] = read_memory(m->stack + STACK_SIZE + offset, size);
	}
	m->kind[insn->dst_reg] = NUMBER;
	return true;
}

static bool store(struct machine *m, const struct bpf_insn *insn, struct ebpf_input *in)
{
	unsigned size = size_of(insn->code);
	int64_t offset;
	uint64_t bytes;
	uint32_t w;

	if (m->kind[insn->src_reg] != NUMBER ||
	    (m->kind[insn->dst_reg] != CONTEXT && m->kind[insn->dst_reg] != STACK))
		return false;
	w = (uint32_t)m->value[insn->src_reg];
	offset = (int64_t)m->value[insn->dst_reg] + insn->off;
	if (offset & (size - 1))
		return false;
	if (m->kind[insn->dst_reg] == CONTEXT) {
		if (offset < 0 || (size_t)offset + size > in->ctx_size)
			return false;
		memcpy((char *)in->ctx + offset, &w, sizeof w);
		return true;
	}
	bytes = stack_bytes(offset, size);
	if (!bytes)
		return false;
	memcpy(m->stack + STACK_SIZE + offset, &w, sizeof w);
	m->written |= bytes;
	return true;
}

/* bpf_skb_load_bytes: 0, or -EFAULT with the buffer cleared (net/core/filter.c). */
static bool call_load_bytes(struct machine *m, const struct ebpf_input *in)
{
	uint64_t offset, size, bytes;
	int64_t to;

	if (m->kind[BPF_REG_1] != CONTEXT || m->kind[BPF_REG_2] != NUMBER ||
	    m->kind[BPF_REG_3] != STACK || m->kind[BPF_REG_4] != NUMBER)
		return false;
	offset = m->value[BPF_REG_2];
	to = (int64_t)m->value[BPF_REG_3];
	size = m->value[BPF_REG_4];
	if (!size || size > MAX_HELPER_SIZE)
		return false;
	bytes = stack_bytes(to, (unsigned)size);
	if (!bytes || !in->packet)
		return false;
	m->written |= bytes;
	if (offset <= in->packet_size && size <= in->packet_size - offset) {
		memcpy(m->stack + STACK_SIZE + to, in->packet + offset, size);
		m->value[BPF_REG_0] = 0;
	} else {
		memset(m->stack + STACK_SIZE + to, 0, size);
		m->value[BPF_REG_0] = (uint64_t)-14;
	}
	m->kind[BPF_REG_0] = NUMBER;
	memset(&m->kind[BPF_REG_1], UNSET, BPF_REG_5 - BPF_REG_1 + 1);
	return true;
}

/* --- computing ------------------------------------------------------------ */

static uint64_t host_order(uint64_t value, int bits)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return bits == 16 ? __builtin_bswap16((uint16_t)value) : __builtin_bswap32((uint32_t)value);
#else
	return bits == 16 ? (uint16_t)value : (uint32_t)value;
#endif
}

/* Arithmetic; the checker has seen that it is one of these. */
static inline bool alu(struct machine *m, const struct bpf_insn *insn)
{
	uint64_t *dst = &m->value[insn->dst_reg];
	uint8_t *kind = &m->kind[insn->dst_reg];

	switch (insn->code) {
	case BPF_ALU | BPF_END | BPF_TO_BE:
		if (*kind != NUMBER)
			return false;
		*dst = host_order(*dst, insn->imm);
		return true;
	case BPF_ALU | BPF_MOV | BPF_K:
		*dst = (uint32_t)insn->imm;
		*kind = NUMBER;
		return true;
	case BPF_ALU64 | BPF_MOV | BPF_X:
		if (m->kind[insn->src_reg] == UNSET)
			return false;
		*dst = m->value[insn->src_reg];
		*kind = m->kind[insn->src_reg];
		return true;
	case BPF_ALU | BPF_XOR | BPF_X:
		if (*kind != NUMBER || m->kind[insn->src_reg] != NUMBER)
			return false;
		*dst = (uint32_t)*dst ^ (uint32_t)m->value[insn->src_reg];
		return true;
	case BPF_ALU | BPF_AND | BPF_K:
		if (*kind != NUMBER)
			return false;
		*dst = (uint32_t)*dst & (uint32_t)insn->imm;
		return true;
	default: /* BPF_ALU64 | BPF_ADD | BPF_K; the context moves by its fields' offsets only */
		if (*kind != NUMBER && *kind != STACK)
			return false;
		*dst += (uint64_t)(int64_t)insn->imm;
		return true;
	}
}

static inline bool holds(const struct machine *m, const struct bpf_insn *insn)
{
	uint32_t left = (uint32_t)m->value[insn->dst_reg], right = (uint32_t)insn->imm;

	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return left == right;
	case BPF_JNE:
		return left != right;
	case BPF_JGE:
		return left >= right;
	default: /* BPF_JLT */
		return left < right;
	}
}

/* An instruction that neither jumps nor ends the program. */
static inline bool step(struct machine *m, const struct bpf_insn *insn, struct ebpf_input *in)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return load(m, insn, in);
	case BPF_STX:
		return store(m, insn, in);
	case BPF_JMP:
		return call_load_bytes(m, in);
	default:
		return alu(m, insn);
	}
}

bool ebpf_run(const struct bpf_insn *insn, size_t n, struct ebpf_input *in, uint64_t *result,
	      size_t *steps)
{
	struct machine m;
	size_t count = 0;

	memset(m.kind, UNSET, sizeof m.kind);
	m.written = 0;
	m.kind[BPF_REG_1] = CONTEXT;
	m.value[BPF_REG_1] = 0;
	m.kind[BPF_REG_10] = STACK;
	m.value[BPF_REG_10] = 0;
	for (const struct bpf_insn *i = insn; i < insn + n; i++) {
		count++;
		/* Comparisons are most of what runs. */
		if (BPF_CLASS(i->code) == BPF_JMP32) {
			if (m.kind[i->dst_reg] != NUMBER)
				return false;
			if (holds(&m, i))
				i += i->off;
		} else if (i->code == (BPF_JMP | BPF_JA)) {
			i += i->off;
		} else if (i->code == (BPF_JMP | BPF_EXIT)) {
			if (m.kind[BPF_REG_0] != NUMBER)
				return false;
			*result = m.value[BPF_REG_0];
			if (steps)
				*steps = count;
			return true;
		} else if (!step(&m, i, in)) {
			return false;
		}
	}
	return false;
}
