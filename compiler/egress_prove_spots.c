/* SPDX-License-Identifier: MIT */
/* The proof of the egress programs: which addresses and ports they are asked about. */
#include "compiler/egress_prover.h"


#include "bpf/sort.h"
#include "compiler/egress_addr.h"

enum { BRIEF_CARRIERS = 8 };

void add_point(struct prover *v, struct points *to, enum net_family family,
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
void find_teredo(struct prover *v)
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

bool allows_v6(const struct policy *p)
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
		if (o->family == NET_V6 && i < 2 && !v->many)
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

struct points list_points(struct prover *v)
{
	bool brief = v->many || !allows_v6(v->p);
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
	sort(all.item, all.n, sizeof *all.item, by_point);
	for (size_t i = 1; i < all.n; i++)
		if (by_point(&all.item[i], &all.item[kept]))
			all.item[++kept] = all.item[i];
	all.n = kept + 1;
	return all;
}

void add_port(struct prover *v, struct ports *to, unsigned port)
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
	sort(ports->item, ports->n, sizeof *ports->item, by_port);
	for (size_t i = 1; i < ports->n; i++)
		if (ports->item[i] != ports->item[kept])
			ports->item[++kept] = ports->item[i];
	ports->n = kept + 1;
}

/* The ports of the rules near an address; with `firsts`, only the first of every range. */
void near_ports(struct prover *v, struct ports *ports, struct point at, bool firsts)
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
