/* SPDX-License-Identifier: MIT */
/* The direct evaluation of a policy's rules. */
#include "compiler/egress_reference.h"

#include <string.h>

#include "bpf/sort.h"

/*
 * One operand of a rule.  Sorted by `lo`; `last` is the greatest `hi` of the part of the array it
 * is the middle of.
 */
struct operand_entry {
	struct net_addr lo, hi, last;
	uint32_t rule;
	bool except;
};

/* --- finding operands ----------------------------------------------------- */

static int by_lo(const void *x, const void *y)
{
	const struct operand_entry *a = x, *b = y;

	return net_addr_cmp(a->lo, b->lo);
}

/* The array is a balanced tree: its middle is the root of the two halves. */
static struct net_addr set_last(struct operand_entry *e, size_t n)
{
	struct net_addr last = e[n / 2].hi;

	if (n / 2) {
		struct net_addr left = set_last(e, n / 2);

		last = net_addr_cmp(left, last) > 0 ? left : last;
	}
	if (n - n / 2 - 1) {
		struct net_addr right = set_last(e + n / 2 + 1, n - n / 2 - 1);

		last = net_addr_cmp(right, last) > 0 ? right : last;
	}
	e[n / 2].last = last;
	return last;
}

static void add_operands(struct reference *ref, const struct net_operand *o, size_t n,
			 uint32_t rule, bool except)
{
	for (size_t i = 0; i < n; i++)
		ref->entry[o[i].family][ref->n[o[i].family]++] = (struct operand_entry){
			.lo = o[i].lo, .hi = o[i].hi, .rule = rule, .except = except
		};
}

void reference_init(struct reference *ref, struct arena *a, const struct policy *p)
{
	size_t total = 0;

	*ref = (struct reference){ .policy = p };
	for (size_t i = 0; i < p->nnet_rules; i++)
		total += p->net_rule[i].nto + p->net_rule[i].nexcept;
	for (int family = 0; family < NET_FAMILIES; family++)
		ref->entry[family] = ARENA_ARRAY(a, total + 1, struct operand_entry);
	/* An address and the two that it may carry. */
	ref->hit = ARENA_ARRAY(a, 3 * total + 1, const struct operand_entry *);
	ref->listed = ARENA_ARRAY(a, p->nnet_rules + 1, size_t);
	ref->excepted = ARENA_ARRAY(a, p->nnet_rules + 1, size_t);
	ref->always = ARENA_ARRAY(a, p->nnet_rules + 1, uint32_t);
	for (uint32_t i = 0; i < p->nnet_rules; i++) {
		/* A deny without addresses is of all. */
		if (!p->net_rule[i].allow && !p->net_rule[i].nto)
			ref->always[ref->nalways++] = i;
		add_operands(ref, p->net_rule[i].to, p->net_rule[i].nto, i, false);
		add_operands(ref, p->net_rule[i].except, p->net_rule[i].nexcept, i, true);
	}
	for (int family = 0; family < NET_FAMILIES; family++) {
		if (!ref->n[family])
			continue;
		sort(ref->entry[family], ref->n[family], sizeof *ref->entry[family], by_lo);
		set_last(ref->entry[family], ref->n[family]);
	}
}

void reference_init_own(struct reference *ref, struct arena *a, const struct policy *p)
{
	struct policy *own = ARENA_ARRAY(a, 1, struct policy);

	own->net_rule = p->listen;
	own->nnet_rules = p->nlistens;
	reference_init(ref, a, own);
}

struct rule_list reference_list(struct arena *a, const struct policy *p)
{
	return (struct rule_list){ .rule = ARENA_ARRAY(a, p->nnet_rules + 1,
						       const struct net_rule *) };
}

/* Appends to `hit` the operands of e[0 … n) that hold the address; returns the new number. */
static size_t find(const struct operand_entry *e, size_t n, struct net_addr at,
		   const struct operand_entry **hit, size_t nhits)
{
	while (n && net_addr_cmp(e[n / 2].last, at) >= 0) {
		const struct operand_entry *middle = &e[n / 2];

		nhits = find(e, n / 2, at, hit, nhits);
		if (net_addr_cmp(middle->lo, at) > 0)
			break;
		if (net_addr_cmp(at, middle->hi) <= 0)
			hit[nhits++] = middle;
		e = middle + 1;
		n = n - n / 2 - 1;
	}
	return nhits;
}

