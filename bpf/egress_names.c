/* SPDX-License-Identifier: MIT */
/*
 * Grants by host name: what no rule on addresses grants is asked of the maps (cave/names.h).  Calls to port 53 are
 * led to the run's resolver; other destinations are let through if a granted name has the address now, with the port,
 * and no denial covers it.  Of packets only that it has had the address in this run is asked: the call was judged,
 * and connections outlive what a lookup says.
 */
#include "bpf/egress_gen.h"

#include <linux/in.h>

#include "bpf/hostset.h"
#include "cave/names.h"

#define RAW_LOOPBACK4 0x0100007fu /* 127.0.0.1 */
#define RAW_LOOPBACK6 0x01000000u /* the last word of ::1 */
#define LOOPBACK4 0x7f000001u
#define MAPPED 0xffffu /* the third word of ::ffff:0:0/96 */

enum {
	PORT_OF_NAMES = 53,
	/* The stack below what the hooks use. */
	KEY = -160,   /* struct cave_names_key: the run, the address */
	ASKED = -184, /* struct cave_names_asked */
	COOKIE = -192,
	NOW = -200,	 /* 64 bits: what `until` is compared with */
	SAVED = -204,	 /* PROTO */
	FAMILY = -208,	 /* 4 or 6, from the judgement to here */
	RESOLVER = -212, /* the resolver's port, in network order */
	RUN_SIZE = 8,
};

_Static_assert(sizeof(struct cave_names_key) == 24 && offsetof(struct cave_names_key, address) == RUN_SIZE,
	       "the key begins with the run");
_Static_assert(sizeof(struct cave_names_asked) == 24, "fits between KEY and COOKIE");

const struct map_def egress_names_maps[NAMES_MAPS] = {
	[NAMES_RUN] = { CAVE_NAMES_RUN_MAP,
			{ BPF_MAP_TYPE_HASH, 8, sizeof(struct cave_names_run), CAVE_NAMES_RUNS, 0 },
			NULL },
	[NAMES_LIVE] = { CAVE_NAMES_LIVE_MAP,
			 { BPF_MAP_TYPE_HASH, sizeof(struct cave_names_key), sizeof(struct cave_names_until),
			   CAVE_NAMES_LIVES, 0 },
			 NULL },
	[NAMES_ASKED] = { CAVE_NAMES_ASKED_MAP,
			  { BPF_MAP_TYPE_LRU_HASH, 8, sizeof(struct cave_names_asked), CAVE_NAMES_SOCKETS, 0 },
			  NULL },
};

bool has_names(const struct hook_gen *g)
{
	return g->set->hosts != NULL;
}

void take_strangers(struct hook_gen *g)
{
	g->strangers = asm_new_label(&g->s);
	if (!has_names(g))
		g->peer.no = g->strangers;
}

void place_strangers(struct hook_gen *g)
{
	emit_port_blocks(g, &g->peer);
	emit_names(g);
	asm_place(&g->s, g->strangers);
}

static bool is_call(const struct hook_gen *g)
{
	return g->hook != CAVE_HOOK_EGRESS && g->hook != CAVE_HOOK_INGRESS;
}

/* --- short forms ---------------------------------------------------------- */

static void store(struct hook_gen *g, uint8_t size, int at, uint8_t reg)
{
	asm_store(&g->s, size, BPF_REG_10, (int16_t)at, reg);
}

/* Loses no register. */
static void store_constant(struct hook_gen *g, int at, uint32_t value)
{
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_ST | BPF_MEM | BPF_W,
					   .dst_reg = BPF_REG_10,
					   .off = (int16_t)at,
					   .imm = (int32_t)value });
}

static void load(struct hook_gen *g, uint8_t size, uint8_t reg, int at)
{
	asm_load(&g->s, size, reg, BPF_REG_10, (int16_t)at);
}

static void call(struct hook_gen *g, int32_t helper)
{
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = helper });
}

static void point(struct hook_gen *g, uint8_t reg, int at)
{
	asm_move(&g->s, reg, BPF_REG_10);
	asm_alu(&g->s, BPF_ALU64 | BPF_ADD | BPF_K, reg, (uint32_t)at);
}

