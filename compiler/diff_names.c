/* SPDX-License-Identifier: MIT */
/*
 * Host names: the names that either policy speaks of cut the tree of all names into parts - each name for itself, and
 * what is below it less what is below the other names there - and within one part neither policy can tell two names
 * apart.  What a policy grants in a part is a set of addresses and ports, so that the difference of two is exact.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/buffer.h"
#include "compiler/diff.h"
#include "compiler/diff_set.h"
#include "compiler/egress_addr.h"
#include "compiler/hosts.h"

enum { SHOWN = 4 };

static const char *const proto_name[NET_PROTOS] = { "tcp", "udp" };

/* --- what a policy grants of one name --------------------------------------------------------------- */

/* The grants that speak of a name, by their numbers in the host_set; none of one that is denied. */
struct grants {
	const struct host_grant **item;
	size_t n, cap;
};

/* One side: its grants by name. */
struct side {
	const struct compile *compile;
	const struct host_set *set; /* NULL: it grants no name */
	const struct host_grant **by_name;
};

static int by_text(const void *a, const void *b)
{
	const struct host_grant *const *x = a, *const *y = b;

	return strcmp((*x)->name.name, (*y)->name.name);
}

static struct side side_of(struct arena *a, const struct compile *c)
{
	struct side s = { .compile = c, .set = c ? c->set.hosts : NULL };
	size_t n = s.set ? s.set->ngrants : 0;

	s.by_name = ARENA_ARRAY(a, n + 1, const struct host_grant *);
	for (size_t i = 0; i < n; i++)
		s.by_name[i] = &s.set->grant[i];
	if (n)
		qsort(s.by_name, n, sizeof *s.by_name, by_text);
	return s;
}

/* What a part is: a name, or what is below it and below no other listed name. */
static bool speaks_of(const struct host_name *p, const char *name, bool below)
{
	const struct host_pattern pattern = { .name = p->name, .below = p->below };

	if (!below)
		return host_matches(&pattern, name);
	return p->below && (strcmp(p->name, name) == 0 || host_matches(&pattern, name));
}

static bool speaks_any(const struct host_name *list, size_t n, const char *name, bool below)
{
	for (size_t i = 0; i < n; i++)
		if (speaks_of(&list[i], name, below))
			return true;
	return false;
}

/* The grants whose name is `suffix`, and that speak of the part. */
static void add_grants(struct arena *a, const struct side *s, const char *suffix, const char *name, bool below,
		       struct grants *out)
{
	size_t lo = 0, hi = s->set->ngrants;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (strcmp(s->by_name[middle]->name.name, suffix) < 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	for (; lo < s->set->ngrants && strcmp(s->by_name[lo]->name.name, suffix) == 0; lo++) {
		const struct host_grant *g = s->by_name[lo];

		if (speaks_of(&g->name, name, below) && !speaks_any(g->except, g->nexcept, name, below))
			*ARENA_PUSH(a, out->item, out->n, out->cap) = g;
	}
}

static struct grants grants_of(struct arena *a, const struct side *s, const char *name, bool below)
{
	struct grants found = { NULL, 0, 0 };

	if (!s->set || speaks_any(s->set->denied, s->set->ndenied, name, below))
		return found;
	for (const char *suffix = name; suffix; suffix = strchr(suffix, '.') ? strchr(suffix, '.') + 1 : NULL)
		add_grants(a, s, suffix, name, below, &found);
	return found;
}

/* --- as a set of destinations ----------------------------------------------------------------------- */

/* A range with ports, before they are sorted into disjoint intervals. */
struct piece {
	struct addr_range range;
	const struct net_portset *ports;
};

struct pieces {
	struct piece *item;
	size_t n, cap;
};

/* Where the set of ports may change. */
struct edges {
	struct net_addr *at;
	size_t n, cap;
};

static int edge_order(const void *a, const void *b)
{
	return net_addr_cmp(*(const struct net_addr *)a, *(const struct net_addr *)b);
}

static struct net_portset ports_at(struct arena *a, const struct pieces *p, struct net_addr at)
{
	struct addr_ranges all = { NULL, 0, 0 };
	struct net_ports *range;

