/* SPDX-License-Identifier: MIT */
/* Findings about destinations and credentials. */
#include <string.h>

#include "compiler/diff_set.h"
#include "compiler/egress_addr.h"
#include "compiler/egress_registry.h"
#include "compiler/lint.h"

/* Public addresses, and IPv6 networks, from which on a line is wide, and very wide; private ones; ports. */
enum { WIDE = 256, WIDE_NETWORKS = 16, VERY_WIDE = 65536, WIDE_PRIVATE = 65536, MANY_PORTS = 1024 };

static const struct addr_range loopback[NET_FAMILIES] = {
	[NET_V4] = { { 0, 0x7f000000 }, { 0, 0x7fffffff } },
	[NET_V6] = { { 0, 1 }, { 0, 1 } },
};

static struct addr_range range_of(const struct net_operand *o)
{
	return (struct addr_range){ o->lo, o->hi };
}

static struct addr_ranges ranges_in(struct arena *a, const struct net_operand *o, size_t n, enum net_family family)
{
	struct addr_ranges all = { NULL, 0, 0 };

	for (size_t i = 0; i < n; i++)
		if (o[i].family == family)
			ranges_add(a, &all, o[i].lo, o[i].hi);
	ranges_normalise(&all);
	return all;
}

/* Addresses of IPv4, networks of 48 bits of IPv6, which is what one site has. */
static uint64_t size_of(const struct addr_ranges *r, enum net_family family)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		uint64_t more = family == NET_V4 ? r->range[i].hi.lo - r->range[i].lo.lo :
						   (r->range[i].hi.hi >> 16) - (r->range[i].lo.hi >> 16);

		n += more + 1;
	}
	return n;
}

/* What a line names of one family: of the world, and of special space. */
struct extent {
	struct addr_ranges all, world, special;
};

static struct extent extent_of(struct arena *a, const struct net_rule *r, enum net_family family)
{
	struct addr_ranges not_global = registry_not_global(a, family);
	struct addr_ranges except = ranges_in(a, r->except, r->nexcept, family);
	struct addr_ranges named = ranges_in(a, r->to, r->nto, family);
	struct extent e = { .all = ranges_subtract(a, &named, &except) };

	e.world = ranges_subtract(a, &e.all, &not_global);
	e.special = ranges_intersect(a, &e.all, &not_global);
	return e;
}

/* --- providers --------------------------------------------------------------------------------- */

/* Published ranges of inbound addresses; providers that are not here stand behind shared networks. */
static const struct provider {
	const char *credential;
	enum net_family family;
	struct addr_range range;
} providers[] = {
	/* 160.79.104.0/23, 2607:6bc0::/48 */
	{ "ANTHROPIC_API_KEY", NET_V4, { { 0, 0xa04f6800 }, { 0, 0xa04f69ff } } },
	{ "ANTHROPIC_API_KEY", NET_V6, { { 0x26076bc000000000, 0 }, { 0x26076bc00000ffff, UINT64_MAX } } },
};

static bool is_provider(const struct policy *p, const struct net_operand *o)
{
	for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
		for (size_t k = 0; k < p->ncredentials; k++)
			if (strcmp(p->credential[k], providers[i].credential) == 0 && o->family == providers[i].family &&
			    addr_within(range_of(o), providers[i].range))
				return true;
	return false;
}

/* The line is about the provider of a credential that is held. */
static bool all_provider(const struct policy *p, const struct net_rule *r)
{
	for (size_t i = 0; i < r->nto; i++)
		if (!is_provider(p, &r->to[i]))
			return false;
	return r->nto > 0;
}

/* --- one line ------------------------------------------------------------------------------------ */

static void check_width(struct lint *l, const struct net_rule *r, const struct extent e[NET_FAMILIES])
{
	uint64_t v4 = size_of(&e[NET_V4].world, NET_V4), v6 = size_of(&e[NET_V6].world, NET_V6);
	struct addr_ranges own = { NULL, 0, 0 }, others;
	uint64_t private;
	struct finding *f;

	if (v4 >= WIDE || v6 >= WIDE_NETWORKS) {
		f = lint_add(l, 110, r->at, "this line reaches %s public %s", addr_count(v4 >= WIDE ? v4 : v6).s,
			     v4 >= WIDE ? "IPv4 addresses" : "IPv6 /48 networks");
		f->instead = "the addresses that the tool talks to";
		if (v4 > VERY_WIDE || v6 > VERY_WIDE)
			f->severity = SEVERITY_ERROR;
	}
	ranges_add(l->arena, &own, loopback[NET_V4].lo, loopback[NET_V4].hi);
	others = ranges_subtract(l->arena, &e[NET_V4].special, &own);
	private = size_of(&others, NET_V4);
	if (private >= WIDE_PRIVATE)
		lint_add(l, 117, r->at, "this line reaches %s private or special IPv4 addresses", addr_count(private).s)
			->instead = "the addresses, or the subnet, that the tool talks to";
}

