/* SPDX-License-Identifier: MIT */
/* The proof for all inputs: regions against what is to be answered there. */
#include "compiler/egress_whole.h"

#include <linux/in.h>
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/egress_addr.h"

/* --- what is asked of a part ---------------------------------------------- */

bool whole_in(struct whole *w, enum walk_variable variable, walk_number lo, walk_number hi)
{
	const walk_number first = w->part->lo[variable], last = w->part->hi[variable];

	if (w->torn || hi < first || last < lo)
		return false;
	if (lo <= first && last <= hi)
		return true;
	w->torn = true;
	w->cut = variable;
	w->cut_lo = lo;
	w->cut_hi = hi;
	return false;
}

bool whole_is(struct whole *w, enum walk_variable variable, walk_number n)
{
	return whole_in(w, variable, n, n);
}

/* Both numbers that are compared are of 32 bits: a part of them says nothing. */
static bool is_whole(const struct walk_operand *o)
{
	return !o->shift && o->width == 32;
}

bool whole_equal(struct whole *w, enum walk_variable a, enum walk_variable b)
{
	const struct walk_region *r = w->part;

	for (size_t i = 0; i < w->answer->nfacts; i++) {
		const struct walk_fact *f = &w->answer->fact[i];

		if (f->equality && is_whole(&f->left) && is_whole(&f->right) &&
		    ((f->left.variable == a && f->right.variable == b) ||
		     (f->left.variable == b && f->right.variable == a)))
			return f->holds;
	}
	if (w->torn || r->hi[a] < r->lo[b] || r->hi[b] < r->lo[a])
		return false;
	if (r->lo[a] == r->hi[a] && r->lo[b] == r->hi[b])
		return true;
	w->assumed = true;
	return w->assume;
}

bool whole_protocol(struct whole *w, enum net_proto *proto)
{
	*proto = NET_TCP;
	if (w->v->used[NET_TCP] && whole_is(w, WALK_PROTOCOL, IPPROTO_TCP))
		return true;
	*proto = NET_UDP;
	return w->v->used[NET_UDP] && whole_is(w, WALK_PROTOCOL, IPPROTO_UDP);
}

struct expected expect_refused(void)
{
	return (struct expected){ .what = REFUSED };
}

struct expected expect_allowed(void)
{
	return (struct expected){ .what = ALLOWED };
}

struct expected expect_judged(bool own, enum net_proto proto, enum net_family family, enum walk_variable address,
			      enum walk_variable port)
{
	return (struct expected){
		.what = JUDGED,
		.own = own,
		.proto = proto,
		.family = family,
		.address = { .variable = address, .width = family == NET_V4 ? 32 : 128 },
		.port = { .variable = port, .width = 16 },
	};
}

/* --- and compared --------------------------------------------------------- */

/* The numbers that an operand may be in the part. */
static void range_of(const struct whole *w, const struct walk_operand *o, walk_number range[2])
{
	const walk_number mask = o->width == 32 ? UINT32_MAX : ~(walk_number)0;

	range[0] = o->variable ? w->part->lo[o->variable] & mask : o->number;
	range[1] = o->variable ? w->part->hi[o->variable] & mask : o->number;
}

/* Whether both are the same number all through the part. */
static bool is_same(const struct whole *w, const struct walk_operand *a, const struct walk_operand *b)
{
	walk_number x[2], y[2];

	if (a->variable && a->variable == b->variable)
		return a->shift == b->shift;
	if (a->shift || b->shift)
		return false;
	range_of(w, a, x);
	range_of(w, b, y);
	return x[0] == x[1] && y[0] == y[1] && x[0] == y[0];
}

bool whole_knows(const struct whole *w, enum judgement_kind what, enum walk_variable about, bool *holds)
{
	const struct walk_operand o = { .variable = about, .width = what == JUDGED_SOME_PORT ? 16 : 32 };

	for (size_t i = 0; i < w->answer->nfacts; i++) {
		const struct walk_fact *f = &w->answer->fact[i];

		if (f->equality || f->what != what || !is_same(w, what == JUDGED_SOME_PORT ? &f->right : &f->left, &o))
			continue;
		*holds = f->holds;
		return true;
	}
	return false;
}

