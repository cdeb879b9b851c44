/* SPDX-License-Identifier: MIT */
/* The walk: from one instruction to the next, and where a comparison cuts a range into parts. */
#include "compiler/egress_walker.h"

#include <linux/in.h>
#include <string.h>

#include "bpf/arena.h"

enum { MAX_PEELS = 8, UNDECIDED = 2 };

/* What the walk does at an instruction, beyond following it. */
enum { LOOKS = 1, KNOWN = 2, EXITS = 4, ENDS = 8 };

/* --- what is decided ------------------------------------------------------ */

static bool is_conditional(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_JA && op != BPF_CALL && op != BPF_EXIT;
}

static uint8_t decided_at(const struct bpf_insn *insn, size_t n, size_t at, const uint8_t *decided)
{
	const struct bpf_insn *i = &insn[at];
	size_t next = at + (walk_is_wide(i) ? 2 : 1);

	if (i->code == (BPF_JMP | BPF_EXIT) || next >= n)
		return UNDECIDED;
	if (i->code == (BPF_ALU | BPF_MOV | BPF_K) && i->dst_reg == BPF_REG_0 &&
	    insn[next].code == (BPF_JMP | BPF_EXIT))
		return i->imm == 0 || i->imm == 1 ? (uint8_t)i->imm : UNDECIDED;
	if (i->code == (BPF_JMP | BPF_JA))
		return decided[next + (size_t)i->off];
	if (is_conditional(i) && decided[next] != decided[next + (size_t)i->off])
		return UNDECIDED;
	return decided[next];
}

/* All jumps go forward: what comes after an instruction is known before it.  What functions return is no answer. */
static uint8_t *find_decided(const struct hook_program *p, struct arena *a)
{
	uint8_t *decided = ARENA_ARRAY(a, p->n + 1, uint8_t);

	memset(decided, UNDECIDED, p->n + 1);
	for (size_t at = p->n - p->shared; at-- > 0;)
		decided[at] = decided_at(p->insn, p->n, at, decided);
	return decided;
}

/* --- cutting -------------------------------------------------------------- */

/* Parts of a variable's range for which a comparison comes out less, equal, and greater; empty where lo > hi. */
struct cut {
	walk_number lo[3], hi[3];
};

/* Whether the field only grows along the range: nothing above it changes. */
static bool grows(const struct walker *k, const struct value *v)
{
	unsigned top = v->shift + v->width;

	return top >= 128 || k->now.lo[v->variable] >> top == k->now.hi[v->variable] >> top;
}

/* The first of the range for which the field is at least `at`; one beyond the range if there is none. */
static walk_number reaches(const struct walker *k, const struct value *v, __int128 at)
{
	walk_number lo = k->now.lo[v->variable], hi = k->now.hi[v->variable], first;
	unsigned top = v->shift + v->width;

	if (at <= 0)
		return lo;
	if (v->width < 127 && at >> v->width)
		return hi + 1;
	first = top >= 128 ? 0 : lo >> top << top;
	first += (walk_number)at << v->shift;
	return first < lo ? lo : first > hi ? hi + 1 : first;
}

/* Cuts the range by comparing the value with a number. */
static struct cut cut_range(const struct walker *k, const struct value *v, __int128 with)
{
	const __int128 at = v->negative ? v->add - with : with - v->add;
	const walk_number equal = reaches(k, v, at), above = reaches(k, v, at + 1);
	const int less = v->negative ? 2 : 0;
	struct cut c;

	c.lo[less] = k->now.lo[v->variable];
	c.hi[less] = equal - 1;
	c.lo[1] = equal;
	c.hi[1] = above - 1;
	c.lo[2 - less] = above;
	c.hi[2 - less] = k->now.hi[v->variable];
	/* Where the range begins at 0 or ends at the last number, "one before" wraps round. */
	if (equal == k->now.lo[v->variable])
		c.lo[less] = 1, c.hi[less] = 0;
	if (above == equal)
		c.lo[1] = 1, c.hi[1] = 0;
	if (above == k->now.hi[v->variable] + 1)
		c.lo[2 - less] = 1, c.hi[2 - less] = 0;
	return c;
}

