/* SPDX-License-Identifier: MIT */
/*
 * The eBPF checker and interpreter on programs written by hand: what each refuses, and what each
 * computes.
 */
#include "bpf/vm.h"

#include <stddef.h>
#include <string.h>

#include "tests/unit/unit.h"

#define INSN(c, d, s, o, i) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define SET(d, i) INSN(BPF_ALU | BPF_MOV | BPF_K, d, 0, 0, i)
#define LOAD(size, d, s, o) INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define STORE(d, o, s) INSN(BPF_STX | BPF_MEM | BPF_W, d, s, o, 0)
#define JUMP(op, d, i, o) INSN(BPF_JMP32 | (op) | BPF_K, d, 0, o, i)
#define COPY(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define SWAP(d, bits) INSN(BPF_ALU | BPF_END | BPF_TO_BE, d, 0, 0, bits)
#define FUNCTION(i) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, i)
#define CALL INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_skb_load_bytes)

/* R3 = the packet, R2 = its end; jumps over `off` instructions if it is shorter than `size`. */
#define MEASURE(size, off)                                                                                  \
	LOAD(BPF_W, 2, 1, offsetof(struct __sk_buff, data_end)), LOAD(BPF_W, 3, 1, offsetof(struct __sk_buff, data)), \
		COPY(4, 3), INSN(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, size),                               \
		INSN(BPF_JMP | BPF_JGT | BPF_X, 4, 2, off, 0)

enum { MAX = 12 };

/* Up to the last exit: what is behind it is all zero. */
static size_t length(const struct bpf_insn *insn)
{
	size_t n = MAX;

	while (n && insn[n - 1].code != (BPF_JMP | BPF_EXIT))
		n--;
	return n;
}

/* Programs that the checker refuses, and at which instruction. */
static void test_check(void)
{
	static const struct {
		const char *what;
		size_t n, bad;
		struct bpf_insn insn[MAX];
	} program[] = {
		{ "nothing", 0, 0, { EXIT } },
		{ "no exit", 1, 0, { SET(0, 1) } },
		{ "a jump back", 3, 1, { SET(0, 1), JUMP(BPF_JEQ, 0, 1, -1), EXIT } },
		{ "a jump out", 3, 1, { SET(0, 1), JUMP(BPF_JEQ, 0, 1, 1), EXIT } },
		{ "a ja out", 2, 0, { INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0), EXIT } },
		{ "a ja back", 2, 0, { INSN(BPF_JMP | BPF_JA, 0, 0, -1, 0), EXIT } },
		{ "a register past 10", 2, 0, { SET(11, 1), EXIT } },
		{ "a write to the frame pointer", 2, 0, { SET(10, 1), EXIT } },
		{ "another helper", 2, 0, { INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 4), EXIT } },
		{ "a load with sign extension", 2, 0, { INSN(BPF_LDX | 0x80 | BPF_W, 0, 1, 0, 0), EXIT } },
		{ "an atomic or", 2, 0, { INSN(BPF_STX | 0xc0 | BPF_W, 1, 0, 0, BPF_OR), EXIT } },
		{ "an atomic half word", 2, 0, { INSN(BPF_STX | 0xc0 | BPF_H, 1, 0, 0, BPF_ADD), EXIT } },
		{ "a wide load cut in half", 1, 0, { INSN(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0) } },
		{ "a wide load of a function", 3, 0,
		  { INSN(BPF_LD | BPF_IMM | BPF_DW, 0, BPF_PSEUDO_FUNC, 0, 0), INSN(0, 0, 0, 0, 0), EXIT } },
		{ "a jump into a wide load", 5, 2,
		  { SET(0, 1), JUMP(BPF_JEQ, 0, 1, 1), INSN(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0),
		    INSN(0, 0, 0, 0, 0), EXIT } },
		{ "a shift by 64", 2, 0, { INSN(BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, 64), EXIT } },
		{ "a signed comparison", 2, 0, { INSN(BPF_JMP | BPF_JSGT | BPF_K, 0, 0, 0, 0), EXIT } },
		{ "an instruction that cannot be reached",
		  4,
		  2,
		  { SET(0, 1), INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0), SET(0, 2), EXIT } },
		{ "another exit that cannot be reached", 3, 2, { SET(0, 1), EXIT, EXIT } },
		{ "an unknown opcode", 2, 0, { INSN(0xff, 0, 0, 0, 0), EXIT } },
		{ "a 48-bit swap", 2, 0, { SWAP(0, 48), EXIT } },
		{ "a swap to little-endian", 2, 0, { INSN(BPF_ALU | BPF_END, 0, 0, 0, 16), EXIT } },
		{ "a call of what lies before", 3, 1, { SET(0, 1), FUNCTION(-2), EXIT } },
		{ "a call of what lies behind the program", 2, 0, { FUNCTION(1), EXIT } },
		{ "a call with an offset", 4, 0,
		  { INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 1, 1), EXIT, SET(0, 1), EXIT } },
		{ "a program that runs into a function", 3, 0, { FUNCTION(0), SET(0, 1), EXIT } },
		{ "a jump into a function", 5, 1, { FUNCTION(2), JUMP(BPF_JEQ, 0, 1, 2), EXIT, SET(0, 1), EXIT } },
		{ "a jump out of a function", 6, 3,
		  { FUNCTION(2), FUNCTION(3), EXIT, JUMP(BPF_JEQ, 1, 0, 1), EXIT, EXIT } },
		{ "a function that calls one", 6, 2, { FUNCTION(1), EXIT, FUNCTION(1), EXIT, SET(0, 1), EXIT } },
		{ "a function that nobody calls", 4, 2, { SET(0, 1), EXIT, SET(0, 1), EXIT } },
		{ "a stray constant",
		  2,
		  0,
		  { INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 0, 7), EXIT } },
	};

	for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
		size_t bad = 99;
		bool good = ebpf_check(program[i].insn, program[i].n, &bad);

		check(!good && bad == program[i].bad, "refused by the checker: %s",
		      program[i].what);
	}
}