/* The program may have come by this judgement on its way; *holds is what it said. */
static bool find_judgement(const struct whole *w, const struct expected *e, bool *holds)
{
	for (size_t i = 0; i < w->answer->nfacts; i++) {
		const struct walk_fact *f = &w->answer->fact[i];

		if (f->equality || f->what != (e->own ? JUDGED_OWN : JUDGED_PEER) || f->proto != e->proto ||
		    f->family != e->family || !is_same(w, &f->left, &e->address) ||
		    !is_same(w, &f->right, &e->port))
			continue;
		*holds = f->holds;
		return true;
	}
	return false;
}

static bool complain(struct whole *w, const struct expected *e, walk_number at, uint32_t port)
{
	const enum net_family family = e->what == JUDGED ? e->family : w->part->hi[WALK_ADDRESS] > UINT32_MAX;
	const struct question q = { w->hook, (int)w->part->lo[WALK_PROTOCOL],
				    { .family = family, .addr = { (uint64_t)(at >> 64), (uint64_t)at } }, (uint16_t)port,
				    w->form };

	disagree(w->v, &q, !w->answer->allowed);
	return false;
}

static bool writes_only(const struct walk_answer *a, const struct walk_write *write)
{
	if (!write->size)
		return !a->nwrites;
	return a->nwrites == 1 && a->write->at == write->at && a->write->size == write->size &&
	       a->write->value == write->value;
}

static bool is_right(struct whole *w, const struct expected *e)
{
	const bool allowed = w->answer->allowed;
	walk_number address[2], ports[2], at = w->part->lo[WALK_ADDRESS];
	uint32_t port = (uint32_t)w->part->lo[WALK_PORT];
	bool right = e->what == ALLOWED;

	if (allowed && !writes_only(w->answer, &e->write))
		return complain(w, e, at, port);
	if (e->what == JUDGED && !find_judgement(w, e, &right)) {
		range_of(w, &e->address, address);
		range_of(w, &e->port, ports);
		return sweep_agrees(&w->sweeps, e->own, e->proto, e->family, address, ports, allowed, &at, &port) ||
		       complain(w, e, at, port);
	}
	return right == allowed || complain(w, e, at, port);
}

/* With whatever is not known about equality. */
static bool check_uniform(struct whole *w)
{
	struct expected e;

	w->assumed = w->assume = false;
	e = w->spec(w);
	if (w->torn)
		return true;
	if (!is_right(w, &e))
		return false;
	if (!w->assumed)
		return true;
	w->assume = true;
	e = w->spec(w);
	return w->torn || is_right(w, &e);
}

/* What is to be answered is the same all through the part, or the part is cut. */
static bool check_part(struct whole *w, struct walk_region *r)
{
	for (;;) {
		struct walk_region first;

		w->part = r;
		w->torn = false;
		if (!check_uniform(w))
			return false;
		if (!w->torn)
			return true;
		first = *r;
		first.hi[w->cut] = r->lo[w->cut] < w->cut_lo ? w->cut_lo - 1 : w->cut_hi;
		r->lo[w->cut] = first.hi[w->cut] + 1;
		if (!check_part(w, &first))
			return false;
	}
}

bool whole_agrees(struct whole *w, const struct walk_answer *a)
{
	struct walk_region r = *a->region;

	w->answer = a;
	return check_part(w, &r);
}

/*
 * Ends of regions are run: of the first ones of a hook all, of many some.  That each operand's ends are run is seen to
 * elsewhere (prove_destinations()).
 */
enum { FIRST_RUN = 32, RUN_ONE_IN = 32 };

