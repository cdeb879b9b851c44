/* SPDX-License-Identifier: MIT */
/* Findings about host names. */
#include <stdlib.h>
#include <string.h>

#include "compiler/diff.h"
#include "compiler/egress_addr.h"
#include "compiler/hosts.h"
#include "compiler/lint.h"
#include "compiler/lint_network.h"
#include "compiler/lint_zones.h"

static const char *shown(struct lint *l, const struct host_pattern *p)
{
	return arena_printf(l->arena, "%s%s", p->below ? "*." : "", p->name);
}

/* --- one name ------------------------------------------------------------------------------------ */

static void check_shared(struct lint *l, const struct host_pattern *p)
{
	const struct zone *zone = zone_shared(p);
	struct finding *f;

	if (!zone)
		return;
	if (p->below)
		f = lint_add(l, 118, p->at, "%s is names of many owners: each below %s is %s", shown(l, p), zone->name,
			     zone->what);
	else
		f = lint_add(l, 118, p->at, "%s is a host of many owners: what is sent there reaches %s", p->name,
			     zone->what);
	f->instead = p->below ? "the hosts that the tool talks to" : "a host of one owner";
	if (zone->collects)
		f->severity = SEVERITY_ERROR;
}

static void check_network(struct lint *l, const struct host_pattern *p)
{
	const char *network = zone_network(p);

	if (network)
		lint_add(l, 119, p->at, "%s is served from addresses that it shares with many other names (%s)", shown(l, p),
			 network)
			->instead = "keep it if whatever else is served there may be reached too";
}

static bool same_place(struct span a, struct span b)
{
	return a.file == b.file && a.begin == b.begin;
}

/* Names of a built-in set stand at one place: one finding says it. */
static void check_patterns(struct lint *l, const struct host_rule *r,
			   void (*check)(struct lint *, const struct host_pattern *))
{
	struct span found = { 0 };

	for (size_t i = 0; i < r->nto; i++) {
		struct span at = lint_users(l, r->to[i].at);
		size_t n = l->n;

		if (same_place(at, found))
			continue;
		check(l, &r->to[i]);
		if (l->n > n)
			found = at;
	}
}

/* --- where its answers may be -------------------------------------------------------------------- */

/* The place of `within` as if it were granted by address. */
static struct net_rule place_rule(const struct host_rule *r)
{
	return (struct net_rule){ .allow = true, .to = r->within, .nto = r->nwithin, .except = r->not_at,
				  .nexcept = r->nnot_at, .port = r->port, .nports = r->nports, .at = r->at };
}

static void check_place(struct lint *l, const struct host_rule *r)
{
	struct net_rule place = place_rule(r);
	struct line_extent e;
	struct finding *f;
	const char *amount;

	if (!r->nwithin)
		return;
	e = line_extent(l->arena, &place);
	lint_metadata(l, &place);
	lint_mixture(l, &place, &e);
	lint_loopback(l, &place);
	if (!e.hosts[NET_V4] && !e.hosts[NET_V6])
		return;
	amount = e.hosts[NET_V4] ? arena_printf(l->arena, "%s private or special IPv4 addresses",
						   addr_count(e.hosts[NET_V4]).s) :
				      "private or special IPv6 addresses";
	f = lint_add(l, 122, r->at, "whoever answers for %s chooses which of %s is reached", shown(l, &r->to[0]), amount);
	f->instead = "within the address, or the subnet, of the service";
	if (e.hosts[NET_V4] >= WIDE_PRIVATE || e.hosts[NET_V6] >= WIDE_NETWORKS)
		f->severity = SEVERITY_WARNING;
}

/* --- excepts ------------------------------------------------------------------------------------- */

static bool may_meet(const struct host_pattern *a, const struct host_pattern *b)
{
	if (a->below && b->below)
		return host_matches(a, b->name) || host_matches(b, a->name) || strcmp(a->name, b->name) == 0;
	return a->below ? host_matches(a, b->name) : host_matches(b, a->name);
}