	for (size_t i = 0; i < p->n; i++) {
		const struct piece *piece = &p->item[i];

		if (net_addr_cmp(piece->range.lo, at) > 0 || net_addr_cmp(at, piece->range.hi) > 0)
			continue;
		for (size_t k = 0; k < piece->ports->n; k++)
			ranges_add(a, &all, (struct net_addr){ 0, piece->ports->range[k].lo },
				   (struct net_addr){ 0, piece->ports->range[k].hi });
	}
	ranges_normalise(&all);
	range = ARENA_ARRAY(a, all.n + 1, struct net_ports);
	for (size_t i = 0; i < all.n; i++)
		range[i] = (struct net_ports){ (uint16_t)all.range[i].lo.lo, (uint16_t)all.range[i].hi.lo };
	return (struct net_portset){ range, all.n };
}

/* A set as it grows; equal sets of ports need not be one, net_set_subtract() sees to that. */
struct growing {
	struct arena *a;
	struct net_portset *portset;
	size_t n, cap;
};

static struct net_cell cell_of(struct growing *g, const struct pieces *p, enum net_family family)
{
	struct edges e = { NULL, 0, 0 };
	struct net_interval *interval = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < p->n; i++) {
		*ARENA_PUSH(g->a, e.at, e.n, e.cap) = p->item[i].range.lo;
		if (net_addr_cmp(p->item[i].range.hi, addr_last(family)))
			*ARENA_PUSH(g->a, e.at, e.n, e.cap) = addr_next(p->item[i].range.hi);
	}
	if (e.n)
		qsort(e.at, e.n, sizeof *e.at, edge_order);
	for (size_t i = 0; i < e.n; i++) {
		struct net_portset ports;

		if (i && !net_addr_cmp(e.at[i], e.at[i - 1]))
			continue;
		ports = ports_at(g->a, p, e.at[i]);
		if (n && !net_addr_cmp(interval[n - 1].hi, addr_last(family)))
			interval[n - 1].hi = addr_previous(e.at[i]);
		if (!ports.n)
			continue;
		*ARENA_PUSH(g->a, interval, n, cap) =
			(struct net_interval){ e.at[i], addr_last(family), (uint32_t)g->n, 0 };
		*ARENA_PUSH(g->a, g->portset, g->n, g->cap) = ports;
	}
	return (struct net_cell){ interval, n };
}

static struct pieces pieces_of(struct arena *a, const struct side *s, const struct grants *grants, bool own, int proto,
			       int family)
{
	struct pieces p = { NULL, 0, 0 };

	for (size_t i = 0; i < grants->n; i++) {
		const struct host_grant *g = grants->item[i];
		const struct host_place *place = &s->set->place[g->place];
		const struct net_portset *ports = &s->set->class[g->class].ports[proto];

		/* A place of public addresses is without the host's own. */
		for (size_t k = 0; ports->n && !(own && place->global) && k < place->n[family]; k++)
			*ARENA_PUSH(a, p.item, p.n, p.cap) =
				(struct piece){ { place->range[family][k].lo, place->range[family][k].hi }, ports };
	}
	return p;
}

/* Addresses that are not the host's own; or, with `own`, those that are. */
static struct net_set set_of(struct arena *a, const struct side *s, const struct grants *grants, bool own)
{
	struct growing g = { .a = a };
	struct net_set set = { 0 };

	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++) {
			struct pieces p = pieces_of(a, s, grants, own, proto, family);

			set.cell[proto][family] = cell_of(&g, &p, (enum net_family)family);
		}
	set.portset = g.portset;
	set.nportsets = g.n;
	return set;
}

/* --- what is left of it ------------------------------------------------------------------------------ */

