/* SPDX-License-Identifier: MIT */
#include "compiler/object.h"

#include <elf.h>
#include <stdlib.h>

#ifndef R_BPF_64_64
#define R_BPF_64_64 1 /* Documentation/bpf/llvm_reloc.rst */
#endif
#ifndef R_BPF_64_32
#define R_BPF_64_32 10
#endif

#include "bpf/artefact.h"
#include "bpf/sha256.h"

enum {
	MAX_SECTIONS = 96,
	ALIGNMENT = 8,
	FUNCTIONS_SYMBOL = 1, /* of the section of functions, where there is one */
};

struct section {
	const char *name;
	struct buffer data;
	Elf64_Word type, link, info;
	Elf64_Xword flags, entsize;
};

/* The file while it is laid out: sections in order, their names, and the symbols of the programs. */
struct layout {
	struct arena *arena;
	struct section section[MAX_SECTIONS]; /* section[0] is the null section */
	size_t n;
	Elf64_Word local; /* symbols, the null symbol included, that are not global; those of programs come behind */
	struct buffer names, symbols, strings;
};

static const char *const hook_section[] = {
#define X(symbol, section, prog_type, attach_type) section,
	CAVE_HOOKS(X)
#undef X
};

const char *object_function(enum cave_hook hook)
{
	static const char *const names[] = {
		"cave_connect4", "cave_connect6", "cave_sendmsg4", "cave_sendmsg6", "cave_bind4",
		"cave_bind6",	 "cave_sock",	  "cave_egress",   "cave_ingress",  "cave_recvmsg4",
		"cave_recvmsg6", "cave_getpeer4", "cave_getpeer6",
	};
	_Static_assert(sizeof names / sizeof *names == CAVE_HOOK_COUNT, "one name per hook");

	return names[hook];
}

/* The data stays where it is; what is added to it later makes a copy. */
static struct section *add(struct layout *l, const char *name, Elf64_Word type, const void *data, size_t n)
{
	struct section *s = &l->section[l->n++];

	s->name = name;
	s->type = type;
	s->data = (struct buffer){ l->arena, (char *)data, n, n };
	return s;
}

static Elf64_Word add_string(struct buffer *table, const char *s)
{
	size_t at = table->n;

	buffer_add(table, s, strlen(s) + 1);
	return (Elf64_Word)at;
}

static void add_symbol(struct layout *l, const char *name, unsigned char type, size_t section, size_t at, size_t size)
{
	Elf64_Sym symbol = {
		.st_name = *name ? add_string(&l->strings, name) : 0,
		.st_info = ELF64_ST_INFO(type == STT_SECTION ? STB_LOCAL : STB_GLOBAL, type),
		.st_shndx = (Elf64_Half)section,
		.st_value = at,
		.st_size = size,
	};

	buffer_add(&l->symbols, &symbol, sizeof symbol);
}

/* Tables in sections of their own, the definitions of the other maps together in .maps: as libbpf has it. */
static void add_maps(struct layout *l, const struct map_list *maps)
{
	const size_t definition = btf_map_size();
	struct section *s = NULL;
	size_t n = 0, section = 0;
	char *zero;

	for (size_t i = 0; i < maps->n; i++)
		n += !maps->map[i].contents;
	zero = ARENA_ARRAY(l->arena, n * definition, char);
	if (n) {
		section = l->n;
		s = add(l, ".maps", SHT_PROGBITS, zero, n * definition);
		s->flags = SHF_ALLOC | SHF_WRITE;
	}
	n = 0;
	for (size_t i = 0; i < maps->n; i++) {
		const struct map_def *m = &maps->map[i];

		if (!m->contents) {
			add_symbol(l, m->name, STT_OBJECT, section, n++ * definition, definition);
			continue;
		}
		add_symbol(l, m->name, STT_OBJECT, l->n, 0, m->spec.value_size);
		s = add(l, arena_printf(l->arena, CAVE_MAP_TABLE_PREFIX "%s", m->name), SHT_PROGBITS, m->contents,
			m->spec.value_size);
		s->flags = SHF_ALLOC;
	}
}

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

/*
 * Which instructions of section `number` refer to which map, or to a function; `maps` is the symbol of the first map.
 */
