/* SPDX-License-Identifier: MIT */
/*
 * The proof of the egress programs: every destination, in every hook and spelling.
 *
 * Addresses and ports are crossed in full up to FULL_CROSS pairs.  Above it an address that some
 * rule holds meets the ports of the rules that hold it or a neighbour of it; one that no rule holds
 * meets the first port of each range of those rules, and one port that is granted.  Above MANY_OPERANDS an
 * address meets one port, in hooks that take turns: egress_prove_sets.c has all addresses and ports in each.
 */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <sys/socket.h>

enum { FULL_CROSS = 512, MANY_OPERANDS = 2048, MANY_OPERANDS_BESIDE_NAMES = 2048 };

/* --- one destination ------------------------------------------------------ */

/* The other side of an address: what a packet says where it is to say nothing. */
static struct net_addr beside(struct net_addr a)
{
	a.lo ^= 1;
	return a;
}

/*
 * A TCP packet from a socket: its peer decides, and the packet is of the peer's family, even if it
 * goes where the other family is allowed to.
 */
static void ask_segment(struct prover *v, struct point peer, uint16_t port, bool want)
{
	struct question q = { CAVE_HOOK_EGRESS, IPPROTO_TCP, peer, port, "as a socket's peer" };
	enum net_family family = reference_normal(peer).family,
			other = family == NET_V4 ? NET_V6 : NET_V4;
	struct wire w = make_packet(family, IPPROTO_TCP, (struct net_addr){ 0, 0 }, 40000);
	const struct sample *s = &v->sample[NET_TCP][other];
	struct __sk_buff ctx = { 0 };

	put_peer(&ctx, peer, port);
	ask_packet(v, &q, &ctx, &w, want);
	q.form = "as the peer of a packet of the other family";
	w = make_packet(other, IPPROTO_TCP, s->to.addr, 40000);
	put_destination(&w, s->to.addr, s->port);
	ask_packet(v, &q, &ctx, &w, false);
	if (other == NET_V6 || !s->known)
		return;
	/* What an IPv6 socket has in the place of an IPv4 peer is none. */
	put_peer(&ctx, peer, s->port);
	ctx.remote_ip4 = htonl((uint32_t)s->to.addr.lo);
	ask_packet(v, &q, &ctx, &w, false);
}

/* A datagram from `source` to `to` on the wire; from a socket whose peer has a port, or is none. */
struct datagram {
	struct net_addr source;
	struct point to;
	uint16_t port;
	struct point peer;
	uint16_t peer_port;
	const char *form;
};

static void ask_datagram(struct prover *v, const struct datagram *d, bool want)
{
	const struct question q = { CAVE_HOOK_EGRESS, IPPROTO_UDP, d->to, d->port, d->form };
	struct wire w = make_packet(d->to.family, IPPROTO_UDP, d->source, 40000);
	struct __sk_buff ctx = { 0 };

	put_destination(&w, d->to.addr, d->port);
	put_peer(&ctx, d->peer, d->peer_port);
	ask_packet(v, &q, &ctx, &w, want);
}

/*
 * An IPv4 socket whose packet goes where nothing is allowed: the host has translated its
 * destination, so the peer decides; without one, sendmsg has judged.
 */
static void ask_translated(struct prover *v, struct point peer, uint16_t port, bool want)
{
	const struct datagram d = { beside(v->elsewhere.addr), v->elsewhere, port, peer, port,
				    "to a peer of another address" };

	/* Beside a listen for datagrams and with names, every packet has to be allowed itself. */
	ask_datagram(v, &d, !v->guests && !v->names && (port ? want : v->granted[NET_UDP]));
}

static void ask_ingress(struct prover *v, struct point from, uint16_t port, bool want)
{
	const struct question q = { CAVE_HOOK_INGRESS, IPPROTO_UDP, from, port, "as a sender" };
	struct wire w = make_packet(from.family, IPPROTO_UDP, from.addr, port);
	struct __sk_buff ctx = { .family = AF_INET6 };

	ask_packet(v, &q, &ctx, &w, want);
}

static bool is_unspecified(struct point at)
{
	struct point n = reference_normal(at);

	return !n.addr.hi && !n.addr.lo;
}

