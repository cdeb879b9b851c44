/* SPDX-License-Identifier: MIT */
/*
 * The proof for all inputs: what packets are to be answered.  IPv4 and IPv6 have their fields in different places, so a
 * packet whose first byte says IPv6 is laid out as one, and any other as IPv4.
 */
#include <linux/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "compiler/egress_whole.h"

enum {
	HEADER4 = 20,
	HEADER6 = 40,
	FIRST_LOAD = 24, /* no packet of TCP or UDP is shorter */
	FLAGS_END = 14, /* of the TCP header, its flags included */
	VERSION4 = 0x45, /* with no options */
	FRAGMENTED = 0x3fff, /* more fragments, and the offset */
	LOOPBACK_DEVICE = 1,
};

/* --- IPv4 ----------------------------------------------------------------- */

static bool is_fragment(struct whole *w)
{
	/* The two highest bits, reserved and don't-fragment, say nothing. */
	for (walk_number high = 0; high < 4; high++)
		if (whole_is(w, WALK_FRAGMENT, high * (FRAGMENTED + 1)))
			return false;
	return true;
}

static bool is_plain4(struct whole *w)
{
	return whole_in(w, WALK_LENGTH, FIRST_LOAD, UINT16_MAX) && whole_is(w, WALK_VERSION, VERSION4) && !is_fragment(w);
}

/* The first range of ports that does not end before this one. */
static size_t first_some(const struct whole *w, walk_number port)
{
	size_t lo = 0, hi = w->nsome;

	while (lo < hi) {
		const size_t half = (lo + hi) / 2;

		if (w->some[half].hi < port)
			lo = half + 1;
		else
			hi = half;
	}
	return lo;
}

bool some_agrees(const struct whole *w, uint32_t lo, uint32_t hi, bool all)
{
	const size_t i = first_some(w, lo);

	if (all)
		return i < w->nsome && w->some[i].lo <= lo && hi <= w->some[i].hi;
	return i == w->nsome || hi < w->some[i].lo;
}

static bool is_some_port(struct whole *w)
{
	bool known;
	size_t i;

	if (whole_knows(w, JUDGED_SOME_PORT, WALK_PORT, &known))
		return known;
	if (w->torn)
		return false;
	i = first_some(w, w->part->lo[WALK_PORT]);
	return i < w->nsome && whole_in(w, WALK_PORT, w->some[i].lo, w->some[i].hi);
}

static bool is_stretch_reached(const struct whole *w, const struct stretch *s)
{
	const struct point at = { .family = NET_V4, .addr = { 0, (uint64_t)s->from } };

	return s->verdict->n[NET_UDP] || is_server(w->v, &at);
}

bool reached_agrees(const struct whole *w, const walk_number address[2], bool all)
{
	const struct sweep *s = &w->sweeps.peer[NET_V4];

	for (size_t i = sweep_find(s, address[0]); i < s->n && s->stretch[i].from <= address[1]; i++)
		if (is_stretch_reached(w, &s->stretch[i]) != all)
			return false;
	return true;
}

/* Whether UDP reaches the packet's destination by some port. */
static bool is_reached(struct whole *w)
{
	const struct sweep *s = &w->sweeps.peer[NET_V4];
	walk_number end;
	bool known;
	size_t i;

	if (whole_knows(w, JUDGED_SOME_ADDRESS, WALK_ADDRESS, &known))
		return known;
	i = sweep_find(s, w->part->lo[WALK_ADDRESS]);
	end = i + 1 < s->n ? s->stretch[i + 1].from - 1 : UINT32_MAX;
	return whole_in(w, WALK_ADDRESS, s->stretch[i].from, end) && is_stretch_reached(w, &s->stretch[i]);
}

/*
 * What the address of one peer and the port of another could have come together in: port 0 or some that is reached,
 * an address that is reached or the sender's own.
 */
static bool is_mixture(struct whole *w)
{
	return is_some_port(w) && (whole_equal(w, WALK_ADDRESS, WALK_SOURCE) || is_reached(w));
}

