/* SPDX-License-Identifier: MIT */
#include "compiler/disasm.h"

#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cave/artefact.h"

/* --- classic BPF --- */

static const char *data_field(uint32_t offset, char text[32])
{
	if (offset == 0)
		return "nr";
	if (offset == 4)
		return "arch";
	if (offset < 16)
		return offset == 8 ? "ip.low" : "ip.high";
	snprintf(text, 32, "args[%u].%s", (offset - 16) / 8, offset % 8 ? "high" : "low");
	return text;
}

static void disasm_return(uint32_t k, char out[DISASM_SIZE])
{
	switch (k & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		snprintf(out, DISASM_SIZE, "ret ALLOW");
		break;
	case SECCOMP_RET_USER_NOTIF:
		snprintf(out, DISASM_SIZE, "ret USER_NOTIF");
		break;
	case SECCOMP_RET_LOG:
		snprintf(out, DISASM_SIZE, "ret LOG");
		break;
	case SECCOMP_RET_ERRNO:
		snprintf(out, DISASM_SIZE, "ret ERRNO(%u)", k & SECCOMP_RET_DATA);
		break;
	case SECCOMP_RET_KILL_PROCESS:
		snprintf(out, DISASM_SIZE, "ret KILL_PROCESS");
		break;
	default:
		snprintf(out, DISASM_SIZE, "ret #0x%x", k);
	}
}

static const char *filter_alu(uint16_t code)
{
	static const char *const names[] = { "add", "sub", "mul", "div", "or", "and", "lsh", "rsh", "neg", "mod", "xor" };
	unsigned op = BPF_OP(code) >> 4;

	return op < sizeof names / sizeof *names ? names[op] : "?";
}

static void disasm_filter_jump(const struct sock_filter *i, size_t at, char out[DISASM_SIZE])
{
	static const char *const names[] = { "ja", "jeq", "jgt", "jge", "jset" };
	unsigned op = BPF_OP(i->code) >> 4;
	size_t next = at + 1;

	if (op == 0)
		snprintf(out, DISASM_SIZE, "ja %zu", next + i->k);
	else if (op >= sizeof names / sizeof *names)
		snprintf(out, DISASM_SIZE, "? code 0x%02x", i->code);
	else if (BPF_SRC(i->code) == BPF_X)
		snprintf(out, DISASM_SIZE, "%s x, %zu, %zu", names[op], next + i->jt, next + i->jf);
	else
		snprintf(out, DISASM_SIZE, "%s #0x%x, %zu, %zu", names[op], i->k, next + i->jt, next + i->jf);
}

void disasm_filter(const struct sock_filter *insn, size_t at, char out[DISASM_SIZE])
{
	const struct sock_filter *i = &insn[at];
	char field[32];

	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		if (BPF_MODE(i->code) == BPF_ABS)
			snprintf(out, DISASM_SIZE, "ld %s", data_field(i->k, field));
		else
			snprintf(out, DISASM_SIZE, "ld #0x%x", i->k);
		break;
	case BPF_LDX:
		snprintf(out, DISASM_SIZE, "ldx #0x%x", i->k);
		break;
	case BPF_ALU:
		snprintf(out, DISASM_SIZE, BPF_SRC(i->code) == BPF_X ? "%s x" : "%s #0x%x", filter_alu(i->code), i->k);
		break;
	case BPF_JMP:
		disasm_filter_jump(i, at, out);
		break;
	case BPF_RET:
		disasm_return(i->k, out);
		break;
	case BPF_MISC:
		snprintf(out, DISASM_SIZE, BPF_MISCOP(i->code) == BPF_TAX ? "tax" : "txa");
		break;
	default:
		snprintf(out, DISASM_SIZE, "? code 0x%02x", i->code);
	}
}

/* --- eBPF --- */

static const char *const alu_operator[] = {
	"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=",
};
static const char *const jump_operator[] = { "",   "==", ">",	 ">=",	"&",   "!=", "s>", "s>=",
					      "call", "exit", "<", "<=", "s<", "s<=" };

static const char *size_name(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return "u8";
	case BPF_H:
		return "u16";
	case BPF_W:
		return "u32";
	default:
		return "u64";
	}
}

