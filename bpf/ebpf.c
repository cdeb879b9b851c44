/* SPDX-License-Identifier: MIT */
/*
 * An interpreter of the part of eBPF that the egress programs use.  Values carry their kind, as in the
 * verifier: a number, the context, a place in the stack, a map, a place in a value of a map, or one in the packet.
 */
#include "bpf/vm.h"

#include <string.h>

#ifndef BPF_ATOMIC
#define BPF_ATOMIC 0xc0 /* linux/bpf.h since 5.12 */
#endif

enum { STACK_SIZE = 256, MAX_HELPER_SIZE = 64 };

/* Eight bytes of `written`. */
#define ALL_WRITTEN UINT64_C(0x0101010101010101)

enum kind { UNSET, NUMBER, CONTEXT, STACK, MAP, VALUE, PACKET, PACKET_END };

/* What a register of the kind VALUE points into. */
struct value {
	uint8_t *base;
	uint32_t size;
	bool read_only;
};

struct machine {
	/*
	 * STACK: bytes below the frame pointer, as a negative number.  MAP: its number.  VALUE: bytes from
	 * the beginning of the value.  PACKET: bytes from its beginning.
	 */
	uint64_t value[MAX_BPF_REG];
	uint8_t kind[MAX_BPF_REG];
	uint8_t stack[STACK_SIZE];
	uint8_t written[STACK_SIZE]; /* 1: the byte of the stack holds something; else 0 */
	struct value of[MAX_BPF_REG];
	uint64_t shown; /* so many bytes of the packet have been compared with its end; the verifier lets no more be read */
};

/* --- memory --------------------------------------------------------------- */

static inline unsigned size_of(uint8_t code)
{
	static const uint8_t size[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };

	return size[BPF_SIZE(code) >> 3];
}

static inline uint64_t read_memory(const void *from, unsigned size)
{
	uint16_t h;
	uint32_t w;
	uint64_t d;

	switch (size) {
	case 1:
		return *(const uint8_t *)from;
	case 2:
		memcpy(&h, from, sizeof h);
		return h;
	case 4:
		memcpy(&w, from, sizeof w);
		return w;
	default:
		memcpy(&d, from, sizeof d);
		return d;
	}
}

static inline void write_memory(void *to, uint64_t value, unsigned size)
{
	const uint16_t h = (uint16_t)value;
	const uint32_t w = (uint32_t)value;

	switch (size) {
	case 1:
		*(uint8_t *)to = (uint8_t)value;
		break;
	case 2:
		memcpy(to, &h, sizeof h);
		break;
	case 4:
		memcpy(to, &w, sizeof w);
		break;
	default:
		memcpy(to, &value, sizeof value);
	}
}

/* Whether `size` bytes, at least one, from an offset below the frame pointer on are in the stack. */
static inline bool is_in_stack(int64_t offset, uint32_t size)
{
	return offset >= -STACK_SIZE && offset + (int64_t)size <= 0;
}

/* Whether all of so many bytes of the stack, which are in it, hold something. */
static inline bool is_written(const struct machine *m, int64_t offset, uint32_t size)
{
	const uint8_t *at = m->written + STACK_SIZE + offset;

	for (; size >= 8; size -= 8, at += 8)
		if (read_memory(at, 8) != ALL_WRITTEN)
			return false;
	while (size && *at++)
		size--;
	return !size;
}

/* `size` is 1, 2, 4 or 8. */
static inline uint8_t *stack_address(struct machine *m, int64_t offset, unsigned size, bool write)
{
	const uint64_t all = ALL_WRITTEN >> (64 - 8 * size);
	uint8_t *at = m->written + STACK_SIZE + offset;

	if (!is_in_stack(offset, size))
		return NULL;
	if (write)
		write_memory(at, all, size);
	else if (read_memory(at, size) != all)
		return NULL;
	return m->stack + STACK_SIZE + offset;
}

/*
 * Where `size` bytes at `off` from the register lie; NULL where the verifier would not have it.  What is
 * read of the stack must have been written before, and what is written to counts as written from now on.
 */
