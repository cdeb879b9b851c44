/* SPDX-License-Identifier: MIT */
#include "compiler/rules_section.h"

#include <string.h>

#include "cave/artefact.h"
#include "compiler/egress_addr.h"

struct section {
	const struct sources *sources;
	struct buffer rows, words, names;
	const char *last; /* the file whose name was written last */
	uint16_t nnames;
	size_t n, nports; /* rows and ranges of ports, those that were left out as well */
};
_Static_assert(CAVE_RULES_MAX <= UINT16_MAX, "each row may have a name of its own");

static uint16_t name_of(struct section *s, const char *file)
{
	if (!s->last || strcmp(s->last, file)) {
		s->last = file;
		s->nnames++;
		buffer_add(&s->names, file, strlen(file) + 1);
	}
	return (uint16_t)(s->nnames - 1);
}

static void put_address(struct section *s, bool six, struct net_addr a)
{
	const uint32_t word[4] = { (uint32_t)(a.hi >> 32), (uint32_t)a.hi, (uint32_t)(a.lo >> 32), (uint32_t)a.lo };

	buffer_add(&s->words, six ? word : word + 3, (six ? 4 : 1) * sizeof *word);
}

static void put_ports(struct section *s, const struct net_rule *r)
{
	uint32_t all = CAVE_RULE_PORTS(0, UINT16_MAX);

	for (size_t i = 0; i < r->nports; i++) {
		uint32_t range = CAVE_RULE_PORTS(r->port[i].lo, r->port[i].hi);

		buffer_add(&s->words, &range, sizeof range);
	}
	if (!r->nports)
		buffer_add(&s->words, &all, sizeof all);
}

/* 1 + the length of the prefix that the range is, or 0. */
static uint16_t prefix_of(bool six, struct net_addr lo, struct net_addr hi)
{
	for (unsigned length = 0; length <= (six ? 128 : 32); length++) {
		const struct addr_range r = addr_prefix(six ? NET_V6 : NET_V4, lo, length);

		if (!net_addr_cmp(r.lo, lo) && !net_addr_cmp(r.hi, hi))
			return (uint16_t)(length + 1);
	}
	return 0;
}

static void put_range(struct section *s, struct cave_rule row, const struct net_rule *r, bool six, struct net_addr lo,
		      struct net_addr hi)
{
	const size_t ports = r->nports ? r->nports : 1;

	s->n++;
	s->nports += ports;
	if (s->n > CAVE_RULES_MAX || s->nports > CAVE_RULES_MAX)
		return;
	row.of |= six ? CAVE_RULE_SIX : 0;
	row.ports = (uint16_t)ports;
	row.prefix = prefix_of(six, lo, hi);
	row.line = s->sources->line[r->line].number;
	row.file = name_of(s, s->sources->line[r->line].file);
	row.to = (uint32_t)(s->words.n / sizeof(uint32_t));
	buffer_add(&s->rows, &row, sizeof row);
	put_address(s, six, lo);
	if (!row.prefix)
		put_address(s, six, hi);
	put_ports(s, r);
}

/* A denial without a protocol, or without an address, is of all. */
static void put_rule(struct section *s, enum cave_rule_verb verb, const struct net_rule *r)
{
	struct cave_rule row = { .verb = verb };

	for (int proto = 0; proto < NET_PROTOS; proto++)
		if (r->proto[proto] || (!r->proto[NET_TCP] && !r->proto[NET_UDP]))
			row.of |= proto == NET_TCP ? CAVE_RULE_TCP : CAVE_RULE_UDP;
	for (size_t i = 0; i < r->nto; i++)
		put_range(s, row, r, r->to[i].family == NET_V6, r->to[i].lo, r->to[i].hi);
	for (int six = 0; !r->nto && six < 2; six++)
		put_range(s, row, r, six, (struct net_addr){ 0, 0 }, (struct net_addr){ UINT64_MAX, UINT64_MAX });
}

void rules_write(const struct sources *sources, const struct policy *p, struct buffer *out)
{
	struct section s = { .sources = sources, .rows = { .arena = out->arena }, .words = { .arena = out->arena },
			     .names = { .arena = out->arena } };
	struct cave_rules head;

	for (size_t i = 0; i < p->nnet_rules; i++)
		put_rule(&s, p->net_rule[i].allow ? CAVE_RULE_ALLOW : CAVE_RULE_DENY, &p->net_rule[i]);
	for (size_t i = 0; i < p->nlistens; i++)
		put_rule(&s, CAVE_RULE_LISTEN, &p->listen[i]);
	head.rules = (uint32_t)(s.rows.n / sizeof(struct cave_rule));
	head.words = (uint32_t)(s.words.n / sizeof(uint32_t));
	buffer_add(out, &head, sizeof head);
	buffer_add(out, s.rows.data, s.rows.n);
	buffer_add(out, s.words.data, s.words.n);
	buffer_add(out, s.names.data, s.names.n);
}