/* All with one set of ports: a rule of the difference. */
struct left_part {
	const char *suffix; /* " port 443 within 10.0.0.0/8" */
	json_t *detail; /* but for its names; the comparison's */
	unsigned port; /* one of them */
};

/* What goes one way of one part of the tree, by one protocol; equal ones are one. */
struct left {
	const char *text; /* of its protocol and all its parts */
	struct left_part *part;
	size_t n, cap;
};

/* What two lists of grants make, by the grants' classes and places: names are many, these are few. */
struct known {
	const char *key;
	const struct left *left[NET_PROTOS];
};

struct comparison {
	struct arena *a;
	struct side has, lacks;
	struct addr_ranges public[NET_FAMILIES];
	struct known *known;
	size_t nknown, known_cap;
	const struct left **left;
	size_t nleft, left_cap;
};

static const char *ports_text(struct arena *a, const struct net_portset *set)
{
	struct buffer b = { .arena = a };

	if (set->n == 1 && set->range[0].lo == 1 && set->range[0].hi == UINT16_MAX)
		return " port any";
	buffer_printf(&b, set->n == 1 ? " port " : " port { ");
	for (size_t i = 0; i < set->n; i++) {
		buffer_printf(&b, i ? ", %u" : "%u", set->range[i].lo);
		if (set->range[i].lo != set->range[i].hi)
			buffer_printf(&b, "-%u", set->range[i].hi);
	}
	buffer_printf(&b, set->n == 1 ? "" : " }");
	buffer_add(&b, "", 1);
	return b.data;
}

static void add_ranges(struct arena *a, enum net_family family, const struct addr_ranges *r, size_t *shown,
		       struct buffer *to, json_t *list)
{
	for (size_t i = 0; i < r->n; i++) {
		const char *text = arena_strdup(a, addr_show_range(family, r->range[i].lo, r->range[i].hi).s);

		if (++*shown <= SHOWN)
			buffer_printf(to, "%s%s", *shown > 1 ? ", " : "", text);
		json_array_append_new(list, json_string(text));
	}
}

/* " within …", or " except …" of public addresses: whichever is shorter.  *list is a new reference. */
static const char *place_text(struct comparison *c, const struct addr_ranges r[NET_FAMILIES], const char **word,
			      json_t **list)
{
	struct buffer b = { .arena = c->a };
	struct addr_ranges lacks[NET_FAMILIES];
	bool within = false;
	size_t shown = 0, less = 0, all = 0;

	for (int f = 0; f < NET_FAMILIES; f++) {
		lacks[f] = ranges_subtract(c->a, &c->public[f], &r[f]);
		within |= ranges_subtract(c->a, &r[f], &c->public[f]).n > 0;
		less += lacks[f].n;
		all += r[f].n;
	}
	within |= less > all;
	*word = within ? "within" : "except_addresses";
	*list = json_array();
	for (int f = 0; f < NET_FAMILIES; f++)
		add_ranges(c->a, (enum net_family)f, within ? &r[f] : &lacks[f], &shown, &b, *list);
	if (!shown)
		return "";
	buffer_add(&b, "", 1);
	return arena_printf(c->a, " %s %s%s%s", within ? "within" : "except", shown > 1 ? "{ " : "", b.data,
			    shown > SHOWN ? arena_printf(c->a, ", … %zu more }", shown - SHOWN) : shown > 1 ? " }" : "");
}

static void add_part(struct comparison *c, struct left *to, int proto, const struct net_portset *ports,
		     const struct addr_ranges r[NET_FAMILIES], bool own)
{
	static const char at_own[] = " where it is an address of the host's own";
	struct left_part *part = ARENA_PUSH(c->a, to->part, to->n, to->cap);
	json_t *list, *numbers = json_array();
	const char *word, *place = place_text(c, r, &word, &list);

	for (size_t i = 0; i < ports->n; i++)
		json_array_append_new(numbers, json_pack("{s:i, s:i}", "from", (int)ports->range[i].lo, "to",
							 (int)ports->range[i].hi));
	part->detail = json_pack("{s:s, s:o, s:o, s:b}", "protocol", proto_name[proto], "ports", numbers, word, list,
				 "own_addresses", own);
	part->suffix = arena_printf(c->a, "%s%s%s", ports_text(c->a, ports), place, own ? at_own : "");
	part->port = ports->range[0].lo;
	to->text = arena_printf(c->a, "%s%s;", to->text, part->suffix);
}

