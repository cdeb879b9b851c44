/* SPDX-License-Identifier: MIT */
/*
 * What is refused is counted, by hook, protocol, destination and port, in a map of the policy; what the map has no room
 * for, in one number.  No rule is named, so that what reaches the same is the same code.
 */
#include "bpf/egress_gen.h"

#include <linux/in.h>

#include "cave/artefact.h"

enum {
	KEY = -88, /* struct cave_denial */
	VALUE = -96,
	DENIALS_MAX = 1024,
};

#define KEY_FIELD(field) ((int16_t)(KEY + (int)offsetof(struct cave_denial, field)))

const struct map_def egress_denials_map = {
	.name = CAVE_DENIALS_MAP,
	.spec = { BPF_MAP_TYPE_HASH, sizeof(struct cave_denial), sizeof(uint64_t), DENIALS_MAX, 0 },
};

const struct map_def egress_uncounted_map = {
	.name = CAVE_UNCOUNTED_MAP,
	.spec = { BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint64_t), 1, 0 },
};

/* --- the key -------------------------------------------------------------- */

static void store(struct hook_gen *g, int16_t field, uint8_t reg)
{
	asm_store(&g->s, BPF_W, BPF_REG_10, field, reg);
}

static void store_constant(struct hook_gen *g, uint8_t size, int16_t field, uint32_t value)
{
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_ST | BPF_MEM | size, .dst_reg = BPF_REG_10, .off = field,
					   .imm = (int32_t)value });
}

/* What nothing else is stored to: the words of ::ffff:0.0.0.0 but for the last, unless all four are known. */
static void store_constants(struct hook_gen *g, bool words)
{
	store_constant(g, BPF_W, KEY_FIELD(hook), (uint32_t)g->hook);
	store_constant(g, BPF_W, KEY_FIELD(zero), 0);
	if (!words)
		return;
	store_constant(g, BPF_DW, KEY_FIELD(word[0]), 0);
	store_constant(g, BPF_W, KEY_FIELD(word[2]), RAW_MAPPED);
}

static void copy_context(struct hook_gen *g, int16_t from, int16_t to)
{
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, from);
	store(g, to, BPF_REG_1);
}

static bool is_ipv4_call(enum cave_hook hook)
{
	return hook == CAVE_HOOK_CONNECT4 || hook == CAVE_HOOK_SENDMSG4 || hook == CAVE_HOOK_BIND4;
}

static void store_call(struct hook_gen *g)
{
	copy_context(g, SOCK_ADDR(protocol), KEY_FIELD(protocol));
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SOCK_ADDR(user_port));
	asm_host_order(&g->s, BPF_REG_1, 16);
	store(g, KEY_FIELD(port), BPF_REG_1);
	if (is_ipv4_call(g->hook)) {
		copy_context(g, SOCK_ADDR(user_ip4), KEY_FIELD(word[3]));
		return;
	}
	for (int w = 0; w < 4; w++)
		copy_context(g, (int16_t)(SOCK_ADDR(user_ip6) + 4 * w), (int16_t)(KEY_FIELD(word) + 4 * w));
}

/* As much of the packet as there is: what is missing becomes 0. */
static void fetch(struct hook_gen *g, uint32_t offset, int16_t to, uint32_t size)
{
	asm_move(&g->s, BPF_REG_1, CTX);
	asm_set(&g->s, BPF_REG_2, offset);
	asm_move(&g->s, BPF_REG_3, BPF_REG_10);
	asm_alu(&g->s, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, (uint32_t)to);
	asm_set(&g->s, BPF_REG_4, size);
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_skb_load_bytes });
}

static void fetch_number(struct hook_gen *g, uint32_t offset, uint32_t size, int16_t field)
{
	fetch(g, offset, VALUE, size);
	asm_load(&g->s, size == 1 ? BPF_B : BPF_H, BPF_REG_1, BPF_REG_10, VALUE);
	if (size == 2)
		asm_host_order(&g->s, BPF_REG_1, 16);
	store(g, field, BPF_REG_1);
}

