/* SPDX-License-Identifier: MIT */
/*
 * The proof of the egress programs: each is interpreted at every boundary of the policy and
 * compared with what the rules say, taken one by one as they are written.  Nothing here is shared
 * with the set algebra or the generator.
 *
 * Addresses: the first and last of every operand, one before and one after; for IPv6 also one up
 * and down in every 32-bit word, since the programs decide by words; what carries the IPv4
 * boundaries; and fixed ones.  Ports: the same of every port range, and the ends.  Addresses and
 * ports are crossed in full up to FULL_CROSS pairs.  Above it an address that some rule holds meets
 * the ports of the rules that hold it or a neighbour of it; one that no rule holds meets the first
 * port of each range of those rules, and one port that is granted.
 */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/vm.h"
#include "compiler/egress_addr.h"

enum {
	FULL_CROSS = 512,
	MANY_PORTS = 8,
	BRIEF_CARRIERS = 8,
	UDP_LITE = 136,
	MPTCP = 262,
};

static const char *const hook_name[] = {
#define X(symbol, section, prog_type, attach_type) section,
	CAVE_HOOKS(X)
#undef X
};

static const int proto_number[NET_PROTOS] = { IPPROTO_TCP, IPPROTO_UDP };

/* --- asking a program ----------------------------------------------------- */

static const char *describe(const struct prover *v, const struct question *q)
{
	const char *name = arena_printf(v->a, "protocol %d", q->protocol);

	if (q->protocol == IPPROTO_TCP || q->protocol == IPPROTO_UDP)
		name = q->protocol == IPPROTO_TCP ? "tcp" : "udp";
	return arena_printf(v->a, "%s %s port %u%s%s", name, addr_show(q->at.family, q->at.addr).s,
			    q->port, q->form ? ", " : "", q->form ? q->form : "");
}

static void disagree(struct prover *v, const struct question *q, bool want)
{
	struct diag *e;

	if (v->failed)
		return;
	v->failed = true;
	e = diag_error(v->d, CAVE_PROOF_FAILED, v->p->at,
		       "the program for %s %s what the policy %s: %s", hook_name[q->hook],
		       want ? "refuses" : "allows", want ? "allows" : "refuses", describe(v, q));
	diag_note(v->d, e, (struct span){ 0 },
		  "this is a fault of the compiler; nothing was written");
}

static bool run(struct prover *v, enum cave_hook hook, struct ebpf_input *in, uint64_t *result)
{
	const struct hook_program *h = &v->hook[hook];

	if (ebpf_run(h->insn, h->n, in, result, NULL) && *result <= 1)
		return true;
	if (!v->failed)
		diag_error(v->d, CAVE_PROOF_FAILED, v->p->at,
			   "the program for %s does what the kernel would not load",
			   hook_name[hook]);
	v->failed = true;
	return false;
}

void put_words(uint32_t word[4], struct net_addr a)
{
	word[0] = htonl((uint32_t)(a.hi >> 32));
	word[1] = htonl((uint32_t)a.hi);
	word[2] = htonl((uint32_t)(a.lo >> 32));
	word[3] = htonl((uint32_t)a.lo);
}

static void put_sock_addr(struct bpf_sock_addr *ctx, int protocol, struct point at, uint16_t port)
{
	memset(ctx, 0, sizeof *ctx);
	ctx->user_family = ctx->family = at.family == NET_V4 ? AF_INET : AF_INET6;
	ctx->user_port = htons(port);
	ctx->protocol = (uint32_t)protocol;
	ctx->type = protocol == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
	if (at.family == NET_V4)
		ctx->user_ip4 = htonl((uint32_t)at.addr.lo);
	else
		put_words(ctx->user_ip6, at.addr);
}

/*
 * An address given to connect, sendmsg or bind.  `want_at` is what the context must hold
 * afterwards, where the call goes on.
 */
void ask_sock_addr(struct prover *v, const struct question *q, bool want, struct point want_at)
{
	struct bpf_sock_addr ctx, after;
	struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx };
	uint64_t result;

	put_sock_addr(&ctx, q->protocol, q->at, q->port);
	if (!run(v, q->hook, &in, &result))
		return;
	put_sock_addr(&after, q->protocol, want_at, q->port);
	if ((result == 1) != want || (want && memcmp(&ctx, &after, sizeof ctx)))
		disagree(v, q, want);
}

