/* SPDX-License-Identifier: MIT */
/* Judging a destination, or an endpoint of one's own: whose address is in registers. */
#include "bpf/egress_gen.h"

#include <linux/in.h>

#define RAW_LOOPBACK4 0x0100007fu /* 127.0.0.1 */
#define RAW_LOOPBACK6 0x01000000u /* the last word of ::1 */

static const uint8_t addr4_reg[] = { ADDR4 };
static const uint8_t port_reg[] = { PORT };

/* --- short forms ---------------------------------------------------------- */

void jump_if(struct hook_gen *g, uint8_t op, uint8_t reg, uint32_t imm, asm_label to)
{
	asm_jump(&g->s, (uint8_t)(BPF_JMP32 | op | BPF_K), reg, imm, to);
}

void set_field(struct hook_gen *g, uint8_t reg, uint32_t value, int16_t field)
{
	asm_set(&g->s, reg, value);
	asm_store(&g->s, BPF_W, CTX, field, reg);
}

void load_words(struct hook_gen *g, int16_t field)
{
	for (int w = 0; w < 4; w++)
		asm_load(&g->s, BPF_W, addr6_reg[w], CTX, (int16_t)(field + 4 * w));
}

struct judge role_judge(struct hook_gen *g, enum role role)
{
	const struct net_cell (*cells[ROLES])[NET_FAMILIES] = { g->set->cell, g->set->local, g->set->shut };
	const struct cell_table *const (*tables[ROLES])[NET_FAMILIES] = { g->tables->to, g->tables->at,
									  g->tables->shut };
	struct judge j = {
		.cell = cells[role],
		.table = tables[role],
		.yes = g->allow,
		.no = g->deny,
		.ports = ARENA_ARRAY(g->s.arena, g->set->nportsets + 1, struct ports_block),
	};

	for (int family = 0; g->judges && family < NET_FAMILIES; family++)
		j.function[family] = g->judges->number[role][family];
	return j;
}

bool grants(const struct judge *j, int proto)
{
	return j->cell[proto][NET_V4].n || j->cell[proto][NET_V6].n || j->resolver || j->names;
}

bool uses(const struct hook_gen *g, int proto)
{
	return grants(&g->peer, proto) || grants(&g->local, proto);
}

/* Refuses protocols that are not granted. */
void require_proto(struct hook_gen *g)
{
	asm_label granted = asm_new_label(&g->s);

	if (uses(g, NET_TCP))
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_TCP, granted);
	if (uses(g, NET_UDP))
		jump_if(g, BPF_JEQ, PROTO, IPPROTO_UDP, granted);
	asm_goto(&g->s, g->deny);
	asm_place(&g->s, granted);
}

/* To `native` unless the words, in network order, are a mapped address. */
void require_mapped(struct hook_gen *g, asm_label native)
{
	jump_if(g, BPF_JNE, addr6_reg[0], 0, native);
	jump_if(g, BPF_JNE, addr6_reg[1], 0, native);
	jump_if(g, BPF_JNE, addr6_reg[2], RAW_MAPPED, native);
}

/* --- addresses ------------------------------------------------------------ */

static asm_label ports_label(struct hook_gen *g, const struct judge *j, const struct net_interval *v)
{
	struct ports_block *b = &j->ports[v->ports];

	if (!b->used)
		*b = (struct ports_block){ true, asm_new_label(&g->s), v->line };
	return b->label;
}

void add_segment(struct tree_segment *segment, size_t *n, enum net_family family, struct net_addr at,
		 asm_label leaf, line_id line)
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

asm_label found_label(struct hook_gen *g, const struct judge *j)
{
	struct ports_block *found = &j->ports[g->set->nportsets];

	if (!found->used)
		*found = (struct ports_block){ true, asm_new_label(&g->s), 0 };
	return found->label;
}

