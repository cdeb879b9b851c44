/* SPDX-License-Identifier: MIT */
/*
 * The proof of `listen udp`: a datagram that arrives at a granted endpoint makes its sender a guest of the socket that
 * gets it; what leaves for a guest is let through, from that socket alone.
 */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/vm.h"

enum {
	COOKIE = 0x7a5,
	OTHER_COOKIE = 0x17a5,
	GUESTS_ASKED = 2048, /* about so many addresses are taken for guests, from all over the policy */
};

/* The key of the map as docs/egress.md has it. */
struct guest_key {
	uint64_t cookie;
	uint32_t word[4];
	uint32_t port, zero;
};

static struct guest_key key_of(uint64_t cookie, struct point at, uint16_t port)
{
	struct guest_key key = { .cookie = cookie, .port = port };

	put_words(key.word, at.family == NET_V4 ? mapped(at).addr : at.addr);
	return key;
}

/* --- arriving ------------------------------------------------------------- */

static bool is_allowed(struct prover *v, struct point at, uint16_t port)
{
	reference_holding(&v->ref, at, &v->holding);
	reference_judge(&v->holding, v->open);
	return reference_allows(v->open, NET_UDP, port);
}

void ask_guest_arrives(struct prover *v, const struct question *q, const struct wire *w, struct point from,
		       uint16_t port, bool listens)
{
	const struct guest_key key = key_of(COOKIE, from, port);
	const bool allowed = is_allowed(v, from, port);
	const bool comes = listens && !reference_denies(&v->ref, NET_UDP, from, port);
	struct ebpf_map *guests = find_map(v, "udp_guests");
	struct __sk_buff ctx = { .family = AF_INET6 };
	struct question without = *q;

	v->cookie = COOKIE;
	ask_packet(v, q, &ctx, w, allowed || comes);
	/* A second time nothing is new. */
	ask_packet(v, q, &ctx, w, allowed || comes);
	v->cookie = 0;
	if (guests && (guests->n != 0) != (comes && !allowed) && !is_server(v, &from))
		disagree(v, q, !guests->n);
	if (guests && guests->n && (guests->n != 1 || !ebpf_map_find(guests, &key)))
		disagree(v, q, true);
	while (guests && guests->n)
		ebpf_map_delete(guests, guests->entry[0]);
	without.form = "without a socket";
	ask_packet(v, &without, &ctx, w, allowed);
}

/* --- answering ------------------------------------------------------------ */

/* Every way to send to the peer, in one spelling. */
static void ask_calls(struct prover *v, struct point at, uint16_t port, bool want)
{
	const bool six = at.family == NET_V6;
	struct question q = { six ? CAVE_HOOK_SENDMSG6 : CAVE_HOOK_SENDMSG4, IPPROTO_UDP, at, port, "as a guest" };

	ask_sock_addr(v, &q, want, at);
	q.hook = six ? CAVE_HOOK_CONNECT6 : CAVE_HOOK_CONNECT4;
	ask_sock_addr(v, &q, want, at);
}

/* A packet to it, from sockets of both families, connected to it, to another or to none. */
static void ask_packets(struct prover *v, struct point at, uint16_t port, bool want)
{
	const struct question q = { CAVE_HOOK_EGRESS, IPPROTO_UDP, at, port, "as a packet to a guest" };
	struct wire w = make_packet(at.family, IPPROTO_UDP, (struct net_addr){ 0, 9 }, 40000);
	struct point other = at, none = { .family = at.family };

	other.addr.lo ^= 4;
	put_destination(&w, at.addr, port);
	for (int k = 0; k < 3; k++) {
		struct point peer = k == 0 ? at : k == 1 ? other : none;
		struct __sk_buff ctx = { 0 };

		put_peer(&ctx, peer, k < 2 ? port : 0);
		ask_packet(v, &q, &ctx, &w, want);
		memset(&ctx, 0, sizeof ctx);
		put_peer(&ctx, k < 2 && at.family == NET_V4 ? mapped(peer) : peer, k < 2 ? port : 0);
		ctx.family = AF_INET6;
		ask_packet(v, &q, &ctx, &w, want);
	}
}

