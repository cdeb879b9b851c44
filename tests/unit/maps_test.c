/* SPDX-License-Identifier: MIT */
/*
 * Maps of egress programs: in the interpreter and in the kernel, which must agree; in an object that libbpf loads
 * as it is; and in artefacts whose maps are not as they should be.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/egress_asm.h"
#include "bpf/vm.h"
#include "compiler/manifest.h"
#include "compiler/object.h"
#include "tests/unit/artefact_build.h"
#include "tests/unit/unit.h"

enum { TABLE, COUNTS, RECENT, SLOTS };

static const uint64_t table[4] = { 7, 11, 13, 17 };

static const struct map_def defs[] = {
	{ "t0", { BPF_MAP_TYPE_ARRAY, 4, sizeof table, 1, BPF_F_RDONLY_PROG }, table },
	{ "counts", { BPF_MAP_TYPE_HASH, 8, 8, 4, 0 }, NULL },
	{ "recent", { BPF_MAP_TYPE_LRU_HASH, 4, 16, 128, 0 }, NULL },
	{ "slots", { BPF_MAP_TYPE_ARRAY, 4, 8, 3, 0 }, NULL },
};
static const struct map_list maps = { defs, sizeof defs / sizeof *defs };

static void call(struct assembler *s, int32_t helper)
{
	asm_emit(s, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = helper });
}

static void emit(struct assembler *s, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	asm_emit(s, (struct bpf_insn){ .code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm });
}

/* dst = the frame pointer + offset */
static void stack(struct assembler *s, uint8_t dst, int32_t offset)
{
	asm_move(s, dst, BPF_REG_10);
	asm_alu(s, BPF_ALU64 | BPF_ADD | BPF_K, dst, (uint32_t)offset);
}

/*
 * Counts by the packet's length in `counts`, in slot 1 where there is no room, and puts the length into `recent`;
 * adds the table's third number to slot 2.
 */
static struct hook_program counter(struct arena *a, enum cave_hook hook)
{
	struct hook_program out = { .hook = hook };
	struct assembler s;
	struct gen_error error;
	asm_label known, full, counted, overflow;

	asm_init(&s, a);
	known = asm_new_label(&s);
	full = asm_new_label(&s);
	counted = asm_new_label(&s);
	overflow = asm_new_label(&s);
	asm_load(&s, BPF_W, BPF_REG_6, BPF_REG_1, 0); /* __sk_buff.len */
	emit(&s, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0);
	asm_store(&s, BPF_W, BPF_REG_10, -8, BPF_REG_6);
	emit(&s, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -16, 1);
	emit(&s, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -24, 0);
	asm_map(&s, BPF_REG_1, COUNTS);
	stack(&s, BPF_REG_2, -8);
	call(&s, BPF_FUNC_map_lookup_elem);
	asm_jump(&s, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, known);
	asm_map(&s, BPF_REG_1, COUNTS);
	stack(&s, BPF_REG_2, -8);
	stack(&s, BPF_REG_3, -16);
	asm_set(&s, BPF_REG_4, BPF_NOEXIST);
	call(&s, BPF_FUNC_map_update_elem);
	asm_jump(&s, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, counted);
	asm_goto(&s, full);
	asm_place(&s, known);
	asm_set(&s, BPF_REG_1, 1);
	emit(&s, BPF_STX | 0xc0 | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD);
	asm_goto(&s, counted);
	asm_place(&s, full);
	emit(&s, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -28, 1);
	asm_map(&s, BPF_REG_1, SLOTS);
	stack(&s, BPF_REG_2, -28);
	call(&s, BPF_FUNC_map_lookup_elem);
	asm_jump(&s, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, counted);
	asm_set(&s, BPF_REG_1, 1);
	emit(&s, BPF_STX | 0xc0 | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD);
	asm_place(&s, counted);
	asm_map(&s, BPF_REG_1, RECENT);
	stack(&s, BPF_REG_2, -8);
	stack(&s, BPF_REG_3, -24);
	asm_set(&s, BPF_REG_4, BPF_ANY);
	call(&s, BPF_FUNC_map_update_elem);
	asm_table(&s, BPF_REG_7, TABLE, 8);
	asm_load(&s, BPF_DW, BPF_REG_7, BPF_REG_7, 8);
	emit(&s, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -28, 2);
	asm_map(&s, BPF_REG_1, SLOTS);
	stack(&s, BPF_REG_2, -28);
	call(&s, BPF_FUNC_map_lookup_elem);
	asm_jump(&s, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, overflow);
	emit(&s, BPF_STX | 0xc0 | BPF_DW, BPF_REG_0, BPF_REG_7, 0, BPF_ADD);
	asm_place(&s, overflow);
	asm_return(&s, 1);
	asm_finish(&s, hook, &out, &error);
	out.maps = &maps;
	return out;
}

