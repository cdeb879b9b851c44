/* SPDX-License-Identifier: MIT */
/* The part of a diff about host names, and about denials of addresses that nothing else in a policy names. */
#include <string.h>

#include "compiler/buffer.h"
#include "compiler/diff.h"
#include "compiler/diff_set.h"
#include "compiler/egress_addr.h"
#include "compiler/hosts.h"

static const char *const proto_name[NET_PROTOS] = { "tcp", "udp" };

/* --- names ---------------------------------------------------------------------------------------- */

static bool covers(const struct host_name *outer, const struct host_name *inner)
{
	const struct host_pattern p = { .name = outer->name, .below = outer->below };

	if (host_matches(&p, inner->name))
		return outer->below || !inner->below;
	return outer->below && inner->below && strcmp(outer->name, inner->name) == 0;
}

/* True if no name is of both. */
static bool apart(const struct host_name *a, const struct host_name *b)
{
	return !covers(a, b) && !covers(b, a);
}

static bool covered_by_any(const struct host_name *name, const struct host_name *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (covers(&list[i], name))
			return true;
	return false;
}

/* True if every name of `g` that `o` does not speak of is one that `g` does not either. */
static bool same_or_more_names(const struct host_grant *o, const struct host_grant *g)
{
	if (!covers(&o->name, &g->name))
		return false;
	for (size_t i = 0; i < o->nexcept; i++)
		if (!apart(&o->except[i], &g->name) && !covered_by_any(&o->except[i], g->except, g->nexcept))
			return false;
	return true;
}

static bool holds_range(const struct host_place *p, enum net_family family, const struct host_range *r)
{
	for (size_t i = 0; i < p->n[family]; i++)
		if (net_addr_cmp(p->range[family][i].lo, r->lo) <= 0 &&
		    net_addr_cmp(r->hi, p->range[family][i].hi) <= 0)
			return true;
	return false;
}

/* A place of public addresses is without the host's own, which one that is named may hold. */
static bool holds_place(const struct host_place *outer, const struct host_place *inner)
{
	if (outer->global && !inner->global)
		return false;
	for (int f = 0; f < NET_FAMILIES; f++)
		for (size_t i = 0; i < inner->n[f]; i++)
			if (!holds_range(outer, (enum net_family)f, &inner->range[f][i]))
				return false;
	return true;
}

/* The ports of `g` that no grant of `other` has for all its names and places. */
static struct addr_ranges ports_left(struct arena *a, const struct host_set *set, const struct host_grant *g,
				     const struct host_set *other, enum net_proto proto)
{
	const struct net_portset *own = &set->class[g->class].ports[proto];
	struct addr_ranges left = { 0 }, had = { 0 };

	for (size_t i = 0; i < own->n; i++)
		ranges_add(a, &left, (struct net_addr){ 0, own->range[i].lo },
			   (struct net_addr){ 0, own->range[i].hi });
	ranges_normalise(&left);
	for (size_t i = 0; other && i < other->ngrants; i++) {
		const struct host_grant *o = &other->grant[i];
		const struct net_portset *p = &other->class[o->class].ports[proto];

		if (!same_or_more_names(o, g) || !holds_place(&other->place[o->place], &set->place[g->place]))
			continue;
		for (size_t k = 0; k < p->n; k++)
			ranges_add(a, &had, (struct net_addr){ 0, p->range[k].lo },
				   (struct net_addr){ 0, p->range[k].hi });
	}
	ranges_normalise(&had);
	return ranges_subtract(a, &left, &had);
}

static const char *name_text(struct arena *a, const struct host_name *n)
{
	return arena_printf(a, "%s%s", n->below ? "*." : "", n->name);
}

static const char *grant_text(struct arena *a, const struct host_set *set, const struct host_grant *g,
			      enum net_proto proto, const struct addr_ranges *ports)
{
	struct buffer b = { .arena = a };

