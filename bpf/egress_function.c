/* SPDX-License-Identifier: MIT */
/*
 * Functions that the programs of a policy share: what decides on an address and a port, where there are many of them.
 * An artefact then holds that once, and not once for every hook.  A call costs a decision some ten nanoseconds, and
 * each program a bit more time to load.  So few rules are decided where they are asked; and so are thousands, whose
 * tables are so large that nobody minds the code, and rules of one protocol and family, which are little code.
 */
#include "bpf/egress_gen.h"

#include <string.h>

enum {
	SAVED = -4, /* on the stack: PROTO, through the call */
	/* Between these, intervals of addresses of both protocols and families together are functions. */
	INLINE_INTERVALS = 20,
	MOST_INTERVALS = 512,
};

static const char *const names[ROLES][NET_FAMILIES] = {
	[ROLE_PEER] = { "cave_peer4", "cave_peer6" },
	[ROLE_OWN] = { "cave_own4", "cave_own6" },
	[ROLE_SHUT] = { "cave_shut4", "cave_shut6" },
};
_Static_assert(ROLES * NET_FAMILIES <= FUNCTIONS_MAX, "there is room for all of them");

static void alu(struct hook_gen *g, uint8_t code, uint8_t dst, uint32_t imm)
{
	asm_alu(&g->s, (uint8_t)(code | BPF_K), dst, imm);
}

/* Two words, the upper one in the register of both. */
static void join_words(struct hook_gen *g, uint8_t upper, uint8_t lower)
{
	alu(g, BPF_ALU64 | BPF_LSH, upper, 32);
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_ALU64 | BPF_OR | BPF_X, .dst_reg = upper, .src_reg = lower });
}

static void split_words(struct hook_gen *g, uint8_t both, uint8_t lower)
{
	asm_move(&g->s, lower, both);
	alu(g, BPF_ALU | BPF_AND, lower, UINT32_MAX);
	alu(g, BPF_ALU64 | BPF_RSH, both, 32);
}

/*
 * R1 = the protocol, R2 = the port, R3 = an IPv4 address, or R3 and R4 = the halves of an IPv6 address; all in host
 * order.
 */
static void pass_arguments(struct hook_gen *g, enum net_family family)
{
	asm_move(&g->s, BPF_REG_1, PROTO);
	if (family == NET_V4) {
		asm_move(&g->s, BPF_REG_2, PORT);
		asm_move(&g->s, BPF_REG_3, ADDR4);
		return;
	}
	join_words(g, BPF_REG_2, BPF_REG_3);
	asm_move(&g->s, BPF_REG_3, BPF_REG_2);
	join_words(g, BPF_REG_4, BPF_REG_5);
	asm_move(&g->s, BPF_REG_2, PORT);
}

static void take_arguments(struct hook_gen *g, enum net_family family)
{
	asm_move(&g->s, PROTO, BPF_REG_1);
	asm_move(&g->s, PORT, BPF_REG_2);
	if (family == NET_V4) {
		asm_move(&g->s, ADDR4, BPF_REG_3);
		return;
	}
	asm_move(&g->s, BPF_REG_2, BPF_REG_3);
	split_words(g, BPF_REG_2, BPF_REG_3);
	split_words(g, BPF_REG_4, BPF_REG_5);
}

void call_judge(struct hook_gen *g, const struct judge *j, enum net_family family)
{
	asm_store(&g->s, BPF_W, BPF_REG_10, SAVED, PROTO);
	pass_arguments(g, family);
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL,
					   .imm = (int32_t)j->function[family] - 1 });
	asm_move(&g->s, BPF_REG_1, BPF_REG_0);
	asm_load(&g->s, BPF_W, PROTO, BPF_REG_10, SAVED);
	jump_if(g, BPF_JNE, BPF_REG_1, 0, j->yes);
	asm_goto(&g->s, j->no);
}

/* --- the functions -------------------------------------------------------- */

static bool is_worth_it(const struct net_cell (*cell)[NET_FAMILIES])
{
	size_t n = 0, kinds = 0;

	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++) {
			n += cell[proto][family].n;
			kinds += cell[proto][family].n != 0;
		}
	return n > INLINE_INTERVALS && n <= MOST_INTERVALS && kinds > 1;
}

static bool generate(struct arena *a, const struct net_set *set, const struct tables *tables, enum role role,
		     enum net_family family, struct function *out, struct gen_error *error)
{
	struct hook_gen g = { .set = set, .tables = tables, .proto = { true, true } };
	struct hook_program whole;
	struct judge j;

	asm_init(&g.s, a);
	g.allow = asm_new_label(&g.s);
	g.deny = asm_new_label(&g.s);
	j = role_judge(&g, role);
	take_arguments(&g, family);
	judge_host(&g, &j, family);
	emit_port_blocks(&g, &j);
	if (asm_is_used(&g.s, g.allow)) {
		asm_place(&g.s, g.allow);
		asm_return(&g.s, 1);
	}
	if (asm_is_used(&g.s, g.deny)) {
		asm_place(&g.s, g.deny);
		asm_return(&g.s, 0);
	}
	if (!asm_finish(&g.s, g.hook, &whole, error))
		return false;
	*out = (struct function){ names[role][family], family == NET_V4 ? 3 : 4, whole.insn, whole.line, whole.n };
	return true;
}

bool functions_generate(struct arena *a, const struct net_set *set, const struct tables *tables,
			struct shared_judges *out, struct gen_error *error)
{
	const struct net_cell (*cells[ROLES])[NET_FAMILIES] = { set->cell, set->local, set->shut };

	for (int role = 0; role < ROLES; role++) {
		if (!is_worth_it(cells[role]))
			continue;
		for (int family = 0; family < NET_FAMILIES; family++) {
			if (!cells[role][NET_TCP][family].n && !cells[role][NET_UDP][family].n)
				continue;
			if (!generate(a, set, tables, (enum role)role, (enum net_family)family,
				      &out->list.function[out->list.n], error))
				return false;
			out->number[role][family] = (uint8_t)++out->list.n;
		}
	}
	return true;
}

/* --- behind the programs -------------------------------------------------- */

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

void functions_link(struct arena *a, const struct function_list *list, struct hook_program *p)
{
	size_t at[FUNCTIONS_MAX], own = p->n, n = own;
	struct bpf_insn *insn;
	line_id *line;

	p->functions = list;
	for (size_t i = 0; i < own; i++)
		if (is_call(&p->insn[i]))
			p->called |= 1u << p->insn[i].imm;
	for (size_t k = 0; k < list->n; k++) {
		at[k] = n;
		n += p->called >> k & 1 ? list->function[k].n : 0;
	}
	if (n == own)
		return;
	insn = ARENA_ARRAY(a, n, struct bpf_insn);
	line = ARENA_ARRAY(a, n, line_id);
	memcpy(insn, p->insn, own * sizeof *insn);
	memcpy(line, p->line, own * sizeof *line);
	for (size_t i = 0; i < own; i++)
		if (is_call(&insn[i]))
			insn[i].imm = (int32_t)(at[insn[i].imm] - i - 1);
	for (size_t k = 0; k < list->n; k++) {
		const struct function *f = &list->function[k];

		if (!(p->called >> k & 1))
			continue;
		memcpy(insn + at[k], f->insn, f->n * sizeof *insn);
		memcpy(line + at[k], f->line, f->n * sizeof *line);
	}
	p->insn = insn;
	p->line = line;
	p->n = n;
	p->shared = n - own;
}