static void check_ports(struct lint *l, const struct net_rule *r)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->nports; i++)
		n += r->port[i].hi - r->port[i].lo + 1u;
	if (n >= MANY_PORTS)
		lint_add(l, 111, r->at, "this line grants %s%u ports", n == UINT16_MAX ? "every one of the " : "", n)->instead =
			"the ports of the service, such as: port 443";
}

static void check_metadata(struct lint *l, const struct net_rule *r)
{
	for (size_t i = 0; i < metadata_address_count; i++)
		for (size_t k = 0; k < r->nto; k++) {
			const struct metadata_address *m = &metadata_addresses[i];

			if (r->to[k].family == m->family && net_addr_cmp(r->to[k].lo, m->addr) <= 0 &&
			    net_addr_cmp(m->addr, r->to[k].hi) <= 0)
				lint_add(l, 112, r->to[k].at, "%s is a metadata address (%s)", addr_show(m->family, m->addr).s, m->what)
					->instead = "give the tool the one credential that it needs";
		}
}

static void check_mixture(struct lint *l, const struct net_rule *r, const struct extent e[NET_FAMILIES])
{
	bool world = e[NET_V4].world.n || e[NET_V6].world.n, special = e[NET_V4].special.n || e[NET_V6].special.n;

	if (world && special)
		lint_add(l, 113, r->at, "this line has public and private or special addresses in it")->instead =
			"a line for each, with the ports that each needs";
}

static bool has_port(const struct net_rule *r, uint16_t port)
{
	for (size_t i = 0; i < r->nports; i++)
		if (r->port[i].lo <= port && port <= r->port[i].hi)
			return true;
	return false;
}

static void check_names(struct lint *l, const struct net_rule *r)
{
	static const uint16_t name_ports[] = { 53, 853, 5353 };

	for (size_t i = 0; i < sizeof name_ports / sizeof *name_ports; i++)
		if (has_port(r, name_ports[i])) {
			lint_add(l, 114, r->at, "port %u carries data to any zone, by way of a name server", name_ports[i])
				->instead = "addresses in place of names, or names in /etc/hosts";
			return;
		}
}

static void check_loopback(struct lint *l, const struct net_rule *r)
{
	for (size_t i = 0; i < r->nto; i++)
		if (addr_overlap(range_of(&r->to[i]), loopback[r->to[i].family])) {
			lint_add(l, 116, r->at, "this line reaches services on this host's loopback addresses")->instead =
				"keep it if that service expects untrusted callers";
			return;
		}
}

static void check_line(struct lint *l, const struct net_rule *r, bool world[NET_FAMILIES])
{
	struct extent e[NET_FAMILIES] = { extent_of(l->arena, r, NET_V4), extent_of(l->arena, r, NET_V6) };

	for (int family = 0; family < NET_FAMILIES; family++)
		world[family] |= e[family].world.n > 0;
	if (!all_provider(&l->compile->policy, r))
		check_width(l, r, e);
	check_ports(l, r);
	check_metadata(l, r);
	check_mixture(l, r, e);
	check_names(l, r);
	check_loopback(l, r);
}

/* --- the whole ----------------------------------------------------------------------------------- */

void lint_network(struct lint *l)
{
	const struct policy *p = &l->compile->policy;
	bool world[NET_FAMILIES] = { false, false };
	const struct net_rule *first = NULL;

	for (size_t i = 0; i < p->nnet_rules; i++)
		if (p->net_rule[i].allow) {
			check_line(l, &p->net_rule[i], world);
			first = first ? first : &p->net_rule[i];
		}
	if (p->resolver)
		lint_add(l, 114, p->resolver_at, "the host's name servers carry data to any zone")->instead =
			"addresses in place of names, or names in /etc/hosts";
	if (world[NET_V4] != world[NET_V6])
		lint_add(l, 115, first->at, "the profile reaches the world by %s only", world[NET_V4] ? "IPv4" : "IPv6")
			->instead = "the other kind of addresses as well, or a comment that the service has none";
}

/* --- credentials --------------------------------------------------------------------------------- */

void lint_credentials(struct lint *l)
{
	const struct policy *p = &l->compile->policy;
	bool any = p->resolver;

	if (!p->ncredentials)
		return;
	for (size_t i = 0; i < p->nnet_rules; i++) {
		const struct net_rule *r = &p->net_rule[i];

		any |= r->allow;
		if (r->allow && !all_provider(p, r))
			lint_add(l, 120, r->at, "the credential can be sent here, which is not known to be its provider")->instead =
				"the provider's addresses alone, or another profile for what needs no credential";
	}
	if (!any)
		lint_add(l, 121, p->at, "the profile grants a credential and no network")->instead =
			"leave credentialEnv out, or name the provider's addresses";
}
