/* SPDX-License-Identifier: MIT */
/*
 * What a policy must not reach, asked of the finished set: too much of the world, a metadata
 * address by accident, addresses that carry IPv4 in no one way, and whole link-local or multicast
 * ranges.
 */
#include <inttypes.h>
#include <string.h>

#include "compiler/egress_registry.h"
#include "compiler/egress_set.h"

static struct addr_range operand_range(const struct net_operand *o)
{
	return (struct addr_range){ o->lo, o->hi };
}

/* `any`, 0.0.0.0/0, ::/0: where that is unbounded, what else it holds is no news. */
static bool is_whole_family(const struct net_operand *o)
{
	return !o->lo.hi && !o->lo.lo && !net_addr_cmp(o->hi, addr_last(o->family));
}

static bool is_single(const struct net_operand *o)
{
	return !net_addr_cmp(o->lo, o->hi);
}

/* The addresses of one family that the set reaches by any protocol and port. */
static struct addr_ranges reached_by_any(struct arena *a, const struct net_set *set,
					 enum net_family family)
{
	struct addr_ranges all = { 0 };

	for (int proto = 0; proto < NET_PROTOS; proto++) {
		const struct net_cell *c = &set->cell[proto][family];

		for (size_t i = 0; i < c->n; i++)
			ranges_add(a, &all, c->interval[i].lo, c->interval[i].hi);
	}
	ranges_normalise(&all);
	return all;
}

/* Adds what carries IPv4 [lo, hi]; of Teredo clients what lies in the blocks that `within` touches. */
static void add_carrying(struct arena *a, const struct addr_ranges *within, uint32_t lo, uint32_t hi,
			 struct addr_ranges *out)
{
	struct addr_range r;

	for (int c = 0; c < CARRIERS; c++)
		if (carrier_of((enum carrier)c, lo, hi, &r))
			ranges_add(a, out, r.lo, r.hi);
	carrier_clients(a, within, lo, hi, out);
}

/* What an allow rule adds to the reach in one family. */
static struct addr_ranges reached_by_rule(struct arena *a, const struct net_rule *r,
					  enum net_family family, const struct addr_ranges *reached)
{
	struct addr_ranges to = { 0 }, except = { 0 };

	for (size_t i = 0; i < r->nto; i++)
		if (r->to[i].family == family)
			ranges_add(a, &to, r->to[i].lo, r->to[i].hi);
	ranges_normalise(&to);
	to = ranges_intersect(a, &to, reached);
	if (!to.n)
		return to;
	for (size_t i = 0; i < r->nexcept; i++) {
		const struct net_operand *o = &r->except[i];

		if (o->family == family)
			ranges_add(a, &except, o->lo, o->hi);
		else if (family == NET_V6)
			add_carrying(a, &to, (uint32_t)o->lo.lo, (uint32_t)o->hi.lo, &except);
	}
	ranges_normalise(&except);
	return ranges_subtract(a, &to, &except);
}

/* --- unbounded ------------------------------------------------------------ */

static uint64_t count_addresses(const struct addr_ranges *v4)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v4->n; i++)
		n += v4->range[i].hi.lo - v4->range[i].lo.lo + 1;
	return n;
}

static uint64_t count_networks(const struct addr_ranges *v6)
{
	uint64_t n = 0, next = 0; /* `next`: the first /48 that is not yet counted */

	for (size_t i = 0; i < v6->n; i++) {
		uint64_t first = v6->range[i].lo.hi >> 16, last = v6->range[i].hi.hi >> 16;

		if (first < next)
			first = next;
		if (first <= last)
			n += last - first + 1;
		next = last + 1;
	}
	return n;
}

struct net_reach egress_measure(struct arena *a, const struct addr_ranges *v4, const struct addr_ranges *v6)
{
	struct addr_ranges local4 = registry_not_global(a, NET_V4);
	struct addr_ranges local6 = registry_not_global(a, NET_V6);
	struct addr_ranges all4 = { 0 }, not6 = { 0 }, world;
	struct net_reach r;

	for (size_t i = 0; i < v4->n; i++)
		ranges_add(a, &all4, v4->range[i].lo, v4->range[i].hi);
	carrier_decode(a, v6, &all4);
	ranges_normalise(&all4);
	world = ranges_subtract(a, &all4, &local4);
	r.v4 = count_addresses(&world);