/* Where a connect to the address goes: the unspecified ones are turned into loopback. */
static struct point destination(struct point at)
{
	if (is_unspecified(at))
		at.addr.lo |= reference_normal(at).family == NET_V4 ? 0x7f000001 : 1;
	return at;
}

/* connect (or sendmsg) of the address's family, in the spelling `at`. */
static void ask_call(struct prover *v, bool datagram, int proto, struct point at, uint16_t port,
		     bool want)
{
	struct question q = { .protocol = proto_number(proto), .at = at, .port = port };
	struct point to = destination(at);

	if (at.family == NET_V4)
		q.hook = datagram ? CAVE_HOOK_SENDMSG4 : CAVE_HOOK_CONNECT4;
	else
		q.hook = datagram ? CAVE_HOOK_SENDMSG6 : CAVE_HOOK_CONNECT6;
	/* All zeroes is a datagram without an address, to a peer that connect has judged. */
	if (datagram && !port && !at.addr.hi && !at.addr.lo) {
		want = v->used[NET_UDP];
		to = at;
	}
	ask_sock_addr(v, &q, want, to);
}

static void ask_spelling(struct prover *v, struct point at, uint16_t port,
			 const bool to[NET_PROTOS], const bool raw[NET_PROTOS])
{
	for (int proto = 0; proto < NET_PROTOS; proto++)
		ask_call(v, false, proto, at, port, to[proto]);
	ask_call(v, true, NET_UDP, at, port, to[NET_UDP]);
	ask_segment(v, at, port, raw[NET_TCP]);
}

static bool is_open(const struct port_map *open, int proto)
{
	for (size_t i = 0; i < open->used; i++)
		if (open->open[proto][i])
			return true;
	return false;
}

static bool is_reached(const struct port_map *open)
{
	return is_open(open, NET_UDP);
}

/* Whether an address, or any, is an IPv4 name server's; one that is denied is what a mixture may be of all the same. */
bool is_server(const struct prover *v, const struct point *at)
{
	for (size_t i = 0; v->servers && i < v->servers->nto; i++)
		if (v->servers->to[i].family == NET_V4 &&
		    (!at || (at->family == NET_V4 && !net_addr_cmp(at->addr, v->servers->to[i].lo))))
			return true;
	return false;
}

/*
 * IPv4 sockets take the address of one peer and the port of another where calls race, or of none: a
 * packet that can be such a mixture has to be allowed itself.
 */
static void ask_mixed(struct prover *v, struct point at, uint16_t port, bool reached, bool want)
{
	const struct sample *s = &v->sample[NET_UDP][NET_V4];
	/* With names, which of their addresses and ports could be mixed is not known: every packet is judged itself. */
	const bool known = s->known || is_server(v, NULL);
	const bool some = v->names || (known && (!port || reference_allows(v->some, NET_UDP, port)));
	const bool mixed = v->names || v->guests || (some && (reached || is_server(v, &at)));
	struct datagram d = { .to = at, .port = port, .form = "as a packet's destination" };

	d.source = beside(at.addr);
	d.peer.family = NET_V4;
	ask_datagram(v, &d, mixed ? want : v->granted[NET_UDP]);
	d.peer = v->elsewhere;
	d.peer_port = port ? port : 443;
	ask_datagram(v, &d, mixed && want);
	d.form = "as a packet's source and destination";
	d.source = at.addr;
	ask_datagram(v, &d, (v->guests || some) && want);
	d.peer = s->to;
	d.peer_port = s->port;
	if (s->known)
		ask_datagram(v, &d, v->guests || some ? want : true);
}

/* IPv6 sockets: the packet's own destination decides, whatever the peer is. */
static void ask_own(struct prover *v, struct point at, uint16_t port, bool want)
{
	struct datagram d = { .source = beside(at.addr), .to = at, .port = port };

	d.form = "as a packet's destination, of an IPv6 socket";
	d.peer.family = NET_V6;
	ask_datagram(v, &d, want);
	d.peer_port = port;
	d.peer = at.family == NET_V4 ? mapped(at) : at;
	ask_datagram(v, &d, want);
	d.form = "as a packet's destination, of an IPv4 socket";
	d.peer = v->sample[NET_UDP][NET_V4].to;
	d.peer_port = v->sample[NET_UDP][NET_V4].port;
	if (at.family == NET_V6 && v->sample[NET_UDP][NET_V4].known)
		ask_datagram(v, &d, false);
	d.form = "as an IPv6 packet";
	d.to = d.peer = mapped(at);
	d.peer_port = port;
	if (at.family == NET_V4)
		ask_datagram(v, &d, false);
}

