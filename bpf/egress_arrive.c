/* SPDX-License-Identifier: MIT */
/* The hook of packets that arrive. */
#include "bpf/egress_gen.h"

#include <linux/in.h>

/* The endpoint that a packet is addressed to, judged as one's own. */
static void judge_own_endpoint(struct hook_gen *g, uint32_t header, uint32_t protocol)
{
	require_bytes(g, header + 4);
	load_field_port(g, header + 2);
	if (header == 20) {
		load_field_word(g, ADDR4, 16);
		asm_set(&g->s, PROTO, protocol);
		judge4(g, &g->local);
		return;
	}
	load_field_words(g, 24);
	asm_set(&g->s, PROTO, protocol);
	judge6(g, &g->local);
}

/*
 * TCP: a new connection (SYN without ACK) comes in at endpoints that are granted only; what belongs
 * to one that was made passes.
 */
static void judge_syn(struct hook_gen *g, uint32_t header)
{
	asm_label syn = grants(&g->local, NET_TCP) ? asm_new_label(&g->s) : g->deny;

	require_bytes(g, header + TCP_FLAGS + 1);
	load_field(g, BPF_B, BPF_REG_1, header + TCP_FLAGS);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, TCP_SYN | TCP_ACK);
	jump_if(g, BPF_JEQ, BPF_REG_1, TCP_SYN, syn);
	asm_goto(&g->s, g->allow);
	if (!grants(&g->local, NET_TCP))
		return;
	asm_place(&g->s, syn);
	judge_own_endpoint(g, header, IPPROTO_TCP);
}

static void set_visitor(struct hook_gen *g, int32_t is)
{
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = VISITOR,
					   .imm = is });
}

/* Whoever comes in at a granted endpoint, unless it is denied. */
static void judge_visitor(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);

	emit_port_blocks(g, &g->local);
	asm_place(&g->s, g->local.yes);
	if (takes_guests(g))
		set_visitor(g, 1);
	if (!denies(g)) {
		asm_goto(&g->s, g->settled);
		return;
	}
	split_versions(g, six);
	load_field_port(g, 20);
	load_field_word(g, ADDR4, 12);
	asm_host_order(&g->s, ADDR4, 32);
	load_field(g, BPF_B, PROTO, 9);
	asm_goto(&g->s, g->settle[NET_V4]);
	asm_place(&g->s, six);
	require_bytes(g, HEADER6_SIZE);
	load_field_port(g, 40);
	load_field_words(g, 8);
	for (int w = 0; w < 4; w++)
		asm_host_order(&g->s, addr6_reg[w], 32);
	load_field(g, BPF_B, PROTO, 6);
	asm_goto(&g->s, g->settle[NET_V6]);
}

static void load_source_port(struct hook_gen *g, uint32_t header)
{
	require_bytes(g, header + 2);
	load_field_port(g, header);
	asm_set(&g->s, PROTO, IPPROTO_UDP);
}

/* By protocol, in R1: TCP is dealt with, UDP goes on below, the rest is refused. */
static void split_protocols(struct hook_gen *g, uint32_t header)
{
	asm_label datagram = asm_new_label(&g->s);

	if (!uses(g, NET_TCP)) {
		jump_if(g, BPF_JNE, BPF_REG_1, IPPROTO_UDP, g->deny);
		return;
	}
	jump_if(g, BPF_JEQ, BPF_REG_1, IPPROTO_UDP, datagram);
	jump_if(g, BPF_JNE, BPF_REG_1, IPPROTO_TCP, g->deny);
	judge_syn(g, header);
	asm_place(&g->s, datagram);
}

/* A datagram from a sender that is not granted: to an endpoint of a `listen`. */
static void judge_strange_datagram(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);

	place_strangers(g);
	split_versions(g, six);
	judge_own_endpoint(g, 20, IPPROTO_UDP);
	asm_place(&g->s, six);
	judge_own_endpoint(g, 40, IPPROTO_UDP);
}

/*
 * A packet that arrives: of a connection that was made, or a datagram from a granted peer or to an endpoint of a
 * `listen`.
 */
void gen_ingress(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);
	bool listens = grants(&g->local, NET_TCP) || takes_guests(g), asked = takes_guests(g) || (listens && denies(g));

	if (takes_guests(g))
		take_strangers(g);
	g->local.yes = asked ? asm_new_label(&g->s) : g->settled;
	if (takes_guests(g))
		set_visitor(g, 0);
	load_header(g, six);
	load_field(g, BPF_B, BPF_REG_1, 9);
	split_protocols(g, 20);
	load_source_port(g, 20);
	load_field_word(g, ADDR4, 12);
	g->proto[NET_TCP] = false;
	note_peer4(g);
	judge4(g, &g->peer);
	g->proto[NET_TCP] = true;
	asm_place(&g->s, six);
	load_field(g, BPF_B, BPF_REG_1, 6);
	split_protocols(g, 40);
	load_source_port(g, 40);
	g->proto[NET_TCP] = false;
	load_field_words(g, 8);
	note_peer6(g);
	judge6(g, &g->peer);
	g->proto[NET_TCP] = true;
	if (takes_guests(g))
		judge_strange_datagram(g);
	if (asked)
		judge_visitor(g);
}