	for (size_t i = 0; i < local6.n; i++)
		ranges_add(a, &not6, local6.range[i].lo, local6.range[i].hi);
	for (int c = 0; c < CARRIERS; c++) {
		struct addr_range carrier = carrier_range((enum carrier)c);

		ranges_add(a, &not6, carrier.lo, carrier.hi);
	}
	ranges_normalise(&not6);
	world = ranges_subtract(a, v6, &not6);
	r.v6 = count_networks(&world);
	return r;
}

static const char *reach_text(struct arena *a, struct net_reach r)
{
	const char *v4 = arena_printf(a, "%s public IPv4 address%s", addr_count(r.v4).s, r.v4 == 1 ? "" : "es");
	const char *v6 = arena_printf(a, "%s public IPv6 /48 network%s", addr_count(r.v6).s, r.v6 == 1 ? "" : "s");

	return !r.v6 ? v4 : !r.v4 ? v6 : arena_printf(a, "%s and %s", v4, v6);
}

/*
 * The part of a rule's reach that lies in a family that is unbounded, in units of the built-in bound's 2^-18.
 */
static uint64_t weight(const struct policy *p, struct net_reach whole, struct net_reach r)
{
	return (whole.v4 > p->bound.v4 ? r.v4 >> 2 : 0) + (whole.v6 > p->bound.v6 ? r.v6 : 0);
}

static bool contributes(const struct policy *p, struct net_reach whole, struct net_reach r)
{
	return (whole.v4 > p->bound.v4 && r.v4) || (whole.v6 > p->bound.v6 && r.v6);
}

/* Where a rule that reaches too much says so: at `any` or the like, or else as a whole. */
static struct span place_of_reach(const struct net_rule *r)
{
	for (size_t k = 0; k < r->nto; k++)
		if (is_whole_family(&r->to[k]))
			return r->to[k].at;
	return r->at;
}

/* An unbounded reach, and what each rule has to do with it. */
struct excess {
	struct arena *a;
	const struct policy *p;
	struct net_reach whole;
	const struct addr_ranges *v4, *v6; /* all that is reached */
	struct net_reach *part; /* by rule */
	bool *without; /* by rule: the rest is bounded without those */
	size_t nwithout;
	struct net_reach rest;
};

static bool is_bounded(const struct policy *p, struct net_reach r)
{
	return r.v4 <= p->bound.v4 && r.v6 <= p->bound.v6;
}

/* The rules but for those to be left out. */
static struct net_reach measure_rest(const struct excess *x)
{
	struct addr_ranges all[NET_FAMILIES] = { { 0 } };

	for (size_t i = 0; i < x->p->nnet_rules; i++)
		for (int family = 0; family < NET_FAMILIES && x->p->net_rule[i].allow && !x->without[i]; family++) {
			struct addr_ranges r = reached_by_rule(x->a, &x->p->net_rule[i], (enum net_family)family,
							       family == NET_V4 ? x->v4 : x->v6);

			for (size_t k = 0; k < r.n; k++)
				ranges_add(x->a, &all[family], r.range[k].lo, r.range[k].hi);
		}
	for (int family = 0; family < NET_FAMILIES; family++)
		ranges_normalise(&all[family]);
	return egress_measure(x->a, &all[NET_V4], &all[NET_V6]);
}

/* The rule that reaches most of those that are not left out; their number if none contributes. */
static size_t largest_rule(const struct excess *x)
{
	size_t largest = x->p->nnet_rules;

	for (size_t i = 0; i < x->p->nnet_rules; i++)
		if (!x->without[i] && contributes(x->p, x->whole, x->part[i]) &&
		    (largest == x->p->nnet_rules ||
		     weight(x->p, x->whole, x->part[i]) > weight(x->p, x->whole, x->part[largest])))
			largest = i;
	return largest;
}

enum { MAX_LEFT_OUT = 32 }; /* nobody reads more, and each takes a measurement */

/* The largest rules, one after the other, until the rest is bounded. */
static void find_excess(struct excess *x)
{
	size_t i;

	while (x->nwithout < MAX_LEFT_OUT && (i = largest_rule(x)) < x->p->nnet_rules) {
		x->without[i] = true;
		x->nwithout++;
		x->rest = measure_rest(x);
		if (is_bounded(x->p, x->rest))
			return;
	}
	memset(x->without, 0, x->p->nnet_rules * sizeof *x->without);
	x->nwithout = 0;
}

