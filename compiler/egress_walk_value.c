/* SPDX-License-Identifier: MIT */
/* The values of a walk: what programs load, store, ask helpers for and compute. */
#include "compiler/egress_walker.h"

#include <string.h>

#include "bpf/arena.h"

/* --- memory --------------------------------------------------------------- */

static unsigned size_of(uint8_t code)
{
	static const uint8_t size[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };

	return size[BPF_SIZE(code) >> 3];
}

struct memory *walk_own(struct walker *k, struct state *s)
{
	struct memory *own;

	if (!s->shared)
		return s->memory;
	own = k->unused;
	if (own)
		k->unused = own->next;
	else
		own = ARENA_ARRAY(k->w->arena, 1, struct memory);
	*own = *s->memory;
	s->memory = own;
	s->shared = false;
	return own;
}

bool walk_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool all_constant(const struct walk_byte *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (at[i].variable != WALK_CONSTANT)
			return false;
	return true;
}

static struct value read_number(const struct walk_byte *at, unsigned n)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value |= (uint64_t)at[i].value << 8 * i;
	return walk_make_number(value);
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
	if (first == last || at[first].variable == WALK_UNKNOWN || at[first].variable == WALK_CONSTANT)
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
	uint32_t word;

	if (offset < 0 || offset + size > m->spec.value_size || offset & (size - 1))
		return false;
	if (size == sizeof word) {
		memcpy(&word, m->value + offset, sizeof word);
		value = word;
	} else {
		memcpy(&value, m->value + offset, size);
	}
	*out = walk_make_number(value);
	return true;
}