/* All of the region, as it has been followed; and one of its two ends, as it is run. */
static bool check_answer(void *closure, const struct walk_answer *a)
{
	struct walk_region end = *a->region;
	struct whole *w = closure;

	if (!whole_agrees(w, a))
		return false;
	w->turn++;
	if (w->turn > FIRST_RUN && w->turn % RUN_ONE_IN)
		return true;
	if (w->turn / (w->turn > FIRST_RUN ? RUN_ONE_IN : 1) % 2)
		memcpy(end.lo, a->region->hi, sizeof end.lo);
	else
		memcpy(end.hi, a->region->lo, sizeof end.hi);
	return whole_point(w, &end);
}

static bool check_counts(void *closure, size_t at)
{
	const struct whole *w = closure;

	if (!w->counted[at])
		w->counted[at] = counts_from(w->v, w->hook, at) ? 1 : 2;
	return w->counted[at] == 1;
}

bool whole_follow(struct whole *w, struct walk *walk)
{
	walk->map = w->v->map;
	walk->nmaps = w->v->nmaps;
	walk->known = w->known;
	walk->nknown = w->nknown;
	/* Without a map nothing is granted, and nothing counted. */
	walk->counts = w->v->denials || walk->program->maps ? check_counts : NULL;
	walk->visit = check_answer;
	walk->closure = w;
	whole_lay(w, walk);
	if (walk_program(walk) == WALK_LOST && !w->v->failed) {
		diag_error(w->v->d, CAVE_PROOF_FAILED, w->v->p->at, "the program for %s cannot be followed for all inputs",
			   artefact_hook_name(w->hook));
		w->v->failed = true;
	}
	return !w->v->failed;
}

/* --- judgements ----------------------------------------------------------- */

struct judging {
	struct whole *w;
	const struct judgement *j;
};

static bool check_judgement(void *closure, const struct walk_answer *a)
{
	const struct judging *x = closure;
	const walk_number address[] = { a->region->lo[WALK_ADDRESS], a->region->hi[WALK_ADDRESS] };
	const walk_number ports[] = { a->region->lo[WALK_PORT], a->region->hi[WALK_PORT] };
	const bool port = a->exit == JUDGED_YES || a->exit == JUDGED_NO;
	walk_number at;
	uint32_t bad;

	if (x->j->what == JUDGED_SOME_PORT)
		return some_agrees(x->w, (uint32_t)ports[0], (uint32_t)ports[1], a->allowed);
	if (x->j->what == JUDGED_SOME_ADDRESS && !reached_agrees(x->w, address, a->exit != JUDGED_UNREACHED))
		return false;
	return !port || sweep_agrees(&x->w->sweeps, x->j->what == JUDGED_OWN, x->j->proto, x->j->family, address, ports,
				     a->allowed, &at, &bad);
}

/* Shows a judgement: for all addresses and ports it says what the rules do. */
static bool show_judgement(struct whole *w, const struct hook_program *program, const struct judgement *j,
			   struct walk_known *out)
{
	struct judging x = { w, j };
	struct walk walk;

	/* What nothing is known of would be taken for known. */
	if (j->family == NET_V6 && w->sweeps.peer[NET_V6].vague)
		return false;
	walk_begin(&walk, w->v->a, program);
	walk_free(&walk, WALK_ADDRESS, j->family == NET_V4 ? 32 : 128);
	walk_free(&walk, WALK_PORT, 16);
	walk.map = w->v->map;
	walk.nmaps = w->v->nmaps;
	walk.visit = check_judgement;
	walk.closure = &x;
	return walk_judgement(&walk, j, out) == WALK_DONE;
}

/* Two places in two programs, and what has been found the same so far. */
struct twins {
	const struct hook_program *a, *b;
	const struct judgement *ja, *jb;
	uint32_t *met; /* by instruction of `a`: 1 + that of `b` */
	struct { size_t a, b; } *todo;
	size_t n, cap;
	struct arena *arena;
};