static struct expected spec_leaving_datagram4(struct whole *w)
{
	if (whole_is(w, WALK_FAMILY, AF_INET6) || is_mixture(w))
		return expect_judged(false, NET_UDP, NET_V4, WALK_ADDRESS, WALK_PORT);
	if (whole_is(w, WALK_PEER_PORT, 0))
		return expect_allowed();
	return expect_judged(false, NET_UDP, NET_V4, WALK_PEER4, WALK_PEER_PORT);
}

static struct expected spec_leaving4(struct whole *w)
{
	enum net_proto proto;

	if (!is_plain4(w) || !whole_protocol(w, &proto))
		return expect_refused();
	if (!whole_is(w, WALK_DEVICE, LOOPBACK_DEVICE) && whole_in(w, WALK_ADDRESS, 0x7f000000, 0x7fffffff))
		return expect_refused();
	if (!whole_is(w, WALK_FAMILY, AF_INET) && !whole_is(w, WALK_FAMILY, AF_INET6))
		return expect_refused();
	if (proto == NET_UDP)
		return spec_leaving_datagram4(w);
	if (whole_is(w, WALK_FAMILY, AF_INET))
		return expect_judged(false, NET_TCP, NET_V4, WALK_PEER4, WALK_PEER_PORT);
	if (!whole_in(w, WALK_PEER6, MAPPED, MAPPED_LAST))
		return expect_refused();
	return expect_judged(false, NET_TCP, NET_V4, WALK_PEER6, WALK_PEER_PORT);
}

/* --- IPv6 ----------------------------------------------------------------- */

/* No rule grants a mapped address as IPv6. */
static struct expected spec_leaving6(struct whole *w)
{
	enum net_proto proto;

	if (!whole_in(w, WALK_LENGTH, HEADER6 + 4, UINT16_MAX) || !whole_protocol(w, &proto) ||
	    !whole_is(w, WALK_FAMILY, AF_INET6))
		return expect_refused();
	if (!whole_is(w, WALK_DEVICE, LOOPBACK_DEVICE) && whole_is(w, WALK_ADDRESS, 1))
		return expect_refused();
	if (whole_in(w, WALK_SOURCE, MAPPED, MAPPED_LAST) || whole_in(w, WALK_ADDRESS, MAPPED, MAPPED_LAST))
		return expect_refused();
	if (proto == NET_UDP)
		return expect_judged(false, NET_UDP, NET_V6, WALK_ADDRESS, WALK_PORT);
	return expect_judged(false, NET_TCP, NET_V6, WALK_PEER6, WALK_PEER_PORT);
}

/* --- arriving ------------------------------------------------------------- */

/* Of a connection that was made; one that asks for a new one has SYN and no ACK. */
static struct expected spec_segment(struct whole *w, walk_number header)
{
	if (!whole_in(w, WALK_LENGTH, header + FLAGS_END, UINT16_MAX) || whole_is(w, WALK_FLAGS, 1))
		return expect_refused();
	return expect_allowed();
}

static struct expected spec_arriving4(struct whole *w)
{
	enum net_proto proto;

	if (!is_plain4(w) || !whole_protocol(w, &proto))
		return expect_refused();
	if (proto == NET_TCP)
		return spec_segment(w, HEADER4);
	return expect_judged(false, NET_UDP, NET_V4, WALK_SOURCE, WALK_SOURCE_PORT);
}

static struct expected spec_arriving6(struct whole *w)
{
	enum net_proto proto;

	if (!whole_in(w, WALK_LENGTH, FIRST_LOAD, UINT16_MAX) || !whole_protocol(w, &proto))
		return expect_refused();
	if (proto == NET_TCP)
		return spec_segment(w, HEADER6);
	if (!whole_in(w, WALK_LENGTH, HEADER6 + 2, UINT16_MAX))
		return expect_refused();
	return expect_judged(false, NET_UDP, NET_V6, WALK_SOURCE, WALK_SOURCE_PORT);
}

/* --- where things stand --------------------------------------------------- */

