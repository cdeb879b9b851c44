/* SPDX-License-Identifier: MIT */
/*
 * From rules on host names to one form: per name the ports that are granted and where its addresses may be.  Equal
 * grants give equal forms, in whatever lines they are written.
 */
#include <stdlib.h>
#include <string.h>

#include "bpf/operator.h"
#include "cave/artefact.h"
#include "cave/resolve.h"
#include "compiler/egress_addr.h"
#include "compiler/egress_registry.h"
#include "compiler/egress_set.h"
#include "compiler/hosts.h"

static const struct span nowhere;

/* A granted name of one rule, and then of all that speak of the same name. */
struct entry {
	struct host_name name;
	const struct host_name *except;
	size_t nexcept;
	uint32_t place;
	struct addr_ranges ports[NET_PROTOS]; /* port numbers as addresses: the same arithmetic */
	line_id line;
	bool dropped;
};

struct gather {
	struct arena *a;
	struct addr_ranges public[NET_FAMILIES]; /* host_public() */
	struct entry *entry;
	size_t n, cap;
	struct host_place *place;
	size_t nplaces, place_cap;
	struct host_class *class;
	size_t nclasses, class_cap;
};

/* --- places --------------------------------------------------------------------------------------- */

static void add_operand(struct arena *a, struct addr_ranges *list, const struct net_operand *o,
			enum net_family family)
{
	if (o->family == family)
		ranges_add(a, list, o->lo, o->hi);
}

/* Globally reachable addresses, but for those that carry others in them. */
struct addr_ranges host_public(struct arena *a, enum net_family family)
{
	struct addr_ranges all = { 0 }, not = registry_not_global(a, family);

	ranges_add(a, &all, (struct net_addr){ 0, 0 }, addr_last(family));
	for (size_t i = 0; i < metadata_address_count; i++)
		if (metadata_addresses[i].family == family)
			ranges_add(a, &not, metadata_addresses[i].addr, metadata_addresses[i].addr);
	for (size_t i = 0; i < restricted_block_count; i++)
		if (restricted_blocks[i].family == family)
			ranges_add(a, &not, restricted_blocks[i].range.lo, restricted_blocks[i].range.hi);
	for (size_t i = 0; family == NET_V6 && i < refused_block_count; i++)
		ranges_add(a, &not, refused_blocks[i].range.lo, refused_blocks[i].range.hi);
	for (int c = 0; family == NET_V6 && c < CARRIERS; c++) {
		struct addr_range carrier = carrier_range((enum carrier)c);

		ranges_add(a, &not, carrier.lo, carrier.hi);
	}
	ranges_normalise(&not );
	return ranges_subtract(a, &all, &not );
}

static struct addr_ranges place_of(const struct gather *g, const struct host_rule *r, enum net_family family)
{
	struct addr_ranges in = { 0 }, not = { 0 };
	struct arena *a = g->a;

	for (size_t i = 0; i < r->nwithin; i++)
		add_operand(a, &in, &r->within[i], family);
	for (size_t i = 0; i < r->nnot_at; i++)
		add_operand(a, &not, &r->not_at[i], family);
	ranges_normalise(&in);
	ranges_normalise(&not );
	return ranges_subtract(a, r->nwithin ? &in : &g->public[family], &not );
}

static bool same_ranges(const struct host_place *p, enum net_family family, const struct addr_ranges *r)
{
	return p->n[family] == r->n && (!r->n || memcmp(p->range[family], r->range, r->n * sizeof *r->range) == 0);
}

_Static_assert(sizeof(struct host_range) == sizeof(struct addr_range), "one is copied as the other");

static const struct host_range *copy_ranges(struct arena *a, const struct addr_ranges *r, size_t *n)
{
	struct host_range *copy = ARENA_ARRAY(a, r->n + 1, struct host_range);

	for (size_t i = 0; i < r->n; i++)
		copy[i] = (struct host_range){ r->range[i].lo, r->range[i].hi };
	*n = r->n;
	return copy;
}

