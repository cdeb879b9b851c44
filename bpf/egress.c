/* SPDX-License-Identifier: MIT */
/*
 * The egress programs, one per hook.  What each decides is in docs/egress.md.
 *
 * Registers: R6 the context, R7 the port, R8 an IPv4 address, R2-R5 an IPv6 address, R0 the
 * protocol; all numbers in host order once judged.  The artefact is for little-endian machines, so
 * network-order constants are written as such a machine loads them.
 */
#include "bpf/program.h"

#include <linux/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bpf/egress_asm.h"
#include "bpf/egress_tree.h"

#define RAW_LOOPBACK4 0x0100007fu /* 127.0.0.1 */
#define RAW_LOOPBACK6 0x01000000u /* the last word of ::1 */
#define RAW_MAPPED 0xffff0000u /* the third word of ::ffff:0:0/96 */
#define RAW_FRAGMENT 0xff3fu /* IPv4 more-fragments and fragment offset */
#define MULTICAST4 0xe0000000u /* 224.0.0.0; above it nothing is unicast */
#define MULTICAST6 0xff000000u /* the first word of ff00::/8 */

enum {
	CTX = BPF_REG_6,
	PORT = BPF_REG_7,
	ADDR4 = BPF_REG_8,
	PROTO = BPF_REG_0,
	HEADER_SIZE = 24, /* up to the end of the IPv6 source; less than any TCP or UDP packet */
	HEADER = -HEADER_SIZE, /* its place in the stack */
	EXTRA = -32, /* two bytes beyond the network header */
	REST_SIZE = 20, /* what follows of IPv6: the destination, and the ports */
	REST = EXTRA - REST_SIZE,
	TCP_FLAGS = 13, /* offset in the TCP header */
	TCP_SYN = 0x02,
	TCP_ACK = 0x10,
};

static const uint8_t addr4_reg[] = { ADDR4 };
static const uint8_t addr6_reg[] = { BPF_REG_2, BPF_REG_3, BPF_REG_4, BPF_REG_5 };
static const uint8_t port_reg[] = { PORT };

/* The code that decides on the ports of one set. */
struct ports_block {
	bool used;
	asm_label label;
	line_id line; /* of the first address that leads to it */
};

/* What an endpoint is judged by, and where the judgement leads. */
struct judge {
	const struct net_cell (*cell)[NET_FAMILIES];
	asm_label yes, no;
	struct ports_block *ports; /* by port set */
	bool resolver; /* the host's name servers too */
};

/* One program while it is generated. */
struct hook_gen {
	struct assembler s;
	enum cave_hook hook;
	const struct net_set *set;
	bool proto[NET_PROTOS]; /* those that this hook judges */
	asm_label allow, deny;
	struct judge peer, local; /* destinations; endpoints of one's own */
};

#define SOCK_ADDR(field) ((int16_t)offsetof(struct bpf_sock_addr, field))
#define SKB(field) ((int16_t)offsetof(struct __sk_buff, field))

/* --- judging a destination ------------------------------------------------ */

static bool grants(const struct judge *j, int proto)
{
	return j->cell[proto][NET_V4].n || j->cell[proto][NET_V6].n || j->resolver;
}

static asm_label ports_label(struct hook_gen *g, const struct judge *j, const struct net_interval *v)
{
	struct ports_block *b = &j->ports[v->ports];

	if (!b->used)
		*b = (struct ports_block){ true, asm_new_label(&g->s), v->line };
	return b->label;
}

static void add_segment(struct tree_segment *segment, size_t *n, enum net_family family,
			struct net_addr at, asm_label leaf, line_id line)
{
	struct tree_segment *t = &segment[(*n)++];

	*t = (struct tree_segment){ .leaf = leaf, .line = line };
	if (family == NET_V4) {
		t->start[0] = (uint32_t)at.lo;
		return;
	}
	t->start[0] = (uint32_t)(at.hi >> 32);
	t->start[1] = (uint32_t)at.hi;
	t->start[2] = (uint32_t)(at.lo >> 32);
	t->start[3] = (uint32_t)at.lo;
}

