/* SPDX-License-Identifier: MIT */
/* Packets that leave in the name of connections that came in: they are judged by their own end. */
#include "bpf/egress_gen.h"

#include <linux/in.h>
#include <sys/socket.h>

static void require_unspecified(struct hook_gen *g)
{
	for (int w = 0; w < 4; w++)
		jump_if(g, BPF_JNE, addr6_reg[w], 0, g->deny);
}

/*
 * What came in never asks for a connection: a SYN without ACK would be one that the tool makes.  And a listening
 * socket has no peer; the answer to a SYN is sent in its name (tcp_make_synack, net/ipv4/tcp_output.c), and
 * nothing else is.
 */
static void require_answer(struct hook_gen *g, uint32_t header)
{
	asm_label accepted = asm_new_label(&g->s);

	require_bytes(g, header + TCP_FLAGS + 1);
	load_field(g, BPF_B, BPF_REG_1, header + TCP_FLAGS);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, TCP_SYN | TCP_ACK);
	jump_if(g, BPF_JEQ, BPF_REG_1, TCP_SYN | TCP_ACK, accepted);
	jump_if(g, BPF_JEQ, BPF_REG_1, TCP_SYN, g->deny);
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(remote_port));
	jump_if(g, BPF_JEQ, BPF_REG_1, 0, g->deny);
	asm_place(&g->s, accepted);
}

static void load_own_port(struct hook_gen *g)
{
	asm_load(&g->s, BPF_W, PORT, CTX, SKB(local_port)); /* in host order */
	asm_set(&g->s, PROTO, IPPROTO_TCP);
}

/*
 * The own IPv4 address of an IPv6 socket.  One that is bound to :: and takes IPv4 as well answers
 * from the address that the SYN came to, which the answer has as its source.
 */
static void load_mapped_local(struct hook_gen *g)
{
	asm_label connected = asm_new_label(&g->s), peerless = asm_new_label(&g->s);
	asm_label unbound = asm_new_label(&g->s), known = asm_new_label(&g->s);

	load_words(g, SKB(remote_ip6));
	require_mapped(g, peerless);
	load_words(g, SKB(local_ip6));
	require_mapped(g, g->deny);
	asm_goto(&g->s, connected);
	asm_place(&g->s, peerless);
	require_unspecified(g);
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(remote_port));
	jump_if(g, BPF_JNE, BPF_REG_1, 0, g->deny);
	load_words(g, SKB(local_ip6));
	require_mapped(g, unbound);
	asm_place(&g->s, connected);
	asm_move(&g->s, ADDR4, addr6_reg[3]);
	asm_goto(&g->s, known);
	asm_place(&g->s, unbound);
	require_unspecified(g);
	load_field_word(g, ADDR4, 12);
	asm_place(&g->s, known);
}

static void accepted4(struct hook_gen *g)
{
	asm_label inet = asm_new_label(&g->s), known = asm_new_label(&g->s);

	require_answer(g, 20);
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(family));
	jump_if(g, BPF_JEQ, BPF_REG_1, AF_INET, inet);
	load_mapped_local(g);
	asm_goto(&g->s, known);
	asm_place(&g->s, inet);
	asm_load(&g->s, BPF_W, ADDR4, CTX, SKB(local_ip4));
	asm_place(&g->s, known);
	load_own_port(g);
	judge4(g, &g->local);
}

/* Refuses an address of the context, in network order, that is mapped. */
static void load_native(struct hook_gen *g, int16_t field)
{
	asm_label native = asm_new_label(&g->s);

	load_words(g, field);
	require_mapped(g, native);
	asm_goto(&g->s, g->deny);
	asm_place(&g->s, native);
}

static void accepted6(struct hook_gen *g)
{
	require_answer(g, 40);
	load_native(g, SKB(remote_ip6));
	load_native(g, SKB(local_ip6));
	load_own_port(g);
	judge6(g, &g->local);
}

/* The peer of an IPv4 packet whose own end is granted: its socket's, or whom a listening socket answers. */
static void load_guest4(struct hook_gen *g)
{
	asm_label inet = asm_new_label(&g->s), answer = asm_new_label(&g->s), known = asm_new_label(&g->s);

	asm_load(&g->s, BPF_W, PORT, CTX, SKB(remote_port));
	asm_host_order(&g->s, PORT, 32);
	jump_if(g, BPF_JEQ, PORT, 0, answer);
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(family));
	jump_if(g, BPF_JEQ, BPF_REG_1, AF_INET, inet);
	asm_load(&g->s, BPF_W, ADDR4, CTX, (int16_t)(SKB(remote_ip6) + 12));
	asm_goto(&g->s, known);
	asm_place(&g->s, inet);
	asm_load(&g->s, BPF_W, ADDR4, CTX, SKB(remote_ip4));
	asm_goto(&g->s, known);
	asm_place(&g->s, answer);
	load_field_word(g, ADDR4, 16);
	load_field_port(g, 22);
	asm_place(&g->s, known);
	asm_host_order(&g->s, ADDR4, 32);
}

static void load_guest6(struct hook_gen *g)
{
	asm_label answer = asm_new_label(&g->s), known = asm_new_label(&g->s);

	asm_load(&g->s, BPF_W, PORT, CTX, SKB(remote_port));
	asm_host_order(&g->s, PORT, 32);
	jump_if(g, BPF_JEQ, PORT, 0, answer);
	load_words(g, SKB(remote_ip6));
	asm_goto(&g->s, known);
	asm_place(&g->s, answer);
	require_bytes(g, HEADER6_SIZE);
	load_field_words(g, 24);
	load_field_port(g, 42);
	asm_place(&g->s, known);
	for (int w = 0; w < 4; w++)
		asm_host_order(&g->s, addr6_reg[w], 32);
}

/* Anybody may have come in who is not denied. */
static void judge_guest(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);

	if (!denies(g))
		return;
	emit_port_blocks(g, &g->local);
	asm_place(&g->s, g->local.yes);
	split_versions(g, six);
	load_guest4(g);
	asm_goto(&g->s, g->settle[NET_V4]);
	asm_place(&g->s, six);
	load_guest6(g);
	asm_goto(&g->s, g->settle[NET_V6]);
}

/*
 * A TCP packet whose socket has a peer that is not granted, or none: of a connection that came in,
 * or of the listening socket that answers one.  Its own end must be granted, and both ends of the
 * socket be of the packet's family.  Only what came in has such a peer, connect() being judged.  What is
 * denied all the same is not sent.
 */
void judge_accepted(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);
	asm_label datagram = takes_guests(g) ? asm_new_label(&g->s) : g->deny;

	if (denies(g))
		g->local.yes = asm_new_label(&g->s);
	place_strangers(g);
	if (!grants(&g->local, NET_TCP)) {
		answer_guest(g);
		return;
	}
	jump_if(g, BPF_JNE, PROTO, IPPROTO_TCP, datagram);
	split_versions(g, six);
	accepted4(g);
	asm_place(&g->s, six);
	accepted6(g);
	judge_guest(g);
	if (!takes_guests(g))
		return;
	asm_place(&g->s, datagram);
	answer_guest(g);
}