/* One part for each set of ports. */
static void add_parts(struct comparison *c, struct left *to, int proto, const struct net_set *s, bool own)
{
	for (size_t i = 0; i < s->nportsets; i++) {
		struct addr_ranges r[NET_FAMILIES] = { { 0 } };

		for (int f = 0; f < NET_FAMILIES; f++)
			for (size_t k = 0; k < s->cell[proto][f].n; k++)
				if (s->cell[proto][f].interval[k].ports == i)
					ranges_add(c->a, &r[f], s->cell[proto][f].interval[k].lo,
						   s->cell[proto][f].interval[k].hi);
		if (r[NET_V4].n || r[NET_V6].n)
			add_part(c, to, proto, &s->portset[i], r, own);
	}
}

static void left_end(const struct left *left)
{
	for (size_t i = 0; i < left->n; i++)
		json_decref(left->part[i].detail);
}

static const struct left *intern(struct comparison *c, const struct left *left)
{
	struct left *copy;

	for (size_t i = 0; i < c->nleft; i++)
		if (strcmp(c->left[i]->text, left->text) == 0) {
			left_end(left);
			return c->left[i];
		}
	copy = arena_alloc(c->a, sizeof *copy);
	*copy = *left;
	*ARENA_PUSH(c->a, c->left, c->nleft, c->left_cap) = copy;
	return copy;
}

static void add_key(struct buffer *b, const struct grants *g)
{
	for (size_t i = 0; i < g->n; i++)
		buffer_printf(b, "%x,%x;", g->item[i]->class, g->item[i]->place);
	buffer_printf(b, "/");
}

static void work_out(struct comparison *c, const struct grants *has, const struct grants *lacks, struct known *out)
{
	struct net_set any, own, more;
	struct net_set h = set_of(c->a, &c->has, has, false), l = set_of(c->a, &c->lacks, lacks, false);
	struct net_set ho = set_of(c->a, &c->has, has, true), lo = set_of(c->a, &c->lacks, lacks, true);

	net_set_subtract(c->a, &h, &l, &any);
	net_set_subtract(c->a, &ho, &lo, &own);
	/* Said only where it is all that there is to say. */
	net_set_subtract(c->a, &own, &any, &more);
	for (int proto = 0; proto < NET_PROTOS; proto++) {
		struct left left = { .text = proto_name[proto] };

		add_parts(c, &left, proto, &any, false);
		add_parts(c, &left, proto, &more, true);
		out->left[proto] = left.n ? intern(c, &left) : NULL;
	}
}

static const struct known *left_of(struct comparison *c, const char *name, bool below)
{
	struct grants has = grants_of(c->a, &c->has, name, below), lacks = grants_of(c->a, &c->lacks, name, below);
	struct buffer key = { .arena = c->a };

	add_key(&key, &has);
	add_key(&key, &lacks);
	buffer_add(&key, "", 1);
	for (size_t i = 0; i < c->nknown; i++)
		if (strcmp(c->known[i].key, key.data) == 0)
			return &c->known[i];
	*ARENA_PUSH(c->a, c->known, c->nknown, c->known_cap) = (struct known){ .key = key.data };
	work_out(c, &has, &lacks, &c->known[c->nknown - 1]);
	return &c->known[c->nknown - 1];
}

/* --- the tree ---------------------------------------------------------------------------------------- */

/* A name that either policy speaks of. */
struct name {
	const char *text;
	const struct name *above; /* the nearest one that it is below; NULL: none */
	const struct left *left[NET_PROTOS][2]; /* of itself; of what is below it.  NULL: nothing goes this way */
};