static inline __attribute__((always_inline)) uint8_t *address(struct machine *m, uint8_t reg, int16_t off,
							      unsigned size, bool write, const struct ebpf_input *in)
{
	const int64_t offset = (int64_t)m->value[reg] + off;

	/* Where the kernel wants aligned loads it takes packets to begin 2 bytes after a multiple of 4. */
	if ((offset + (m->kind[reg] == PACKET ? 2 : 0)) & (size - 1))
		return NULL;
	switch (m->kind[reg]) {
	case CONTEXT:
		/* 64 bits of the context at a time are for some of its fields only. */
		if (offset < 0 || size > 4 || (write && size != 4) || (size_t)offset + size > in->ctx_size)
			return NULL;
		return (uint8_t *)in->ctx + offset;
	case STACK:
		return stack_address(m, offset, size, write);
	case VALUE:
		if (offset < 0 || offset + size > m->of[reg].size || (write && m->of[reg].read_only))
			return NULL;
		return m->of[reg].base + offset;
	case PACKET:
		if (offset < 0 || write || (uint64_t)offset + size > m->shown)
			return NULL;
		return (uint8_t *)(uintptr_t)in->packet + offset;
	default:
		return NULL;
	}
}

/* Where a packet begins and ends is in its context; what is read there are pointers. */
static inline bool load_packet_pointer(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in)
{
	const int64_t field = (int64_t)m->value[insn->src_reg] + insn->off;
	const bool end = field == (int64_t)offsetof(struct __sk_buff, data_end);

	if (m->kind[insn->src_reg] != CONTEXT || !in->packet || BPF_SIZE(insn->code) != BPF_W ||
	    (!end && field != (int64_t)offsetof(struct __sk_buff, data)))
		return false;
	m->kind[insn->dst_reg] = end ? PACKET_END : PACKET;
	m->value[insn->dst_reg] = 0;
	return true;
}

static inline __attribute__((always_inline)) bool load_sized(struct machine *m, const struct bpf_insn *insn,
							      const struct ebpf_input *in, unsigned size)
{
	const uint8_t *from;

	if (load_packet_pointer(m, insn, in))
		return true;
	from = address(m, insn->src_reg, insn->off, size, false, in);
	if (!from)
		return false;
	m->value[insn->dst_reg] = read_memory(from, size);
	m->kind[insn->dst_reg] = NUMBER;
	return true;
}

static bool load(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in)
{
	return load_sized(m, insn, in, size_of(insn->code));
}

static inline bool store(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in)
{
	bool constant = BPF_CLASS(insn->code) == BPF_ST;
	uint64_t value = constant ? (uint64_t)(int64_t)insn->imm : m->value[insn->src_reg];
	unsigned size = size_of(insn->code);
	uint8_t *to;

	if (!constant && m->kind[insn->src_reg] != NUMBER)
		return false;
	to = address(m, insn->dst_reg, insn->off, size, true, in);
	if (to)
		write_memory(to, value, size);
	return to != NULL;
}

/* Atomic addition, which is to values of maps only. */
static bool add_atomically(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in)
{
	unsigned size = size_of(insn->code);
	uint8_t *to;

	if (m->kind[insn->src_reg] != NUMBER || m->kind[insn->dst_reg] != VALUE)
		return false;
	to = address(m, insn->dst_reg, insn->off, size, true, in);
	if (to)
		write_memory(to, read_memory(to, size) + m->value[insn->src_reg], size);
	return to != NULL;
}

/* --- helpers -------------------------------------------------------------- */

/* After a call: its result, and the registers of its arguments are lost. */
static bool leave_helper(struct machine *m, uint64_t result)
{
	m->value[BPF_REG_0] = result;
	m->kind[BPF_REG_0] = NUMBER;
	memset(&m->kind[BPF_REG_1], UNSET, BPF_REG_5 - BPF_REG_1 + 1);
	return true;
}