static struct hook_program pass(struct arena *a, enum cave_hook hook)
{
	struct hook_program out = { .hook = hook };
	struct assembler s;
	struct gen_error error;

	asm_init(&s, a);
	asm_return(&s, 1);
	asm_finish(&s, hook, &out, &error);
	out.maps = &maps;
	return out;
}

/* Lengths of packets: three of four are counted by themselves, the rest in the slot. */
static const uint32_t length[] = { 64, 65, 64, 66, 67, 68, 69, 64, 68 };

static bool interpret(const struct hook_program *p, struct ebpf_map *map)
{
	size_t bad;

	if (!ebpf_check(p->insn, p->n, &bad))
		return false;
	for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
		struct __sk_buff ctx = { .len = length[i] };
		struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx, .map = map, .nmaps = maps.n };
		uint64_t result;

		if (!ebpf_run(p->insn, p->n, &in, &result, NULL) || result != 1)
			return false;
	}
	return true;
}

static uint64_t number_of(const struct ebpf_map *map, uint64_t key)
{
	const uint8_t *value = ebpf_map_find(map, &key);
	uint64_t n = 0;

	if (value)
		memcpy(&n, value, sizeof n);
	return n;
}

static void test_interpreter(const struct hook_program *p, struct ebpf_map *map)
{
	check(interpret(p, map), "a program with maps is interpreted");
	check(number_of(&map[COUNTS], 64) == 3 && number_of(&map[COUNTS], 67) == 1, "a hash counts");
	check(!ebpf_map_find(&map[COUNTS], &(uint64_t){ 68 }) && number_of(&map[SLOTS], 1) == 3,
	      "what a full hash does not take goes into the slot");
	check(number_of(&map[SLOTS], 2) == 13 * sizeof length / sizeof *length, "a table is read");
	check(map[RECENT].n == 6, "an LRU hash holds every key once");
}

static void test_map_operations(struct arena *a)
{
	struct ebpf_map *m = ebpf_maps(a, &maps);
	uint64_t key[8] = { 0, 1, 2, 3, 4 }, one = 1;

	for (int i = 0; i < 4; i++)
		check(ebpf_map_set(&m[COUNTS], &key[i], &one, BPF_ANY) == 0, "entry %d of a hash", i);
	check(ebpf_map_set(&m[COUNTS], &key[4], &one, BPF_ANY) == -E2BIG, "a hash that is full");
	check(ebpf_map_set(&m[COUNTS], &key[0], &one, BPF_NOEXIST) == -EEXIST, "a key that is there");
	check(ebpf_map_set(&m[COUNTS], &key[4], &one, BPF_EXIST) == -ENOENT, "a key that is not there");
	check(ebpf_map_delete(&m[COUNTS], &key[0]) == 0 && ebpf_map_delete(&m[COUNTS], &key[0]) == -ENOENT,
	      "a key taken out");
	check(ebpf_map_set(&m[SLOTS], &key[3], &one, BPF_ANY) == -E2BIG, "an index past an array");
	check(ebpf_map_delete(&m[SLOTS], &key[0]) == -EINVAL, "an array's entry is not taken out");
	m[RECENT].spec.max_entries = 2;
	for (int i = 0; i < 3; i++)
		ebpf_map_set(&m[RECENT], &key[i], key, BPF_ANY);
	check(!ebpf_map_find(&m[RECENT], &key[0]) && ebpf_map_find(&m[RECENT], &key[2]),
	      "an LRU hash forgets the oldest");
}

