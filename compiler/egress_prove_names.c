/* SPDX-License-Identifier: MIT */
/*
 * The proof of grants by host name, in two steps.  The record that the resolver reads is asked about names around
 * every pattern, and about addresses around every place, and compared with the rules as they are written.  Then the
 * maps are filled as the runtime would for some of those names, and the programs are held against a policy that
 * grants the same by address.
 */
#include <netinet/in.h>
#include <string.h>

#include "bpf/hosts.h"
#include "cave/names.h"
#include "compiler/at_once.h"
#include "compiler/egress_addr.h"
#include "compiler/egress_prover.h"
#include "compiler/egress_registry.h"
#include "compiler/hosts.h"

enum { SAMPLES = 24 /* names whose addresses are put in the maps */ };

struct names_prover {
	struct diags *d;
	struct arena *a;
	const struct policy *p;
	struct hosts record;
	const struct map_list *maps; /* of the programs */
	struct addr_ranges not_public[NET_FAMILIES];
	bool failed;
	/* Of the name that is asked about, found once: */
	const struct host_rule **granting;
	size_t ngranting;
	struct host_match *match;
	size_t nmatches;
};

/* --- what the rules say --------------------------------------------------------------------------- */

static bool speaks_of(const struct host_pattern *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (host_matches(&list[i], name))
			return true;
	return false;
}

static bool rule_grants(const struct host_rule *r, const char *name)
{
	return r->allow && speaks_of(r->to, r->nto, name) && !speaks_of(r->except, r->nexcept, name);
}

static bool is_denied(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (!p->host_rule[i].allow && speaks_of(p->host_rule[i].to, p->host_rule[i].nto, name))
			return true;
	return false;
}

static bool holds(const struct net_operand *list, size_t n, enum net_family family, struct net_addr a)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].family == family && net_addr_cmp(list[i].lo, a) <= 0 && net_addr_cmp(a, list[i].hi) <= 0)
			return true;
	return false;
}

static bool is_public(const struct names_prover *v, enum net_family family, struct net_addr a)
{
	const struct addr_ranges *not = &v->not_public[family];

	for (size_t i = 0; i < not ->n; i++)
		if (net_addr_cmp(not ->range[i].lo, a) <= 0 && net_addr_cmp(a, not ->range[i].hi) <= 0)
			return false;
	for (size_t i = 0; i < metadata_address_count; i++)
		if (metadata_addresses[i].family == family && !net_addr_cmp(metadata_addresses[i].addr, a))
			return false;
	return family == NET_V4 ? a.lo >> 28 != 0xe
				: a.hi >> 56 != 0xff && a.hi >> 32 != 0x0064ff9b && a.hi >> 48 != 0x2002 &&
					  a.hi >> 32 != 0x20010000 && a.hi;
}

static bool rule_takes(const struct names_prover *v, const struct host_rule *r, enum net_family family,
		       struct net_addr a)
{
	bool in = r->nwithin ? holds(r->within, r->nwithin, family, a) : is_public(v, family, a);

	return in && !holds(r->not_at, r->nnot_at, family, a);
}

static bool rule_has_port(const struct host_rule *r, int proto, uint32_t port)
{
	for (size_t i = 0; r->proto[proto] && i < r->nports; i++)
		if (r->port[i].lo <= port && port <= r->port[i].hi)
			return port != 0;
	return false;
}

/* --- the record against them ---------------------------------------------------------------------- */

static bool record_has_port(const struct hosts *h, unsigned class, int proto, uint32_t port)
{
	struct cave_host_ports p;

	for (size_t at = 0; hosts_ports(h, class, &at, &p);)
		if (p.protocol == (proto == NET_TCP ? IPPROTO_TCP : IPPROTO_UDP) && p.lo <= port && port <= p.hi)
			return true;
	return false;
}

static struct host_address to_host(enum net_family family, struct net_addr a)
{
	return (struct host_address){ .six = family == NET_V6,
				      .word = { (uint32_t)(a.hi >> 32), (uint32_t)a.hi, (uint32_t)(a.lo >> 32),
						(uint32_t)a.lo } };
}