/* bpf_skb_load_bytes: 0, or -EFAULT with the buffer cleared (net/core/filter.c). */
static bool call_load_bytes(struct machine *m, const struct ebpf_input *in)
{
	uint64_t offset, size;
	int64_t to;

	if (m->kind[BPF_REG_1] != CONTEXT || m->kind[BPF_REG_2] != NUMBER ||
	    m->kind[BPF_REG_3] != STACK || m->kind[BPF_REG_4] != NUMBER)
		return false;
	offset = m->value[BPF_REG_2];
	to = (int64_t)m->value[BPF_REG_3];
	size = m->value[BPF_REG_4];
	if (!size || size > MAX_HELPER_SIZE)
		return false;
	if (!is_in_stack(to, (uint32_t)size) || !in->packet)
		return false;
	memset(m->written + STACK_SIZE + to, 1, size);
	if (offset <= in->packet_size && size <= in->packet_size - offset) {
		memcpy(m->stack + STACK_SIZE + to, in->packet + offset, size);
		return leave_helper(m, 0);
	}
	memset(m->stack + STACK_SIZE + to, 0, size);
	return leave_helper(m, (uint64_t)-14);
}

/* The map in R1, or NULL. */
static struct ebpf_map *map_argument(const struct machine *m, const struct ebpf_input *in)
{
	if (m->kind[BPF_REG_1] != MAP || m->value[BPF_REG_1] >= in->nmaps)
		return NULL;
	return &in->map[m->value[BPF_REG_1]];
}

/* `size` bytes that a register points to, for a helper to read. */
static const uint8_t *argument(struct machine *m, uint8_t reg, uint32_t size)
{
	const int64_t offset = (int64_t)m->value[reg];

	if (m->kind[reg] == VALUE)
		return offset >= 0 && offset + size <= m->of[reg].size ? m->of[reg].base + offset : NULL;
	if (m->kind[reg] != STACK || !is_in_stack(offset, size) || !is_written(m, offset, size))
		return NULL;
	return m->stack + STACK_SIZE + offset;
}

static bool call_map(struct machine *m, int32_t helper, const struct ebpf_input *in)
{
	struct ebpf_map *map = map_argument(m, in);
	const uint8_t *key = map ? argument(m, BPF_REG_2, map->spec.key_size) : NULL, *value = NULL;
	bool read_only = map && map->spec.flags & BPF_F_RDONLY_PROG;
	uint8_t *found;

	if (!key)
		return false;
	if (helper == BPF_FUNC_map_lookup_elem) {
		found = ebpf_map_find(map, key);
		leave_helper(m, 0);
		if (found) {
			m->kind[BPF_REG_0] = VALUE;
			m->of[BPF_REG_0] = (struct value){ found, map->spec.value_size, read_only };
		}
		return true;
	}
	if (read_only)
		return false;
	if (helper == BPF_FUNC_map_delete_elem)
		return leave_helper(m, (uint64_t)(int64_t)ebpf_map_delete(map, key));
	value = argument(m, BPF_REG_3, map->spec.value_size);
	if (!value || m->kind[BPF_REG_4] != NUMBER)
		return false;
	return leave_helper(m, (uint64_t)(int64_t)ebpf_map_set(map, key, value, m->value[BPF_REG_4]));
}

/* Helpers that tell the program something about where it runs. */
static bool is_question(int32_t helper)
{
	return helper == BPF_FUNC_ktime_get_ns || helper == BPF_FUNC_get_current_cgroup_id ||
	       helper == BPF_FUNC_skb_cgroup_id || helper == BPF_FUNC_get_socket_cookie;
}

/* Those about a packet or a socket take the context. */
static bool call_question(struct machine *m, int32_t helper, const struct ebpf_input *in)
{
	bool of_context = helper == BPF_FUNC_skb_cgroup_id || helper == BPF_FUNC_get_socket_cookie;

	if (of_context && m->kind[BPF_REG_1] != CONTEXT)
		return false;
	if (of_context && m->value[BPF_REG_1])
		return false;
	if (helper == BPF_FUNC_ktime_get_ns)
		return leave_helper(m, in->now);
	return leave_helper(m, helper == BPF_FUNC_get_socket_cookie ? in->cookie : in->cgroup);
}

/* --- computing ------------------------------------------------------------ */

