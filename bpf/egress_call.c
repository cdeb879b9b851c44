/* SPDX-License-Identifier: MIT */
/* The hooks of calls: connect and sendmsg to a peer, bind to an endpoint of one's own, new sockets. */
#include "bpf/egress_gen.h"

#include <linux/in.h>
#include <sys/socket.h>

#define RAW_LOOPBACK4 0x0100007fu /* 127.0.0.1 */
#define MULTICAST4 0xe0000000u /* 224.0.0.0; above it nothing is unicast */
#define MULTICAST6 0xff000000u /* the first word of ff00::/8 */

/* --- connect and sendmsg -------------------------------------------------- */

static void load_sock_addr(struct hook_gen *g)
{
	asm_move(&g->s, CTX, BPF_REG_1);
	asm_load(&g->s, BPF_W, PORT, CTX, SOCK_ADDR(user_port));
	asm_host_order(&g->s, PORT, 16);
	asm_load(&g->s, BPF_W, PROTO, CTX, SOCK_ADDR(protocol));
}

/*
 * A datagram sent with ancillary data on a connected socket names no address: the hook then sees
 * zeroes (__cgroup_bpf_run_filter_sock_addr, kernel/bpf/cgroup.c), which the kernel lets nobody
 * write.  Its peer was judged when the socket was connected.
 */
static void allow_connected(struct hook_gen *g, enum net_family family)
{
	asm_label addressed = asm_new_label(&g->s);

	if (!uses(g, NET_UDP))
		return;
	jump_if(g, BPF_JNE, PORT, 0, addressed);
	jump_if(g, BPF_JNE, PROTO, IPPROTO_UDP, g->deny);
	if (family == NET_V4) {
		jump_if(g, BPF_JNE, ADDR4, 0, g->deny);
	} else {
		for (int w = 0; w < 4; w++)
			jump_if(g, BPF_JNE, addr6_reg[w], 0, g->deny);
	}
	asm_goto(&g->s, g->allow);
	asm_place(&g->s, addressed);
}

/* A peer that is not granted. */
static void judge_stranger(struct hook_gen *g)
{
	if (!takes_guests(g))
		return;
	place_strangers(g);
	answer_guest(g);
}

static void gen_destination4(struct hook_gen *g, bool datagram)
{
	asm_label known = asm_new_label(&g->s);

	if (takes_guests(g))
		take_strangers(g);
	load_sock_addr(g);
	asm_load(&g->s, BPF_W, ADDR4, CTX, SOCK_ADDR(user_ip4));
	if (datagram)
		allow_connected(g, NET_V4);
	if (!takes_guests(g) && plane_decides(g, &g->peer)) {
		asm_host_order(&g->s, ADDR4, 32);
		plane_judge(g, &g->peer, true);
		return;
	}
	jump_if(g, BPF_JNE, ADDR4, 0, known);
	set_field(g, ADDR4, RAW_LOOPBACK4, SOCK_ADDR(user_ip4));
	asm_place(&g->s, known);
	note_peer4(g);
	judge4(g, &g->peer);
	judge_stranger(g);
}

static void gen_destination6(struct hook_gen *g, bool datagram)
{
	if (takes_guests(g))
		take_strangers(g);
	load_sock_addr(g);
	load_words(g, SOCK_ADDR(user_ip6));
	if (datagram)
		allow_connected(g, NET_V6);
	judge_words(g, &g->peer, SOCK_ADDR(user_ip6));
	judge_stranger(g);
}

void gen_connect4(struct hook_gen *g)
{
	gen_destination4(g, false);
}

void gen_connect6(struct hook_gen *g)
{
	gen_destination6(g, false);
}

void gen_sendmsg4(struct hook_gen *g)
{
	g->proto[NET_TCP] = false;
	gen_destination4(g, true);
}

void gen_sendmsg6(struct hook_gen *g)
{
	g->proto[NET_TCP] = false;
	gen_destination6(g, true);
}

/* --- bind and socket ------------------------------------------------------ */

static void require_unicast4(struct hook_gen *g)
{
	asm_host_order(&g->s, ADDR4, 32);
	jump_if(g, BPF_JGE, ADDR4, MULTICAST4, g->deny);
	asm_goto(&g->s, g->allow);
}

static bool listens(const struct hook_gen *g)
{
	return grants(&g->local, NET_TCP) || grants(&g->local, NET_UDP);
}

/* Port 0 is one that the kernel chooses; any other must be granted. */
void gen_bind4(struct hook_gen *g)
{
	asm_label named = listens(g) ? asm_new_label(&g->s) : g->deny;

	load_sock_addr(g);
	asm_load(&g->s, BPF_W, ADDR4, CTX, SOCK_ADDR(user_ip4));
	jump_if(g, BPF_JNE, PORT, 0, named);
	require_proto(g);
	require_unicast4(g);
	if (!listens(g))
		return;
	asm_place(&g->s, named);
	judge4(g, &g->local);
}

void gen_bind6(struct hook_gen *g)
{
	asm_label native = asm_new_label(&g->s);
	asm_label named = listens(g) ? asm_new_label(&g->s) : g->deny;

	load_sock_addr(g);
	load_words(g, SOCK_ADDR(user_ip6));
	jump_if(g, BPF_JNE, PORT, 0, named);
	require_proto(g);
	jump_if(g, BPF_JNE, addr6_reg[0], 0, native);
	jump_if(g, BPF_JNE, addr6_reg[1], 0, native);
	jump_if(g, BPF_JNE, addr6_reg[2], RAW_MAPPED, native);
	asm_move(&g->s, ADDR4, addr6_reg[3]);
	require_unicast4(g);
	asm_place(&g->s, native);
	asm_host_order(&g->s, addr6_reg[0], 32);
	jump_if(g, BPF_JGE, addr6_reg[0], MULTICAST6, g->deny);
	asm_goto(&g->s, g->allow);
	if (!listens(g))
		return;
	asm_place(&g->s, named);
	judge_words(g, &g->local, 0);
}

static void allow_socket(struct hook_gen *g, uint32_t type, uint32_t protocol)
{
	asm_label other = asm_new_label(&g->s);

	jump_if(g, BPF_JNE, BPF_REG_2, type, other);
	jump_if(g, BPF_JEQ, BPF_REG_3, protocol, g->allow);
	asm_place(&g->s, other);
}

/*
 * Protocol 0 has been replaced by the type's own when this runs (inet_create, net/ipv4/af_inet.c).
 */
void gen_sock_create(struct hook_gen *g)
{
	asm_label inet = asm_new_label(&g->s);

	asm_move(&g->s, CTX, BPF_REG_1);
	asm_load(&g->s, BPF_W, BPF_REG_0, BPF_REG_1, offsetof(struct bpf_sock, family));
	asm_load(&g->s, BPF_W, BPF_REG_2, BPF_REG_1, offsetof(struct bpf_sock, type));
	asm_load(&g->s, BPF_W, BPF_REG_3, BPF_REG_1, offsetof(struct bpf_sock, protocol));
	jump_if(g, BPF_JEQ, BPF_REG_0, AF_INET, inet);
	jump_if(g, BPF_JNE, BPF_REG_0, AF_INET6, g->deny);
	asm_place(&g->s, inet);
	if (uses(g, NET_TCP))
		allow_socket(g, SOCK_STREAM, IPPROTO_TCP);
	if (uses(g, NET_UDP))
		allow_socket(g, SOCK_DGRAM, IPPROTO_UDP);
	asm_goto(&g->s, g->deny);
}