	buffer_printf(&b, "%s %s port", proto_name[proto], name_text(a, &g->name));
	for (size_t i = 0; i < ports->n; i++) {
		unsigned lo = (unsigned)ports->range[i].lo.lo, hi = (unsigned)ports->range[i].hi.lo;

		buffer_printf(&b, lo == hi ? "%s %u" : "%s %u-%u", i ? "," : "", lo, hi);
	}
	for (size_t i = 0; i < g->nexcept; i++)
		buffer_printf(&b, "%s %s", i ? "," : " except", name_text(a, &g->except[i]));
	if (!set->place[g->place].global)
		buffer_printf(&b, " within the places that the rule names");
	buffer_add(&b, "", 1);
	return b.data;
}

static struct span line_at(const struct policy *p, line_id line)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (p->host_rule[i].line == line)
			return p->host_rule[i].at;
	return (struct span){ 0 };
}

/* What goes one way: the grants of a side that the other has not. */
static void compare_grants(struct diff *d, enum diff_way way, const struct host_set *set,
			   const struct host_set *other)
{
	for (size_t i = 0; set && i < set->ngrants; i++)
		for (int proto = 0; proto < NET_PROTOS; proto++) {
			const struct host_grant *g = &set->grant[i];
			struct addr_ranges left = ports_left(d->arena, set, g, other, (enum net_proto)proto);
			struct diff_entry *e;

			if (!left.n)
				continue;
			e = diff_add(d, way, grant_text(d->arena, set, g, (enum net_proto)proto, &left));
			e->at = line_at(&diff_side(d, way)->policy, g->line);
			e->example =
				arena_printf(d->arena, "connect %s %s%s port %u", proto_name[proto],
					     g->name.below ? "x." : "", g->name.name, (unsigned)left.range[0].lo.lo);
		}
}

static bool denies_all(const struct host_set *set, const struct host_name *name)
{
	return set && covered_by_any(name, set->denied, set->ndenied);
}

/* A denial that one side has and the other has not, of a name that the other grants. */
static void compare_denials(struct diff *d, enum diff_way way, const struct host_set *with,
			    const struct host_set *without)
{
	for (size_t i = 0; with && without && i < with->ndenied; i++) {
		bool granted = false;

		for (size_t k = 0; k < without->ngrants && !granted; k++)
			granted = !apart(&without->grant[k].name, &with->denied[i]);
		if (granted && !denies_all(without, &with->denied[i]))
			diff_add(d, way,
				 arena_printf(d->arena, "lookups of %s are no longer denied",
					      name_text(d->arena, &with->denied[i])));
	}
}

void diff_names(struct diff *d)
{
	const struct host_set *old = d->old->set.hosts, *new = d->new->set.hosts;

	compare_grants(d, DIFF_GRANTED, new, old);
	compare_denials(d, DIFF_GRANTED, old, new);
	compare_grants(d, DIFF_REFUSED, old, new);
}

/* --- denials of addresses that peers who come in, name servers or granted names may have ------------- */

static bool has_unnamed_peers(const struct net_set *s)
{
	return s->resolver || s->hosts || net_set_listens(s, NET_TCP) || net_set_listens(s, NET_UDP);
}

static struct net_set shut_of(const struct net_set *s)
{
	struct net_set out = { .portset = s->portset, .nportsets = s->nportsets };

	memcpy(out.cell, s->shut, sizeof out.cell);
	return out;
}

static void add_denials(struct diff *d, enum diff_way way, const struct net_set *from, const struct net_set *what,
			const char *says)
{
	struct net_set left, a = shut_of(from), b = shut_of(what);

	net_set_subtract(d->arena, &a, &b, &left);
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int f = 0; f < NET_FAMILIES; f++)
			for (size_t i = 0; i < left.cell[proto][f].n; i++) {
				const struct net_interval *v = &left.cell[proto][f].interval[i];
				const struct net_ports *p = &left.portset[v->ports].range[0];

				diff_add(d, way,
					 arena_printf(d->arena, "%s %s from port %u on: %s", proto_name[proto],
						      addr_show_range((enum net_family)f, v->lo, v->hi).s, p->lo,
						      says));
			}
}

void diff_denials(struct diff *d)
{
	const struct net_set *old = &d->old->set, *new = &d->new->set;

	if (!has_unnamed_peers(old) || !has_unnamed_peers(new))
		return;
	add_denials(d, DIFF_GRANTED, old, new, "no longer denied to peers that no rule names");
	add_denials(d, DIFF_REFUSED, new, old, "denied to peers that no rule names");
}
