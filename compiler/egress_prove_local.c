/* SPDX-License-Identifier: MIT */
/*
 * The proof of what `listen` grants: every address and port of it and around it, in bind, as the own end
 * of sockets that send, and as the destination of what arrives.
 */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <string.h>

#include "bpf/sort.h"
#include "compiler/egress_addr.h"

/* A peer that hardly any policy grants. */
static struct point stranger(enum net_family family)
{
	return (struct point){ .family = family,
			       .addr = { family == NET_V4 ? 0 : 0xfd00dead00000000, 0xf0000001 } };
}

enum { STRANGER_PORT = 9 };

static void put_local(struct __sk_buff *ctx, struct point at, uint16_t port)
{
	ctx->local_port = port;
	if (at.family == NET_V4)
		ctx->local_ip4 = htonl((uint32_t)at.addr.lo);
	else
		put_words(ctx->local_ip6, at.addr);
}

/* The first address of the family that is listened at: what another could be mistaken for. */
static struct net_addr first_local(const struct policy *p, enum net_family family)
{
	for (size_t i = 0; i < p->nlistens; i++)
		for (size_t k = 0; k < p->listen[i].nto; k++)
			if (p->listen[i].to[k].family == family)
				return p->listen[i].to[k].lo;
	return (struct net_addr){ 0, family == NET_V4 ? 0x7f000001 : 1 };
}

/* The addresses around those of the listens, and the ports around theirs. */
static void list_local(struct prover *v, struct points *at, struct ports *ports)
{
	for (size_t i = 0; i < v->p->nlistens; i++) {
		const struct net_rule *r = &v->p->listen[i];

		for (size_t k = 0; k < r->nto; k++)
			add_operand(v, at, &r->to[k], r->port[0].lo, true);
		add_rule_ports(v, ports, r);
	}
	add_fixed(v, at);
	add_lookalikes(v, at, 0, 0);
	add_lookalikes(v, at, first_local(v->p, NET_V4).lo, 0);
	for (size_t i = 0; i < at->n; i++)
		at->item[i].port = 0;
	sort(at->item, at->n, sizeof *at->item, by_point);
	finish_ports(ports);
}

static void ask_bind(struct prover *v, int proto, struct point at, uint16_t port)
{
	struct question q = { CAVE_HOOK_BIND4, proto_number(proto), at, port, "as a local address" };
	bool want = may_bind(v, q.protocol, at, port);

	if (at.family == NET_V4) {
		ask_sock_addr(v, &q, want, at);
		q.at = mapped(at);
	}
	q.hook = CAVE_HOOK_BIND6;
	ask_sock_addr(v, &q, want, q.at);
}

static bool stranger_allowed(struct prover *v, enum net_family family, int proto)
{
	reference_holding(&v->ref, stranger(family), &v->holding);
	reference_judge(&v->holding, v->open);
	return reference_allows(v->open, proto, STRANGER_PORT);
}

/* A socket and what it sends. */
struct segment {
	const char *form;
	struct point peer;
	uint16_t peer_port;
	struct point local;
	uint16_t port;
	enum net_family family; /* of the packet */
	struct net_addr source;
	uint8_t flags;
	size_t cut; /* bytes off its end */
};

/* Whom it is sent to: the socket's peer, or whom a listening socket answers. */
static bool is_denied(struct prover *v, const struct segment *s, struct point answered, uint16_t port)
{
	if (s->peer_port)
		return reference_denies(&v->ref, NET_TCP, reference_normal(s->peer), s->peer_port);
	return reference_denies(&v->ref, NET_TCP, answered, port);
}