/* What the verifier refuses, the interpreter does too. */
static void test_forbidden(struct arena *a)
{
	static const struct bpf_insn exit_insn = { .code = BPF_JMP | BPF_EXIT };
	struct __sk_buff ctx = { .len = 1 };
	struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx, .map = ebpf_maps(a, &maps), .nmaps = maps.n };
	const struct {
		const char *what;
		uint8_t pseudo;
		int32_t first, second;
		struct bpf_insn then;
	} program[] = {
		{ "a write to a table", BPF_PSEUDO_MAP_VALUE, 0, TABLE,
		  { .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 1 } },
		{ "a load behind a table", BPF_PSEUDO_MAP_VALUE, 24, TABLE,
		  { .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1, .off = 8 } },
		{ "a load before a table", BPF_PSEUDO_MAP_VALUE, 0, TABLE,
		  { .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1, .off = -4 } },
		{ "a load across the end of a table", BPF_PSEUDO_MAP_VALUE, 28, TABLE,
		  { .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 2, .src_reg = 1 } },
		{ "the value of a hash", BPF_PSEUDO_MAP_VALUE, 0, COUNTS, { .code = BPF_ALU | BPF_MOV | BPF_K } },
		{ "the value of an array of three", BPF_PSEUDO_MAP_VALUE, 0, SLOTS,
		  { .code = BPF_ALU | BPF_MOV | BPF_K } },
		{ "a map that there is not", BPF_PSEUDO_MAP_FD, 4, 0, { .code = BPF_ALU | BPF_MOV | BPF_K } },
		{ "a load from a map itself", BPF_PSEUDO_MAP_FD, COUNTS, 0,
		  { .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1 } },
	};

	for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
		const struct bpf_insn insn[] = {
			{ .code = BPF_ALU | BPF_MOV | BPF_K, .imm = 1 },
			{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = program[i].pseudo & 0xf,
			  .imm = program[i].first },
			{ .imm = program[i].second },
			program[i].then,
			exit_insn,
		};
		uint64_t result;
		size_t bad;

		check(ebpf_check(insn, 5, &bad) && !ebpf_run(insn, 5, &in, &result, NULL), "forbidden: %s",
		      program[i].what);
	}
}

/* --- the object ------------------------------------------------------------ */

static struct buffer write_object(struct arena *a, const struct hook_program *hook)
{
	static const struct source_line no_line = { .file = "", .text = "" };
	static const struct sources sources = { .line = (struct source_line *)&no_line, .nlines = 1 };
	static const line_id lines[sizeof build_filter / sizeof *build_filter];
	const struct filter_program one = {
		.insn = build_filter,
		.line = lines,
		.n = sizeof build_filter / sizeof *build_filter,
		.patch = build_patches,
		.npatches = sizeof build_patches / sizeof *build_patches,
	};
	const struct filter_program filters[ARTEFACT_ARCHES] = { one, one, one };
	const struct policy policy = { .name = "maps" };
	const struct nested_profiles none = { .n = 0 };
	struct object_parts parts = { .sources = &sources, .hook = hook, .filter = filters,
				      .manifest = { .arena = a }, .policy = { .arena = a } };
	struct buffer out = { .arena = a };

	buffer_add(&parts.policy, "profile maps {\n}\n", 17);
	manifest_write(&policy, filters, hook, &(struct net_set){ 0 }, &none, &parts.manifest);
	object_write(a, &parts, &out);
	return out;
}

static void test_artefact(const struct buffer *object)
{
	static struct artefact view;
	struct artefact_error error = { "" };

	if (!check(artefact_open(object->data, object->n, &view, &error), "the reader takes it %s", error.text))
		return;
	check(view.nmaps == maps.n && !strcmp(view.map[COUNTS].name, "counts") &&
		      !memcmp(&view.map[RECENT].spec, &defs[RECENT].spec, sizeof defs[RECENT].spec),
	      "maps are what they were");
	check(view.map[TABLE].contents && !memcmp(view.map[TABLE].contents, table, sizeof table) &&
		      !view.map[COUNTS].contents,
	      "the table has its contents");
}