static enum walk_end follow(struct walker *k, struct state *s, size_t at);

/* Goes on at `at` in a state of its own, which may be changed before. */
static struct state part_of(struct state *s)
{
	struct state part = *s;

	part.shared = true;
	return part;
}

/* A part has been followed to its ends: what it has stored for itself is of no use any more. */
static void forget(struct walker *k, const struct state *part)
{
	if (part->shared)
		return;
	part->memory->next = k->unused;
	k->unused = part->memory;
}

/*
 * Goes on at `at` with a part of the range, in a state of its own; `set`, if the register is one, becomes its value.
 */
static enum walk_end branch(struct walker *k, struct state *s, unsigned variable, walk_number lo, walk_number hi,
			    size_t at, int reg, uint64_t set)
{
	const walk_number old_lo = k->now.lo[variable], old_hi = k->now.hi[variable];
	struct state part = part_of(s);
	enum walk_end end;

	k->now.lo[variable] = lo;
	k->now.hi[variable] = hi;
	if (reg >= 0)
		part.reg[reg] = walk_make_number(set);
	end = follow(k, &part, at);
	forget(k, &part);
	k->now.lo[variable] = old_lo;
	k->now.hi[variable] = old_hi;
	return end;
}

enum walk_end walk_split(struct walker *k, struct state *s, const struct value *v, unsigned number, size_t at)
{
	const struct cut c = cut_range(k, v, number);

	for (int i = 0; i < 3; i++) {
		enum walk_end end;

		if (c.lo[i] > c.hi[i])
			continue;
		end = branch(k, s, v->variable, c.lo[i], c.hi[i], at, -1, 0);
		if (end != WALK_DONE)
			return end;
	}
	return WALK_DONE;
}

/* A field above which the variable changes: the range is cut where it does. */
static enum walk_end peel(struct walker *k, struct state *s, const struct value *v, size_t at)
{
	unsigned top = v->shift + v->width, variable = v->variable;
	walk_number next = ((k->now.lo[variable] >> top) + 1) << top;
	enum walk_end end;

	if (++s->peels > MAX_PEELS)
		return WALK_LOST;
	end = branch(k, s, variable, k->now.lo[variable], next - 1, at, -1, 0);
	return end == WALK_DONE ? branch(k, s, variable, next, k->now.hi[variable], at, -1, 0) : end;
}

static bool truth(unsigned op, int order)
{
	switch (op) {
	case BPF_JEQ:
		return order == 1;
	case BPF_JNE:
		return order != 1;
	case BPF_JGT:
		return order == 2;
	case BPF_JGE:
		return order >= 1;
	case BPF_JLT:
		return order == 0;
	default: /* BPF_JLE */
		return order <= 1;
	}
}

static bool compare_numbers(unsigned op, uint64_t left, uint64_t right)
{
	if (op == BPF_JSET)
		return (left & right) != 0;
	return truth(op, left < right ? 0 : left > right ? 2 : 1);
}

/* Comparisons are of numbers without a sign: what lies below zero would be a great one. */
static bool may_be_negative(const struct value *v)
{
	return v->add < (v->negative ? ((__int128)1 << v->width) - 1 : 0);
}

/* Whether a comparison of the value, with a number as such, says something of the variable. */
static bool is_comparable(const struct value *v, unsigned op, bool narrow)
{
	const bool moved = v->left || v->swapped || v->scattered;

	if (op == BPF_JSET || (v->variable == WALK_FLAGS && !v->scattered) || may_be_negative(v) || (v->swapped && v->left))
		return false;
	if (moved && ((op != BPF_JEQ && op != BPF_JNE) || v->add || v->negative))
		return false;
	return v->left + v->width <= (narrow ? 32 : 63) && !(narrow && v->add && !v->negative);
}