enum { ITSELF, BELOW };

struct names {
	struct name *item;
	size_t n, cap;
};

/* By labels from the last one on, so that what is below a name follows it. */
static int tree_order(const void *a, const void *b)
{
	const char *x = ((const struct name *)a)->text, *y = ((const struct name *)b)->text;
	size_t i = strlen(x), k = strlen(y);

	while (i && k && x[i - 1] == y[k - 1]) {
		i--;
		k--;
	}
	if (!i || !k)
		return i ? 1 : k ? -1 : 0;
	/* A dot ends a label, and comes before all that may stand in one. */
	return (x[i - 1] == '.' ? 0 : (unsigned char)x[i - 1]) - (y[k - 1] == '.' ? 0 : (unsigned char)y[k - 1]);
}

static bool is_below(const char *name, const char *top)
{
	return host_matches(&(struct host_pattern){ .name = top, .below = true }, name);
}

static void add_name(struct arena *a, struct names *to, const struct host_name *n)
{
	*ARENA_PUSH(a, to->item, to->n, to->cap) = (struct name){ .text = n->name };
}

static void add_names(struct arena *a, struct names *to, const struct host_set *s)
{
	for (size_t i = 0; s && i < s->ngrants; i++) {
		add_name(a, to, &s->grant[i].name);
		for (size_t k = 0; k < s->grant[i].nexcept; k++)
			add_name(a, to, &s->grant[i].except[k]);
	}
	for (size_t i = 0; s && i < s->ndenied; i++)
		add_name(a, to, &s->denied[i]);
}

static void find_above(struct name *all, size_t i)
{
	const struct name *above = i ? &all[i - 1] : NULL;

	while (above && !is_below(all[i].text, above->text))
		above = above->above;
	all[i].above = above;
}

static struct names names_of(struct comparison *c)
{
	struct names all = { NULL, 0, 0 };
	size_t n = 0;

	add_names(c->a, &all, c->has.set);
	add_names(c->a, &all, c->lacks.set);
	if (all.n)
		qsort(all.item, all.n, sizeof *all.item, tree_order);
	for (size_t i = 0; i < all.n; i++)
		if (!n || strcmp(all.item[n - 1].text, all.item[i].text) != 0)
			all.item[n++] = all.item[i];
	all.n = n;
	for (size_t i = 0; i < n; i++) {
		find_above(all.item, i);
		for (int which = ITSELF; which <= BELOW; which++) {
			const struct known *k = left_of(c, all.item[i].text, which == BELOW);

			for (int proto = 0; proto < NET_PROTOS; proto++)
				all.item[i].left[proto][which] = k->left[proto];
		}
	}
	return all;
}

/* --- entries ----------------------------------------------------------------------------------------- */

static const char *pattern_text(struct arena *a, const struct name *n, int which)
{
	return which == BELOW ? arena_printf(a, "*.%s", n->text) : n->text;
}

/* What is below a name and does not go along with it. */
static const char *excepts_text(struct arena *a, const struct names *all, size_t top, int proto, json_t *list)
{
	const struct left *left = all->item[top].left[proto][BELOW];
	const char *text = "";
	size_t n = 0;

	for (size_t i = top + 1; i < all->n && is_below(all->item[i].text, all->item[top].text); i++) {
		const struct name *x = &all->item[i], *above = x->above;

		while (above != &all->item[top] && above->left[proto][BELOW] == left)
			above = above->above;
		if (above != &all->item[top])
			continue;
		for (int which = ITSELF; which <= BELOW; which++) {
			const char *pattern = pattern_text(a, x, which);

			if (x->left[proto][which] == left)
				continue;
			if (n++ < SHOWN)
				text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", pattern);
			json_array_append_new(list, json_string(pattern));
		}
	}
	if (n > SHOWN)
		text = arena_printf(a, "%s, … %zu more", text, n - SHOWN);
	return n > 1 ? arena_printf(a, " except { %s }", text) : n ? arena_printf(a, " except %s", text) : "";
}