/* Where the packet goes, on either way; a header of IPv4 counts for 20 bytes, one of IPv6 for 40. */
static void store_packet(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s), known = asm_new_label(&g->s);

	fetch(g, 0, VALUE, 1);
	asm_load(&g->s, BPF_B, BPF_REG_1, BPF_REG_10, VALUE);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, 0xf0);
	jump_if(g, BPF_JEQ, BPF_REG_1, 0x60, six);
	fetch_number(g, 9, 1, KEY_FIELD(protocol));
	fetch_number(g, 22, 2, KEY_FIELD(port));
	fetch(g, 16, KEY_FIELD(word[3]), 4);
	asm_goto(&g->s, known);
	asm_place(&g->s, six);
	fetch_number(g, 6, 1, KEY_FIELD(protocol));
	fetch_number(g, 42, 2, KEY_FIELD(port));
	fetch(g, 24, KEY_FIELD(word), 16);
	asm_place(&g->s, known);
}

/* Sockets have no destination; their family stands in its place. */
static void store_socket(struct hook_gen *g)
{
	copy_context(g, offsetof(struct bpf_sock, protocol), KEY_FIELD(protocol));
	copy_context(g, offsetof(struct bpf_sock, family), KEY_FIELD(port));
	store_constant(g, BPF_W, KEY_FIELD(word[3]), 0);
}

/* --- the count ------------------------------------------------------------ */

/* Nothing is judged any more: these hold the map and where the key is, through all calls. */
enum { MAP = BPF_REG_6, WHERE = BPF_REG_7 };

static void point(struct hook_gen *g, uint8_t reg, int16_t to)
{
	asm_move(&g->s, reg, BPF_REG_10);
	asm_alu(&g->s, BPF_ALU64 | BPF_ADD | BPF_K, reg, (uint32_t)to);
}

static void call(struct hook_gen *g, int32_t helper)
{
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = helper });
}

static void call_counts(struct hook_gen *g, int32_t helper)
{
	asm_move(&g->s, BPF_REG_1, MAP);
	asm_move(&g->s, BPF_REG_2, WHERE);
	call(g, helper);
}

static void jump_found(struct hook_gen *g, uint8_t op, asm_label to)
{
	asm_jump(&g->s, (uint8_t)(BPF_JMP | op | BPF_K), BPF_REG_0, 0, to);
}

static void emit_add(struct hook_gen *g)
{
	asm_label add = asm_new_label(&g->s), done = asm_new_label(&g->s);

	asm_map(&g->s, MAP, g->denials);
	point(g, WHERE, KEY);
	call_counts(g, BPF_FUNC_map_lookup_elem);
	jump_found(g, BPF_JNE, add);
	store_constant(g, BPF_DW, VALUE, 1);
	point(g, BPF_REG_3, VALUE);
	asm_set(&g->s, BPF_REG_4, BPF_NOEXIST);
	call_counts(g, BPF_FUNC_map_update_elem);
	jump_found(g, BPF_JEQ, done);
	/* Another processor has entered it meanwhile; or there is no room. */
	call_counts(g, BPF_FUNC_map_lookup_elem);
	jump_found(g, BPF_JNE, add);
	asm_map(&g->s, BPF_REG_1, g->denials + 1);
	point(g, BPF_REG_2, KEY_FIELD(zero));
	call(g, BPF_FUNC_map_lookup_elem);
	jump_found(g, BPF_JEQ, done);
	asm_place(&g->s, add);
	asm_set(&g->s, BPF_REG_1, 1);
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_0,
					   .src_reg = BPF_REG_1, .imm = BPF_ADD });
	asm_place(&g->s, done);
}

void count_denial(struct hook_gen *g)
{
	const bool packet = g->hook == CAVE_HOOK_EGRESS || g->hook == CAVE_HOOK_INGRESS;

	store_constants(g, packet || g->hook == CAVE_HOOK_SOCK_CREATE || is_ipv4_call(g->hook));
	if (g->hook == CAVE_HOOK_SOCK_CREATE)
		store_socket(g);
	else if (packet)
		store_packet(g);
	else
		store_call(g);
	emit_add(g);
}