/* Programs that the checker takes and the verifier would not. */
static void test_forbidden(void)
{
	static const struct {
		const char *what;
		struct bpf_insn insn[MAX];
	} program[] = {
		{ "no result", { EXIT } },
		{ "an unset register compared", { JUMP(BPF_JEQ, 3, 0, 0), SET(0, 1), EXIT } },
		{ "an unset register copied", { COPY(0, 3), EXIT } },
		{ "an unset register swapped", { SWAP(3, 16), SET(0, 1), EXIT } },
		{ "the context as a number", { JUMP(BPF_JEQ, 1, 0, 0), SET(0, 1), EXIT } },
		{ "the context returned", { COPY(0, 1), EXIT } },
		{ "64 bits of the context", { LOAD(BPF_DW, 0, 1, 0), EXIT } },
		{ "a byte into the context", { SET(0, 1), INSN(BPF_STX | BPF_MEM | BPF_B, 1, 0, 0, 0), EXIT } },
		{ "a load past the context", { LOAD(BPF_W, 0, 1, 64), EXIT } },
		{ "a load before the context", { LOAD(BPF_W, 0, 1, -4), EXIT } },
		{ "a misaligned load", { LOAD(BPF_W, 0, 1, 2), EXIT } },
		{ "a load from a number", { SET(2, 0), LOAD(BPF_W, 0, 2, 0), EXIT } },
		{ "a load of unwritten stack", { LOAD(BPF_W, 0, 10, -4), EXIT } },
		{ "a load above the stack", { LOAD(BPF_W, 0, 10, 0), EXIT } },
		{ "a store past the context", { SET(0, 1), STORE(1, 64, 0), EXIT } },
		{ "a store of a pointer", { STORE(10, -4, 1), SET(0, 1), EXIT } },
		{ "a call without arguments", { CALL, EXIT } },
		{ "arguments after a call",
		  { SET(2, 0), COPY(3, 10), INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -8),
		    SET(4, 8), CALL, COPY(0, 2), EXIT } },
		{ "a difference from the context",
		  { SET(0, 0), INSN(BPF_ALU | BPF_XOR | BPF_X, 0, 1, 0, 0), EXIT } },
		{ "a call above the stack", { SET(2, 0), COPY(3, 10), SET(4, 8), CALL, EXIT } },
		{ "a call for nothing",
		  { SET(2, 0), COPY(3, 10), INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -8),
		    SET(4, 0), CALL, EXIT } },
		{ "a packet that was not measured",
		  { LOAD(BPF_W, 3, 1, offsetof(struct __sk_buff, data)), LOAD(BPF_B, 0, 3, 0), EXIT } },
		{ "more of a packet than was measured", { SET(0, 1), MEASURE(8, 1), LOAD(BPF_H, 0, 3, 8), EXIT } },
		{ "what lies before a packet", { SET(0, 1), MEASURE(8, 1), LOAD(BPF_B, 0, 3, -1), EXIT } },
		{ "a word of a packet that may not be aligned", { SET(0, 1), MEASURE(8, 1), LOAD(BPF_W, 0, 3, 4), EXIT } },
		{ "more than there is of a packet",
		  { SET(0, 1), MEASURE(33, 1), INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0), LOAD(BPF_B, 0, 3, 0), EXIT } },
		{ "a store into a packet", { SET(0, 1), MEASURE(8, 1), STORE(3, 2, 0), EXIT } },
		{ "a packet's place as a number", { SET(0, 1), MEASURE(8, 1), JUMP(BPF_JEQ, 3, 0, 0), EXIT } },
		{ "a packet's end as a number", { SET(0, 1), MEASURE(8, 1), JUMP(BPF_JEQ, 2, 0, 0), EXIT } },
		{ "another comparison with a packet's end",
		  { SET(0, 1), MEASURE(8, 1), INSN(BPF_JMP | BPF_JGE | BPF_X, 4, 2, 0, 0), EXIT } },
		{ "a packet's end moved",
		  { SET(0, 1), MEASURE(8, 1), INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, 1), EXIT } },
		{ "a function that looks at its caller's register",
		  { SET(6, 1), FUNCTION(1), EXIT, COPY(0, 6), EXIT } },
		{ "a function that looks at its caller's result", { SET(0, 1), FUNCTION(1), EXIT, EXIT } },
		{ "a function that stores on its caller's stack",
		  { SET(0, 1), FUNCTION(1), EXIT, SET(0, 1), STORE(10, -4, 0), EXIT } },
		{ "a function that returns the context", { FUNCTION(1), EXIT, COPY(0, 1), EXIT } },
		{ "arguments after a function", { SET(2, 1), FUNCTION(2), COPY(0, 2), EXIT, SET(0, 1), EXIT } },
		{ "half a pointer to a packet", { LOAD(BPF_H, 3, 1, offsetof(struct __sk_buff, data)), SET(0, 1), EXIT } },
	};

	for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
		uint32_t ctx[16] = { 0 };
		uint8_t packet[32] = { 0 };
		struct ebpf_input in = { .ctx = ctx, .ctx_size = sizeof ctx, .packet = packet,
					 .packet_size = sizeof packet };
		size_t n = length(program[i].insn), bad;
		uint64_t result;

		check(ebpf_check(program[i].insn, n, &bad) &&
			      !ebpf_run(program[i].insn, n, &in, &result, NULL),
		      "forbidden: %s", program[i].what);
	}
}

