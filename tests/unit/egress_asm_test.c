/* SPDX-License-Identifier: MIT */
/* The eBPF assembler at its limits: far jumps, stepping stones, programs that are too long. */
#include "bpf/egress_asm.h"

#include <string.h>

#include "bpf/vm.h"
#include "tests/unit/unit.h"

static void fill(struct assembler *s, size_t n)
{
	while (n--)
		asm_set(s, BPF_REG_2, 0);
}

/* Returns 1 if the first word of the context is 7, by a jump over `gap` instructions, else 0. */
static void far_jump(struct assembler *s, struct arena *a, size_t gap, bool stones)
{
	asm_label far, out;

	asm_init(s, a);
	far = asm_new_label(s);
	out = asm_new_label(s);
	asm_load(s, BPF_W, BPF_REG_0, BPF_REG_1, 0);
	asm_jump(s, BPF_JMP32 | BPF_JEQ | BPF_K, BPF_REG_0, 7, far);
	for (size_t done = 0; done < gap; done += 10000) {
		asm_label next = asm_new_label(s);

		fill(s, 10000);
		if (stones) {
			asm_jump(s, BPF_JMP32 | BPF_JEQ | BPF_K, BPF_REG_2, 0, next);
			asm_goto(s, out);
			asm_place(s, next);
		}
	}
	asm_goto(s, out);
	asm_place(s, far);
	asm_return(s, 1);
	asm_place(s, out);
	asm_return(s, 0);
}

static uint64_t run(const struct hook_program *h, uint32_t word)
{
	uint32_t ctx[2] = { word };
	struct ebpf_input in = { .ctx = ctx, .ctx_size = sizeof ctx };
	uint64_t result = 2;
	size_t bad;

	return ebpf_check(h->insn, h->n, &bad) && ebpf_run(h->insn, h->n, &in, &result, NULL)
		       ? result
		       : 2;
}

static void test_reach(void)
{
	struct arena a = { 0 };
	struct assembler s;
	struct hook_program h = { 0 };
	struct gen_error e = { 0 };
	bool failed;

	far_jump(&s, &a, 30000, false);
	check(asm_finish(&s, CAVE_HOOK_CONNECT4, &h, &e) && run(&h, 7) == 1 && run(&h, 8) == 0,
	      "a jump over 30,000 instructions");
	memset(&h, 0, sizeof h);
	far_jump(&s, &a, 40000, false);
	failed = !asm_finish(&s, CAVE_HOOK_CONNECT4, &h, &e);
	check(failed && !h.insn && e.needed > e.limit && e.limit == 32767 &&
		      strstr(e.detail, "cgroup/connect4"),
	      "a jump over 40,000 is an error: %zu of %zu, %s", e.needed, e.limit, e.detail);
	far_jump(&s, &a, 200000, true);
	check(asm_finish(&s, CAVE_HOOK_CONNECT4, &h, &e) && run(&h, 7) == 1 && run(&h, 8) == 0,
	      "a jump over 200,000 goes by stepping stones");
	arena_free(&a);
}

static void test_length(void)
{
	struct arena a = { 0 };
	struct assembler s;
	struct hook_program h = { 0 };
	struct gen_error e = { 0 };
	bool failed;

	asm_init(&s, &a);
	fill(&s, 999998);
	asm_return(&s, 0);
	check(asm_finish(&s, CAVE_HOOK_EGRESS, &h, &e) && h.n == 1000000, "a million instructions");
	asm_return(&s, 0);
	failed = !asm_finish(&s, CAVE_HOOK_EGRESS, &h, &e);
	check(failed && e.needed == 1000002 && e.limit == 1000000,
	      "more are an error: %zu of %zu, %s", e.needed, e.limit, e.detail);
	asm_init(&s, &a);
	asm_goto(&s, asm_new_label(&s));
	check(!asm_finish(&s, CAVE_HOOK_EGRESS, &h, &e),
	      "a label that was never placed is an error");
	arena_free(&a);
}

int main(void)
{
	test_reach();
	test_length();
	return unit_done();
}
