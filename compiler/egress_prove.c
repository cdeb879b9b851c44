/* SPDX-License-Identifier: MIT */
/*
 * The proof of the egress programs: each is interpreted at every boundary of the policy and
 * compared with what the rules say, taken one by one as they are written.  Nothing here is shared
 * with the set algebra or the generator.  Where it could be followed for all inputs before
 * (egress_prove_whole.c), boundaries are asked with one port, in hooks that take turns; both at once if there are two
 * processors.
 *
 * Addresses: the first and last of every operand, one before and one after; for IPv6 also one up
 * and down in every 32-bit word, since the programs decide by words; what carries the IPv4
 * boundaries; and fixed ones.  Ports: the same of every port range, and the ends.
 */
#include "compiler/egress_prover.h"

#include "bpf/artefact.h"
#include "bpf/vm.h"
#include "compiler/at_once.h"

static bool grants_names(const struct policy *p)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (p->host_rule[i].allow)
			return true;
	return false;
}

static bool check_programs(struct prover *v)
{
	const bool names = grants_names(v->p);

	for (int hook = 0; hook < CAVE_HOOK_COUNT; hook++) {
		size_t bad;

		if (!v->hook[hook].n && hook >= CAVE_HOOK_NAMES && !names)
			continue;
		if (ebpf_check(v->hook[hook].insn, v->hook[hook].n, &bad))
			continue;
		diag_error(
			v->d, CAVE_PROOF_FAILED, v->p->at,
			"instruction %zu of the program for %s is not one that the compiler emits",
			bad, artefact_hook_name(hook));
		return false;
	}
	return true;
}

static bool is_whole(const struct prover *v)
{
	for (int hook = 0; hook < CAVE_HOOK_NAMES; hook++)
		if (!v->whole[hook])
			return false;
	return true;
}

/* Where not all inputs have been followed, everything is asked point by point; else, what is granted. */
static void prove_points(struct prover *v)
{
	static void (*const part[])(struct prover *v) = { prove_sets, prove_protocols, prove_unaddressed, prove_bind,
							  prove_sockets, prove_packets, prove_local, prove_guests,
							  prove_answers };
	const bool whole = is_whole(v);

	v->brief = whole;
	prove_destinations(v);
	for (size_t i = 0; i < sizeof part / sizeof *part && !whole && !v->failed; i++)
		/* What the maps of names say is not followed for all inputs: those policies are asked point by point. */
		if (!(v->names && part[i] == prove_sets))
			part[i](v);
	if (!v->failed)
		prove_counting(v);
}

/* What a prover reads is shared with others; what it writes to is its own. */
static struct prover make_prover(struct arena *scratch, struct diags *d, const struct policy *p,
				 const struct net_rule *servers, const struct hook_program *hook,
				 const struct names_model *names)
{
	struct prover v = { .d = d, .a = scratch, .p = p, .servers = servers, .hook = hook };

	v.names = names;
	v.map = names ? names->map : ebpf_maps(scratch, hook->maps);
	v.nmaps = hook->maps ? hook->maps->n : 0;
	v.denials = find_map(&v, CAVE_DENIALS_MAP);
	/* Names are looked up by both protocols, and their addresses come later. */
	for (int proto = 0; (names || servers) && proto < NET_PROTOS; proto++)
		v.granted[proto] = v.used[proto] = true;
	reference_init(&v.ref, scratch, p);
	reference_init_own(&v.own, scratch, p);
	v.near = reference_list(scratch, p);
	v.holding = reference_list(scratch, p);
	v.heard = reference_list(scratch, v.own.policy);
	v.open = ARENA_ARRAY(scratch, 1, struct port_map);
	v.none = ARENA_ARRAY(scratch, 1, struct port_map);
	for (size_t i = 0; i < p->nlistens; i++)
		for (int proto = 0; proto < NET_PROTOS; proto++)
			v.used[proto] |= p->listen[i].proto[proto];
	for (size_t i = 0; i < p->nlistens; i++)
		v.guests |= p->listen[i].proto[NET_UDP];
	v.some = ARENA_ARRAY(scratch, 1, struct port_map);
	return v;
}

/* --- at once -------------------------------------------------------------- */

void hush(struct hushed *h)
{
	*h = (struct hushed){ .sources = { .arena = &h->messages } };
	diags_init(&h->d, &h->sources);
}

bool hush_end(struct hushed *h)
{
	const bool silent = !h->d.errors && !h->d.notes;

	arena_free(&h->scratch);
	arena_free(&h->messages);
	return silent;
}

struct half {
	struct hushed h;
	struct prover v;
};

enum { INPUTS, POINTS, HALVES };

/* So many addresses take longer than a thread takes to get a processor of its own, which is a millisecond or two. */
enum { WORTH_A_THREAD = 512 };

static void prove_half(void *closure, size_t i)
{
	struct half *half = (struct half *)closure + i;

	if (i == INPUTS) {
		prove_whole(&half->v);
		return;
	}
	half->v.brief = true;
	prove_destinations(&half->v);
	if (!half->v.failed)
		prove_counting(&half->v);
}

/*
 * Following all inputs and asking about boundaries take about as long, and neither needs the other: they are done at
 * the same time, as if the first had succeeded already.  True if they both have; else nothing is known, and nothing was
 * said.
 */
static bool prove_at_once(const struct prover *like)
{
	struct half half[HALVES];
	bool good;

	if (!may_be_whole(like) || count_operands(like->p) < WORTH_A_THREAD)
		return false;
	for (int i = 0; i < HALVES; i++) {
		hush(&half[i].h);
		half[i].v = make_prover(&half[i].h.scratch, &half[i].h.d, like->p, like->servers, like->hook, NULL);
	}
	at_once(prove_half, half, HALVES);
	good = is_whole(&half[INPUTS].v);
	for (int i = 0; i < HALVES; i++) {
		good = good && !half[i].v.failed;
		good = hush_end(&half[i].h) && good;
	}
	return good;
}

bool prove_programs(struct diags *d, const struct policy *p, const struct net_rule *servers,
		    const struct hook_program *hook, const struct names_model *names)
{
	struct arena scratch = { 0 };
	struct prover v = make_prover(&scratch, d, p, servers, hook, names);

	v.failed = !check_programs(&v);
	if (!v.failed && !prove_at_once(&v)) {
		prove_whole(&v);
		if (!v.failed)
			prove_points(&v);
	}
	arena_free(&scratch);
	return !v.failed;
}