static void ask_own_end(struct prover *v, const struct segment *s, bool want)
{
	const struct question q = { CAVE_HOOK_EGRESS, IPPROTO_TCP, s->local, s->port, s->form };
	struct wire w = make_packet(s->family, IPPROTO_TCP, s->source, s->port);
	const struct sample *known = &v->sample[NET_TCP][s->family];
	const struct point to = known->known ? known->to : stranger(s->family);
	const uint16_t port = known->known ? known->port : STRANGER_PORT;
	struct __sk_buff ctx = { 0 };

	w.byte[(s->family == NET_V4 ? 20 : 40) + 13] = s->flags;
	put_destination(&w, to.addr, port);
	want = want && !is_denied(v, s, (struct point){ .family = s->family, .addr = to.addr }, port);
	put_peer(&ctx, s->peer, s->peer_port);
	/* What the socket's family leaves out says nothing. */
	ctx.local_ip4 = htonl((uint32_t)v->listened[NET_V4].lo);
	put_words(ctx.local_ip6, v->listened[NET_V6]);
	put_local(&ctx, s->local, s->port);
	w.size -= s->cut;
	ask_packet(v, &q, &ctx, &w, want);
}

static struct point spelled(struct point at, enum net_family socket)
{
	return at.family == NET_V4 && socket == NET_V6 ? mapped(at) : at;
}

/* Peers whose address is granted, by ports that are not: those of the listen. */
static void ask_accepted_known(struct prover *v, struct segment s, bool want)
{
	const uint16_t remote[] = { STRANGER_PORT, v->p->listen[0].port[0].lo };
	const struct sample *known = &v->sample[NET_TCP][s.family];

	s.form = "as the own address of a socket with a granted peer";
	for (size_t i = 0; known->known && i < sizeof remote / sizeof *remote; i++) {
		reference_holding(&v->ref, known->to, &v->holding);
		reference_judge(&v->holding, v->open);
		s.peer = spelled(known->to, s.local.family);
		s.peer_port = remote[i];
		ask_own_end(v, &s, want || reference_allows(v->open, NET_TCP, remote[i]));
	}
}

/* Peers that are like the mapped own address of a socket that sends IPv4, but IPv6. */
static void ask_lookalike_peers(struct prover *v, struct segment s)
{
	struct points peers = { 0 };

	add_lookalikes(v, &peers, s.local.addr.lo & UINT32_MAX, 0);
	s.form = "as the own address of a socket whose peer is like a mapped one";
	for (size_t i = 0; i < peers.n; i++) {
		s.peer = peers.item[i];
		if (s.peer.family == NET_V6)
			ask_own_end(v, &s, false);
	}
}

/* The peer, or the packet, or both of the other family: nothing that came in is like that. */
static void ask_crossed(struct prover *v, struct segment s)
{
	enum net_family own = s.family, other = own == NET_V4 ? NET_V6 : NET_V4;

	s.form = "as the own address of a socket whose packet is of the other family";
	s.family = other;
	ask_own_end(v, &s, false);
	if (s.local.family == NET_V4)
		return;
	s.form = "as the own address of a socket whose peer is of the other family";
	s.peer = spelled(stranger(other), NET_V6);
	ask_own_end(v, &s, stranger_allowed(v, other, NET_TCP));
	s.family = own;
	ask_own_end(v, &s, false);
	if (own == NET_V4)
		ask_lookalike_peers(v, s);
}

/* A listening socket answers a SYN, and sends nothing else. */
static void ask_answer(struct prover *v, struct segment s, bool want)
{
	static const uint8_t flags[] = { 0, SYN, ACK, SYN | ACK, 0xff, 0xff ^ SYN, 0xff ^ ACK, 0xff ^ SYN ^ ACK };
	struct segment strange = s;

	s.peer = (struct point){ .family = s.local.family };
	s.peer_port = 0;
	s.form = "as a listening socket's address";
	for (size_t i = 0; i < sizeof flags; i++) {
		s.flags = flags[i];
		ask_own_end(v, &s, want && (flags[i] & SYN) && (flags[i] & ACK));
	}
	/* The flags are the 14th of 20 bytes. */
	s.flags = SYN | ACK;
	for (s.cut = 5; s.cut < 9; s.cut++)
		ask_own_end(v, &s, want && s.cut <= 6);
	strange.peer_port = 0;
	strange.form = "as the address of a socket whose peer has no port";
	ask_own_end(v, &strange, false);
}