static void lay_packet(struct walk_byte *at, bool six)
{
	const size_t header = six ? HEADER6 : HEADER4;

	walk_lay_unknown(at, WIRE_MAX);
	walk_lay(at, WALK_VERSION, 1);
	if (six) {
		walk_lay(at + 6, WALK_PROTOCOL, 1);
		walk_lay(at + 8, WALK_SOURCE, 16);
		walk_lay(at + 24, WALK_ADDRESS, 16);
	} else {
		walk_lay(at + 6, WALK_FRAGMENT, 2);
		walk_lay(at + 9, WALK_PROTOCOL, 1);
		walk_lay(at + 12, WALK_SOURCE, 4);
		walk_lay(at + 16, WALK_ADDRESS, 4);
	}
	walk_lay(at + header, WALK_SOURCE_PORT, 2);
	walk_lay(at + header + 2, WALK_PORT, 2);
	walk_lay(at + header + FLAGS_END - 1, WALK_FLAGS, 1);
}

#define FIELD(name) (ctx + offsetof(struct __sk_buff, name))

static void lay_socket(struct walk_byte *ctx)
{
	walk_lay_unknown(ctx, sizeof(struct __sk_buff));
	walk_lay_host(FIELD(family), WALK_FAMILY, 4);
	walk_lay_host(FIELD(ifindex), WALK_DEVICE, 4);
	walk_lay(FIELD(remote_ip4), WALK_PEER4, 4);
	walk_lay(FIELD(remote_ip6), WALK_PEER6, 16);
	walk_lay_zero(FIELD(remote_port), 2);
	walk_lay(FIELD(remote_port) + 2, WALK_PEER_PORT, 2); /* bpf_convert_ctx_access, net/core/filter.c */
	walk_lay(FIELD(local_ip4), WALK_OWN4, 4);
	walk_lay(FIELD(local_ip6), WALK_OWN6, 16);
	walk_lay_host(FIELD(local_port), WALK_OWN_PORT, 2);
	walk_lay_zero(FIELD(local_port) + 2, 2);
}

/* What may be anything: all that the layouts speak of. */
static void free_inputs(struct walk *walk, bool six)
{
	static const struct {
		uint8_t variable, bits;
	} input[] = { { WALK_LENGTH, 16 }, { WALK_VERSION, 8 },	    { WALK_FRAGMENT, 16 }, { WALK_PROTOCOL, 8 },
		      { WALK_PORT, 16 },   { WALK_SOURCE_PORT, 16 }, { WALK_FLAGS, 2 },	   { WALK_FAMILY, 32 },
		      { WALK_DEVICE, 32 }, { WALK_PEER4, 32 },	    { WALK_PEER6, 128 },   { WALK_PEER_PORT, 16 },
		      { WALK_OWN4, 32 },   { WALK_OWN6, 128 },	    { WALK_OWN_PORT, 16 } };

	for (size_t i = 0; i < sizeof input / sizeof *input; i++)
		walk_free(walk, input[i].variable, input[i].bits);
	walk_free(walk, WALK_SOURCE, six ? 128 : 32);
	walk_free(walk, WALK_ADDRESS, six ? 128 : 32);
}

/* Packets whose first byte is in the range. */
static bool follow_versions(struct whole *w, enum cave_hook hook, bool six, unsigned lo, unsigned hi)
{
	struct walk_byte ctx[sizeof(struct __sk_buff)], packet[WIRE_MAX];
	const bool leaves = hook == CAVE_HOOK_EGRESS;
	struct walk walk;

	if (six)
		w->spec = leaves ? spec_leaving6 : spec_arriving6;
	else
		w->spec = leaves ? spec_leaving4 : spec_arriving4;
	walk_begin(&walk, w->v->a, &w->v->hook[hook]);
	free_inputs(&walk, six);
	walk.inputs.lo[WALK_VERSION] = lo;
	walk.inputs.hi[WALK_VERSION] = hi;
	lay_packet(packet, six);
	lay_socket(ctx);
	walk.ctx = ctx;
	walk.packet = packet;
	walk.ctx_size = sizeof(struct __sk_buff);
	walk.packet_size = WIRE_MAX;
	return whole_follow(w, &walk);
}

bool whole_packet(struct whole *w, enum cave_hook hook)
{
	w->form = hook == CAVE_HOOK_EGRESS ? "of a packet that leaves" : "of a packet that arrives";
	return follow_versions(w, hook, false, 0, 0x5f) && follow_versions(w, hook, true, 0x60, 0x6f) &&
	       follow_versions(w, hook, false, 0x70, 0xff);
}