/* What the rules and what the record say of a name, before an address and a port are asked about. */
static void look_up(struct names_prover *v, const char *name)
{
	struct host_match match;
	size_t cap = 0, n = is_denied(v->p, name) ? 0 : v->p->nhost_rules;

	v->ngranting = v->nmatches = 0;
	for (size_t i = 0; i < n; i++)
		if (rule_grants(&v->p->host_rule[i], name))
			v->granting[v->ngranting++] = &v->p->host_rule[i];
	v->match = NULL;
	if (hosts_denied(&v->record, name))
		return;
	for (size_t at = 0; hosts_match(&v->record, name, &at, &match);)
		*ARENA_PUSH(v->a, v->match, v->nmatches, cap) = match;
}

/* True if the record grants an address of the name by the port. */
static bool record_grants(const struct names_prover *v, enum net_family family, struct net_addr a, int proto,
			  uint32_t port)
{
	const struct host_address address = to_host(family, a);
	bool global;

	for (size_t i = 0; i < v->nmatches; i++)
		if (hosts_in_place(&v->record, v->match[i].place, &address, &global) &&
		    record_has_port(&v->record, v->match[i].class, proto, port))
			return true;
	return false;
}

static bool rules_grant(const struct names_prover *v, enum net_family family, struct net_addr a, int proto,
			uint32_t port)
{
	for (size_t i = 0; i < v->ngranting; i++)
		if (rule_takes(v, v->granting[i], family, a) && rule_has_port(v->granting[i], proto, port))
			return true;
	return false;
}

static void compare(struct names_prover *v, const char *name, enum net_family family, struct net_addr a, int proto,
		    uint32_t port)
{
	bool want = rules_grant(v, family, a, proto, port);

	if (v->failed || record_grants(v, family, a, proto, port) == want)
		return;
	v->failed = true;
	diag_note(v->d,
		  diag_error(v->d, CAVE_PROOF_FAILED, v->p->at,
			     "the record of names %s what the policy %s: %s at %s, %s port %u",
			     want ? "refuses" : "grants", want ? "grants" : "refuses", name, addr_show(family, a).s,
			     proto == NET_TCP ? "tcp" : "udp", port),
		  (struct span){ 0 }, "this is a fault of the compiler; nothing was written");
}

/* Around the ends of the ports of the rules that speak of the name, and of one port that none may have. */
static void compare_ports(struct names_prover *v, const char *name, enum net_family family, struct net_addr a)
{
	for (size_t i = 0; i < v->ngranting; i++) {
		const struct host_rule *r = v->granting[i];

		for (size_t k = 0; k < r->nports; k++)
			for (int proto = 0; proto < NET_PROTOS; proto++)
				for (int by = -1; by <= 1; by++) {
					compare(v, name, family, a, proto, (uint16_t)(r->port[k].lo + by));
					compare(v, name, family, a, proto, (uint16_t)(r->port[k].hi + by));
				}
	}
	compare(v, name, family, a, NET_TCP, 9);
}

static void compare_around(struct names_prover *v, const char *name, const struct net_operand *o)
{
	const struct net_addr end[] = { o->lo, o->hi };

	for (int i = 0; i < 2; i++) {
		compare_ports(v, name, o->family, end[i]);
		if (end[i].hi || end[i].lo)
			compare_ports(v, name, o->family, addr_previous(end[i]));
		if (net_addr_cmp(end[i], addr_last(o->family)))
			compare_ports(v, name, o->family, addr_next(end[i]));
	}
}