/* The number that the field equals where the value equals `with`: -1 if it never does; false if that is unknown. */
static bool number_of_field(const struct value *v, uint64_t with, __int128 *out)
{
	*out = (__int128)with;
	if (v->scattered)
		*out = with & ~(uint64_t)WALK_FLAGS_MASK ? -1 : (__int128)((with >> 1 & 1) | (with >> 4 & 1) << 1);
	else if (v->left)
		*out = with & (((uint64_t)1 << v->left) - 1) ? -1 : (__int128)(with >> v->left);
	else if (v->swapped && with)
		*out = with >> v->width ? -1 : (__int128)walk_swap(with, v->width);
	return !v->swapped || !with || v->width == 16 || v->width == 32;
}

/* Each part of the range, by what `outcome` says of it; parts beside each other with one outcome stay together. */
struct outcomes {
	size_t next[3]; /* where it goes on */
	uint64_t set[3]; /* or what the register becomes */
	int reg;
};

static enum walk_end go_on(struct walker *k, struct state *s, const struct value *v, const struct cut *c,
			   const struct outcomes *o)
{
	const unsigned variable = v->variable;
	const bool down = v->negative;

	for (int i = 0; i < 3;) {
		int order = down ? 2 - i : i, last = i;
		walk_number lo = c->lo[order], hi = c->hi[order];
		enum walk_end end;

		if (lo > hi) {
			i++;
			continue;
		}
		for (int j = i + 1; j < 3; j++) {
			int other = down ? 2 - j : j;

			if (c->lo[other] > c->hi[other])
				continue;
			if (o->next[other] != o->next[order] || o->set[other] != o->set[order])
				break;
			hi = c->hi[other];
			last = j;
		}
		end = branch(k, s, variable, lo, hi, o->next[order], o->reg, o->set[order]);
		if (end != WALK_DONE)
			return end;
		i = last + 1;
	}
	return WALK_DONE;
}

/* A field compared with a number. */
static enum walk_end decide_field(struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at,
				  const struct value *v, uint64_t with)
{
	const unsigned op = BPF_OP(insn->code);
	const size_t next = at + 1, target = next + (size_t)insn->off;
	struct outcomes o = { .reg = -1 };
	__int128 to;
	struct cut c;

	if (!is_comparable(v, op, BPF_CLASS(insn->code) == BPF_JMP32) || !number_of_field(v, with, &to))
		return WALK_LOST;
	if (!grows(k, v))
		return peel(k, s, v, at);
	c = cut_range(k, v, to);
	for (int order = 0; order < 3; order++)
		o.next[order] = truth(op, order) ? target : next;
	return go_on(k, s, v, &c, &o);
}

struct walk_operand walk_operand_of(const struct value *v)
{
	if (v->kind == NUMBER)
		return (struct walk_operand){ .width = 64, .number = (uint64_t)v->add };
	return (struct walk_operand){ v->variable, v->shift, v->width, 0 };
}

/* Goes on with what is found out by `at`; there has to be room for it. */
/* What a judgement has written to means nothing any more. */
static void lose(struct state *part, struct memory *m, const struct walk_known *by)
{
	for (int r = 0; r < MAX_BPF_REG; r++)
		if (by->clobbers >> r & 1)
			part->reg[r].kind = UNSET;
	for (size_t i = by->stack_from; i < by->stack_to; i++)
		m->stack[i] = (struct walk_byte){ WALK_UNKNOWN, 0 };
}

enum walk_end walk_with_facts(struct walker *k, struct state *s, const struct walk_fact *f, unsigned n,
			      const struct walk_known *by, size_t at)
{
	struct state part = part_of(s);
	struct memory *m = walk_own(k, &part);
	enum walk_end end;

	for (unsigned i = 0; i < n; i++)
		m->fact[m->nfacts++] = f[i];
	if (by)
		lose(&part, m, by);
	end = follow(k, &part, at);
	forget(k, &part);
	return end;
}