static int quiet(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level, (void)format, (void)ap;
	return 0;
}

/* The kernel's counts after the same packets. */
static void compare_kernel(const struct bpf_object *o, struct ebpf_map *map)
{
	const struct bpf_map *counts = bpf_object__find_map_by_name(o, "counts");
	const struct bpf_map *slots = bpf_object__find_map_by_name(o, "slots");
	const struct bpf_program *p = bpf_object__find_program_by_name(o, "cave_egress");
	bool same = counts && slots && p;

	for (size_t i = 0; same && i < sizeof length / sizeof *length; i++) {
		uint8_t packet[128] = { 0x45 };
		LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = length[i] + 14);

		packet[12] = 8; /* an Ethernet header first, of IPv4 */
		packet[14] = 0x45;
		same = !bpf_prog_test_run_opts(bpf_program__fd(p), &run) && run.retval == 1;
	}
	check(same, "the kernel runs the program");
	for (uint64_t key = 60; same && key < 72; key++) {
		uint64_t n = 0;

		bpf_map_lookup_elem(bpf_map__fd(counts), &key, &n);
		same = n == number_of(&map[COUNTS], key);
	}
	for (uint32_t key = 0; same && key < 3; key++) {
		uint64_t n = 0;

		bpf_map_lookup_elem(bpf_map__fd(slots), &key, &n);
		same = n == number_of(&map[SLOTS], key);
	}
	check(same, "the kernel counts as the interpreter does");
}

static void test_libbpf(const struct buffer *object, struct ebpf_map *map)
{
	struct bpf_object *o = bpf_object__open_mem(object->data, object->n, NULL);
	int error;

	if (!check(o != NULL, "libbpf opens the object"))
		return;
	if (geteuid()) {
		printf("skip maps in the kernel: it needs root\n");
	} else {
		error = bpf_object__load(o);
		if (check(!error, "libbpf loads the object (%d)", error))
			compare_kernel(o, map);
	}
	bpf_object__close(o);
}

/* --- hostile artefacts ----------------------------------------------------- */

static struct build_bytes damaged;

/* An artefact with map records, a table of `table_size` bytes, and one program that loads `wide`. */
static void build(const struct map_def *def, size_t n, unsigned flags, size_t table_size, const struct bpf_insn *wide)
{
	const struct bpf_insn program[] = {
		wide[0], wide[1], { .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1 }, { .code = BPF_JMP | BPF_EXIT },
	};
	static const uint8_t none[CAVE_DIGEST_SIZE];
	struct build_file f = { .n = 0 };
	static struct build_bytes m;

	build_manifest_begin(&m, CAVE_REQUIRE_EGRESS);
	build_text(&m, CAVE_RECORD_NAME, 0, "test");
	build_filter_record(&m, build_patches, sizeof build_patches / sizeof *build_patches);
	for (unsigned i = 0; i < CAVE_HOOK_NAMES; i++)
		build_text(&m, CAVE_RECORD_PROGRAM, 0, artefact_hook_name(i));
	for (size_t i = 0; i < n; i++) {
		struct build_bytes payload = { .size = 0 };

		build_put(&payload, &def[i].spec, sizeof def[i].spec);
		build_put(&payload, def[i].name, strlen(def[i].name));
		build_record(&m, CAVE_RECORD_MAP, flags, payload.data, payload.size);
	}
	build_record(&m, CAVE_RECORD_REACH, 0, &(struct cave_reach){ 16, 1 }, sizeof(struct cave_reach));
	build_manifest_end(&m);
	for (unsigned i = 0; i < CAVE_HOOK_NAMES; i++)
		build_section(&f, artefact_hook_name(i), program, sizeof program);
	if (table_size)
		build_section(&f, CAVE_MAP_TABLE_PREFIX "t0", table, table_size);
	build_section(&f, "cave.seccomp.x86_64", build_filter, sizeof build_filter);
	build_section(&f, "cave.policy", "profile test {\n}\n", 17);
	build_section(&f, "cave.manifest", m.data, m.size);
	build_section(&f, "cave.identity", none, sizeof none);
	build_write(&f, &damaged);
}