struct wire make_packet(enum net_family family, int protocol, struct net_addr source,
			uint16_t source_port)
{
	struct wire w = { .size = family == NET_V4 ? 20 : 40 };
	uint32_t word[4];

	put_words(word, source);
	if (family == NET_V4) {
		w.byte[0] = 0x45;
		w.byte[6] = 0x40; /* don't fragment */
		w.byte[8] = 64;
		w.byte[9] = (uint8_t)protocol;
		memcpy(w.byte + 12, word + 3, 4);
	} else {
		w.byte[0] = 0x60;
		w.byte[6] = (uint8_t)protocol;
		memcpy(w.byte + 8, word, 16);
	}
	w.byte[w.size] = (uint8_t)(source_port >> 8);
	w.byte[w.size + 1] = (uint8_t)source_port;
	if (protocol == IPPROTO_TCP)
		w.byte[w.size + 13] = ACK;
	w.size += protocol == IPPROTO_TCP ? 20 : 8;
	return w;
}

void ask_packet(struct prover *v, const struct question *q, struct __sk_buff *ctx,
		const struct wire *w, bool want)
{
	struct ebpf_input in = { ctx, sizeof *ctx, w->byte, w->size };
	uint64_t result;

	if (run(v, q->hook, &in, &result) && (result == 1) != want)
		disagree(v, q, want);
}

/* The socket side of an outgoing packet; `peer` may be mapped, then the socket is of IPv6. */
void put_peer(struct __sk_buff *ctx, struct point peer, uint16_t port)
{
	ctx->family = peer.family == NET_V4 ? AF_INET : AF_INET6;
	ctx->remote_ip4 = peer.family == NET_V4 ? htonl((uint32_t)peer.addr.lo) : 0;
	put_words(ctx->remote_ip6, peer.family == NET_V4 ? (struct net_addr){ 0, 0 } : peer.addr);
	ctx->remote_port = (uint32_t)htons(port)
			   << 16; /* bpf_convert_ctx_access, net/core/filter.c */
}

void put_destination(struct wire *w, struct net_addr to, uint16_t port)
{
	bool six = w->byte[0] >> 4 == 6;
	size_t header = six ? 40 : 20;
	uint32_t word[4];

	put_words(word, to);
	memcpy(w->byte + (six ? 24 : 16), six ? word : word + 3, six ? 16 : 4);
	w->byte[header + 2] = (uint8_t)(port >> 8);
	w->byte[header + 3] = (uint8_t)port;
}

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

	ask_datagram(v, &d, port ? want : v->granted[NET_UDP]);
}

static void ask_ingress(struct prover *v, struct point from, uint16_t port, bool want)
{
	const struct question q = { CAVE_HOOK_INGRESS, IPPROTO_UDP, from, port, "as a sender" };
	struct wire w = make_packet(from.family, IPPROTO_UDP, from.addr, port);
	struct __sk_buff ctx = { .family = AF_INET6 };

	ask_packet(v, &q, &ctx, &w, want);
}

/* --- destinations --------------------------------------------------------- */

struct point mapped(struct point v4)
{
	return (struct point){ .family = NET_V6,
			       .addr = { 0, (uint64_t)0xffff << 32 | v4.addr.lo } };
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
	struct question q = { .protocol = proto_number[proto], .at = at, .port = port };
	struct point to = destination(at);

