/* SPDX-License-Identifier: MIT */
/*
 * The proof of `allow resolver`: the programs are proved as the runtime completes them, with several sets
 * of name servers, and match nothing as long as they are not completed.
 */
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/at_once.h"
#include "compiler/egress_prover.h"

enum { DENIED_SAMPLES = 2 }; /* denials whose ends are taken for name servers */

/* Name servers that the programs are completed with. */
struct servers {
	struct artefact_address address[CAVE_RESOLVERS];
	size_t n;
};

/* Name servers that a host may have; the slots that are not filled must match nothing. */
static const struct servers resolver_samples[] = {
	{ { { false, { 0, 0, 0, 0xc0000235 } } }, 1 },
	/* The last word of the one is the other as the wire has it. */
	{ { { true, { 0x20010db8, 0xffff, 0x00350000, 0x35000001 } }, { false, { 0, 0, 0, 0x01000035 } } },
	  2 },
	{ { { false, { 0, 0, 0, 0x0a35ff01 } },
	    { true, { 0xfd000053, 0, 1, 0x10000 } },
	    { true, { 0, 0, 0, 1 } } },
	  3 },
	{ { { true, { 0xfd000053, 0x80000000, 0, 7 } },
	    { false, { 0, 0, 0, 0xdf350000 } },
	    { false, { 0, 0, 0, 0x0a35ff02 } } },
	  3 },
};

static struct net_operand operand_of(const struct artefact_address *a)
{
	struct net_addr at = { (uint64_t)a->word[0] << 32 | a->word[1],
			       (uint64_t)a->word[2] << 32 | a->word[3] };

	return (struct net_operand){ .family = a->six ? NET_V6 : NET_V4, .lo = at, .hi = at };
}

/* The programs as the runtime completes them, against the policy with a rule that says the same. */
static bool prove_resolver(struct diags *d, const struct policy *p, const struct hook_program *hook,
			   const struct servers *with)
{
	static const struct net_ports port = { CAVE_RESOLVER_PORT, CAVE_RESOLVER_PORT };
	struct arena scratch = { 0 };
	struct hook_program filled[CAVE_HOOK_COUNT];
	struct net_rule *rule = ARENA_ARRAY(&scratch, p->nnet_rules + 1, struct net_rule);
	struct net_operand to[CAVE_RESOLVERS];
	struct policy said = *p;
	bool good;

	for (size_t i = 0; i < with->n; i++)
		to[i] = operand_of(&with->address[i]);
	for (size_t i = 0; i < p->nnet_rules; i++)
		rule[i + 1] = p->net_rule[i];
	rule[0] = (struct net_rule){ .allow = true, .proto = { true, true }, .to = to, .nto = with->n,
				     .port = &port, .nports = 1 };
	said.net_rule = rule;
	said.nnet_rules++;
	for (int h = 0; h < CAVE_HOOK_COUNT; h++) {
		struct bpf_insn *insn = ARENA_ARRAY(&scratch, hook[h].n + 1, struct bpf_insn);

		if (hook[h].n)
			memcpy(insn, hook[h].insn, hook[h].n * sizeof *insn);
		artefact_resolver_fill(hook[h].patch, hook[h].npatches, (enum cave_hook)h, with->address, with->n, insn);
		filled[h] = hook[h];
		filled[h].insn = insn;
	}
	good = prove_programs(d, &said, &rule[0], filled, NULL);
	arena_free(&scratch);
	return good;
}

static void add_server(struct servers *s, enum net_family family, struct net_addr a)
{
	if (s->n < CAVE_RESOLVERS && (a.hi || a.lo))
		s->address[s->n++] = (struct artefact_address){
			family == NET_V6,
			{ (uint32_t)(a.hi >> 32), (uint32_t)a.hi, (uint32_t)(a.lo >> 32), (uint32_t)a.lo },
		};
}

/* Name servers at the ends of what is denied, and beyond them; returns how many samples. */
static size_t list_denied(const struct policy *p, struct servers *out)
{
	size_t n = 0;

	for (size_t i = 0, asked = 0; i < p->nnet_rules && asked < DENIED_SAMPLES; i++) {
		const struct net_rule *deny = &p->net_rule[i];
		struct servers s = { .n = 0 };

		if (deny->allow || !deny->nto)
			continue;
		add_server(&s, deny->to[0].family, deny->to[0].lo);
		add_server(&s, deny->to[deny->nto - 1].family, deny->to[deny->nto - 1].hi);
		/* Mapped addresses and, of IPv4, the first beyond the last are none of the family. */
		if (deny->to[0].hi.lo != UINT32_MAX && deny->to[0].hi.lo >> 32 != 0xffff)
			add_server(&s, deny->to[0].family, (struct net_addr){ deny->to[0].hi.hi,
									     deny->to[0].hi.lo + 1 });
		asked++;
		if (s.n)
			out[n++] = s;
	}
	return n;
}

/* What the runtime does not fill in matches nothing. */
static bool check_unset(struct diags *d, const struct policy *p, const struct hook_program *hook)
{
	for (size_t i = 0; i < hook->npatches; i++) {
		const struct cave_resolver_patch *place = &hook->patch[i];
		bool port = place->field == CAVE_RESOLVER_PORT4 || place->field == CAVE_RESOLVER_PORT6;

		if (place->insn < hook->n &&
		    hook->insn[place->insn].imm == (port ? CAVE_RESOLVER_UNSET : 0))
			continue;
		diag_error(d, CAVE_PROOF_FAILED, p->at,
			   "the program for %s compares with a name server that no host has",
			   artefact_hook_name(hook->hook));
		return false;
	}
	return true;
}

/* --- every sample ---------------------------------------------------------- */

enum { SAMPLES = sizeof resolver_samples / sizeof *resolver_samples };

struct samples {
	const struct policy *p;
	const struct hook_program *hook;
	struct servers with[SAMPLES + DENIED_SAMPLES];
	bool good[SAMPLES + DENIED_SAMPLES];
};

static void prove_sample(void *closure, size_t i)
{
	struct samples *s = closure;
	struct hushed h;

	hush(&h);
	s->good[i] = prove_resolver(&h.d, s->p, s->hook, &s->with[i]);
	s->good[i] = hush_end(&h) && s->good[i];
}

static bool prove_samples(struct diags *d, const struct policy *p, const struct hook_program *hook)
{
	struct samples s = { .p = p, .hook = hook };
	size_t n = SAMPLES;

	memcpy(s.with, resolver_samples, sizeof resolver_samples);
	n += list_denied(p, s.with + SAMPLES);
	at_once(prove_sample, &s, n);
	for (size_t i = 0; i < n; i++)
		if (!s.good[i] && !prove_resolver(d, p, hook, &s.with[i]))
			return false;
	return true;
}

bool egress_prove(struct diags *d, const struct policy *p, const struct hook_program *hook)
{
	if (!p->resolver)
		return prove_programs(d, p, NULL, hook, NULL);
	for (int h = 0; h < CAVE_HOOK_COUNT; h++)
		if (!check_unset(d, p, &hook[h]))
			return false;
	return prove_samples(d, p, hook);
}