/* What of it one line is, and whether leaving it out would do. */
static const char *line_text(struct excess *x, size_t i)
{
	const char *reach = reach_text(x->a, x->part[i]), *rest;

	if (!x->without[i])
		return arena_printf(x->a, "this line reaches %s", reach);
	rest = x->rest.v4 || x->rest.v6 ? reach_text(x->a, x->rest) : "nothing public";
	if (x->nwithout == 1)
		return arena_printf(x->a, "this line reaches %s; bounded without it: %s", reach, rest);
	return arena_printf(x->a, "this line reaches %s; bounded without the %zu lines marked so: %s", reach, x->nwithout,
			    rest);
}

/* How many ports of a protocol are reached at all. */
static uint64_t count_ports(struct arena *a, const struct net_set *set, int proto)
{
	bool *reached = ARENA_ARRAY(a, UINT16_MAX + 1, bool);
	uint64_t n = 0;

	for (int family = 0; family < NET_FAMILIES; family++)
		for (size_t i = 0; i < set->cell[proto][family].n; i++) {
			const struct net_portset *p = &set->portset[set->cell[proto][family].interval[i].ports];

			for (size_t k = 0; k < p->n; k++)
				for (uint32_t port = p->range[k].lo; port <= p->range[k].hi; port++) {
					n += !reached[port];
					reached[port] = true;
				}
		}
	return n;
}

static void report_unbounded(struct diags *d, struct arena *a, const struct policy *p, const struct net_set *set,
			     struct net_reach whole, const struct addr_ranges *v4, const struct addr_ranges *v6)
{
	struct excess x = { .a = a, .p = p, .whole = whole, .v4 = v4, .v6 = v6 };
	size_t largest;
	struct diag *e;

	x.part = ARENA_ARRAY(a, p->nnet_rules + 1, struct net_reach);
	x.without = ARENA_ARRAY(a, p->nnet_rules + 1, bool);
	for (size_t i = 0; i < p->nnet_rules; i++) {
		struct addr_ranges r4, r6;

		if (!p->net_rule[i].allow)
			continue;
		r4 = reached_by_rule(a, &p->net_rule[i], NET_V4, v4);
		r6 = reached_by_rule(a, &p->net_rule[i], NET_V6, v6);
		x.part[i] = egress_measure(a, &r4, &r6);
	}
	largest = largest_rule(&x);
	e = diag_error(d, CAVE_EGRESS_UNBOUNDED,
		       largest < p->nnet_rules ? place_of_reach(&p->net_rule[largest]) : p->at,
		       "the grants together reach %s, which is unbounded", reach_text(a, whole));
	diag_note(d, e, (struct span){ 0 },
		  "at most %s IPv4 addresses and %s IPv6 /48 networks are bounded",
		  addr_count(p->bound.v4).s, addr_count(p->bound.v6).s);
	diag_note(d, e, (struct span){ 0 }, "ports that are reached: %s of tcp, %s of udp",
		  addr_count(count_ports(a, set, NET_TCP)).s, addr_count(count_ports(a, set, NET_UDP)).s);
	find_excess(&x);
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (contributes(p, whole, x.part[i]))
			diag_note(d, e, p->net_rule[i].at, "%s", line_text(&x, i));
}

static bool check_bounded(struct diags *d, struct arena *a, const struct policy *p,
			  const struct net_set *set, struct net_reach *whole)
{
	struct addr_ranges v4 = reached_by_any(a, set, NET_V4), v6 = reached_by_any(a, set, NET_V6);

	*whole = egress_measure(a, &v4, &v6);
	if (is_bounded(p, *whole))
		return true;
	report_unbounded(d, a, p, set, *whole, &v4, &v6);
	return false;
}

/* --- metadata addresses --------------------------------------------------- */

/* Addresses that all reach one metadata service: itself, or what carries it. */
struct metadata_range {
	enum net_family family;
	struct addr_range range;
	const struct metadata_address *address;
	bool exposed;
};

struct metadata_list {
	struct metadata_range *item;
	size_t n, cap;
};

static void add_metadata(struct arena *a, struct metadata_list *list, enum net_family family,
			 struct addr_range range, const struct metadata_address *m)
{
	*ARENA_PUSH(a, list->item, list->n, list->cap) =
		(struct metadata_range){ .family = family, .range = range, .address = m };
}

static struct metadata_list list_metadata(struct arena *a, const struct addr_ranges *v6)
{
	struct metadata_list list = { 0 };