	if (at.family == NET_V4)
		q.hook = datagram ? CAVE_HOOK_SENDMSG4 : CAVE_HOOK_CONNECT4;
	else
		q.hook = datagram ? CAVE_HOOK_SENDMSG6 : CAVE_HOOK_CONNECT6;
	/* All zeroes is a datagram without an address, to a peer that connect has judged. */
	if (datagram && !port && !at.addr.hi && !at.addr.lo) {
		want = v->granted[NET_UDP];
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

static bool is_reached(const struct port_map *open)
{
	for (size_t i = 0; i < sizeof open->open[NET_UDP] / sizeof *open->open[NET_UDP]; i++)
		if (open->open[NET_UDP][i])
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
	const bool some = s->known && (!port || reference_allows(v->some, NET_UDP, port));
	struct datagram d = { .to = at, .port = port, .form = "as a packet's destination" };

	d.source = beside(at.addr);
	d.peer.family = NET_V4;
	ask_datagram(v, &d, some && reached ? want : v->granted[NET_UDP]);
	d.peer = v->elsewhere;
	d.peer_port = port ? port : 443;
	ask_datagram(v, &d, some && reached && want);
	d.form = "as a packet's source and destination";
	d.source = at.addr;
	ask_datagram(v, &d, some && want);
	d.peer = s->to;
	d.peer_port = s->port;
	if (s->known)
		ask_datagram(v, &d, some ? want : true);
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

/* --- which addresses and ports -------------------------------------------- */

static void add_point(struct prover *v, struct points *to, enum net_family family,
		      struct net_addr a, uint16_t port)
{
	struct point at = reference_normal((struct point){ .family = family, .addr = a });

	at.port = port;
	*ARENA_PUSH(v->a, to->item, to->n, to->cap) = at;
}

/*
 * One up and one down in each word, the others as they are, with a port that `a` may be granted
 * with.
 */
static void add_words(struct prover *v, struct points *to, struct net_addr a, uint16_t port)
{
	for (int word = 0; word < 4; word++) {
		uint64_t one = word % 2 ? 1 : (uint64_t)1 << 32;
		struct net_addr up = a, down = a;

		if (word < 2) {
			up.hi += one;
			down.hi -= one;
		} else {
			up.lo += one;
			down.lo -= one;
		}
		add_point(v, to, NET_V6, up, port);
		add_point(v, to, NET_V6, down, port);
	}
}

/*
 * Everything that carries an IPv4 boundary.  Where no rule allows IPv6, all of these are refused by
 * the same few instructions: what carries the first addresses of some operands says as much.
 */
static void add_carriers(struct prover *v, struct points *to, uint64_t v4, uint16_t port)
{
	const struct net_addr form[] = {
		{ 0, v4 },
		{ 0x0064ff9b00000000, v4 },
		{ 0x2002000000000000 | v4 << 16, 0 },
		{ 0x2002000000000000 | v4 << 16 | 0xffff, UINT64_MAX },
		{ 0x2001000000000000 | v4, 0 },
		{ 0x2001000000000000 | v4, UINT64_MAX },
		{ 0x2001000000000000, UINT32_MAX - v4 },
	};

	for (size_t i = 0; i < sizeof form / sizeof *form; i++)
		add_point(v, to, NET_V6, form[i], port);
	for (size_t i = 0; i < v->nteredo; i++)
		add_point(v, to, NET_V6,
			  (struct net_addr){ v->teredo[i].hi, (v->teredo[i].lo | UINT32_MAX) - v4 },
			  port);
}

/*
 * The /96 blocks of Teredo that operands begin and end in: a client's place in them depends on its
 * address.
 */
static void find_teredo(struct prover *v)
{
	size_t cap = 0;

	for (size_t i = 0; i < v->p->nnet_rules; i++)
		for (size_t k = 0; k < v->p->net_rule[i].nto; k++) {
			const struct net_operand *o = &v->p->net_rule[i].to[k];
			const struct net_addr edge[] = { o->lo, o->hi };

			for (size_t e = 0; o->family == NET_V6 && e < 2; e++)
				if (edge[e].hi >> 32 == 0x20010000)
					*ARENA_PUSH(v->a, v->teredo, v->nteredo, cap) = edge[e];
		}
}

static bool allows_v6(const struct policy *p)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		for (size_t k = 0; k < p->net_rule[i].nto; k++)
			if (p->net_rule[i].allow && p->net_rule[i].to[k].family == NET_V6)
				return true;
	return false;
}

void add_operand(struct prover *v, struct points *to, const struct net_operand *o, uint16_t port,
		 bool brief)
{
	const struct net_addr edge[] = { o->lo, o->hi, addr_previous(o->lo), addr_next(o->hi) };

	for (size_t i = 0; i < 4; i++) {
		struct net_addr a = edge[i];

		if (o->family == NET_V4) {
			a = (struct net_addr){ 0, (uint32_t)a.lo };
			if (!brief || (i == 0 && v->brief_carriers++ < BRIEF_CARRIERS))
				add_carriers(v, to, a.lo, port);
		}
		add_point(v, to, o->family, a, port);
		if (o->family == NET_V6 && i < 2)
			add_words(v, to, a, port);
	}
}

/*
 * What could be mistaken for a mapped address, or for the unspecified one: the upper words differ
 * by little, or by a byte at the other end.
 */
void add_lookalikes(struct prover *v, struct points *to, uint64_t v4, uint16_t port)
{
	static const uint64_t upper[] = { 1, 0x01000000, 0xffffffff };
	static const uint64_t third[] = { 0,	   1,	       0x01000000, 0xffffffff, 0xfffe,
					  0x10000, 0x0100ffff, 0x1ffff,	   0xfffffeff, 0xffff0000 };

	for (size_t i = 0; i < sizeof upper / sizeof *upper; i++) {
		add_point(v, to, NET_V6, (struct net_addr){ upper[i], 0xffff00000000 | v4 }, port);
		add_point(v, to, NET_V6, (struct net_addr){ upper[i] << 32, 0xffff00000000 | v4 },
			  port);
		add_point(v, to, NET_V6, (struct net_addr){ upper[i], v4 }, port);
		add_point(v, to, NET_V6, (struct net_addr){ upper[i] << 32, v4 }, port);
	}
	for (size_t i = 0; i < sizeof third / sizeof *third; i++)
		add_point(v, to, NET_V6, (struct net_addr){ 0, third[i] << 32 | v4 }, port);
}

/* The first port of an allow that holds the address; 0 if there is none. */
static uint16_t port_towards(struct prover *v, enum net_family family, struct net_addr addr)
{
	reference_holding(&v->ref, (struct point){ .family = family, .addr = addr }, &v->near);
	for (size_t i = 0; i < v->near.n; i++)
		if (v->near.rule[i]->allow && v->near.rule[i]->nports)
			return v->near.rule[i]->port[0].lo;
	return 0;
}

/* One port that is as likely as any to be granted. */
static uint16_t some_port(const struct policy *p)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (p->net_rule[i].allow && p->net_rule[i].nports)
			return p->net_rule[i].port[0].lo;
	return 443;
}

/* Addresses that mean something to the kernel or to the programs, whatever the policy is. */
void add_fixed(struct prover *v, struct points *to)
{
	static const uint32_t v4[] = { 0,	   1,	       0x01000000, 0x7f000000,
				       0x7f000001, 0x7fffffff, 0x80000000, 0xa9fea9fe,
				       0x0a000001, 0xdfffffff, 0xe0000000, 0xe0000001,
				       0xefffffff, 0xf0000000, 0xfffffffe, 0xffffffff };
	static const struct net_addr v6[] = {
		{ 0, 0 },
		{ 0, 1 },
		{ 0, 2 },
		{ 0, 0x01000000 },
		{ 0, 0xfffeffffffff },
		{ 0, 0x1000000000000 },
		{ 0x0064ff9b00010000, 0 },
		{ 0x20010db800000000, 1 },
		{ 0xfd000ec200000000, 0x254 },
		{ 0xfe80000000000000, 1 },
		{ 0xff02000000000000, 1 },
		{ UINT64_MAX, UINT64_MAX },
	};
	uint16_t port = some_port(v->p);

	for (size_t i = 0; i < sizeof v4 / sizeof *v4; i++)
		add_point(v, to, NET_V4, (struct net_addr){ 0, v4[i] }, port);
	add_carriers(v, to, 0x7f000001, port);
	add_carriers(v, to, 0xa9fea9fe, port);
	add_carriers(v, to, 0, port);
	for (size_t i = 0; i < sizeof v6 / sizeof *v6; i++)
		add_point(v, to, NET_V6, v6[i], port);
}

static void add_loopback_lookalikes(struct prover *v, struct points *to)
{
	const struct net_addr loopback4 = { 0, 0x7f000001 }, loopback6 = { 0, 1 };
	uint16_t port = port_towards(v, NET_V4, loopback4);

	if (!port)
		port = port_towards(v, NET_V6, loopback6);
	if (!port)
		port = some_port(v->p);
	add_lookalikes(v, to, 0, port);
	add_lookalikes(v, to, loopback4.lo, port);
}

/* The first IPv4 address that is allowed by a protocol: what granted ones could be mistaken for. */
static void add_first_lookalikes(struct prover *v, struct points *to, int proto)
{
	for (size_t i = 0; i < v->p->nnet_rules; i++) {
		const struct net_rule *r = &v->p->net_rule[i];

		for (size_t k = 0; r->allow && r->proto[proto] && r->nports && k < r->nto; k++)
			if (r->to[k].family == NET_V4) {
				add_lookalikes(v, to, r->to[k].lo.lo, r->port[0].lo);
				return;
			}
	}
}

int by_point(const void *x, const void *y)
{
	const struct point *a = x, *b = y;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (net_addr_cmp(a->addr, b->addr))
		return net_addr_cmp(a->addr, b->addr);
	return a->port - b->port;
}

static struct points list_points(struct prover *v)
{
	bool brief = !allows_v6(v->p);
	struct points all = { 0 };
	size_t kept = 0;

