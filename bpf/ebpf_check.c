/* SPDX-License-Identifier: MIT */
/*
 * Which eBPF programs the interpreter takes: the part of the instruction set that the generator has a use
 * for.  What an instruction means is in the kernel's Documentation/bpf/standardization/instruction-set.rst.
 */
#include <stdlib.h>
#include <string.h>

#include "bpf/vm.h"

#ifndef BPF_ATOMIC
#define BPF_ATOMIC 0xc0 /* linux/bpf.h since 5.12; BPF_XADD before, which is the same with BPF_ADD */
#endif

static bool check_jump(const struct bpf_insn *insn, size_t n, size_t at)
{
	return insn->off >= 0 && (size_t)insn->off < n - at - 1;
}

static bool check_memory(const struct bpf_insn *insn)
{
	bool wide = BPF_SIZE(insn->code) == BPF_W || BPF_SIZE(insn->code) == BPF_DW;

	switch (BPF_CLASS(insn->code) | BPF_MODE(insn->code)) {
	case BPF_LDX | BPF_MEM:
		return insn->imm == 0 && insn->dst_reg < BPF_REG_10;
	case BPF_STX | BPF_MEM:
		return insn->imm == 0;
	case BPF_ST | BPF_MEM:
		return insn->src_reg == 0;
	case BPF_STX | BPF_ATOMIC:
		return wide && insn->imm == BPF_ADD;
	default:
		return false;
	}
}

static bool check_wide_load(const struct bpf_insn *insn, size_t n, size_t at)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->dst_reg < BPF_REG_10 && !insn->off &&
	       insn->src_reg <= BPF_PSEUDO_MAP_VALUE && at + 1 < n && !insn[1].code && !insn[1].dst_reg &&
	       !insn[1].src_reg && !insn[1].off;
}

static bool check_alu(const struct bpf_insn *insn)
{
	bool by_register = BPF_SRC(insn->code) == BPF_X;
	int bits = BPF_CLASS(insn->code) == BPF_ALU64 ? 64 : 32;

	if (insn->off || insn->dst_reg >= BPF_REG_10)
		return false;
	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
	case BPF_SUB:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
	case BPF_MOV:
		return by_register ? insn->imm == 0 : insn->src_reg == 0;
	case BPF_MUL:
		return !by_register && insn->src_reg == 0;
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return !by_register && insn->src_reg == 0 && insn->imm >= 0 && insn->imm < bits;
	case BPF_END:
		return insn->code == (BPF_ALU | BPF_END | BPF_TO_BE) && insn->src_reg == 0 &&
		       (insn->imm == 16 || insn->imm == 32 || insn->imm == 64);
	default:
		return false;
	}
}

static bool is_function_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

static bool check_call(const struct bpf_insn *insn, size_t n, size_t at)
{
	if (insn->dst_reg || insn->off)
		return false;
	if (is_function_call(insn))
		return insn->imm >= 0 && (size_t)insn->imm < n - at - 1;
	if (insn->src_reg)
		return false;
	switch (insn->imm) {
	case BPF_FUNC_skb_load_bytes:
	case BPF_FUNC_get_socket_cookie:
	case BPF_FUNC_map_lookup_elem:
	case BPF_FUNC_map_update_elem:
	case BPF_FUNC_map_delete_elem:
	case BPF_FUNC_get_current_cgroup_id:
	case BPF_FUNC_skb_cgroup_id:
	case BPF_FUNC_ktime_get_ns:
		return true;
	default:
		return false;
	}
}

static bool check_control(const struct bpf_insn *insn, size_t n, size_t at)
{
	bool by_register = BPF_SRC(insn->code) == BPF_X, wide = BPF_CLASS(insn->code) == BPF_JMP;

	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
	case BPF_JNE:
	case BPF_JGT:
	case BPF_JGE:
	case BPF_JLT:
	case BPF_JLE:
	case BPF_JSET:
		return (by_register ? insn->imm == 0 : insn->src_reg == 0) && check_jump(insn, n, at);
	case BPF_JA:
		return insn->code == (BPF_JMP | BPF_JA) && !insn->dst_reg && !insn->src_reg && !insn->imm &&
		       check_jump(insn, n, at);
	case BPF_CALL:
		return wide && !by_register && check_call(insn, n, at);
	case BPF_EXIT:
		return wide && !by_register && !insn->dst_reg && !insn->src_reg && !insn->off && !insn->imm;
	default:
		return false;
	}
}