static void expect(const char *what, const char *text)
{
	static struct artefact view;
	struct artefact_error error = { "" };
	bool good = artefact_open(damaged.data, damaged.size, &view, &error);

	check(text ? !good && strstr(error.text, text) : good, "%s: %s", what, error.text);
}

static void test_specs(void)
{
	static const struct bpf_insn plain[2] = { { .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1 }, { 0 } };
	static const struct {
		const char *what;
		struct map_def def;
	} bad[] = {
		{ "a map of an unknown type", { "m", { BPF_MAP_TYPE_PROG_ARRAY, 4, 8, 1, 0 }, NULL } },
		{ "a map without keys", { "m", { BPF_MAP_TYPE_HASH, 0, 8, 1, 0 }, NULL } },
		{ "a map with an odd key", { "m", { BPF_MAP_TYPE_HASH, 6, 8, 1, 0 }, NULL } },
		{ "a map with a long key", { "m", { BPF_MAP_TYPE_HASH, 68, 8, 1, 0 }, NULL } },
		{ "an array with a long key", { "m", { BPF_MAP_TYPE_ARRAY, 8, 8, 1, 0 }, NULL } },
		{ "a map without values", { "m", { BPF_MAP_TYPE_HASH, 4, 0, 1, 0 }, NULL } },
		{ "a map with an odd value", { "m", { BPF_MAP_TYPE_HASH, 4, 4, 1, 0 }, NULL } },
		{ "a map with a huge value", { "m", { BPF_MAP_TYPE_HASH, 4, 8 << 20, 1, 0 }, NULL } },
		{ "a map without entries", { "m", { BPF_MAP_TYPE_HASH, 4, 8, 0, 0 }, NULL } },
		{ "a map with too many entries", { "m", { BPF_MAP_TYPE_HASH, 4, 8, UINT32_MAX, 0 }, NULL } },
		{ "a map that is too large", { "m", { BPF_MAP_TYPE_ARRAY, 4, 1 << 20, 1 << 10, 0 }, NULL } },
		{ "a map with other flags", { "m", { BPF_MAP_TYPE_HASH, 4, 8, 1, BPF_F_NO_PREALLOC }, NULL } },
		{ "a table that is a hash", { "t0", { BPF_MAP_TYPE_HASH, 4, 32, 1, BPF_F_RDONLY_PROG }, NULL } },
		{ "a table of two", { "t0", { BPF_MAP_TYPE_ARRAY, 4, 32, 2, BPF_F_RDONLY_PROG }, NULL } },
	};
	static const struct map_def sound = { "t0", { BPF_MAP_TYPE_ARRAY, 4, 32, 1, BPF_F_RDONLY_PROG }, NULL };
	struct map_def named = sound, many[CAVE_MAPS_MAX + 1];
	char names[CAVE_MAPS_MAX + 1][8];

	build(&sound, 1, 0, 32, plain);
	expect("a sound table", NULL);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		build(&bad[i].def, 1, 0, 32, plain);
		expect(bad[i].what, "not known here");
	}
	build(&sound, 1, 1, 32, plain);
	expect("a map with record flags", "describes no map");
	build(&sound, 1, 0, 24, plain);
	expect("a table cut short", "needs 32 bytes");
	build(&sound, 1, 0, 0, plain);
	expect("a table without contents", "needs 32 bytes");
	build(&sound, 0, 0, 32, plain);
	expect("contents without a table", "does not mention");
	named.name = "sixteen_letters_";
	build(&named, 1, 0, 32, plain);
	expect("a long name", "describes no map");
	named.name = "../x";
	build(&named, 1, 0, 32, plain);
	expect("a name that is none", "describes no map");
	for (size_t i = 0; i < CAVE_MAPS_MAX + 1; i++)
		many[i] = (struct map_def){ "same", { BPF_MAP_TYPE_HASH, 4, 8, 1, 0 }, NULL };
	build(many, 2, 0, 0, plain);
	expect("two maps of one name", "twice");
	for (size_t i = 0; i < CAVE_MAPS_MAX + 1; i++) {
		snprintf(names[i], sizeof names[i], "m%zu", i);
		many[i].name = names[i];
	}
	build(many, CAVE_MAPS_MAX, 0, 0, plain);
	expect("as many maps as there may be", NULL);
	build(many, CAVE_MAPS_MAX + 1, 0, 0, plain);
	expect("one map more", "more than");
}