	add_fixed(v, &all);
	add_loopback_lookalikes(v, &all);
	for (int proto = 0; proto < NET_PROTOS; proto++)
		add_first_lookalikes(v, &all, proto);
	for (size_t i = 0; i < v->p->nnet_rules; i++) {
		const struct net_rule *r = &v->p->net_rule[i];
		uint16_t port = r->nports ? r->port[0].lo : some_port(v->p);

		for (size_t k = 0; k < r->nto; k++)
			add_operand(v, &all, &r->to[k], port, brief);
		for (size_t k = 0; k < r->nexcept; k++)
			add_operand(v, &all, &r->except[k], port, brief);
	}
	qsort(all.item, all.n, sizeof *all.item, by_point);
	for (size_t i = 1; i < all.n; i++)
		if (by_point(&all.item[i], &all.item[kept]))
			all.item[++kept] = all.item[i];
	all.n = kept + 1;
	return all;
}

static void add_port(struct prover *v, struct ports *to, unsigned port)
{
	*ARENA_PUSH(v->a, to->item, to->n, to->cap) = (uint16_t)port;
}

static int by_port(const void *x, const void *y)
{
	return *(const uint16_t *)x - *(const uint16_t *)y;
}

void add_rule_ports(struct prover *v, struct ports *to, const struct net_rule *r)
{
	for (size_t i = 0; i < r->nports; i++) {
		/* These wrap round at the ends, to the other end. */
		add_port(v, to, r->port[i].lo - 1u);
		add_port(v, to, r->port[i].lo);
		add_port(v, to, r->port[i].hi);
		add_port(v, to, r->port[i].hi + 1u);
	}
}

void finish_ports(struct ports *ports)
{
	size_t kept = 0;

	if (!ports->n)
		return;
	qsort(ports->item, ports->n, sizeof *ports->item, by_port);
	for (size_t i = 1; i < ports->n; i++)
		if (ports->item[i] != ports->item[kept])
			ports->item[++kept] = ports->item[i];
	ports->n = kept + 1;
}

/* The ports of the rules near an address; with `firsts`, only the first of every range. */
static void near_ports(struct prover *v, struct ports *ports, struct point at, bool firsts)
{
	ports->n = 0;
	reference_touching(&v->ref, at, &v->near);
	for (size_t i = 0; i < v->near.n; i++) {
		const struct net_rule *r = v->near.rule[i];

		for (size_t k = 0; k < r->nports && firsts; k++)
			add_port(v, ports, r->port[k].lo);
		if (!firsts)
			add_rule_ports(v, ports, r);
	}
	finish_ports(ports);
}

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
	ports = ports_for(v, point, n, v->holding.n, all);
	for (size_t i = 0; i < ports->n && !v->failed; i++)
		ask_destination(v, v->open, raw, *point, ports->item[i]);
}