static void add_references(struct layout *l, size_t number, Elf64_Xword maps)
{
	const struct section *of = &l->section[number];
	const struct bpf_insn *insn = (const void *)of->data.data;
	const size_t n = of->data.n / sizeof *insn;
	struct section *s = NULL;

	for (size_t i = 0; i < n; i++) {
		bool wide = insn[i].code == (BPF_LD | BPF_IMM | BPF_DW), call = is_call(&insn[i]);
		bool by_value = insn[i].src_reg == BPF_PSEUDO_MAP_VALUE;
		Elf64_Rel rel = { .r_offset = i * sizeof *insn };

		if (call || (wide && insn[i].src_reg)) {
			rel.r_info = call ? ELF64_R_INFO(FUNCTIONS_SYMBOL, R_BPF_64_32) :
					    ELF64_R_INFO(maps + (Elf64_Xword)insn[i + by_value].imm, R_BPF_64_64);
			if (!s) {
				s = add(l, arena_printf(l->arena, ".rel%s", of->name), SHT_REL, NULL, 0);
				s->info = (Elf64_Word)number;
				s->entsize = sizeof rel;
			}
			buffer_add(&s->data, &rel, sizeof rel);
		}
		i += wide;
	}
}

/* One after the other, with a symbol of the section for calls to refer to. */
static void add_functions(struct layout *l, const struct function_list *list)
{
	const size_t number = l->n;
	struct section *s;

	if (!list || !list->n)
		return;
	s = add(l, CAVE_FUNCTIONS, SHT_PROGBITS, NULL, 0);
	s->flags = SHF_ALLOC | SHF_EXECINSTR;
	add_symbol(l, "", STT_SECTION, number, 0, 0);
	l->local++;
	for (size_t i = 0; i < list->n; i++) {
		const struct function *f = &list->function[i];
		const size_t size = f->n * sizeof *f->insn;

		add_symbol(l, f->name, STT_FUNC, number, s->data.n, size);
		buffer_add(&s->data, f->insn, size);
	}
}

/*
 * The program's own instructions.  A call has the function's place in the section of functions, less one: as compilers
 * write calls, relative to the symbol of the section.
 */
static void add_program(struct layout *l, const struct hook_program *p)
{
	const size_t own = p->n - p->shared;
	struct bpf_insn *insn = ARENA_ARRAY(l->arena, own, struct bpf_insn);
	size_t behind[FUNCTIONS_MAX], within[FUNCTIONS_MAX], n = own, total = 0;

	for (size_t k = 0; p->functions && k < p->functions->n; k++) {
		behind[k] = p->called >> k & 1 ? n : 0;
		within[k] = total;
		n += p->called >> k & 1 ? p->functions->function[k].n : 0;
		total += p->functions->function[k].n;
	}
	memcpy(insn, p->insn, own * sizeof *insn);
	for (size_t i = 0; i < own; i++)
		for (size_t k = 0; is_call(&p->insn[i]) && k < p->functions->n; k++)
			if (behind[k] == i + 1 + (size_t)p->insn[i].imm)
				insn[i].imm = (int32_t)within[k] - 1;
	add_symbol(l, object_function(p->hook), STT_FUNC, l->n, 0, own * sizeof *insn);
	add(l, hook_section[p->hook], SHT_PROGBITS, insn, own * sizeof *insn)->flags = SHF_ALLOC | SHF_EXECINSTR;
}

static void add_programs(struct layout *l, const struct object_parts *parts)
{
	static const char license[] = "Dual MIT/GPL";
	struct buffer btf = { .arena = l->arena }, ext = { .arena = l->arena };
	const size_t first = l->n;
	size_t last;

	if (!parts->hook)
		return;
	add_functions(l, parts->hook->functions);
	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++)
		if (parts->hook[i].n)
			add_program(l, &parts->hook[i]);
	last = l->n;
	if (parts->hook->maps) {
		const size_t maps = l->symbols.n / sizeof(Elf64_Sym);

		add_maps(l, parts->hook->maps);
		for (size_t i = first; i < last; i++)
			add_references(l, i, maps);
	}
	add(l, "license", SHT_PROGBITS, license, sizeof license)->flags = SHF_ALLOC | SHF_WRITE;
	btf_write(l->arena, parts, &btf, &ext);
	add(l, ".BTF", SHT_PROGBITS, btf.data, btf.n);
	add(l, ".BTF.ext", SHT_PROGBITS, ext.data, ext.n);
}

static const char *filter_section(struct layout *l, int arch)
{
	return arena_printf(l->arena, "cave.seccomp.%s", artefact_arch_name(arch));
}

