/* SPDX-License-Identifier: MIT */
/*
 * The proof of the egress programs, for sets: every program is followed for all addresses and ports at once, and
 * what it answers in each region compared with what the rules say all through it.
 *
 * What the rules say changes at the ends of their operands, and of what carries these, only; between two such
 * places one address speaks for all.  The exception are Teredo addresses, which carry their client bit by bit:
 * of them the points alone are asked.
 */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/artefact.h"
#include "compiler/egress_addr.h"
#include "compiler/egress_walk.h"

#include "cave/names.h"

#define MAPPED ((walk_number)0xffff << 32) /* ::ffff:0:0 */
#define NOBODY 0xfe /* 0.0.0.254, which sends nothing */
#define TEREDO ((walk_number)0x20010000 << 96)
#define TEREDO_LAST (TEREDO | ~(walk_number)0 >> 32)

/*
 * What one and the same rules allow, by protocol: ranges of ports, in order.  The last is of datagrams of IPv4 sockets
 * without a peer: only what can be a mixture of two peers that are allowed is judged by them.
 */
enum { MIXED = NET_PROTOS, VERDICTS };

struct verdict {
	const struct net_ports *range[VERDICTS];
	size_t n[VERDICTS];
};

/* From this address on. */
struct stretch {
	walk_number from;
	const struct verdict *verdict;
};

struct sweep {
	struct stretch *stretch;
	size_t n, cap;
};

/* Rules that have been judged together before. */
struct known {
	const struct net_rule **rule;
	size_t n;
	const struct verdict *verdict;
	struct known *next;
};

enum { KNOWN_SLOTS = 4096 };

struct sets {
	struct prover *v;
	struct sweep sweep[NET_FAMILIES];
	struct known **known;
	const struct shape *shape;
};

/* --- what the rules say --------------------------------------------------- */

static walk_number number_of(struct net_addr a)
{
	return (walk_number)a.hi << 64 | a.lo;
}

static struct net_addr address_of(walk_number n)
{
	return (struct net_addr){ (uint64_t)(n >> 64), (uint64_t)n };
}

static void add_place(struct sets *s, enum net_family family, walk_number at)
{
	struct sweep *w = &s->sweep[family];

	*ARENA_PUSH(s->v->a, w->stretch, w->n, w->cap) = (struct stretch){ at, NULL };
}

/* The first address of a range, and the first behind it, unless it ends with the last of all. */
static void add_range(struct sets *s, enum net_family family, walk_number lo, walk_number hi)
{
	const walk_number last = family == NET_V4 ? UINT32_MAX : ~(walk_number)0;

	add_place(s, family, lo);
	if (hi != last)
		add_place(s, family, hi + 1);
}

/* IPv6 that carries these IPv4 addresses. */
static void add_carrying(struct sets *s, walk_number lo, walk_number hi)
{
	const walk_number nat64 = (walk_number)0x0064ff9b << 96, six = (walk_number)0x2002 << 112;

	add_range(s, NET_V6, lo, hi);
	add_range(s, NET_V6, nat64 | lo, nat64 | hi);
	add_range(s, NET_V6, six | lo << 80, six | hi << 80 | (((walk_number)1 << 80) - 1));
}

/* Where no rule allows IPv6, nothing changes in it anywhere. */
static void add_operand_places(struct sets *s, const struct net_operand *o, bool six)
{
	walk_number lo = number_of(o->lo), hi = number_of(o->hi);

	if (o->family == NET_V4 || six)
		add_range(s, o->family, lo, hi);
	if (o->family == NET_V4 && six)
		add_carrying(s, lo, hi);
}

static int by_from(const void *x, const void *y)
{
	const struct stretch *a = x, *b = y;

	return (a->from > b->from) - (a->from < b->from);
}

static void finish_sweep(struct sweep *w)
{
	size_t kept = 0;

	qsort(w->stretch, w->n, sizeof *w->stretch, by_from);
	for (size_t i = 1; i < w->n; i++)
		if (w->stretch[i].from != w->stretch[kept].from)
			w->stretch[++kept] = w->stretch[i];
	w->n = kept + 1;
}

static size_t hash_of(const struct rule_list *l)
{
	uint64_t h = 1469598103934665603u;

	for (size_t i = 0; i < l->n; i++)
		h = (h ^ (uintptr_t)l->rule[i]) * 1099511628211u;
	return (size_t)(h >> 20) % KNOWN_SLOTS;
}