/* Notes what is open by UDP at an IPv4 address. */
static void note_ports(struct prover *v, struct point at)
{
	if (!is_reached(v->open))
		v->elsewhere = at;
	for (size_t i = 0; i < sizeof v->some->open[NET_UDP] / sizeof *v->some->open[NET_UDP]; i++)
		v->some->open[NET_UDP][i] |= v->open->open[NET_UDP][i];
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
		if (!v->holding.n)
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

static void prove_destinations(struct prover *v)
{
	struct points points;
	struct ports ports = { 0 };
	bool full;

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

/* --- everything but the destination --------------------------------------- */

/* No protocol, those next to TCP and UDP, and those that a socket can have. */
static const int other_protocol[] = { 0,
				      IPPROTO_ICMP,
				      IPPROTO_IGMP,
				      IPPROTO_TCP - 1,
				      IPPROTO_TCP + 1,
				      IPPROTO_UDP - 1,
				      IPPROTO_UDP + 1,
				      IPPROTO_DCCP,
				      IPPROTO_ICMPV6,
				      IPPROTO_SCTP,
				      UDP_LITE,
				      IPPROTO_RAW,
				      MPTCP };
enum { OTHER_PROTOCOLS = sizeof other_protocol / sizeof *other_protocol };

static void ask_protocols(struct prover *v, struct point at, uint16_t port)
{
	struct question q = { .at = at, .port = port };

	for (int i = 0; i < OTHER_PROTOCOLS; i++) {
		q.protocol = other_protocol[i];
		q.hook = at.family == NET_V4 ? CAVE_HOOK_CONNECT4 : CAVE_HOOK_CONNECT6;
		ask_sock_addr(v, &q, false, at);
		q.hook = at.family == NET_V4 ? CAVE_HOOK_SENDMSG4 : CAVE_HOOK_SENDMSG6;
		ask_sock_addr(v, &q, false, at);
	}
	/* TCP sends nothing by sendmsg. */
	q.protocol = IPPROTO_TCP;
	ask_sock_addr(v, &q, false, at);
}

/* The first ports of the ranges that are allowed, each once, up to MANY_PORTS. */
static void list_first_ports(struct prover *v)
{
	v->ports.n = 0;
	for (size_t i = 0; i < v->p->nnet_rules; i++) {
		const struct net_rule *r = &v->p->net_rule[i];

		for (size_t k = 0; r->allow && k < r->nports && v->ports.n < MANY_PORTS; k++) {
			size_t at = 0;

			while (at < v->ports.n && v->ports.item[at] != r->port[k].lo)
				at++;
			if (at == v->ports.n)
				add_port(v, &v->ports, r->port[k].lo);
		}
	}
}

/*
 * A granted destination, if there is one, by other protocols: with ports that any address is
 * granted with.
 */
static void prove_protocols(struct prover *v)
{
	list_first_ports(v);
	for (int family = 0; family < NET_FAMILIES; family++)
		for (int proto = 0; proto < NET_PROTOS; proto++) {
			const struct sample *s = &v->sample[proto][family];
			struct point at = { .family = family, .addr = { 0, 0x0a000001 } };

			if (s->known)
				at = s->to;
			for (size_t i = 0; i < v->ports.n; i++) {
				ask_protocols(v, at, v->ports.item[i]);
				if (family == NET_V4)
					ask_protocols(v, mapped(at), v->ports.item[i]);
			}
		}
}

/* Datagrams without an address, and what could be mistaken for them. */
static void prove_unaddressed(struct prover *v)
{
	struct points at = { 0 };

	add_point(v, &at, NET_V4, (struct net_addr){ 0, 0 }, 0);
	add_point(v, &at, NET_V4, (struct net_addr){ 0, 1 }, 0);
	add_point(v, &at, NET_V4, (struct net_addr){ 0, 0x01000000 }, 0);
	add_point(v, &at, NET_V4, (struct net_addr){ 0, UINT32_MAX }, 0);
	add_point(v, &at, NET_V6, (struct net_addr){ 0, 0 }, 0);
	for (int word = 0; word < 4; word++)
		for (int bit = 0; bit < 32; bit += 8) {
			uint64_t one = (uint64_t)1 << (word % 2 ? bit : bit + 32);

			add_point(v, &at, NET_V6,
				  word < 2 ? (struct net_addr){ one, 0 }
					   : (struct net_addr){ 0, one },
				  0);
		}
	for (size_t i = 0; i < at.n; i++) {
		struct question q = { .at = at.item[i],
				      .form = "as a datagram without an address" };
		bool none = !q.at.addr.hi && !q.at.addr.lo;

		q.hook = q.at.family == NET_V4 ? CAVE_HOOK_SENDMSG4 : CAVE_HOOK_SENDMSG6;
		for (int k = 0; k < OTHER_PROTOCOLS; k++) {
			q.protocol = other_protocol[k];
			ask_sock_addr(v, &q, false, q.at);
		}
		q.protocol = IPPROTO_TCP;
		ask_sock_addr(v, &q, false, q.at);
		q.protocol = IPPROTO_UDP;
		ask_sock_addr(v, &q, none && v->granted[NET_UDP], q.at);
	}
}

/* Unicast and unspecified addresses, with port 0; what is listened at. */
bool may_bind(const struct prover *v, int protocol, struct point at, uint16_t port)
{
	struct point n = reference_normal(at);

	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return false;
	if (port)
		return reference_listens(v->p, protocol == IPPROTO_TCP ? NET_TCP : NET_UDP, n, port);
	if (!v->used[protocol == IPPROTO_TCP ? NET_TCP : NET_UDP])
		return false;
	return n.family == NET_V4 ? n.addr.lo < 0xe0000000 : n.addr.hi >> 56 != 0xff;
}

static void prove_bind(struct prover *v)
{
	static const int protocol[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_TCP + 1,
					IPPROTO_UDP + 1 };
	static const uint16_t port[] = { 0, 0x101 };
	static const uint32_t v4[] = { 0,	   1,	       0x7f000001, 0x0a000001, 0xdfffffff,
				       0xe0000000, 0xe0000001, 0xefffffff, 0xf0000000, 0xffffffff };
	static const struct net_addr v6[] = { { 0, 0 },
					      { 0, 1 },
					      { 0x20010db800000000, 1 },
					      { 0xfeffffffffffffff, 1 },
					      { 0xff00000000000000, 0 },
					      { 0xff02000000000000, 1 },
					      { UINT64_MAX, UINT64_MAX },
					      { 0, 0xfffee0000001 },
					      { 0, 0x1ffffe0000001 },
					      { 1, 0xffffe0000001 },
					      { 0x100000000, 0xffffe0000001 } };
	struct points at = { 0 };

	for (size_t i = 0; i < sizeof v4 / sizeof *v4; i++)
		add_point(v, &at, NET_V4, (struct net_addr){ 0, v4[i] }, 0);
	for (size_t i = 0; i < sizeof v6 / sizeof *v6; i++)
		add_point(v, &at, NET_V6, v6[i], 0);
	add_lookalikes(v, &at, 0xe0000001, 0);
	for (size_t i = 0; i < at.n; i++)
		for (size_t k = 0; k < sizeof protocol / sizeof *protocol; k++)
			for (size_t j = 0; j < sizeof port / sizeof *port; j++) {
				struct question q = { CAVE_HOOK_BIND4, protocol[k], at.item[i],
						      port[j], "as a local address" };
				bool want = may_bind(v, q.protocol, q.at, q.port);

				if (q.at.family == NET_V4) {
					ask_sock_addr(v, &q, want, q.at);
					q.at = mapped(q.at);
				}
				q.hook = CAVE_HOOK_BIND6;
				ask_sock_addr(v, &q, want, q.at);
			}
}

static void prove_sockets(struct prover *v)
{
	for (uint32_t family = 0; family < 12; family++)
		for (uint32_t type = 0; type <= SOCK_RAW; type++)
			for (uint32_t protocol = 4; protocol < 19; protocol++) {
				struct bpf_sock ctx = { .family = family,
							.type = type,
							.protocol = protocol };
				struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx };
				struct question q = { .hook = CAVE_HOOK_SOCK_CREATE,
						      .protocol = (int)protocol,
						      .form = "as a new socket" };
				bool inet = family == AF_INET || family == AF_INET6;
				bool tcp = type == SOCK_STREAM && protocol == IPPROTO_TCP;
				bool udp = type == SOCK_DGRAM && protocol == IPPROTO_UDP;
				bool want = inet && ((tcp && v->used[NET_TCP]) ||
						     (udp && v->used[NET_UDP]));
				uint64_t result;

				if (run(v, q.hook, &in, &result) && (result == 1) != want)
					disagree(v, &q, want);
			}
}

/* --- packets -------------------------------------------------------------- */

static void ask_both(struct prover *v, struct packet *p, const char *form, bool good)
{
	p->q.form = form;
	p->q.hook = CAVE_HOOK_EGRESS;
	ask_packet(v, &p->q, &p->ctx, &p->w, good && p->leave);
	p->q.hook = CAVE_HOOK_INGRESS;
	ask_packet(v, &p->q, &p->ctx, &p->w, good && p->arrive);
}

/* Cut at every length: refused as soon as a byte that decides is missing. */
static void prove_truncated(struct prover *v, struct packet p)
{
	size_t header = p.family == NET_V4 ? 20 : 40;
	size_t needed = header + (p.q.protocol == IPPROTO_TCP ? 14 : 2);
	bool leave = p.leave, arrive = p.arrive;

	for (size_t size = p.w.size; size-- > 0;) {
		p.w.size = size;
		p.leave = leave && size >= header + 4;
		p.arrive = arrive && size >= needed;
		ask_both(v, &p, "cut short", size >= 24);
	}
}

/* Other protocols, and every extension header, in place of the one that is granted. */
static void prove_next_headers(struct prover *v, struct packet p)
{
	static const uint8_t header[] = { 0,  1,  2,  4,   5,	7,   16,  18,  33,
					  41, 43, 44, 46,  47,	50,  51,  58,  59,
					  60, 89, 94, 132, 135, 136, 139, 140, 255 };
	uint8_t *next = &p.w.byte[p.family == NET_V4 ? 9 : 6];

	for (size_t i = 0; i < sizeof header; i++) {
		*next = header[i];
		ask_both(v, &p, "as another protocol or behind an extension header", false);
	}
}

/* Other versions and header lengths, so IPv4 options. */
static void prove_first_bytes(struct prover *v, struct packet p)
{
	bool six = p.family == NET_V6;

	for (int low = 0; low < 16; low++) {
		p.w.byte[0] = (uint8_t)(0x40 | low);
		if (!six || low != 5)
			ask_both(v, &p, "with another header length", !six && low == 5);
		p.w.byte[0] = (uint8_t)(0x60 | low);
		if (six)
			ask_both(v, &p, "with another traffic class", true);
		p.w.byte[0] = (uint8_t)(low << 4 | 5);
		if (low != 4 && low != 6)
			ask_both(v, &p, "with another version", false);
	}
}

static void prove_fragments(struct prover *v, struct packet p)
{
	for (int bit = 0; bit < 14; bit++) {
		p.w.byte[6] = (uint8_t)(1 << bit >> 8);
		p.w.byte[7] = (uint8_t)(1 << bit);
		ask_both(v, &p, "as a fragment", false);
	}
	/* The reserved bit and don't-fragment say nothing of that. */
	p.w.byte[6] = 0xc0;
	p.w.byte[7] = 0;
	ask_both(v, &p, "with other flags", true);
}

static void prove_tcp_flags(struct prover *v, struct packet p)
{
	uint8_t *flags = &p.w.byte[(p.family == NET_V4 ? 20 : 40) + 13];
	bool arrive = p.arrive, listens = reference_listens(v->p, NET_TCP, p.q.at, p.q.port);

	/* What lies above ACK says nothing about a new connection. */
	for (int value = 0; value < 64; value++) {
		*flags = (uint8_t)(value < 32 ? value : value << 3 | 2);
		p.arrive = arrive && (listens || (*flags & (SYN | ACK)) != SYN);
		ask_both(v, &p, "with other TCP flags", true);
	}
}

static void prove_socket_families(struct prover *v, struct packet p)
{
	if (p.family == NET_V4)
		put_words(p.ctx.remote_ip6, mapped(p.q.at).addr);
	p.q.hook = CAVE_HOOK_EGRESS;
	p.q.form = "from a socket of another family";
	for (uint32_t family = 0; family < 20; family++) {
		p.ctx.family = family;
		if (family != AF_INET && family != AF_INET6)
			ask_packet(v, &p.q, &p.ctx, &p.w, false);
	}
}

/* Whatever the packet and its socket are otherwise: no mapped address stands in IPv6. */
static void prove_mapped(struct prover *v, struct packet p)
{
	struct points at = { 0 };

	add_lookalikes(v, &at, 0x0a000001, 0);
	add_point(v, &at, NET_V4, (struct net_addr){ 0, 0x0a000001 }, 0);
	p.q.hook = CAVE_HOOK_EGRESS;
	for (size_t i = 0; i < at.n; i++) {
		bool six = at.item[i].family == NET_V6;
		struct net_addr a = six ? at.item[i].addr : mapped(at.item[i]).addr;
		struct packet to = p;
		uint32_t word[4];

		put_words(word, a);
		memcpy(to.w.byte + 8, word, sizeof word);
		to.q.form = six ? "from what is like a mapped address" : "from a mapped address";
		ask_packet(v, &to.q, &to.ctx, &to.w, p.leave && six);
		/* A datagram's destination is judged itself. */
		if (p.q.protocol != IPPROTO_TCP)
			continue;
		to = p;
		put_destination(&to.w, a, p.q.port);
		to.q.form = six ? "to what is like a mapped address" : "to a mapped address";
		ask_packet(v, &to.q, &to.ctx, &to.w, p.leave && six);
	}
}

/* From a granted sender, to a granted peer. */
static struct packet sample_packet(const struct prover *v, int proto, enum net_family family)
{
	const struct point nobody = { .family = family,
				      .addr = { family == NET_V4 ? 0 : 0x20010db8ffff0000, 0xffff } };
	const struct sample *s = &v->sample[proto][family];
	struct packet p = { .family = family,
			    .leave = s->known,
			    .arrive = proto == NET_TCP ? v->used[proto] : s->known };

	p.q = (struct question){ .protocol = proto_number[proto],
				 .at = s->known ? s->to : nobody,
				 .port = s->known ? s->port : 443 };
	put_peer(&p.ctx, p.q.at, p.q.port);
	p.w = make_packet(family, p.q.protocol, p.q.at.addr, p.q.port);
	put_destination(&p.w, p.q.at.addr, p.q.port);
	return p;
}

void prove_packet(struct prover *v, struct packet p)
{
	ask_both(v, &p, NULL, true);
	prove_truncated(v, p);
	prove_next_headers(v, p);
	prove_first_bytes(v, p);
	if (p.family == NET_V4)
		prove_fragments(v, p);
	else
		prove_mapped(v, p);
	if (p.q.protocol == IPPROTO_TCP)
		prove_tcp_flags(v, p);
	prove_socket_families(v, p);
}

static void prove_packets(struct prover *v)
{
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++)
			prove_packet(v, sample_packet(v, proto, (enum net_family)family));
}