static inline uint64_t host_order(uint64_t value, int bits)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return bits == 16 ? __builtin_bswap16((uint16_t)value) :
	       bits == 32 ? __builtin_bswap32((uint32_t)value) :
			    __builtin_bswap64(value);
#else
	return bits == 16 ? (uint16_t)value : bits == 32 ? (uint32_t)value : value;
#endif
}

static inline uint64_t compute(uint8_t code, uint64_t left, uint64_t right)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return left + right;
	case BPF_SUB:
		return left - right;
	case BPF_MUL:
		return left * right;
	case BPF_AND:
		return left & right;
	case BPF_OR:
		return left | right;
	case BPF_XOR:
		return left ^ right;
	case BPF_LSH:
		return left << right;
	case BPF_RSH:
		return BPF_CLASS(code) == BPF_ALU ? (uint32_t)left >> right : left >> right;
	case BPF_ARSH:
		return (uint64_t)(BPF_CLASS(code) == BPF_ALU ? (int32_t)left >> right : (int64_t)left >> right);
	default: /* BPF_MOV */
		return right;
	}
}

/* A pointer and a number: pointers into the stack, values and packets move; the context by its fields' offsets only. */
static bool move_pointer(struct machine *m, const struct bpf_insn *insn, uint64_t by)
{
	bool movable = m->kind[insn->dst_reg] == STACK || m->kind[insn->dst_reg] == VALUE ||
		       m->kind[insn->dst_reg] == PACKET;

	if (!movable || (insn->code & ~BPF_X) != (BPF_ALU64 | BPF_ADD))
		return false;
	m->value[insn->dst_reg] += by;
	return true;
}

/* Arithmetic; the checker has seen that it is one of these. */
static inline bool alu(struct machine *m, const struct bpf_insn *insn)
{
	uint64_t *dst = &m->value[insn->dst_reg], right = (uint64_t)(int64_t)insn->imm;
	uint8_t *kind = &m->kind[insn->dst_reg];

	if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_X)) {
		if (m->kind[insn->src_reg] == UNSET)
			return false;
		*dst = m->value[insn->src_reg];
		*kind = m->kind[insn->src_reg];
		if (*kind == VALUE)
			m->of[insn->dst_reg] = m->of[insn->src_reg];
		return true;
	}
	if (BPF_OP(insn->code) == BPF_END) {
		*dst = host_order(*dst, insn->imm);
		return *kind == NUMBER;
	}
	if (BPF_SRC(insn->code) == BPF_X) {
		if (m->kind[insn->src_reg] != NUMBER)
			return false;
		right = m->value[insn->src_reg];
	}
	if (BPF_OP(insn->code) == BPF_MOV)
		*kind = NUMBER;
	if (*kind != NUMBER)
		return move_pointer(m, insn, right);
	*dst = compute(insn->code, *dst, right);
	if (BPF_CLASS(insn->code) == BPF_ALU)
		*dst = (uint32_t)*dst;
	return true;
}

/* A load of 16 bytes: a number, a map, or the address of a table's byte. */
static bool wide_load(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in)
{
	const uint32_t first = (uint32_t)insn->imm, second = (uint32_t)insn[1].imm;
	const uint8_t dst = insn->dst_reg;

	if (insn->src_reg == BPF_PSEUDO_MAP_FD) {
		m->kind[dst] = MAP;
		m->value[dst] = first;
		return first < in->nmaps && second == 0;
	}
	if (insn->src_reg == BPF_PSEUDO_MAP_VALUE) {
		const struct ebpf_map *map = second < in->nmaps ? &in->map[second] : NULL;

		if (!map || map->spec.type != BPF_MAP_TYPE_ARRAY || map->spec.max_entries != 1 ||
		    first >= map->spec.value_size)
			return false;
		m->kind[dst] = VALUE;
		m->value[dst] = first;
		m->of[dst] = (struct value){ map->value, map->spec.value_size,
					     map->spec.flags & BPF_F_RDONLY_PROG };
		return true;
	}
	m->kind[dst] = NUMBER;
	m->value[dst] = first | (uint64_t)second << 32;
	return true;
}