static uint32_t intern_place(struct gather *g, const struct host_rule *r)
{
	struct addr_ranges v4 = place_of(g, r, NET_V4), v6 = place_of(g, r, NET_V6);
	struct host_place *p;

	for (size_t i = 0; i < g->nplaces; i++)
		if (g->place[i].global == !r->nwithin && same_ranges(&g->place[i], NET_V4, &v4) &&
		    same_ranges(&g->place[i], NET_V6, &v6))
			return (uint32_t)i;
	p = ARENA_PUSH(g->a, g->place, g->nplaces, g->place_cap);
	p->global = !r->nwithin;
	p->range[NET_V4] = copy_ranges(g->a, &v4, &p->n[NET_V4]);
	p->range[NET_V6] = copy_ranges(g->a, &v6, &p->n[NET_V6]);
	for (int f = 0; p->global && f < NET_FAMILIES; f++) {
		struct addr_ranges lacks = ranges_subtract(g->a, &g->public[f], f == NET_V4 ? &v4 : &v6);

		p->except[f] = copy_ranges(g->a, &lacks, &p->nexcept[f]);
	}
	return (uint32_t)g->nplaces - 1;
}

static int range_order(const struct host_place *a, const struct host_place *b, int family)
{
	for (size_t i = 0; i < a->n[family] && i < b->n[family]; i++) {
		int lo = net_addr_cmp(a->range[family][i].lo, b->range[family][i].lo);
		int hi = net_addr_cmp(a->range[family][i].hi, b->range[family][i].hi);

		if (lo || hi)
			return lo ? lo : hi;
	}
	return a->n[family] < b->n[family] ? -1 : a->n[family] > b->n[family];
}

static int place_order(const void *x, const void *y)
{
	const struct host_place *a = x, *b = y;
	int v4 = range_order(a, b, NET_V4);

	if (v4 || range_order(a, b, NET_V6))
		return v4 ? v4 : range_order(a, b, NET_V6);
	return a->global - b->global;
}

/* Places in an order of their own, whatever the order of the rules. */
static void sort_places(struct gather *g)
{
	const struct host_place *was = g->place;
	struct host_place *now = ARENA_ARRAY(g->a, g->nplaces + 1, struct host_place);

	for (size_t i = 0; i < g->nplaces; i++)
		now[i] = was[i];
	if (g->nplaces)
		qsort(now, g->nplaces, sizeof *now, place_order);
	for (size_t i = 0; i < g->n; i++)
		for (uint32_t k = 0; k < g->nplaces; k++)
			if (!place_order(&now[k], &was[g->entry[i].place])) {
				g->entry[i].place = k;
				break;
			}
	g->place = now;
}

/* --- names ---------------------------------------------------------------------------------------- */

static int name_order(const void *x, const void *y)
{
	const struct host_name *a = x, *b = y;
	int by_text = strcmp(a->name, b->name);

	return by_text ? by_text : a->below - b->below;
}

/* True if every name that `inner` speaks of is one that `outer` does. */
static bool name_covers(const struct host_name *outer, const struct host_name *inner)
{
	const struct host_pattern p = { .name = outer->name, .below = outer->below };

	if (host_matches(&p, inner->name))
		return outer->below || !inner->below;
	return outer->below && inner->below && strcmp(outer->name, inner->name) == 0;
}

/* Sorted, each once, without those that another covers. */
static const struct host_name *list_names(struct arena *a, const struct host_pattern *p, size_t n, size_t *out)
{
	struct host_name *list = ARENA_ARRAY(a, n + 1, struct host_name);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		list[i] = (struct host_name){ p[i].name, p[i].below };
	if (n)
		qsort(list, n, sizeof *list, name_order);
	for (size_t i = 0; i < n; i++) {
		bool covered = false;

		for (size_t k = 0; k < n && !covered; k++)
			covered = name_order(&list[k], &list[i]) ? name_covers(&list[k], &list[i]) : k < i;
		if (!covered)
			list[kept++] = list[i];
	}
	*out = kept;
	return list;
}

static bool same_names(const struct entry *x, const struct entry *y)
{
	if (x->nexcept != y->nexcept)
		return false;
	for (size_t i = 0; i < x->nexcept; i++)
		if (name_order(&x->except[i], &y->except[i]))
			return false;
	return true;
}

