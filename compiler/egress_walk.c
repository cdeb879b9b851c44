/* SPDX-License-Identifier: MIT */
/*
 * The walk.  A value is a number, a pointer, or a field of a variable: bits [shift, shift + width) of it, moved
 * left, then added to a number or taken from one; or, while it is in network order, with its bytes swapped.
 * That is all that programs make of what they decide by before they compare it.
 */
#include "compiler/egress_walk.h"

#include <stdlib.h>
#include <string.h>

enum { STACK_SIZE = 128, UNSET_BYTE = 0xff, MAX_PEELS = 8, UNDECIDED = 2 };

enum kind { UNSET, NUMBER, FIELD, CONTEXT, STACK, MAP, TABLE, PACKET, PACKET_END };

struct value {
	uint8_t kind;
	uint8_t variable, shift, width, left;
	bool swapped, negative;
	uint32_t map;
	int64_t add; /* NUMBER: itself; pointers: the offset */
};

struct state {
	struct value reg[MAX_BPF_REG];
	struct walk_byte stack[STACK_SIZE];
	walk_number lo[WALK_VARIABLES], hi[WALK_VARIABLES];
	bool rewritten;
	unsigned peels;
};

struct walker {
	const struct walk *w;
	const uint8_t *decided; /* by instruction: the answer of all that goes on from there, or UNDECIDED */
};

/* --- what is decided ------------------------------------------------------ */

static bool is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_conditional(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_JA && op != BPF_CALL && op != BPF_EXIT;
}

static uint8_t decided_at(const struct bpf_insn *insn, size_t n, size_t at, const uint8_t *decided)
{
	const struct bpf_insn *i = &insn[at];
	size_t next = at + (is_wide(i) ? 2 : 1);

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

/* All jumps go forward: what comes after an instruction is known before it. */
static uint8_t *find_decided(const struct hook_program *p)
{
	uint8_t *decided = malloc(p->n + 1);

	if (!decided)
		return NULL;
	memset(decided, UNDECIDED, p->n + 1);
	for (size_t at = p->n; at-- > 0;)
		decided[at] = decided_at(p->insn, p->n, at, decided);
	return decided;
}

/* --- memory --------------------------------------------------------------- */

static unsigned size_of(uint8_t code)
{
	static const uint8_t size[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };

	return size[BPF_SIZE(code) >> 3];
}

static bool all_constant(const struct walk_byte *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (at[i].variable != WALK_CONSTANT)
			return false;
	return true;
}

static struct value number(uint64_t n)
{
	return (struct value){ .kind = NUMBER, .add = (int64_t)n };
}

static struct value read_number(const struct walk_byte *at, unsigned n)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value |= (uint64_t)at[i].value << 8 * i;
	return number(value);
}

/*
 * Bytes of one variable, one after the other: most significant first, with zeroes before the first or after the
 * last; or least significant first.
 */
static bool read_field(const struct walk *w, const struct walk_byte *at, unsigned n, struct value *out)
{
	unsigned first = 0, last = n;
	bool swapped;

	while (first < n && at[first].variable == WALK_CONSTANT && !at[first].value)
		first++;
	while (last > first && at[last - 1].variable == WALK_CONSTANT && !at[last - 1].value)
		last--;
	if (first == last || at[first].variable == UNSET_BYTE)
		return false;
	swapped = last - first > 1 && at[first].value > at[first + 1].value;
	for (unsigned i = first; i < last; i++)
		if (at[i].variable != at[first].variable ||
		    at[i].value != (swapped ? at[first].value - 8 * (i - first) : at[first].value + 8 * (i - first)))
			return false;
	*out = (struct value){ .kind = FIELD, .variable = at[first].variable, .swapped = swapped,
			       .shift = at[swapped ? last - 1 : first].value, .width = (uint8_t)(8 * (last - first)) };
	if (!swapped)
		return first == 0; /* zeroes above say nothing */
	/* Zeroes before the first byte are those of a number that is longer than the variable. */
	if (first && last == n && at[first].value + 8u == w->bits[at[first].variable])
		out->width = (uint8_t)(8 * n);
	return first == 0 || out->width == 8 * n;
}