static void check_excepts(struct lint *l, const struct host_rule *r)
{
	for (size_t i = 0; i < r->nexcept; i++) {
		bool met = false;
		struct finding *f;

		for (size_t k = 0; k < r->nto && !met; k++)
			met = may_meet(&r->to[k], &r->except[i]);
		if (met)
			continue;
		f = lint_add(l, 107, r->except[i].at, "no name of this line is %s", shown(l, &r->except[i]));
		f->instead = "a part of what the line allows, or a line of its own: deny";
	}
}

void lint_names(struct lint *l)
{
	const struct policy *p = &l->compile->policy;

	for (size_t i = 0; i < p->nhost_rules; i++) {
		const struct host_rule *r = &p->host_rule[i];

		if (!r->allow)
			continue;
		lint_ports(l, r->at, r->port, r->nports);
		lint_name_ports(l, r->at, r->port, r->nports);
		check_patterns(l, r, check_shared);
		check_patterns(l, r, check_network);
		check_place(l, r);
		check_excepts(l, r);
	}
}

/* --- lines that do nothing, or what another does ------------------------------------------------- */

enum { LINES_MAX = 40, NAMES_MAX = 400 };

/* Host rules that are looked at, and what they grant. */
struct rules {
	struct arena *a;
	const struct policy *policy; /* that they are of */
	struct host_rule *item;
	size_t n;
	struct compile compile;
	struct host_set set;
};

static struct rules no_rules(const struct rules *of, size_t room)
{
	return (struct rules){ .a = of->a, .policy = of->policy, .item = ARENA_ARRAY(of->a, room + 1, struct host_rule) };
}

static bool resolve_rules(struct rules *r)
{
	struct policy p = *r->policy;
	struct sources sources;
	struct diags none;

	p.host_rule = r->item;
	p.nhost_rules = r->n;
	sources_init(&sources, r->a);
	diags_init(&none, &sources);
	if (!hosts_resolve(&none, r->a, &p, &r->set))
		return false;
	r->compile = (struct compile){ .policy = p };
	r->compile.set.hosts = &r->set;
	return true;
}

/* Those of `from` but one, or the allows alone; false if they do not resolve. */
static bool some_rules(const struct rules *from, const struct host_rule *skip, bool only_allows, struct rules *out)
{
	*out = no_rules(from, from->n);
	for (size_t i = 0; i < from->n; i++)
		if (&from->item[i] != skip && !(only_allows && !from->item[i].allow))
			out->item[out->n++] = from->item[i];
	return resolve_rules(out);
}

static bool rule_alone(const struct rules *from, const struct host_rule *r, struct rules *out)
{
	*out = no_rules(from, 1);
	out->item[out->n++] = *r;
	return resolve_rules(out);
}

/* `has` grants no name that `lacks` does not. */
static bool grants_no_more(const struct rules *has, const struct rules *lacks)
{
	struct diff d = { .arena = has->a, .old = &lacks->compile, .new = &has->compile };
	bool none;

	diff_names_one_way(&d, &has->compile, &lacks->compile, DIFF_GRANTED, &d.found);
	none = d.found.n == 0;
	diff_end(&d);
	return none;
}

/* True if every name that `inner` speaks of is one that `outer` does. */
static bool covers(const struct host_pattern *outer, const struct host_pattern *inner)
{
	if (strcmp(outer->name, inner->name) == 0)
		return outer->below == inner->below;
	return host_matches(outer, inner->name);
}

static bool covers_any(const struct host_rule *r, const struct host_pattern *p)
{
	for (size_t i = 0; i < r->nto; i++)
		if (covers(&r->to[i], p))
			return true;
	return false;
}

/* A single line that allows all that this one does. */
static const struct host_rule *covering(const struct rules *all, const struct host_rule *r)
{
	struct rules one, other;

	if (!rule_alone(all, r, &one))
		return NULL;
	for (size_t i = 0; i < all->n; i++)
		if (&all->item[i] != r && all->item[i].allow && covers_any(&all->item[i], &r->to[0]) &&
		    rule_alone(all, &all->item[i], &other) && grants_no_more(&one, &other))
			return &all->item[i];
	return NULL;
}