/* Two fields, which are equal or not. */
static enum walk_end decide_equality(struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at,
				     const struct value *v, const struct value *other)
{
	const bool same = v->swapped == other->swapped && v->width == other->width && v->width <= 32;
	const bool plain = !v->left && !v->add && !v->negative && !v->scattered && v->variable != WALK_FLAGS &&
			   !other->left && !other->add && !other->negative && !other->scattered &&
			   other->variable != WALK_FLAGS;
	struct walk_fact f = { .equality = true, .left = walk_operand_of(v), .right = walk_operand_of(other) };
	const unsigned op = BPF_OP(insn->code);

	enum walk_end end = WALK_DONE;

	if (!same || !plain || (op != BPF_JEQ && op != BPF_JNE) || s->memory->nfacts == MAX_FACTS)
		return WALK_LOST;
	for (int holds = 0; holds < 2 && end == WALK_DONE; holds++) {
		f.holds = holds;
		end = walk_with_facts(k, s, &f, 1, NULL, at + 1 + (truth(op, holds) ? (size_t)insn->off : 0));
	}
	return end;
}

/* A place in the packet, and its end: the packet is long enough, or it is not. */
static enum walk_end decide_length(struct walker *k, struct state *s, size_t needed, size_t there, size_t missing)
{
	const walk_number lo = k->now.lo[WALK_LENGTH], hi = k->now.hi[WALK_LENGTH];
	enum walk_end end = WALK_DONE;

	if (lo < needed)
		end = branch(k, s, WALK_LENGTH, lo, hi < needed ? hi : needed - 1, missing, -1, 0);
	if (end == WALK_DONE && hi >= needed)
		end = branch(k, s, WALK_LENGTH, lo < needed ? needed : lo, hi, there, -1, 0);
	return end;
}

static enum walk_end decide(struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at)
{
	const bool narrow = BPF_CLASS(insn->code) == BPF_JMP32;
	uint64_t right = (uint64_t)(int64_t)insn->imm;
	struct value v = s->reg[insn->dst_reg], other = s->reg[insn->src_reg];

	if (v.kind == PACKET || other.kind == PACKET_END) {
		if (v.kind != PACKET || other.kind != PACKET_END || insn->code != (BPF_JMP | BPF_JGT | BPF_X) || v.add < 0)
			return WALK_LOST;
		return decide_length(k, s, (size_t)v.add, at + 1, at + 1 + (size_t)insn->off);
	}
	if (BPF_SRC(insn->code) == BPF_X) {
		walk_pin(k, &v);
		walk_pin(k, &other);
		if (v.kind == FIELD && other.kind == FIELD)
			return decide_equality(k, s, insn, at, &v, &other);
		if (other.kind != NUMBER)
			return WALK_LOST;
		right = (uint64_t)other.add;
	}
	if (narrow)
		right = (uint32_t)right;
	if (v.kind == NUMBER) {
		uint64_t number = narrow ? (uint32_t)v.add : (uint64_t)v.add;
		bool taken = compare_numbers(BPF_OP(insn->code), number, right);

		return follow(k, s, at + 1 + (taken ? (size_t)insn->off : 0));
	}
	return v.kind == FIELD ? decide_field(k, s, insn, at, &v, right) : WALK_LOST;
}

/* Whether a field and a number make one of 63 bits and a sign, whatever the field is: nothing is carried beyond. */
static bool has_sign(const struct value *v)
{
	const __int128 most = ((__int128)1 << v->width) - 1;
	const __int128 lo = v->add - (v->negative ? most : 0), hi = v->add + (v->negative ? 0 : most);

	return lo >= INT64_MIN && hi <= INT64_MAX;
}

/* The sign of a difference: 1 if it is negative. */
static enum walk_end take_sign(struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at)
{
	const struct value v = s->reg[insn->dst_reg];
	const struct outcomes o = { { at + 1, at + 1, at + 1 }, { 1, 0, 0 }, insn->dst_reg };
	struct cut c;

	if (insn->imm != 63 || v.swapped || v.scattered || v.variable == WALK_FLAGS || v.left || v.width > 63 ||
	    !has_sign(&v))
		return WALK_LOST;
	if (!grows(k, &v))
		return peel(k, s, &v, at);
	c = cut_range(k, &v, 0);
	return go_on(k, s, &v, &c, &o);
}

/* --- following ------------------------------------------------------------ */