/* --- all ------------------------------------------------------------------ */

static bool check_programs(struct prover *v)
{
	for (int hook = 0; hook < CAVE_HOOK_COUNT; hook++) {
		size_t bad;

		if (ebpf_check(v->hook[hook].insn, v->hook[hook].n, &bad))
			continue;
		diag_error(
			v->d, CAVE_PROOF_FAILED, v->p->at,
			"instruction %zu of the program for %s is not one that the compiler emits",
			bad, hook_name[hook]);
		return false;
	}
	return true;
}

bool prove_programs(struct diags *d, const struct policy *p, const struct hook_program *hook)
{
	struct arena scratch = { 0 };
	struct prover v = { .d = d, .a = &scratch, .p = p, .hook = hook };

	reference_init(&v.ref, &scratch, p);
	v.near = reference_list(&scratch, p);
	v.holding = reference_list(&scratch, p);
	v.open = ARENA_ARRAY(&scratch, 1, struct port_map);
	v.none = ARENA_ARRAY(&scratch, 1, struct port_map);
	for (size_t i = 0; i < p->nlistens; i++)
		for (int proto = 0; proto < NET_PROTOS; proto++)
			v.used[proto] |= p->listen[i].proto[proto];
	v.some = ARENA_ARRAY(&scratch, 1, struct port_map);
	v.failed = !check_programs(&v);
	if (!v.failed)
		prove_destinations(&v);
	if (!v.failed)
		prove_protocols(&v);
	if (!v.failed)
		prove_unaddressed(&v);
	if (!v.failed)
		prove_bind(&v);
	if (!v.failed)
		prove_sockets(&v);
	if (!v.failed)
		prove_packets(&v);
	if (!v.failed)
		prove_local(&v);
	arena_free(&scratch);
	return !v.failed;
}
