/* SPDX-License-Identifier: MIT */
/* The network's part of a diff: destinations, endpoints of one's own, what is reached while a credential is held. */
#include <inttypes.h>
#include <string.h>

#include "compiler/buffer.h"
#include "compiler/diff.h"
#include "compiler/diff_set.h"
#include "compiler/egress_addr.h"

enum { SHOWN = 12 }; /* ranges of addresses in a text for people */

typedef unsigned __int128 count;

static const char *const proto_name[NET_PROTOS] = { "tcp", "udp" };

/* All that one protocol has with one set of ports, as it is shown: a rule of the difference. */
struct group {
	const struct net_set *set;
	enum net_proto proto;
	uint32_t ports;
	bool local;
	struct buffer text; /* the first ranges */
	json_t *addresses;
	size_t ranges;
	count addresses_n[NET_FAMILIES];
	const struct net_interval *first;
	enum net_family first_family;
};

static count width(const struct net_interval *i)
{
	return ((count)i->hi.hi << 64 | i->hi.lo) - ((count)i->lo.hi << 64 | i->lo.lo) + 1;
}

static const char *decimal(struct arena *a, count n)
{
	char digits[40], *at = digits + sizeof digits;

	*--at = '\0';
	do
		*--at = (char)('0' + (int)(n % 10));
	while (n /= 10);
	return arena_strdup(a, at);
}

/* For people: with commas, or the power of two that is nearest below. */
static const char *roughly(struct arena *a, count n)
{
	unsigned bits = 0;

	if (n < (count)1 << 50)
		return arena_strdup(a, addr_count((uint64_t)n).s);
	while (n >> bits > 1)
		bits++;
	return arena_printf(a, n == (count)1 << bits ? "2^%u" : "more than 2^%u", bits);
}

const char *diff_ports_text(struct arena *a, const struct net_portset *set)
{
	struct buffer b = { .arena = a };

	buffer_printf(&b, set->n == 1 ? "port " : "port { ");
	for (size_t i = 0; i < set->n; i++) {
		struct net_ports r = set->range[i];

		buffer_printf(&b, i ? ", %u" : "%u", r.lo);
		if (r.hi != r.lo)
			buffer_printf(&b, "-%u", r.hi);
	}
	buffer_printf(&b, set->n == 1 ? "" : " }");
	buffer_add(&b, "", 1);
	return set->n == 1 && set->range[0].lo == 1 && set->range[0].hi == UINT16_MAX ? "port any" : b.data;
}

json_t *diff_ports_json(const struct net_portset *set)
{
	json_t *all = json_array();

	for (size_t i = 0; i < set->n; i++)
		json_array_append_new(all, json_pack("{s:i, s:i}", "from", (int)set->range[i].lo, "to",
						     (int)set->range[i].hi));
	return all;
}

/* All that can be local: no multicast, and IPv4 is not IPv6. */
static bool is_everywhere(const struct group *g, enum net_family family)
{
	count all = family == NET_V4 ? (count)0xe0 << 24 : ((count)0xff << 120) - ((count)1 << 32);

	return g->local && g->addresses_n[family] == all;
}

static void add_interval(struct arena *a, struct group *g, enum net_family family, const struct net_interval *i)
{
	const char *text = arena_strdup(a, addr_show_range(family, i->lo, i->hi).s);

	if (!g->ranges++) {
		g->first = i;
		g->first_family = family;
	}
	if (g->ranges <= SHOWN)
		buffer_printf(&g->text, "%s%s", g->ranges > 1 ? ", " : "", text);
	json_array_append_new(g->addresses, json_string(text));
	g->addresses_n[family] += width(i);
}

/* "3 addresses", or "3 addresses and 2^64 IPv6 addresses". */
static const char *amount_text(struct arena *a, const struct group *g)
{
	const char *v4 = g->addresses_n[NET_V4] == 1 ? "address" : "addresses";
	const char *v6 = g->addresses_n[NET_V6] == 1 ? "IPv6 address" : "IPv6 addresses";

	if (!g->addresses_n[NET_V6])
		return arena_printf(a, "%s %s", roughly(a, g->addresses_n[NET_V4]), v4);
	if (!g->addresses_n[NET_V4])
		return arena_printf(a, "%s %s", roughly(a, g->addresses_n[NET_V6]), v6);
	return arena_printf(a, "%s %s and %s %s", roughly(a, g->addresses_n[NET_V4]), v4,
			    roughly(a, g->addresses_n[NET_V6]), v6);
}