static bool read_bytes(const struct walk *w, const struct walk_byte *at, unsigned n, struct value *out)
{
	if (all_constant(at, n)) {
		*out = read_number(at, n);
		return true;
	}
	return read_field(w, at, n, out);
}

static bool load_table(const struct walk *w, const struct value *from, int64_t offset, unsigned size, struct value *out)
{
	const struct ebpf_map *m = &w->map[from->map];
	uint64_t value = 0;

	if (offset < 0 || offset + size > m->spec.value_size || offset % size)
		return false;
	memcpy(&value, m->value + offset, size);
	*out = number(value);
	return true;
}

/* Where a packet begins and ends is in its context; what is read there are pointers. */
static bool load_packet_pointer(const struct walk *w, int64_t field, unsigned size, struct value *to)
{
	const bool end = field == (int64_t)offsetof(struct __sk_buff, data_end);

	if (!w->packet_size || size != 4 || (!end && field != (int64_t)offsetof(struct __sk_buff, data)))
		return false;
	*to = (struct value){ .kind = end ? PACKET_END : PACKET };
	return true;
}

static bool load(const struct walk *w, struct state *s, const struct bpf_insn *insn)
{
	const struct value *from = &s->reg[insn->src_reg];
	const unsigned size = size_of(insn->code);
	const int64_t offset = from->add + insn->off;
	struct value *to = &s->reg[insn->dst_reg];

	switch (from->kind) {
	case PACKET:
		if (offset < 0 || (size_t)offset + size > w->packet_size || (offset + 2) % size)
			return false;
		return read_bytes(w, w->packet + offset, size, to);
	case CONTEXT:
		if (load_packet_pointer(w, offset, size, to))
			return true;
		if (s->rewritten || offset < 0 || (size_t)offset + size > w->ctx_size || offset % size)
			return false;
		return read_bytes(w, w->ctx + offset, size, to);
	case STACK:
		if (offset < -STACK_SIZE || offset + size > 0 || offset % size)
			return false;
		return read_bytes(w, s->stack + STACK_SIZE + offset, size, to);
	case TABLE:
		return load_table(w, from, offset, size, to);
	default:
		return false;
	}
}

/* The bytes of a value as they stand in memory. */
static bool write_bytes(const struct walk *w, const struct value *v, unsigned size, struct walk_byte *at)
{
	unsigned bytes = v->width / 8;

	if (v->kind == NUMBER) {
		for (unsigned i = 0; i < size; i++)
			at[i] = (struct walk_byte){ WALK_CONSTANT, (uint8_t)((uint64_t)v->add >> 8 * i) };
		return true;
	}
	if (v->kind != FIELD || v->add || v->negative || v->left || v->width % 8 || bytes > size)
		return false;
	for (unsigned i = 0; i < size; i++) {
		unsigned shift = v->shift + 8 * (v->swapped ? bytes - 1 - i : i);

		if (i >= bytes || shift >= w->bits[v->variable])
			at[i] = (struct walk_byte){ WALK_CONSTANT, 0 };
		else
			at[i] = (struct walk_byte){ v->variable, (uint8_t)shift };
	}
	return true;
}

static bool store(const struct walk *w, struct state *s, const struct bpf_insn *insn)
{
	const struct value constant = number((uint64_t)(int64_t)insn->imm);
	const struct value *v = BPF_CLASS(insn->code) == BPF_ST ? &constant : &s->reg[insn->src_reg];
	const struct value *to = &s->reg[insn->dst_reg];
	const unsigned size = size_of(insn->code);
	const int64_t offset = to->add + insn->off;

	if (BPF_MODE(insn->code) != BPF_MEM)
		return false;
	if (to->kind == CONTEXT) {
		s->rewritten = true;
		return v->kind == NUMBER && offset >= 0 && (size_t)offset + size <= w->ctx_size;
	}
	return to->kind == STACK && offset >= -STACK_SIZE && offset + size <= 0 && offset % size == 0 &&
	       write_bytes(w, v, size, s->stack + STACK_SIZE + offset);
}

