/* SPDX-License-Identifier: MIT */
/* The hook of packets that leave. */
#include "bpf/egress_gen.h"

#include <linux/in.h>
#include <sys/socket.h>

#include "bpf/sort.h"

#define LOOPBACK_DEVICE 1 /* LOOPBACK_IFINDEX, include/net/flow.h */
#define RAW_LAST_WORD6 0x01000000u /* the last word of ::1 */
#define RAW_FRAGMENT 0xff3fu /* IPv4 more-fragments and fragment offset */

/* --- headers -------------------------------------------------------------- */

void require_bytes(struct hook_gen *g, uint32_t size)
{
	asm_load(&g->s, BPF_W, BPF_REG_2, CTX, SKB(data_end));
	asm_move(&g->s, BPF_REG_1, PACKET);
	asm_alu(&g->s, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, size);
	asm_jump_reg(&g->s, BPF_JMP | BPF_JGT | BPF_X, BPF_REG_1, BPF_REG_2, g->deny);
}

void load_field(struct hook_gen *g, uint8_t size, uint8_t reg, uint32_t offset)
{
	asm_load(&g->s, size, reg, PACKET, (int16_t)offset);
}

void load_field_port(struct hook_gen *g, uint32_t offset)
{
	load_field(g, BPF_H, PORT, offset);
	asm_host_order(&g->s, PORT, 16);
}

void load_field_word(struct hook_gen *g, uint8_t reg, uint32_t offset)
{
	const uint8_t high = reg == BPF_REG_1 ? BPF_REG_2 : BPF_REG_1; /* of the number that a word is when it is loaded */

	load_field(g, BPF_H, reg, offset);
	load_field(g, BPF_H, high, offset + 2);
	asm_alu(&g->s, BPF_ALU64 | BPF_LSH | BPF_K, high, 16);
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_ALU64 | BPF_OR | BPF_X, .dst_reg = reg, .src_reg = high });
}

void load_field_words(struct hook_gen *g, uint32_t offset)
{
	for (uint32_t w = 0; w < 4; w++)
		load_field_word(g, addr6_reg[w], offset + 4 * w);
}

void split_versions(struct hook_gen *g, asm_label six)
{
	load_field(g, BPF_B, BPF_REG_1, 0);
	jump_if(g, BPF_JNE, BPF_REG_1, 0x45, six);
}

/*
 * PACKET, with the network header.  IPv4 goes on below, IPv6 at `six`; anything else, IPv4 with options
 * (source routes) and IPv4 fragments are refused.  The hook sees a datagram before it is cut and
 * after it is whole again (ip_finish_output, net/ipv4/ip_output.c; ip_local_deliver,
 * net/ipv4/ip_input.c).  What is read lies in the first piece of a packet: senders put all headers there, and
 * receivers have brought those of IP and of UDP or TCP together before (pskb_may_pull).
 */
void load_header(struct hook_gen *g, asm_label six)
{
	asm_label four = asm_new_label(&g->s);

	asm_move(&g->s, CTX, BPF_REG_1);
	asm_load(&g->s, BPF_W, PACKET, CTX, SKB(data));
	require_bytes(g, HEADER_SIZE);
	load_field(g, BPF_B, BPF_REG_1, 0);
	jump_if(g, BPF_JEQ, BPF_REG_1, 0x45, four);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, 0xf0);
	jump_if(g, BPF_JEQ, BPF_REG_1, 0x60, six);
	asm_goto(&g->s, g->deny);
	asm_place(&g->s, four);
	load_field(g, BPF_H, BPF_REG_1, 6);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, RAW_FRAGMENT);
	jump_if(g, BPF_JNE, BPF_REG_1, 0, g->deny);
}

/* --- datagrams that calls have mixed -------------------------------------- */

/* A range of numbers of 32 bits. */
struct word_range {
	uint32_t lo, hi;
};

static int by_start(const void *x, const void *y)
{
	const struct word_range *a = x, *b = y;

	return (a->lo > b->lo) - (a->lo < b->lo);
}

