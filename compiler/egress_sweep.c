/* SPDX-License-Identifier: MIT */
/* What the rules say, for all addresses and ports. */
#include "compiler/egress_sweep.h"

#include <string.h>

#include "bpf/sort.h"
#include "compiler/egress_addr.h"

#define TEREDO ((walk_number)0x20010000 << 96)
#define TEREDO_LAST (TEREDO | ~(walk_number)0 >> 32)

/* Rules that have been judged together before. */
struct known {
	const struct net_rule **rule;
	size_t n;
	const struct verdict *verdict;
	struct known *next;
};

enum { KNOWN_SLOTS = 1024 };

static walk_number number_of(struct net_addr a)
{
	return (walk_number)a.hi << 64 | a.lo;
}

static struct point point_at(enum net_family family, walk_number n)
{
	return (struct point){ .family = family, .addr = { (uint64_t)(n >> 64), (uint64_t)n } };
}

/* --- where something may change ------------------------------------------- */

static void add_place(struct arena *a, struct sweep *w, walk_number at)
{
	*ARENA_PUSH(a, w->stretch, w->n, w->cap) = (struct stretch){ at, NULL };
}

/* The first address of a range, and the first behind it, unless it ends with the last of all. */
static void add_range(struct arena *a, struct sweep *w, enum net_family family, walk_number lo, walk_number hi)
{
	const walk_number last = family == NET_V4 ? UINT32_MAX : ~(walk_number)0;

	add_place(a, w, lo);
	if (hi != last)
		add_place(a, w, hi + 1);
}

/* IPv6 that carries these IPv4 addresses. */
static void add_carrying(struct arena *a, struct sweep *six, walk_number lo, walk_number hi)
{
	const walk_number nat64 = (walk_number)0x0064ff9b << 96, to4 = (walk_number)0x2002 << 112;
	const walk_number rest = ((walk_number)1 << 80) - 1;

	add_range(a, six, NET_V6, lo, hi);
	add_range(a, six, NET_V6, nat64 | lo, nat64 | hi);
	add_range(a, six, NET_V6, to4 | lo << 80, to4 | hi << 80 | rest);
	add_range(a, six, NET_V6, TEREDO | lo << 64, TEREDO | hi << 64 | UINT64_MAX);
}

/* Where no rule allows IPv6, nothing changes in it anywhere. */
static void add_operands(struct sweeps *s, const struct net_operand *o, size_t n, bool six)
{
	for (size_t i = 0; i < n; i++) {
		walk_number lo = number_of(o[i].lo), hi = number_of(o[i].hi);

		if (o[i].family == NET_V4 || six)
			add_range(s->v->a, &s->peer[o[i].family], o[i].family, lo, hi);
		if (o[i].family == NET_V4 && six)
			add_carrying(s->v->a, &s->peer[NET_V6], lo, hi);
	}
}

/* The unspecified address is no destination, whatever range holds it; :: and ::1 carry no IPv4. */
static void add_fixed_places(struct arena *a, struct sweep six_and_four[NET_FAMILIES])
{
	for (int family = 0; family < NET_FAMILIES; family++) {
		add_range(a, &six_and_four[family], (enum net_family)family, 0, 0);
		add_range(a, &six_and_four[family], (enum net_family)family, 1, 1);
	}
	add_range(a, &six_and_four[NET_V6], NET_V6, MAPPED, MAPPED_LAST);
	add_range(a, &six_and_four[NET_V6], NET_V6, TEREDO, TEREDO_LAST);
}

static int by_from(const void *x, const void *y)
{
	const struct stretch *a = x, *b = y;

	return (a->from > b->from) - (a->from < b->from);
}

static void sort_places(struct sweep *w)
{
	size_t kept = 0;

	sort(w->stretch, w->n, sizeof *w->stretch, by_from);
	for (size_t i = 1; i < w->n; i++)
		if (w->stretch[i].from != w->stretch[kept].from)
			w->stretch[++kept] = w->stretch[i];
	w->n = kept + 1;
}

/* --- what is said there --------------------------------------------------- */

static bool any_port(const uint64_t *open, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (open[i])
			return true;
	return false;
}

static void add_run(struct arena *a, struct net_ports **range, size_t *n, size_t *cap, unsigned lo, unsigned hi)
{
	if (*n && (*range)[*n - 1].hi + 1u == lo) {
		(*range)[*n - 1].hi = (uint16_t)hi;
		return;
	}
	*ARENA_PUSH(a, *range, *n, *cap) = (struct net_ports){ (uint16_t)lo, (uint16_t)hi };
}