static void judge_by_table(struct hook_gen *g, const struct judge *j, const struct cell_table *t,
			   enum net_family family)
{
	if (family == NET_V4)
		search_address4(g, t, ADDR4);
	else
		search_address6(g, t, j->no);
	asm_goto(&g->s, found_label(g, j));
}

static void judge_by_tree(struct hook_gen *g, const struct judge *j, int proto, enum net_family family)
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

/* The address in registers is judged for one protocol: to the block of its ports, or refused. */
static void judge_address(struct hook_gen *g, const struct judge *j, int proto, enum net_family family)
{
	const struct cell_table *t = j->table[proto][family];

	if (!t) {
		judge_by_tree(g, j, proto, family);
		return;
	}
	g->s.current = j->cell[proto][family].interval[0].line;
	judge_by_table(g, j, t, family);
	g->s.current = 0;
}

/* --- name servers --------------------------------------------------------- */

/* Compares a register with what the runtime puts there. */
void compare_resolver(struct hook_gen *g, uint32_t slot, uint32_t field, uint8_t op, uint8_t reg,
			     asm_label to)
{
	bool port = field == CAVE_RESOLVER_PORT4 || field == CAVE_RESOLVER_PORT6;

	asm_resolver(&g->s, g->hook, slot, field);
	asm_jump(&g->s, (uint8_t)(BPF_JMP32 | op | BPF_K), reg, port ? CAVE_RESOLVER_UNSET : 0, to);
}

static void judge_slot(struct hook_gen *g, enum net_family family, uint32_t slot)
{
	asm_label next = asm_new_label(&g->s);

	if (family == NET_V4) {
		compare_resolver(g, slot, CAVE_RESOLVER_PORT4, BPF_JNE, PORT, next);
		compare_resolver(g, slot, CAVE_RESOLVER_ADDRESS4, BPF_JEQ, ADDR4, g->settle[family]);
	} else {
		compare_resolver(g, slot, CAVE_RESOLVER_PORT6, BPF_JNE, PORT, next);
		for (uint32_t w = 0; w < 3; w++)
			compare_resolver(g, slot, CAVE_RESOLVER_WORD6 + w, BPF_JNE, addr6_reg[w], next);
		compare_resolver(g, slot, CAVE_RESOLVER_WORD6 + 3, BPF_JEQ, addr6_reg[3], g->settle[family]);
	}
	asm_place(&g->s, next);
}

/* The host's name servers, by TCP and UDP. */
static void judge_resolver(struct hook_gen *g, enum net_family family)
{
	asm_label ours = asm_new_label(&g->s), others = asm_new_label(&g->s);
	line_id outer = g->s.current;

	g->s.current = g->set->resolver_line;
	if (g->proto[NET_TCP])
		asm_jump(&g->s, BPF_JMP32 | BPF_JEQ | BPF_K, PROTO, IPPROTO_TCP, ours);
	asm_jump(&g->s, BPF_JMP32 | BPF_JNE | BPF_K, PROTO, IPPROTO_UDP, others);
	asm_place(&g->s, ours);
	for (uint32_t slot = 0; slot < CAVE_RESOLVERS; slot++)
		judge_slot(g, family, slot);
	asm_place(&g->s, others);
	g->s.current = outer;
}

/* --- all of it ------------------------------------------------------------ */

/* What the proof is told. */
static void begin_judgement(struct hook_gen *g, const struct judge *j, enum net_family family)
{
	const asm_label exit[] = { [JUDGED_NO] = j->no, [JUDGED_YES] = j->yes };

	for (int proto = 0; proto < NET_PROTOS; proto++)
		if ((j == &g->peer || j == &g->local) && g->proto[proto] && grants(j, proto))
			asm_judgement(&g->s,
				      (struct judgement){ .what = j == &g->local ? JUDGED_OWN : JUDGED_PEER,
							  .proto = (enum net_proto)proto,
							  .family = family },
				      exit, 1u << JUDGED_NO | 1u << JUDGED_YES);
}