/* The address in registers is judged for one protocol: to the block of its ports, or refused. */
static void judge_address(struct hook_gen *g, const struct judge *j, int proto, enum net_family family)
{
	const struct net_cell *c = &j->cell[proto][family];
	struct tree_segment *segment = ARENA_ARRAY(g->s.arena, 2 * c->n + 1, struct tree_segment);
	struct net_addr next = { 0, 0 };
	bool wrapped = false;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct net_interval *v = &c->interval[i];

		if (net_addr_cmp(v->lo, next))
			add_segment(segment, &n, family, next, j->no, v->line);
		add_segment(segment, &n, family, v->lo, ports_label(g, j, v), v->line);
		next = v->hi;
		next.lo++;
		next.hi += next.lo == 0;
		wrapped = family == NET_V4 ? next.lo > UINT32_MAX : !next.lo && !next.hi;
	}
	if (!wrapped)
		add_segment(segment, &n, family, next, j->no,
			    c->n ? c->interval[c->n - 1].line : 0);
	if (family == NET_V4)
		tree_emit(&g->s, addr4_reg, 1, segment, n);
	else
		tree_emit(&g->s, addr6_reg, 4, segment, n);
}

static bool same_cell(const struct net_cell *a, const struct net_cell *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (net_addr_cmp(a->interval[i].lo, b->interval[i].lo) ||
		    net_addr_cmp(a->interval[i].hi, b->interval[i].hi) ||
		    a->interval[i].ports != b->interval[i].ports)
			return false;
	return true;
}

/* Compares a register with what the runtime puts there. */
static void compare_resolver(struct hook_gen *g, uint32_t slot, uint32_t field, uint8_t op, uint8_t reg,
			     asm_label to)
{
	bool port = field == CAVE_RESOLVER_PORT4 || field == CAVE_RESOLVER_PORT6;

	asm_resolver(&g->s, g->hook, slot, field);
	asm_jump(&g->s, (uint8_t)(BPF_JMP32 | op | BPF_K), reg, port ? CAVE_RESOLVER_UNSET : 0, to);
}

static void judge_slot(struct hook_gen *g, const struct judge *j, enum net_family family, uint32_t slot)
{
	asm_label next = asm_new_label(&g->s);

	if (family == NET_V4) {
		compare_resolver(g, slot, CAVE_RESOLVER_PORT4, BPF_JNE, PORT, next);
		compare_resolver(g, slot, CAVE_RESOLVER_ADDRESS4, BPF_JEQ, ADDR4, j->yes);
	} else {
		compare_resolver(g, slot, CAVE_RESOLVER_PORT6, BPF_JNE, PORT, next);
		for (uint32_t w = 0; w < 3; w++)
			compare_resolver(g, slot, CAVE_RESOLVER_WORD6 + w, BPF_JNE, addr6_reg[w], next);
		compare_resolver(g, slot, CAVE_RESOLVER_WORD6 + 3, BPF_JEQ, addr6_reg[3], j->yes);
	}
	asm_place(&g->s, next);
}

/* The host's name servers, by TCP and UDP. */
static void judge_resolver(struct hook_gen *g, const struct judge *j, enum net_family family)
{
	asm_label ours = asm_new_label(&g->s), others = asm_new_label(&g->s);
	line_id outer = g->s.current;

	g->s.current = g->set->resolver_line;
	if (g->proto[NET_TCP])
		asm_jump(&g->s, BPF_JMP32 | BPF_JEQ | BPF_K, PROTO, IPPROTO_TCP, ours);
	asm_jump(&g->s, BPF_JMP32 | BPF_JNE | BPF_K, PROTO, IPPROTO_UDP, others);
	asm_place(&g->s, ours);
	for (uint32_t slot = 0; slot < CAVE_RESOLVERS; slot++)
		judge_slot(g, j, family, slot);
	asm_place(&g->s, others);
	g->s.current = outer;
}