/* --- running -------------------------------------------------------------- */

static inline bool compare(uint8_t op, uint64_t left, uint64_t right)
{
	switch (op) {
	case BPF_JEQ:
		return left == right;
	case BPF_JNE:
		return left != right;
	case BPF_JGT:
		return left > right;
	case BPF_JGE:
		return left >= right;
	case BPF_JLT:
		return left < right;
	case BPF_JLE:
		return left <= right;
	default: /* BPF_JSET */
		return (left & right) != 0;
	}
}

/* Whether a place in the packet is beyond its end: if it is not, what lies before it may be read from now on. */
static bool compare_end(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in, bool *taken)
{
	const uint64_t at = m->value[insn->dst_reg];

	if (insn->code != (BPF_JMP | BPF_JGT | BPF_X) || m->kind[insn->src_reg] != PACKET_END)
		return false;
	*taken = at > in->packet_size;
	if (!*taken && at > m->shown)
		m->shown = at;
	return true;
}

/* Whether a conditional jump is taken; false if it compares what must not be. */
static bool decide(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in, bool *taken)
{
	uint64_t left = m->value[insn->dst_reg], right = (uint64_t)(int64_t)insn->imm;
	bool pointer = m->kind[insn->dst_reg] == VALUE;

	if (m->kind[insn->dst_reg] == PACKET)
		return compare_end(m, insn, in, taken);
	if (BPF_SRC(insn->code) == BPF_X) {
		if (m->kind[insn->src_reg] != NUMBER)
			return false;
		right = m->value[insn->src_reg];
	}
	/* Of the value that a lookup found, only that there is one. */
	if (pointer && (BPF_SRC(insn->code) == BPF_X || insn->imm || BPF_CLASS(insn->code) != BPF_JMP ||
			(BPF_OP(insn->code) != BPF_JEQ && BPF_OP(insn->code) != BPF_JNE)))
		return false;
	if (pointer)
		left = 1;
	else if (m->kind[insn->dst_reg] != NUMBER)
		return false;
	if (BPF_CLASS(insn->code) == BPF_JMP32) {
		left = (uint32_t)left;
		right = (uint32_t)right;
	}
	*taken = compare(BPF_OP(insn->code), left, right);
	return true;
}

/* An instruction after which the next one runs. */
static inline bool step(struct machine *m, const struct bpf_insn *insn, const struct ebpf_input *in)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return wide_load(m, insn, in);
	case BPF_LDX:
		return load(m, insn, in);
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			return add_atomically(m, insn, in);
		return store(m, insn, in);
	case BPF_ST:
		return store(m, insn, in);
	case BPF_JMP:
		if (insn->imm == BPF_FUNC_skb_load_bytes)
			return call_load_bytes(m, in);
		if (is_question(insn->imm))
			return call_question(m, insn->imm, in);
		return call_map(m, insn->imm, in);
	default:
		return alu(m, insn);
	}
}

static void reset(struct machine *m, unsigned context)
{
	memset(m->kind, UNSET, sizeof m->kind);
	memset(m->written, 0, sizeof m->written);
	m->shown = 0;
	m->kind[context] = CONTEXT;
	m->value[context] = 0;
	m->kind[BPF_REG_10] = STACK;
	m->value[BPF_REG_10] = 0;
}

/* An instruction that is not quick; *taken says of a jump that it is. */
static bool run_slowly(struct machine *m, const struct bpf_insn *i, const struct ebpf_input *in, bool *taken)
{
	const unsigned class = BPF_CLASS(i->code);

	*taken = false;
	if ((class == BPF_JMP32 || class == BPF_JMP) && BPF_OP(i->code) != BPF_CALL)
		return decide(m, i, in, taken);
	return step(m, i, in);
}

/* What a call leaves behind: where it was, and the registers that it must leave alone. */
struct frame {
	const struct bpf_insn *back; /* NULL: no function is running */
	uint64_t value[MAX_BPF_REG];
	uint8_t kind[MAX_BPF_REG];
	struct value of[MAX_BPF_REG];
};