static void compare_name(struct names_prover *v, const char *name)
{
	static const struct net_operand fixed[] = {
		{ .family = NET_V4, .lo = { 0, 0x01010101 }, .hi = { 0, 0x7f000001 } },
		{ .family = NET_V4, .lo = { 0, 0x0a000000 }, .hi = { 0, 0xa9fea9fe } },
		{ .family = NET_V4, .lo = { 0, 0xc0a80000 }, .hi = { 0, 0xe0000000 } },
		{ .family = NET_V4, .lo = { 0, 0xa83f8110 }, .hi = { 0, 0x64400000 } },
		{ .family = NET_V6, .lo = { 0, 1 }, .hi = { 0x2606470047000000, 0x1111 } },
		{ .family = NET_V6, .lo = { 0xfc00000000000000, 0 }, .hi = { 0xfe80000000000000, 0 } },
		{ .family = NET_V6, .lo = { 0x0064ff9b00000000, 0x08080808 }, .hi = { 0xff02000000000000, 1 } },
	};

	look_up(v, name);
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		compare_around(v, name, &fixed[i]);
	for (size_t i = 0; i < v->ngranting; i++) {
		const struct host_rule *r = v->granting[i];

		for (size_t k = 0; k < r->nwithin; k++)
			compare_around(v, name, &r->within[k]);
		for (size_t k = 0; k < r->nnot_at; k++)
			compare_around(v, name, &r->not_at[k]);
	}
}

/* The name, those below it, one that ends like it, and what it is below. */
static void compare_pattern(struct names_prover *v, const char *name)
{
	const char *dot = strchr(name, '.');

	compare_name(v, name);
	compare_name(v, arena_printf(v->a, "x.%s", name));
	compare_name(v, arena_printf(v->a, "y.x.%s", name));
	compare_name(v, arena_printf(v->a, "x%s", name));
	compare_name(v, arena_printf(v->a, "%s.x", name));
	if (dot)
		compare_name(v, dot + 1);
}

static bool is_shut(const struct policy *p, struct net_addr a)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (!p->net_rule[i].allow &&
		    (!p->net_rule[i].nto || holds(p->net_rule[i].to, p->net_rule[i].nto, NET_V4, a)))
			return true;
	return false;
}

static void compare_shut(struct names_prover *v, uint32_t v4)
{
	bool want = is_shut(v->p, (struct net_addr){ 0, v4 });

	if (v->failed || hosts_shut(&v->record, v4) == want)
		return;
	v->failed = true;
	diag_note(v->d,
		  diag_error(v->d, CAVE_PROOF_FAILED, v->p->at, "the record of names %s a denial of %s",
			     want ? "lacks" : "has", addr_show(NET_V4, (struct net_addr){ 0, v4 }).s),
		  (struct span){ 0 }, "this is a fault of the compiler; nothing was written");
}

/* Around the ends of every denial by address. */
static void prove_shut(struct names_prover *v)
{
	for (size_t i = 0; i < v->p->nnet_rules; i++)
		for (size_t k = 0; k < v->p->net_rule[i].nto; k++) {
			const struct net_operand *o = &v->p->net_rule[i].to[k];

			for (uint32_t by = 0; o->family == NET_V4 && by < 3; by++) {
				compare_shut(v, (uint32_t)o->lo.lo + by - 1);
				compare_shut(v, (uint32_t)o->hi.lo + by - 1);
			}
		}
	compare_shut(v, 0);
	compare_shut(v, UINT32_MAX);
}

static void prove_record(struct names_prover *v)
{
	prove_shut(v);
	v->granting = ARENA_ARRAY(v->a, v->p->nhost_rules + 1, const struct host_rule *);
	for (size_t i = 0; i < v->p->nhost_rules && !v->failed; i++) {
		const struct host_rule *r = &v->p->host_rule[i];

		for (size_t k = 0; k < r->nto; k++)
			compare_pattern(v, r->to[k].name);
		for (size_t k = 0; k < r->nexcept; k++)
			compare_pattern(v, r->except[k].name);
	}
}

/* --- the programs against a policy that grants the same by address --------------------------------- */

/* One name that has an address now. */
struct live_sample {
	const char *name;
	struct net_operand at;
	uint32_t classes;
};

/* The classes of every grant that speaks of the name, as the resolver asks for them. */
static uint32_t classes_of(const struct hosts *h, const char *name)
{
	struct host_match match;
	uint32_t classes = 0;

	for (size_t at = 0; !hosts_denied(h, name) && hosts_match(h, name, &at, &match);)
		classes |= 1u << match.class;
	return classes;
}

/* Every other name has an IPv6 address; neighbours are not next to each other. */
static struct net_operand sample_address(size_t i)
{
	struct net_operand o = { .family = i % 2 ? NET_V6 : NET_V4, .lo = { 0, 0xc6120000u + 16 * i } };

