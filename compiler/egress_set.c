/* SPDX-License-Identifier: MIT */
/*
 * The exact set of a policy's rules, by a sweep.
 *
 * For one protocol and family the boundaries of all operands are sorted; between two of them
 * nothing changes.  Passing one switches rules on and off, and a rule that is on counts once for
 * every segment of the port line that it names.  A port segment is reached where an allow counts
 * and no deny does.
 */
#include "compiler/egress.h"

#include <string.h>

#include "bpf/sort.h"
#include "compiler/egress_addr.h"
#include "compiler/egress_set.h"

enum {
	PORTS_END = 65536,
};

static const struct net_ports ALL_PORTS[] = { { 1, 65535 } };
static const struct net_addr UNSPECIFIED = { 0, 0 };
static const struct addr_range MAPPED = { { 0, 0xffff00000000 }, { 0, 0xffffffffffff } };

struct event {
	struct net_addr at;
	uint32_t rule;
	int8_t delta;
	bool except;
};

/* A rule while it is swept over. */
struct swept_rule {
	bool allow, on;
	uint32_t to, except; /* how many operands cover the current address */
	const struct net_ports *port;
	size_t nports;
	line_id line;
};

struct portsets {
	struct net_portset *set;
	size_t n, cap;
	uint32_t *slot; /* open hash: index + 1 */
	size_t nslots; /* a power of two */
};

/* A set of numbers below `n`, with a second level that says which words are not 0. */
struct bits {
	size_t n;
	uint64_t *word, *above;
};

struct sweep {
	struct arena *a;
	const struct policy *policy;
	enum net_proto proto;
	enum net_family family;
	struct swept_rule *rule; /* the policy's rules by index, and one more: what is in no set */
	size_t nrules;
	struct event *event;
	size_t nevents, events_cap;
	uint32_t *cut; /* segment i of the port line is [cut[i], cut[i + 1]) */
	size_t ncuts, cuts_cap;
	uint32_t *allows, *denies; /* rules that are on, by segment */
	uint32_t closed; /* how many denies of every port are on; they are not in `denies` */
	struct bits reached; /* segments that an allow counts for, and no deny of some ports */
	struct bits on; /* allows that are on */
	struct net_interval *interval;
	size_t nintervals, intervals_cap;
};

/* --- sets of ports, each kept once ---------------------------------------- */

static uint64_t hash_ports(const struct net_ports *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a over the bounds */

	for (size_t i = 0; i < n; i++)
		h = ((h ^ p[i].lo) * 0x100000001b3u ^ p[i].hi) * 0x100000001b3u;
	return h;
}

static bool same_ports(const struct net_portset *s, const struct net_ports *p, size_t n)
{
	return s->n == n && !memcmp(s->range, p, n * sizeof *p);
}

static void grow_slots(struct arena *a, struct portsets *t)
{
	t->nslots = t->nslots ? t->nslots * 2 : 64;
	t->slot = ARENA_ARRAY(a, t->nslots, uint32_t);
	for (size_t i = 0; i < t->n; i++) {
		size_t h = hash_ports(t->set[i].range, t->set[i].n) & (t->nslots - 1);

		while (t->slot[h])
			h = (h + 1) & (t->nslots - 1);
		t->slot[h] = (uint32_t)i + 1;
	}
}

/* The index of the set of these ranges. */
static uint32_t intern_ports(struct arena *a, struct portsets *t, const struct net_ports *p,
			     size_t n)
{
	struct net_ports *copy;
	size_t h;

	if (t->n * 2 >= t->nslots)
		grow_slots(a, t);
	for (h = hash_ports(p, n) & (t->nslots - 1); t->slot[h]; h = (h + 1) & (t->nslots - 1))
		if (same_ports(&t->set[t->slot[h] - 1], p, n))
			return t->slot[h] - 1;
	copy = ARENA_ARRAY(a, n, struct net_ports);
	memcpy(copy, p, n * sizeof *p);
	*ARENA_PUSH(a, t->set, t->n, t->cap) = (struct net_portset){ copy, n };
	t->slot[h] = (uint32_t)t->n;
	return (uint32_t)t->n - 1;
}

/* --- sets of numbers ------------------------------------------------------ */

static struct bits bits_make(struct arena *a, size_t n)
{
	size_t words = n / 64 + 1;

	return (struct bits){ n, ARENA_ARRAY(a, words, uint64_t), ARENA_ARRAY(a, words / 64 + 1, uint64_t) };
}