/* Goes to `outside` if the register, in host order, is in none of the ranges; sorts them. */
static void require_member(struct hook_gen *g, uint8_t reg, struct word_range *range, size_t nranges,
			   asm_label outside)
{
	struct tree_segment *segment =
		ARENA_ARRAY(g->s.arena, 2 * nranges + 1, struct tree_segment);
	asm_label inside = asm_new_label(&g->s);
	uint64_t next = 0;
	size_t n = 0;

	sort(range, nranges, sizeof *range, by_start);
	for (size_t i = 0; i < nranges; i++) {
		if (range[i].lo > next)
			add_segment(segment, &n, NET_V4, (struct net_addr){ 0, next }, outside, 0);
		if (range[i].lo > next || !i)
			add_segment(segment, &n, NET_V4, (struct net_addr){ 0, range[i].lo },
				    inside, 0);
		if (range[i].hi >= next)
			next = range[i].hi + (uint64_t)1;
	}
	if (next <= UINT32_MAX)
		add_segment(segment, &n, NET_V4, (struct net_addr){ 0, next }, outside, 0);
	tree_emit(&g->s, &reg, 1, segment, n);
	asm_place(&g->s, inside);
}

/* The same, by the table. */
static void search_some_port(struct hook_gen *g, const struct ports_table *t, asm_label inside, asm_label outside)
{
	jump_if(g, BPF_JEQ, PORT, 0, inside);
	asm_set(&g->s, BPF_REG_1, t->some);
	search_ports(g, t->some_window, inside, outside);
	asm_goto(&g->s, outside);
}

/* Goes to `outside` unless PORT is 0 or reached by UDP at some IPv4 address. */
static void require_some_port(struct hook_gen *g, asm_label outside)
{
	const struct ports_table *t = g->tables->ports;
	const struct net_cell *c = &g->set->cell[NET_UDP][NET_V4];
	bool *listed = ARENA_ARRAY(g->s.arena, g->set->nportsets + 1, bool);
	asm_label inside = asm_new_label(&g->s);
	struct word_range *range = NULL;
	size_t n = 0, cap = 0;

	asm_judgement(&g->s, (struct judgement){ .what = JUDGED_SOME_PORT, .proto = NET_UDP, .family = NET_V4 },
		      (const asm_label[]){ [JUDGED_NO] = outside, [JUDGED_YES] = inside },
		      1u << JUDGED_NO | 1u << JUDGED_YES);
	for (uint32_t slot = 0; g->peer.resolver && slot < CAVE_RESOLVERS; slot++)
		compare_resolver(g, slot, CAVE_RESOLVER_PORT4, BPF_JEQ, PORT, inside);
	if (t && t->some_window) {
		search_some_port(g, t, inside, outside);
		asm_place(&g->s, inside);
		return;
	}
	*ARENA_PUSH(g->s.arena, range, n, cap) = (struct word_range){ 0, 0 };
	for (size_t i = 0; i < c->n; i++) {
		const struct net_portset *p = &g->set->portset[c->interval[i].ports];

		for (size_t k = 0; k < p->n && !listed[c->interval[i].ports]; k++)
			*ARENA_PUSH(g->s.arena, range, n, cap) =
				(struct word_range){ p->range[k].lo, p->range[k].hi };
		listed[c->interval[i].ports] = true;
	}
	require_member(g, PORT, range, n, outside);
	asm_place(&g->s, inside);
}

/* Goes to `inside` if R1, in host order, is a name server's; places that are not filled hold 0. */
static void accept_resolver_address(struct hook_gen *g, asm_label inside)
{
	asm_label others = asm_new_label(&g->s);

	jump_if(g, BPF_JEQ, BPF_REG_1, 0, others);
	for (uint32_t slot = 0; slot < CAVE_RESOLVERS; slot++)
		compare_resolver(g, slot, CAVE_RESOLVER_ADDRESS4, BPF_JEQ, BPF_REG_1, inside);
	asm_place(&g->s, others);
}

/*
 * To `inside` if R1 is an address that UDP reaches by some port, else to `outside`.  A table says at the same time
 * by which ports.
 */
