/* SPDX-License-Identifier: MIT */
/*
 * The proof of what is denied beside a `listen`: every boundary of every rule as the peer of a connection that comes
 * in, of one that has, and as whom a listening socket answers.
 */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <linux/in.h>

/* An endpoint of one's own that is listened at. */
struct endpoint {
	bool known;
	struct point at;
	uint16_t port;
};

static struct endpoint first_endpoint(const struct policy *p, enum net_family family)
{
	for (size_t i = 0; i < p->nlistens; i++)
		for (size_t k = 0; p->listen[i].proto[NET_TCP] && k < p->listen[i].nto; k++) {
			const struct net_operand *o = &p->listen[i].to[k];

			if (o->family == family)
				return (struct endpoint){ true, { .family = family, .addr = o->lo },
							  p->listen[i].port[0].lo };
		}
	return (struct endpoint){ .known = false };
}

static size_t flags_at(enum net_family family)
{
	return (family == NET_V4 ? 20 : 40) + 13;
}

static void ask_comes_in(struct prover *v, const struct endpoint *own, struct point peer, uint16_t port, bool want)
{
	const struct question q = { CAVE_HOOK_INGRESS, IPPROTO_TCP, peer, port, "as who comes in" };
	struct wire w = make_packet(peer.family, IPPROTO_TCP, peer.addr, port);
	struct __sk_buff ctx = { .family = peer.family == NET_V4 ? AF_INET : AF_INET6 };

	put_destination(&w, own->at.addr, own->port);
	w.byte[flags_at(peer.family)] = SYN;
	ask_packet(v, &q, &ctx, &w, want);
}

/* A packet to `to` of a socket whose own end is `own`, and whose peer is `peer` if that has a port. */
static void ask_goes_out(struct prover *v, const char *form, const struct endpoint *own, struct point peer,
			 uint16_t peer_port, struct point to, uint16_t port, bool want)
{
	const struct question q = { CAVE_HOOK_EGRESS, IPPROTO_TCP, to, port, form };
	struct wire w = make_packet(to.family, IPPROTO_TCP, own->at.addr, own->port);
	struct point end = peer.family == NET_V6 && own->at.family == NET_V4 ? mapped(own->at) : own->at;
	struct __sk_buff ctx = { 0 };

	put_destination(&w, to.addr, port);
	put_peer(&ctx, peer, peer_port);
	ctx.local_port = own->port;
	if (end.family == NET_V4)
		ctx.local_ip4 = htonl((uint32_t)end.addr.lo);
	else
		put_words(ctx.local_ip6, end.addr);
	w.byte[flags_at(to.family)] = peer_port ? ACK : SYN | ACK;
	ask_packet(v, &q, &ctx, &w, want);
}

/* Where the packet goes says nothing while its socket has a peer. */
static struct point beside(struct point at)
{
	at.addr.lo ^= 1;
	return at;
}

static void ask_guest(struct prover *v, struct point peer, uint16_t port)
{
	struct endpoint own = first_endpoint(v->p, peer.family);
	bool denied = reference_denies(&v->ref, NET_TCP, peer, port);
	bool allowed = reference_allows(v->open, NET_TCP, port);
	struct point none = { .family = peer.family };

	if (!own.known || !port)
		return;
	ask_comes_in(v, &own, peer, port, !denied);
	ask_goes_out(v, "as who came in", &own, peer, port, beside(peer), port, allowed || !denied);
	ask_goes_out(v, "as who is answered", &own, none, 0, peer, port, !denied);
	if (peer.family == NET_V6)
		return;
	ask_goes_out(v, "as who came in, mapped", &own, mapped(peer), port, beside(peer), port, allowed || !denied);
	none.family = NET_V6;
	ask_goes_out(v, "as who is answered by a socket of IPv6", &own, none, 0, peer, port, !denied);
}

static bool denies_tcp(const struct policy *p)
{
	for (size_t i = 0; i < p->nnet_rules; i++) {
		const struct net_rule *r = &p->net_rule[i];

		if (!r->allow && (r->proto[NET_TCP] || !r->proto[NET_UDP]))
			return true;
	}
	return false;
}

/* What Teredo carries of a denied operand's ends, as a client and as a server. */
void add_clients(struct prover *v, struct points *to, const struct net_rule *deny)
{
	for (size_t k = 0; k < deny->nto; k++) {
		const struct net_operand *o = &deny->to[k];
		const uint32_t edge[] = { (uint32_t)o->lo.lo, (uint32_t)o->hi.lo, (uint32_t)o->lo.lo - 1,
					  (uint32_t)o->hi.lo + 1 };

		for (size_t e = 0; o->family == NET_V4 && e < 4; e++) {
			add_point(v, to, NET_V6, (struct net_addr){ 0x2001000001020304, ~(uint64_t)edge[e] }, 0);
			add_point(v, to, NET_V6, (struct net_addr){ 0x2001000000000000 | edge[e], ~(uint64_t)0x01020304 },
				  0);
			add_point(v, to, NET_V6, (struct net_addr){ 0x2001000101020304, ~(uint64_t)edge[e] }, 0);
		}
	}
}

void prove_guests(struct prover *v)
{
	struct points points;
	struct ports ports = { 0 };

	if (!v->p->nlistens || !denies_tcp(v->p))
		return;
	points = list_points(v);
	for (size_t i = 0; i < v->p->nnet_rules; i++)
		if (!v->p->net_rule[i].allow)
			add_clients(v, &points, &v->p->net_rule[i]);
	for (size_t i = 0; i < points.n && !v->failed; i++) {
		near_ports(v, &ports, points.item[i], false);
		add_port(v, &ports, 1);
		add_port(v, &ports, 65535);
		finish_ports(&ports);
		reference_holding(&v->ref, points.item[i], &v->holding);
		reference_judge(&v->holding, v->open);
		for (size_t k = 0; k < ports.n; k++)
			ask_guest(v, points.item[i], ports.item[k]);
	}
}