	if (o.family == NET_V6)
		o.lo = (struct net_addr){ 0x26060000000000f0u + ((uint64_t)i << 8), 0x1f0 + i };
	o.hi = o.lo;
	return o;
}

static size_t list_samples(struct names_prover *v, struct live_sample *out)
{
	size_t n = 0;

	for (size_t i = 0; i < v->p->nhost_rules; i++) {
		const struct host_rule *r = &v->p->host_rule[i];

		for (size_t k = 0; r->allow && k < r->nto; k++) {
			const char *name = arena_printf(v->a, r->to[k].below ? "x.%s" : "%s", r->to[k].name);
			uint32_t classes = classes_of(&v->record, name);
			bool known = n >= SAMPLES - 1 || !classes;

			for (size_t j = 0; j < n && !known; j++)
				known = out[j].classes == classes && n > CAVE_HOST_CLASSES;
			if (!known) {
				out[n] = (struct live_sample){ name, sample_address(n), classes };
				n++;
			}
		}
	}
	return n;
}

/* The map of that name, which the programs refer to. */
static struct ebpf_map *map_of(const struct names_prover *v, struct ebpf_map *map, const char *name)
{
	size_t i = 0;

	while (i < v->maps->n && strcmp(v->maps->map[i].name, name) != 0)
		i++;
	return &map[i];
}

static void put_live(struct names_prover *v, struct ebpf_map *map, uint64_t run, const struct live_sample *s,
		     uint64_t until)
{
	struct cave_names_key key = { .run = run };
	struct cave_names_until value = { { 0 } };
	const struct host_address a = to_host(s->at.family, s->at.lo);

	memcpy(key.address, a.word, sizeof key.address);
	if (s->at.family == NET_V4)
		key.address[2] = 0xffff;
	for (unsigned c = 0; c < CAVE_HOST_CLASSES; c++)
		value.until[c] = s->classes >> c & 1 ? until : 0;
	if (ebpf_map_set(map_of(v, map, CAVE_NAMES_LIVE_MAP), &key, &value, BPF_ANY))
		v->failed = true;
}

/* A rule on the sample's address for each rule that grants its name: with all the ports of that rule. */
static void add_rules(struct names_prover *v, const struct live_sample *s, struct net_rule **rule, size_t *n,
		      size_t *cap)
{
	for (size_t i = 0; i < v->p->nhost_rules; i++) {
		const struct host_rule *r = &v->p->host_rule[i];
		struct net_rule x = { .allow = true, .to = &s->at, .nto = 1, .port = r->port, .nports = r->nports };

		if (!rule_grants(r, s->name) || is_denied(v->p, s->name))
			continue;
		memcpy(x.proto, r->proto, sizeof x.proto);
		*ARENA_PUSH(v->a, *rule, *n, *cap) = x;
	}
}

enum { RUN = 0x1234, OTHER_RUN = 0x12340000 };

static const struct net_ports resolver_port[] = { { 40053, 40053 } };
static const struct net_operand resolver4 = { .family = NET_V4, .lo = { 0, 0x7f000001 }, .hi = { 0, 0x7f000001 } };
static const struct net_operand resolver6 = { .family = NET_V6, .lo = { 0, 1 }, .hi = { 0, 1 } };

static void put_run(struct names_prover *v, struct ebpf_map *map, uint64_t run, bool six)
{
	struct cave_names_run value = { htons(resolver_port->lo), six ? htons(resolver_port->lo) : 0 };

	if (ebpf_map_set(map_of(v, map, CAVE_NAMES_RUN_MAP), &run, &value, BPF_ANY))
		v->failed = true;
}