/* Of the excepted names those that the name speaks of; false if that is all of it. */
static bool except_names(struct arena *a, const struct host_name *list, size_t n, struct entry *e)
{
	struct host_name *kept = ARENA_ARRAY(a, n + 1, struct host_name);

	e->nexcept = 0;
	for (size_t i = 0; i < n; i++) {
		if (name_covers(&list[i], &e->name))
			return false;
		if (name_covers(&e->name, &list[i]))
			kept[e->nexcept++] = list[i];
	}
	e->except = kept;
	return true;
}

static void add_rule(struct gather *g, const struct host_rule *r)
{
	struct entry e = { .place = intern_place(g, r), .line = r->line };
	size_t nexcept;
	const struct host_name *except = list_names(g->a, r->except, r->nexcept, &nexcept);

	for (int proto = 0; proto < NET_PROTOS; proto++) {
		for (size_t i = 0; r->proto[proto] && i < r->nports; i++)
			ranges_add(g->a, &e.ports[proto], (struct net_addr){ 0, r->port[i].lo ? r->port[i].lo : 1 },
				   (struct net_addr){ 0, r->port[i].hi });
		ranges_normalise(&e.ports[proto]);
	}
	for (size_t i = 0; i < r->nto; i++) {
		e.name = (struct host_name){ r->to[i].name, r->to[i].below };
		if (except_names(g->a, except, nexcept, &e))
			*ARENA_PUSH(g->a, g->entry, g->n, g->cap) = e;
	}
}

/* --- one entry a name ----------------------------------------------------------------------------- */

static struct addr_ranges join(struct arena *a, const struct addr_ranges *x, const struct addr_ranges *y)
{
	struct addr_ranges all = { 0 };

	for (size_t i = 0; i < x->n; i++)
		ranges_add(a, &all, x->range[i].lo, x->range[i].hi);
	for (size_t i = 0; i < y->n; i++)
		ranges_add(a, &all, y->range[i].lo, y->range[i].hi);
	ranges_normalise(&all);
	return all;
}

static int entry_order(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int by_name = name_order(&a->name, &b->name);

	if (by_name)
		return by_name;
	if (a->nexcept != b->nexcept)
		return a->nexcept < b->nexcept ? -1 : 1;
	for (size_t i = 0; i < a->nexcept; i++)
		if (name_order(&a->except[i], &b->except[i]))
			return name_order(&a->except[i], &b->except[i]);
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Entries of one name, place and excepts become one with the ports of all. */
static void merge(struct gather *g)
{
	size_t kept = 0;

	if (g->n)
		qsort(g->entry, g->n, sizeof *g->entry, entry_order);
	for (size_t i = 0; i < g->n; i++) {
		struct entry *last = kept ? &g->entry[kept - 1] : NULL, *e = &g->entry[i];

		if (!last || entry_order(last, e)) {
			g->entry[kept++] = *e;
			continue;
		}
		for (int proto = 0; proto < NET_PROTOS; proto++)
			last->ports[proto] = join(g->a, &last->ports[proto], &e->ports[proto]);
		last->line = e->line < last->line ? e->line : last->line;
	}
	g->n = kept;
}

/* True if `outer` grants all that `inner` does. */
static bool entry_covers(struct arena *a, const struct entry *outer, const struct entry *inner)
{
	if (outer->dropped || outer->place != inner->place || !name_covers(&outer->name, &inner->name) ||
	    (outer->nexcept && !same_names(outer, inner)))
		return false;
	for (int proto = 0; proto < NET_PROTOS; proto++)
		if (ranges_subtract(a, &inner->ports[proto], &outer->ports[proto]).n)
			return false;
	return true;
}

static void drop_covered(struct gather *g)
{
	for (size_t i = 0; i < g->n; i++)
		for (size_t k = 0; k < g->n && !g->entry[i].dropped; k++)
			g->entry[i].dropped = k != i && entry_covers(g->a, &g->entry[k], &g->entry[i]);
}

/* --- classes -------------------------------------------------------------------------------------- */

static struct net_portset to_portset(struct arena *a, const struct addr_ranges *r)
{
	struct net_ports *p = ARENA_ARRAY(a, r->n + 1, struct net_ports);

	for (size_t i = 0; i < r->n; i++)
		p[i] = (struct net_ports){ (uint16_t)r->range[i].lo.lo, (uint16_t)r->range[i].hi.lo };
	return (struct net_portset){ p, r->n };
}

static bool same_portset(const struct net_portset *x, const struct net_portset *y)
{
	return x->n == y->n && (!x->n || memcmp(x->range, y->range, x->n * sizeof *x->range) == 0);
}

static uint32_t intern_class(struct gather *g, const struct entry *e)
{
	struct host_class c = { .line = e->line };

	for (int proto = 0; proto < NET_PROTOS; proto++)
		c.ports[proto] = to_portset(g->a, &e->ports[proto]);
	for (size_t i = 0; i < g->nclasses; i++)
		if (same_portset(&g->class[i].ports[NET_TCP], &c.ports[NET_TCP]) &&
		    same_portset(&g->class[i].ports[NET_UDP], &c.ports[NET_UDP]))
			return (uint32_t)i;
	*ARENA_PUSH(g->a, g->class, g->nclasses, g->class_cap) = c;
	return (uint32_t)g->nclasses - 1;
}

static bool too_many(struct diags *d, const struct policy *p, size_t n, int limit, const char *what)
{
	if (n <= (size_t)limit)
		return false;
	diag_error(d, CAVE_UNSUPPORTED, p->host_rule[0].at,
		   "the grants by host name have %zu different %s, more than %d", n, what, limit);
	return true;
}

/* --- the whole ------------------------------------------------------------------------------------ */

static void list_denied(struct arena *a, const struct policy *p, struct host_set *out)
{
	struct host_pattern *denied = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < p->nhost_rules; i++)
		for (size_t k = 0; !p->host_rule[i].allow && k < p->host_rule[i].nto; k++)
			*ARENA_PUSH(a, denied, n, cap) = p->host_rule[i].to[k];
	out->denied = list_names(a, denied, n, &out->ndenied);
}