/* --- calls ---------------------------------------------------------------- */

static void leave_helper(struct state *s, uint64_t result)
{
	s->reg[BPF_REG_0] = number(result);
	for (int r = BPF_REG_1; r <= BPF_REG_5; r++)
		s->reg[r].kind = UNSET;
}

static bool load_packet(const struct walk *w, struct state *s)
{
	const struct value *offset = &s->reg[BPF_REG_2], *to = &s->reg[BPF_REG_3], *size = &s->reg[BPF_REG_4];
	bool inside;

	if (s->reg[BPF_REG_1].kind != CONTEXT || offset->kind != NUMBER || to->kind != STACK || size->kind != NUMBER ||
	    size->add <= 0 || to->add < -STACK_SIZE || to->add + size->add > 0 || offset->add < 0)
		return false;
	inside = (uint64_t)offset->add + (uint64_t)size->add <= w->packet_size;
	for (int64_t i = 0; i < size->add; i++)
		s->stack[STACK_SIZE + to->add + i] =
			inside ? w->packet[offset->add + i] : (struct walk_byte){ WALK_CONSTANT, 0 };
	leave_helper(s, inside ? 0 : (uint64_t)-14);
	return true;
}

/* Of maps that programs write to, only that they are empty. */
static bool call(const struct walk *w, struct state *s, int32_t helper)
{
	const struct value *map = &s->reg[BPF_REG_1];

	if (helper == BPF_FUNC_skb_load_bytes)
		return load_packet(w, s);
	/* Some socket; which one makes no difference where maps are empty. */
	if (helper == BPF_FUNC_get_socket_cookie) {
		leave_helper(s, 1);
		return true;
	}
	if (helper != BPF_FUNC_map_lookup_elem || map->kind != MAP || w->map[map->map].spec.type == BPF_MAP_TYPE_ARRAY ||
	    w->map[map->map].n)
		return false;
	leave_helper(s, 0);
	return true;
}

/* --- computing ------------------------------------------------------------ */

static uint64_t swap(uint64_t n, int bits)
{
	return bits == 16 ? __builtin_bswap16((uint16_t)n) :
	       bits == 32 ? __builtin_bswap32((uint32_t)n) :
			    __builtin_bswap64(n);
}

static bool compute_numbers(const struct bpf_insn *insn, struct value *d, uint64_t right)
{
	const bool narrow = BPF_CLASS(insn->code) == BPF_ALU;
	uint64_t left = narrow ? (uint32_t)d->add : (uint64_t)d->add, result;

	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		result = left + right;
		break;
	case BPF_SUB:
		result = left - right;
		break;
	case BPF_MUL:
		result = left * right;
		break;
	case BPF_AND:
		result = left & right;
		break;
	case BPF_OR:
		result = left | right;
		break;
	case BPF_XOR:
		result = left ^ right;
		break;
	case BPF_LSH:
		result = left << right;
		break;
	case BPF_RSH:
		result = left >> right;
		break;
	case BPF_ARSH:
		result = narrow ? (uint64_t)((int32_t)left >> right) : (uint64_t)((int64_t)left >> right);
		break;
	default:
		return false;
	}
	*d = number(narrow ? (uint32_t)result : result);
	return true;
}

static bool is_plain(const struct value *v)
{
	return v->kind == FIELD && !v->swapped && !v->negative && !v->add;
}

