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

#include <stdlib.h>
#include <string.h>

#include "compiler/egress_addr.h"
#include "compiler/egress_set.h"

enum {
	PORTS_END = 65536,
	TEREDO_BLOCKS = 64, /* /96 blocks in which clients are denied one by one */
};

static const struct net_ports ALL_PORTS[] = { { 1, 65535 } };
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

struct sweep {
	struct arena *a;
	const struct policy *policy;
	enum net_proto proto;
	enum net_family family;
	struct swept_rule *rule; /* the policy's rules by index, and one more: the mapped block */
	size_t nrules;
	struct event *event;
	size_t nevents, events_cap;
	uint32_t *cut; /* segment i of the port line is [cut[i], cut[i + 1]) */
	size_t ncuts, cuts_cap;
	uint32_t *allows, *denies; /* rules that are on, by segment */
	uint64_t *on; /* bit set of the allows that are on */
	uint64_t *on_words; /* bit set of the words of `on` that are not 0 */
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

static void add_carriers(struct sweep *s, uint32_t rule, const struct net_operand *v4)
{
	struct addr_range r;

	for (int c = 0; c < CARRIERS; c++)
		if (carrier_of((enum carrier)c, (uint32_t)v4->lo.lo, (uint32_t)v4->hi.lo, &r))
			add_range(s, rule, false, r.lo, r.hi);
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
			add_carriers(s, i, &r->to[k]);
	}
	for (size_t k = 0; r->allow && k < r->nexcept; k++)
		if (r->except[k].family == s->family)
			add_range(s, i, true, r->except[k].lo, r->except[k].hi);
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
	qsort(s->cut, s->ncuts, sizeof *s->cut, by_value);
	for (size_t i = 1; i < s->ncuts; i++)
		if (s->cut[i] != s->cut[kept])
			s->cut[++kept] = s->cut[i];
	s->ncuts = kept + 1;
}

static void sweep_init(struct sweep *s, struct arena *a, const struct policy *p,
		       enum net_proto proto, enum net_family family)
{
	size_t words;