/* What denials by address cover of IPv4, for any port and protocol. */
static void list_shut(struct arena *a, const struct policy *p, struct host_set *out)
{
	struct addr_ranges all = { 0 };

	for (size_t i = 0; i < p->nnet_rules; i++) {
		const struct net_rule *r = &p->net_rule[i];

		if (r->allow)
			continue;
		for (size_t k = 0; k < r->nto; k++)
			add_operand(a, &all, &r->to[k], NET_V4);
		if (!r->nto)
			ranges_add(a, &all, (struct net_addr){ 0, 0 }, addr_last(NET_V4));
	}
	ranges_normalise(&all);
	out->shut = copy_ranges(a, &all, &out->nshut);
}

/* How many different names the rules grant, or deny, as they are spelled. */
static size_t count_names(struct arena *a, const struct policy *p, bool allow)
{
	struct host_name *list;
	size_t n = 0, different = 0;

	for (size_t i = 0; i < p->nhost_rules; i++)
		n += p->host_rule[i].allow == allow ? p->host_rule[i].nto : 0;
	list = ARENA_ARRAY(a, n + 1, struct host_name);
	n = 0;
	for (size_t i = 0; i < p->nhost_rules; i++)
		for (size_t k = 0; p->host_rule[i].allow == allow && k < p->host_rule[i].nto; k++)
			list[n++] = (struct host_name){ p->host_rule[i].to[k].name, p->host_rule[i].to[k].below };
	if (n)
		qsort(list, n, sizeof *list, name_order);
	for (size_t i = 0; i < n; i++)
		different += !i || name_order(&list[i - 1], &list[i]) != 0;
	return different;
}

