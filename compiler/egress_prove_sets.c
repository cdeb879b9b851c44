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
#include "compiler/egress_sweep.h"
#include "compiler/egress_walk.h"
#include "cave/names.h"

#define NOBODY 0xfe /* 0.0.0.254, which sends nothing */

struct sets {
	struct prover *v;
	struct sweeps *sweeps;
	const struct shape *shape;
};

static struct net_addr address_of(walk_number n)
{
	return (struct net_addr){ (uint64_t)(n >> 64), (uint64_t)n };
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

/* What the program answers to these inputs. */
struct region {
	walk_number lo[WALK_VARIABLES], hi[WALK_VARIABLES];
	bool allowed;
	bool rewritten; /* the program has written to the context */
};

/* A part of a region, all of it addresses of one family that mean themselves. */
static bool check_part(struct sets *s, const struct region *r, enum net_family family, walk_number lo,
		       walk_number hi, walk_number shown)
{
	const struct sweep *w = &s->sweeps->peer[family];
	uint32_t bad;

	for (size_t i = sweep_find(w, lo); i < w->n && w->stretch[i].from <= hi; i++) {
		walk_number from = w->stretch[i].from > lo ? w->stretch[i].from : lo;

		if (sweep_is_vague(w, from))
			continue;
		if (!(r->rewritten && r->allowed) &&
		    verdict_agrees(w->stretch[i].verdict, s->shape->mixed ? MIXED : s->shape->proto, (uint32_t)r->lo[WALK_PORT],
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
static bool check_unspecified(struct sets *s, const struct region *r, enum net_family family,
			      walk_number loopback, walk_number shown)
{
	const struct sweep *w = &s->sweeps->peer[family];
	const struct verdict *t = w->stretch[sweep_find(w, loopback)].verdict;
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
	if (verdict_agrees(t, s->shape->proto, lo, hi, r->allowed, &bad) && (!r->allowed || r->rewritten))
		return true;
	complain(s, shown, bad, !r->allowed);
	return false;
}

static bool check_span(struct sets *s, const struct region *r, enum net_family family, walk_number lo,
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
static bool mixed_of_none(const struct sets *s, const struct region *r)
{
	return !r->allowed && r->lo[WALK_ADDRESS] == NOBODY && r->hi[WALK_ADDRESS] == NOBODY && r->hi[WALK_PORT] == 0 &&
	       source_of(s->v, s->shape).lo == NOBODY;
}

static bool check_region(void *closure, const struct walk_answer *answer)
{
	const struct walk_region *region = answer->region;
	struct sets *s = closure;
	const walk_number lo = region->lo[WALK_ADDRESS], hi = region->hi[WALK_ADDRESS], last = MAPPED | UINT32_MAX;

	const bool packets = s->shape->hook == CAVE_HOOK_EGRESS || s->shape->hook == CAVE_HOOK_INGRESS;
	struct region rest = { .allowed = answer->allowed, .rewritten = answer->nwrites };
	const struct region *r = &rest;

	memcpy(rest.lo, region->lo, sizeof rest.lo);
	memcpy(rest.hi, region->hi, sizeof rest.hi);

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

static void lay_constant(struct walk_byte *at, const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (struct walk_byte){ WALK_CONSTANT, ((const uint8_t *)data)[i] };
}

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
	lay_constant(ctx, &c, sizeof c);
	walk_lay(ctx + (four ? AT(bpf_sock_addr, user_ip4) : AT(bpf_sock_addr, user_ip6)), WALK_ADDRESS, four ? 4 : 16);
	walk_lay(ctx + AT(bpf_sock_addr, user_port), WALK_PORT, 2);
	*packet_size = 0;
}

static void lay_packet(struct walk_byte *to, const struct wire *w, size_t *size)
{
	lay_constant(to, w->byte, w->size);
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
	lay_constant(ctx, &c, sizeof c);
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
	lay_constant(ctx, &c, sizeof c);
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
	struct walk w;

	walk_begin(&w, v->a, &v->hook[shape->hook]);
	walk_free(&w, WALK_ADDRESS, shape->family == NET_V4 ? 32 : 128);
	walk_free(&w, WALK_PORT, 16);
	w.map = v->map;
	w.nmaps = v->nmaps;
	w.ctx = ctx;
	w.packet = packet;
	w.ctx_size = shape->lay == lay_call ? sizeof(struct bpf_sock_addr) : sizeof(struct __sk_buff);
	w.visit = check_region;
	w.closure = s;
	s->shape = shape;
	shape->lay(s->v, shape, ctx, packet, &w.packet_size);
	w.inputs.lo[WALK_LENGTH] = w.inputs.hi[WALK_LENGTH] = w.packet_size;
	w.packet_size = WIRE_MAX;
	if (walk_program(&w) == WALK_LOST && !v->failed) {
		diag_error(v->d, CAVE_PROOF_FAILED, v->p->at, "the program for %s cannot be followed for all inputs",
			   artefact_hook_name(shape->hook));
		s->v->failed = true;
	}
}

void prove_sets(struct prover *v)
{
	struct sweeps sweeps;
	struct sets s = { .v = v, .sweeps = &sweeps };

	/* Peers that came in before would be answered. */
	for (size_t i = 0; i < v->nmaps; i++)
		v->map[i].n = 0;
	sweeps_init(&sweeps, v, true);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !v->failed; i++)
		/* Beside a listen for datagrams every packet has to be allowed itself: the points say so. */
		if (!v->whole[shapes[i].hook] && !(v->guests && shapes[i].unjudged))
			follow_shape(&s, &shapes[i]);
}