/*
 * The address in registers is judged by the protocol in PROTO; one tree does for both if they reach
 * the same.
 */
static void judge(struct hook_gen *g, const struct judge *j, enum net_family family)
{
	static const uint32_t number[NET_PROTOS] = { IPPROTO_TCP, IPPROTO_UDP };
	asm_label shared = asm_new_label(&g->s);
	bool share = g->proto[NET_TCP] && grants(j, NET_TCP) && grants(j, NET_UDP) &&
		     same_cell(&j->cell[NET_TCP][family], &j->cell[NET_UDP][family]);

	if (j->resolver)
		judge_resolver(g, j, family);
	if (share)
		asm_jump(&g->s, BPF_JMP32 | BPF_JEQ | BPF_K, PROTO, IPPROTO_TCP, shared);
	for (int proto = share ? NET_UDP : NET_TCP; proto < NET_PROTOS; proto++) {
		asm_label other;

		if (!g->proto[proto] || !grants(j, proto))
			continue;
		other = asm_new_label(&g->s);
		asm_jump(&g->s, BPF_JMP32 | BPF_JNE | BPF_K, PROTO, number[proto], other);
		if (share)
			asm_place(&g->s, shared);
		judge_address(g, j, proto, family);
		asm_place(&g->s, other);
	}
	asm_goto(&g->s, j->no);
}

static void judge4(struct hook_gen *g, const struct judge *j)
{
	asm_host_order(&g->s, ADDR4, 32);
	judge(g, j, NET_V4);
}

static void judge6(struct hook_gen *g, const struct judge *j)
{
	for (int w = 0; w < 4; w++)
		asm_host_order(&g->s, addr6_reg[w], 32);
	judge(g, j, NET_V6);
}

static void emit_ports(struct hook_gen *g, const struct judge *j, const struct net_portset *p, line_id line)
{
	struct tree_segment *segment = ARENA_ARRAY(g->s.arena, 2 * p->n + 1, struct tree_segment);
	uint32_t next = 0;
	size_t n = 0;

	for (size_t k = 0; k < p->n; k++) {
		if (p->range[k].lo != next)
			add_segment(segment, &n, NET_V4, (struct net_addr){ 0, next }, j->no,
				    line);
		add_segment(segment, &n, NET_V4, (struct net_addr){ 0, p->range[k].lo }, j->yes,
			    line);
		next = p->range[k].hi + 1u;
	}
	if (next <= UINT16_MAX)
		add_segment(segment, &n, NET_V4, (struct net_addr){ 0, next }, j->no, line);
	tree_emit(&g->s, port_reg, 1, segment, n);
}

/* One block for every set of ports that some address led to. */
static void emit_port_blocks(struct hook_gen *g, const struct judge *j)
{
	for (uint32_t i = 0; i < g->set->nportsets; i++) {
		if (!j->ports[i].used)
			continue;
		asm_place(&g->s, j->ports[i].label);
		emit_ports(g, j, &g->set->portset[i], j->ports[i].line);
	}
}

/* --- connect and sendmsg -------------------------------------------------- */

static void jump_if(struct hook_gen *g, uint8_t op, uint8_t reg, uint32_t imm, asm_label to)
{
	asm_jump(&g->s, (uint8_t)(BPF_JMP32 | op | BPF_K), reg, imm, to);
}

static void set_field(struct hook_gen *g, uint8_t reg, uint32_t value, int16_t field)
{
	asm_set(&g->s, reg, value);
	asm_store(&g->s, BPF_W, CTX, field, reg);
}

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

	if (!grants(&g->peer, NET_UDP))
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