static void judge_by_function(struct hook_gen *g, const struct judge *j, enum net_family family)
{
	const bool tcp = g->proto[NET_TCP] && j->cell[NET_TCP][family].n;
	const bool udp = g->proto[NET_UDP] && j->cell[NET_UDP][family].n;

	if (!tcp && !udp) {
		asm_goto(&g->s, j->no);
		return;
	}
	call_judge(g, j, family);
}

/*
 * The address in registers is judged by the protocol in PROTO; one tree does for both if they reach
 * the same.
 */
void judge_host(struct hook_gen *g, const struct judge *j, enum net_family family)
{
	static const uint32_t number[NET_PROTOS] = { IPPROTO_TCP, IPPROTO_UDP };
	asm_label shared = asm_new_label(&g->s);
	bool share = g->proto[NET_TCP] && grants(j, NET_TCP) && grants(j, NET_UDP) &&
		     same_cell(&j->cell[NET_TCP][family], &j->cell[NET_UDP][family]);

	if (j == &g->peer)
		prepare_names(g, family);
	/*
	 * A function takes all protocols that anything is granted by, the program perhaps not; asked before, so that all
	 * programs judge by the same instructions, which are proved once.
	 */
	if (j->function[family] && !g->proto[NET_TCP])
		jump_if(g, BPF_JNE, PROTO, IPPROTO_UDP, j->no);
	begin_judgement(g, j, family);
	if (family == NET_V4 && plane_decides(g, j)) {
		plane_judge(g, j, false);
		return;
	}
	if (j->resolver)
		judge_resolver(g, family);
	if (j->function[family]) {
		judge_by_function(g, j, family);
		return;
	}
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

void judge4(struct hook_gen *g, const struct judge *j)
{
	asm_host_order(&g->s, ADDR4, 32);
	judge_host(g, j, NET_V4);
}

void judge6(struct hook_gen *g, const struct judge *j)
{
	for (int w = 0; w < 4; w++)
		asm_host_order(&g->s, addr6_reg[w], 32);
	judge_host(g, j, NET_V6);
}

/*
 * Judges the address in R2-R5, in network order: as IPv4 if it is mapped.  With `field`, the
 * unspecified address is replaced by loopback there, as the kernel would do after the hook.
 */
void judge_words(struct hook_gen *g, const struct judge *j, int16_t field)
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
		note_peer4(g);
	}
	judge4(g, j);
	asm_place(&g->s, unspecified);
	if (field) {
		jump_if(g, BPF_JNE, addr6_reg[3], 0, native);
		set_field(g, addr6_reg[3], RAW_LOOPBACK6, (int16_t)(field + 12));
	}
	asm_place(&g->s, native);
	if (field)
		note_peer6(g);
	judge6(g, j);
}

/* --- ports ---------------------------------------------------------------- */

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

/* The port in the set of which R1 is the number. */
static void emit_search(struct hook_gen *g, const struct judge *j)
{
	search_ports(g, g->tables->ports->window, j->yes, j->no);
	asm_goto(&g->s, j->no);
}

void emit_port_blocks(struct hook_gen *g, const struct judge *j)
{
	struct ports_block *found = &j->ports[g->set->nportsets];

	for (uint32_t i = 0; i < g->set->nportsets; i++) {
		if (!j->ports[i].used)
			continue;
		asm_place(&g->s, j->ports[i].label);
		j->ports[i].used = false;
		if (g->set->portset[i].n <= TREE_PORTS) {
			emit_ports(g, j, &g->set->portset[i], j->ports[i].line);
			continue;
		}
		asm_set(&g->s, BPF_REG_1, g->tables->ports->first[i]);
		emit_search(g, j);
	}
	if (!found->used)
		return;
	found->used = false;
	asm_place(&g->s, found->label);
	jump_if(g, BPF_JEQ, BPF_REG_1, 0, j->no);
	emit_search(g, j);
}