static void remember(struct prover *v, int proto, struct point at, uint16_t port)
{
	struct sample *s = &v->sample[proto][at.family];

	v->granted[proto] = v->used[proto] = true;
	if (!s->known)
		*s = (struct sample){ true, at, port };
}

/* One destination in every hook and spelling. */
static void ask_destination(struct prover *v, const struct port_map *open,
			    const struct port_map *open_raw, struct point at, uint16_t port)
{
	bool to[NET_PROTOS], raw[NET_PROTOS];

	for (int proto = 0; proto < NET_PROTOS; proto++) {
		to[proto] = reference_allows(open, proto, port);
		raw[proto] = reference_allows(open_raw, proto, port);
	}
	ask_spelling(v, at, port, to, raw);
	ask_own(v, at, port, raw[NET_UDP]);
	if (at.family == NET_V4) {
		ask_spelling(v, mapped(at), port, to, raw);
		ask_translated(v, at, port, raw[NET_UDP]);
		ask_mixed(v, at, port, is_reached(open_raw), raw[NET_UDP]);
	}
	ask_ingress(v, at, port, raw[NET_UDP]);
}

/* Of an IPv4 address by what its sockets connect to, and by what the packets say. */
static void ask_either(struct prover *v, const struct port_map *open_raw, struct point at, uint16_t port, bool want)
{
	ask_translated(v, at, port, want);
	ask_mixed(v, at, port, is_reached(open_raw), want);
}

/* One destination in some of the hooks, which take turns. */
static void ask_in_turn(struct prover *v, const struct port_map *open, const struct port_map *open_raw,
			struct point at, uint16_t port)
{
	bool to[NET_PROTOS], raw[NET_PROTOS], four = at.family == NET_V4;

	for (int proto = 0; proto < NET_PROTOS; proto++) {
		to[proto] = reference_allows(open, proto, port);
		raw[proto] = reference_allows(open_raw, proto, port);
	}
	switch (v->turn++ % (four ? 10 : 7)) {
	case 0:
	case 1:
		ask_call(v, false, (int)(v->turn % 2), at, port, to[v->turn % 2]);
		break;
	case 2:
		ask_call(v, true, NET_UDP, at, port, to[NET_UDP]);
		break;
	case 3:
		ask_segment(v, at, port, raw[NET_TCP]);
		break;
	case 4:
		ask_own(v, at, port, raw[NET_UDP]);
		break;
	case 5:
		ask_ingress(v, at, port, raw[NET_UDP]);
		break;
	case 6:
		ask_call(v, false, NET_TCP, four ? mapped(at) : at, port, to[NET_TCP]);
		break;
	case 7:
		ask_call(v, true, NET_UDP, mapped(at), port, to[NET_UDP]);
		break;
	case 8:
		ask_segment(v, mapped(at), port, raw[NET_TCP]);
		break;
	default:
		ask_either(v, open_raw, at, port, raw[NET_UDP]);
	}
}

/* --- all of them ---------------------------------------------------------- */

/* The ports that the `n` points of one address are asked with; `held`: some rule holds it. */
static const struct ports *ports_for(struct prover *v, const struct point *point, size_t n, bool held,
				     const struct ports *all)
{
	if (all)
		return all;
	near_ports(v, &v->ports, reference_normal(destination(*point)), !held);
	for (size_t i = 0; i < n; i++)
		add_port(v, &v->ports, point[i].port);
	finish_ports(&v->ports);
	return &v->ports;
}

/* How many points are of the same address as the first. */
static size_t same_address(const struct point *point, size_t n)
{
	size_t same = 1;

	while (same < n && point[same].family == point->family && !net_addr_cmp(point[same].addr, point->addr))
		same++;
	return same;
}

