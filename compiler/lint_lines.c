/* SPDX-License-Identifier: MIT */
/* Network lines that say what others say, or what others take away: told by the exact sets of single lines. */
#include <string.h>

#include "compiler/diff_set.h"
#include "compiler/egress.h"
#include "compiler/lint.h"

/* Lines that are compared with each other, and operands in all of them: beyond that it takes too long. */
enum { LINES_MAX = 200, OPERANDS_MAX = 4000 };

/* What one line allows, or would allow if it were an allow; known is false if that cannot be told. */
struct line_set {
	bool known;
	struct net_set set;
};

static struct line_set set_of(struct lint *l, const struct net_rule *rule, size_t n)
{
	struct line_set s = { .known = false };
	struct policy p = { .net_rule = rule, .nnet_rules = n, .bound = { UINT64_MAX, UINT64_MAX } };
	struct sources sources;
	struct diags none;

	sources_init(&sources, l->arena);
	diags_init(&none, &sources);
	s.known = egress_resolve(&none, l->arena, &p, &s.set);
	return s;
}

/* A denial as if it allowed: what it is about. */
static struct net_rule as_allow(const struct net_rule *r)
{
	static const struct net_ports every = { 1, UINT16_MAX };
	struct net_rule copy = *r;

	copy.allow = true;
	copy.line = 0;
	if (!copy.nports) {
		copy.port = &every;
		copy.nports = 1;
	}
	return copy;
}

static bool is_empty(const struct net_set *s)
{
	return net_set_empty(s);
}

static bool within(struct lint *l, const struct net_set *inner, const struct net_set *outer)
{
	struct net_set left;

	net_set_subtract(l->arena, inner, outer, &left);
	return is_empty(&left);
}

static bool comparable(const struct policy *p)
{
	size_t operands = 0;

	for (size_t i = 0; i < p->nnet_rules; i++)
		operands += p->net_rule[i].nto + p->net_rule[i].nexcept;
	return p->nnet_rules <= LINES_MAX && operands <= OPERANDS_MAX;
}

/* The first of two lines that say the same is the one that stays. */
static const struct net_rule *covering(struct lint *l, const struct line_set *set, size_t i)
{
	const struct policy *p = &l->compile->policy;

	for (size_t j = 0; j < p->nnet_rules; j++) {
		if (j == i || !p->net_rule[j].allow || !set[j].known || !within(l, &set[i].set, &set[j].set))
			continue;
		if (j < i || !within(l, &set[j].set, &set[i].set))
			return &p->net_rule[j];
	}
	return NULL;
}

static bool overlaps(struct lint *l, const struct net_set *a, const struct net_set *b)
{
	struct net_set left, again;

	/* What is left of a, taken from a, is what both have. */
	net_set_subtract(l->arena, a, b, &left);
	net_set_subtract(l->arena, a, &left, &again);
	return !is_empty(&again);
}

static const struct net_rule *denying(struct lint *l, const struct line_set *set, size_t i)
{
	const struct policy *p = &l->compile->policy;

	for (size_t j = 0; j < p->nnet_rules; j++)
		if (!p->net_rule[j].allow && set[j].known && overlaps(l, &set[i].set, &set[j].set))
			return &p->net_rule[j];
	return NULL;
}

/* The statement has names besides, about which other findings are. */
static bool has_names(const struct policy *p, struct span at)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (p->host_rule[i].at.begin == at.begin && p->host_rule[i].at.file == at.file)
			return true;
	return false;
}

static void add_idle(struct lint *l, unsigned id, const struct net_rule *r, const struct net_rule *other,
		     const char *text, const char *instead)
{
	bool mixed = has_names(&l->compile->policy, r->at);
	struct finding *f = lint_add(l, id, r->at, text, mixed ? "the addresses of this line" : "this line");

	f->other = other ? other->at : (struct span){ 0 };
	f->instead = mixed ? "the line without its addresses" : instead;
	if (!mixed)
		f->fix = lint_remove(l, r->at, true);
}