static enum walk_end arrive(const struct walker *k, const struct state *s, bool allowed)
{
	const struct walk_answer a = { .region = &k->now,
				       .allowed = allowed,
				       .fact = s->memory->fact,
				       .nfacts = s->memory->nfacts,
				       .write = s->memory->write,
				       .nwrites = s->memory->nwrites };

	return k->w->visit(k->w->closure, &a) ? WALK_DONE : WALK_STOPPED;
}

static bool find_exit(const struct judgement *j, size_t at, enum judged_exit *exit)
{
	for (int i = 0; i < JUDGED_EXITS; i++)
		if (j->exit[i] && j->exit[i] == at) {
			*exit = (enum judged_exit)i;
			return true;
		}
	return false;
}

static enum walk_end arrive_at_exit(struct walker *k, enum judged_exit exit)
{
	const struct walk_answer a = { .region = &k->now, .allowed = exit == JUDGED_YES, .exit = exit };

	k->exits |= (uint8_t)(1u << exit);
	return k->w->visit(k->w->closure, &a) ? WALK_DONE : WALK_STOPPED;
}

/* Whether nothing is left to be found out from here on: what allows does so at once, what refuses counts that. */
static bool is_final(struct walker *k, const struct state *s, size_t at)
{
	const struct bpf_insn *insn = &k->w->program->insn[at];

	if (k->decided[at] == UNDECIDED)
		return false;
	if (k->decided[at])
		return insn->code == (BPF_ALU | BPF_MOV | BPF_K) && insn->dst_reg == BPF_REG_0 &&
		       insn[1].code == (BPF_JMP | BPF_EXIT);
	if (!k->w->counts)
		return true;
	/* What leads there is followed too: it has to be what the kernel would load. */
	if (k->w->program->refusal && at != k->w->program->refusal)
		return false;
	if (insn->code == (BPF_JMP | BPF_JA) || s->reg[BPF_REG_6].kind != CONTEXT || s->reg[BPF_REG_6].add)
		return false;
	return k->w->counts(k->w->closure, at);
}

/* bpf_skb_load_bytes(): the packet is long enough, or it is not. */
static enum walk_end load_packet(struct walker *k, struct state *s, size_t at)
{
	const walk_number needed = walk_needed(k, s), lo = k->now.lo[WALK_LENGTH], hi = k->now.hi[WALK_LENGTH];
	enum walk_end end = WALK_DONE;

	if (!needed)
		return WALK_LOST;
	if (lo < needed) {
		struct state part = part_of(s);

		k->now.hi[WALK_LENGTH] = hi < needed ? hi : needed - 1;
		end = walk_load_packet(k, &part, false) ? follow(k, &part, at + 1) : WALK_LOST;
		forget(k, &part);
		k->now.hi[WALK_LENGTH] = hi;
	}
	if (end != WALK_DONE || hi < needed)
		return end;
	k->now.lo[WALK_LENGTH] = lo < needed ? needed : lo;
	end = walk_load_packet(k, s, true) ? follow(k, s, at + 1) : WALK_LOST;
	k->now.lo[WALK_LENGTH] = lo;
	return end;
}

static bool is_function_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

/* A function has its arguments, and nothing of its caller's; it calls none itself. */
static enum walk_end enter_function(struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at)
{
	struct frame frame = { .back = at + 1 };

	if (s->frame || insn->imm < 0)
		return WALK_LOST;
	memcpy(frame.reg, s->reg, sizeof frame.reg);
	s->reg[BPF_REG_0].kind = UNSET;
	for (int r = BPF_REG_6; r < MAX_BPF_REG; r++)
		s->reg[r].kind = UNSET;
	k->written |= CALL_LOSES;
	s->frame = &frame;
	return follow(k, s, at + 1 + (size_t)insn->imm);
}

static enum walk_end leave_function(struct walker *k, struct state *s)
{
	const struct frame *frame = s->frame;