static void disasm_alu(const struct bpf_insn *i, char out[DISASM_SIZE])
{
	unsigned op = BPF_OP(i->code) >> 4;
	char r = BPF_CLASS(i->code) == BPF_ALU ? 'w' : 'r';

	if (BPF_OP(i->code) == BPF_END)
		snprintf(out, DISASM_SIZE, "r%u = %s%d r%u", i->dst_reg, BPF_SRC(i->code) == BPF_TO_BE ? "be" : "le", i->imm,
			 i->dst_reg);
	else if (op >= sizeof alu_operator / sizeof *alu_operator)
		snprintf(out, DISASM_SIZE, "? code 0x%02x", i->code);
	else if (BPF_OP(i->code) == BPF_NEG)
		snprintf(out, DISASM_SIZE, "%c%u = -%c%u", r, i->dst_reg, r, i->dst_reg);
	else if (BPF_SRC(i->code) == BPF_X)
		snprintf(out, DISASM_SIZE, "%c%u %s %c%u", r, i->dst_reg, alu_operator[op], r, i->src_reg);
	else
		snprintf(out, DISASM_SIZE, "%c%u %s 0x%x", r, i->dst_reg, alu_operator[op], (unsigned)i->imm);
}

static void disasm_jump(const struct bpf_insn *i, size_t at, char out[DISASM_SIZE])
{
	unsigned op = BPF_OP(i->code) >> 4;
	char r = BPF_CLASS(i->code) == BPF_JMP32 ? 'w' : 'r';
	long target = (long)at + 1 + i->off;

	if (BPF_OP(i->code) == BPF_EXIT)
		snprintf(out, DISASM_SIZE, "exit");
	else if (BPF_OP(i->code) == BPF_CALL && i->src_reg == BPF_PSEUDO_CALL)
		snprintf(out, DISASM_SIZE, "call " CAVE_FUNCTIONS " %ld", i->imm + 1L);
	else if (BPF_OP(i->code) == BPF_CALL)
		snprintf(out, DISASM_SIZE, "call helper %d", i->imm);
	else if (BPF_OP(i->code) == BPF_JA)
		snprintf(out, DISASM_SIZE, "goto %ld", target);
	else if (op >= sizeof jump_operator / sizeof *jump_operator)
		snprintf(out, DISASM_SIZE, "? code 0x%02x", i->code);
	else if (BPF_SRC(i->code) == BPF_X)
		snprintf(out, DISASM_SIZE, "if %c%u %s %c%u goto %ld", r, i->dst_reg, jump_operator[op], r, i->src_reg, target);
	else
		snprintf(out, DISASM_SIZE, "if %c%u %s 0x%x goto %ld", r, i->dst_reg, jump_operator[op], (unsigned)i->imm,
			 target);
}

/* A number, or a map as the artefact refers to it (cave/artefact.h). */
static void disasm_wide_load(const struct bpf_insn *i, char out[DISASM_SIZE])
{
	const uint32_t first = (uint32_t)i->imm, second = (uint32_t)i[1].imm;

	if (i->src_reg == BPF_PSEUDO_MAP_FD)
		snprintf(out, DISASM_SIZE, "r%u = map %u", i->dst_reg, first);
	else if (i->src_reg == BPF_PSEUDO_MAP_VALUE)
		snprintf(out, DISASM_SIZE, "r%u = value of map %u + %u", i->dst_reg, second, first);
	else
		snprintf(out, DISASM_SIZE, "r%u = 0x%llx ll", i->dst_reg, first | (unsigned long long)second << 32);
}

void disasm_hook(const struct bpf_insn *insn, size_t n, size_t at, char out[DISASM_SIZE])
{
	const struct bpf_insn *i = &insn[at];

	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		if (i->code == (BPF_LD | BPF_IMM | BPF_DW) && at + 1 < n)
			disasm_wide_load(i, out);
		else
			snprintf(out, DISASM_SIZE, "%s", at && i->code == 0 ? "" : "? load");
		break;
	case BPF_LDX:
		snprintf(out, DISASM_SIZE, "r%u = *(%s *)(r%u %+d)", i->dst_reg, size_name(i->code), i->src_reg, i->off);
		break;
	case BPF_ST:
		snprintf(out, DISASM_SIZE, "*(%s *)(r%u %+d) = 0x%x", size_name(i->code), i->dst_reg, i->off,
			 (unsigned)i->imm);
		break;
	case BPF_STX:
		snprintf(out, DISASM_SIZE,
			 BPF_MODE(i->code) == BPF_MEM ? "*(%s *)(r%u %+d) = r%u" : "lock *(%s *)(r%u %+d) += r%u",
			 size_name(i->code), i->dst_reg, i->off, i->src_reg);
		break;
	case BPF_ALU:
	case BPF_ALU64:
		disasm_alu(i, out);
		break;
	default:
		disasm_jump(i, at, out);
	}
}