static bool speaks_of(const struct host_pattern *list, size_t n, const struct host_pattern *p)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, p->name) == 0 || host_matches(&list[i], p->name))
			return true;
	return false;
}

static const struct host_rule *denying(const struct rules *all, const struct host_rule *r)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; !all->item[i].allow && k < r->nto; k++)
			if (speaks_of(all->item[i].to, all->item[i].nto, &r->to[k]))
				return &all->item[i];
	return NULL;
}

/* The statement has addresses besides, about which other findings are. */
static bool has_addresses(const struct policy *p, struct span at)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (p->net_rule[i].at.begin == at.begin && p->net_rule[i].at.file == at.file)
			return true;
	return false;
}

static void add_idle(struct lint *l, unsigned id, const struct host_rule *r, const struct host_rule *other,
		     const char *text)
{
	bool mixed = has_addresses(&l->compile->policy, r->at);
	struct finding *f = lint_add(l, id, r->at, text, mixed ? "the names of this line" : "this line");

	f->other = other ? other->at : (struct span){ 0 };
	f->instead = mixed ? "the line without its names" : "remove this line";
	if (!mixed)
		f->fix = lint_remove(l, r->at, true);
}

static bool check_allow(struct lint *l, const struct rules *all, const struct host_rule *r, const struct rules *without)
{
	struct rules open, open_without;
	const struct host_rule *other;

	if (!grants_no_more(all, without))
		return false;
	/* If no denial stood, would it be another line that does it? */
	other = covering(all, r);
	if (other || (some_rules(all, NULL, true, &open) && some_rules(all, r, true, &open_without) &&
		      grants_no_more(&open, &open_without))) {
		add_idle(l, 102, r, other, "other lines allow all of %s as well");
		return true;
	}
	add_idle(l, 101, r, denying(all, r), "denials take away all of %s");
	return true;
}

/*
 * Told by the names alone, to spare the comparison: false if the line has a name that no other line speaks of whole,
 * for what is granted of a wildcard beside all other names is granted, or denied, by one line.
 */
static bool may_be_idle(const struct rules *all, const struct host_rule *r)
{
	for (size_t i = 0; i < r->nto; i++) {
		bool found = !r->allow;

		for (size_t k = 0; k < r->nexcept && !found; k++)
			found = covers(&r->except[k], &r->to[i]);
		for (size_t k = 0; k < all->n && !found; k++)
			found = &all->item[k] != r && covers_any(&all->item[k], &r->to[i]);
		if (!found)
			return false;
	}
	return true;
}

/* From the last line on; what was found to do nothing is left out of the rest, so that one of two equal lines stays. */
static void check_lines(struct lint *l, struct rules all)
{
	bool resolved = false;

	for (size_t i = all.n; i-- > 0;) {
		const struct host_rule *r = &all.item[i];
		struct rules without;
		bool idle;

		if (!may_be_idle(&all, r))
			continue;
		if ((!resolved && !resolve_rules(&all)) || !some_rules(&all, r, false, &without))
			return;
		resolved = true;
		idle = r->allow ? check_allow(l, &all, r, &without) : grants_no_more(&without, &all);
		if (idle && !r->allow)
			add_idle(l, 103, r, NULL, "no line allows anything of %s");
		if (idle)
			all = without;
	}
}

void lint_names_lines(struct lint *l)
{
	const struct policy *p = &l->compile->policy;
	struct arena arena = { NULL };
	struct rules all = { .a = &arena, .policy = p };
	size_t names = 0;

	all = no_rules(&all, p->nhost_rules);
	for (size_t i = 0; i < p->nhost_rules; i++) {
		all.item[all.n++] = p->host_rule[i];
		names += p->host_rule[i].nto + p->host_rule[i].nexcept;
	}
	if (all.n <= LINES_MAX && names <= NAMES_MAX)
		check_lines(l, all);
	arena_free(&arena);
}