static void split_some_address(struct hook_gen *g, asm_label inside, asm_label outside)
{
	const struct cell_table *t = g->tables->to[NET_UDP][NET_V4];
	const struct net_cell *c = &g->set->cell[NET_UDP][NET_V4];
	struct word_range *range = ARENA_ARRAY(g->s.arena, c->n + 1, struct word_range);

	asm_host_order(&g->s, BPF_REG_1, 32);
	asm_judgement(&g->s, (struct judgement){ .what = JUDGED_SOME_ADDRESS, .proto = NET_UDP, .family = NET_V4 },
		      (const asm_label[]){ [JUDGED_NO] = g->peer.no,
					   [JUDGED_YES] = g->peer.yes,
					   [JUDGED_UNREACHED] = outside,
					   [JUDGED_REACHED] = inside },
		      (1u << JUDGED_EXITS) - 1);
	if (g->peer.resolver)
		accept_resolver_address(g, inside);
	if (t) {
		search_address4(g, t, BPF_REG_1);
		jump_if(g, BPF_JEQ, BPF_REG_1, 0, outside);
		asm_goto(&g->s, found_label(g, &g->peer));
		return;
	}
	for (size_t i = 0; i < c->n; i++)
		range[i] = (struct word_range){ (uint32_t)c->interval[i].lo.lo,
						(uint32_t)c->interval[i].hi.lo };
	if (!c->n) {
		asm_goto(&g->s, outside);
		return;
	}
	require_member(g, BPF_REG_1, range, c->n, outside);
	asm_goto(&g->s, inside);
}

/*
 * A datagram from an IPv4 socket whose destination and port are in ADDR4 and PORT.  A send that
 * races with a connect takes the address of one peer and the port of another, or half of none: port
 * 0, or address 0, which the kernel replaces by the source (udp_sendmsg, net/ipv4/udp.c;
 * ip_route_output_key_hash_rcu, net/ipv4/route.c).  What could have come about so goes to `own`, to
 * be judged itself; anything else to `peer`.
 */
static void split_mixed(struct hook_gen *g, asm_label own, asm_label peer)
{
	if (!g->set->cell[NET_UDP][NET_V4].n && !g->peer.resolver)
		return;
	require_some_port(g, peer);
	load_field_word(g, BPF_REG_1, 12);
	asm_jump_reg(&g->s, BPF_JMP32 | BPF_JEQ | BPF_X, ADDR4, BPF_REG_1, own);
	asm_move(&g->s, BPF_REG_1, ADDR4);
	split_some_address(g, own, peer);
}

/* --- by version ----------------------------------------------------------- */

static void load_peer_port(struct hook_gen *g)
{
	asm_load(&g->s, BPF_W, PORT, CTX, SKB(remote_port));
	asm_host_order(&g->s, PORT, 32);
}

/* The peer of an IPv6 socket that sends IPv4; what has none may be answering a connection. */
static void load_mapped_peer(struct hook_gen *g)
{
	load_words(g, SKB(remote_ip6));
	require_mapped(g, g->strangers);
	asm_move(&g->s, ADDR4, addr6_reg[3]);
	load_peer_port(g);
}

/* The peer of an IPv4 socket; unconnected datagrams have none, sendmsg4 judged them. */
static void load_peer4(struct hook_gen *g, asm_label peer, bool datagrams)
{
	asm_label connected = asm_new_label(&g->s);

	asm_place(&g->s, peer);
	load_peer_port(g);
	if (datagrams) {
		jump_if(g, BPF_JNE, PORT, 0, connected);
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_UDP, g->allow);
	}
	asm_place(&g->s, connected);
	asm_load(&g->s, BPF_W, ADDR4, CTX, SKB(remote_ip4));
}

/* An IPv4 packet that leaves, its protocol in PROTO. */
static void egress4(struct hook_gen *g)
{
	asm_label inet = asm_new_label(&g->s), peer = asm_new_label(&g->s), own = asm_new_label(&g->s);
	bool tcp = uses(g, NET_TCP), udp = uses(g, NET_UDP);

	load_field_word(g, ADDR4, 16);
	load_field_port(g, 22);
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(family));
	jump_if(g, BPF_JEQ, BPF_REG_1, AF_INET, inet);
	jump_if(g, BPF_JNE, BPF_REG_1, AF_INET6, g->deny);
	if (tcp && udp)
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_UDP, own);
	if (tcp)
		load_mapped_peer(g);
	asm_goto(&g->s, own);
	asm_place(&g->s, inet);
	if (tcp && udp)
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_TCP, peer);
	/* Guests and the addresses of names come and go: whatever could have come about of two of them is judged itself. */
	if (takes_guests(g) || has_names(g))
		asm_goto(&g->s, own);
	else if (udp)
		split_mixed(g, own, peer);
	if (tcp || !takes_guests(g))
		load_peer4(g, peer, udp && !takes_guests(g) && !has_names(g));
	asm_place(&g->s, own);
	note_peer4(g);
	judge4(g, &g->peer);
}