/* What the run's maps hold is granted, and nothing else; `six`: its resolver is at ::1 too. */
static void prove_run(struct names_prover *v, const struct hook_program *hook, const struct live_sample *s, size_t n,
		      bool six)
{
	struct names_model model = { .map = ebpf_maps(v->a, hook->maps),
				     .nmaps = hook->maps->n,
				     .cgroup = RUN,
				     .now = 1000000000000,
				     .port4 = resolver_port->lo,
				     .port6 = six ? resolver_port->lo : 0 };
	struct policy said = *v->p;
	struct net_rule *rule = NULL;
	size_t nrules = 0, cap = 0;

	for (size_t i = 0; i < v->p->nnet_rules; i++)
		*ARENA_PUSH(v->a, rule, nrules, cap) = v->p->net_rule[i];
	for (size_t i = 0; i < n; i++) {
		add_rules(v, &s[i], &rule, &nrules, &cap);
		put_live(v, model.map, RUN, &s[i], model.now + 1);
	}
	for (int i = 0; i <= six; i++)
		*ARENA_PUSH(v->a, rule, nrules, cap) = (struct net_rule){ .allow = true,
									  .runtimes = true,
									  .proto = { true, true },
									  .to = i ? &resolver6 : &resolver4,
									  .nto = 1,
									  .port = resolver_port,
									  .nports = 1 };
	put_run(v, model.map, RUN, six);
	/* What another run has is nothing to this one. */
	put_live(v, model.map, OTHER_RUN,
		 &(struct live_sample){ .at = sample_address(SAMPLES), .classes = UINT32_MAX }, UINT64_MAX);
	said.net_rule = rule;
	said.nnet_rules = nrules;
	v->failed = v->failed || !prove_programs(v->d, &said, NULL, hook, &model);
}

/* Before the resolver is known, and for who is in no run: the rules on addresses, and no name. */
static void prove_no_run(struct names_prover *v, const struct hook_program *hook)
{
	struct names_model model = { .map = ebpf_maps(v->a, hook->maps), .nmaps = hook->maps->n, .cgroup = RUN };

	put_run(v, model.map, OTHER_RUN, true);
	v->failed = v->failed || !prove_programs(v->d, v->p, NULL, hook, &model);
}

/* --- all of it ------------------------------------------------------------------------------------- */

enum part { RUN_SIX, RUN_FOUR, NO_RUN, RECORD, PARTS };

/* What the parts need, and none writes to. */
struct names_proof {
	const struct names_prover *like;
	const struct hook_program *hook;
	struct live_sample sample[SAMPLES];
	size_t n;
	bool good[PARTS];
};

static bool prove_part(const struct names_proof *p, enum part part, struct diags *d, struct arena *a)
{
	struct names_prover v = *p->like;

	v.d = d;
	v.a = a;
	if (part == RECORD)
		prove_record(&v);
	else if (part == NO_RUN)
		prove_no_run(&v, p->hook);
	else
		prove_run(&v, p->hook, p->sample, p->n, part == RUN_SIX);
	return !v.failed;
}

static void prove_quietly(void *closure, size_t i)
{
	struct names_proof *p = closure;
	struct hushed h;

	hush(&h);
	p->good[i] = prove_part(p, (enum part)i, &h.d, &h.scratch);
	p->good[i] = hush_end(&h) && p->good[i];
}

static bool prove_parts(struct names_prover *v, const struct hook_program *hook)
{
	struct names_proof p = { .like = v, .hook = hook };

	p.n = list_samples(v, p.sample);
	at_once(prove_quietly, &p, PARTS);
	for (int i = 0; i < PARTS; i++)
		if (!p.good[i] && !prove_part(&p, (enum part)i, v->d, v->a))
			return false;
	return true;
}

bool names_prove(struct diags *d, const struct policy *p, const struct host_set *set, const struct hook_program *hook)
{
	struct arena scratch = { 0 };
	struct names_prover v = { .d = d, .a = &scratch, .p = p, .maps = hook->maps };
	struct buffer record = { .arena = &scratch };
	bool good;

	hosts_record(set, &record);
	for (int f = 0; f < NET_FAMILIES; f++)
		v.not_public[f] = registry_not_global(&scratch, (enum net_family)f);
	good = hosts_open(record.data, record.n, &v.record);
	if (!good)
		diag_error(d, CAVE_PROOF_FAILED, p->at, "the record of names is not one that the resolver reads");
	good = good && prove_parts(&v, hook);
	arena_free(&scratch);
	return good;
}