static void test_results(void)
{
	static const struct {
		const char *what;
		uint64_t result;
		struct bpf_insn insn[MAX];
	} program[] = {
		{ "a constant, zero-extended", 0xffffffff, { SET(0, -1), EXIT } },
		{ "a byte", 0x11, { LOAD(BPF_B, 0, 1, 0), EXIT } },
		{ "a half word", 0x2211, { LOAD(BPF_H, 0, 1, 0), EXIT } },
		{ "a word", 0x44332211, { LOAD(BPF_W, 0, 1, 0), EXIT } },
		{ "16 bits from network order",
		  0x1122,
		  { LOAD(BPF_W, 0, 1, 0), SWAP(0, 16), EXIT } },
		{ "32 bits from network order",
		  0x11223344,
		  { LOAD(BPF_W, 0, 1, 0), SWAP(0, 32), EXIT } },
		{ "and",
		  0x30,
		  { SET(0, 0xf3), INSN(BPF_ALU | BPF_AND | BPF_K, 0, 0, 0, 0x3c), EXIT } },
		{ "exclusive or, zero-extended",
		  0xffffff3c,
		  { SET(0, -1), SET(2, 0xc3), INSN(BPF_ALU | BPF_XOR | BPF_X, 0, 2, 0, 0), EXIT } },
		{ "unsigned >= of the top bit",
		  1,
		  { SET(0, 1), SET(2, INT32_MIN), JUMP(BPF_JGE, 2, 5, 1), SET(0, 0), EXIT } },
		{ "unsigned < of the top bit",
		  0,
		  { SET(0, 0), SET(2, INT32_MIN), JUMP(BPF_JLT, 2, 5, 0), EXIT } },
		{ ">= of equals", 1, { SET(0, 1), JUMP(BPF_JGE, 0, 1, 1), SET(0, 7), EXIT } },
		{ "< of equals", 7, { SET(0, 1), JUMP(BPF_JLT, 0, 1, 1), SET(0, 7), EXIT } },
		{ "== and a jump over", 1, { SET(0, 1), JUMP(BPF_JEQ, 0, 1, 1), SET(0, 7), EXIT } },
		{ "!= that does not hold",
		  7,
		  { SET(0, 1), JUMP(BPF_JNE, 0, 1, 1), SET(0, 7), EXIT } },
		{ "a word through the stack",
		  9,
		  { SET(2, 9), STORE(10, -8, 2), LOAD(BPF_W, 0, 10, -8), EXIT } },
		{ "a word through the context",
		  9,
		  { SET(2, 9), STORE(1, 4, 2), LOAD(BPF_W, 0, 1, 4), EXIT } },
		{ "bytes of the packet",
		  0x0605,
		  { SET(2, 5), COPY(3, 10), INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -8),
		    SET(4, 2), CALL, LOAD(BPF_H, 0, 10, -8), EXIT } },
		{ "bytes past the packet",
		  (uint64_t)-14,
		  { SET(2, 7), COPY(3, 10), INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -8),
		    SET(4, 2), CALL, EXIT } },
		{ "bytes past the packet are zero",
		  0,
		  { SET(2, -1), COPY(3, 10), INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -8),
		    SET(4, 2), CALL, LOAD(BPF_H, 0, 10, -8), EXIT } },
		{ "bytes of the packet in place", 0x0706, { SET(0, 1), MEASURE(8, 1), LOAD(BPF_H, 0, 3, 6), EXIT } },
		{ "a word of the packet in place", 0x05040302, { SET(0, 1), MEASURE(8, 1), LOAD(BPF_W, 0, 3, 2), EXIT } },
		{ "a function of its arguments",
		  13,
		  { SET(2, 6), SET(3, 7), FUNCTION(1), EXIT, COPY(0, 2), INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 3, 0, 0),
		    EXIT } },
		{ "what a function leaves to its caller",
		  5,
		  { SET(6, 4), FUNCTION(2), INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 6, 0, 0), EXIT, SET(6, 9), SET(0, 1),
		    EXIT } },
		{ "one of two functions",
		  2,
		  { SET(1, 1), JUMP(BPF_JNE, 1, 1, 2), FUNCTION(3), EXIT, FUNCTION(3), EXIT, SET(0, 2), EXIT, SET(0, 3),
		    EXIT } },
		{ "a packet that is long enough",
		  1,
		  { SET(0, 1), MEASURE(8, 1), INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0), SET(0, 0), EXIT } },
		{ "a packet that is too short",
		  0,
		  { SET(0, 1), MEASURE(9, 1), INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0), SET(0, 0), EXIT } },
	};

	for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
		uint32_t ctx[4] = { 0x44332211 };
		uint8_t packet[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
		struct ebpf_input in = { .ctx = ctx, .ctx_size = sizeof ctx, .packet = packet,
					 .packet_size = sizeof packet };
		size_t n = length(program[i].insn), bad, steps = 0;
		uint64_t result = 0xdead;

		check(ebpf_check(program[i].insn, n, &bad) &&
			      ebpf_run(program[i].insn, n, &in, &result, &steps) &&
			      result == program[i].result && steps && steps <= n,
		      "computes %s: %llx", program[i].what, (unsigned long long)result);
	}
}

int main(void)
{
	test_check();
	test_forbidden();
	test_results();
	return unit_done();
}
