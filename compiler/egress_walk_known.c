/* SPDX-License-Identifier: MIT */
/*
 * The walk, where a judgement begins that has been shown already: what it is about is taken from the registers, and the
 * walk goes on from each of its exits, with what is known there.
 */
#include "compiler/egress_walker.h"

#include <linux/in.h>
#include <string.h>

/* The address that a judgement is about. */
static bool address_operand(const struct walker *k, const struct state *s, enum net_family family,
			    struct walk_operand *out)
{
	struct value word[4];
	const struct value *field = NULL;

	for (int i = 0; i < 4; i++) {
		word[i] = s->reg[family == NET_V4 ? BPF_REG_8 : BPF_REG_2 + i];
		walk_pin(k, &word[i]);
		if (word[i].kind == FIELD)
			field = &word[i];
		else if (word[i].kind != NUMBER || (uint64_t)word[i].add > UINT32_MAX)
			return false;
	}
	if (family == NET_V4) {
		*out = walk_operand_of(&word[0]);
		return !field || (is_plain(field) && !field->left && field->width == 32);
	}
	*out = (struct walk_operand){ .width = 128 };
	for (int i = 0; i < 4 && !field; i++)
		out->number = out->number << 32 | (uint64_t)word[i].add;
	if (field)
		out->variable = field->variable;
	for (unsigned i = 0; i < 4 && field; i++) {
		const unsigned shift = 96 - 32 * i;
		const walk_number lo = k->now.lo[out->variable] >> shift, hi = k->now.hi[out->variable] >> shift;

		if (word[i].kind == FIELD ? !is_plain(&word[i]) || word[i].variable != out->variable || word[i].left ||
						    word[i].shift != shift || word[i].width != 32
					  : lo != hi || (uint32_t)lo != (uint64_t)word[i].add)
			return false;
	}
	return true;
}

static bool port_operand(const struct walker *k, const struct state *s, struct walk_operand *out)
{
	struct value v = s->reg[BPF_REG_7];

	walk_pin(k, &v);
	*out = walk_operand_of(&v);
	if (v.kind == NUMBER)
		return (uint64_t)v.add <= UINT16_MAX;
	return is_plain(&v) && !v.left && !v.shift && v.width >= 16 && k->w->bits[v.variable] == 16;
}

/* What is known at an exit. */
static unsigned facts_at(const struct judgement *j, enum judged_exit exit, struct walk_fact fact[2])
{
	const bool port = exit == JUDGED_YES || exit == JUDGED_NO;

	for (int i = 0; i < 2; i++) {
		fact[i].what = j->what;
		fact[i].proto = j->proto;
		fact[i].family = j->family;
		fact[i].holds = exit == JUDGED_YES || exit == JUDGED_REACHED;
	}
	if (j->what != JUDGED_SOME_ADDRESS || !port)
		return 1;
	/* That the address is reached, and whether it is by this port. */
	fact[0].holds = true;
	fact[1].what = JUDGED_PEER;
	return 2;
}

/* What the judgement is about, in registers. */
static bool find_operands(const struct walker *k, const struct state *s, const struct judgement *j,
			  struct walk_fact *f)
{
	struct value address = s->reg[BPF_REG_1];

	if (!port_operand(k, s, &f->right))
		return false;
	if (j->what == JUDGED_PEER || j->what == JUDGED_OWN)
		return address_operand(k, s, j->family, &f->left);
	f->left = (struct walk_operand){ .width = 32 };
	if (j->what == JUDGED_SOME_PORT)
		return true;
	walk_pin(k, &address);
	f->left = walk_operand_of(&address);
	if (address.kind == NUMBER)
		return (uint64_t)address.add <= UINT32_MAX;
	return is_plain(&address) && !address.left && address.width == 32;
}

static bool pass_judgement(struct walker *k, struct state *s, const struct walk_known *known, enum walk_end *end)
{
	const struct judgement *j = known->judgement;
	struct walk_fact fact[2];

	memset(fact, 0, sizeof fact);
	if (s->memory->nfacts + 2 > MAX_FACTS || !find_operands(k, s, j, &fact[0]))
		return false;
	fact[1].left = fact[0].left;
	fact[1].right = fact[0].right;
	*end = WALK_DONE;
	for (int exit = 0; exit < JUDGED_EXITS && *end == WALK_DONE; exit++) {
		const unsigned n = facts_at(j, (enum judged_exit)exit, fact);

		if (known->exits >> exit & 1)
			*end = walk_with_facts(k, s, fact, n, known, j->exit[exit]);
	}
	return true;
}

bool walk_known_judgement(struct walker *k, struct state *s, size_t at, enum walk_end *end)
{
	struct value v = s->reg[BPF_REG_0];

	if (k->w->known[k->known[at] - 1u].judgement->what >= JUDGED_SOME_PORT)
		return pass_judgement(k, s, &k->w->known[k->known[at] - 1u], end);
	walk_pin(k, &v);
	for (size_t i = k->known[at] - 1u; i < k->w->nknown && k->w->known[i].judgement->at == at; i++) {
		const struct walk_known *known = &k->w->known[i];
		const unsigned number = known->judgement->proto == NET_TCP ? IPPROTO_TCP : IPPROTO_UDP;

		if (v.kind == NUMBER && (uint64_t)v.add == number)
			return pass_judgement(k, s, known, end);
		if (is_plain(&v) && !v.left && !v.shift && v.width == k->w->bits[v.variable] &&
		    k->now.lo[v.variable] <= number && number <= k->now.hi[v.variable]) {
			*end = walk_split(k, s, &v, number, at);
			return true;
		}
	}
	return false;
}