/* Two fields that lie beside each other, in the variable and in the number. */
static bool join(struct value *d, const struct value *v)
{
	const struct value *high = d->left > v->left ? d : v, *low = high == d ? v : d;
	struct value joined = *low;

	if (!is_plain(d) || !is_plain(v) || d->variable != v->variable || high->left != low->left + low->width ||
	    high->shift != low->shift + low->width)
		return false;
	joined.width = (uint8_t)(low->width + high->width);
	*d = joined;
	return true;
}

static bool shift_field(struct value *d, unsigned op, unsigned by)
{
	if (!is_plain(d))
		return false;
	if (op == BPF_LSH) {
		d->left = (uint8_t)(d->left + by);
		return d->left + d->width <= 64;
	}
	if (d->left)
		return false;
	if (by >= d->width) {
		*d = number(0);
		return true;
	}
	d->shift = (uint8_t)(d->shift + by);
	d->width = (uint8_t)(d->width - by);
	return true;
}

static bool mask_field(struct value *d, uint64_t mask)
{
	unsigned bits = mask ? 64 - (unsigned)__builtin_clzll(mask) : 0;

	if (!is_plain(d) || d->left || !mask || (mask & (mask + 1)))
		return false;
	d->width = bits < d->width ? (uint8_t)bits : d->width;
	return true;
}

/* A field and a number. */
static bool compute_field(const struct bpf_insn *insn, struct value *d, uint64_t right)
{
	const unsigned op = BPF_OP(insn->code);
	const bool narrow = BPF_CLASS(insn->code) == BPF_ALU;

	/* All bits inverted: what is missing to the greatest number. */
	if (op == BPF_XOR && narrow && right == UINT32_MAX && is_plain(d) && d->width == 32 && !d->left) {
		d->negative = true;
		d->add = UINT32_MAX;
		return true;
	}
	if (op == BPF_AND)
		return mask_field(d, right);
	if (narrow || d->swapped)
		return false;
	if (op == BPF_LSH || op == BPF_RSH)
		return shift_field(d, op, (unsigned)right);
	if (d->left || d->width > 63)
		return false;
	d->add += op == BPF_ADD ? (int64_t)right : op == BPF_SUB ? -(int64_t)right : 0;
	return op == BPF_ADD || op == BPF_SUB;
}

static bool alu_register(const struct bpf_insn *insn, struct value *d, const struct value *v)
{
	const unsigned op = BPF_OP(insn->code);
	struct value other;

	if (v->kind == NUMBER && d->kind == NUMBER)
		return compute_numbers(insn, d, (uint64_t)v->add);
	if (v->kind == NUMBER && (d->kind == STACK || d->kind == TABLE) && insn->code == (BPF_ALU64 | BPF_ADD | BPF_X)) {
		d->add += v->add;
		return true;
	}
	if (v->kind == NUMBER && d->kind == FIELD)
		return compute_field(insn, d, (uint64_t)v->add);
	if (v->kind != FIELD || BPF_CLASS(insn->code) != BPF_ALU64)
		return false;
	if (op == BPF_OR && d->kind == FIELD)
		return join(d, v);
	if (d->kind != NUMBER || v->swapped || v->left || v->width > 63 || (op != BPF_ADD && op != BPF_SUB))
		return false;
	/* A number plus a field, or less one. */
	other = *v;
	other.negative = op == BPF_SUB ? !v->negative : v->negative;
	other.add = op == BPF_SUB ? d->add - v->add : d->add + v->add;
	*d = other;
	return true;
}

/* A field of a variable that is down to one value is a number. */
static void pin(const struct state *s, struct value *v)
{
	uint64_t n;

	if (v->kind != FIELD || s->lo[v->variable] != s->hi[v->variable])
		return;
	n = (uint64_t)(s->lo[v->variable] >> v->shift);
	if (v->width < 64)
		n &= ((uint64_t)1 << v->width) - 1;
	if (v->swapped)
		n = swap(n, v->width);
	n <<= v->left;
	*v = number((uint64_t)v->add + (v->negative ? -n : n));
}