static void gen_destination4(struct hook_gen *g, bool datagram)
{
	asm_label known = asm_new_label(&g->s);

	load_sock_addr(g);
	asm_load(&g->s, BPF_W, ADDR4, CTX, SOCK_ADDR(user_ip4));
	if (datagram)
		allow_connected(g, NET_V4);
	jump_if(g, BPF_JNE, ADDR4, 0, known);
	set_field(g, ADDR4, RAW_LOOPBACK4, SOCK_ADDR(user_ip4));
	asm_place(&g->s, known);
	judge4(g, &g->peer);
}

static void load_words(struct hook_gen *g, int16_t field)
{
	for (int w = 0; w < 4; w++)
		asm_load(&g->s, BPF_W, addr6_reg[w], CTX, (int16_t)(field + 4 * w));
}

/*
 * Judges the address in R2-R5, in network order: as IPv4 if it is mapped.  With `field`, the
 * unspecified address is replaced by loopback there, as the kernel would do after the hook.
 */
static void judge_words(struct hook_gen *g, const struct judge *j, int16_t field)
{
	asm_label native = asm_new_label(&g->s), unspecified = asm_new_label(&g->s),
		  mapped = asm_new_label(&g->s);

	jump_if(g, BPF_JNE, addr6_reg[0], 0, native);
	jump_if(g, BPF_JNE, addr6_reg[1], 0, native);
	jump_if(g, BPF_JEQ, addr6_reg[2], 0, unspecified);
	jump_if(g, BPF_JNE, addr6_reg[2], RAW_MAPPED, native);
	asm_move(&g->s, ADDR4, addr6_reg[3]);
	if (field) {
		jump_if(g, BPF_JNE, ADDR4, 0, mapped);
		set_field(g, ADDR4, RAW_LOOPBACK4, (int16_t)(field + 12));
		asm_place(&g->s, mapped);
	}
	judge4(g, j);
	asm_place(&g->s, unspecified);
	if (field) {
		jump_if(g, BPF_JNE, addr6_reg[3], 0, native);
		set_field(g, addr6_reg[3], RAW_LOOPBACK6, (int16_t)(field + 12));
	}
	asm_place(&g->s, native);
	judge6(g, j);
}

static void gen_destination6(struct hook_gen *g, bool datagram)
{
	load_sock_addr(g);
	load_words(g, SOCK_ADDR(user_ip6));
	if (datagram)
		allow_connected(g, NET_V6);
	judge_words(g, &g->peer, SOCK_ADDR(user_ip6));
}

static void gen_connect4(struct hook_gen *g)
{
	gen_destination4(g, false);
}

static void gen_connect6(struct hook_gen *g)
{
	gen_destination6(g, false);
}

static void gen_sendmsg4(struct hook_gen *g)
{
	g->proto[NET_TCP] = false;
	gen_destination4(g, true);
}

static void gen_sendmsg6(struct hook_gen *g)
{
	g->proto[NET_TCP] = false;
	gen_destination6(g, true);
}

/* --- bind and socket ------------------------------------------------------ */

static bool uses(const struct hook_gen *g, int proto)
{
	return grants(&g->peer, proto) || grants(&g->local, proto);
}

/* Refuses protocols that are not granted. */
static void require_proto(struct hook_gen *g)
{
	asm_label granted = asm_new_label(&g->s);

	if (uses(g, NET_TCP))
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_TCP, granted);
	if (uses(g, NET_UDP))
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_UDP, granted);
	asm_goto(&g->s, g->deny);
	asm_place(&g->s, granted);
}

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
static void gen_bind4(struct hook_gen *g)
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