static bool any_port(const uint64_t *open, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (open[i])
			return true;
	return false;
}

/* What is allowed by port 0 is not of these rules, or not of a mixture of them: `first` says whether to look at it. */
static void list_runs(struct prover *v, const uint64_t *open, unsigned first, size_t words,
		      const struct net_ports **out, size_t *n)
{
	struct net_ports *range = NULL;
	size_t cap = 0;

	for (unsigned port = first; port < 64 * words; port++) {
		const uint64_t word = open[port / 64];
		const bool whole = port % 64 == 0 && (!word || word == UINT64_MAX);
		const unsigned last = whole ? port + 63 : port;

		if (word >> port % 64 & 1) {
			if (!*n || range[*n - 1].hi + 1u != port)
				ARENA_PUSH(v->a, range, *n, cap)->lo = (uint16_t)port;
			range[*n - 1].hi = (uint16_t)last;
		}
		port = last;
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
	list_runs(v, loose, 0, 65536 / 64, &out->range[MIXED], &out->n[MIXED]);
}

/* The runs of ports in the map. */
static const struct verdict *make_verdict(struct prover *v, struct point at)
{
	struct verdict *out = ARENA_ARRAY(v->a, 1, struct verdict);

	for (int proto = 0; proto < NET_PROTOS; proto++)
		if (any_port(v->open->open[proto], v->open->used))
			list_runs(v, v->open->open[proto], 1, v->open->used, &out->range[proto], &out->n[proto]);
	mix(v, at, out);
	return out;
}

/* Whatever rules concern the address: judged once for all addresses that they concern. */
static const struct verdict *judge_at(struct sets *s, enum net_family family, walk_number at)
{
	const struct point p = reference_normal((struct point){ .family = family, .addr = address_of(at) });
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
	k->verdict = make_verdict(v, p);
	k->next = s->known[slot];
	s->known[slot] = k;
	return k->verdict;
}

static void sweep_rules(struct sets *s)
{
	const struct policy *p = s->v->p;
	const bool six = allows_v6(p);

	/* The unspecified address is no destination, whatever range holds it; :: and ::1 carry no IPv4. */
	for (int family = 0; family < NET_FAMILIES; family++) {
		add_range(s, (enum net_family)family, 0, 0);
		add_range(s, (enum net_family)family, 1, 1);
	}
	add_range(s, NET_V6, MAPPED, MAPPED | UINT32_MAX);
	add_range(s, NET_V6, TEREDO, TEREDO_LAST);
	for (size_t i = 0; i < p->nnet_rules; i++) {
		for (size_t k = 0; k < p->net_rule[i].nto; k++)
			add_operand_places(s, &p->net_rule[i].to[k], six);
		for (size_t k = 0; k < p->net_rule[i].nexcept; k++)
			add_operand_places(s, &p->net_rule[i].except[k], six);
	}
	for (int family = 0; family < NET_FAMILIES; family++) {
		struct sweep *w = &s->sweep[family];

		finish_sweep(w);
		for (size_t i = 0; i < w->n; i++)
			w->stretch[i].verdict = judge_at(s, (enum net_family)family, w->stretch[i].from);
	}
}

/* --- programs ------------------------------------------------------------- */

/* Where a program finds the address and the port, and what it makes of them. */
struct shape {
	enum cave_hook hook;
	int proto;
	enum net_family family; /* of the variable */
	bool rewrites; /* the unspecified address becomes loopback */
	bool datagram; /* all zeroes name no address: they pass where there are datagrams at all */
	bool unjudged; /* port 0 is no peer: it passes where datagrams are granted at all */
	bool mixed; /* judged by MIXED, as it is */
	const char *form;
	void (*lay)(struct prover *v, const struct shape *shape, struct walk_byte *ctx, struct walk_byte *packet,
		    size_t *packet_size);
};

static void complain(struct sets *s, walk_number at, uint32_t port, bool want)
{
	const struct shape *shape = s->shape;
	const struct question q = { shape->hook, proto_number(shape->proto),
				    { .family = shape->family, .addr = address_of(at) }, (uint16_t)port, shape->form };

	disagree(s->v, &q, want);
}

/* Whether ports from lo to hi, of a verdict, are all as they should be; else *bad is one that is not. */
static bool agrees(const struct verdict *t, int proto, uint32_t lo, uint32_t hi, bool allowed, uint32_t *bad)
{
	const struct net_ports *range = t->range[proto];
	size_t n = t->n[proto], i = 0;

	while (i < n && range[i].hi < lo)
		i++;
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

/* The stretch that holds the address. */
static size_t find_stretch(const struct sweep *w, walk_number at)
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

/* A part of a region, all of it addresses of one family that mean themselves. */
static bool check_part(struct sets *s, const struct walk_region *r, enum net_family family, walk_number lo,
		       walk_number hi, walk_number shown)
{
	const struct sweep *w = &s->sweep[family];
	uint32_t bad;

	for (size_t i = find_stretch(w, lo); i < w->n && w->stretch[i].from <= hi; i++) {
		walk_number from = w->stretch[i].from > lo ? w->stretch[i].from : lo;

		if (family == NET_V6 && from >= TEREDO && from <= TEREDO_LAST)
			continue;
		if (!(r->rewritten && r->allowed) &&
		    agrees(w->stretch[i].verdict, s->shape->mixed ? MIXED : s->shape->proto, (uint32_t)r->lo[WALK_PORT],
			   (uint32_t)r->hi[WALK_PORT], r->allowed, &bad))
			continue;
		if (r->rewritten && r->allowed)
			bad = (uint32_t)r->lo[WALK_PORT];
		complain(s, shown + (from - lo), bad, !r->allowed);
		return false;
	}
	return true;
}

/* The unspecified address: `loopback` is what it becomes; a call that names nothing is judged elsewhere. */
static bool check_unspecified(struct sets *s, const struct walk_region *r, enum net_family family,
			      walk_number loopback, walk_number shown)
{
	const struct sweep *w = &s->sweep[family];
	const struct verdict *t = w->stretch[find_stretch(w, loopback)].verdict;
	uint32_t lo = (uint32_t)r->lo[WALK_PORT], hi = (uint32_t)r->hi[WALK_PORT], bad = lo;

	/* Spelled as IPv4 in IPv6, it names an address. */
	if (s->shape->datagram && !lo && shown == 0) {
		if (r->allowed != s->v->used[NET_UDP]) {
			complain(s, shown, 0, s->v->used[NET_UDP]);
			return false;
		}
		if (!hi)
			return true;
		lo = 1;
	}
	if (agrees(t, s->shape->proto, lo, hi, r->allowed, &bad) && (!r->allowed || r->rewritten))
		return true;
	complain(s, shown, bad, !r->allowed);
	return false;
}

static bool check_span(struct sets *s, const struct walk_region *r, enum net_family family, walk_number lo,
		       walk_number hi, walk_number offset)
{
	if (lo == 0) {
		if (s->shape->rewrites ? !check_unspecified(s, r, family, family == NET_V4 ? 0x7f000001 : 1, offset)
				       : r->allowed) {
			if (!s->shape->rewrites)
				complain(s, offset, (uint32_t)r->lo[WALK_PORT], false);
			return false;
		}
		if (hi == 0)
			return true;
		lo = 1;
	}
	return check_part(s, r, family, lo, hi, lo + offset);
}

/* Where a datagram comes from that says nothing; a mixed one, from where datagrams are allowed to, if anywhere. */
static struct net_addr source_of(const struct prover *v, const struct shape *shape)
{
	const struct sample *s = &v->sample[NET_UDP][NET_V4];

	if (shape->mixed && s->known)
		return s->to.addr;
	for (size_t i = 0; shape->mixed && v->servers && i < v->servers->nto; i++)
		if (v->servers->to[i].family == NET_V4)
			return v->servers->to[i].lo;
	return (struct net_addr){ 0, NOBODY };
}

/*
 * What goes from an address to itself, by port 0, is taken for a mixture of two peers also where no datagram of IPv4
 * has one: a program beside name servers is made before it is known whether they have addresses of IPv4.
 */
static bool mixed_of_none(const struct sets *s, const struct walk_region *r)
{
	return !r->allowed && r->lo[WALK_ADDRESS] == NOBODY && r->hi[WALK_ADDRESS] == NOBODY && r->hi[WALK_PORT] == 0 &&
	       source_of(s->v, s->shape).lo == NOBODY;
}

static bool check_region(void *closure, const struct walk_region *region)
{
	struct sets *s = closure;
	const walk_number lo = region->lo[WALK_ADDRESS], hi = region->hi[WALK_ADDRESS], last = MAPPED | UINT32_MAX;

	const bool packets = s->shape->hook == CAVE_HOOK_EGRESS || s->shape->hook == CAVE_HOOK_INGRESS;
	struct walk_region rest = *region;
	const struct walk_region *r = &rest;

	if (s->shape->unjudged && r->lo[WALK_PORT] == 0) {
		if (r->allowed != s->v->granted[NET_UDP]) {
			complain(s, lo, 0, s->v->granted[NET_UDP]);
			return false;
		}
		if (r->hi[WALK_PORT] == 0)
			return true;
		rest.lo[WALK_PORT] = 1;
	}
	if (s->shape->mixed)
		return mixed_of_none(s, r) || check_part(s, r, NET_V4, lo, hi, lo);
	if (s->shape->family == NET_V4)
		return check_span(s, r, NET_V4, lo, hi, 0);
	if (lo < MAPPED && !check_span(s, r, NET_V6, lo, hi < MAPPED ? hi : MAPPED - 1, 0))
		return false;
	/* None stands in a packet, and none is the peer of one that is IPv6. */
	if (lo <= last && hi >= MAPPED && packets && r->allowed) {
		complain(s, lo > MAPPED ? lo : MAPPED, (uint32_t)r->lo[WALK_PORT], false);
		return false;
	}
	if (lo <= last && hi >= MAPPED && !packets &&
	    !check_span(s, r, NET_V4, lo > MAPPED ? lo - MAPPED : 0, hi < last ? hi - MAPPED : UINT32_MAX, MAPPED))
		return false;
	return hi <= last || check_span(s, r, NET_V6, lo > last ? lo : last + 1, hi, 0);
}

/* --- where things stand --------------------------------------------------- */

#define AT(type, field) ((size_t)offsetof(struct type, field))

/* An address and a port in a call. */
static void lay_call(struct prover *v, const struct shape *shape, struct walk_byte *ctx, struct walk_byte *packet,
		     size_t *packet_size)
{
	struct bpf_sock_addr c;
	bool four = shape->family == NET_V4;

	(void)v, (void)packet;
	memset(&c, 0, sizeof c);
	c.user_family = c.family = four ? AF_INET : AF_INET6;
	c.protocol = (uint32_t)proto_number(shape->proto);
	c.type = shape->proto == NET_TCP ? SOCK_STREAM : SOCK_DGRAM;
	walk_lay_constant(ctx, &c, sizeof c);
	walk_lay(ctx + (four ? AT(bpf_sock_addr, user_ip4) : AT(bpf_sock_addr, user_ip6)), WALK_ADDRESS, four ? 4 : 16);
	walk_lay(ctx + AT(bpf_sock_addr, user_port), WALK_PORT, 2);
	*packet_size = 0;
}

static void lay_packet(struct walk_byte *to, const struct wire *w, size_t *size)
{
	walk_lay_constant(to, w->byte, w->size);
	*size = w->size;
}

/* The peer of a socket that sends; the packet says nothing of its own. */
static void lay_peer(struct prover *v, const struct shape *shape, struct walk_byte *ctx, struct walk_byte *packet,
		     size_t *packet_size)
{
	bool four = shape->family == NET_V4;
	struct wire w = make_packet(shape->family, proto_number(shape->proto), (struct net_addr){ 0, 0 }, 40000);
	struct __sk_buff c;

	memset(&c, 0, sizeof c);
	c.family = four ? AF_INET : AF_INET6;
	if (shape->proto == NET_UDP) {
		w = make_packet(NET_V4, IPPROTO_UDP, (struct net_addr){ 0, v->elsewhere.addr.lo ^ 1 }, 40000);
		put_destination(&w, v->elsewhere.addr, 443);
	}
	c.ifindex = CAVE_NAMES_DEVICE;
	walk_lay_constant(ctx, &c, sizeof c);
	walk_lay(ctx + (four ? AT(__sk_buff, remote_ip4) : AT(__sk_buff, remote_ip6)), WALK_ADDRESS, four ? 4 : 16);
	walk_lay(ctx + AT(__sk_buff, remote_port) + 2, WALK_PORT, 2);
	lay_packet(packet, &w, packet_size);
}

/* The destination of a datagram, or the sender of one that arrives. */
static void lay_end(struct prover *v, const struct shape *shape, struct walk_byte *ctx, struct walk_byte *packet,
		    size_t *packet_size)
{
	const bool four = shape->family == NET_V4, arrives = shape->hook == CAVE_HOOK_INGRESS;
	struct wire w = make_packet(shape->family, IPPROTO_UDP, source_of(v, shape), 40000);
	const size_t header = four ? 20 : 40, source = four ? 12 : 8, size = four ? 4 : 16;
	struct __sk_buff c;

	memset(&c, 0, sizeof c);
	c.family = shape->mixed ? AF_INET : AF_INET6;
	c.ifindex = CAVE_NAMES_DEVICE;
	walk_lay_constant(ctx, &c, sizeof c);
	lay_packet(packet, &w, packet_size);
	walk_lay(packet + source + (arrives ? 0 : size), WALK_ADDRESS, (unsigned)size);
	walk_lay(packet + header + (arrives ? 0 : 2), WALK_PORT, 2);
}

static const struct shape shapes[] = {
	{ CAVE_HOOK_CONNECT4, NET_TCP, NET_V4, true, false, false, false, NULL, lay_call },
	{ CAVE_HOOK_CONNECT4, NET_UDP, NET_V4, true, false, false, false, NULL, lay_call },
	{ CAVE_HOOK_CONNECT6, NET_TCP, NET_V6, true, false, false, false, NULL, lay_call },
	{ CAVE_HOOK_CONNECT6, NET_UDP, NET_V6, true, false, false, false, NULL, lay_call },
	{ CAVE_HOOK_SENDMSG4, NET_UDP, NET_V4, true, true, false, false, NULL, lay_call },
	{ CAVE_HOOK_SENDMSG6, NET_UDP, NET_V6, true, true, false, false, NULL, lay_call },
	{ CAVE_HOOK_EGRESS, NET_TCP, NET_V4, false, false, false, false, "as a socket's peer", lay_peer },
	{ CAVE_HOOK_EGRESS, NET_TCP, NET_V6, false, false, false, false, "as a socket's peer", lay_peer },
	{ CAVE_HOOK_EGRESS, NET_UDP, NET_V4, false, false, true, false, "as the peer of a datagram's socket", lay_peer },
	{ CAVE_HOOK_EGRESS, NET_UDP, NET_V4, false, false, false, false, "as a packet's destination", lay_end },
	{ CAVE_HOOK_EGRESS, NET_UDP, NET_V6, false, false, false, false, "as a packet's destination", lay_end },
	{ CAVE_HOOK_INGRESS, NET_UDP, NET_V4, false, false, false, false, "as a sender", lay_end },
	{ CAVE_HOOK_INGRESS, NET_UDP, NET_V6, false, false, false, false, "as a sender", lay_end },
	{ CAVE_HOOK_EGRESS, NET_UDP, NET_V4, false, false, false, true, "as a packet's destination, of an IPv4 socket",
	  lay_end },
};

static void follow_shape(struct sets *s, const struct shape *shape)
{
	struct walk_byte ctx[sizeof(struct __sk_buff)] = { { 0, 0 } }, packet[WIRE_MAX] = { { 0, 0 } };
	const struct prover *v = s->v;
	struct walk w = {
		.program = &v->hook[shape->hook],
		.map = v->map,
		.nmaps = v->nmaps,
		.bits = { 0, shape->family == NET_V4 ? 32 : 128, 16 },
		.ctx = ctx,
		.packet = packet,
		.ctx_size = shape->lay == lay_call ? sizeof(struct bpf_sock_addr) : sizeof(struct __sk_buff),
		.visit = check_region,
		.closure = s,
	};

	s->shape = shape;
	shape->lay(s->v, shape, ctx, packet, &w.packet_size);
	if (walk_program(&w) == WALK_LOST && !v->failed) {
		diag_error(v->d, CAVE_PROOF_FAILED, v->p->at, "the program for %s cannot be followed for all inputs",
			   artefact_hook_name(shape->hook));
		s->v->failed = true;
	}
}

void prove_sets(struct prover *v)
{
	struct sets s = { .v = v, .known = ARENA_ARRAY(v->a, KNOWN_SLOTS, struct known *) };

	/* Peers that came in before would be answered. */
	for (size_t i = 0; i < v->nmaps; i++)
		v->map[i].n = 0;
	sweep_rules(&s);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !v->failed; i++)
		/* Beside a listen for datagrams every packet has to be allowed itself: the points say so. */
		if (!(v->guests && shapes[i].unjudged))
			follow_shape(&s, &shapes[i]);
}