	for (size_t i = 0; i < metadata_address_count; i++) {
		const struct metadata_address *m = &metadata_addresses[i];
		struct addr_ranges carrying = { 0 };

		add_metadata(a, &list, m->family, (struct addr_range){ m->addr, m->addr }, m);
		if (m->family == NET_V4)
			add_carrying(a, v6, (uint32_t)m->addr.lo, (uint32_t)m->addr.lo, &carrying);
		for (size_t k = 0; k < carrying.n; k++)
			add_metadata(a, &list, NET_V6, carrying.range[k], m);
	}
	return list;
}

static bool rule_has_port(const struct net_rule *r, unsigned port)
{
	for (size_t i = 0; i < r->nports; i++)
		if (r->port[i].lo <= port && port <= r->port[i].hi)
			return true;
	return false;
}

/* What an allow grants of `reached` by the operands that lie within `m`: what it names alone, if anything. */
static struct addr_ranges named_by_rule(struct arena *a, const struct net_rule *r, const struct metadata_range *m,
					const struct addr_ranges *reached)
{
	struct net_rule alone = *r;
	struct net_operand *to = ARENA_ARRAY(a, r->nto + 1, struct net_operand);

	alone.nto = 0;
	alone.to = to;
	for (size_t k = 0; k < r->nto; k++)
		if (r->to[k].family == m->family && addr_within(operand_range(&r->to[k]), m->range))
			to[alone.nto++] = r->to[k];
	return reached_by_rule(a, &alone, m->family, reached);
}

/* A rule that names addresses of a metadata range alone, and what it still grants of them. */
struct named_rule {
	const struct net_rule *rule;
	struct addr_ranges to;
};

struct named_list {
	struct named_rule *item;
	size_t n, cap;
};

static struct named_list list_named(struct arena *a, const struct policy *p, const struct metadata_range *m,
				    const struct addr_ranges *reached)
{
	struct named_list list = { 0 };

	for (size_t i = 0; i < p->nnet_rules; i++) {
		struct named_rule n = { .rule = &p->net_rule[i] };

		if (!n.rule->allow)
			continue;
		n.to = named_by_rule(a, n.rule, m, reached);
		if (n.to.n)
			*ARENA_PUSH(a, list.item, list.n, list.cap) = n;
	}
	return list;
}

/* True if rules that name them alone grant all of `part`, for the protocol and the port. */
static bool all_named(struct arena *a, const struct named_list *named, const struct addr_ranges *part, int proto,
		      unsigned port)
{
	struct addr_ranges to = { 0 };

	for (size_t i = 0; i < named->n; i++) {
		const struct named_rule *n = &named->item[i];

		for (size_t k = 0; n->rule->proto[proto] && rule_has_port(n->rule, port) && k < n->to.n; k++)
			ranges_add(a, &to, n->to.range[k].lo, n->to.range[k].hi);
	}
	ranges_normalise(&to);
	return !ranges_subtract(a, part, &to).n;
}

/* The same for a set of ports: what is named changes only where the ports of a rule begin, or after they end. */
static bool ports_named(struct arena *a, const struct named_list *named, const struct addr_ranges *part, int proto,
			const struct net_portset *ports)
{
	for (size_t i = 0; i < ports->n; i++) {
		struct net_ports r = ports->range[i];

		if (!all_named(a, named, part, proto, r.lo))
			return false;
		for (size_t k = 0; k < named->n; k++)
			for (size_t j = 0; j < named->item[k].rule->nports; j++) {
				unsigned end = named->item[k].rule->port[j].hi;

				if (r.lo <= end && end < r.hi && !all_named(a, named, part, proto, end + 1))
					return false;
			}
	}
	return true;
}

/* True if the set reaches an address of `m` by some port that no allow names it alone for. */
static bool is_exposed(struct arena *a, const struct policy *p, const struct net_set *set,
		       const struct metadata_range *m)
{
	struct addr_range range = m->range;
	const struct addr_ranges whole = { &range, 1, 0 };
	struct named_list named = { 0 };
	bool listed = false;

	for (int proto = 0; proto < NET_PROTOS; proto++) {
		const struct net_cell *c = &set->cell[proto][m->family];

		for (size_t i = 0; i < c->n; i++) {
			struct addr_range r = { c->interval[i].lo, c->interval[i].hi };
			const struct addr_ranges reached = { &r, 1, 0 };
			struct addr_ranges part;

			if (!addr_overlap(r, range))
				continue;
			if (!listed)
				named = list_named(a, p, m, &whole);
			listed = true;
			part = ranges_intersect(a, &whole, &reached);
			if (!ports_named(a, &named, &part, proto, &set->portset[c->interval[i].ports]))
				return true;
		}
	}
	return false;
}

