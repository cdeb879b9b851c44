/* SPDX-License-Identifier: MIT */
/*
 * What is denied where destinations are not all named by their addresses: peers that come in at a `listen`, the
 * host's name servers, and the addresses of granted names.  The denials become rules that "allow" what they deny, for
 * the sweep.
 */
#include "cave/artefact.h"
#include "compiler/egress_set.h"

static const struct net_ports resolver_port = { CAVE_RESOLVER_PORT, CAVE_RESOLVER_PORT };
static const struct net_ports every_port = { 1, 65535 };

static bool listens(const struct policy *p, enum net_proto proto)
{
	for (size_t i = 0; i < p->nlistens; i++)
		if (p->listen[i].proto[proto])
			return true;
	return false;
}

/* What a granted name leads to is not named by its address either. */
static bool names_hosts(const struct policy *p)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (p->host_rule[i].allow)
			return true;
	return false;
}

static bool covers_resolver(const struct net_rule *deny)
{
	for (size_t i = 0; i < deny->nports; i++)
		if (deny->port[i].lo <= CAVE_RESOLVER_PORT && CAVE_RESOLVER_PORT <= deny->port[i].hi)
			return true;
	return !deny->nports;
}

struct operands {
	struct net_operand *item;
	size_t n, cap;
};

static void add_range(struct arena *a, struct operands *to, enum net_family family, struct net_addr lo,
		      struct net_addr hi)
{
	*ARENA_PUSH(a, to->item, to->n, to->cap) = (struct net_operand){ .family = family, .lo = lo, .hi = hi };
}

/* The operands of a denial and, as IPv6, what carries them; none are all there is. */
static void add_operands(struct arena *a, struct operands *to, const struct net_rule *deny)
{
	struct addr_range r;

	for (int family = 0; !deny->nto && family < NET_FAMILIES; family++)
		add_range(a, to, (enum net_family)family, (struct net_addr){ 0, 0 },
			  addr_last((enum net_family)family));
	for (size_t i = 0; i < deny->nto; i++) {
		const struct net_operand *o = &deny->to[i];

		add_range(a, to, o->family, o->lo, o->hi);
		for (int c = 0; o->family == NET_V4 && c < CARRIERS; c++)
			if (carrier_of((enum carrier)c, (uint32_t)o->lo.lo, (uint32_t)o->hi.lo, &r))
				add_range(a, to, NET_V6, r.lo, r.hi);
	}
}

static struct net_rule turn_round(struct arena *a, const struct net_rule *deny, enum net_proto proto, bool all_ports)
{
	struct net_rule rule = { .allow = true, .line = deny->line, .at = deny->at };
	struct operands to = { 0 };

	rule.proto[proto] = true;
	add_operands(a, &to, deny);
	rule.to = to.item;
	rule.nto = to.n;
	rule.port = deny->port;
	rule.nports = deny->nports;
	if (!all_ports || !rule.nports) {
		rule.port = all_ports ? &every_port : &resolver_port;
		rule.nports = 1;
	}
	return rule;
}

size_t egress_denials(struct arena *a, const struct policy *p, enum net_proto proto, const struct net_rule **out)
{
	bool all_ports = listens(p, proto) || names_hosts(p);
	struct net_rule *rule = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; (all_ports || p->resolver) && i < p->nnet_rules; i++) {
		const struct net_rule *deny = &p->net_rule[i];
		bool of_all = !deny->proto[NET_TCP] && !deny->proto[NET_UDP];

		if (!deny->allow && (of_all || deny->proto[proto]) && (all_ports || covers_resolver(deny)))
			*ARENA_PUSH(a, rule, n, cap) = turn_round(a, deny, proto, all_ports);
	}
	*out = rule;
	return n;
}