static void bits_set(struct bits *b, size_t i, bool in)
{
	uint64_t *word = &b->word[i / 64], *above = &b->above[i / 64 / 64];
	uint64_t bit = (uint64_t)1 << i / 64 % 64;

	if (in)
		*word |= (uint64_t)1 << i % 64;
	else
		*word &= ~((uint64_t)1 << i % 64);
	*above = *word ? *above | bit : *above & ~bit;
}

/* The first number in the set from `i` on; b->n if there is none. */
static size_t bits_next(const struct bits *b, size_t i)
{
	size_t word = i / 64, above;
	uint64_t left;

	if (i >= b->n)
		return b->n;
	left = b->word[word] >> i % 64;
	if (left)
		return i + (size_t)__builtin_ctzll(left);
	word++;
	above = word / 64;
	if (above > b->n / 64 / 64)
		return b->n;
	left = b->above[above] >> word % 64 << word % 64;
	while (!left) {
		if (++above > b->n / 64 / 64)
			return b->n;
		left = b->above[above];
	}
	word = above * 64 + (size_t)__builtin_ctzll(left);
	return word * 64 + (size_t)__builtin_ctzll(b->word[word]);
}

/* The first number from `i` on that is not in the set; at most b->n. */
static size_t bits_gap(const struct bits *b, size_t i)
{
	for (size_t word = i / 64; i < b->n; i = ++word * 64) {
		uint64_t left = ~b->word[word] >> i % 64;

		if (left)
			return i + (size_t)__builtin_ctzll(left);
	}
	return b->n;
}

/* --- setting up ----------------------------------------------------------- */

static void add_range(struct sweep *s, uint32_t rule, bool except, struct net_addr lo,
		      struct net_addr hi)
{
	*ARENA_PUSH(s->a, s->event, s->nevents, s->events_cap) = (struct event){ lo, rule, 1,
										 except };
	if (net_addr_cmp(hi, addr_last(s->family)))
		*ARENA_PUSH(s->a, s->event, s->nevents,
			    s->events_cap) = (struct event){ addr_next(hi), rule, -1, except };
}

static void add_carriers(struct sweep *s, uint32_t rule, bool except, const struct net_operand *v4)
{
	struct addr_range r;

	for (int c = 0; c < CARRIERS; c++)
		if (carrier_of((enum carrier)c, (uint32_t)v4->lo.lo, (uint32_t)v4->hi.lo, &r))
			add_range(s, rule, except, r.lo, r.hi);
}

static bool names_v6(const struct net_rule *r)
{
	for (size_t k = 0; k < r->nto; k++)
		if (r->to[k].family == NET_V6)
			return true;
	return false;
}

static bool rule_has_proto(const struct net_rule *r, enum net_proto proto)
{
	/* A deny without a protocol is of all. */
	return r->proto[proto] || (!r->allow && !r->proto[NET_TCP] && !r->proto[NET_UDP]);
}

static void add_rule(struct sweep *s, uint32_t i)
{
	const struct net_rule *r = &s->policy->net_rule[i];
	struct swept_rule *w = &s->rule[i];

	*w = (struct swept_rule){
		.allow = r->allow, .port = r->port, .nports = r->nports, .line = r->line
	};
	if (!rule_has_proto(r, s->proto))
		return;
	if (!r->allow && !r->nports) {
		w->port = ALL_PORTS;
		w->nports = 1;
	}
	if (!r->allow && !r->nto)
		add_range(s, i, false, (struct net_addr){ 0, 0 }, addr_last(s->family));
	for (size_t k = 0; k < r->nto; k++) {
		if (r->to[k].family == s->family)
			add_range(s, i, false, r->to[k].lo, r->to[k].hi);
		else if (!r->allow && s->family == NET_V6)
			add_carriers(s, i, false, &r->to[k]);
	}
	for (size_t k = 0; r->allow && k < r->nexcept; k++)
		if (r->except[k].family == s->family)
			add_range(s, i, true, r->except[k].lo, r->except[k].hi);
		else if (s->family == NET_V6 && names_v6(r))
			add_carriers(s, i, true, &r->except[k]);
}