/* R1 is lost. */
static void refuse_mapped_source(struct hook_gen *g)
{
	asm_label native = asm_new_label(&g->s);

	for (uint32_t half = 0; half < 6; half++) {
		load_field(g, BPF_H, BPF_REG_1, 8 + 2 * half);
		if (half < 5)
			jump_if(g, BPF_JNE, BPF_REG_1, 0, native);
	}
	jump_if(g, BPF_JEQ, BPF_REG_1, UINT16_MAX, g->deny);
	asm_place(&g->s, native);
}

/*
 * The sender may name the device of a datagram (IP_PKTINFO, IPV6_PKTINFO): what is for this host's loopback addresses
 * would then leave the host, for whoever is at the other end of that link.  R1 is lost.
 */
static void keep_loopback4(struct hook_gen *g)
{
	asm_label known = asm_new_label(&g->s);

	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(ifindex));
	jump_if(g, BPF_JEQ, BPF_REG_1, LOOPBACK_DEVICE, known);
	load_field(g, BPF_B, BPF_REG_1, 16);
	jump_if(g, BPF_JEQ, BPF_REG_1, 127, g->deny);
	asm_place(&g->s, known);
}

/* The destination is in R2 to R5, in network order. */
static void keep_loopback6(struct hook_gen *g)
{
	asm_label known = asm_new_label(&g->s);

	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(ifindex));
	jump_if(g, BPF_JEQ, BPF_REG_1, LOOPBACK_DEVICE, known);
	for (int w = 0; w < 3; w++)
		jump_if(g, BPF_JNE, addr6_reg[w], 0, known);
	jump_if(g, BPF_JEQ, addr6_reg[3], RAW_LAST_WORD6, g->deny);
	asm_place(&g->s, known);
}

/*
 * An IPv6 packet that leaves; neither of its addresses may be mapped.  What is loaded, is so before anything is asked,
 * and what has two answers, as the protocol, is asked last: the verifier follows what comes behind a question again for
 * each way to answer it.
 */
static void egress6(struct hook_gen *g)
{
	asm_label own = asm_new_label(&g->s), native = asm_new_label(&g->s);
	bool tcp = uses(g, NET_TCP), udp = uses(g, NET_UDP);

	require_bytes(g, HEADER6_SIZE);
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(family));
	jump_if(g, BPF_JNE, BPF_REG_1, AF_INET6, g->deny);
	load_field_words(g, 24);
	load_field_port(g, 42);
	refuse_mapped_source(g);
	keep_loopback6(g);
	require_mapped(g, native);
	asm_goto(&g->s, g->deny);
	asm_place(&g->s, native);
	/* Any extension header, a routing header above all, stands here as a protocol of its own. */
	load_field(g, BPF_B, PROTO, 6);
	require_proto(g);
	if (tcp && udp)
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_UDP, own);
	if (tcp) {
		load_words(g, SKB(remote_ip6));
		load_peer_port(g);
	}
	asm_place(&g->s, own);
	note_peer6(g);
	judge6(g, &g->peer);
}

/*
 * A packet that leaves: TCP or UDP without anything that re-aims it.  The kernel may send elsewhere
 * than to the address that a hook judged where a socket's two address families, or two of its calls
 * at a time, get in each other's way (docs/egress.md says how).  So the packet is of the family of
 * the socket's peer; a datagram is judged by its own destination where it may be of that kind, and
 * by its socket's peer elsewhere: the host's firewall may have translated its destination by now
 * (the resolver of container engines is reached in that way).
 */
void gen_egress(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);

	if (grants(&g->local, NET_TCP) || takes_guests(g))
		take_strangers(g);
	load_header(g, six);
	keep_loopback4(g);
	load_field(g, BPF_B, PROTO, 9);
	require_proto(g);
	egress4(g);
	asm_place(&g->s, six);
	egress6(g);
	if (grants(&g->local, NET_TCP) || takes_guests(g))
		judge_accepted(g);
}