/* The runs of bits that are set. */
static void list_runs(struct arena *a, const uint64_t *open, size_t words, const struct net_ports **out, size_t *n)
{
	struct net_ports *range = NULL;
	size_t cap = 0;

	for (unsigned i = 0; i < words; i++)
		for (uint64_t left = open[i]; left;) {
			const unsigned first = (unsigned)__builtin_ctzll(left);
			const uint64_t from = left >> first;
			const unsigned length = from == UINT64_MAX ? 64 : (unsigned)__builtin_ctzll(~from);

			add_run(a, &range, n, &cap, 64 * i + first, 64 * i + first + length - 1);
			left = first + length < 64 ? left >> (first + length) << (first + length) : 0;
		}
	*out = range;
}

/* A port that no datagram of IPv4 is allowed by, or an address that none is allowed to, is no part of a mixture. */
static void mix(struct prover *v, struct point at, struct verdict *out)
{
	const uint64_t *open = v->open->open[NET_UDP];
	const bool known = v->sample[NET_UDP][NET_V4].known || is_server(v, NULL);
	const bool reached = any_port(open, v->open->used) || is_server(v, &at);
	uint64_t loose[65536 / 64];

	if (!v->granted[NET_UDP])
		return;
	for (size_t i = 0; i < 65536 / 64; i++) {
		uint64_t some = known ? v->some->open[NET_UDP][i] | (i == 0) : 0;

		if (v->guests)
			loose[i] = i < v->open->used ? open[i] : 0;
		else
			loose[i] = reached ? ~some | open[i] : UINT64_MAX;
	}
	list_runs(v->a, loose, 65536 / 64, &out->range[MIXED], &out->n[MIXED]);
}

/* No rule allows port 0. */
static const struct verdict *make_verdict(struct prover *v, struct point at, bool mixed)
{
	struct verdict *out = ARENA_ARRAY(v->a, 1, struct verdict);

	for (int proto = 0; proto < NET_PROTOS; proto++) {
		if (!v->open->used)
			continue;
		v->open->open[proto][0] &= ~(uint64_t)1;
		list_runs(v->a, v->open->open[proto], v->open->used, &out->range[proto], &out->n[proto]);
	}
	if (mixed)
		mix(v, at, out);
	return out;
}

static size_t hash_of(const struct rule_list *l)
{
	uint64_t h = 1469598103934665603u;

	for (size_t i = 0; i < l->n; i++)
		h = (h ^ (uintptr_t)l->rule[i]) * 1099511628211u;
	return (size_t)(h >> 20) % KNOWN_SLOTS;
}

/* Whatever rules concern the address: judged once for all addresses that they concern. */
static const struct verdict *judge_at(struct sweeps *s, enum net_family family, walk_number at, bool mixed)
{
	const struct point p = reference_normal(point_at(family, at));
	struct prover *v = s->v;
	struct known *k;
	size_t slot;

	reference_holding(&v->ref, p, &v->holding);
	slot = hash_of(&v->holding);
	for (k = s->known[slot]; k; k = k->next)
		if (k->n == v->holding.n && !memcmp(k->rule, v->holding.rule, k->n * sizeof *k->rule))
			return k->verdict;
	reference_judge(&v->holding, v->open);
	k = ARENA_ARRAY(v->a, 1, struct known);
	k->n = v->holding.n;
	k->rule = ARENA_ARRAY(v->a, k->n + 1, const struct net_rule *);
	memcpy(k->rule, v->holding.rule, k->n * sizeof *k->rule);
	k->verdict = make_verdict(v, p, mixed);
	k->next = s->known[slot];
	s->known[slot] = k;
	return k->verdict;
}

bool sweeps_are_vague(const struct policy *p)
{
	bool teredo = false, carried = false;

	for (size_t i = 0; i < p->nnet_rules; i++) {
		const struct net_rule *r = &p->net_rule[i];

		for (size_t k = 0; r->allow && k < r->nto; k++)
			teredo |= r->to[k].family == NET_V6 && number_of(r->to[k].lo) <= TEREDO_LAST &&
				  number_of(r->to[k].hi) >= TEREDO;
		for (size_t k = 0; !r->allow && k < r->nto; k++)
			carried |= r->to[k].family == NET_V4;
		for (size_t k = 0; k < r->nexcept; k++)
			carried |= r->except[k].family == NET_V4;
	}
	return teredo && carried;
}

