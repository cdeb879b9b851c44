/* SPDX-License-Identifier: MIT */
/*
 * The proof of the egress programs, for all inputs: every byte of the context and of the packet that a program looks
 * at may be anything.  A program that cannot be followed is not proved.
 */
#include "bpf/artefact.h"
#include "compiler/egress_whole.h"

/* Which protocols reach anything, and by which ports UDP does over IPv4. */
static void note_granted(struct whole *w)
{
	struct prover *v = w->v;

	for (int family = 0; family < NET_FAMILIES; family++)
		for (size_t i = 0; i < w->sweeps.peer[family].n; i++)
			for (int proto = 0; proto < NET_PROTOS; proto++)
				if (w->sweeps.peer[family].stretch[i].verdict->n[proto])
					v->granted[proto] = v->used[proto] = true;
}

static void mark(uint64_t *open, struct net_ports range)
{
	for (unsigned port = range.lo; port <= range.hi; port++)
		open[port / 64] |= (uint64_t)1 << port % 64;
}

static bool any_set(const uint64_t *word, size_t n)
{
	while (n && !word[n - 1])
		n--;
	return n;
}

/* The name servers count, denied or not. */
static void list_some_ports(struct whole *w)
{
	const struct sweep *s = &w->sweeps.peer[NET_V4];
	const struct verdict *last = NULL;
	uint64_t open[65536 / 64] = { 0 };
	size_t cap = 0;

	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; s->stretch[i].verdict != last && k < s->stretch[i].verdict->n[NET_UDP]; k++)
			mark(open, s->stretch[i].verdict->range[NET_UDP][k]);
		last = s->stretch[i].verdict;
	}
	if (is_server(w->v, NULL))
		mark(open, w->v->servers->port[0]);
	/* Beside name servers that are filled in later, 0 is taken for a port of theirs, whatever their family. */
	if (w->v->servers || any_set(open, sizeof open / sizeof *open))
		open[0] |= 1;
	for (unsigned port = 0; port < 65536; port++) {
		if (port % 64 == 0 && !open[port / 64]) {
			port += 63;
			continue;
		}
		if (!(open[port / 64] >> port % 64 & 1))
			continue;
		if (w->nsome && w->some[w->nsome - 1].hi + 1u == port)
			w->some[w->nsome - 1].hi = (uint16_t)port;
		else
			*ARENA_PUSH(w->v->a, w->some, w->nsome, cap) =
				(struct net_ports){ (uint16_t)port, (uint16_t)port };
	}
}

static bool follow_hook(struct whole *w, enum cave_hook hook)
{
	w->hook = hook;
	w->turn = 0;
	w->counted = ARENA_ARRAY(w->v->a, w->v->hook[hook].n + 1, uint8_t);
	switch (hook) {
	case CAVE_HOOK_EGRESS:
	case CAVE_HOOK_INGRESS:
		return whole_packet(w, hook);
	case CAVE_HOOK_SOCK_CREATE:
		return whole_socket(w);
	default:
		return whole_call(w, hook);
	}
}

/* Whether the programs say where they judge, if they have to. */
static bool judges(const struct prover *v)
{
	bool granted = false;

	for (int proto = 0; proto < NET_PROTOS; proto++)
		granted |= v->granted[proto];
	return !granted || v->hook[CAVE_HOOK_EGRESS].njudgements;
}

/* What comes and goes while a policy is in force is asked point by point; nor is all known of all Teredo addresses. */
bool may_be_whole(const struct prover *v)
{
	return !v->names && !v->p->nlistens && !sweeps_are_vague(v->p);
}

void prove_whole(struct prover *v)
{
	struct whole w = { .v = v };
	struct judged judged = { NULL, 0, 0 };

	if (!may_be_whole(v))
		return;
	sweeps_init(&w.sweeps, v, false);
	note_granted(&w);
	/* Without judgements all pairs of a packet's own addresses and its socket's would be followed. */
	if (!judges(v))
		return;
	list_some_ports(&w);
	for (int hook = 0; hook < CAVE_HOOK_NAMES && !v->failed; hook++) {
		const struct hook_program *program = &v->hook[hook];
		struct walk_known *known;
		size_t first;

		w.nknown = whole_judgements(&w, program, JUDGED_KINDS, &judged);
		first = judged.n - w.nknown;
		known = ARENA_ARRAY(v->a, w.nknown + 1, struct walk_known);
		for (size_t i = 0; i < w.nknown; i++)
			known[i] = judged.item[first + i].known;
		w.known = known;
		v->whole[hook] = follow_hook(&w, (enum cave_hook)hook);
	}
}

bool prove_own(struct prover *v)
{
	struct whole w = { .v = v };
	struct judged judged = { NULL, 0, 0 };
	size_t wanted = 0;

	sweeps_init(&w.sweeps, v, false);
	for (int hook = 0; hook < CAVE_HOOK_NAMES; hook++) {
		for (size_t i = 0; i < v->hook[hook].njudgements; i++)
			wanted += v->hook[hook].judgement[i].what == JUDGED_OWN;
		whole_judgements(&w, &v->hook[hook], JUDGED_OWN, &judged);
	}
	return judged.n == wanted;
}