static void gen_bind6(struct hook_gen *g)
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
static void gen_sock_create(struct hook_gen *g)
{
	asm_label inet = asm_new_label(&g->s);

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

/* --- packets -------------------------------------------------------------- */

/* bpf_skb_load_bytes(ctx, offset, stack + to, size); a packet that is shorter is refused. */
static void load_bytes(struct hook_gen *g, uint32_t offset, int16_t to, uint32_t size)
{
	asm_move(&g->s, BPF_REG_1, CTX);
	asm_set(&g->s, BPF_REG_2, offset);
	asm_move(&g->s, BPF_REG_3, BPF_REG_10);
	asm_alu(&g->s, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, (uint32_t)to);
	asm_set(&g->s, BPF_REG_4, size);
	asm_emit(&g->s,
		 (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_skb_load_bytes });
	jump_if(g, BPF_JNE, BPF_REG_0, 0, g->deny);
}

/*
 * Loads the network header.  IPv4 goes on below, IPv6 at `six`; anything else, IPv4 with options
 * (source routes) and IPv4 fragments are refused.  The hook sees a datagram before it is cut and
 * after it is whole again (ip_finish_output, net/ipv4/ip_output.c; ip_local_deliver,
 * net/ipv4/ip_input.c).
 */
static void load_header(struct hook_gen *g, asm_label six)
{
	asm_label four = asm_new_label(&g->s);

	asm_move(&g->s, CTX, BPF_REG_1);
	load_bytes(g, 0, HEADER, HEADER_SIZE);
	asm_load(&g->s, BPF_B, BPF_REG_1, BPF_REG_10, HEADER);
	jump_if(g, BPF_JEQ, BPF_REG_1, 0x45, four);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, 0xf0);
	jump_if(g, BPF_JEQ, BPF_REG_1, 0x60, six);
	asm_goto(&g->s, g->deny);
	asm_place(&g->s, four);
	asm_load(&g->s, BPF_H, BPF_REG_1, BPF_REG_10, HEADER + 6);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, RAW_FRAGMENT);
	jump_if(g, BPF_JNE, BPF_REG_1, 0, g->deny);
}

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

	qsort(range, nranges, sizeof *range, by_start);
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

/* Goes to `outside` unless PORT is 0 or reached by UDP at some IPv4 address. */
static void require_some_port(struct hook_gen *g, asm_label outside)
{
	const struct net_cell *c = &g->set->cell[NET_UDP][NET_V4];
	bool *listed = ARENA_ARRAY(g->s.arena, g->set->nportsets + 1, bool);
	asm_label inside = asm_new_label(&g->s);
	struct word_range *range = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t slot = 0; g->peer.resolver && slot < CAVE_RESOLVERS; slot++)
		compare_resolver(g, slot, CAVE_RESOLVER_PORT4, BPF_JEQ, PORT, inside);
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

/* To `inside` if R1 is an address that UDP reaches by some port, else to `outside`. */
static void split_some_address(struct hook_gen *g, asm_label inside, asm_label outside)
{
	const struct net_cell *c = &g->set->cell[NET_UDP][NET_V4];
	struct word_range *range = ARENA_ARRAY(g->s.arena, c->n + 1, struct word_range);

	asm_host_order(&g->s, BPF_REG_1, 32);
	if (g->peer.resolver)
		accept_resolver_address(g, inside);
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
	asm_load(&g->s, BPF_W, BPF_REG_1, BPF_REG_10, HEADER + 12);
	asm_emit(&g->s, (struct bpf_insn){ .code = BPF_ALU | BPF_XOR | BPF_X,
					   .dst_reg = BPF_REG_1,
					   .src_reg = ADDR4 });
	jump_if(g, BPF_JEQ, BPF_REG_1, 0, own);
	asm_move(&g->s, BPF_REG_1, ADDR4);
	split_some_address(g, own, peer);
}

static void load_peer_port(struct hook_gen *g)
{
	asm_load(&g->s, BPF_W, PORT, CTX, SKB(remote_port));
	asm_host_order(&g->s, PORT, 32);
}

/* To `native` unless the words, in network order, are a mapped address. */
static void require_mapped(struct hook_gen *g, asm_label native)
{
	jump_if(g, BPF_JNE, addr6_reg[0], 0, native);
	jump_if(g, BPF_JNE, addr6_reg[1], 0, native);
	jump_if(g, BPF_JNE, addr6_reg[2], RAW_MAPPED, native);
}