static bool alu(struct state *s, const struct bpf_insn *insn)
{
	const bool narrow = BPF_CLASS(insn->code) == BPF_ALU;
	const uint64_t right = narrow ? (uint32_t)insn->imm : (uint64_t)(int64_t)insn->imm;
	struct value *d = &s->reg[insn->dst_reg];

	if (BPF_OP(insn->code) == BPF_MOV && BPF_SRC(insn->code) == BPF_K) {
		*d = number(right);
		return true;
	}
	if (BPF_OP(insn->code) == BPF_MOV) {
		*d = s->reg[insn->src_reg];
		return !narrow && d->kind != UNSET;
	}
	if (BPF_OP(insn->code) == BPF_END && d->kind == NUMBER) {
		*d = number(swap((uint64_t)d->add, insn->imm));
		return true;
	}
	if (BPF_OP(insn->code) == BPF_END) {
		d->swapped = !d->swapped;
		return d->kind == FIELD && d->width == insn->imm && !d->left && !d->add && !d->negative;
	}
	pin(s, d);
	if (BPF_SRC(insn->code) == BPF_X) {
		pin(s, &s->reg[insn->src_reg]);
		return alu_register(insn, d, &s->reg[insn->src_reg]);
	}
	if (d->kind == NUMBER)
		return compute_numbers(insn, d, right);
	if ((d->kind == STACK || d->kind == TABLE || d->kind == PACKET) && insn->code == (BPF_ALU64 | BPF_ADD | BPF_K)) {
		d->add += insn->imm;
		return true;
	}
	return d->kind == FIELD && compute_field(insn, d, right);
}

static bool wide_load(const struct walk *w, struct state *s, const struct bpf_insn *insn)
{
	const uint32_t first = (uint32_t)insn->imm, second = (uint32_t)insn[1].imm;
	struct value *d = &s->reg[insn->dst_reg];

	if (insn->src_reg == BPF_PSEUDO_MAP_FD) {
		*d = (struct value){ .kind = MAP, .map = first };
		return first < w->nmaps;
	}
	if (insn->src_reg == BPF_PSEUDO_MAP_VALUE) {
		*d = (struct value){ .kind = TABLE, .map = second, .add = first };
		return second < w->nmaps && w->map[second].spec.flags & BPF_F_RDONLY_PROG;
	}
	*d = number(first | (uint64_t)second << 32);
	return true;
}

/* --- cutting -------------------------------------------------------------- */

/* Parts of a variable's range for which a comparison comes out less, equal, and greater; empty where lo > hi. */
struct cut {
	walk_number lo[3], hi[3];
};

/* Whether the field only grows along the range: nothing above it changes. */
static bool grows(const struct state *s, const struct value *v)
{
	unsigned top = v->shift + v->width;

	return top >= 128 || s->lo[v->variable] >> top == s->hi[v->variable] >> top;
}