static void add_filters(struct layout *l, const struct object_parts *parts)
{
	for (int arch = 0; arch < ARTEFACT_ARCHES; arch++) {
		const struct filter_program *f = &parts->filter[arch];

		add(l, filter_section(l, arch), SHT_PROGBITS, f->insn, f->n * sizeof *f->insn);
	}
}

/* The lines of a filter as runs: how many instructions, and the index of their line in cave.lines. */
static void add_line_runs(struct layout *l, const struct object_parts *parts, int arch, const uint32_t *index)
{
	const struct filter_program *f = &parts->filter[arch];
	struct section *s = add(l, arena_printf(l->arena, "%s.lines", filter_section(l, arch)), SHT_PROGBITS, NULL, 0);

	for (size_t i = 0, n; i < f->n; i += n) {
		struct cave_line_run run = { 0, index[f->line[i]] };

		for (n = 1; i + n < f->n && f->line[i + n] == f->line[i];)
			n++;
		run.count = (uint32_t)n;
		buffer_add(&s->data, &run, sizeof run);
	}
}

/* Marks the lines that a filter came from; NULL if there is none but 0, which is no line. */
static uint32_t *used_lines(struct layout *l, const struct object_parts *parts)
{
	uint32_t *used = ARENA_ARRAY(l->arena, parts->sources->nlines, uint32_t);
	bool any = false;

	for (int arch = 0; arch < ARTEFACT_ARCHES; arch++)
		for (size_t i = 0; i < parts->filter[arch].n; i++) {
			used[parts->filter[arch].line[i]] = 1;
			any |= parts->filter[arch].line[i] != 0;
		}
	used[0] = 1;
	return any ? used : NULL;
}

/*
 * cave.lines: for each line that a filter came from its number as uint32_t, its file's name and its text, both with
 * their NUL; entry 0, which is none, is always there.  Those of the egress programs are in .BTF.
 */
static void add_lines(struct layout *l, const struct object_parts *parts)
{
	const struct source_line *line = parts->sources->line;
	uint32_t *index = used_lines(l, parts), n = 0;
	struct section *lines;

	if (!index)
		return;
	lines = add(l, "cave.lines", SHT_PROGBITS, NULL, 0);
	for (size_t i = 0; i < parts->sources->nlines; i++) {
		if (!index[i])
			continue;
		index[i] = n++;
		buffer_add(&lines->data, &line[i].number, sizeof line[i].number);
		buffer_add(&lines->data, line[i].file, strlen(line[i].file) + 1);
		buffer_add(&lines->data, line[i].text, strlen(line[i].text) + 1);
	}
	for (int arch = 0; arch < ARTEFACT_ARCHES; arch++)
		add_line_runs(l, parts, arch, index);
}

static struct artefact_section view(const struct section *s)
{
	return (struct artefact_section){ s->name, s->data.data, s->data.n };
}

/* The identity over the sections just added; their order in the file does not matter to it. */
static void add_identity(struct layout *l)
{
	struct artefact_parts of = { .manifest = { 0 } };
	uint8_t *identity = ARENA_ARRAY(l->arena, CAVE_DIGEST_SIZE, uint8_t);
	size_t tables = 0; /* in the order of their maps */

	for (size_t i = 1; i < l->n; i++) {
		const struct section *s = &l->section[i];

		if (strcmp(s->name, "cave.manifest") == 0)
			of.manifest = view(s);
		if (strcmp(s->name, "cave.policy") == 0)
			of.policy = view(s);
		if (strcmp(s->name, CAVE_FUNCTIONS) == 0)
			of.functions = view(s);
		for (int arch = 0; arch < ARTEFACT_ARCHES; arch++)
			if (strcmp(s->name, filter_section(l, arch)) == 0)
				of.filter[arch] = view(s);
		for (size_t hook = 0; hook < CAVE_HOOK_COUNT; hook++)
			if (strcmp(s->name, hook_section[hook]) == 0)
				of.program[hook] = view(s);
		if (strncmp(s->name, CAVE_MAP_TABLE_PREFIX, strlen(CAVE_MAP_TABLE_PREFIX)) == 0)
			of.table[tables++] = view(s);
	}
	artefact_identity(&of, identity);
	add(l, "cave.identity", SHT_PROGBITS, identity, CAVE_DIGEST_SIZE);
}