static void ask_answer(struct prover *v, struct point at, uint16_t port, bool guest)
{
	bool want = guest || is_allowed(v, at, port);

	if (!port || (!at.addr.hi && !at.addr.lo))
		return;
	ask_calls(v, at, port, want);
	if (at.family == NET_V4)
		ask_calls(v, mapped(at), port, want);
	ask_packets(v, at, port, want);
}

static void ask_no_stream(struct prover *v, struct point at, uint16_t port)
{
	struct question q = { at.family == NET_V4 ? CAVE_HOOK_CONNECT4 : CAVE_HOOK_CONNECT6, IPPROTO_TCP, at, port,
			      "as a guest by datagrams" };

	reference_holding(&v->ref, at, &v->holding);
	reference_judge(&v->holding, v->open);
	ask_sock_addr(v, &q, reference_allows(v->open, NET_TCP, port), at);
}

/* The guest, and who is nearly one: each of its words, its port, its socket. */
static void ask_guest(struct prover *v, struct point at, uint16_t port)
{
	const struct guest_key key = key_of(COOKIE, at, port);
	const uint64_t value = 1;
	struct ebpf_map *guests = find_map(v, "udp_guests");
	struct point near = at;

	if (!guests || !port || (!at.addr.hi && !at.addr.lo))
		return;
	ebpf_map_set(guests, &key, &value, 0);
	v->cookie = COOKIE;
	ask_answer(v, at, port, true);
	ask_no_stream(v, at, port);
	ask_answer(v, at, port ^ 1, false);
	ask_answer(v, at, (uint16_t)(port << 8 | port >> 8), (port & 0xff) == port >> 8);
	for (int bit = 0; bit < (at.family == NET_V4 ? 32 : 128); bit += 13) {
		uint64_t *half = bit < 64 ? &near.addr.lo : &near.addr.hi;

		near = at;
		*half ^= (uint64_t)1 << bit % 64;
		ask_answer(v, reference_normal(near), port, false);
	}
	v->cookie = OTHER_COOKIE;
	ask_answer(v, at, port, false);
	v->cookie = COOKIE | (uint64_t)1 << 32;
	ask_answer(v, at, port, false);
	v->cookie = 0;
	ebpf_map_delete(guests, &key);
}

/* --- all of them ---------------------------------------------------------- */

static const struct net_rule *listen_of(const struct policy *p, enum net_family family, struct point *at)
{
	for (size_t i = 0; i < p->nlistens; i++)
		for (size_t k = 0; p->listen[i].proto[NET_UDP] && k < p->listen[i].nto; k++)
			if (p->listen[i].to[k].family == family) {
				*at = (struct point){ .family = family, .addr = p->listen[i].to[k].lo };
				return &p->listen[i];
			}
	return NULL;
}

static void ask_visit(struct prover *v, struct point from, uint16_t port)
{
	const struct question q = { CAVE_HOOK_INGRESS, IPPROTO_UDP, from, port, "as who sends a datagram" };
	struct wire w = make_packet(from.family, IPPROTO_UDP, from.addr, port);
	struct point at;
	const struct net_rule *listen = listen_of(v->p, from.family, &at);

	if (!listen || !port)
		return;
	put_destination(&w, at.addr, listen->port[0].lo);
	ask_guest_arrives(v, &q, &w, from, port, true);
}

void prove_answers(struct prover *v)
{
	struct points points;
	struct ports ports = { 0 };
	size_t step;

	if (!v->guests)
		return;
	points = list_points(v);
	step = points.n / GUESTS_ASKED + 1;
	for (size_t i = 0; i < v->p->nnet_rules; i++)
		if (!v->p->net_rule[i].allow)
			add_clients(v, &points, &v->p->net_rule[i]);
	for (size_t i = 0; i < points.n && !v->failed; i++) {
		near_ports(v, &ports, points.item[i], false);
		add_port(v, &ports, 1);
		add_port(v, &ports, 65534);
		finish_ports(&ports);
		for (size_t k = 0; k < ports.n && !v->failed; k++) {
			ask_visit(v, points.item[i], ports.item[k]);
			if (k < 2 && i % step == 0)
				ask_guest(v, points.item[i], ports.item[k]);
		}
	}
}
