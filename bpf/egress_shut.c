/* SPDX-License-Identifier: MIT */
/*
 * Denials beside a `listen` and `allow resolver`: peers that come in and name servers are not granted by their
 * addresses, so what is denied of them is asked for itself.
 */
#include "bpf/egress_gen.h"

#define TEREDO 0x20010000u /* the first word of 2001::/32, RFC 4380; the last one is the client, inverted */

/* Of an IPv6 address that is judged, for later: a search of a table loses it. */
enum { FIRST_WORD = -116, LAST_WORD = -120 };

static bool any_shut(const struct net_set *set, enum net_family family)
{
	return set->shut[NET_TCP][family].n || set->shut[NET_UDP][family].n;
}

bool denies(const struct hook_gen *g)
{
	return any_shut(g->set, NET_V4) || any_shut(g->set, NET_V6);
}

void make_settle(struct hook_gen *g)
{
	g->settled = g->hook == CAVE_HOOK_INGRESS && takes_guests(g) ? asm_new_label(&g->s) : g->allow;
	for (int family = 0; family < NET_FAMILIES; family++) {
		bool any = any_shut(g->set, (enum net_family)family);

		g->settle[family] = any ? asm_new_label(&g->s) : g->settled;
		g->shut[family] = role_judge(g, ROLE_SHUT);
		g->shut[family].yes = g->deny;
		g->shut[family].no = g->settled;
	}
}

/* A Teredo address carries its client besides its server; what is denied of IPv4 is denied of both. */
static void emit_client(struct hook_gen *g)
{
	asm_place(&g->s, g->shut[NET_V6].no);
	asm_load(&g->s, BPF_W, BPF_REG_1, BPF_REG_10, FIRST_WORD);
	jump_if(g, BPF_JNE, BPF_REG_1, TEREDO, g->settled);
	asm_load(&g->s, BPF_W, ADDR4, BPF_REG_10, LAST_WORD);
	asm_set(&g->s, BPF_REG_1, UINT32_MAX);
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_ALU | BPF_XOR | BPF_X, .dst_reg = ADDR4, .src_reg = BPF_REG_1 });
	asm_goto(&g->s, g->settle[NET_V4]);
}

void emit_settle(struct hook_gen *g)
{
	bool six = any_shut(g->set, NET_V6) && asm_is_used(&g->s, g->settle[NET_V6]);
	bool four = any_shut(g->set, NET_V4);

	g->proto[NET_TCP] = g->proto[NET_UDP] = true;
	if (six) {
		asm_place(&g->s, g->settle[NET_V6]);
		if (four) {
			g->shut[NET_V6].no = asm_new_label(&g->s);
			asm_store(&g->s, BPF_W, BPF_REG_10, FIRST_WORD, addr6_reg[0]);
			asm_store(&g->s, BPF_W, BPF_REG_10, LAST_WORD, addr6_reg[3]);
		}
		judge_host(g, &g->shut[NET_V6], NET_V6);
		emit_port_blocks(g, &g->shut[NET_V6]);
		if (four)
			emit_client(g);
	}
	if (four && asm_is_used(&g->s, g->settle[NET_V4])) {
		asm_place(&g->s, g->settle[NET_V4]);
		judge_host(g, &g->shut[NET_V4], NET_V4);
		emit_port_blocks(g, &g->shut[NET_V4]);
	}
	if (g->settled != g->allow && asm_is_used(&g->s, g->settled)) {
		asm_place(&g->s, g->settled);
		admit_guest(g);
	}
}