/* R0 = the value of the key at `at`; to `none` if there is none. */
static void lookup(struct hook_gen *g, enum names_map map, int at, asm_label none)
{
	asm_map(&g->s, BPF_REG_1, g->names_map + map);
	point(g, BPF_REG_2, at);
	call(g, BPF_FUNC_map_lookup_elem);
	asm_jump(&g->s, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, none);
}

/* The run is the control group of who calls or, of a packet, that of its socket. */
static void store_run(struct hook_gen *g)
{
	if (!is_call(g))
		asm_move(&g->s, BPF_REG_1, CTX);
	call(g, is_call(g) ? BPF_FUNC_get_current_cgroup_id : BPF_FUNC_skb_cgroup_id);
	store(g, BPF_DW, KEY, BPF_REG_0);
}

/*
 * Into the key, IPv4 as it is mapped.  What is mapped in IPv6 is not that: the kernel sends it elsewhere
 * (docs/egress.md).
 */
void prepare_names(struct hook_gen *g, enum net_family family)
{
	asm_label native = asm_new_label(&g->s);
	const int at = KEY + RUN_SIZE;

	if (!has_names(g))
		return;
	store(g, BPF_W, SAVED, PROTO);
	if (family == NET_V4) {
		store_constant(g, FAMILY, 4);
		store_constant(g, at, 0);
		store_constant(g, at + 4, 0);
		store_constant(g, at + 8, MAPPED);
		store(g, BPF_W, at + 12, ADDR4);
		return;
	}
	store_constant(g, FAMILY, 6);
	for (int w = 0; w < 4; w++)
		store(g, BPF_W, at + 4 * w, addr6_reg[w]);
	jump_if(g, BPF_JNE, addr6_reg[0], 0, native);
	jump_if(g, BPF_JNE, addr6_reg[1], 0, native);
	jump_if(g, BPF_JEQ, addr6_reg[2], MAPPED, g->strangers);
	asm_place(&g->s, native);
}

/* --- the run's resolver --------------------------------------------------- */

/* Who was asked, for the reply to come from; then the resolver takes its place. */
static void redirect(struct hook_gen *g, asm_label six, asm_label no)
{
	bool v6 = g->hook == CAVE_HOOK_CONNECT6 || g->hook == CAVE_HOOK_SENDMSG6;
	int16_t last = (int16_t)(SOCK_ADDR(user_ip6) + 12);

	for (int w = 0; w < 4; w++) {
		load(g, BPF_W, BPF_REG_1, KEY + RUN_SIZE + 4 * w);
		store(g, BPF_W, ASKED + 4 * w, BPF_REG_1);
	}
	store_constant(g, ASKED + 16, PORT_OF_NAMES);
	store_constant(g, ASKED + 20, 0);
	asm_move(&g->s, BPF_REG_1, CTX);
	call(g, BPF_FUNC_get_socket_cookie);
	store(g, BPF_DW, COOKIE, BPF_REG_0);
	asm_map(&g->s, BPF_REG_1, g->names_map + NAMES_ASKED);
	point(g, BPF_REG_2, COOKIE);
	point(g, BPF_REG_3, ASKED);
	asm_set(&g->s, BPF_REG_4, BPF_ANY);
	call(g, BPF_FUNC_map_update_elem);
	asm_jump(&g->s, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, no);
	load(g, BPF_W, BPF_REG_1, RESOLVER);
	asm_store(&g->s, BPF_W, CTX, SOCK_ADDR(user_port), BPF_REG_1);
	if (!v6) {
		set_field(g, BPF_REG_1, RAW_LOOPBACK4, SOCK_ADDR(user_ip4));
		asm_goto(&g->s, g->allow);
		return;
	}
	load(g, BPF_W, BPF_REG_1, FAMILY);
	jump_if(g, BPF_JEQ, BPF_REG_1, 6, six);
	set_field(g, BPF_REG_1, RAW_LOOPBACK4, last);
	asm_goto(&g->s, g->allow);
	asm_place(&g->s, six);
	for (int w = 0; w < 3; w++)
		set_field(g, BPF_REG_1, 0, (int16_t)(SOCK_ADDR(user_ip6) + 4 * w));
	set_field(g, BPF_REG_1, RAW_LOOPBACK6, last);
	asm_goto(&g->s, g->allow);
}