bool hosts_resolve(struct diags *d, struct arena *a, const struct policy *p, struct host_set *out)
{
	struct gather g = { .a = a };
	struct host_set set = { 0 };
	struct host_grant *grant;

	if (too_many(d, p, count_names(a, p, true), CAVE_HOST_GRANTS, "names") ||
	    too_many(d, p, count_names(a, p, false), CAVE_HOST_GRANTS, "denied names"))
		return false;
	for (int f = 0; f < NET_FAMILIES; f++)
		g.public[f] = host_public(a, (enum net_family)f);
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (p->host_rule[i].allow)
			add_rule(&g, &p->host_rule[i]);
	sort_places(&g);
	merge(&g);
	drop_covered(&g);
	grant = ARENA_ARRAY(a, g.n + 1, struct host_grant);
	for (size_t i = 0; i < g.n; i++) {
		const struct entry *e = &g.entry[i];

		if (!e->dropped)
			grant[set.ngrants++] =
				(struct host_grant){ e->name,  e->except, e->nexcept, intern_class(&g, e),
						     e->place, e->line };
	}
	list_denied(a, p, &set);
	list_shut(a, p, &set);
	if (too_many(d, p, g.nclasses, CAVE_HOST_CLASSES, "sets of ports") ||
	    too_many(d, p, g.nplaces, CAVE_HOST_PLACES, "places of 'within' and 'except'") ||
	    too_many(d, p, set.ngrants, CAVE_HOST_GRANTS, "names") ||
	    too_many(d, p, set.ndenied, CAVE_HOST_GRANTS, "denied names"))
		return false;
	set.grant = grant;
	set.class = g.class;
	set.nclasses = g.nclasses;
	set.place = g.place;
	set.nplaces = g.nplaces;
	*out = set;
	return true;
}

/* --- how much of the world ------------------------------------------------------------------------ */

static struct addr_ranges ranges_of(struct arena *a, const struct host_place *p, enum net_family family)
{
	struct addr_ranges all = { 0 };

	for (size_t i = 0; i < p->n[family]; i++)
		ranges_add(a, &all, p->range[family][i].lo, p->range[family][i].hi);
	return all;
}

static uint64_t least(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

/* A wildcard is as many names as are looked up. */
static void add_grant(const struct host_grant *g, const struct net_reach *place, struct net_reach *sum)
{
	uint64_t most = g->name.below ? CAVE_RESOLVE_PER_RUN : CAVE_RESOLVE_PER_NAME;

	sum->v4 = least(sum->v4 + least(place->v4, most), CAVE_RESOLVE_PER_RUN);
	sum->v6 = least(sum->v6 + least(place->v6, most), CAVE_RESOLVE_PER_RUN);
}

static uint64_t add_names(uint64_t by_address, uint64_t by_name, uint64_t builtin)
{
	return by_address >= builtin ? by_address : least(by_address + by_name, builtin);
}

bool hosts_measure(struct diags *d, struct arena *a, const struct policy *p, const struct host_set *set,
		   struct net_reach *reach)
{
	struct net_reach *place = ARENA_ARRAY(a, set->nplaces + 1, struct net_reach), sum = { 0, 0 };
	size_t first = 0;
	struct diag *e;

	for (size_t i = 0; i < set->nplaces; i++) {
		struct addr_ranges v4 = ranges_of(a, &set->place[i], NET_V4), v6 = ranges_of(a, &set->place[i], NET_V6);

		place[i] = egress_measure(a, &v4, &v6);
	}
	for (size_t i = 0; i < set->ngrants; i++)
		add_grant(&set->grant[i], &place[set->grant[i].place], &sum);
	reach->v4 = add_names(reach->v4, sum.v4, OPERATOR_REACH_IPV4);
	reach->v6 = add_names(reach->v6, sum.v6, OPERATOR_REACH_IPV6);
	if (!set->ngrants || (reach->v4 <= p->bound.v4 && reach->v6 <= p->bound.v6))
		return true;
	while (!p->host_rule[first].allow)
		first++;
	e = diag_error(d, CAVE_EGRESS_UNBOUNDED, p->host_rule[first].at,
		       "with what names may lead to the policy reaches %s public IPv4 addresses and %s public IPv6 /48 "
		       "networks",
		       arena_strdup(a, addr_count(reach->v4).s), arena_strdup(a, addr_count(reach->v6).s));
	diag_note(d, e, nowhere,
		  "the operator's rules bound them by %s and %s; a name has up to %d addresses, and a run up to %d",
		  arena_strdup(a, addr_count(p->bound.v4).s), arena_strdup(a, addr_count(p->bound.v6).s),
		  CAVE_RESOLVE_PER_NAME, CAVE_RESOLVE_PER_RUN);
	return false;
}