static int by_value(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static int by_address(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	return net_addr_cmp(a->at, b->at);
}

static void cut_ports(struct sweep *s)
{
	size_t kept = 0;

	*ARENA_PUSH(s->a, s->cut, s->ncuts, s->cuts_cap) = 1;
	*ARENA_PUSH(s->a, s->cut, s->ncuts, s->cuts_cap) = PORTS_END;
	for (size_t i = 0; i < s->nrules; i++) {
		for (size_t k = 0; k < s->rule[i].nports; k++) {
			struct net_ports p = s->rule[i].port[k];

			*ARENA_PUSH(s->a, s->cut, s->ncuts, s->cuts_cap) = p.lo ? p.lo : 1;
			*ARENA_PUSH(s->a, s->cut, s->ncuts, s->cuts_cap) = p.hi + 1u;
		}
	}
	sort(s->cut, s->ncuts, sizeof *s->cut, by_value);
	for (size_t i = 1; i < s->ncuts; i++)
		if (s->cut[i] != s->cut[kept])
			s->cut[++kept] = s->cut[i];
	s->ncuts = kept + 1;
}

static void sweep_init(struct sweep *s, struct arena *a, const struct policy *p,
		       enum net_proto proto, enum net_family family, bool local)
{
	*s = (struct sweep){ .a = a, .policy = p, .proto = proto, .family = family };
	s->nrules = p->nnet_rules + 1;
	s->rule = ARENA_ARRAY(a, s->nrules, struct swept_rule);
	for (uint32_t i = 0; i < p->nnet_rules; i++)
		add_rule(s, i);
	/*
	 * Whatever range is granted, not in it are the unspecified address, which no call ever reaches
	 * (it is rewritten to loopback before it is judged), and of IPv6 what is mapped, which is IPv4.
	 * As a local address the unspecified one is all of them.
	 */
	s->rule[p->nnet_rules] = (struct swept_rule){ .port = ALL_PORTS, .nports = 1 };
	if (!local)
		add_range(s, (uint32_t)p->nnet_rules, false, UNSPECIFIED, UNSPECIFIED);
	if (family == NET_V6)
		add_range(s, (uint32_t)p->nnet_rules, false, MAPPED.lo, MAPPED.hi);
	cut_ports(s);
	s->allows = ARENA_ARRAY(a, s->ncuts, uint32_t);
	s->denies = ARENA_ARRAY(a, s->ncuts, uint32_t);
	s->reached = bits_make(a, s->ncuts - 1);
	s->on = bits_make(a, s->nrules);
}

/* --- sweeping ------------------------------------------------------------- */

static size_t segment_at(const struct sweep *s, uint32_t port)
{
	size_t lo = 0, hi = s->ncuts - 1;

	while (lo < hi) {
		size_t mid = (lo + hi + 1) / 2;

		if (s->cut[mid] <= port)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* Counts a rule in or out of the segments of its ports. */
static void switch_rule(struct sweep *s, uint32_t i, bool on)
{
	struct swept_rule *w = &s->rule[i];
	uint32_t *count = w->allow ? s->allows : s->denies;

	w->on = on;
	if (w->allow) {
		bits_set(&s->on, i, on);
	} else if (w->nports == 1 && w->port[0].lo <= 1 && w->port[0].hi == UINT16_MAX) {
		s->closed += on ? 1u : UINT32_MAX;
		return;
	}
	for (size_t k = 0; k < w->nports; k++) {
		size_t end = segment_at(s, w->port[k].hi + 1u);

		for (size_t g = segment_at(s, w->port[k].lo ? w->port[k].lo : 1); g < end; g++) {
			count[g] += on ? 1u : UINT32_MAX;
			bits_set(&s->reached, g, s->allows[g] && !s->denies[g]);
		}
	}
}

static void apply(struct sweep *s, const struct event *e)
{
	struct swept_rule *w = &s->rule[e->rule];
	uint32_t *count = e->except ? &w->except : &w->to;
	bool on;

	*count += (uint32_t)e->delta;
	on = w->to && !w->except;
	if (on != w->on)
		switch_rule(s, e->rule, on);
}

static bool reaches_any(const struct sweep *s, const struct swept_rule *w)
{
	for (size_t k = 0; k < w->nports; k++)
		if (bits_next(&s->reached, segment_at(s, w->port[k].lo)) < segment_at(s, w->port[k].hi + 1u))
			return true;
	return false;
}

/* The line of the first allow that reaches the current interval. */
static line_id first_line(const struct sweep *s)
{
	for (size_t i = bits_next(&s->on, 0); i < s->nrules; i = bits_next(&s->on, i + 1))
		if (reaches_any(s, &s->rule[i]))
			return s->rule[i].line;
	return 0;
}

/* The ports reached now, as ranges in `out`, which has room for one per segment. */
static size_t current_ports(const struct sweep *s, struct net_ports *out)
{
	size_t n = 0;

	for (size_t g = bits_next(&s->reached, 0); g < s->reached.n && !s->closed;) {
		size_t end = bits_gap(&s->reached, g);

		out[n++] = (struct net_ports){ (uint16_t)s->cut[g], (uint16_t)(s->cut[end] - 1) };
		g = bits_next(&s->reached, end);
	}
	return n;
}

static void emit(struct sweep *s, struct portsets *t, struct net_addr lo, struct net_addr hi,
		 struct net_ports *scratch)
{
	size_t n = current_ports(s, scratch);
	struct net_interval *last = s->nintervals ? &s->interval[s->nintervals - 1] : NULL;
	uint32_t ports;

	if (!n)
		return;
	ports = intern_ports(s->a, t, scratch, n);
	if (last && last->ports == ports && !net_addr_cmp(addr_next(last->hi), lo)) {
		last->hi = hi;
		return;
	}
	*ARENA_PUSH(s->a, s->interval, s->nintervals,
		    s->intervals_cap) = (struct net_interval){ lo, hi, ports, first_line(s) };
}

static void sweep_run(struct sweep *s, struct portsets *t)
{
	struct net_ports *scratch = ARENA_ARRAY(s->a, s->ncuts, struct net_ports);

	if (!s->nevents)
		return;
	sort(s->event, s->nevents, sizeof *s->event, by_address);
	for (size_t i = 0; i < s->nevents;) {
		struct net_addr at = s->event[i].at;

		while (i < s->nevents && !net_addr_cmp(s->event[i].at, at))
			apply(s, &s->event[i++]);
		emit(s, t, at,
		     i < s->nevents ? addr_previous(s->event[i].at) : addr_last(s->family),
		     scratch);
	}
}

/* --- Teredo clients ------------------------------------------------------- */

static bool names_teredo(const struct net_rule *r)
{
	for (size_t k = 0; k < r->nto; k++)
		if (r->to[k].family == NET_V6 &&
		    addr_overlap((struct addr_range){ r->to[k].lo, r->to[k].hi },
				 carrier_range(CARRIER_TEREDO)))
			return true;
	return false;
}

/* What a rule takes away, of all destinations or of its own: the operands of a deny, the excepts of an allow. */
static const struct net_operand *taken_away(const struct net_rule *r, size_t *n)
{
	*n = r->allow ? r->nexcept : r->nto;
	return r->allow ? r->except : r->to;
}

/* True if the rule takes away IPv4 addresses that could be clients of the Teredo addresses of a grant. */
static bool takes_clients(const struct net_rule *r, enum net_proto proto)
{
	size_t n;
	const struct net_operand *o = taken_away(r, &n);

	if (!rule_has_proto(r, proto) || (r->allow && !names_teredo(r)))
		return false;
	for (size_t k = 0; k < n; k++)
		if (o[k].family == NET_V4)
			return true;
	return false;
}

static bool any_takes_clients(const struct policy *p, enum net_proto proto)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (takes_clients(&p->net_rule[i], proto))
			return true;
	return false;
}

static void refuse_teredo(struct diags *d, const struct policy *p)
{
	struct addr_range teredo = carrier_range(CARRIER_TEREDO);

	for (size_t i = 0; i < p->nnet_rules; i++) {
		for (size_t k = 0; p->net_rule[i].allow && k < p->net_rule[i].nto; k++) {
			const struct net_operand *o = &p->net_rule[i].to[k];
			struct diag *e;

			if (o->family != NET_V6 ||
			    !addr_overlap((struct addr_range){ o->lo, o->hi }, teredo))
				continue;
			e = diag_error(d, CAVE_CONTRADICTION, o->at,
				       "%s holds Teredo addresses of every IPv4 client, some of "
				       "which are denied or excepted",
				       addr_show_range(NET_V6, o->lo, o->hi).s);
			diag_note(d, e, (struct span){ 0 },
				  "name Teredo addresses within a /96, or write: except 2001::/32");
		}
	}
}

/*
 * The /96 blocks of Teredo that the intervals touch; false if there are more than can be told
 * apart.
 */
static bool teredo_blocks(const struct sweep *s, struct net_addr *block, size_t *n)
{
	struct addr_range teredo = carrier_range(CARRIER_TEREDO);

	for (size_t i = 0; i < s->nintervals; i++) {
		struct addr_range r = { s->interval[i].lo, s->interval[i].hi };

		if (!addr_overlap(r, teredo))
			continue;
		if (net_addr_cmp(r.lo, teredo.lo) < 0 || net_addr_cmp(r.hi, teredo.hi) > 0)
			return false;
		for (struct net_addr at = r.lo;;) {
			struct net_addr end = carrier_teredo_client(at, 0, UINT32_MAX).hi;

			if (*n == TEREDO_BLOCKS)
				return false;
			block[(*n)++] = at;
			if (net_addr_cmp(end, r.hi) >= 0)
				break;
			at = addr_next(end);
		}
	}
	return true;
}

/* Takes away, in each block, the clients that the IPv4 denies and excepts cover. */
static void take_clients(struct sweep *s, const struct net_addr *block, size_t nblocks)
{
	for (uint32_t i = 0; i < s->policy->nnet_rules; i++) {
		const struct net_rule *r = &s->policy->net_rule[i];
		size_t n;
		const struct net_operand *o = taken_away(r, &n);

		if (!takes_clients(r, s->proto))
			continue;
		for (size_t k = 0; k < n; k++) {
			for (size_t b = 0; o[k].family == NET_V4 && b < nblocks; b++) {
				struct addr_range c = carrier_teredo_client(
					block[b], (uint32_t)o[k].lo.lo, (uint32_t)o[k].hi.lo);

				add_range(s, i, r->allow, c.lo, c.hi);
			}
		}
	}
}

/* --- the set -------------------------------------------------------------- */

/*
 * False if Teredo clients that are denied or excepted could not be taken out; the cell still holds them then.
 */
static bool resolve_cell(struct arena *a, const struct policy *p, enum net_proto proto,
			 enum net_family family, struct portsets *t, struct net_cell *out)
{
	struct net_addr block[TEREDO_BLOCKS];
	size_t nblocks = 0;
	bool exact = true;
	struct sweep s;

	if (family == NET_V6 && any_takes_clients(p, proto)) {
		struct portsets scratch = { 0 };

		sweep_init(&s, a, p, proto, family, false);
		sweep_run(&s, &scratch);
		exact = teredo_blocks(&s, block, &nblocks);
	}
	sweep_init(&s, a, p, proto, family, false);
	if (exact)
		take_clients(&s, block, nblocks);
	sweep_run(&s, t);
	*out = (struct net_cell){ s.interval, s.nintervals };
	return exact;
}

/* The union of rules that allow, the unspecified address among what they may hold. */
static struct net_cell resolve_union(struct arena *a, const struct net_rule *rule, size_t n, enum net_proto proto,
				     enum net_family family, struct portsets *t)
{
	const struct policy rules = { .net_rule = rule, .nnet_rules = n };
	struct sweep s;

	sweep_init(&s, a, &rules, proto, family, true);
	sweep_run(&s, t);
	return (struct net_cell){ s.interval, s.nintervals };
}

bool egress_resolve(struct diags *d, struct arena *a, const struct policy *p, struct net_set *out)
{
	struct portsets t = { 0 };
	struct net_set set = { 0 };
	bool exact = true;

	if (p->net_incomplete)
		return false;
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++)
			if (!resolve_cell(a, p, (enum net_proto)proto, (enum net_family)family, &t,
					  &set.cell[proto][family]))
				exact = false;
	for (int proto = 0; proto < NET_PROTOS; proto++) {
		const struct net_rule *denial;
		size_t n = egress_denials(a, p, (enum net_proto)proto, &denial);

		for (int f = 0; f < NET_FAMILIES; f++) {
			enum net_family family = (enum net_family)f;

			set.local[proto][f] = resolve_union(a, p->listen, p->nlistens, (enum net_proto)proto, family, &t);
			set.shut[proto][f] = resolve_union(a, denial, n, (enum net_proto)proto, family, &t);
		}
	}
	set.resolver = p->resolver;
	set.resolver_line = p->resolver ? sources_line(d->sources, p->resolver_at) : 0;
	set.portset = t.set;
	set.nportsets = t.n;
	if (!exact)
		refuse_teredo(d, p);
	if (!egress_check(d, a, p, &set) || !exact)
		return false;
	*out = set;
	return true;
}