/* The resolver's port of the family, in network order, in R1 and at RESOLVER; to `no` if it has none. */
static void load_resolver_port(struct hook_gen *g, asm_label no)
{
	asm_label six = asm_new_label(&g->s), known = asm_new_label(&g->s);

	lookup(g, NAMES_RUN, KEY, no);
	load(g, BPF_W, BPF_REG_1, FAMILY);
	jump_if(g, BPF_JEQ, BPF_REG_1, 6, six);
	asm_load(&g->s, BPF_W, BPF_REG_1, BPF_REG_0, offsetof(struct cave_names_run, port4));
	asm_goto(&g->s, known);
	asm_place(&g->s, six);
	asm_load(&g->s, BPF_W, BPF_REG_1, BPF_REG_0, offsetof(struct cave_names_run, port6));
	asm_place(&g->s, known);
	jump_if(g, BPF_JEQ, BPF_REG_1, 0, no);
	store(g, BPF_W, RESOLVER, BPF_REG_1);
}

/* To `no` unless the protocol that was saved is one that the hook judges. */
static void require_either(struct hook_gen *g, asm_label no)
{
	asm_label either = asm_new_label(&g->s);

	load(g, BPF_W, BPF_REG_1, SAVED);
	if (g->proto[NET_TCP])
		jump_if(g, BPF_JEQ, BPF_REG_1, IPPROTO_TCP, either);
	jump_if(g, BPF_JNE, BPF_REG_1, IPPROTO_UDP, no);
	asm_place(&g->s, either);
}

/* A call to port 53 by TCP or UDP that nothing grants, whoever is asked. */
static void lead_lookups(struct hook_gen *g, asm_label no)
{
	jump_if(g, BPF_JNE, PORT, PORT_OF_NAMES, no);
	require_either(g, no);
	load_resolver_port(g, no);
	redirect(g, asm_new_label(&g->s), no);
}

/*
 * What is for the resolver, or a packet from it.  A caller may choose the device of a datagram (IP_PKTINFO): only by
 * the loopback device does it get there; by another it would leave the host.
 */
static void pass_resolver(struct hook_gen *g)
{
	asm_label other = asm_new_label(&g->s), six = asm_new_label(&g->s), loopback = asm_new_label(&g->s);

	load(g, BPF_W, BPF_REG_1, FAMILY);
	jump_if(g, BPF_JEQ, BPF_REG_1, 6, six);
	load(g, BPF_W, BPF_REG_1, KEY + RUN_SIZE + 12);
	jump_if(g, BPF_JEQ, BPF_REG_1, LOOPBACK4, loopback);
	asm_goto(&g->s, other);
	asm_place(&g->s, six);
	for (int w = 0; w < 4; w++) {
		load(g, BPF_W, BPF_REG_1, KEY + RUN_SIZE + 4 * w);
		jump_if(g, BPF_JNE, BPF_REG_1, w == 3, other);
	}
	asm_place(&g->s, loopback);
	require_either(g, other);
	if (!is_call(g)) {
		asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(ifindex));
		jump_if(g, BPF_JNE, BPF_REG_1, CAVE_NAMES_DEVICE, other);
	}
	load_resolver_port(g, other);
	asm_host_order(&g->s, BPF_REG_1, 16);
	asm_jump_reg(&g->s, BPF_JMP32 | BPF_JEQ | BPF_X, BPF_REG_1, PORT, g->allow);
	asm_place(&g->s, other);
}

/* --- the addresses of names ----------------------------------------------- */

/* Bit i: class i has the port. */
static uint32_t classes_at(const struct host_set *set, enum net_proto proto, uint32_t port)
{
	uint32_t classes = 0;

	for (size_t c = 0; c < set->nclasses; c++)
		for (size_t i = 0; i < set->class[c].ports[proto].n; i++) {
			struct net_ports r = set->class[c].ports[proto].range[i];

			if (r.lo <= port && port <= r.hi)
				classes |= 1u << c;
		}
	return classes;
}

