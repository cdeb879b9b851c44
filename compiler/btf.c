/* SPDX-License-Identifier: MIT */
/*
 * The .BTF and .BTF.ext sections, as Documentation/bpf/btf.rst of the kernel lays them out.  libbpf has a writer for
 * the first, which takes longer than all the rest of an artefact.
 */
#include "compiler/btf_types.h"
#include "compiler/object.h"

/* .BTF.ext, version 1, without CO-RE relocations. */
struct ext_header {
	__u16 magic;
	__u8 version, flags;
	__u32 header_size, func_offset, func_size, line_offset, line_size;
};

struct ext_section {
	__u32 name, n;
};

/* Offsets of strings by line id; 0 is not yet entered. */
struct strings {
	struct btf_types *btf;
	const struct sources *sources;
	__u32 *file, *text;
};

static __u32 enter(struct btf_types *btf, const char *s, __u32 *slot)
{
	if (!*slot)
		*slot = btf_string(btf, s);
	return *slot;
}

static struct bpf_line_info line_record(struct strings *s, size_t insn, line_id line)
{
	const struct source_line *l = &s->sources->line[line];

	return (struct bpf_line_info){
		.insn_off = (__u32)(insn * sizeof(struct bpf_insn)),
		.file_name_off = enter(s->btf, line ? l->file : "cave", &s->file[line]),
		.line_off = enter(s->btf, line ? l->text : "(built in)", &s->text[line]),
		.line_col = l->number << 10,
	};
}

/* A record wherever the line changes; the kernel wants one at the first instruction. */
static void put_lines(struct strings *s, const struct hook_program *p, __u32 section_name, struct buffer *out)
{
	struct ext_section head = { section_name, 0 };
	size_t at = out->n;

	buffer_add(out, &head, sizeof head);
	for (size_t i = 0; i < p->n; i++) {
		bool second_half = i && p->insn[i - 1].code == (BPF_LD | BPF_IMM | BPF_DW);
		struct bpf_line_info record;

		if (second_half || (i && p->line[i] == p->line[i - 1]))
			continue;
		record = line_record(s, i, p->line[i]);
		buffer_add(out, &record, sizeof record);
		head.n++;
	}
	memcpy(out->data + at, &head, sizeof head);
}

static void put_function(__u32 section_name, __u32 type, struct buffer *out)
{
	struct ext_section head = { section_name, 1 };
	struct bpf_func_info record = { 0, type };

	buffer_add(out, &head, sizeof head);
	buffer_add(out, &record, sizeof record);
}

static void put_ext(struct buffer *ext, const struct buffer *funcs, const struct buffer *lines)
{
	struct ext_header header = {
		.magic = 0xeb9f,
		.version = 1,
		.header_size = sizeof header,
		.func_size = (__u32)funcs->n,
		.line_offset = (__u32)funcs->n,
		.line_size = (__u32)lines->n,
	};

	buffer_add(ext, &header, sizeof header);
	buffer_add(ext, funcs->data, funcs->n);
	buffer_add(ext, lines->data, lines->n);
}

/* int function(void *ctx) */
static uint32_t add_prototype(struct btf_types *btf)
{
	uint32_t number = btf_int(btf, "int", 4, BTF_INT_SIGNED), context = btf_pointer(btf, 0);
	uint32_t prototype = btf_prototype(btf, number);

	btf_parameter(btf, "ctx", context);
	return prototype;
}

static void fill(struct arena *a, struct btf_types *btf, const struct object_parts *parts, struct buffer *ext)
{
	static const char *const sections[] = {
#define X(symbol, section, prog_type, attach_type) section,
		CAVE_HOOKS(X)
#undef X
	};
	const __u32 func_size = sizeof(struct bpf_func_info), line_size = sizeof(struct bpf_line_info);
	struct buffer funcs = { .arena = a }, lines = { .arena = a };
	struct strings s = { btf, parts->sources, ARENA_ARRAY(a, parts->sources->nlines, __u32),
			     ARENA_ARRAY(a, parts->sources->nlines, __u32) };
	uint32_t prototype = add_prototype(btf);

	buffer_add(&funcs, &func_size, sizeof func_size);
	buffer_add(&lines, &line_size, sizeof line_size);
	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++) {
		uint32_t function, name;

		if (!parts->hook[i].n)
			continue;
		function = btf_function(btf, object_function(parts->hook[i].hook), prototype);
		name = btf_string(btf, sections[parts->hook[i].hook]);
		put_function(name, function, &funcs);
		put_lines(&s, &parts->hook[i], name, &lines);
	}
	put_ext(ext, &funcs, &lines);
	if (parts->hook->maps)
		btf_maps(btf, parts->hook->maps);
}

void btf_write(struct arena *a, const struct object_parts *parts, struct buffer *out, struct buffer *ext)
{
	struct btf_types btf;

	btf_init(&btf, a);
	fill(a, &btf, parts, ext);
	btf_finish(&btf, out);
}