/* The rule that the line of an interval is of. */
static struct span rule_at(const struct policy *p, line_id line, bool local)
{
	const struct net_rule *rule = local ? p->listen : p->net_rule;
	size_t n = local ? p->nlistens : p->nnet_rules;

	for (size_t i = 0; i < n; i++)
		if (rule[i].line == line && rule[i].allow)
			return rule[i].at;
	return (struct span){ 0 };
}

static const char *group_text(struct arena *a, struct group *g)
{
	bool several = g->ranges > 1, v4 = is_everywhere(g, NET_V4), v6 = is_everywhere(g, NET_V6);

	if (g->ranges > SHOWN)
		buffer_printf(&g->text, ", … %s more", addr_count(g->ranges - SHOWN).s);
	buffer_add(&g->text, "", 1);
	if ((v4 || !g->addresses_n[NET_V4]) && (v6 || !g->addresses_n[NET_V6]))
		return arena_printf(a, "%s any local %s %s", proto_name[g->proto],
				    v4 && v6 ? "address" : v4 ? "IPv4 address" : "IPv6 address",
				    diff_ports_text(a, &g->set->portset[g->ports]));
	return arena_printf(a, "%s %s%s%s %s", proto_name[g->proto], several ? "{ " : "", g->text.data,
			    several ? " }" : "", diff_ports_text(a, &g->set->portset[g->ports]));
}

/* An entry that is in no list yet. */
static struct diff_entry entry_of(struct diff *d, struct group *g, const struct compile *side)
{
	const struct net_portset *ports = &g->set->portset[g->ports];
	const char *subject = g->local ? "listen" : "connect";
	struct diff_entry e = {
		.kind = d->kind,
		.side = side,
		.text = group_text(d->arena, g),
		.amount = g->local ? NULL : amount_text(d->arena, g),
		.at = rule_at(&side->policy, g->first->line, g->local),
		.detail = json_pack("{s:s, s:o, s:o}", "protocol", proto_name[g->proto], "addresses", g->addresses,
				    "ports", diff_ports_json(ports)),
	};

	if (!g->local)
		json_object_set_new(e.detail, "count",
				    json_string(decimal(d->arena, g->addresses_n[NET_V4] + g->addresses_n[NET_V6])));
	e.example = arena_printf(d->arena, "%s %s %s port %u", subject, proto_name[g->proto],
				 addr_show(g->first_family, g->first->lo).s, ports->range[0].lo);
	return e;
}

/* Groups by number of their ports, made as they are met. */
static void gather(struct arena *a, const struct net_set *set, enum net_proto proto, bool local, struct group *group)
{
	for (int family = 0; family < NET_FAMILIES; family++) {
		const struct net_cell *cell = local ? &set->local[proto][family] : &set->cell[proto][family];

		for (size_t i = 0; i < cell->n; i++) {
			struct group *g = &group[cell->interval[i].ports];

			if (!g->ranges)
				*g = (struct group){ .set = set, .proto = proto, .ports = cell->interval[i].ports,
						     .local = local, .text = { .arena = a },
						     .addresses = json_array() };
			add_interval(a, g, (enum net_family)family, &cell->interval[i]);
		}
	}
}

/* Adds what `set` holds to a list, one entry for each protocol and set of ports. */
static void add_set(struct diff *d, const struct net_set *set, bool local, const struct compile *side,
		    enum diff_way way, struct diff_entries *to)
{
	for (int proto = 0; proto < NET_PROTOS; proto++) {
		struct group *group = ARENA_ARRAY(d->arena, set->nportsets + 1, struct group);

		gather(d->arena, set, (enum net_proto)proto, local, group);
		for (size_t i = 0; i < set->nportsets; i++) {
			struct diff_entry e;

			if (!group[i].ranges)
				continue;
			e = entry_of(d, &group[i], side);
			e.way = way;
			*ARENA_PUSH(d->arena, to->item, to->n, to->cap) = e;
		}
	}
}