/* The peer of an IPv6 socket that sends IPv4; what has none may be answering a connection. */
static void load_mapped_peer(struct hook_gen *g)
{
	load_words(g, SKB(remote_ip6));
	require_mapped(g, g->peer.no);
	asm_move(&g->s, ADDR4, addr6_reg[3]);
	load_peer_port(g);
}

/* An IPv4 packet that leaves, its protocol in PROTO. */
static void egress4(struct hook_gen *g)
{
	asm_label inet = asm_new_label(&g->s), peer = asm_new_label(&g->s),
		  connected = asm_new_label(&g->s), own = asm_new_label(&g->s);
	bool tcp = uses(g, NET_TCP), udp = grants(&g->peer, NET_UDP);

	asm_load(&g->s, BPF_W, ADDR4, BPF_REG_10, HEADER + 16);
	asm_load(&g->s, BPF_H, PORT, BPF_REG_10, HEADER + 22);
	asm_host_order(&g->s, PORT, 16);
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
	if (udp)
		split_mixed(g, own, peer);
	asm_place(&g->s, peer);
	load_peer_port(g);
	/* Unconnected datagrams have no peer; sendmsg4 judged them. */
	if (udp) {
		jump_if(g, BPF_JNE, PORT, 0, connected);
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_UDP, g->allow);
	}
	asm_place(&g->s, connected);
	asm_load(&g->s, BPF_W, ADDR4, CTX, SKB(remote_ip4));
	asm_place(&g->s, own);
	judge4(g, &g->peer);
}

static void refuse_mapped(struct hook_gen *g, int16_t at)
{
	asm_label native = asm_new_label(&g->s);

	for (int w = 0; w < 4; w++)
		asm_load(&g->s, BPF_W, addr6_reg[w], BPF_REG_10, (int16_t)(at + 4 * w));
	require_mapped(g, native);
	asm_goto(&g->s, g->deny);
	asm_place(&g->s, native);
}

/* An IPv6 packet that leaves. */
static void egress6(struct hook_gen *g)
{
	asm_label own = asm_new_label(&g->s);
	bool tcp = uses(g, NET_TCP), udp = grants(&g->peer, NET_UDP);

	load_bytes(g, HEADER_SIZE, REST, REST_SIZE);
	/* Any extension header, a routing header above all, stands here as a protocol of its own. */
	asm_load(&g->s, BPF_B, PROTO, BPF_REG_10, HEADER + 6);
	require_proto(g);
	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(family));
	jump_if(g, BPF_JNE, BPF_REG_1, AF_INET6, g->deny);
	refuse_mapped(g, HEADER + 8);
	refuse_mapped(g, REST);
	asm_load(&g->s, BPF_H, PORT, BPF_REG_10, REST + 18);
	asm_host_order(&g->s, PORT, 16);
	if (tcp && udp)
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_UDP, own);
	if (tcp) {
		load_words(g, SKB(remote_ip6));
		load_peer_port(g);
	}
	asm_place(&g->s, own);
	judge6(g, &g->peer);
}

/* --- packets of connections that came in ---------------------------------- */

static void require_unspecified(struct hook_gen *g)
{
	for (int w = 0; w < 4; w++)
		jump_if(g, BPF_JNE, addr6_reg[w], 0, g->deny);
}

/*
 * A listening socket has no peer; the answer to a SYN is sent in its name (tcp_make_synack,
 * net/ipv4/tcp_output.c), and nothing else is.
 */
static void require_answer(struct hook_gen *g, uint32_t header)
{
	asm_label accepted = asm_new_label(&g->s);

	asm_load(&g->s, BPF_W, BPF_REG_1, CTX, SKB(remote_port));
	jump_if(g, BPF_JNE, BPF_REG_1, 0, accepted);
	load_bytes(g, header + TCP_FLAGS, EXTRA, 1);
	asm_load(&g->s, BPF_B, BPF_REG_1, BPF_REG_10, EXTRA);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, TCP_SYN | TCP_ACK);
	jump_if(g, BPF_JNE, BPF_REG_1, TCP_SYN | TCP_ACK, g->deny);
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
	asm_load(&g->s, BPF_W, ADDR4, BPF_REG_10, HEADER + 12);
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