/* Both end in the same way, or both go on. */
static bool meet(struct twins *t, size_t a, size_t b)
{
	for (int i = 0; i < JUDGED_EXITS; i++) {
		const bool ends = t->ja->exit[i] && t->ja->exit[i] == a;

		if (ends != (t->jb->exit[i] && t->jb->exit[i] == b))
			return false;
		if (ends)
			return true;
	}
	if (a >= t->a->n || b >= t->b->n)
		return false;
	if (t->met[a])
		return t->met[a] == b + 1;
	t->met[a] = (uint32_t)b + 1;
	ARENA_PUSH(t->arena, t->todo, t->n, t->cap)->a = a;
	t->todo[t->n - 1].b = b;
	return true;
}

static bool is_jump(const struct bpf_insn *i)
{
	return (BPF_CLASS(i->code) == BPF_JMP || BPF_CLASS(i->code) == BPF_JMP32) && BPF_OP(i->code) != BPF_CALL;
}

/* Functions return to where they were called. */
static bool in_function(const struct hook_program *p, size_t at)
{
	return at >= p->n - p->shared;
}

static bool go_on(struct twins *t, size_t a, size_t b)
{
	const struct bpf_insn *x = &t->a->insn[a], *y = &t->b->insn[b];
	const bool wide = x->code == (BPF_LD | BPF_IMM | BPF_DW);

	const bool call = x->code == (BPF_JMP | BPF_CALL) && x->src_reg == BPF_PSEUDO_CALL;

	if (x->code != y->code || x->dst_reg != y->dst_reg || x->src_reg != y->src_reg || (x->imm != y->imm && !call))
		return false;
	if (x->code == (BPF_JMP | BPF_EXIT))
		return in_function(t->a, a) && in_function(t->b, b);
	if (call && !meet(t, a + 1 + (size_t)x->imm, b + 1 + (size_t)y->imm))
		return false;
	if (wide && (a + 1 >= t->a->n || b + 1 >= t->b->n || x[1].imm != y[1].imm))
		return false;
	if (!is_jump(x))
		return x->off == y->off && meet(t, a + 1 + wide, b + 1 + wide);
	if (x->code != (BPF_JMP | BPF_JA) && !meet(t, a + 1, b + 1))
		return false;
	return meet(t, a + 1 + (size_t)x->off, b + 1 + (size_t)y->off);
}

/* Whether the two judgements are the same instructions: what holds of the one holds of the other. */
static bool are_twins(struct arena *arena, const struct whole_known *known, const struct hook_program *program,
		      const struct judgement *j)
{
	struct twins t = { .arena = arena, .a = known->program, .b = program, .ja = known->known.judgement,
			   .jb = j };
	bool same;

	if (t.ja->what != j->what || t.ja->proto != j->proto || t.ja->family != j->family)
		return false;
	t.met = ARENA_ARRAY(t.arena, t.a->n + 1, uint32_t);
	same = meet(&t, t.ja->at, j->at);
	while (same && t.n) {
		const size_t a = t.todo[t.n - 1].a, b = t.todo[t.n - 1].b;

		t.n--;
		same = go_on(&t, a, b);
	}
	return same;
}

size_t whole_judgements(struct whole *w, const struct hook_program *program, enum judgement_kind kind,
			struct judged *all)
{
	const size_t before = all->n;

	for (size_t i = 0; i < program->njudgements; i++) {
		struct whole_known this = { { .judgement = &program->judgement[i] }, program };
		bool known = false;

		if (kind != JUDGED_KINDS && program->judgement[i].what != kind)
			continue;
		for (size_t k = 0; k < before && !known; k++) {
			known = are_twins(w->v->a, &all->item[k], program, &program->judgement[i]);
			if (known) {
				this.known = all->item[k].known;
				this.known.judgement = &program->judgement[i];
			}
		}
		if (known || show_judgement(w, program, &program->judgement[i], &this.known))
			*ARENA_PUSH(w->v->a, all->item, all->n, all->cap) = this;
	}
	return all->n - before;
}