/* A function has its arguments, and nothing of its caller's; it has no use for a stack. */
static void enter_function(struct machine *m, const struct bpf_insn *back, struct frame *f)
{
	f->back = back;
	memcpy(f->value, m->value, sizeof f->value);
	memcpy(f->kind, m->kind, sizeof f->kind);
	memcpy(f->of, m->of, sizeof f->of);
	m->kind[BPF_REG_0] = UNSET;
	memset(&m->kind[BPF_REG_6], UNSET, MAX_BPF_REG - BPF_REG_6);
}

static void leave_function(struct machine *m, struct frame *f)
{
	const size_t kept = MAX_BPF_REG - BPF_REG_6;

	memset(&m->kind[BPF_REG_1], UNSET, BPF_REG_5 - BPF_REG_1 + 1);
	memcpy(&m->value[BPF_REG_6], &f->value[BPF_REG_6], kept * sizeof *f->value);
	memcpy(&m->kind[BPF_REG_6], &f->kind[BPF_REG_6], kept * sizeof *f->kind);
	memcpy(&m->of[BPF_REG_6], &f->of[BPF_REG_6], kept * sizeof *f->of);
	f->back = NULL;
}

static bool is_function_call(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && i->src_reg == BPF_PSEUDO_CALL;
}

/*
 * The quick way, for what most of a program is: numbers computed with, compared with constants, and moved to and from
 * memory.  Each instruction goes on to what the next one is by itself, so that the processor learns what follows what:
 * a proof runs millions of them.  What is something else, or not on numbers, is done slowly, or found out to be wrong.
 */
#define GO_ON(by)                                                                                  \
	do {                                                                                       \
		i += (by);                                                                         \
		if (i >= end)                                                                      \
			return false;                                                              \
		count++;                                                                           \
		goto *((const char *)&&slow + place[i->code]);                                     \
	} while (0)
#define DST m->value[i->dst_reg]
#define SRC m->value[i->src_reg]
#define IS_NUMBER(reg) (m->kind[i->reg] == NUMBER)
/* Each in one place: what the instruction is, a name, and what it does. */
#define COMPARISONS(X)                                                                             \
	X(BPF_JEQ, equal, ==)                                                                      \
	X(BPF_JNE, unequal, !=)                                                                    \
	X(BPF_JGT, greater, >)                                                                     \
	X(BPF_JGE, not_less, >=)                                                                   \
	X(BPF_JLT, less, <)                                                                        \
	X(BPF_JLE, not_greater, <=)
#define COMPUTATIONS(X)                                                                            \
	X(BPF_ALU | BPF_END | BPF_TO_BE, swap, true, host_order(DST, i->imm))                      \
	X(BPF_ALU | BPF_AND | BPF_K, mask, true, (uint32_t)DST & (uint32_t)i->imm)                 \
	X(BPF_ALU64 | BPF_ADD | BPF_X, add, IS_NUMBER(src_reg), DST + SRC)                         \
	X(BPF_ALU64 | BPF_SUB | BPF_X, subtract, IS_NUMBER(src_reg), DST - SRC)                    \
	X(BPF_ALU64 | BPF_OR | BPF_X, join, IS_NUMBER(src_reg), DST | SRC)                         \
	X(BPF_ALU64 | BPF_ADD | BPF_K, add_constant, true, DST + (uint64_t)(int64_t)i->imm)        \
	X(BPF_ALU64 | BPF_MUL | BPF_K, multiply, true, DST * (uint64_t)(int64_t)i->imm)            \
	X(BPF_ALU64 | BPF_RSH | BPF_K, shift_right, true, DST >> i->imm)                           \
	X(BPF_ALU64 | BPF_LSH | BPF_K, shift_left, true, DST << i->imm)