/* One that no policy names. */
static const char *sample(struct arena *a, const struct names *all, const struct name *n, int which)
{
	const char *name = which == BELOW ? arena_printf(a, "x.%s", n->text) : n->text;

	for (size_t i = 0, k = 0; which == BELOW && i < all->n; i++)
		if (strcmp(all->item[i].text, name) == 0 || is_below(name, all->item[i].text)) {
			if (all->item[i].text != n->text && strlen(all->item[i].text) > strlen(n->text)) {
				name = arena_printf(a, "x%zu.%s", ++k, n->text);
				i = (size_t)-1;
			}
		}
	return name;
}

static struct span rule_at(const struct policy *p, line_id line)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (p->host_rule[i].line == line && p->host_rule[i].allow)
			return p->host_rule[i].at;
	return (struct span){ 0 };
}

static struct span line_of(struct comparison *c, const struct name *n, int which, int proto)
{
	struct grants g = grants_of(c->a, &c->has, n->text, which == BELOW);

	for (size_t i = 0; i < g.n; i++)
		if (c->has.set->class[g.item[i]->class].ports[proto].n)
			return rule_at(&c->has.compile->policy, g.item[i]->line);
	return (struct span){ 0 };
}

static void add_entries(struct comparison *c, const struct names *all, size_t i, int which, int proto,
			enum diff_way way, struct diff_entries *to)
{
	const struct name *n = &all->item[i];
	const struct left *left = n->left[proto][which];
	json_t *list = json_array();
	const char *excepts = which == BELOW ? excepts_text(c->a, all, i, proto, list) : "";
	const char *pattern = pattern_text(c->a, n, which), *example = sample(c->a, all, n, which);

	for (size_t k = 0; k < left->n; k++) {
		struct diff_entry *e = ARENA_PUSH(c->a, to->item, to->n, to->cap);

		*e = (struct diff_entry){ .kind = diff_kind_of("name"), .way = way, .side = c->has.compile,
					  .detail = json_deep_copy(left->part[k].detail) };
		e->text = arena_printf(c->a, "%s %s%s%s", proto_name[proto], pattern, excepts, left->part[k].suffix);
		e->example = arena_printf(c->a, "connect %s %s port %u", proto_name[proto], example, left->part[k].port);
		e->at = line_of(c, n, which, proto);
		json_object_set_new(e->detail, "name", json_string(pattern));
		json_object_set(e->detail, "except", list);
	}
	json_decref(list);
}

/* True if what is below the name around it says it. */
static bool is_said(const struct name *n, int which, int proto)
{
	return n->above && n->above->left[proto][BELOW] == n->left[proto][which];
}

void diff_names_one_way(struct diff *d, const struct compile *has, const struct compile *lacks, enum diff_way way,
			struct diff_entries *to)
{
	struct comparison c = { .a = d->arena, .has = side_of(d->arena, has), .lacks = side_of(d->arena, lacks) };
	struct names all;

	if (!c.has.set)
		return;
	for (int f = 0; f < NET_FAMILIES; f++)
		c.public[f] = host_public(c.a, (enum net_family)f);
	all = names_of(&c);
	for (size_t i = 0; i < all.n; i++)
		for (int which = ITSELF; which <= BELOW; which++)
			for (int proto = 0; proto < NET_PROTOS; proto++)
				if (all.item[i].left[proto][which] && !is_said(&all.item[i], which, proto))
					add_entries(&c, &all, i, which, proto, way, to);
	for (size_t i = 0; i < c.nleft; i++)
		left_end(c.left[i]);
}

void diff_names(struct diff *d)
{
	diff_names_one_way(d, d->new, d->old, DIFF_GRANTED, &d->found);
	diff_names_one_way(d, d->old, d->new, DIFF_REFUSED, &d->found);
}
