/* SPDX-License-Identifier: MIT */
/*
 * `listen udp`: who has sent a datagram to a granted endpoint may be answered, by the socket that got it.  A map holds
 * (socket, address, port) for each; it forgets the oldest when it is full, and who is forgotten is not answered.
 *
 * The key is on the stack from before an address is judged, since a judgement loses registers.
 */
#include "bpf/egress_gen.h"

#include <linux/in.h>
#include <stddef.h>

/* As the kernel compares it, byte by byte. */
struct guest {
	uint64_t cookie; /* of the socket: the kernel gives none a second time */
	uint32_t word[4]; /* in network order, IPv4 as mapped */
	uint32_t port;
	uint32_t zero;
};

enum {
	KEY = -96 + 8,
	VALUE = -96,
	GUESTS_MAX = 4096,
};

#define KEY_FIELD(field) ((int16_t)(KEY + (int)offsetof(struct guest, field)))

const struct map_def egress_guests = {
	.name = "udp_guests",
	.spec = { BPF_MAP_TYPE_LRU_HASH, sizeof(struct guest), sizeof(uint64_t), GUESTS_MAX, 0 },
};

bool takes_guests(const struct hook_gen *g)
{
	return grants(&g->local, NET_UDP);
}

static void note_port(struct hook_gen *g)
{
	asm_store(&g->s, BPF_W, BPF_REG_10, KEY_FIELD(port), PORT);
	asm_set(&g->s, BPF_REG_1, 0);
	asm_store(&g->s, BPF_W, BPF_REG_10, KEY_FIELD(zero), BPF_REG_1);
}

void note_peer4(struct hook_gen *g)
{
	if (!takes_guests(g))
		return;
	note_port(g);
	asm_store(&g->s, BPF_W, BPF_REG_10, KEY_FIELD(word[0]), BPF_REG_1);
	asm_store(&g->s, BPF_W, BPF_REG_10, KEY_FIELD(word[1]), BPF_REG_1);
	asm_set(&g->s, BPF_REG_1, RAW_MAPPED);
	asm_store(&g->s, BPF_W, BPF_REG_10, KEY_FIELD(word[2]), BPF_REG_1);
	asm_store(&g->s, BPF_W, BPF_REG_10, KEY_FIELD(word[3]), ADDR4);
}

void note_peer6(struct hook_gen *g)
{
	if (!takes_guests(g))
		return;
	note_port(g);
	for (int w = 0; w < 4; w++)
		asm_store(&g->s, BPF_W, BPF_REG_10, (int16_t)(KEY_FIELD(word) + 4 * w), addr6_reg[w]);
}

static void call(struct hook_gen *g, int32_t helper)
{
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = helper });
}

/* R1 = the map, R2 = the key. */
static void load_arguments(struct hook_gen *g)
{
	asm_map(&g->s, BPF_REG_1, g->guests);
	asm_move(&g->s, BPF_REG_2, BPF_REG_10);
	asm_alu(&g->s, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, (uint32_t)KEY);
}

/* Completes the key and looks it up: R0 is not 0 if it is there.  What has no socket is refused. */
static void look_up(struct hook_gen *g)
{
	asm_move(&g->s, BPF_REG_1, CTX);
	call(g, BPF_FUNC_get_socket_cookie);
	asm_jump(&g->s, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, g->deny);
	asm_store(&g->s, BPF_DW, BPF_REG_10, KEY_FIELD(cookie), BPF_REG_0);
	load_arguments(g);
	call(g, BPF_FUNC_map_lookup_elem);
}

void answer_guest(struct hook_gen *g)
{
	jump_if(g, BPF_JNE, PROTO, IPPROTO_UDP, g->deny);
	look_up(g);
	asm_jump(&g->s, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, g->allow);
	asm_goto(&g->s, g->deny);
}

void admit_guest(struct hook_gen *g)
{
	asm_load(&g->s, BPF_W, BPF_REG_1, BPF_REG_10, VISITOR);
	jump_if(g, BPF_JEQ, BPF_REG_1, 0, g->allow);
	jump_if(g, BPF_JNE, PROTO, IPPROTO_UDP, g->allow);
	look_up(g);
	asm_jump(&g->s, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, g->allow);
	asm_set(&g->s, BPF_REG_1, 1);
	asm_store(&g->s, BPF_DW, BPF_REG_10, VALUE, BPF_REG_1);
	load_arguments(g);
	asm_move(&g->s, BPF_REG_3, BPF_REG_10);
	asm_alu(&g->s, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, (uint32_t)VALUE);
	asm_set(&g->s, BPF_REG_4, BPF_ANY);
	/* A guest that could not be entered is not answered. */
	call(g, BPF_FUNC_map_update_elem);
	asm_goto(&g->s, g->allow);
}