/* The next port from which on other classes may have it; beyond the last one if there is none. */
static uint32_t next_change(const struct host_set *set, enum net_proto proto, uint32_t port)
{
	uint32_t next = UINT16_MAX + 1;

	for (size_t c = 0; c < set->nclasses; c++)
		for (size_t i = 0; i < set->class[c].ports[proto].n; i++) {
			const struct net_ports r = set->class[c].ports[proto].range[i];

			if (r.lo > port && r.lo < next)
				next = r.lo;
			if (r.hi >= port && r.hi + 1u < next)
				next = r.hi + 1u;
		}
	return next;
}

/* The code for one set of classes: whether the value at R0 holds one of them. */
struct classes_block {
	uint32_t classes;
	asm_label label;
};

struct classes_blocks {
	struct classes_block *block;
	size_t n, cap;
	asm_label no;
};

static asm_label block_for(struct hook_gen *g, struct classes_blocks *b, uint32_t classes)
{
	if (!classes)
		return b->no;
	for (size_t i = 0; i < b->n; i++)
		if (b->block[i].classes == classes)
			return b->block[i].label;
	*ARENA_PUSH(g->s.arena, b->block, b->n, b->cap) = (struct classes_block){ classes, asm_new_label(&g->s) };
	return b->block[b->n - 1].label;
}

/* By the port: where the classes that have it are asked. */
static void split_ports(struct hook_gen *g, enum net_proto proto, struct classes_blocks *b)
{
	static const uint8_t port_reg[] = { PORT };
	const struct host_set *set = g->set->hosts;
	struct tree_segment *segment = NULL;
	size_t n = 0, cap = 0;
	uint32_t last = UINT32_MAX;

	for (uint32_t port = 0; port <= UINT16_MAX; port = next_change(set, proto, port)) {
		const uint32_t classes = classes_at(set, proto, port);

		if (classes != last)
			*ARENA_PUSH(g->s.arena, segment, n, cap) = (struct tree_segment){
				.start = { port }, .leaf = block_for(g, b, classes), .line = set->class[0].line
			};
		last = classes;
	}
	tree_emit(&g->s, port_reg, 1, segment, n);
}

static void ask_classes(struct hook_gen *g, const struct classes_block *b, asm_label yes, asm_label no)
{
	asm_place(&g->s, b->label);
	for (unsigned c = 0; c < CAVE_HOST_CLASSES; c++) {
		if (!(b->classes >> c & 1))
			continue;
		asm_load(&g->s, BPF_DW, BPF_REG_1, BPF_REG_0, (int16_t)(8 * c));
		asm_jump_reg(&g->s, BPF_JMP | BPF_JGT | BPF_X, BPF_REG_1, BPF_REG_3, yes);
	}
	asm_goto(&g->s, no);
}

/* To `yes` if a granted name has the address, with the port, now; of a packet, if it has had it. */
static void judge_names(struct hook_gen *g, asm_label yes, asm_label no)
{
	struct classes_blocks blocks = { .no = no };
	asm_label datagram = asm_new_label(&g->s);

	if (is_call(g))
		call(g, BPF_FUNC_ktime_get_ns);
	else
		asm_set(&g->s, BPF_REG_0, 0);
	store(g, BPF_DW, NOW, BPF_REG_0);
	lookup(g, NAMES_LIVE, KEY, no);
	load(g, BPF_W, BPF_REG_2, SAVED);
	load(g, BPF_DW, BPF_REG_3, NOW);
	if (g->proto[NET_TCP])
		jump_if(g, BPF_JNE, BPF_REG_2, IPPROTO_TCP, datagram);
	if (g->proto[NET_TCP])
		split_ports(g, NET_TCP, &blocks);
	asm_place(&g->s, datagram);
	jump_if(g, BPF_JNE, BPF_REG_2, IPPROTO_UDP, no);
	split_ports(g, NET_UDP, &blocks);
	for (size_t i = 0; i < blocks.n; i++)
		ask_classes(g, &blocks.block[i], yes, no);
}

/* The registers as a judgement finds them, from the key. */
static void restore(struct hook_gen *g, asm_label six)
{
	load(g, BPF_W, PROTO, SAVED);
	load(g, BPF_W, ADDR4, KEY + RUN_SIZE + 12);
	for (int w = 0; w < 4; w++)
		load(g, BPF_W, addr6_reg[w], KEY + RUN_SIZE + 4 * w);
	load(g, BPF_W, BPF_REG_1, FAMILY);
	jump_if(g, BPF_JEQ, BPF_REG_1, 6, six);
}