	for (int r = BPF_REG_1; r <= BPF_REG_5; r++)
		s->reg[r].kind = UNSET;
	memcpy(&s->reg[BPF_REG_6], &frame->reg[BPF_REG_6], (MAX_BPF_REG - BPF_REG_6) * sizeof *frame->reg);
	s->frame = NULL;
	return s->reg[BPF_REG_0].kind == NUMBER ? follow(k, s, frame->back) : WALK_LOST;
}

static enum walk_end leave(const struct walker *k, const struct state *s)
{
	const struct value *v = &s->reg[BPF_REG_0];

	if (v->kind != NUMBER || (uint64_t)v->add > 1 || (!v->add && k->w->counts))
		return WALK_LOST;
	return arrive(k, s, v->add);
}

/* An instruction that is more than a step: where it goes on is found out. */
static enum walk_end follow_jump(struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at)
{
	if (is_conditional(insn))
		return decide(k, s, insn, at);
	if (is_function_call(insn))
		return enter_function(k, s, insn, at);
	if (insn->code == (BPF_JMP | BPF_EXIT) && s->frame)
		return leave_function(k, s);
	if (insn->code == (BPF_JMP | BPF_EXIT))
		return k->judgement ? WALK_LOST : leave(k, s);
	return load_packet(k, s, at);
}

static enum walk_end follow(struct walker *k, struct state *s, size_t at)
{
	const struct hook_program *p = k->w->program;
	enum judged_exit exit;
	enum walk_end end;

	while (at < p->n) {
		const struct bpf_insn *insn = &p->insn[at];
		const uint8_t does = k->does[at];

		if (does & EXITS && find_exit(k->judgement, at, &exit))
			return arrive_at_exit(k, exit);
		if (does & KNOWN && walk_known_judgement(k, s, at, &end))
			return end;
		if (does & LOOKS && is_final(k, s, at))
			return arrive(k, s, k->decided[at]);
		if (does & ENDS)
			return follow_jump(k, s, insn, at);
		if (insn->code == (BPF_JMP | BPF_JA)) {
			at += 1 + (size_t)insn->off;
			continue;
		}
		if (insn->code == (BPF_ALU64 | BPF_RSH | BPF_K) && s->reg[insn->dst_reg].kind == FIELD &&
		    !is_plain(&s->reg[insn->dst_reg])) {
			walk_note_written(k, s, insn->dst_reg);
			return take_sign(k, s, insn, at);
		}
		if (!walk_step(k, s, insn))
			return WALK_LOST;
		at += walk_is_wide(insn) ? 2 : 1;
	}
	return WALK_LOST;
}

/* --- from outside --------------------------------------------------------- */

static enum walk_end start(struct walker *k, struct state *s, size_t at)
{
	struct memory memory;

	for (size_t i = 0; i < STACK_SIZE; i++)
		memory.stack[i] = (struct walk_byte){ WALK_UNKNOWN, 0 };
	memory.nwrites = memory.nfacts = 0;
	s->memory = &memory;
	return follow(k, s, at);
}

/* Where known judgements begin; they are in order. */
static uint8_t *find_known(const struct walk *w, struct arena *a)
{
	uint8_t *known = w->nknown ? ARENA_ARRAY(a, w->program->n + 1, uint8_t) : NULL;

	for (size_t i = w->nknown; i-- > 0;)
		if (i < UINT8_MAX)
			known[w->known[i].judgement->at] = (uint8_t)(i + 1);
	return known;
}

/* Most instructions are just followed; this is asked of each once, not each time that the walk comes by. */
static uint8_t *find_does(const struct walker *k, struct arena *a)
{
	const struct hook_program *p = k->w->program;
	uint8_t *does = ARENA_ARRAY(a, p->n + 1, uint8_t);

	for (size_t at = 0; at < p->n; at += walk_is_wide(&p->insn[at]) ? 2 : 1) {
		const struct bpf_insn *i = &p->insn[at];

		if (is_conditional(i) || i->code == (BPF_JMP | BPF_EXIT) || is_function_call(i) ||
		    (i->code == (BPF_JMP | BPF_CALL) && i->imm == BPF_FUNC_skb_load_bytes))
			does[at] = ENDS;
		if (k->known && k->known[at])
			does[at] |= KNOWN;
		if (k->decided && k->decided[at] != UNDECIDED)
			does[at] |= LOOKS;
	}
	for (int i = 0; k->judgement && i < JUDGED_EXITS; i++)
		if (k->judgement->exit[i] && k->judgement->exit[i] < p->n)
			does[k->judgement->exit[i]] |= EXITS;
	return does;
}