/* The tables that ELF itself needs, and the digest, which is the last section of all. */
static void add_tables(struct layout *l)
{
	static const uint8_t digest[CAVE_DIGEST_SIZE];
	struct section *symtab = add(l, ".symtab", SHT_SYMTAB, l->symbols.data, l->symbols.n);

	for (size_t i = 1; i < l->n; i++)
		if (l->section[i].type == SHT_REL)
			l->section[i].link = (Elf64_Word)l->n - 1;
	symtab->link = (Elf64_Word)l->n;
	symtab->info = l->local; /* the first global symbol */
	symtab->entsize = sizeof(Elf64_Sym);
	add(l, ".strtab", SHT_STRTAB, l->strings.data, l->strings.n);
	add(l, ".shstrtab", SHT_STRTAB, NULL, 0);
	add(l, "cave.digest", SHT_PROGBITS, digest, sizeof digest);
}

/* --- the file --------------------------------------------------------------------------------- */

/* A name may be the end of another one: those of programs are of their relocations'. */
static uint32_t name_section(struct layout *l, const char *name)
{
	const char *found = l->names.n ? memmem(l->names.data, l->names.n, name, strlen(name) + 1) : NULL;

	return found ? (uint32_t)(found - l->names.data) : add_string(&l->names, name);
}

/* Names of all sections into .shstrtab, and what can be said of each before its place is known. */
static size_t name_sections(struct layout *l, Elf64_Shdr *header)
{
	size_t names = 0;

	for (size_t i = 1; i < l->n; i++)
		if (l->section[i].type == SHT_REL)
			name_section(l, l->section[i].name);
	for (size_t i = 1; i < l->n; i++) {
		const struct section *s = &l->section[i];

		header[i] = (Elf64_Shdr){
			.sh_name = name_section(l, s->name),
			.sh_type = s->type,
			.sh_flags = s->flags,
			.sh_link = s->link,
			.sh_info = s->info,
			.sh_addralign = ALIGNMENT,
			.sh_entsize = s->entsize,
		};
		if (strcmp(s->name, ".shstrtab") == 0)
			names = i;
	}
	l->section[names].data = l->names;
	return names;
}

/* The section headers stand right behind the ELF header, before all sections; the digest is filled in last. */
static void emit(struct layout *l, struct buffer *out)
{
	Elf64_Shdr header[MAX_SECTIONS] = { { 0 } };
	Elf64_Ehdr file = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = EM_BPF,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof file,
		.e_ehsize = sizeof file,
		.e_shentsize = sizeof *header,
		.e_shnum = (Elf64_Half)l->n,
		.e_shstrndx = (Elf64_Half)name_sections(l, header),
	};
	size_t size = sizeof file + l->n * sizeof *header;

	for (size_t i = 1; i < l->n; i++) {
		size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
		header[i].sh_offset = size;
		header[i].sh_size = l->section[i].data.n;
		size += l->section[i].data.n;
	}
	buffer_reserve(out, size);
	buffer_add(out, &file, sizeof file);
	buffer_add(out, header, l->n * sizeof *header);
	for (size_t i = 1; i < l->n; i++) {
		buffer_align(out, ALIGNMENT);
		buffer_add(out, l->section[i].data.data, l->section[i].data.n);
	}
	sha256(out->data, out->n - CAVE_DIGEST_SIZE, (uint8_t *)out->data + out->n - CAVE_DIGEST_SIZE);
}

void object_write(struct arena *a, const struct object_parts *parts, struct buffer *out)
{
	struct layout *l = arena_alloc(a, sizeof *l);
	static const Elf64_Sym null_symbol;

	l->arena = l->names.arena = l->symbols.arena = l->strings.arena = a;
	l->n = l->local = 1;
	add_string(&l->names, "");
	add_string(&l->strings, "");
	buffer_add(&l->symbols, &null_symbol, sizeof null_symbol);
	add_programs(l, parts);
	add_filters(l, parts);
	add_lines(l, parts);
	if (parts->rules.n)
		add(l, "cave.rules", SHT_PROGBITS, parts->rules.data, parts->rules.n);
	add(l, "cave.policy", SHT_PROGBITS, parts->policy.data, parts->policy.n);
	add(l, "cave.manifest", SHT_PROGBITS, parts->manifest.data, parts->manifest.n);
	for (size_t i = 0; parts->nested && i < parts->nested->n; i++)
		add(l, arena_printf(a, "cave.profile.%s", parts->nested->item[i].name), SHT_PROGBITS,
		    parts->nested->item[i].artefact.data, parts->nested->item[i].artefact.n);
	add_identity(l);
	add_tables(l);

	emit(l, out);
}