/*
 * A TCP packet whose socket has a peer that is not granted, or none: of a connection that came in,
 * or of the listening socket that answers one.  Its own end must be granted, and both ends of the
 * socket be of the packet's family.  Only what came in has such a peer, connect() being judged.
 */
static void judge_accepted(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);

	asm_place(&g->s, g->peer.no);
	jump_if(g, BPF_JNE, PROTO, IPPROTO_TCP, g->deny);
	asm_load(&g->s, BPF_B, BPF_REG_1, BPF_REG_10, HEADER);
	jump_if(g, BPF_JNE, BPF_REG_1, 0x45, six);
	accepted4(g);
	asm_place(&g->s, six);
	accepted6(g);
}

/*
 * A packet that leaves: TCP or UDP without anything that re-aims it.  The kernel may send elsewhere
 * than to the address that a hook judged where a socket's two address families, or two of its calls
 * at a time, get in each other's way (docs/egress.md says how).  So the packet is of the family of
 * the socket's peer; a datagram is judged by its own destination where it may be of that kind, and
 * by its socket's peer elsewhere: the host's firewall may have translated its destination by now
 * (the resolver of container engines is reached in that way).
 */
static void gen_egress(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);

	if (grants(&g->local, NET_TCP))
		g->peer.no = asm_new_label(&g->s);
	load_header(g, six);
	asm_load(&g->s, BPF_B, PROTO, BPF_REG_10, HEADER + 9);
	require_proto(g);
	egress4(g);
	asm_place(&g->s, six);
	egress6(g);
	emit_port_blocks(g, &g->peer);
	if (grants(&g->local, NET_TCP))
		judge_accepted(g);
}

/* The endpoint that a packet is addressed to, judged as one's own. */
static void judge_own_endpoint(struct hook_gen *g, uint32_t header)
{
	load_bytes(g, header + 2, EXTRA, 2);
	asm_load(&g->s, BPF_H, PORT, BPF_REG_10, EXTRA);
	asm_host_order(&g->s, PORT, 16);
	if (header == 20) {
		asm_load(&g->s, BPF_W, ADDR4, BPF_REG_10, HEADER + 16);
		asm_set(&g->s, PROTO, IPPROTO_TCP);
		judge4(g, &g->local);
		return;
	}
	load_bytes(g, 24, HEADER, 16);
	for (int w = 0; w < 4; w++)
		asm_load(&g->s, BPF_W, addr6_reg[w], BPF_REG_10, (int16_t)(HEADER + 4 * w));
	asm_set(&g->s, PROTO, IPPROTO_TCP);
	judge6(g, &g->local);
}

/*
 * TCP: a new connection (SYN without ACK) comes in at endpoints that are granted only; what belongs
 * to one that was made passes.
 */
static void judge_syn(struct hook_gen *g, uint32_t header)
{
	asm_label syn = grants(&g->local, NET_TCP) ? asm_new_label(&g->s) : g->deny;

	load_bytes(g, header + TCP_FLAGS, EXTRA, 1);
	asm_load(&g->s, BPF_B, BPF_REG_1, BPF_REG_10, EXTRA);
	asm_alu(&g->s, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, TCP_SYN | TCP_ACK);
	jump_if(g, BPF_JEQ, BPF_REG_1, TCP_SYN, syn);
	asm_goto(&g->s, g->allow);
	if (!grants(&g->local, NET_TCP))
		return;
	asm_place(&g->s, syn);
	judge_own_endpoint(g, header);
}