/* A field of the context: as it was, or as the program has written it. */
static bool load_context(const struct walker *k, const struct state *s, int64_t offset, unsigned size, struct value *to)
{
	const struct walk *w = k->w;

	if (offset < 0 || (size_t)offset + size > w->ctx_size || offset % size)
		return false;
	for (size_t i = 0; i < s->memory->nwrites; i++) {
		const struct walk_write *x = &s->memory->write[i];

		if (x->at == offset && x->size == size) {
			*to = walk_make_number(x->value);
			return true;
		}
		if (offset < x->at + x->size && x->at < offset + size)
			return false;
	}
	return read_bytes(w, w->ctx + offset, size, to);
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

static bool load(const struct walker *k, struct state *s, const struct bpf_insn *insn)
{
	const struct value *from = &s->reg[insn->src_reg];
	const unsigned size = size_of(insn->code);
	const int64_t offset = from->add + insn->off;
	struct value *to = &s->reg[insn->dst_reg];

	switch (from->kind) {
	case PACKET:
		/* So many bytes are known to be there; the interpreter says where the kernel wants them (bpf/ebpf.c). */
		if (offset < 0 || (walk_number)(offset + size) > k->now.lo[WALK_LENGTH] ||
		    (size_t)offset + size > k->w->packet_size || (offset + 2) % size)
			return false;
		return read_bytes(k->w, k->w->packet + offset, size, to);
	case CONTEXT:
		return load_packet_pointer(k->w, offset, size, to) || load_context(k, s, offset, size, to);
	case STACK:
		if (offset < -STACK_SIZE || offset + size > 0 || offset % size)
			return false;
		return read_bytes(k->w, s->memory->stack + STACK_SIZE + offset, size, to);
	case TABLE:
		return load_table(k->w, from, offset, size, to);
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
	if (v->kind != FIELD || v->add || v->negative || v->left || v->width % 8 || bytes > size ||
	    v->variable == WALK_FLAGS)
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

/* Only constants are written to the context, each to a place of its own. */
static bool store_context(struct walker *k, struct state *s, int64_t at, unsigned size, const struct value *v)
{
	struct memory *m;
	size_t i = 0;

	if (v->kind != NUMBER || at < 0 || (size_t)at + size > k->w->ctx_size || at % size)
		return false;
	m = walk_own(k, s);
	while (i < m->nwrites && (m->write[i].at + m->write[i].size <= at || at + size <= m->write[i].at))
		i++;
	if (i == MAX_WRITES || (i < m->nwrites && (m->write[i].at != at || m->write[i].size != size)))
		return false;
	m->write[i] = (struct walk_write){ at, size, (uint64_t)v->add };
	m->nwrites += i == m->nwrites;
	return true;
}

/* From the first byte to the last that a judgement writes, whatever lies between. */
static void note_stack(struct walker *k, uint16_t at, unsigned size)
{
	const uint16_t end = (uint16_t)(at + size);

	if (k->stack_from == k->stack_to || at < k->stack_from)
		k->stack_from = at;
	if (end > k->stack_to)
		k->stack_to = end;
}

static bool store(struct walker *k, struct state *s, const struct bpf_insn *insn)
{
	const struct value constant = walk_make_number((uint64_t)(int64_t)insn->imm);
	struct value v = BPF_CLASS(insn->code) == BPF_ST ? constant : s->reg[insn->src_reg];
	const struct value *to = &s->reg[insn->dst_reg];
	const unsigned size = size_of(insn->code);
	const int64_t offset = to->add + insn->off;

	if (BPF_MODE(insn->code) != BPF_MEM)
		return false;
	if (to->kind == CONTEXT) {
		walk_pin(k, &v);
		return store_context(k, s, offset, size, &v);
	}
	if (to->kind != STACK || offset < -STACK_SIZE || offset + size > 0 || offset % size)
		return false;
	note_stack(k, (uint16_t)(STACK_SIZE + offset), size);
	return write_bytes(k->w, &v, size, walk_own(k, s)->stack + STACK_SIZE + offset);
}

/* --- calls ---------------------------------------------------------------- */

static void leave_helper(struct state *s, uint64_t result)
{
	s->reg[BPF_REG_0] = walk_make_number(result);
	for (int r = BPF_REG_1; r <= BPF_REG_5; r++)
		s->reg[r].kind = UNSET;
}

uint64_t walk_needed(const struct walker *k, const struct state *s)
{
	const struct value *offset = &s->reg[BPF_REG_2], *to = &s->reg[BPF_REG_3], *size = &s->reg[BPF_REG_4];
	uint64_t needed;

	if (s->reg[BPF_REG_1].kind != CONTEXT || s->reg[BPF_REG_1].add || offset->kind != NUMBER || to->kind != STACK ||
	    size->kind != NUMBER || size->add <= 0 || size->add > STACK_SIZE || to->add < -STACK_SIZE ||
	    to->add + size->add > 0 || offset->add < 0 || offset->add > UINT16_MAX)
		return 0;
	needed = (uint64_t)offset->add + (uint64_t)size->add;
	return needed <= k->w->packet_size ? needed : 0;
}

bool walk_load_packet(struct walker *k, struct state *s, bool there)
{
	const int64_t offset = s->reg[BPF_REG_2].add, to = s->reg[BPF_REG_3].add, size = s->reg[BPF_REG_4].add;
	struct walk_byte *at = walk_own(k, s)->stack + STACK_SIZE + to;

	note_stack(k, (uint16_t)(STACK_SIZE + to), (unsigned)size);
	for (int64_t i = 0; i < size; i++)
		at[i] = there ? k->w->packet[offset + i] : (struct walk_byte){ WALK_CONSTANT, 0 };
	leave_helper(s, there ? 0 : (uint64_t)-14);
	return true;
}

/* Of maps that programs write to, only that they are empty. */
static bool call(const struct walk *w, struct state *s, int32_t helper)
{
	const struct value *map = &s->reg[BPF_REG_1];

	/* Some socket; which one makes no difference where maps are empty. */
	if (helper == BPF_FUNC_get_socket_cookie && map->kind == CONTEXT) {
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

uint64_t walk_swap(uint64_t n, int bits)
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
	*d = walk_make_number(narrow ? (uint32_t)result : result);
	return true;
}

/* A field in network order, and nothing else that was done to it but that it was moved. */
static bool is_swapped(const struct value *v)
{
	return v->kind == FIELD && v->swapped && !v->negative && !v->add && !v->scattered;
}

/* Two in network order: what lies higher in the variable lies lower in the number. */
static bool join_swapped(struct value *d, const struct value *high, const struct value *low)
{
	struct value joined = *low;

	if (low->left || high->left != low->width || low->shift != high->shift + high->width || low->width % 8 ||
	    high->width % 8)
		return false;
	joined.shift = high->shift;
	joined.width = (uint8_t)(low->width + high->width);
	*d = joined;
	return true;
}

/* Two fields that lie beside each other, in the variable and in the number. */
static bool join(struct value *d, const struct value *v)
{
	const struct value *high = d->left > v->left ? d : v, *low = high == d ? v : d;
	struct value joined = *low;

	if (is_swapped(d) && is_swapped(v) && d->variable == v->variable && d->variable != WALK_FLAGS)
		return join_swapped(d, high, low);
	if (!is_plain(d) || !is_plain(v) || d->variable != v->variable || d->variable == WALK_FLAGS ||
	    high->left != low->left + low->width || high->shift != low->shift + low->width)
		return false;
	joined.width = (uint8_t)(low->width + high->width);
	*d = joined;
	return true;
}

static bool shift_field(struct value *d, unsigned op, unsigned by)
{
	if (!is_plain(d) && !(op == BPF_LSH && is_swapped(d)))
		return false;
	if (op == BPF_LSH) {
		d->left = (uint8_t)(d->left + by);
		return d->left + d->width <= 64;
	}
	if (d->left)
		return false;
	if (by >= d->width) {
		*d = walk_make_number(0);
		return true;
	}
	d->shift = (uint8_t)(d->shift + by);
	d->width = (uint8_t)(d->width - by);
	return true;
}

/* A mask takes a run of bits, which stays where it is. */
static bool mask_field(struct value *d, uint64_t mask)
{
	const unsigned low = mask ? (unsigned)__builtin_ctzll(mask) : 0;
	const uint64_t run = mask >> low;
	unsigned bits;

	if (d->swapped && d->width == 16 && !d->negative && !d->add && !d->left) {
		/* Of a number in network order: what its low bits are, which are not moved; nothing but 0 is told apart. */
		const uint64_t own = walk_swap(mask & UINT16_MAX, 16);

		d->width = own ? (uint8_t)(64 - __builtin_clzll(own)) : 0;
		return own && !(own & (own + 1)) && d->width < 16 && d->width != 8;
	}
	if (d->variable == WALK_FLAGS && is_plain(d)) {
		d->scattered = true;
		d->width = 2;
		return mask == WALK_FLAGS_MASK && !d->shift && !d->left;
	}
	if (!is_plain(d) || d->left || !mask || (run & (run + 1)) || low >= d->width)
		return false;
	bits = 64 - (unsigned)__builtin_clzll(run);
	d->width = (uint8_t)(d->width - low);
	d->width = bits < d->width ? (uint8_t)bits : d->width;
	d->shift = (uint8_t)(d->shift + low);
	d->left = (uint8_t)low;
	return true;
}

/* A field and a number; what is carried beyond 64 bits is lost, as it is there. */
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
	if (narrow || d->scattered || d->variable == WALK_FLAGS)
		return false;
	if (op == BPF_LSH || op == BPF_RSH)
		return shift_field(d, op, (unsigned)right);
	if (d->swapped)
		return false;
	if (d->left || d->width > 63)
		return false;
	if (op == BPF_ADD)
		d->add = (int64_t)((uint64_t)d->add + right);
	if (op == BPF_SUB)
		d->add = (int64_t)((uint64_t)d->add - right);
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
	if (d->kind != NUMBER || v->swapped || v->scattered || v->variable == WALK_FLAGS || v->left || v->width > 63 ||
	    (op != BPF_ADD && op != BPF_SUB))
		return false;
	/* A number plus a field, or less one. */
	other = *v;
	other.negative = op == BPF_SUB ? !v->negative : v->negative;
	other.add = (int64_t)((uint64_t)d->add + (op == BPF_SUB ? -(uint64_t)v->add : (uint64_t)v->add));
	*d = other;
	return true;
}

void walk_pin(const struct walker *k, struct value *v)
{
	walk_number lo;
	uint64_t n;

	if (v->kind != FIELD || k->now.lo[v->variable] != k->now.hi[v->variable] ||
	    (v->variable == WALK_FLAGS && !v->scattered))
		return;
	lo = k->now.lo[v->variable];
	n = (uint64_t)(lo >> v->shift);
	if (v->width < 64)
		n &= ((uint64_t)1 << v->width) - 1;
	if (v->scattered)
		n = (n & 1) * (WALK_FLAGS_MASK & 0xf) | (n >> 1) * (WALK_FLAGS_MASK & 0xf0);
	if (v->swapped)
		n = walk_swap(n, v->width <= 16 ? 16 : v->width);
	n <<= v->left;
	*v = walk_make_number((uint64_t)v->add + (v->negative ? -n : n));
}

static bool alu(const struct walker *k, struct state *s, const struct bpf_insn *insn)
{
	const bool narrow = BPF_CLASS(insn->code) == BPF_ALU;
	const uint64_t right = narrow ? (uint32_t)insn->imm : (uint64_t)(int64_t)insn->imm;
	struct value *d = &s->reg[insn->dst_reg];

	if (BPF_OP(insn->code) == BPF_MOV && BPF_SRC(insn->code) == BPF_K) {
		*d = walk_make_number(right);
		return true;
	}
	if (BPF_OP(insn->code) == BPF_MOV) {
		*d = s->reg[insn->src_reg];
		return !narrow && d->kind != UNSET;
	}
	if (BPF_OP(insn->code) == BPF_END && d->kind == NUMBER) {
		*d = walk_make_number(walk_swap((uint64_t)d->add, insn->imm));
		return true;
	}
	if (BPF_OP(insn->code) == BPF_END) {
		d->swapped = !d->swapped;
		return d->kind == FIELD && d->width == insn->imm && !d->left && !d->add && !d->negative;
	}
	walk_pin(k, d);
	if (BPF_SRC(insn->code) == BPF_X) {
		walk_pin(k, &s->reg[insn->src_reg]);
		return alu_register(insn, d, &s->reg[insn->src_reg]);
	}
	if (d->kind == NUMBER)
		return compute_numbers(insn, d, right);
	if ((d->kind == STACK || d->kind == TABLE || d->kind == PACKET) &&
	    insn->code == (BPF_ALU64 | BPF_ADD | BPF_K)) {
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
		*d = (struct value){ .kind = MAP, .map = (uint16_t)first };
		return first < w->nmaps;
	}
	if (insn->src_reg == BPF_PSEUDO_MAP_VALUE) {
		*d = (struct value){ .kind = TABLE, .map = (uint16_t)second, .add = first };
		return second < w->nmaps && w->map[second].spec.flags & BPF_F_RDONLY_PROG;
	}
	*d = walk_make_number(first | (uint64_t)second << 32);
	return true;
}

void walk_note_written(struct walker *k, const struct state *s, unsigned reg)
{
	if (!s->frame || reg <= BPF_REG_5)
		k->written |= (uint16_t)(1u << reg);
}

bool walk_step(struct walker *k, struct state *s, const struct bpf_insn *insn)
{
	walk_note_written(k, s, insn->dst_reg);
	if (BPF_CLASS(insn->code) == BPF_JMP)
		k->written |= CALL_LOSES;
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return wide_load(k->w, s, insn);
	case BPF_LDX:
		return load(k, s, insn);
	case BPF_ST:
	case BPF_STX:
		return store(k, s, insn);
	case BPF_JMP:
		return call(k->w, s, insn->imm);
	default:
		return alu(k, s, insn);
	}
}