/* A listening socket bound to :: answers IPv4 from the address that the SYN came to. */
static void ask_dual(struct prover *v, struct point at, uint16_t port, bool want)
{
	struct segment s = { "as the source of a packet of a socket bound to ::", { .family = NET_V6 }, 0,
			     { .family = NET_V6 }, port, NET_V4, at.addr, SYN | ACK, 0 };
	const uint64_t one[] = { (uint64_t)1 << 32, 1 };

	ask_own_end(v, &s, want);
	s.flags = ACK;
	ask_own_end(v, &s, false);
	s.flags = SYN | ACK;
	for (int word = 0; word < 4; word++) {
		struct net_addr a = { word < 2 ? one[word % 2] : 0, word < 2 ? 0 : one[word % 2] };

		s.peer.addr = a;
		ask_own_end(v, &s, false);
		s.peer.addr = (struct net_addr){ 0, 0 };
		s.local.addr = a;
		ask_own_end(v, &s, false);
		s.local.addr = (struct net_addr){ 0, 0 };
	}
	s.peer_port = STRANGER_PORT;
	ask_own_end(v, &s, false);
	s.peer = mapped(stranger(NET_V4));
	s.flags = ACK;
	ask_own_end(v, &s, stranger_allowed(v, NET_V4, NET_TCP));
}

/* A datagram is not let out because TCP may come in where its socket is bound. */
static void ask_accepted_datagram(struct prover *v, const struct segment *s)
{
	const struct question q = { CAVE_HOOK_EGRESS, IPPROTO_UDP, s->local, s->port,
				    "as a socket's own address" };
	struct wire w = make_packet(s->family, IPPROTO_UDP, s->source, s->port);
	size_t header = s->family == NET_V4 ? 20 : 40;
	struct __sk_buff ctx = { 0 };

	/* Long enough to be taken for TCP, with flags that would pass. */
	w.byte[header + 13] = ACK;
	w.size = header + 20;

	put_destination(&w, stranger(s->family).addr, STRANGER_PORT);
	put_peer(&ctx, s->peer, s->peer_port);
	put_local(&ctx, s->local, s->port);
	ask_packet(v, &q, &ctx, &w, stranger_allowed(v, s->family, NET_UDP));
}

/* A packet from a socket that is bound to the endpoint; `at` may be mapped. */
static void ask_accepted(struct prover *v, struct point at, uint16_t port, bool want)
{
	enum net_family family = reference_normal(at).family;
	struct segment s = { "as a socket's own address", spelled(stranger(family), at.family), STRANGER_PORT,
			     at, port, family, stranger(family).addr, ACK, 0 };

	ask_own_end(v, &s, want || stranger_allowed(v, family, NET_TCP));
	s.flags = SYN;
	ask_own_end(v, &s, stranger_allowed(v, family, NET_TCP));
	s.flags = ACK;
	ask_accepted_known(v, s, want);
	ask_crossed(v, s);
	ask_answer(v, s, want);
	ask_accepted_datagram(v, &s);
}