/* Appends to the hits, of which there are `nhits`; returns the new number. */
static size_t operands_at(const struct reference *ref, struct point at, size_t nhits)
{
	return find(ref->entry[at.family], ref->n[at.family], at.addr, ref->hit, nhits);
}

/* --- what they say -------------------------------------------------------- */

struct point reference_normal(struct point at)
{
	if (at.family == NET_V6 && at.addr.hi == 0 && at.addr.lo >> 32 == 0xffff)
		return (struct point){ .family = NET_V4, .addr = { 0, (uint32_t)at.addr.lo } };
	return at;
}

/*
 * The IPv4 addresses that an IPv6 address carries: none, one, or the server and the client of
 * Teredo.
 */
static size_t carried(struct point at, struct point out[2])
{
	uint64_t hi = at.addr.hi, lo = at.addr.lo;
	uint32_t v4[2];
	size_t n = 1;

	if (at.family != NET_V6)
		return 0;
	v4[0] = (uint32_t)lo;
	if (hi == 0 && lo > 1 && lo <= 0xffffffff) {
		/* compatible */
	} else if (hi == 0x0064ff9b00000000 && lo <= 0xffffffff) {
		/* NAT64 */
	} else if (hi >> 48 == 0x2002) {
		v4[0] = (uint32_t)(hi >> 16);
	} else if (hi >> 32 == 0x20010000) {
		v4[0] = (uint32_t)hi;
		v4[1] = ~(uint32_t)lo;
		n = 2;
	} else {
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = (struct point){ .family = NET_V4, .addr = { 0, v4[i] } };
	return n;
}

/* Lists a rule once per query. */
static void list(struct reference *ref, uint32_t rule, struct rule_list *out)
{
	if (ref->listed[rule] == ref->query)
		return;
	ref->listed[rule] = ref->query;
	out->rule[out->n++] = &ref->policy->net_rule[rule];
}

static void begin(struct reference *ref, struct rule_list *out)
{
	ref->query++;
	out->n = 0;
	for (size_t i = 0; i < ref->nalways; i++)
		list(ref, ref->always[i], out);
}

void reference_holding(struct reference *ref, struct point at, struct rule_list *out)
{
	struct point inner[2];
	size_t ninner = carried(at, inner), own, n;

	begin(ref, out);
	/* The unspecified addresses are rewritten before they are judged; as they are nothing reaches them. */
	if (!at.addr.hi && !at.addr.lo)
		return;
	n = own = operands_at(ref, at, 0);
	for (size_t k = 0; k < ninner; k++)
		n = operands_at(ref, inner[k], n);
	for (size_t i = 0; i < n; i++)
		if (ref->hit[i]->except)
			ref->excepted[ref->hit[i]->rule] = ref->query;
	for (size_t i = 0; i < n; i++) {
		uint32_t rule = ref->hit[i]->rule;
		bool allow = ref->policy->net_rule[rule].allow;

		/* What an allow of IPv4 names it does not grant to what carries it. */
		if (!ref->hit[i]->except && !(allow && (i >= own || ref->excepted[rule] == ref->query)))
			list(ref, rule, out);
	}
}

static struct net_addr neighbour(struct net_addr a, bool up)
{
	if (up) {
		a.lo++;
		a.hi += a.lo == 0;
	} else {
		a.hi -= a.lo == 0;
		a.lo--;
	}
	return a;
}

void reference_touching(struct reference *ref, struct point at, struct rule_list *out)
{
	struct point place[5] = { at, at, at };
	size_t places = 3 + carried(at, place + 3);

	place[1].addr = neighbour(at.addr, false);
	place[2].addr = neighbour(at.addr, true);
	begin(ref, out);
	for (size_t k = 0; k < places; k++) {
		size_t n = operands_at(ref, place[k], 0);

		for (size_t i = 0; i < n; i++)
			if (!ref->hit[i]->except)
				list(ref, ref->hit[i]->rule, out);
	}
}

static bool concerns_proto(const struct net_rule *r, int proto)
{
	if (!r->allow && !r->proto[NET_TCP] && !r->proto[NET_UDP])
		return true;
	return r->proto[proto];
}

/* Sets or clears the bits of some ports. */
static void mark_ports(uint64_t *bits, struct net_ports p, bool to)
{
	for (uint32_t port = p.lo; port <= p.hi;) {
		uint32_t end = (port | 63) < p.hi ? port | 63 : p.hi;
		uint64_t mask = UINT64_MAX >> (63 - (end - port)) << port % 64;

		if (to)
			bits[port / 64] |= mask;
		else
			bits[port / 64] &= ~mask;
		port = end + 1;
	}
}

/* Of so many words, which hold everything that is allowed: what is denied beyond is zero already. */
static void mark_rule(uint64_t *bits, uint32_t used, const struct net_rule *r)
{
	for (size_t i = 0; i < r->nports; i++) {
		struct net_ports p = r->port[i];

		if (p.lo / 64 >= used)
			continue;
		if (p.hi / 64 >= used)
			p.hi = (uint16_t)(64 * used - 1);
		mark_ports(bits, p, r->allow);
	}
	if (!r->allow && !r->nports)
		memset(bits, 0, used * sizeof *bits);
}

/* How many words the ports of the allows reach into. */
static uint32_t words_used(const struct rule_list *holding)
{
	uint32_t used = 0;

	for (size_t i = 0; i < holding->n; i++)
		for (size_t k = 0; k < holding->rule[i]->nports; k++)
			if (holding->rule[i]->allow && holding->rule[i]->port[k].hi / 64 >= used)
				used = holding->rule[i]->port[k].hi / 64 + 1u;
	return used;
}

/* The denies win, but over what is the runtime's. */
enum { PASS_ALLOW, PASS_DENY, PASS_RUNTIME, PASSES };

static int pass_of(const struct net_rule *r)
{
	if (r->runtimes)
		return PASS_RUNTIME;
	return r->allow ? PASS_ALLOW : PASS_DENY;
}

void reference_judge(const struct rule_list *holding, struct port_map *out)
{
	/* Few words are in use as a rule, and this is asked for every address. */
	for (int proto = 0; proto < NET_PROTOS; proto++)
		memset(out->open[proto], 0, out->used * sizeof *out->open[proto]);
	out->used = words_used(holding);
	for (int pass = 0; pass < PASSES; pass++)
		for (size_t i = 0; i < holding->n; i++)
			for (int proto = 0; proto < NET_PROTOS; proto++)
				if (pass_of(holding->rule[i]) == pass && concerns_proto(holding->rule[i], proto))
					mark_rule(out->open[proto], out->used, holding->rule[i]);
}

static bool names_port(const struct net_rule *r, uint16_t port)
{
	for (size_t i = 0; i < r->nports; i++)
		if (r->port[i].lo <= port && port <= r->port[i].hi)
			return true;
	return false;
}

static bool denies(const struct net_rule *r, int proto, uint16_t port)
{
	return !r->allow && concerns_proto(r, proto) && (!r->nports || names_port(r, port));
}

bool reference_denies(struct reference *ref, int proto, struct point at, uint16_t port)
{
	struct point inner[2];
	size_t ninner = carried(at, inner), n = operands_at(ref, at, 0);

	for (size_t k = 0; k < ninner; k++)
		n = operands_at(ref, inner[k], n);
	for (size_t i = 0; i < n; i++)
		if (!ref->hit[i]->except && denies(&ref->policy->net_rule[ref->hit[i]->rule], proto, port))
			return true;
	for (size_t i = 0; i < ref->nalways; i++)
		if (denies(&ref->policy->net_rule[ref->always[i]], proto, port))
			return true;
	return false;
}

bool reference_listens(const struct reference *own, int proto, struct point at, uint16_t port)
{
	const size_t n = port ? operands_at(own, at, 0) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct net_rule *r = &own->policy->net_rule[own->hit[i]->rule];

		if (r->proto[proto] && names_port(r, port))
			return true;
	}
	return false;
}

void reference_own(struct reference *own, struct point at, struct rule_list *out)
{
	const size_t n = operands_at(own, at, 0);

	begin(own, out);
	for (size_t i = 0; i < n; i++)
		list(own, own->hit[i]->rule, out);
}
