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
static void put_lines(struct strings *s, const struct function *f, size_t at, struct buffer *out)
{
	for (size_t i = 0; i < f->n; i++) {
		bool second_half = i && f->insn[i - 1].code == (BPF_LD | BPF_IMM | BPF_DW);
		struct bpf_line_info record;

		if (second_half || (i && f->line[i] == f->line[i - 1]))
			continue;
		record = line_record(s, at + i, f->line[i]);
		buffer_add(out, &record, sizeof record);
	}
}

/* The functions of one section, of which `type` is the first. */
static void put_section(struct strings *s, const char *section, const struct function *f, size_t n, __u32 type,
			struct buffer *funcs, struct buffer *lines)
{
	struct ext_section head = { btf_string(s->btf, section), (__u32)n };
	const size_t first = lines->n + sizeof head;
	size_t at = 0;

	buffer_add(funcs, &head, sizeof head);
	buffer_add(lines, &head, sizeof head);
	for (size_t i = 0; i < n; i++) {
		struct bpf_func_info record = { (__u32)(at * sizeof(struct bpf_insn)), type + (__u32)i };

		buffer_add(funcs, &record, sizeof record);
		put_lines(s, &f[i], at, lines);
		at += f[i].n;
	}
	head.n = (__u32)((lines->n - first) / sizeof(struct bpf_line_info));
	memcpy(lines->data + first - sizeof head, &head, sizeof head);
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
static uint32_t add_prototype(struct btf_types *btf, uint32_t number)
{
	uint32_t context = btf_pointer(btf, 0), prototype = btf_prototype(btf, number);

	btf_parameter(btf, "ctx", context);
	return prototype;
}

/* int function(unsigned long protocol, unsigned long port, unsigned long …): the address, in one piece or in two. */
static uint32_t add_judge_prototype(struct btf_types *btf, uint32_t number, uint32_t word, unsigned arguments)
{
	static const char *const names[] = { "protocol", "port", "address", "rest" };
	uint32_t prototype = btf_prototype(btf, number);

	for (unsigned i = 0; i < arguments && i < sizeof names / sizeof *names; i++)
		btf_parameter(btf, names[i], word);
	return prototype;
}

static void put_functions(struct strings *s, const struct function_list *list, uint32_t number, struct buffer *funcs,
			  struct buffer *lines)
{
	uint32_t word = btf_int(s->btf, "unsigned long", 8, 0), prototype[FUNCTIONS_MAX], first = 0;

	for (size_t i = 0; i < list->n; i++)
		prototype[i] = add_judge_prototype(s->btf, number, word, list->function[i].arguments);
	for (size_t i = 0; i < list->n; i++) {
		uint32_t function = btf_function(s->btf, list->function[i].name, prototype[i]);

		first = first ? first : function;
	}
	put_section(s, CAVE_FUNCTIONS, list->function, list->n, first, funcs, lines);
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
	uint32_t number = btf_int(btf, "int", 4, BTF_INT_SIGNED), prototype = add_prototype(btf, number);
	const struct function_list *shared = parts->hook->functions;

	buffer_add(&funcs, &func_size, sizeof func_size);
	buffer_add(&lines, &line_size, sizeof line_size);
	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++) {
		const struct hook_program *p = &parts->hook[i];
		const struct function own = { object_function(p->hook), 1, p->insn, p->line, p->n - p->shared };

		if (p->n)
			put_section(&s, sections[p->hook], &own, 1, btf_function(btf, own.name, prototype), &funcs, &lines);
	}
	if (shared && shared->n)
		put_functions(&s, shared, number, &funcs, &lines);
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
