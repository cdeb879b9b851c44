/* SPDX-License-Identifier: MIT */
#include "compiler/canonical.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "bpf/limits.h"
#include "bpf/sort.h"
#include "cave/artefact.h"
#include "compiler/egress.h"
#include "compiler/hosts.h"
#include "compiler/paths.h"

enum { LINE_LENGTH = 90 };

static const char *const protos[NET_PROTOS] = { "tcp", "udp" };

static struct net_addr add_size(struct net_addr a, unsigned bits)
{
	struct net_addr size = bits >= 64 ? (struct net_addr){ 1ull << (bits - 64), 0 } :
					    (struct net_addr){ 0, 1ull << bits };
	struct net_addr sum = { a.hi + size.hi, a.lo + size.lo };

	sum.hi += sum.lo < a.lo;
	return sum;
}

static struct net_addr last_of(struct net_addr a, unsigned bits)
{
	if (bits >= 128)
		return (struct net_addr){ UINT64_MAX, UINT64_MAX };
	a = add_size(a, bits);
	a.hi -= a.lo == 0;
	a.lo -= 1;
	return a;
}

/* How many low bits of `a` are zero, at most `max`. */
static unsigned zero_bits(struct net_addr a, unsigned max)
{
	unsigned n = a.lo ? (unsigned)__builtin_ctzll(a.lo) : a.hi ? 64 + (unsigned)__builtin_ctzll(a.hi) : 128;

	return n < max ? n : max;
}

/* One of the four groups of half an IPv6 address. */
#define GROUP(half, i) ((unsigned)((half) >> 16 * (i)) & 0xffff)

static void put_v4(struct buffer *b, uint32_t a)
{
	char text[sizeof "255.255.255.255"], *end = text;

	for (unsigned shift = 32; shift; shift -= 8) {
		unsigned byte = a >> (shift - 8) & 0xff;

		if (byte >= 100)
			*end++ = (char)('0' + byte / 100);
		if (byte >= 10)
			*end++ = (char)('0' + byte / 10 % 10);
		*end++ = (char)('0' + byte % 10);
		*end++ = '.';
	}
	buffer_add(b, text, (size_t)(end - 1 - text));
}

/* In the shortest spelling, or in full where that is not taken for an address. */
static void put_v6(struct buffer *b, struct net_addr a)
{
	struct addr_text shown = addr_show(NET_V6, a);
	char text[INET6_ADDRSTRLEN];

	memcpy(text, shown.s, sizeof text);
	if (egress_reads_as_port(text))
		snprintf(text, sizeof text, "%x:%x:%x:%x:%x:%x:%x:%x", GROUP(a.hi, 3), GROUP(a.hi, 2),
			 GROUP(a.hi, 1), GROUP(a.hi, 0), GROUP(a.lo, 3), GROUP(a.lo, 2), GROUP(a.lo, 1),
			 GROUP(a.lo, 0));
	buffer_text(b, text);
}

static void put_prefix(struct buffer *b, enum net_family family, struct net_addr a, unsigned bits)
{
	if (family == NET_V4)
		put_v4(b, (uint32_t)a.lo);
	else
		put_v6(b, a);
	if (bits)
		buffer_printf(b, "/%u", (family == NET_V4 ? 32 : 128) - bits);
}

void canonical_next(struct canonical_list *l)
{
	if (!l->first && l->to->n - l->line > LINE_LENGTH) {
		l->line = l->to->n;
		buffer_text(l->to, ",\n            ");
	} else {
		buffer_text(l->to, l->first ? " " : ", ");
	}
	l->first = false;
}

static bool may_be_named(const struct canonical_list *l, enum net_family family, struct net_addr lo, struct net_addr hi)
{
	return l->any || egress_one_operand(family, lo, hi);
}

/* The largest prefix that begins at `at`, ends by `hi` and may be named; its last address. */
static unsigned largest_prefix(const struct canonical_list *l, enum net_family family, struct net_addr at,
			       struct net_addr hi, struct net_addr *last)
{
	unsigned bits = zero_bits(at, family == NET_V4 ? 32 : 128);

	while (*last = last_of(at, bits), net_addr_cmp(*last, hi) > 0 || !may_be_named(l, family, at, *last))
		bits--;
	return bits;
}

