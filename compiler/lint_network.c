/* SPDX-License-Identifier: MIT */
/* Findings about destinations and credentials. */
#include <string.h>

#include "compiler/ast.h"
#include "compiler/diff_set.h"
#include "compiler/egress_addr.h"
#include "compiler/egress_registry.h"
#include "compiler/hosts.h"
#include "compiler/lint.h"
#include "compiler/lint_network.h"

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

/* The globally reachable addresses of a line. */
static struct addr_ranges world_of(struct arena *a, const struct net_rule *r, enum net_family family)
{
	struct addr_ranges not_global = registry_not_global(a, family);
	struct addr_ranges except = ranges_in(a, r->except, r->nexcept, family);
	struct addr_ranges named = ranges_in(a, r->to, r->nto, family);
	struct addr_ranges all = ranges_subtract(a, &named, &except);

	return ranges_subtract(a, &all, &not_global);
}

struct line_extent line_extent(struct arena *a, const struct net_rule *r)
{
	struct line_extent e;

	for (int f = 0; f < NET_FAMILIES; f++) {
		enum net_family family = (enum net_family)f;
		struct addr_ranges not_global = registry_not_global(a, family), own = { NULL, 0, 0 };
		struct addr_ranges except = ranges_in(a, r->except, r->nexcept, family);
		struct addr_ranges named = ranges_in(a, r->to, r->nto, family);
		struct addr_ranges all = ranges_subtract(a, &named, &except);
		struct addr_ranges world = world_of(a, r, family);
		struct addr_ranges special = ranges_intersect(a, &all, &not_global), hosts;

		ranges_add(a, &own, loopback[f].lo, loopback[f].hi);
		hosts = ranges_subtract(a, &special, &own);
		e.world[f] = size_of(&world, family);
		e.special[f] = size_of(&special, family);
		e.hosts[f] = size_of(&hosts, family);
	}
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

static const struct {
	const char *credential;
	struct host_pattern host;
} provider_hosts[] = {
	{ "ANTHROPIC_API_KEY", { .name = "api.anthropic.com" } },
	{ "OPENAI_API_KEY", { .name = "api.openai.com" } },
	{ "OPENAI_API_KEY", { .name = "api.openai.com", .below = true } },
	{ "GEMINI_API_KEY", { .name = "generativelanguage.googleapis.com" } },
	{ "GOOGLE_API_KEY", { .name = "generativelanguage.googleapis.com" } },
};

static bool is_provider_host(const struct policy *p, const struct host_pattern *name)
{
	for (size_t i = 0; i < sizeof provider_hosts / sizeof *provider_hosts; i++)
		for (size_t k = 0; k < p->ncredentials; k++)
			if (strcmp(p->credential[k], provider_hosts[i].credential) == 0 &&
			    (name->below ? provider_hosts[i].host.below && strcmp(name->name, provider_hosts[i].host.name) == 0 :
					   host_matches(&provider_hosts[i].host, name->name)))
				return true;
	return false;
}

static bool all_provider_hosts(const struct policy *p, const struct host_rule *r)
{
	for (size_t i = 0; i < r->nto; i++)
		if (!is_provider_host(p, &r->to[i]))
			return false;
	return r->nto > 0;
}

/* --- one line ------------------------------------------------------------------------------------ */

static const uint64_t wide[NET_FAMILIES] = { [NET_V4] = WIDE, [NET_V6] = WIDE_NETWORKS };

/* The line, or so many from it on, together. */
static void say_wide(struct lint *l, const struct net_rule *r, size_t lines, const uint64_t world[NET_FAMILIES],
		     enum net_family family)
{
	const char *who = lines == 1 ? "this line reaches" :
				       arena_printf(l->arena, "%zu lines from this one on reach together", lines);
	struct finding *f = lint_add(l, 110, r->at, "%s %s public %s", who, addr_count(world[family]).s,
				     family == NET_V4 ? "IPv4 addresses" : "IPv6 /48 networks");