	*s = (struct sweep){ .a = a, .policy = p, .proto = proto, .family = family };
	s->nrules = p->nnet_rules + 1;
	s->rule = ARENA_ARRAY(a, s->nrules, struct swept_rule);
	for (uint32_t i = 0; i < p->nnet_rules; i++)
		add_rule(s, i);
	/* IPv4-mapped addresses are IPv4: whatever range of IPv6 is granted, they are not in it. */
	if (family == NET_V6) {
		s->rule[p->nnet_rules] = (struct swept_rule){ .port = ALL_PORTS, .nports = 1 };
		add_range(s, (uint32_t)p->nnet_rules, false, MAPPED.lo, MAPPED.hi);
	}
	cut_ports(s);
	s->allows = ARENA_ARRAY(a, s->ncuts, uint32_t);
	s->denies = ARENA_ARRAY(a, s->ncuts, uint32_t);
	words = s->nrules / 64 + 1;
	s->on = ARENA_ARRAY(a, words, uint64_t);
	s->on_words = ARENA_ARRAY(a, words / 64 + 1, uint64_t);
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

static void mark_on(struct sweep *s, uint32_t rule, bool on)
{
	uint64_t *word = &s->on[rule / 64], *above = &s->on_words[rule / 64 / 64];
	uint64_t bit = (uint64_t)1 << rule / 64 % 64;

	if (on)
		*word |= (uint64_t)1 << rule % 64;
	else
		*word &= ~((uint64_t)1 << rule % 64);
	*above = *word ? *above | bit : *above & ~bit;
}

/* Counts a rule in or out of the segments of its ports. */
static void switch_rule(struct sweep *s, uint32_t i, bool on)
{
	struct swept_rule *w = &s->rule[i];
	uint32_t *count = w->allow ? s->allows : s->denies;

	w->on = on;
	if (w->allow)
		mark_on(s, i, on);
	for (size_t k = 0; k < w->nports; k++) {
		size_t end = segment_at(s, w->port[k].hi + 1u);

		for (size_t g = segment_at(s, w->port[k].lo ? w->port[k].lo : 1); g < end; g++)
			count[g] += on ? 1u : UINT32_MAX;
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

static bool reached(const struct sweep *s, size_t segment)
{
	return s->allows[segment] && !s->denies[segment];
}

static bool reaches_any(const struct sweep *s, const struct swept_rule *w)
{
	for (size_t k = 0; k < w->nports; k++) {
		size_t end = segment_at(s, w->port[k].hi + 1u);

		for (size_t g = segment_at(s, w->port[k].lo ? w->port[k].lo : 1); g < end; g++)
			if (reached(s, g))
				return true;
	}
	return false;
}

/* The line of the first allow that reaches the current interval. */
static line_id first_line(const struct sweep *s)
{
	for (size_t above = 0; above <= s->nrules / 64 / 64; above++)
		for (uint64_t words = s->on_words[above]; words; words &= words - 1) {
			size_t word = above * 64 + (size_t)__builtin_ctzll(words);

			for (uint64_t bits = s->on[word]; bits; bits &= bits - 1) {
				const struct swept_rule *w =
					&s->rule[word * 64 + (size_t)__builtin_ctzll(bits)];

				if (reaches_any(s, w))
					return w->line;
			}
		}
	return 0;
}

/* The ports reached now, as ranges in `out`, which has room for one per segment. */
static size_t current_ports(const struct sweep *s, struct net_ports *out)
{
	size_t n = 0;

	for (size_t g = 0; g + 1 < s->ncuts; g++) {
		if (!reached(s, g))
			continue;
		if (n && out[n - 1].hi + 1u == s->cut[g])
			out[n - 1].hi = (uint16_t)(s->cut[g + 1] - 1);
		else
			out[n++] = (struct net_ports){ (uint16_t)s->cut[g],
						       (uint16_t)(s->cut[g + 1] - 1) };
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
	qsort(s->event, s->nevents, sizeof *s->event, by_address);
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

/* An IPv4 deny that a Teredo client could fall under exists for the protocol. */
static bool denies_v4(const struct policy *p, enum net_proto proto)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		for (size_t k = 0; k < p->net_rule[i].nto; k++)
			if (!p->net_rule[i].allow && rule_has_proto(&p->net_rule[i], proto) &&
			    p->net_rule[i].to[k].family == NET_V4)
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
				       "which are denied",
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

/* Denies, in each block, the clients that the IPv4 denies cover. */
static void deny_clients(struct sweep *s, const struct net_addr *block, size_t n)
{
	for (uint32_t i = 0; i < s->policy->nnet_rules; i++) {
		const struct net_rule *r = &s->policy->net_rule[i];

		if (r->allow || !rule_has_proto(r, s->proto))
			continue;
		for (size_t k = 0; k < r->nto; k++) {
			for (size_t b = 0; r->to[k].family == NET_V4 && b < n; b++) {
				struct addr_range c =
					carrier_teredo_client(block[b], (uint32_t)r->to[k].lo.lo,
							      (uint32_t)r->to[k].hi.lo);

				add_range(s, i, false, c.lo, c.hi);
			}
		}
	}
}

/* --- the set -------------------------------------------------------------- */

/*
 * False if Teredo clients that are denied could not be taken out; the cell still holds them then.
 */
static bool resolve_cell(struct arena *a, const struct policy *p, enum net_proto proto,
			 enum net_family family, struct portsets *t, struct net_cell *out)
{
	struct net_addr block[TEREDO_BLOCKS];
	size_t nblocks = 0;
	bool exact = true;
	struct sweep s;

	if (family == NET_V6 && denies_v4(p, proto)) {
		struct portsets scratch = { 0 };

		sweep_init(&s, a, p, proto, family);
		sweep_run(&s, &scratch);
		exact = teredo_blocks(&s, block, &nblocks);
	}
	sweep_init(&s, a, p, proto, family);
	if (exact)
		deny_clients(&s, block, nblocks);
	sweep_run(&s, t);
	*out = (struct net_cell){ s.interval, s.nintervals };
	return exact;
}

bool egress_resolve(struct diags *d, struct arena *a, const struct policy *p, struct net_set *out)
{
	struct portsets t = { 0 };
	struct net_set set = { 0 };
	bool exact = true;

	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++)
			if (!resolve_cell(a, p, (enum net_proto)proto, (enum net_family)family, &t,
					  &set.cell[proto][family]))
				exact = false;
	set.portset = t.set;
	set.nportsets = t.n;
	if (!exact)
		refuse_teredo(d, p);
	if (!egress_check(d, a, p, &set) || !exact)
		return false;
	*out = set;
	return true;
}