/* An interval as a prefix, or as a range; in several prefixes if it may not be named as one. */
void canonical_range(struct canonical_list *l, enum net_family family, struct net_addr lo, struct net_addr hi)
{
	struct net_addr at = lo, last;

	for (;; at = add_size(last, 0)) {
		unsigned bits = largest_prefix(l, family, at, hi, &last);

		canonical_next(l);
		if (net_addr_cmp(last, hi) < 0 && may_be_named(l, family, at, hi)) {
			put_prefix(l->to, family, at, 0);
			buffer_text(l->to, "-");
			put_prefix(l->to, family, hi, 0);
			return;
		}
		put_prefix(l->to, family, at, bits);
		if (net_addr_cmp(last, hi) >= 0)
			return;
	}
}

void canonical_ports(struct buffer *b, const struct net_portset *set)
{
	buffer_text(b, " port {");
	for (size_t i = 0; i < set->n; i++) {
		struct net_ports r = set->range[i];

		buffer_text(b, i ? ", " : " ");
		buffer_number(b, r.lo);
		if (r.lo != r.hi) {
			buffer_text(b, "-");
			buffer_number(b, r.hi);
		}
	}
	buffer_text(b, " }");
}

/* Every local address of the family has these ports: only a listen can reach the unspecified one. */
static bool is_everywhere(const struct net_cell *cell, uint32_t ports)
{
	return cell->n && !cell->interval[0].lo.hi && !cell->interval[0].lo.lo && cell->interval[0].ports == ports;
}

static void put_destination(struct canonical_list *l, enum net_family family, const struct net_interval *i,
			    bool everywhere)
{
	if (!everywhere) {
		canonical_range(l, family, i->lo, i->hi);
		return;
	}
	canonical_next(l);
	buffer_text(l->to, family == NET_V4 ? "0.0.0.0" : "::");
}

static int portset_order(const struct net_portset *a, const struct net_portset *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++) {
		if (a->range[i].lo != b->range[i].lo)
			return a->range[i].lo < b->range[i].lo ? -1 : 1;
		if (a->range[i].hi != b->range[i].hi)
			return a->range[i].hi < b->range[i].hi ? -1 : 1;
	}
	return a->n < b->n ? -1 : a->n > b->n;
}

static int by_portset(const void *a, const void *b, void *set)
{
	const struct net_portset *all = set;

	return portset_order(&all[*(const uint32_t *)a], &all[*(const uint32_t *)b]);
}

/* The place of each set of ports among all, in order. */
static uint32_t *rank_ports(struct arena *a, const struct net_set *set)
{
	uint32_t *order = ARENA_ARRAY(a, set->nportsets + 1, uint32_t);
	uint32_t *rank = ARENA_ARRAY(a, set->nportsets + 1, uint32_t);

	for (size_t i = 0; i < set->nportsets; i++)
		order[i] = (uint32_t)i;
	if (set->nportsets)
		qsort_r(order, set->nportsets, sizeof *order, by_portset, (void *)set->portset);
	for (size_t i = 0; i < set->nportsets; i++)
		rank[order[i]] = (uint32_t)i;
	return rank;
}

/* What one rule names, as part of all that a protocol reaches. */
struct part {
	uint32_t rank; /* of its ports */
	enum net_family family;
	bool everywhere; /* the interval stands for every local address */
	const struct net_interval *interval;
};

static int by_rule(const void *x, const void *y)
{
	const struct part *a = x, *b = y;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return net_addr_cmp(a->interval->lo, b->interval->lo);
}

/* One rule per set of ports: its addresses, IPv4 first. */
static void put_rules(struct buffer *b, const struct net_set *set, const char *verb, int proto,
		      const struct net_cell *cells, const uint32_t *rank)
{
	bool listen = cells == set->local[proto];
	struct part *part = NULL;
	size_t n = 0, cap = 0;

	for (int family = 0; family < NET_FAMILIES; family++) {
		const struct net_cell *cell = &cells[family];

		for (size_t i = 0; i < cell->n; i++) {
			const struct net_interval *at = &cell->interval[i];
			bool everywhere = listen && is_everywhere(cell, at->ports);

			if (!everywhere || !i)
				*ARENA_PUSH(b->arena, part, n, cap) =
					(struct part){ rank[at->ports], family, everywhere, at };
		}
	}
	if (n)
		sort(part, n, sizeof *part, by_rule);
	for (size_t i = 0; i < n;) {
		uint32_t ports = part[i].interval->ports;
		struct canonical_list l = { b, b->n, true, listen || cells == set->shut[proto] };

		buffer_printf(b, "        %s %s {", verb, protos[proto]);
		for (; i < n && part[i].interval->ports == ports; i++)
			put_destination(&l, part[i].family, part[i].interval, part[i].everywhere);
		buffer_text(b, " }");
		canonical_ports(b, &set->portset[ports]);
		buffer_text(b, "\n");
	}
}

