/* SPDX-License-Identifier: MIT */
/*
 * Classic BPF as the kernel runs it for seccomp.  cbpf_check() follows bpf_check_classic(),
 * check_load_and_stores() (net/core/filter.c) and seccomp_check_filter() (kernel/seccomp.c);
 * cbpf_run() follows bpf_convert_filter() and the eBPF that it makes.
 */
#include <string.h>

#include "bpf/vm.h"

/* BPF_MAXINSNS, linux/bpf_common.h: a longer program is refused at load. */
enum { MAX_INSNS = 4096 };

/* True if seccomp_check_filter() lets the opcode pass. */
static bool known_opcode(uint16_t code)
{
	switch (code) {
	case BPF_LD | BPF_W | BPF_ABS:
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LD | BPF_IMM:
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_IMM:
	case BPF_LDX | BPF_MEM:
	case BPF_ST:
	case BPF_STX:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
	case BPF_RET | BPF_K:
	case BPF_RET | BPF_A:
	case BPF_ALU | BPF_NEG:
	case BPF_JMP | BPF_JA: return true;
	}
	switch (code & ~BPF_X) {
	case BPF_ALU | BPF_ADD:
	case BPF_ALU | BPF_SUB:
	case BPF_ALU | BPF_MUL:
	case BPF_ALU | BPF_DIV:
	case BPF_ALU | BPF_AND:
	case BPF_ALU | BPF_OR:
	case BPF_ALU | BPF_XOR:
	case BPF_ALU | BPF_LSH:
	case BPF_ALU | BPF_RSH:
	case BPF_JMP | BPF_JEQ:
	case BPF_JMP | BPF_JGE:
	case BPF_JMP | BPF_JGT:
	case BPF_JMP | BPF_JSET: return true;
	}
	return false;
}

static bool is_memory(uint16_t code)
{
	return code == (BPF_LD | BPF_MEM) || code == (BPF_LDX | BPF_MEM) || code == BPF_ST ||
	       code == BPF_STX;
}

/* What depends on the operands of one instruction, `left` instructions before the end. */
static bool operands_valid(const struct sock_filter *f, size_t left)
{
	if (is_memory(f->code))
		return f->k < BPF_MEMWORDS;
	switch (f->code) {
	case BPF_LD | BPF_W | BPF_ABS: return f->k < sizeof(struct seccomp_data) && !(f->k & 3);
	case BPF_ALU | BPF_DIV | BPF_K: return f->k != 0;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K: return f->k < 32;
	case BPF_JMP | BPF_JA: return f->k < left;
	}
	if (BPF_CLASS(f->code) == BPF_JMP)
		return f->jt < left && f->jf < left;
	return true;
}

/*
 * Follows which of the 16 memory cells are written on every path; a load of another one is refused.
 */
static bool memory_valid(const struct sock_filter *insn, size_t n, size_t *bad)
{
	uint16_t masks[MAX_INSNS], valid = 0;

	memset(masks, 0xff, sizeof masks);
	for (size_t pc = 0; pc < n; pc++) {
		const struct sock_filter *f = &insn[pc];

		valid &= masks[pc];
		if (f->code == BPF_ST || f->code == BPF_STX) {
			valid |= (uint16_t)(1u << f->k);
		} else if (is_memory(f->code) && !(valid & (1u << f->k))) {
			*bad = pc;
			return false;
		} else if (f->code == (BPF_JMP | BPF_JA)) {
			masks[pc + 1 + f->k] &= valid;
			valid = UINT16_MAX;
		} else if (BPF_CLASS(f->code) == BPF_JMP) {
			masks[pc + 1 + f->jt] &= valid;
			masks[pc + 1 + f->jf] &= valid;
			valid = UINT16_MAX;
		}
	}
	return true;
}

bool cbpf_check(const struct sock_filter *insn, size_t n, size_t *bad)
{
	*bad = n ? n - 1 : 0;
	if (n == 0 || n > MAX_INSNS || BPF_CLASS(insn[n - 1].code) != BPF_RET)
		return false;
	for (size_t pc = 0; pc < n; pc++)
		if (!known_opcode(insn[pc].code) || !operands_valid(&insn[pc], n - pc - 1)) {
			*bad = pc;
			return false;
		}
	return memory_valid(insn, n, bad);
}

struct machine {
	uint32_t a, x, mem[BPF_MEMWORDS];
};

static uint32_t operand(const struct machine *m, const struct sock_filter *f)
{
	return BPF_SRC(f->code) == BPF_X ? m->x : f->k;
}