static void test_references(void)
{
	static const struct map_def def[] = {
		{ "t0", { BPF_MAP_TYPE_ARRAY, 4, 32, 1, BPF_F_RDONLY_PROG }, NULL },
		{ "m", { BPF_MAP_TYPE_HASH, 4, 8, 1, 0 }, NULL },
	};
	static const struct {
		const char *what;
		bool good;
		struct bpf_insn insn[2];
	} reference[] = {
		{ "a number", true, { { 0x18, 1, 0, 0, 77 }, { .imm = 78 } } },
		{ "a map", true, { { 0x18, 1, BPF_PSEUDO_MAP_FD, 0, 1 }, { 0 } } },
		{ "the end of a table", true, { { 0x18, 1, BPF_PSEUDO_MAP_VALUE, 0, 31 }, { 0 } } },
		{ "a descriptor", false, { { 0x18, 1, BPF_PSEUDO_MAP_FD, 0, 5 }, { 0 } } },
		{ "a negative number", false, { { 0x18, 1, BPF_PSEUDO_MAP_FD, 0, -1 }, { 0 } } },
		{ "a map and more", false, { { 0x18, 1, BPF_PSEUDO_MAP_FD, 0, 1 }, { .imm = 1 } } },
		{ "past a table", false, { { 0x18, 1, BPF_PSEUDO_MAP_VALUE, 0, 32 }, { 0 } } },
		{ "the value of a hash", false, { { 0x18, 1, BPF_PSEUDO_MAP_VALUE, 0, 0 }, { .imm = 1 } } },
		{ "the value of no map", false, { { 0x18, 1, BPF_PSEUDO_MAP_VALUE, 0, 0 }, { .imm = 2 } } },
		{ "an address of the kernel", false, { { 0x18, 1, BPF_PSEUDO_BTF_ID, 0, 1 }, { 0 } } },
		{ "a function", false, { { 0x18, 1, BPF_PSEUDO_FUNC, 0, 1 }, { 0 } } },
		{ "a map by index", false, { { 0x18, 1, 5, 0, 0 }, { 0 } } },
		{ "a second half that is none", false, { { 0x18, 1, BPF_PSEUDO_MAP_FD, 0, 1 }, { .code = 0x95 } } },
		{ "a kernel function", false, { { 0x85, 0, BPF_PSEUDO_KFUNC_CALL, 0, 1 }, { 0xb7, 0, 0, 0, 1 } } },
		{ "a helper", true, { { 0x85, 0, 0, 0, 1 }, { 0xb7, 0, 0, 0, 1 } } },
	};

	for (size_t i = 0; i < sizeof reference / sizeof *reference; i++) {
		build(def, 2, 0, 32, reference[i].insn);
		expect(reference[i].what, reference[i].good ? NULL : "instruction 0");
	}
}

int main(void)
{
	struct hook_program hook[CAVE_HOOK_COUNT] = { 0 };
	struct arena a = { 0 };
	struct ebpf_map *map = ebpf_maps(&a, &maps);
	struct buffer object;

	libbpf_set_print(quiet);
	for (int i = 0; i < CAVE_HOOK_NAMES; i++)
		hook[i] = i == CAVE_HOOK_EGRESS ? counter(&a, (enum cave_hook)i) : pass(&a, (enum cave_hook)i);
	test_interpreter(&hook[CAVE_HOOK_EGRESS], map);
	test_map_operations(&a);
	test_forbidden(&a);
	object = write_object(&a, hook);
	test_artefact(&object);
	test_libbpf(&object, map);
	test_specs();
	test_references();
	arena_free(&a);
	return unit_done();
}
