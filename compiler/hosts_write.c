/* SPDX-License-Identifier: MIT */
/* Grants by host name as a record of the manifest, and as canonical text. */
#include <netinet/in.h>
#include <string.h>

#include "cave/artefact.h"
#include "compiler/canonical.h"
#include "compiler/hosts.h"

/* --- the record ----------------------------------------------------------------------------------- */

static void put_class(struct buffer *b, const struct host_class *c)
{
	static const uint16_t number[NET_PROTOS] = { IPPROTO_TCP, IPPROTO_UDP };
	struct cave_host_class header = { (uint32_t)(c->ports[NET_TCP].n + c->ports[NET_UDP].n) };

	buffer_add(b, &header, sizeof header);
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (size_t i = 0; i < c->ports[proto].n; i++) {
			struct net_ports r = c->ports[proto].range[i];
			struct cave_host_ports p = { number[proto], r.lo, r.hi, 0 };

			buffer_add(b, &p, sizeof p);
		}
}

static void put_v6(struct buffer *b, struct net_addr a)
{
	uint32_t word[4] = { (uint32_t)(a.hi >> 32), (uint32_t)a.hi, (uint32_t)(a.lo >> 32), (uint32_t)a.lo };

	buffer_add(b, word, sizeof word);
}

static void put_v4(struct buffer *b, const struct host_range *r)
{
	uint32_t range[2] = { (uint32_t)r->lo.lo, (uint32_t)r->hi.lo };

	buffer_add(b, range, sizeof range);
}

static void put_place(struct buffer *b, const struct host_place *p)
{
	struct cave_host_place header = { p->global ? CAVE_HOST_ANYWHERE : 0, (uint32_t)p->n[NET_V4],
					  (uint32_t)p->n[NET_V6] };

	buffer_add(b, &header, sizeof header);
	for (size_t i = 0; i < p->n[NET_V4]; i++)
		put_v4(b, &p->range[NET_V4][i]);
	for (size_t i = 0; i < p->n[NET_V6]; i++) {
		put_v6(b, p->range[NET_V6][i].lo);
		put_v6(b, p->range[NET_V6][i].hi);
	}
}

static void put_name(struct buffer *b, const struct host_name *n)
{
	struct cave_host_name header = { n->below ? CAVE_HOST_BELOW : 0, (uint16_t)strlen(n->name) };

	buffer_add(b, &header, sizeof header);
	buffer_add(b, n->name, header.length);
	buffer_align(b, 4);
}

static void put_grant(struct buffer *b, const struct host_grant *g)
{
	struct cave_host_grant header = { (uint16_t)g->class, (uint16_t)g->place, (uint16_t)g->nexcept, 0 };

	buffer_add(b, &header, sizeof header);
	put_name(b, &g->name);
	for (size_t i = 0; i < g->nexcept; i++)
		put_name(b, &g->except[i]);
}

void hosts_record(const struct host_set *set, struct buffer *out)
{
	struct cave_hosts header = { (uint32_t)set->nclasses, (uint32_t)set->nplaces, (uint32_t)set->ngrants,
				     (uint32_t)set->ndenied, (uint32_t)set->nshut };

	buffer_add(out, &header, sizeof header);
	for (size_t i = 0; i < set->nclasses; i++)
		put_class(out, &set->class[i]);
	for (size_t i = 0; i < set->nplaces; i++)
		put_place(out, &set->place[i]);
	for (size_t i = 0; i < set->nshut; i++)
		put_v4(out, &set->shut[i]);
	for (size_t i = 0; i < set->ngrants; i++)
		put_grant(out, &set->grant[i]);
	for (size_t i = 0; i < set->ndenied; i++)
		put_name(out, &set->denied[i]);
}

/* --- the text ------------------------------------------------------------------------------------- */

static void print_name(struct canonical_list *l, const struct host_name *n)
{
	canonical_next(l);
	buffer_printf(l->to, "%s%s", n->below ? "*." : "", n->name);
}

static void print_place(struct buffer *b, const struct host_place *p)
{
	struct canonical_list l = { b, b->n, true, false };

	if (p->global)
		return;
	buffer_text(b, " within {");
	for (int f = 0; f < NET_FAMILIES; f++)
		for (size_t i = 0; i < p->n[f]; i++)
			canonical_range(&l, (enum net_family)f, p->range[f][i].lo, p->range[f][i].hi);
	buffer_text(b, " }");
}

static void print_excepts(struct buffer *b, const struct host_grant *g, const struct host_place *p)
{
	struct canonical_list l = { b, b->n, true, true };

	if (!g->nexcept && !p->nexcept[NET_V4] && !p->nexcept[NET_V6])
		return;
	buffer_text(b, " except {");
	for (size_t k = 0; k < g->nexcept; k++)
		print_name(&l, &g->except[k]);
	for (int f = 0; f < NET_FAMILIES; f++)
		for (size_t i = 0; i < p->nexcept[f]; i++)
			canonical_range(&l, (enum net_family)f, p->except[f][i].lo, p->except[f][i].hi);
	buffer_text(b, " }");
}

static bool same_rule(const struct host_grant *x, const struct host_grant *y)
{
	if (x->class != y->class || x->place != y->place || x->nexcept != y->nexcept)
		return false;
	for (size_t i = 0; i < x->nexcept; i++)
		if (strcmp(x->except[i].name, y->except[i].name) || x->except[i].below != y->except[i].below)
			return false;
	return true;
}

/* One rule: every name that is granted as grant number `i` is, the first of them. */
static void print_rule(struct buffer *b, const struct host_set *set, size_t i, int proto)
{
	const struct host_grant *g = &set->grant[i];
	struct canonical_list l = { b, b->n, true, false };

	buffer_printf(b, "        allow %s {", proto == NET_TCP ? "tcp" : "udp");
	for (size_t k = i; k < set->ngrants; k++)
		if (same_rule(g, &set->grant[k]))
			print_name(&l, &set->grant[k].name);
	buffer_text(b, " }");
	print_excepts(b, g, &set->place[g->place]);
	canonical_ports(b, &set->class[g->class].ports[proto]);
	print_place(b, &set->place[g->place]);
	buffer_printf(b, "\n");
}

static bool is_first(const struct host_set *set, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_rule(&set->grant[k], &set->grant[i]))
			return false;
	return true;
}

void hosts_canonical(const struct host_set *set, struct buffer *out)
{
	struct canonical_list l;

	for (size_t i = 0; i < set->ngrants; i++)
		for (int proto = 0; is_first(set, i) && proto < NET_PROTOS; proto++)
			if (set->class[set->grant[i].class].ports[proto].n)
				print_rule(out, set, i, proto);
	if (!set->ndenied)
		return;
	l = (struct canonical_list){ out, out->n, true, true };
	buffer_text(out, "        deny {");
	for (size_t i = 0; i < set->ndenied; i++)
		print_name(&l, &set->denied[i]);
	buffer_text(out, " }\n");
}