static void sets_one_way(struct diff *d, enum diff_way way, bool local)
{
	const struct compile *has = diff_side(d, way), *lacks = has == d->new ? d->old : d->new;
	struct net_set left;

	net_set_subtract(d->arena, &has->set, &lacks->set, &left);
	add_set(d, &left, local, has, way, &d->found);
}

static void add_named(struct diff *d, enum diff_way way, bool has, bool lacks, const char *text, struct span at)
{
	if (has && !lacks)
		diff_add(d, way, text)->at = at;
}

static void named_one_way(struct diff *d, enum diff_way way)
{
	const struct policy *has = &diff_side(d, way)->policy;
	const struct policy *lacks = has == &d->new->policy ? &d->old->policy : &d->new->policy;

	add_named(d, way, has->resolver, lacks->resolver, "the name servers of the host, tcp and udp port 53",
		  has->resolver_at);
	add_named(d, way, has->netlink_route, lacks->netlink_route,
		  "reading interfaces, addresses and routes (netlink route)", (struct span){ 0 });
}

void diff_destinations(struct diff *d)
{
	sets_one_way(d, DIFF_GRANTED, false);
	named_one_way(d, DIFF_GRANTED);
	sets_one_way(d, DIFF_REFUSED, false);
	named_one_way(d, DIFF_REFUSED);
}

void diff_listens(struct diff *d)
{
	sets_one_way(d, DIFF_GRANTED, true);
	sets_one_way(d, DIFF_REFUSED, true);
}

/* --- while a credential is held ------------------------------------------------------------------ */

/* Credentials, and variables that count as one by the operator's table. */
struct holdings {
	const char **name;
	size_t n, cap;
};

static struct holdings holdings_of(struct arena *a, const struct compile *c)
{
	struct holdings all = { NULL, 0, 0 };
	struct operator_word capability;

	for (size_t i = 0; i < c->policy.ncredentials; i++)
		*ARENA_PUSH(a, all.name, all.n, all.cap) = c->policy.credential[i];
	for (size_t i = 0; i < c->policy.nenv; i++)
		if (!c->policy.env[i].value && operator_capability(&c->operator, c->policy.env[i].name, &capability))
			*ARENA_PUSH(a, all.name, all.n, all.cap) = c->policy.env[i].name;
	return all;
}

static bool holds(const struct holdings *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->name[i], name) == 0)
			return true;
	return false;
}

/* Adds what `left` holds, and the name servers, for the credentials that the old policy has too, or has not. */
static void held_with(struct diff *d, bool before, const struct net_set *left, bool resolver)
{
	struct holdings new = holdings_of(d->arena, d->new), old = holdings_of(d->arena, d->old);
	json_t *names = json_array();
	const char *text = "";
	size_t from = d->held.n;

	for (size_t i = 0; i < new.n; i++)
		if (holds(&old, new.name[i]) == before) {
			text = arena_printf(d->arena, "%s%s%s", text, *text ? ", " : "", new.name[i]);
			json_array_append_new(names, json_string(new.name[i]));
		}
	if (*text) {
		add_set(d, left, false, d->new, DIFF_GRANTED, &d->held);
		diff_names_one_way(d, d->new, before ? d->old : NULL, DIFF_GRANTED, &d->held);
		if (resolver)
			*ARENA_PUSH(d->arena, d->held.item, d->held.n, d->held.cap) = (struct diff_entry){
				.kind = d->kind, .text = "the name servers of the host", .side = d->new,
				.at = d->new->policy.resolver_at, .detail = json_object()
			};
	}
	for (size_t i = from; i < d->held.n; i++) {
		d->held.item[i].text = arena_printf(d->arena, "%s, holding %s", d->held.item[i].text, text);
		json_object_set(d->held.item[i].detail, "credentials", names);
	}
	json_decref(names);
}

/* A destination that was reached before, but without the credential, is a new one for it. */
void diff_held(struct diff *d)
{
	const struct policy *p = &d->new->policy;
	struct net_set left, whole;

	if (d->new->policy.bare)
		return;
	net_set_subtract(d->arena, &d->new->set, &d->old->set, &left);
	net_set_subtract(d->arena, &d->new->set, NULL, &whole);
	held_with(d, true, &left, p->resolver && !d->old->policy.resolver);
	held_with(d, false, &whole, p->resolver);
}