static void check_allow(struct lint *l, const struct line_set *set, size_t i)
{
	const struct net_rule *r = &l->compile->policy.net_rule[i], *other = covering(l, set, i);
	struct net_rule *alone;
	struct line_set left;
	size_t n = 0;

	if (is_empty(&set[i].set)) {
		add_idle(l, 101, r, NULL, "its own 'except' takes away all of %s", "remove this line, or the except");
		return;
	}
	if (other) {
		add_idle(l, 102, r, other, "another line allows all of %s as well", "remove this line");
		return;
	}
	/* The line with all denials. */
	alone = ARENA_ARRAY(l->arena, l->compile->policy.nnet_rules + 1, struct net_rule);
	alone[n++] = *r;
	for (size_t j = 0; j < l->compile->policy.nnet_rules; j++)
		if (!l->compile->policy.net_rule[j].allow)
			alone[n++] = l->compile->policy.net_rule[j];
	left = set_of(l, alone, n);
	if (n == 1 || !left.known || !is_empty(&left.set))
		return;
	add_idle(l, 101, r, denying(l, set, i), "denials take away all of %s", "remove this line, or the denial");
}

static void check_deny(struct lint *l, const struct line_set *set, size_t i)
{
	const struct policy *p = &l->compile->policy;

	if (p->resolver)
		return; /* the name servers are known at the start */
	/* Names lead to addresses, and the denial wins. */
	for (size_t j = 0; j < p->nhost_rules; j++)
		if (p->host_rule[j].allow)
			return;
	for (size_t j = 0; j < p->nnet_rules; j++)
		if (p->net_rule[j].allow && (!set[j].known || overlaps(l, &set[i].set, &set[j].set)))
			return;
	add_idle(l, 103, &p->net_rule[i], NULL, "no line allows anything of %s",
		 "remove this line, unless it binds what an includer may add");
}

/* --- excepts ------------------------------------------------------------------------------------- */

/* IPv4 is also taken from what carries it in IPv6. */
static bool may_except(const struct net_rule *r, const struct net_operand *except)
{
	for (size_t i = 0; i < r->nto; i++)
		if (r->to[i].family != except->family ?
			    except->family == NET_V4 :
			    net_addr_cmp(r->to[i].lo, except->hi) <= 0 && net_addr_cmp(except->lo, r->to[i].hi) <= 0)
			return true;
	return false;
}

static bool same_span(struct span a, struct span b)
{
	return a.file == b.file && a.begin == b.begin;
}

/* `localhost` and `any` are two operands of one place. */
static bool other_half_excepts(const struct net_rule *r, size_t i)
{
	for (size_t k = 0; k < r->nexcept; k++)
		if (k != i && same_span(r->except[k].at, r->except[i].at) && may_except(r, &r->except[k]))
			return true;
	return false;
}

static void check_excepts(struct lint *l, const struct net_rule *r)
{
	struct span said = { 0 };

	for (size_t i = 0; i < r->nexcept; i++) {
		struct finding *f;

		if (may_except(r, &r->except[i]) || other_half_excepts(r, i) || same_span(said, r->except[i].at))
			continue;
		said = r->except[i].at;
		f = lint_add(l, 107, said, "nothing that this line allows is excepted by this");
		f->instead = "a part of what the line allows, or a line of its own: deny";
	}
}

void lint_network_lines(struct lint *l)
{
	const struct policy *p = &l->compile->policy;
	struct line_set *set = ARENA_ARRAY(l->arena, p->nnet_rules + 1, struct line_set);

	if (!comparable(p))
		return;
	for (size_t i = 0; i < p->nnet_rules; i++) {
		struct net_rule one = as_allow(&p->net_rule[i]);

		set[i] = set_of(l, &one, 1);
	}
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (!has_names(p, p->net_rule[i].at)) /* names may lead to what is excepted */
			check_excepts(l, &p->net_rule[i]);
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (set[i].known)
			(p->net_rule[i].allow ? check_allow : check_deny)(l, set, i);
}