/* What the rule adds to the reach through one of its operands. */
static struct addr_ranges reached_by_operand(struct arena *a, const struct net_rule *r, const struct net_operand *o,
					     const struct addr_ranges *reached)
{
	struct net_rule alone = *r;

	alone.to = o;
	alone.nto = 1;
	return reached_by_rule(a, &alone, o->family, reached);
}

/* True if the operand reaches part of `m`, and takes in other addresses too. */
static bool takes_in(struct arena *a, const struct net_rule *r, const struct net_operand *o,
		     const struct metadata_range *m)
{
	struct addr_range range = m->range;
	const struct addr_ranges whole = { &range, 1, 0 };

	return o->family == m->family && addr_overlap(operand_range(o), range) &&
	       !addr_within(operand_range(o), range) && reached_by_operand(a, r, o, &whole).n;
}

static void report_metadata(struct diags *d, struct arena *a, const struct net_rule *r,
			    const struct net_operand *o, const struct metadata_list *list)
{
	const struct metadata_address *shown = NULL;
	struct diag *e = NULL;

	for (size_t i = 0; i < list->n; i++) {
		const struct metadata_range *m = &list->item[i];
		struct addr_text at;

		/* What carries one address stands together: its first form says enough. */
		if (!m->exposed || m->address == shown || !takes_in(a, r, o, m))
			continue;
		at = addr_show_range(m->family, m->range.lo, m->range.hi);
		shown = m->address;
		if (e) {
			diag_note(d, e, (struct span){ 0 }, "and %s (%s)", at.s, m->address->what);
			continue;
		}
		e = diag_error(d, CAVE_METADATA_ADDRESS, o->at,
			       "%s holds the metadata address %s (%s)",
			       addr_show_range(o->family, o->lo, o->hi).s, at.s, m->address->what);
		diag_note(d, e, (struct span){ 0 }, "write: except %s; to grant it, name it alone",
			  at.s);
	}
}

static bool check_metadata(struct diags *d, struct arena *a, const struct policy *p,
			   const struct net_set *set, bool bounded)
{
	struct addr_ranges v6 = reached_by_any(a, set, NET_V6);
	struct metadata_list list = list_metadata(a, &v6);
	bool any = false;

	for (size_t i = 0; i < list.n; i++) {
		list.item[i].exposed = is_exposed(a, p, set, &list.item[i]);
		any = any || list.item[i].exposed;
	}
	for (size_t i = 0; any && i < p->nnet_rules; i++)
		for (size_t k = 0; p->net_rule[i].allow && k < p->net_rule[i].nto; k++)
			if (bounded || !is_whole_family(&p->net_rule[i].to[k]))
				report_metadata(d, a, &p->net_rule[i], &p->net_rule[i].to[k], &list);
	return !any;
}

/* --- ranges of which only single addresses may be granted ----------------- */

/* True if the rule reaches part of `block` through the operand, which is no single address. */
static bool reaches_block(struct arena *a, const struct net_rule *r, const struct net_operand *o,
			  struct addr_range block, const struct addr_ranges *reached)
{
	struct addr_ranges part;

	if (!addr_overlap(operand_range(o), block))
		return false;
	part = reached_by_operand(a, r, o, reached);
	for (size_t i = 0; i < part.n; i++)
		if (addr_overlap(part.range[i], block))
			return true;
	return false;
}

static bool check_operand(struct diags *d, struct arena *a, const struct net_rule *r,
			  const struct net_operand *o, const struct addr_ranges *reached,
			  bool bounded)
{
	bool good = true;
	struct diag *e;

	if (!bounded && is_whole_family(o))
		return true;
	for (size_t i = 0; o->family == NET_V6 && i < refused_block_count; i++) {
		const struct refused_block *b = &refused_blocks[i];
		const char *block;

		if (!reaches_block(a, r, o, b->range, reached))
			continue;
		block = arena_strdup(a, addr_show_range(NET_V6, b->range.lo, b->range.hi).s);
		e = diag_error(d, CAVE_VALUE, o->at, "%s holds addresses of %s, %s",
			       addr_show_range(o->family, o->lo, o->hi).s, block, b->why);
		diag_note(d, e, (struct span){ 0 }, "write: except %s", block);
		good = false;
	}
	for (size_t i = 0; !is_single(o) && i < restricted_block_count; i++) {
		const struct restricted_block *b = &restricted_blocks[i];

		/* What holds all of the block, and is unbounded, has been refused for that. */
		if (b->family != o->family || !reaches_block(a, r, o, b->range, reached) ||
		    (!bounded && addr_within(b->range, operand_range(o)) &&
		     !addr_within(operand_range(o), b->range)))
			continue;
		e = diag_error(d, CAVE_VALUE, o->at, "%s is a range that holds %s addresses",
			       addr_show_range(o->family, o->lo, o->hi).s, b->what);
		diag_note(d, e, (struct span){ 0 }, "name single addresses, or write: except %s",
			  addr_show_range(b->family, b->range.lo, b->range.hi).s);
		good = false;
	}
	return good;
}