static void put_network(struct buffer *b, const struct policy *p, const struct net_set *set)
{
	const uint32_t *rank = rank_ports(b->arena, set);

	buffer_printf(b, "    network {\n");
	if (p->resolver)
		buffer_printf(b, "        allow resolver\n");
	if (p->netlink_route)
		buffer_printf(b, "        allow netlink route\n");
	if (set->hosts)
		hosts_canonical(set->hosts, b);
	for (int proto = 0; proto < NET_PROTOS; proto++)
		put_rules(b, set, "allow", proto, set->cell[proto], rank);
	for (int proto = 0; proto < NET_PROTOS; proto++)
		put_rules(b, set, "deny", proto, set->shut[proto], rank);
	for (int proto = 0; proto < NET_PROTOS; proto++)
		put_rules(b, set, "listen", proto, set->local[proto], rank);
	buffer_printf(b, "    }\n");
}

static void put_env(struct buffer *b, const struct policy *p)
{
	if (!p->nenv)
		return;
	buffer_printf(b, "    env {\n");
	for (size_t i = 0; i < p->nenv; i++) {
		buffer_printf(b, "        %s %s", p->env[i].value ? "set" : "pass", p->env[i].name);
		if (p->env[i].value) {
			buffer_printf(b, " %s", value_spelling(b->arena, p->env[i].value));
		}
		buffer_printf(b, "\n");
	}
	buffer_printf(b, "    }\n");
}

/* One line per right: `write` includes `read`, and so does `execute`. */
static void put_file(struct buffer *b, const struct file_rule *f)
{
	static const struct {
		unsigned flag;
		const char *verb;
	} rights[] = { { CAVE_FILE_WRITE, "write" },
		       { CAVE_FILE_EXECUTE, "execute" },
		       { CAVE_FILE_READ, "read" },
		       { CAVE_FILE_DENY, "deny" } };

	if (f->flags & CAVE_FILE_SHM) {
		buffer_printf(b, "        shm\n");
		return;
	}
	for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
		if (!(f->flags & rights[i].flag) ||
		    (rights[i].flag == CAVE_FILE_READ && f->flags & (CAVE_FILE_WRITE | CAVE_FILE_EXECUTE)))
			continue;
		buffer_printf(b, "        %s%s %s%s\n", rights[i].verb, f->flags & CAVE_FILE_ONLY_WRITE ? " write" : "",
			      f->flags & CAVE_FILE_OPTIONAL ? "optional " : "",
			      path_spelling(b->arena, f->path, f->flags));
	}
}

static void put_files(struct buffer *b, const struct policy *p)
{
	buffer_printf(b, "    files {\n        base %s\n", p->base_files ? "system" : "none");
	for (size_t i = 0; i < p->nfiles; i++)
		put_file(b, &p->file[i]);
	buffer_printf(b, "    }\n");
}

/* What may be started stands among the files. */
static void put_children(struct buffer *b, const struct policy *p)
{
	if (p->children)
		buffer_printf(b, "    childProcess { max-processes %u }\n", p->max_processes);
	else
		buffer_printf(b, "    childProcess false\n");
}

/* Also those that no profile had to name: the text says all that holds. */
static void put_limits(struct buffer *b, const struct policy *p)
{
	char text[LIMIT_TEXT];

	buffer_printf(b, "    limits {\n");
	for (unsigned i = 0; i < CAVE_LIMITS; i++)
		if (p->limits.value[i] || limit_table[i].standard)
			buffer_printf(b, "        %s %s\n", limit_table[i].name,
				      limit_text(limit_table[i].kind, p->limits.value[i], text));
	buffer_printf(b, "    }\n");
}

void canonical_text(const struct policy *p, const struct net_set *set, struct buffer *out)
{
	buffer_printf(out, "profile %s {\n    sandbox required\n", p->name);
	if (set->nportsets || p->netlink_route || p->resolver || set->hosts)
		put_network(out, p, set);
	else
		buffer_printf(out, "    network false\n");
	put_children(out, p);
	for (size_t i = 0; i < p->ncredentials; i++)
		buffer_printf(out, "    credentialEnv %s\n", p->credential[i]);
	put_env(out, p);
	put_files(out, p);
	put_limits(out, p);
	canonical_syscalls(p, out);
	buffer_printf(out, "}\n");
}