static void ask_address(struct prover *v, const struct point *point, size_t n, const struct ports *all)
{
	const struct port_map *raw = is_unspecified(*point) ? v->none : v->open;
	const struct ports *ports;

	reference_holding(&v->ref, reference_normal(destination(*point)), &v->holding);
	reference_judge(&v->holding, v->open);
	if (v->many) {
		ask_in_turn(v, v->open, raw, *point, point->port);
		return;
	}
	ports = ports_for(v, point, n, v->holding.n, all);
	for (size_t i = 0; i < ports->n && !v->failed; i++)
		ask_destination(v, v->open, raw, *point, ports->item[i]);
}

/* Notes what is open by UDP at an IPv4 address. */
static void note_ports(struct prover *v, struct point at)
{
	if (!is_reached(v->open) && !is_server(v, &at))
		v->elsewhere = at;
	for (size_t i = 0; i < v->open->used; i++)
		v->some->open[NET_UDP][i] |= v->open->open[NET_UDP][i];
}

/* Whether the address at hand is the first of its family that some protocol is allowed to. */
static bool is_news(const struct prover *v, enum net_family family)
{
	for (int proto = 0; proto < NET_PROTOS; proto++)
		if (!v->sample[proto][family].known && is_open(v->open, proto))
			return true;
	return false;
}

/* Which protocols are granted at all, by which ports, and a destination of each. */
static void find_samples(struct prover *v, const struct points *points)
{
	for (size_t i = 0; i < points->n; i += same_address(&points->item[i], points->n - i)) {
		struct point at = points->item[i];

		reference_holding(&v->ref, at, &v->holding);
		reference_judge(&v->holding, v->open);
		if (at.family == NET_V4)
			note_ports(v, at);
		if (!is_news(v, at.family))
			continue;
		near_ports(v, &v->ports, at, false);
		for (size_t k = 0; k < v->ports.n; k++)
			for (int proto = 0; proto < NET_PROTOS; proto++)
				if (reference_allows(v->open, proto, v->ports.item[k]))
					remember(v, proto, at, v->ports.item[k]);
	}
}

/* What is granted, with the ports at the ends, and with the bytes of the granted port swapped. */
static void ask_samples(struct prover *v)
{
	for (int family = 0; family < NET_FAMILIES; family++)
		for (int proto = 0; proto < NET_PROTOS; proto++) {
			const struct sample *s = &v->sample[proto][family];
			const uint16_t port[] = { 0, 1, s->port, htons(s->port), 65535 };

			if (!s->known)
				continue;
			reference_holding(&v->ref, s->to, &v->holding);
			reference_judge(&v->holding, v->open);
			for (size_t i = 0; i < sizeof port / sizeof *port; i++)
				ask_destination(v, v->open, v->open, s->to, port[i]);
		}
}

size_t count_operands(const struct policy *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nnet_rules; i++)
		n += p->net_rule[i].nto + p->net_rule[i].nexcept;
	return n;
}

void prove_destinations(struct prover *v)
{
	struct points points;
	struct ports ports = { 0 };
	bool full;

	if (is_server(v, NULL))
		v->some->open[NET_UDP][v->servers->port[0].lo / 64] |= (uint64_t)1 << v->servers->port[0].lo % 64;
	/* Beside names nothing is followed for all inputs. */
	v->many = v->brief || count_operands(v->p) > (v->names ? MANY_OPERANDS_BESIDE_NAMES : MANY_OPERANDS);
	find_teredo(v);
	points = list_points(v);
	find_samples(v, &points);
	for (size_t i = 0; i < v->p->nnet_rules; i++)
		add_rule_ports(v, &ports, &v->p->net_rule[i]);
	add_port(v, &ports, 0);
	add_port(v, &ports, 65535);
	finish_ports(&ports);
	ask_samples(v);
	ask_mixed(v, v->elsewhere, 0, false, false);
	full = points.n * ports.n <= FULL_CROSS;
	for (size_t i = 0, n; i < points.n && !v->failed; i += n) {
		n = same_address(&points.item[i], points.n - i);
		ask_address(v, &points.item[i], n, full ? &ports : NULL);
	}
}
