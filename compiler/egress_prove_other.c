/* SPDX-License-Identifier: MIT */
/*
 * The proof of the egress programs: everything but the destination.  Other protocols, datagrams
 * without an address, bind, and new sockets.
 */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <sys/socket.h>

#include "bpf/vm.h"

enum {
	MANY_PORTS = 8,
	UDP_LITE = 136,
	MPTCP = 262,
};

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
void prove_protocols(struct prover *v)
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
void prove_unaddressed(struct prover *v)
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
		ask_sock_addr(v, &q, none && v->used[NET_UDP], q.at);
	}
}

/* Unicast and unspecified addresses, with port 0; what is listened at. */
bool may_bind(const struct prover *v, int protocol, struct point at, uint16_t port)
{
	struct point n = reference_normal(at);

	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return false;
	if (port)
		return reference_listens(&v->own, protocol == IPPROTO_TCP ? NET_TCP : NET_UDP, n, port);
	if (!v->used[protocol == IPPROTO_TCP ? NET_TCP : NET_UDP])
		return false;
	return n.family == NET_V4 ? n.addr.lo < 0xe0000000 : n.addr.hi >> 56 != 0xff;
}

void prove_bind(struct prover *v)
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

static void ask_socket(struct prover *v, uint32_t family, uint32_t type, uint32_t protocol)
{
	struct bpf_sock ctx = { .family = family, .type = type, .protocol = protocol };
	struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx };
	struct question q = { .hook = CAVE_HOOK_SOCK_CREATE, .protocol = (int)protocol, .form = "as a new socket" };
	bool inet = family == AF_INET || family == AF_INET6;
	bool tcp = type == SOCK_STREAM && protocol == IPPROTO_TCP;
	bool udp = type == SOCK_DGRAM && protocol == IPPROTO_UDP;
	bool want = inet && ((tcp && v->used[NET_TCP]) || (udp && v->used[NET_UDP]));
	uint64_t result;

	if (run_program(v, q.hook, &in, &result) && (result == 1) != want)
		disagree(v, &q, want);
}

/* Families and protocols that are granted, those beside them, and the ends. */
void prove_sockets(struct prover *v)
{
	static const uint32_t family[] = { 0, AF_UNIX, AF_INET, AF_INET + 1, AF_INET6 - 1, AF_INET6, AF_INET6 + 1, 45 };
	static const uint32_t protocol[] = { 0,
					     IPPROTO_TCP - 1,
					     IPPROTO_TCP,
					     IPPROTO_TCP + 1,
					     IPPROTO_UDP - 1,
					     IPPROTO_UDP,
					     IPPROTO_UDP + 1,
					     MPTCP };

	for (size_t f = 0; f < sizeof family / sizeof *family; f++)
		for (uint32_t type = 0; type <= SOCK_RAW; type++)
			for (size_t p = 0; p < sizeof protocol / sizeof *protocol; p++)
				ask_socket(v, family[f], type, protocol[p]);
}