#define MOVES(X)                                                                                   \
	X(BPF_LDX | BPF_MEM | BPF_B, load1, load_sized(m, i, in, 1))                               \
	X(BPF_LDX | BPF_MEM | BPF_H, load2, load_sized(m, i, in, 2))                               \
	X(BPF_LDX | BPF_MEM | BPF_W, load4, load_sized(m, i, in, 4))                               \
	X(BPF_LDX | BPF_MEM | BPF_DW, load8, load_sized(m, i, in, 8))                              \
	X(BPF_STX | BPF_MEM | BPF_W, store4, store(m, i, in))                                      \
	X(BPF_STX | BPF_MEM | BPF_DW, store8, store(m, i, in))                                     \
	X(BPF_ST | BPF_MEM | BPF_W, put4, store(m, i, in))                                         \
	X(BPF_ST | BPF_MEM | BPF_DW, put8, store(m, i, in))

#define COMPARE(op, label, sign)                                                                   \
	label:                                                                                     \
	if (!IS_NUMBER(dst_reg))                                                                   \
		goto slow;                                                                         \
	GO_ON((uint32_t)DST sign (uint32_t)i->imm ? 1 + i->off : 1);
#define COMPUTE(code, label, numbers, result)                                                      \
	label:                                                                                     \
	if (!IS_NUMBER(dst_reg) || !(numbers))                                                     \
		goto slow;                                                                         \
	DST = (result);                                                                            \
	GO_ON(1);
#define MOVE(code, label, moved)                                                                   \
	label:                                                                                     \
	if (!(moved))                                                                              \
		return false;                                                                      \
	GO_ON(1);

#define AT(code, label) [code] = (const char *)&&label - (const char *)&&slow
#define AT_COMPARISON(op, label, sign) AT(BPF_JMP32 | op | BPF_K, label),
#define AT_COMPUTATION(code, label, numbers, result) AT(code, label),
#define AT_MOVE(code, label, moved) AT(code, label),

static bool run(struct machine *m, const struct bpf_insn *insn, size_t n, size_t at, const struct ebpf_input *in,
		uint64_t *result, size_t *steps)
{
	static const int place[256] = {
		COMPARISONS(AT_COMPARISON) COMPUTATIONS(AT_COMPUTATION) MOVES(AT_MOVE)
		AT(BPF_ALU | BPF_MOV | BPF_K, set), AT(BPF_ALU64 | BPF_MOV | BPF_X, copy),
		AT(BPF_JMP | BPF_JA, jump), AT(BPF_JMP | BPF_EXIT, leave),
	}; /* all others: slow */
	const struct bpf_insn *i = insn + at, *const end = insn + n;
	struct frame frame = { .back = NULL };
	size_t count = 0;
	bool taken;

	GO_ON(0);
	COMPARISONS(COMPARE)
	COMPUTATIONS(COMPUTE)
	MOVES(MOVE)
set:
	DST = (uint32_t)i->imm;
	m->kind[i->dst_reg] = NUMBER;
	GO_ON(1);
copy:
	if (m->kind[i->src_reg] == UNSET || m->kind[i->src_reg] == VALUE)
		goto slow;
	DST = SRC;
	m->kind[i->dst_reg] = m->kind[i->src_reg];
	GO_ON(1);
jump:
	GO_ON(1 + i->off);
leave:
	if (m->kind[BPF_REG_0] != NUMBER)
		return false;
	if (frame.back) {
		i = frame.back;
		leave_function(m, &frame);
		GO_ON(1);
	}
	*result = m->value[BPF_REG_0];
	if (steps)
		*steps = count;
	return true;
slow:
	if (is_function_call(i)) {
		if (frame.back)
			return false;
		enter_function(m, i, &frame);
		GO_ON(1 + i->imm);
	}
	if (!run_slowly(m, i, in, &taken))
		return false;
	GO_ON(taken ? 1 + i->off : BPF_CLASS(i->code) == BPF_LD ? 2 : 1);
}

bool ebpf_run(const struct bpf_insn *insn, size_t n, struct ebpf_input *in, uint64_t *result, size_t *steps)
{
	struct machine m;

	reset(&m, BPF_REG_1);
	return run(&m, insn, n, 0, in, result, steps);
}

bool ebpf_run_from(const struct bpf_insn *insn, size_t n, size_t at, struct ebpf_input *in, uint64_t *result)
{
	struct machine m;

	reset(&m, BPF_REG_6);
	return run(&m, insn, n, at, in, result, NULL);
}