void emit_names(struct hook_gen *g)
{
	asm_label yes = asm_new_label(&g->s), other = asm_new_label(&g->s), done = asm_new_label(&g->s);

	if (!has_names(g) || g->names_done || !asm_is_used(&g->s, g->names))
		return;
	g->names_done = true;
	asm_place(&g->s, g->names);
	store_run(g);
	pass_resolver(g);
	judge_names(g, yes, other);
	if (asm_is_used(&g->s, yes)) {
		asm_place(&g->s, yes);
		restore(g, g->settle[NET_V6]);
		asm_goto(&g->s, g->settle[NET_V4]);
	}
	asm_place(&g->s, other);
	if (is_call(g))
		lead_lookups(g, done);
	asm_place(&g->s, done);
	load(g, BPF_W, PROTO, SAVED);
	asm_goto(&g->s, g->strangers);
}

/* --- who answered --------------------------------------------------------- */

/* To g->allow unless the sender in the context is the resolver: PORT, in network order, is its port. */
static void require_resolver(struct hook_gen *g, bool v6)
{
	asm_label six = asm_new_label(&g->s), known = asm_new_label(&g->s);

	store_constant(g, FAMILY, 4);
	if (v6) {
		load_words(g, SOCK_ADDR(user_ip6));
		jump_if(g, BPF_JNE, addr6_reg[0], 0, g->allow);
		jump_if(g, BPF_JNE, addr6_reg[1], 0, g->allow);
		jump_if(g, BPF_JEQ, addr6_reg[2], 0, six);
		jump_if(g, BPF_JNE, addr6_reg[2], RAW_MAPPED, g->allow);
		jump_if(g, BPF_JNE, addr6_reg[3], RAW_LOOPBACK4, g->allow);
		asm_goto(&g->s, known);
		asm_place(&g->s, six);
		jump_if(g, BPF_JNE, addr6_reg[3], RAW_LOOPBACK6, g->allow);
		store_constant(g, FAMILY, 6);
		asm_place(&g->s, known);
	} else {
		asm_load(&g->s, BPF_W, ADDR4, CTX, SOCK_ADDR(user_ip4));
		jump_if(g, BPF_JNE, ADDR4, RAW_LOOPBACK4, g->allow);
	}
	store_run(g);
	load_resolver_port(g, g->allow);
	asm_jump_reg(&g->s, BPF_JMP32 | BPF_JNE | BPF_X, BPF_REG_1, PORT, g->allow);
}

/* The resolver's address is replaced by that of the name server that the socket has asked. */
static void gen_answered(struct hook_gen *g, bool v6)
{
	const int16_t field = v6 ? SOCK_ADDR(user_ip6) : SOCK_ADDR(user_ip4);

	asm_move(&g->s, CTX, BPF_REG_1);
	asm_load(&g->s, BPF_W, PORT, CTX, SOCK_ADDR(user_port));
	require_resolver(g, v6);
	asm_move(&g->s, BPF_REG_1, CTX);
	call(g, BPF_FUNC_get_socket_cookie);
	store(g, BPF_DW, COOKIE, BPF_REG_0);
	lookup(g, NAMES_ASKED, COOKIE, g->allow);
	for (int w = v6 ? 0 : 3; w < 4; w++) {
		asm_load(&g->s, BPF_W, BPF_REG_1, BPF_REG_0, (int16_t)(4 * w));
		asm_host_order(&g->s, BPF_REG_1, 32);
		asm_store(&g->s, BPF_W, CTX, (int16_t)(v6 ? field + 4 * w : field), BPF_REG_1);
	}
	asm_load(&g->s, BPF_W, BPF_REG_1, BPF_REG_0, offsetof(struct cave_names_asked, port));
	asm_host_order(&g->s, BPF_REG_1, 16);
	asm_store(&g->s, BPF_W, CTX, SOCK_ADDR(user_port), BPF_REG_1);
	asm_goto(&g->s, g->allow);
}

void gen_answered4(struct hook_gen *g)
{
	gen_answered(g, false);
}

void gen_answered6(struct hook_gen *g)
{
	gen_answered(g, true);
}