	f->instead = "the addresses that the tool talks to";
	if (world[NET_V4] > VERY_WIDE || world[NET_V6] > VERY_WIDE)
		f->severity = SEVERITY_ERROR;
}

static void check_width(struct lint *l, const struct net_rule *r, const struct line_extent *e)
{
	for (int family = 0; family < NET_FAMILIES; family++)
		if (e->world[family] >= wide[family]) {
			say_wide(l, r, 1, e->world, (enum net_family)family);
			break;
		}
	if (e->hosts[NET_V4] >= WIDE_PRIVATE)
		lint_add(l, 117, r->at, "this line reaches %s private or special IPv4 addresses",
			 addr_count(e->hosts[NET_V4]).s)
			->instead = "the addresses, or the subnet, that the tool talks to";
}

void lint_ports(struct lint *l, struct span at, const struct net_ports *port, size_t nports)
{
	unsigned n = 0;

	for (size_t i = 0; i < nports; i++)
		n += port[i].hi - port[i].lo + 1u;
	if (n >= MANY_PORTS)
		lint_add(l, 111, at, "this line grants %s%u ports", n == UINT16_MAX ? "every one of the " : "", n)->instead =
			"the ports of the service, such as: port 443";
}

void lint_metadata(struct lint *l, const struct net_rule *r)
{
	for (size_t i = 0; i < metadata_address_count; i++)
		for (size_t k = 0; k < r->nto; k++) {
			const struct metadata_address *m = &metadata_addresses[i];
			struct finding *f;

			if (r->to[k].family != m->family || net_addr_cmp(r->to[k].lo, m->addr) > 0 ||
			    net_addr_cmp(m->addr, r->to[k].hi) > 0)
				continue;
			f = lint_add(l, 112, r->to[k].at, "%s is a metadata address (%s)", addr_show(m->family, m->addr).s,
				     m->what);
			f->instead = "give the tool the one credential that it needs";
			f->fix = lint_remove_item(l, r->to[k].at, false);
		}
}

void lint_mixture(struct lint *l, const struct net_rule *r, const struct line_extent *e)
{
	if ((e->world[NET_V4] || e->world[NET_V6]) && (e->special[NET_V4] || e->special[NET_V6]))
		lint_add(l, 113, r->at, "this line has public and private or special addresses in it")->instead =
			"a line for each, with the ports that each needs";
}

static bool has_port(const struct net_ports *p, size_t n, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (p[i].lo <= port && port <= p[i].hi)
			return true;
	return false;
}

void lint_name_ports(struct lint *l, struct span at, const struct net_ports *port, size_t n)
{
	static const uint16_t name_ports[] = { 53, 853, 5353 };

	for (size_t i = 0; i < sizeof name_ports / sizeof *name_ports; i++)
		if (has_port(port, n, name_ports[i])) {
			struct finding *f = lint_add(l, 114, at, "port %u carries data to any zone, by way of a name server",
						     name_ports[i]);

			f->instead = "the names that the tool needs, as destinations";
			if (n == 1 && port->lo == port->hi)
				f->fix = lint_remove(l, f->at, false);
			return;
		}
}

void lint_loopback(struct lint *l, const struct net_rule *r)
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
	struct line_extent e = line_extent(l->arena, r);

	for (int family = 0; family < NET_FAMILIES; family++)
		world[family] |= e.world[family] > 0;
	if (!all_provider(&l->compile->policy, r))
		check_width(l, r, &e);
	lint_ports(l, r->at, r->port, r->nports);
	lint_metadata(l, r);
	lint_mixture(l, r, &e);
	lint_name_ports(l, r->at, r->port, r->nports);
	lint_loopback(l, r);
}

/* --- the whole ----------------------------------------------------------------------------------- */

/* Many lines that are narrow each may be wide together. */
static void check_together(struct lint *l, enum net_family family)
{
	const struct policy *p = &l->compile->policy;
	struct addr_ranges all = { NULL, 0, 0 };
	const struct net_rule *first = NULL;
	uint64_t world[NET_FAMILIES] = { 0 };
	size_t lines = 0;

	for (size_t i = 0; i < p->nnet_rules; i++) {
		const struct net_rule *r = &p->net_rule[i];
		struct addr_ranges part;

		if (!r->allow || all_provider(p, r))
			continue;
		part = world_of(l->arena, r, family);
		if (!part.n || size_of(&part, family) >= wide[family])
			continue;
		for (size_t k = 0; k < part.n; k++)
			ranges_add(l->arena, &all, part.range[k].lo, part.range[k].hi);
		first = first ? first : r;
		lines++;
	}
	ranges_normalise(&all);
	world[family] = size_of(&all, family);
	if (lines > 1 && world[family] >= wide[family])
		say_wide(l, first, lines, world, family);
}

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
	check_together(l, NET_V4);
	check_together(l, NET_V6);
	if (p->resolver) {
		struct finding *f = lint_add(l, 114, p->resolver_at, "the host's name servers carry data to any zone");

		f->instead = "the names that the tool needs, as destinations";
		f->fix = lint_remove(l, p->resolver_at, false);
	}
	if (world[NET_V4] != world[NET_V6])
		lint_add(l, 115, first->at, "the profile reaches the world by %s only", world[NET_V4] ? "IPv4" : "IPv6")
			->instead = "the other kind of addresses as well, or a comment that the service has none";
}

/* --- credentials --------------------------------------------------------------------------------- */

/* A statement with addresses and names is found once. */
static void add_elsewhere(struct lint *l, struct span at)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->item[i].rule->id == 120 && l->item[i].at.file == at.file && l->item[i].at.begin == at.begin)
			return;
	lint_add(l, 120, at, "the credential can be sent here, which is not known to be its provider")->instead =
		"the provider's addresses or hosts alone, or another profile for what needs no credential";
}

void lint_credentials(struct lint *l)
{
	const struct policy *p = &l->compile->policy;
	bool any = p->resolver;

	if (!p->ncredentials)
		return;
	for (size_t i = 0; i < p->nnet_rules; i++) {
		any |= p->net_rule[i].allow;
		if (p->net_rule[i].allow && !all_provider(p, &p->net_rule[i]))
			add_elsewhere(l, p->net_rule[i].at);
	}
	for (size_t i = 0; i < p->nhost_rules; i++) {
		any |= p->host_rule[i].allow;
		if (p->host_rule[i].allow && !all_provider_hosts(p, &p->host_rule[i]))
			add_elsewhere(l, p->host_rule[i].at);
	}
	if (!any) {
		struct finding *f = lint_add(l, 121, p->at, "the profile grants a credential and no network");

		f->instead = "leave credentialEnv out, or name the provider's hosts";
		f->fix = lint_remove_kind(l, p->at, N_CREDENTIALS);
	}
}
