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

#include <pthread.h>
#include <unistd.h>

#include "bpf/artefact.h"
#include "bpf/vm.h"

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
	v.near = reference_list(scratch, p);
	v.holding = reference_list(scratch, p);
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

/* --- on two processors ---------------------------------------------------- */

/* A prover whose messages nobody reads: what it finds is found again by one that speaks. */
struct quiet {
	struct arena scratch, messages;
	struct sources sources;
	struct diags d;
	struct prover v;
};

static void quiet_begin(struct quiet *q, const struct prover *like)
{
	*q = (struct quiet){ .sources = { .arena = &q->messages } };
	diags_init(&q->d, &q->sources);
	q->v = make_prover(&q->scratch, &q->d, like->p, like->servers, like->hook, NULL);
}

static bool quiet_end(struct quiet *q)
{
	const bool good = !q->v.failed && !q->d.errors && !q->d.notes;

	arena_free(&q->scratch);
	arena_free(&q->messages);
	return good;
}

static void *follow_all(void *closure)
{
	prove_whole(&((struct quiet *)closure)->v);
	return NULL;
}

/* The walk recurses for each comparison of a program. */
static bool start_thread(pthread_t *thread, struct quiet *q)
{
	enum { STACK = 8 << 20 };
	pthread_attr_t attributes;
	bool started;

	if (pthread_attr_init(&attributes))
		return false;
	started = pthread_attr_setstacksize(&attributes, STACK) == 0 &&
		  pthread_create(thread, &attributes, follow_all, q) == 0;
	pthread_attr_destroy(&attributes);
	return started;
}

/*
 * Following all inputs and asking about boundaries take about as long, and neither needs the other: they are done at the
 * same time, as if the first had succeeded already.  True if they both have; else nothing is known, and nothing was said.
 */
static bool prove_at_once(const struct prover *like)
{
	struct quiet walk, points;
	pthread_t thread;
	bool whole, good;

	if (!may_be_whole(like) || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return false;
	quiet_begin(&walk, like);
	if (!start_thread(&thread, &walk)) {
		quiet_end(&walk);
		return false;
	}
	quiet_begin(&points, like);
	points.v.brief = true;
	prove_destinations(&points.v);
	if (!points.v.failed)
		prove_counting(&points.v);
	pthread_join(thread, NULL);
	whole = is_whole(&walk.v);
	good = quiet_end(&walk);
	return quiet_end(&points) && good && whole;
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