/* The first of the range for which the field is at least `at`; one beyond the range if there is none. */
static walk_number reaches(const struct state *s, const struct value *v, __int128 at)
{
	walk_number lo = s->lo[v->variable], hi = s->hi[v->variable], first;
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
static struct cut cut_range(const struct state *s, const struct value *v, __int128 with)
{
	const __int128 at = v->negative ? v->add - with : with - v->add;
	const walk_number equal = reaches(s, v, at), above = reaches(s, v, at + 1);
	const int less = v->negative ? 2 : 0;
	struct cut c;

	c.lo[less] = s->lo[v->variable];
	c.hi[less] = equal - 1;
	c.lo[1] = equal;
	c.hi[1] = above - 1;
	c.lo[2 - less] = above;
	c.hi[2 - less] = s->hi[v->variable];
	/* Where the range begins at 0 or ends at the last number, "one before" wraps round. */
	if (equal == s->lo[v->variable])
		c.lo[less] = 1, c.hi[less] = 0;
	if (above == equal)
		c.lo[1] = 1, c.hi[1] = 0;
	if (above == s->hi[v->variable] + 1)
		c.lo[2 - less] = 1, c.hi[2 - less] = 0;
	return c;
}

static enum walk_end follow(const struct walker *k, struct state *s, size_t at);

/*
 * Goes on at `at` with a part of the range, in a state of its own; `set`, if not NULL, becomes the value of a
 * register.
 */
static enum walk_end branch(const struct walker *k, const struct state *s, unsigned variable, walk_number lo,
			    walk_number hi, size_t at, int reg, uint64_t set)
{
	struct state part = *s;

	part.lo[variable] = lo;
	part.hi[variable] = hi;
	if (reg >= 0)
		part.reg[reg] = number(set);
	return follow(k, &part, at);
}

/* A field above which the variable changes: the range is cut where it does. */
static enum walk_end peel(const struct walker *k, struct state *s, const struct value *v, size_t at)
{
	unsigned top = v->shift + v->width, variable = v->variable;
	walk_number next = ((s->lo[variable] >> top) + 1) << top;
	enum walk_end end;

	if (++s->peels > MAX_PEELS)
		return WALK_LOST;
	end = branch(k, s, variable, s->lo[variable], next - 1, at, -1, 0);
	return end == WALK_DONE ? branch(k, s, variable, next, s->hi[variable], at, -1, 0) : end;
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

/* The number that a field in network order is compared with, in host order; false if it never equals it. */
static bool unswap(const struct value *v, uint64_t *with)
{
	if (v->width != 16 && v->width != 32)
		return false;
	if (*with >> v->width)
		return false;
	*with = swap(*with, v->width);
	return true;
}

/* Each part of the range, by what `outcome` says of it; parts beside each other with one outcome stay together. */
struct outcomes {
	size_t next[3]; /* where it goes on */
	uint64_t set[3]; /* or what the register becomes */
	int reg;
};

static enum walk_end go_on(const struct walker *k, struct state *s, const struct value *v, const struct cut *c,
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
static enum walk_end decide_field(const struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at,
				  const struct value *v, uint64_t with)
{
	const unsigned op = BPF_OP(insn->code);
	const size_t next = at + 1, target = next + (size_t)insn->off;
	struct outcomes o = { .reg = -1 };
	__int128 to;
	struct cut c;

	if (op == BPF_JSET || v->left || (v->swapped && op != BPF_JEQ && op != BPF_JNE))
		return WALK_LOST;
	if (BPF_CLASS(insn->code) == BPF_JMP32 ? v->width > 32 || (v->add && !v->negative) : v->width > 63)
		return WALK_LOST;
	if (!grows(s, v))
		return peel(k, s, v, at);
	to = v->swapped && !unswap(v, &with) ? -1 : (__int128)with;
	if (v->swapped && (v->add || v->negative))
		return WALK_LOST;
	c = cut_range(s, v, to);
	for (int order = 0; order < 3; order++)
		o.next[order] = truth(op, order) ? target : next;
	return go_on(k, s, v, &c, &o);
}

static enum walk_end decide(const struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at)
{
	const struct value *left = &s->reg[insn->dst_reg], *other = &s->reg[insn->src_reg];
	const bool narrow = BPF_CLASS(insn->code) == BPF_JMP32;
	uint64_t right = (uint64_t)(int64_t)insn->imm;
	const struct value v = *left;

	if (left->kind == PACKET && other->kind == PACKET_END && insn->code == (BPF_JMP | BPF_JGT | BPF_X))
		return follow(k, s, at + 1 + (left->add > (int64_t)k->w->packet_size ? (size_t)insn->off : 0));
	if (BPF_SRC(insn->code) == BPF_X) {
		if (other->kind != NUMBER)
			return WALK_LOST;
		right = (uint64_t)other->add;
	}
	if (narrow)
		right = (uint32_t)right;
	if (left->kind == NUMBER) {
		uint64_t number = narrow ? (uint32_t)left->add : (uint64_t)left->add;
		bool taken = compare_numbers(BPF_OP(insn->code), number, right);

		return follow(k, s, at + 1 + (taken ? (size_t)insn->off : 0));
	}
	return left->kind == FIELD ? decide_field(k, s, insn, at, &v, right) : WALK_LOST;
}

/* The sign of a difference: 1 if it is negative. */
static enum walk_end take_sign(const struct walker *k, struct state *s, const struct bpf_insn *insn, size_t at)
{
	const struct value v = s->reg[insn->dst_reg];
	const struct outcomes o = { { at + 1, at + 1, at + 1 }, { 1, 0, 0 }, insn->dst_reg };
	struct cut c;

	if (insn->imm != 63 || v.swapped || v.left || v.width > 63)
		return WALK_LOST;
	if (!grows(s, &v))
		return peel(k, s, &v, at);
	c = cut_range(s, &v, 0);
	return go_on(k, s, &v, &c, &o);
}

/* --- following ------------------------------------------------------------ */

static enum walk_end arrive(const struct walker *k, const struct state *s, bool allowed)
{
	struct walk_region r = { .allowed = allowed, .rewritten = s->rewritten };

	memcpy(r.lo, s->lo, sizeof r.lo);
	memcpy(r.hi, s->hi, sizeof r.hi);
	return k->w->visit(k->w->closure, &r) ? WALK_DONE : WALK_STOPPED;
}

static bool step(const struct walk *w, struct state *s, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return wide_load(w, s, insn);
	case BPF_LDX:
		return load(w, s, insn);
	case BPF_ST:
	case BPF_STX:
		return store(w, s, insn);
	case BPF_JMP:
		return call(w, s, insn->imm);
	default:
		return alu(s, insn);
	}
}

static enum walk_end follow(const struct walker *k, struct state *s, size_t at)
{
	const struct hook_program *p = k->w->program;

	while (at < p->n) {
		const struct bpf_insn *insn = &p->insn[at];

		if (k->decided[at] != UNDECIDED)
			return arrive(k, s, k->decided[at]);
		if (insn->code == (BPF_JMP | BPF_JA)) {
			at += 1 + (size_t)insn->off;
			continue;
		}
		if (is_conditional(insn))
			return decide(k, s, insn, at);
		if (insn->code == (BPF_JMP | BPF_EXIT)) {
			const struct value *v = &s->reg[BPF_REG_0];

			return v->kind == NUMBER && (uint64_t)v->add <= 1 ? arrive(k, s, v->add) : WALK_LOST;
		}
		if (insn->code == (BPF_ALU64 | BPF_RSH | BPF_K) && s->reg[insn->dst_reg].kind == FIELD &&
		    !is_plain(&s->reg[insn->dst_reg]))
			return take_sign(k, s, insn, at);
		if (!step(k->w, s, insn))
			return WALK_LOST;
		at += is_wide(insn) ? 2 : 1;
	}
	return WALK_LOST;
}

enum walk_end walk_program(const struct walk *w)
{
	struct state s = { .peels = 0 };
	uint8_t *decided = find_decided(w->program);
	const struct walker k = { w, decided };
	enum walk_end end;

	if (!decided)
		return WALK_LOST;
	for (size_t i = 0; i < STACK_SIZE; i++)
		s.stack[i].variable = UNSET_BYTE;
	s.reg[BPF_REG_1].kind = CONTEXT;
	s.reg[BPF_REG_10].kind = STACK;
	for (int i = WALK_ADDRESS; i < WALK_VARIABLES; i++)
		s.hi[i] = w->bits[i] == 128 ? ~(walk_number)0 : ((walk_number)1 << w->bits[i]) - 1;
	end = follow(&k, &s, 0);
	free(decided);
	return end;
}