/* A packet to the endpoint from a stranger. */
static void ask_incoming(struct prover *v, int proto, struct point at, uint16_t port, bool want)
{
	struct question q = { CAVE_HOOK_INGRESS, proto_number(proto), at, port, "as a peer's destination" };
	struct wire w = make_packet(at.family, proto_number(proto), stranger(at.family).addr,
				    STRANGER_PORT);
	size_t header = at.family == NET_V4 ? 20 : 40;
	struct __sk_buff ctx = { .family = AF_INET6 };

	put_destination(&w, at.addr, port);
	if (proto == NET_UDP) {
		ask_guest_arrives(v, &q, &w, stranger(at.family), STRANGER_PORT, want);
		return;
	}
	ask_packet(v, &q, &ctx, &w, v->used[NET_TCP]);
	want = want && !reference_denies(&v->ref, proto, stranger(at.family), STRANGER_PORT);
	for (int others = 0; others < 256; others += 4) {
		w.byte[header + 13] = (uint8_t)((others & ~ACK) | SYN);
		ask_packet(v, &q, &ctx, &w, want);
	}
	for (size_t size = w.size; size-- > header;) {
		w.size = size;
		ask_packet(v, &q, &ctx, &w, want && size >= header + 14);
	}
}

static void ask_endpoint(struct prover *v, int proto, struct point at, uint16_t port)
{
	bool want = reference_listens(&v->own, proto, at, port);

	ask_bind(v, proto, at, port);
	ask_incoming(v, proto, at, port, want);
	if (proto != NET_TCP)
		return;
	ask_accepted(v, at, port, want);
	if (at.family != NET_V4)
		return;
	ask_accepted(v, mapped(at), port, want);
	ask_dual(v, at, port, want);
}

/* The same in brief: bind, a connection that comes in, what it and its answer send. */
static void ask_briefly(struct prover *v, int proto, struct point at, uint16_t port)
{
	const bool want = reference_listens(&v->own, proto, at, port);
	const struct question q = { CAVE_HOOK_INGRESS, proto_number(proto), at, port, "as a peer's destination" };
	struct segment s = { "as a socket's own address", stranger(at.family), STRANGER_PORT, at, port, at.family,
			     stranger(at.family).addr, ACK, 0 };
	struct wire w = make_packet(at.family, proto_number(proto), stranger(at.family).addr, STRANGER_PORT);
	struct __sk_buff ctx = { .family = AF_INET6 };

	ask_bind(v, proto, at, port);
	put_destination(&w, at.addr, port);
	if (proto == NET_UDP) {
		ask_guest_arrives(v, &q, &w, stranger(at.family), STRANGER_PORT, want);
		return;
	}
	w.byte[(at.family == NET_V4 ? 20 : 40) + 13] = SYN;
	ask_packet(v, &q, &ctx, &w, want && !reference_denies(&v->ref, proto, stranger(at.family), STRANGER_PORT));
	ask_own_end(v, &s, want || stranger_allowed(v, at.family, NET_TCP));
	s.peer = (struct point){ .family = at.family };
	s.peer_port = 0;
	s.flags = SYN | ACK;
	ask_own_end(v, &s, want);
}

/* So many pairs of an address and a port are all asked, each in every way; of more, one in so many in every way. */
enum { ALL_PAIRS = 4096, FULLY_ONE_IN = 64 };

/* The headers of packets of connections that came in are judged like all others. */
static void prove_accepted(struct prover *v)
{
	size_t turn = 0;

	for (size_t i = 0; i < v->p->nlistens; i++)
		for (size_t k = 0; v->p->listen[i].proto[NET_TCP] && k < v->p->listen[i].nto; k++) {
			const struct net_operand *o = &v->p->listen[i].to[k];
			struct packet p = { .family = o->family, .arrive = v->used[NET_TCP],
					    .came_in = !stranger_allowed(v, o->family, NET_TCP) };

			p.leave = !reference_denies(&v->ref, NET_TCP, stranger(o->family), STRANGER_PORT);
			p.q = (struct question){ .protocol = IPPROTO_TCP,
						 .at = stranger(o->family),
						 .port = STRANGER_PORT };
			put_peer(&p.ctx, p.q.at, p.q.port);
			if (o->family == NET_V4) /* for sockets of other families */
				put_words(p.ctx.local_ip6,
					  mapped((struct point){ .family = NET_V4, .addr = o->lo }).addr);
			put_local(&p.ctx, (struct point){ .family = o->family, .addr = o->lo },
				  v->p->listen[i].port[0].lo);
			p.w = make_packet(o->family, IPPROTO_TCP, o->lo, v->p->listen[i].port[0].lo);
			put_destination(&p.w, p.q.at.addr, p.q.port);
			if (turn++ % (v->many_listens ? FULLY_ONE_IN : 1) == 0)
				prove_packet(v, p);
		}
}

