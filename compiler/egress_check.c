/* SPDX-License-Identifier: MIT */
/*
 * What a policy must not reach, asked of the finished set: too much of the world, a metadata
 * address by accident, addresses that carry IPv4 in no one way, and whole link-local or multicast
 * ranges.
 */
#include <inttypes.h>

#include "compiler/egress_registry.h"
#include "compiler/egress_set.h"

enum {
	BOUND_V4 = 1 << 20, /* addresses */
	BOUND_V6 = 1 << 18, /* /48 networks */
	TEREDO_BLOCKS = 64,
};

/*
 * NAT64 prefixes of one's own may put the IPv4 address in any of several places (RFC 8215, RFC
 * 6052).
 */
static const struct addr_range LOCAL_NAT64 = { { 0x0064ff9b00010000u, 0 },
					       { 0x0064ff9b0001ffffu, UINT64_MAX } };

static struct addr_range operand_range(const struct net_operand *o)
{
	return (struct addr_range){ o->lo, o->hi };
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

/* What an allow rule adds to the reach in one family. */
static struct addr_ranges reached_by_rule(struct arena *a, const struct net_rule *r,
					  enum net_family family, const struct addr_ranges *reached)
{
	struct addr_ranges to = { 0 }, except = { 0 };

	for (size_t i = 0; i < r->nto; i++)
		if (r->to[i].family == family)
			ranges_add(a, &to, r->to[i].lo, r->to[i].hi);
	for (size_t i = 0; i < r->nexcept; i++)
		if (r->except[i].family == family)
			ranges_add(a, &except, r->except[i].lo, r->except[i].hi);
	ranges_normalise(&to);
	ranges_normalise(&except);
	to = ranges_subtract(a, &to, &except);
	return ranges_intersect(a, &to, reached);
}

/* --- unbounded ------------------------------------------------------------ */

struct reach {
	uint64_t v4; /* globally reachable addresses, carried ones included */
	uint64_t v6; /* globally reachable /48 networks touched */
};

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

static struct reach measure(struct arena *a, const struct addr_ranges *v4,
			    const struct addr_ranges *v6)
{
	struct addr_ranges local4 = registry_not_global(a, NET_V4);
	struct addr_ranges local6 = registry_not_global(a, NET_V6);
	struct addr_ranges all4 = { 0 }, not6 = { 0 }, world;
	struct reach r;

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

static const char *reach_text(struct arena *a, struct reach r)
{
	if (!r.v6)
		return arena_printf(a, "%s public IPv4 addresses", addr_count(r.v4).s);
	if (!r.v4)
		return arena_printf(a, "%s public IPv6 /48 networks", addr_count(r.v6).s);
	return arena_printf(a, "%s public IPv4 addresses and %s public IPv6 /48 networks",
			    addr_count(r.v4).s, addr_count(r.v6).s);
}

/*
 * The part of a rule's reach that lies in a family that is unbounded, in units of the bound's
 * 2^-18.
 */
static uint64_t weight(struct reach whole, struct reach r)
{
	return (whole.v4 > BOUND_V4 ? r.v4 >> 2 : 0) + (whole.v6 > BOUND_V6 ? r.v6 : 0);
}

static bool contributes(struct reach whole, struct reach r)
{
	return (whole.v4 > BOUND_V4 && r.v4) || (whole.v6 > BOUND_V6 && r.v6);
}

static void report_unbounded(struct diags *d, struct arena *a, const struct policy *p,
			     struct reach whole, const struct addr_ranges *v4,
			     const struct addr_ranges *v6)
{
	struct reach *part = ARENA_ARRAY(a, p->nnet_rules + 1, struct reach);
	size_t largest = p->nnet_rules;
	struct diag *e;

	for (size_t i = 0; i < p->nnet_rules; i++) {
		struct addr_ranges r4, r6;

		if (!p->net_rule[i].allow)
			continue;
		r4 = reached_by_rule(a, &p->net_rule[i], NET_V4, v4);
		r6 = reached_by_rule(a, &p->net_rule[i], NET_V6, v6);
		part[i] = measure(a, &r4, &r6);
		if (contributes(whole, part[i]) &&
		    (largest == p->nnet_rules ||
		     weight(whole, part[i]) > weight(whole, part[largest])))
			largest = i;
	}
	e = diag_error(d, CAVE_EGRESS_UNBOUNDED,
		       largest < p->nnet_rules ? p->net_rule[largest].at : p->at,
		       "the grants together reach %s, which is unbounded", reach_text(a, whole));
	diag_note(d, e, (struct span){ 0 },
		  "at most %s IPv4 addresses and %s IPv6 /48 networks are bounded",
		  addr_count(BOUND_V4).s, addr_count(BOUND_V6).s);
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (i != largest && contributes(whole, part[i]))
			diag_note(d, e, p->net_rule[i].at, "this line reaches %s",
				  reach_text(a, part[i]));
}

static bool check_bounded(struct diags *d, struct arena *a, const struct policy *p,
			  const struct net_set *set, struct reach *whole)
{
	struct addr_ranges v4 = reached_by_any(a, set, NET_V4), v6 = reached_by_any(a, set, NET_V6);

	*whole = measure(a, &v4, &v6);
	if (whole->v4 <= BOUND_V4 && whole->v6 <= BOUND_V6)
		return true;
	report_unbounded(d, a, p, *whole, &v4, &v6);
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

/* The Teredo clients of one metadata address, in the first blocks of an interval. */
static void add_teredo_clients(struct arena *a, struct metadata_list *list, struct addr_range r,
			       const struct metadata_address *m)
{
	struct addr_range teredo = carrier_range(CARRIER_TEREDO);
	struct net_addr at = net_addr_cmp(r.lo, teredo.lo) < 0 ? teredo.lo : r.lo;

	for (int i = 0; i < TEREDO_BLOCKS && addr_overlap((struct addr_range){ at, r.hi }, teredo);
	     i++) {
		struct net_addr end = carrier_teredo_client(at, 0, UINT32_MAX).hi;

		add_metadata(a, list, NET_V6,
			     carrier_teredo_client(at, (uint32_t)m->addr.lo, (uint32_t)m->addr.lo),
			     m);
		if (net_addr_cmp(end, r.hi) >= 0)
			return;
		at = addr_next(end);
	}
}

static struct metadata_list list_metadata(struct arena *a, const struct addr_ranges *v6)
{
	struct metadata_list list = { 0 };

	for (size_t i = 0; i < metadata_address_count; i++) {
		const struct metadata_address *m = &metadata_addresses[i];
		struct addr_range r;

		add_metadata(a, &list, m->family, (struct addr_range){ m->addr, m->addr }, m);
		for (int c = 0; m->family == NET_V4 && c < CARRIERS; c++)
			if (carrier_of((enum carrier)c, (uint32_t)m->addr.lo, (uint32_t)m->addr.lo,
				       &r))
				add_metadata(a, &list, NET_V6, r, m);
		for (size_t k = 0; m->family == NET_V4 && k < v6->n; k++)
			if (addr_overlap(v6->range[k], carrier_range(CARRIER_TEREDO)))
				add_teredo_clients(a, &list, v6->range[k], m);
	}
	return list;
}

/*
 * True if an allow of the protocol names addresses of `m` and nothing else, for the port. *end is
 * the last such.
 */
static bool named(const struct policy *p, const struct metadata_range *m, int proto, unsigned port,
		  unsigned *end)
{
	for (size_t i = 0; i < p->nnet_rules; i++) {
		const struct net_rule *r = &p->net_rule[i];

		for (size_t k = 0; r->allow && r->proto[proto] && k < r->nto; k++) {
			if (r->to[k].family != m->family ||
			    !addr_within(operand_range(&r->to[k]), m->range))
				continue;
			for (size_t j = 0; j < r->nports; j++) {
				if (port < r->port[j].lo || port > r->port[j].hi)
					continue;
				*end = r->port[j].hi;
				return true;
			}
		}
	}
	return false;
}

static bool ports_named(const struct policy *p, const struct metadata_range *m, int proto,
			const struct net_portset *ports)
{
	for (size_t i = 0; i < ports->n; i++)
		for (unsigned port = ports->range[i].lo, end; port <= ports->range[i].hi;
		     port = end + 1)
			if (!named(p, m, proto, port, &end))
				return false;
	return true;
}

/* True if the set reaches `m` by some port that no allow names it alone for. */
static bool is_exposed(const struct policy *p, const struct net_set *set,
		       const struct metadata_range *m)
{
	for (int proto = 0; proto < NET_PROTOS; proto++) {
		const struct net_cell *c = &set->cell[proto][m->family];

		for (size_t i = 0; i < c->n; i++) {
			struct addr_range r = { c->interval[i].lo, c->interval[i].hi };

			if (addr_overlap(r, m->range) &&
			    !ports_named(p, m, proto, &set->portset[c->interval[i].ports]))
				return true;
		}
	}
	return false;
}

/* True if the operand, less the excepts of its rule, takes in `m` beside other addresses. */
static bool takes_in(const struct net_rule *r, const struct net_operand *o,
		     const struct metadata_range *m)
{
	if (o->family != m->family || !addr_overlap(operand_range(o), m->range) ||
	    addr_within(operand_range(o), m->range))
		return false;
	for (size_t i = 0; i < r->nexcept; i++)
		if (r->except[i].family == m->family &&
		    addr_within(m->range, operand_range(&r->except[i])))
			return false;
	return true;
}

static void report_metadata(struct diags *d, const struct net_rule *r, const struct net_operand *o,
			    const struct metadata_list *list)
{
	const struct metadata_address *shown = NULL;
	struct diag *e = NULL;

	for (size_t i = 0; i < list->n; i++) {
		const struct metadata_range *m = &list->item[i];
		struct addr_text at = addr_show_range(m->family, m->range.lo, m->range.hi);

		/* What carries one address stands together: its first form says enough. */
		if (!m->exposed || m->address == shown || !takes_in(r, o, m))
			continue;
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
			   const struct net_set *set)
{
	struct addr_ranges v6 = reached_by_any(a, set, NET_V6);
	struct metadata_list list = list_metadata(a, &v6);
	bool any = false;

	for (size_t i = 0; i < list.n; i++) {
		list.item[i].exposed = is_exposed(p, set, &list.item[i]);
		any = any || list.item[i].exposed;
	}
	for (size_t i = 0; any && i < p->nnet_rules; i++)
		for (size_t k = 0; p->net_rule[i].allow && k < p->net_rule[i].nto; k++)
			report_metadata(d, &p->net_rule[i], &p->net_rule[i].to[k], &list);
	return !any;
}

/* --- ranges of which only single addresses may be granted ----------------- */

/* True if the rule reaches part of `block` through the operand, which is no single address. */
static bool reaches_block(struct arena *a, const struct net_rule *r, const struct net_operand *o,
			  struct addr_range block, const struct addr_ranges *reached)
{
	struct net_rule alone = *r;
	struct addr_ranges part;

	if (!addr_overlap(operand_range(o), block))
		return false;
	alone.to = o;
	alone.nto = 1;
	part = reached_by_rule(a, &alone, o->family, reached);
	for (size_t i = 0; i < part.n; i++)
		if (addr_overlap(part.range[i], block))
			return true;
	return false;
}

static bool check_operand(struct diags *d, struct arena *a, const struct net_rule *r,
			  const struct net_operand *o, const struct addr_ranges *reached,
			  bool bounded)
{
	struct addr_text text = addr_show_range(o->family, o->lo, o->hi);
	bool good = true;
	struct diag *e;

	if (o->family == NET_V6 && reaches_block(a, r, o, LOCAL_NAT64, reached)) {
		e = diag_error(
			d, CAVE_VALUE, o->at,
			"%s holds addresses of 64:ff9b:1::/48, which carry IPv4 in no one way",
			text.s);
		diag_note(d, e, (struct span){ 0 }, "write: except 64:ff9b:1::/48");
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
			       text.s, b->what);
		diag_note(d, e, (struct span){ 0 }, "name single addresses, or write: except %s",
			  addr_show_range(b->family, b->range.lo, b->range.hi).s);
		good = false;
	}
	return good;
}

/*
 * An IPv6 range is of IPv6 only, its IPv4-mapped part is not in it.  A deny that seems to say more
 * is refused, except for ::/0, which is how one says IPv6.
 */
static bool check_deny(struct diags *d, const struct net_operand *o)
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
					 : check_deny(d, o)) &&
			       good;
		}
	}
	return good;
}

bool egress_check(struct diags *d, struct arena *a, const struct policy *p,
		  const struct net_set *set)
{
	struct reach whole;
	bool bounded = check_bounded(d, a, p, set, &whole);
	bool metadata = check_metadata(d, a, p, set);
	bool ranges = check_ranges(d, a, p, set, bounded);

	return bounded && metadata && ranges;
}