static void load_source_port(struct hook_gen *g, uint32_t header)
{
	load_bytes(g, header, EXTRA, 2);
	asm_load(&g->s, BPF_H, PORT, BPF_REG_10, EXTRA);
	asm_host_order(&g->s, PORT, 16);
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

/* A packet that arrives: of a connection that was made, or a datagram from a granted peer. */
static void gen_ingress(struct hook_gen *g)
{
	asm_label six = asm_new_label(&g->s);

	load_header(g, six);
	asm_load(&g->s, BPF_B, BPF_REG_1, BPF_REG_10, HEADER + 9);
	split_protocols(g, 20);
	load_source_port(g, 20);
	asm_load(&g->s, BPF_W, ADDR4, BPF_REG_10, HEADER + 12);
	g->proto[NET_TCP] = false;
	judge4(g, &g->peer);
	g->proto[NET_TCP] = true;
	asm_place(&g->s, six);
	asm_load(&g->s, BPF_B, BPF_REG_1, BPF_REG_10, HEADER + 6);
	split_protocols(g, 40);
	load_source_port(g, 40);
	g->proto[NET_TCP] = false;
	for (int w = 0; w < 4; w++)
		asm_load(&g->s, BPF_W, addr6_reg[w], BPF_REG_10, (int16_t)(HEADER + 8 + 4 * w));
	judge6(g, &g->peer);
}

/* --- all of them ---------------------------------------------------------- */

static void (*const generator[CAVE_HOOK_COUNT])(struct hook_gen *g) = {
	[CAVE_HOOK_CONNECT4] = gen_connect4,
	[CAVE_HOOK_CONNECT6] = gen_connect6,
	[CAVE_HOOK_SENDMSG4] = gen_sendmsg4,
	[CAVE_HOOK_SENDMSG6] = gen_sendmsg6,
	[CAVE_HOOK_BIND4] = gen_bind4,
	[CAVE_HOOK_BIND6] = gen_bind6,
	[CAVE_HOOK_SOCK_CREATE] = gen_sock_create,
	[CAVE_HOOK_EGRESS] = gen_egress,
	[CAVE_HOOK_INGRESS] = gen_ingress,
};

static struct judge make_judge(struct hook_gen *g, const struct net_cell (*cell)[NET_FAMILIES])
{
	return (struct judge){
		.cell = cell,
		.yes = g->allow,
		.no = g->deny,
		.ports = ARENA_ARRAY(g->s.arena, g->set->nportsets + 1, struct ports_block),
	};
}

static bool generate_hook(struct arena *a, const struct net_set *set, enum cave_hook hook,
			  struct hook_program *out, struct gen_error *error)
{
	struct hook_gen g = { .hook = hook, .set = set, .proto = { true, true } };

	asm_init(&g.s, a);
	g.allow = asm_new_label(&g.s);
	g.deny = asm_new_label(&g.s);
	g.peer = make_judge(&g, set->cell);
	g.peer.resolver = set->resolver;
	g.local = make_judge(&g, set->local);
	/* Where nothing is reached nothing is asked: the kernel takes no code that cannot be run. */
	if (!net_set_empty(set))
		generator[hook](&g);
	if (hook != CAVE_HOOK_EGRESS)
		emit_port_blocks(&g, &g.peer);
	emit_port_blocks(&g, &g.local);
	if (asm_is_used(&g.s, g.allow)) {
		asm_place(&g.s, g.allow);
		asm_return(&g.s, 1);
	}
	asm_place(&g.s, g.deny);
	asm_return(&g.s, 0);
	return asm_finish(&g.s, hook, out, error);
}

bool egress_generate(struct arena *a, const struct net_set *set, struct hook_program *out,
		     struct gen_error *error)
{
	struct hook_program all[CAVE_HOOK_COUNT];

	for (int hook = 0; hook < CAVE_HOOK_COUNT; hook++)
		if (!generate_hook(a, set, (enum cave_hook)hook, &all[hook], error))
			return false;
	for (int hook = 0; hook < CAVE_HOOK_COUNT; hook++)
		out[hook] = all[hook];
	return true;
}