/* The ports of the listens that hold the address, the one before it or the one after; the ends; and one of all. */
static void near_listens(struct prover *v, struct ports *out, struct point at, const struct ports *all, size_t turn)
{
	const struct point near[] = { at, { .family = at.family, .addr = addr_previous(at.addr) },
				      { .family = at.family, .addr = addr_next(at.addr) } };

	out->n = 0;
	for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
		reference_own(&v->own, near[i], &v->heard);
		for (size_t k = 0; k < v->heard.n; k++)
			add_rule_ports(v, out, v->heard.rule[k]);
	}
	add_port(v, out, 0);
	add_port(v, out, 65535);
	add_port(v, out, all->item[turn % all->n]);
	finish_ports(out);
}

/* Many listens: an address meets the ports of those near it.  For all the others the judgements have been followed. */
static void ask_many(struct prover *v, const struct points *at, const struct ports *all)
{
	struct ports ports = { 0 };
	size_t turn = 0;

	for (size_t i = 0; i < at->n && !v->failed; i++) {
		if (i && !by_point(&at->item[i], &at->item[i - 1]))
			continue;
		near_listens(v, &ports, at->item[i], all, i);
		for (size_t k = 0; k < ports.n && !v->failed; k++)
			for (int proto = 0; proto < NET_PROTOS; proto++)
				if (turn++ % FULLY_ONE_IN)
					ask_briefly(v, proto, at->item[i], ports.item[k]);
				else
					ask_endpoint(v, proto, at->item[i], ports.item[k]);
	}
}

static void ask_all(struct prover *v, const struct points *at, const struct ports *ports)
{
	for (size_t i = 0; i < at->n; i++) {
		if (i && !by_point(&at->item[i], &at->item[i - 1]))
			continue;
		for (size_t k = 0; k < ports->n && !v->failed; k++)
			for (int proto = 0; proto < NET_PROTOS; proto++)
				ask_endpoint(v, proto, at->item[i], ports->item[k]);
	}
}

/* Whether every program that judges endpoints says where: what is reviewed does not. */
static bool tells_own(const struct prover *v)
{
	static const enum cave_hook judging[] = { CAVE_HOOK_BIND4, CAVE_HOOK_BIND6, CAVE_HOOK_INGRESS, CAVE_HOOK_EGRESS };
	bool tcp = false;

	for (size_t i = 0; i < v->p->nlistens; i++)
		tcp |= v->p->listen[i].proto[NET_TCP];
	for (size_t i = 0; i < sizeof judging / sizeof *judging; i++) {
		const struct hook_program *h = &v->hook[judging[i]];
		size_t own = 0;

		for (size_t k = 0; k < h->njudgements; k++)
			own += h->judgement[k].what == JUDGED_OWN;
		if (!own && (tcp || judging[i] != CAVE_HOOK_EGRESS))
			return false;
	}
	return true;
}

void prove_local(struct prover *v)
{
	struct points at = { 0 };
	struct ports ports = { 0 };

	if (!v->p->nlistens)
		return;
	for (int family = 0; family < NET_FAMILIES; family++)
		v->listened[family] = first_local(v->p, (enum net_family)family);
	list_local(v, &at, &ports);
	v->many_listens = at.n * ports.n > ALL_PAIRS && tells_own(v) && prove_own(v);
	prove_accepted(v);
	if (v->many_listens)
		ask_many(v, &at, &ports);
	else
		ask_all(v, &at, &ports);
}