static void sweep_peers(struct sweeps *s, bool mixed)
{
	const struct policy *p = s->v->p;
	const bool six = allows_v6(p);

	add_fixed_places(s->v->a, s->peer);
	for (size_t i = 0; i < p->nnet_rules; i++) {
		add_operands(s, p->net_rule[i].to, p->net_rule[i].nto, six);
		add_operands(s, p->net_rule[i].except, p->net_rule[i].nexcept, six);
	}
	for (int family = 0; family < NET_FAMILIES; family++) {
		struct sweep *w = &s->peer[family];

		sort_places(w);
		for (size_t i = 0; i < w->n; i++)
			w->stretch[i].verdict = judge_at(s, (enum net_family)family, w->stretch[i].from, mixed);
	}
	s->peer[NET_V6].vague = sweeps_are_vague(p);
}

/* --- endpoints of one's own ----------------------------------------------- */

static const struct verdict *judge_own(const struct sweeps *s, enum net_family family, walk_number at)
{
	const struct point p = reference_normal(point_at(family, at));
	struct prover *v = s->v;

	reference_own(&v->own, p, &v->heard);
	reference_judge(&v->heard, v->open);
	return make_verdict(v, p, false);
}

static void sweep_own(struct sweeps *s)
{
	const struct policy *p = s->v->p;

	add_fixed_places(s->v->a, s->own);
	for (size_t i = 0; i < p->nlistens; i++)
		for (size_t k = 0; k < p->listen[i].nto; k++) {
			const struct net_operand *o = &p->listen[i].to[k];

			add_range(s->v->a, &s->own[o->family], o->family, number_of(o->lo), number_of(o->hi));
		}
	for (int family = 0; family < NET_FAMILIES; family++) {
		struct sweep *w = &s->own[family];

		sort_places(w);
		for (size_t i = 0; i < w->n; i++)
			w->stretch[i].verdict = judge_own(s, (enum net_family)family, w->stretch[i].from);
	}
}

void sweeps_init(struct sweeps *s, struct prover *v, bool mixed)
{
	*s = (struct sweeps){ .v = v, .known = ARENA_ARRAY(v->a, KNOWN_SLOTS, struct known *) };
	sweep_peers(s, mixed);
	if (v->p->nlistens)
		sweep_own(s);
}

/* --- asking --------------------------------------------------------------- */

size_t sweep_find(const struct sweep *w, walk_number at)
{
	size_t lo = 0, n = w->n;

	while (n > 1) {
		size_t half = n / 2;

		if (w->stretch[lo + half].from <= at) {
			lo += half;
			n -= half;
		} else {
			n = half;
		}
	}
	return lo;
}

bool sweep_is_vague(const struct sweep *w, walk_number at)
{
	return w->vague && at >= TEREDO && at <= TEREDO_LAST;
}

bool verdict_agrees(const struct verdict *t, unsigned verdict, uint32_t lo, uint32_t hi, bool allowed, uint32_t *bad)
{
	const struct net_ports *range = t->range[verdict];
	size_t n = t->n[verdict], i = 0;

	/* Only the first that does not end before is of interest. */
	while (n > 1) {
		size_t half = n / 2;

		if (range[i + half - 1].hi < lo) {
			i += half;
			n -= half;
		} else {
			n = half;
		}
	}
	i += n && range[i].hi < lo;
	n = t->n[verdict];
	if (!allowed) {
		*bad = i < n && range[i].lo > lo ? range[i].lo : lo;
		return i == n || range[i].lo > hi;
	}
	if (i == n || range[i].lo > lo) {
		*bad = lo;
		return false;
	}
	*bad = range[i].hi + 1u;
	return range[i].hi >= hi;
}

bool sweep_agrees(const struct sweeps *s, bool own, unsigned verdict, enum net_family family,
		  const walk_number address[2], const walk_number ports[2], bool allowed, walk_number *at,
		  uint32_t *port)
{
	static const struct verdict none = { { NULL }, { 0 } };
	const struct sweep *w = own ? &s->own[family] : &s->peer[family];

	size_t i = w->n ? sweep_find(w, address[0]) : 0;

	for (; i == 0 || (i < w->n && w->stretch[i].from <= address[1]); i++) {
		const walk_number from = w->n && w->stretch[i].from > address[0] ? w->stretch[i].from : address[0];
		const bool is_mapped = family == NET_V6 && from >= MAPPED && from <= MAPPED_LAST;

		if (sweep_is_vague(w, from))
			continue;
		*at = from;
		if (!verdict_agrees(w->n && !is_mapped ? w->stretch[i].verdict : &none, verdict, (uint32_t)ports[0],
				    (uint32_t)ports[1], allowed, port))
			return false;
		if (!w->n)
			break;
	}
	return true;
}