/* Returns false for a division by zero, which ends the program with 0. */
static bool run_alu(struct machine *m, const struct sock_filter *f)
{
	uint32_t v = operand(m, f);

	switch (BPF_OP(f->code)) {
	case BPF_ADD: m->a += v; break;
	case BPF_SUB: m->a -= v; break;
	case BPF_MUL: m->a *= v; break;
	case BPF_DIV:
		if (v == 0)
			return false;
		m->a /= v;
		break;
	case BPF_AND: m->a &= v; break;
	case BPF_OR: m->a |= v; break;
	case BPF_XOR: m->a ^= v; break;
	/* A shift by X looks at its five low bits, as eBPF's 32-bit shifts do. */
	case BPF_LSH: m->a <<= v & 31; break;
	case BPF_RSH: m->a >>= v & 31; break;
	case BPF_NEG: m->a = -m->a; break;
	}
	return true;
}

static size_t run_jump(const struct machine *m, const struct sock_filter *f)
{
	uint32_t v = operand(m, f);
	bool taken = false;

	switch (BPF_OP(f->code)) {
	case BPF_JA: return f->k;
	case BPF_JEQ: taken = m->a == v; break;
	case BPF_JGE: taken = m->a >= v; break;
	case BPF_JGT: taken = m->a > v; break;
	case BPF_JSET: taken = (m->a & v) != 0; break;
	}
	return taken ? f->jt : f->jf;
}

static uint32_t run_load(const struct machine *m, const struct sock_filter *f)
{
	switch (BPF_MODE(f->code)) {
	case BPF_LEN: return sizeof(struct seccomp_data);
	case BPF_MEM: return m->mem[f->k];
	default: return f->k;
	}
}

/*
 * What is not decided in run(): everything but loads of data, the usual jumps and returns.  False:
 * a division by zero.
 */
static bool run_other(struct machine *m, const struct sock_filter *f, size_t *pc)
{
	switch (BPF_CLASS(f->code)) {
	case BPF_LD: m->a = run_load(m, f); break;
	case BPF_LDX: m->x = run_load(m, f); break;
	case BPF_ST: m->mem[f->k] = m->a; break;
	case BPF_STX: m->mem[f->k] = m->x; break;
	case BPF_ALU: return run_alu(m, f);
	case BPF_JMP: *pc += run_jump(m, f); break;
	case BPF_MISC:
		if (BPF_MISCOP(f->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		break;
	}
	return true;
}

/* *by, where it is asked for, is the last instruction before the return. */
static inline __attribute__((always_inline)) uint32_t run(const struct sock_filter *insn, size_t n,
							  const struct seccomp_data *data, size_t *steps,
							  uint32_t *words, size_t *by)
{
	struct machine m = { 0 };
	size_t count = 0;

	for (size_t pc = 0; pc < n; pc++) {
		const struct sock_filter *f = &insn[pc];

		count++;
		if (by && BPF_CLASS(f->code) != BPF_RET)
			*by = pc;
		/* The proof runs little else than these. */
		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			*words |= 1u << f->k / 4;
			memcpy(&m.a, (const unsigned char *)data + f->k, sizeof m.a);
			break;
		case BPF_JMP | BPF_JEQ | BPF_K: pc += m.a == f->k ? f->jt : f->jf; break;
		case BPF_JMP | BPF_JGE | BPF_K: pc += m.a >= f->k ? f->jt : f->jf; break;
		case BPF_RET | BPF_K: *steps = count; return f->k;
		case BPF_RET | BPF_A: *steps = count; return m.a;
		default:
			if (!run_other(&m, f, &pc)) {
				*steps = count;
				return 0;
			}
		}
	}
	*steps = count;
	return 0;
}

uint32_t cbpf_run(const struct sock_filter *insn, size_t n, const struct seccomp_data *data,
		  size_t *steps)
{
	size_t count;
	uint32_t words = 0, result = run(insn, n, data, &count, &words, NULL);

	if (steps)
		*steps = count;
	return result;
}

uint32_t cbpf_run_words(const struct sock_filter *insn, size_t n, const struct seccomp_data *data,
			uint32_t *words)
{
	size_t count;

	*words = 0;
	return run(insn, n, data, &count, words, NULL);
}

uint32_t cbpf_run_by(const struct sock_filter *insn, size_t n, const struct seccomp_data *data, size_t *by)
{
	size_t count;
	uint32_t words = 0;

	*by = 0;
	return run(insn, n, data, &count, &words, by);
}
