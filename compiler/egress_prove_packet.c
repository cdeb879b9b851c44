/* SPDX-License-Identifier: MIT */
/* The proof of the egress programs: packets with every kind of header. */
#include "compiler/egress_prover.h"

#include "cave/names.h"

#include <linux/in.h>
#include <string.h>
#include <sys/socket.h>

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
	size_t to_leave = header + (p.came_in ? 14 : 4);
	bool leave = p.leave, arrive = p.arrive;

	for (size_t size = p.w.size; size-- > 0;) {
		p.w.size = size;
		p.leave = leave && size >= to_leave;
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

/* Whether the packet's sender, taken for a peer, is denied. */
static bool sender_denied(struct prover *v, const struct packet *p)
{
	bool four = p->family == NET_V4;
	const uint8_t *raw = p->w.byte + (four ? 12 : 8);
	struct point from = { .family = p->family };

	for (size_t i = 0; i < (four ? 4 : 16); i++) {
		from.addr.hi = from.addr.hi << 8 | from.addr.lo >> 56;
		from.addr.lo = from.addr.lo << 8 | raw[i];
	}
	raw = p->w.byte + (four ? 20 : 40);
	return reference_denies(&v->ref, NET_TCP, from, (uint16_t)(raw[0] << 8 | raw[1]));
}

static void prove_tcp_flags(struct prover *v, struct packet p)
{
	uint8_t *flags = &p.w.byte[(p.family == NET_V4 ? 20 : 40) + 13];
	bool leave = p.leave, arrive = p.arrive;
	bool listens = reference_listens(&v->own, NET_TCP, p.q.at, p.q.port) && !sender_denied(v, &p);

	/* What lies above ACK says nothing about a new connection. */
	for (int value = 0; value < 64; value++) {
		*flags = (uint8_t)(value < 32 ? value : value << 3 | 2);
		p.arrive = arrive && (listens || (*flags & (SYN | ACK)) != SYN);
		p.leave = leave && (!p.came_in || (*flags & (SYN | ACK)) != SYN);
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
		/* What is left of one must not make a mapped one of the other. */
		for (size_t k = 0; k < 2; k++) {
			put_destination(&to.w, at.item[k].addr, p.q.port);
			memcpy(to.w.byte + 8, word, sizeof word);
			ask_packet(v, &to.q, &to.ctx, &to.w, p.leave && six);
		}
	}
}

/* A source that is told apart from a mapped address by one pair of bytes says nothing of the destination. */
static void prove_nearly_mapped(struct prover *v, struct packet p)
{
	const struct point ten = { .family = NET_V4, .addr = { 0, 0x0a000001 } };

	p.q.hook = CAVE_HOOK_EGRESS;
	for (size_t half = 0; half < 6; half++) {
		struct packet to = p;

		memset(to.w.byte + 8, 0, 16);
		to.w.byte[8 + 2 * half] = 1;
		to.q.form = "from what is like a mapped address";
		ask_packet(v, &to.q, &to.ctx, &to.w, p.leave);
		put_destination(&to.w, mapped(ten).addr, p.q.port);
		to.q.form = "to a mapped address";
		ask_packet(v, &to.q, &to.ctx, &to.w, false);
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

	p.q = (struct question){ .protocol = proto_number(proto),
				 .at = s->known ? s->to : nobody,
				 .port = s->known ? s->port : 443 };
	put_peer(&p.ctx, p.q.at, p.q.port);
	p.w = make_packet(family, p.q.protocol, p.q.at.addr, p.q.port);
	put_destination(&p.w, p.q.at.addr, p.q.port);
	return p;
}

static bool is_loopback(struct point at)
{
	return at.family == NET_V4 ? at.addr.lo >> 24 == 127 : !at.addr.hi && at.addr.lo == 1;
}

/* What loopback is, and what lies beside it. */
static const struct {
	enum net_family family;
	struct net_addr addr;
	bool loopback;
} around_loopback[] = {
	{ NET_V4, { 0, 0x7effffff }, false }, { NET_V4, { 0, 0x7f000000 }, true },
	{ NET_V4, { 0, 0x7f000001 }, true },  { NET_V4, { 0, 0x7fffffff }, true },
	{ NET_V4, { 0, 0x80000000 }, false }, { NET_V6, { 0, 1 }, true },
	{ NET_V6, { 0, 2 }, false },	      { NET_V6, { 0, 0x10001 }, false },
	{ NET_V6, { 0, 0x100000001 }, false }, { NET_V6, { 0, 0x1000000000001 }, false },
	{ NET_V6, { 1, 1 }, false },	      { NET_V6, { 0x10000, 1 }, false },
	{ NET_V6, { 0x100000000, 1 }, false }, { NET_V6, { 0x1000000000000, 1 }, false },
};

/*
 * By the loopback's device and by another: a loopback address is reached by no other.  Elsewhere a connection is judged
 * by its socket's peer, and a datagram by what else is asked of destinations.
 */
static void prove_device(struct prover *v, struct packet p)
{
	p.q.hook = CAVE_HOOK_EGRESS;
	p.q.form = "by another device";
	p.ctx.ifindex = CAVE_NAMES_DEVICE + 1;
	ask_packet(v, &p.q, &p.ctx, &p.w, p.leave && !is_loopback(p.q.at));
	for (size_t i = 0; i < sizeof around_loopback / sizeof *around_loopback; i++) {
		const bool tcp = p.q.protocol == IPPROTO_TCP, loopback = around_loopback[i].loopback;

		if (around_loopback[i].family != p.family)
			continue;
		put_destination(&p.w, around_loopback[i].addr, p.q.port);
		p.ctx.ifindex = CAVE_NAMES_DEVICE + 1;
		p.q.form = "to what is, or is beside, a loopback address, by another device";
		/* The resolver of granted names is a peer by the loopback device alone. */
		if ((tcp && !is_loopback(p.q.at)) || loopback)
			ask_packet(v, &p.q, &p.ctx, &p.w, p.leave && !loopback);
		p.ctx.ifindex = CAVE_NAMES_DEVICE;
		p.q.form = "to what is, or is beside, a loopback address, by its device";
		if (tcp)
			ask_packet(v, &p.q, &p.ctx, &p.w, p.leave);
	}
}

void prove_packet(struct prover *v, struct packet p)
{
	ask_both(v, &p, NULL, true);
	prove_device(v, p);
	prove_truncated(v, p);
	prove_next_headers(v, p);
	prove_first_bytes(v, p);
	if (p.family == NET_V4) {
		prove_fragments(v, p);
	} else {
		prove_mapped(v, p);
		prove_nearly_mapped(v, p);
	}
	if (p.q.protocol == IPPROTO_TCP)
		prove_tcp_flags(v, p);
	prove_socket_families(v, p);
}

void prove_packets(struct prover *v)
{
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++)
			prove_packet(v, sample_packet(v, proto, (enum net_family)family));
}