enum walk_end walk_program(const struct walk *w)
{
	struct walker k = { .w = w, .now = w->inputs };
	struct state s = { .peels = 0 };
	enum walk_end end;

	k.decided = find_decided(w->program, w->arena);
	k.known = find_known(w, w->arena);
	k.does = find_does(&k, w->arena);
	s.reg[BPF_REG_1].kind = CONTEXT;
	s.reg[BPF_REG_10].kind = STACK;
	end = start(&k, &s, 0);
	return end;
}

/* All exits lie behind it, each in a place of its own. */
static bool is_sound(const struct walk *w, const struct judgement *j)
{
	for (int i = 0; i < JUDGED_EXITS; i++) {
		if (j->exit[i] && j->exit[i] <= j->at)
			return false;
		for (int k = 0; k < i; k++)
			if (j->exit[i] && j->exit[i] == j->exit[k])
				return false;
	}
	return j->at < w->program->n;
}

/* The registers that something is judged by. */
static void set_operands(struct state *s, const struct judgement *j)
{
	const struct value word = { .kind = FIELD, .variable = WALK_ADDRESS, .width = 32 };

	s->reg[BPF_REG_7] = (struct value){ .kind = FIELD, .variable = WALK_PORT, .width = 16 };
	s->reg[BPF_REG_10].kind = STACK;
	if (j->what == JUDGED_SOME_ADDRESS)
		s->reg[BPF_REG_1] = word;
	if (j->what >= JUDGED_SOME_PORT)
		return;
	s->reg[BPF_REG_0] = walk_make_number(j->proto == NET_TCP ? IPPROTO_TCP : IPPROTO_UDP);
	if (j->family == NET_V4)
		s->reg[BPF_REG_8] = word;
	for (uint8_t i = 0; j->family == NET_V6 && i < 4; i++) {
		s->reg[BPF_REG_2 + i] = word;
		s->reg[BPF_REG_2 + i].shift = (uint8_t)(96 - 32 * i);
	}
}

enum walk_end walk_judgement(const struct walk *w, const struct judgement *j, struct walk_known *out)
{
	struct walker k = { .w = w, .now = w->inputs, .judgement = j };
	struct state s = { .peels = 0 };
	enum walk_end end;

	if (!is_sound(w, j))
		return WALK_LOST;
	set_operands(&s, j);
	k.does = find_does(&k, w->arena);
	end = start(&k, &s, j->at);
	if (end == WALK_DONE)
		*out = (struct walk_known){ j, k.written, k.stack_from, k.stack_to, k.exits };
	return end;
}

void walk_begin(struct walk *w, struct arena *a, const struct hook_program *program)
{
	*w = (struct walk){ .arena = a, .program = program };
}

void walk_free(struct walk *w, enum walk_variable variable, unsigned bits)
{
	w->bits[variable] = (uint8_t)bits;
	w->inputs.lo[variable] = 0;
	w->inputs.hi[variable] = bits == 128 ? ~(walk_number)0 : ((walk_number)1 << bits) - 1;
}

void walk_lay(struct walk_byte *at, enum walk_variable variable, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (struct walk_byte){ (uint8_t)variable, (uint8_t)(8 * (bytes - 1 - i)) };
}

void walk_lay_host(struct walk_byte *at, enum walk_variable variable, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (struct walk_byte){ (uint8_t)variable, (uint8_t)(8 * i) };
}

void walk_lay_zero(struct walk_byte *at, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (struct walk_byte){ WALK_CONSTANT, 0 };
}

void walk_lay_unknown(struct walk_byte *at, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (struct walk_byte){ WALK_UNKNOWN, 0 };
}
