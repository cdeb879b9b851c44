/* SPDX-License-Identifier: MIT */
/* The egress programs, one per hook.  What each decides is in docs/egress.md. */
#include "bpf/egress_gen.h"

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
	[CAVE_HOOK_RECVMSG4] = gen_answered4,
	[CAVE_HOOK_RECVMSG6] = gen_answered6,
	[CAVE_HOOK_GETPEERNAME4] = gen_answered4,
	[CAVE_HOOK_GETPEERNAME6] = gen_answered6,
};

/* What every policy has; then the guests, the names, and the tables, of those that have them. */
enum map_number { MAP_DENIALS, MAP_UNCOUNTED, MAPS_COMMON };

static bool generate_hook(struct arena *a, const struct net_set *set, const struct tables *tables,
			  const struct shared_judges *judges, enum cave_hook hook, struct hook_program *out,
			  struct gen_error *error)
{
	struct hook_gen g = { .hook = hook, .set = set, .tables = tables, .judges = judges, .proto = { true, true },
			      .denials = MAP_DENIALS, .guests = MAPS_COMMON,
			      .names_map = MAPS_COMMON + net_set_listens(set, NET_UDP) };

	size_t refusal = 0;
	bool done;

	asm_init(&g.s, a);
	g.allow = asm_new_label(&g.s);
	g.deny = asm_new_label(&g.s);
	g.peer = role_judge(&g, ROLE_PEER);
	g.peer.resolver = set->resolver;
	g.local = role_judge(&g, ROLE_OWN);
	make_settle(&g);
	g.strangers = g.deny;
	g.names = asm_new_label(&g.s);
	g.peer.names = has_names(&g);
	if (g.peer.names)
		g.peer.no = g.names;
	/* Where nothing is reached nothing is asked: the kernel takes no code that cannot be run. */
	if (!net_set_empty(set))
		generator[hook](&g);
	emit_port_blocks(&g, &g.peer);
	emit_port_blocks(&g, &g.local);
	emit_names(&g);
	emit_settle(&g);
	if (asm_is_used(&g.s, g.allow)) {
		asm_place(&g.s, g.allow);
		asm_return(&g.s, 1);
	}
	if (hook < CAVE_HOOK_NAMES || asm_is_used(&g.s, g.deny)) {
		refusal = g.s.n;
		asm_place(&g.s, g.deny);
		if (!net_set_empty(set))
			count_denial(&g);
		asm_return(&g.s, 0);
	}
	done = asm_finish(&g.s, hook, out, error);
	out->refusal = refusal;
	if (done)
		functions_link(a, &judges->list, out);
	return done;
}

/* In that order. */
static void add_maps(struct tables *t, const struct net_set *set)
{
	if (net_set_empty(set))
		return;
	tables_add(t, &egress_denials_map);
	tables_add(t, &egress_uncounted_map);
	if (net_set_listens(set, NET_UDP))
		tables_add(t, &egress_guests);
	for (size_t i = 0; set->hosts && i < NAMES_MAPS; i++)
		tables_add(t, &egress_names_maps[i]);
}

bool egress_generate(struct arena *a, const struct net_set *set, struct hook_program *out,
		     struct gen_error *error)
{
	struct hook_program all[CAVE_HOOK_COUNT] = { 0 };
	struct shared_judges *judges = ARENA_ARRAY(a, 1, struct shared_judges);
	struct tables *tables = ARENA_ARRAY(a, 1, struct tables);

	tables_init(a, tables);
	add_maps(tables, set);
	if (!tables_build(a, set, tables, error) || !functions_generate(a, set, tables, judges, error))
		return false;
	for (int hook = 0; hook < (set->hosts ? CAVE_HOOK_COUNT : CAVE_HOOK_NAMES); hook++)
		if (!generate_hook(a, set, tables, judges, (enum cave_hook)hook, &all[hook], error))
			return false;
	for (int hook = 0; hook < CAVE_HOOK_COUNT; hook++) {
		out[hook] = all[hook];
		out[hook].maps = tables->maps.n ? &tables->maps : NULL;
	}
	return true;
}