/*
 * An IPv6 range is of IPv6 only, its IPv4-mapped part is not in it.  A deny or an except that seems to
 * say more is refused, except for ::/0, which is how one says IPv6.
 */
static bool check_taken_away(struct diags *d, const struct net_operand *o)
{
	static const struct addr_range mapped = { { 0, 0xffff00000000 }, { 0, 0xffffffffffff } };
	struct addr_range all = { { 0, 0 }, addr_last(NET_V6) };
	struct diag *e;

	if (o->family != NET_V6 || !addr_overlap(mapped, operand_range(o)) ||
	    addr_within(all, operand_range(o)))
		return true;
	e = diag_error(d, CAVE_VALUE, o->at, "%s holds all IPv4-mapped addresses, which are IPv4",
		       addr_show_range(NET_V6, o->lo, o->hi).s);
	diag_note(d, e, (struct span){ 0 },
		  "write 0.0.0.0/0 for all of IPv4, ::/0 for all of IPv6");
	return false;
}

static bool check_ranges(struct diags *d, struct arena *a, const struct policy *p,
			 const struct net_set *set, bool bounded)
{
	struct addr_ranges reached[NET_FAMILIES];
	bool good = true;

	for (int family = 0; family < NET_FAMILIES; family++)
		reached[family] = reached_by_any(a, set, (enum net_family)family);
	for (size_t i = 0; i < p->nnet_rules; i++) {
		const struct net_rule *r = &p->net_rule[i];

		for (size_t k = 0; k < r->nto; k++) {
			const struct net_operand *o = &r->to[k];

			good = (r->allow ? check_operand(d, a, r, o, &reached[o->family], bounded)
					 : check_taken_away(d, o)) &&
			       good;
		}
		for (size_t k = 0; k < r->nexcept; k++)
			good = check_taken_away(d, &r->except[k]) && good;
	}
	return good;
}

/* --- what may be named in one ---------------------------------------------- */

/* True if the range holds an address of `m` and one that is not of it. */
static bool straddles(struct addr_range r, struct addr_range m)
{
	return addr_overlap(r, m) && !addr_within(r, m);
}

/* The same for all that carries the IPv4 address; a range of Teredo that no one /96 holds straddles any. */
static bool straddles_carrier(struct addr_range r, uint32_t v4)
{
	struct addr_range carrier, block = carrier_teredo_client(r.lo, 0, UINT32_MAX);

	for (int c = 0; c < CARRIERS; c++)
		if (carrier_of((enum carrier)c, v4, v4, &carrier) && straddles(r, carrier))
			return true;
	return addr_overlap(r, carrier_range(CARRIER_TEREDO)) &&
	       (!addr_within(r, block) || straddles(r, carrier_teredo_client(r.lo, v4, v4)));
}

bool egress_one_operand(enum net_family family, struct net_addr lo, struct net_addr hi)
{
	struct addr_range r = { lo, hi };

	if (!net_addr_cmp(lo, hi))
		return true;
	for (size_t i = 0; i < restricted_block_count; i++)
		if (restricted_blocks[i].family == family && addr_overlap(r, restricted_blocks[i].range))
			return false;
	for (size_t i = 0; i < metadata_address_count; i++) {
		const struct metadata_address *m = &metadata_addresses[i];

		if (m->family == family && straddles(r, (struct addr_range){ m->addr, m->addr }))
			return false;
		if (m->family == NET_V4 && family == NET_V6 && straddles_carrier(r, (uint32_t)m->addr.lo))
			return false;
	}
	return true;
}

bool egress_check(struct diags *d, struct arena *a, const struct policy *p, struct net_set *set)
{
	bool bounded = check_bounded(d, a, p, set, &set->reach);
	bool metadata = check_metadata(d, a, p, set, bounded);
	bool ranges = check_ranges(d, a, p, set, bounded);

	return bounded && metadata && ranges;
}