static bool check_insn(const struct bpf_insn *insn, size_t n, size_t at)
{
	if (insn->dst_reg >= MAX_BPF_REG || insn->src_reg >= MAX_BPF_REG)
		return false;
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return check_wide_load(insn, n, at);
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return check_memory(insn);
	case BPF_ALU:
	case BPF_ALU64:
		return check_alu(insn);
	default:
		return check_control(insn, n, at);
	}
}

static bool is_wide_load(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_conditional(uint8_t code)
{
	unsigned op = BPF_OP(code);

	return (BPF_CLASS(code) == BPF_JMP32 || BPF_CLASS(code) == BPF_JMP) && op != BPF_JA && op != BPF_CALL &&
	       op != BPF_EXIT;
}

/* Marks what can run after instruction `at`; what lies before it has been seen. */
static void mark_next(const struct bpf_insn *insn, size_t at, bool *reached)
{
	bool jumps = is_conditional(insn[at].code) || insn[at].code == (BPF_JMP | BPF_JA);

	if (jumps)
		reached[at + 1 + (size_t)insn[at].off] = true;
	if (is_function_call(&insn[at]))
		reached[at + 1 + (size_t)insn[at].imm] = true;
	if (insn[at].code != (BPF_JMP | BPF_JA) && insn[at].code != (BPF_JMP | BPF_EXIT))
		reached[at + 1] = true;
}

/* Whether the instruction may stand in the function that ends before `end`; `main`: in the program itself. */
static bool stays_inside(const struct bpf_insn *insn, size_t at, size_t end, bool main)
{
	const bool jumps = is_conditional(insn->code) || insn->code == (BPF_JMP | BPF_JA);

	return (main || !is_function_call(insn)) && (!jumps || at + 1 + (size_t)insn->off < end);
}

/*
 * Functions stand behind the program: each begins where it is called, ends in exit, is left by nothing else, and calls
 * none itself.  Returns the first instruction that is not so, or `n`.
 */
static size_t first_astray(const struct bpf_insn *insn, size_t n)
{
	bool *begins = calloc(n + 1, sizeof *begins);
	size_t at = 0, end = 0;
	bool main = true;

	if (!begins)
		return 0;
	begins[n] = true;
	for (size_t i = 0; i < n; i += is_wide_load(&insn[i]) ? 2 : 1)
		if (is_function_call(&insn[i]))
			begins[i + 1 + (size_t)insn[i].imm] = true;
	for (; at < n; at += is_wide_load(&insn[at]) ? 2 : 1) {
		if (at == end) {
			main = !at;
			for (end = at + 1; !begins[end];)
				end++;
			if (insn[end - 1].code != (BPF_JMP | BPF_EXIT))
				break;
		}
		if (at > end || !stays_inside(&insn[at], at, end, main))
			break;
	}
	free(begins);
	return at;
}

/*
 * Instructions that cannot be reached are refused at load (check_cfg, kernel/bpf/verifier.c), and so are
 * jumps into the middle of a load of 16 bytes.
 */
static size_t first_unreachable(const struct bpf_insn *insn, size_t n)
{
	bool few[2048], *reached = n < sizeof few ? few : malloc(n + 1);
	size_t at = 0;

	if (!reached)
		return 0;
	memset(reached, 0, n + 1);
	reached[0] = true;
	while (at < n && reached[at]) {
		if (is_wide_load(&insn[at])) {
			if (reached[at + 1])
				break;
			reached[at + 2] = true;
			at += 2;
		} else {
			mark_next(insn, at++, reached);
		}
	}
	if (reached != few)
		free(reached);
	return at;
}

bool ebpf_check(const struct bpf_insn *insn, size_t n, size_t *bad)
{
	size_t at = 0;

	while (at < n && check_insn(&insn[at], n, at))
		at += is_wide_load(&insn[at]) ? 2 : 1;
	/* All jumps go forward, so a program that ends in exit ends there at the latest. */
	if (n && at == n && insn[n - 1].code == (BPF_JMP | BPF_EXIT)) {
		at = first_astray(insn, n);
		if (at == n)
			at = first_unreachable(insn, n);
		if (at == n)
			return true;
	}
	*bad = at < n ? at : n ? n - 1 : 0;
	return false;
}
