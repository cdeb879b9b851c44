/* SPDX-License-Identifier: MIT */
/*
 * Checks an artefact before anyone believes it: digest, ELF headers, sections, manifest (artefact_manifest.c) with
 * its filters (artefact_filter.c), programs (artefact_program.c) and maps (artefact_maps.c), identity, in this order.
 * Each check relies on those before it.
 */
#include "bpf/artefact_check.h"

#include <elf.h>
#include <linux/audit.h>
#include <string.h>

#include "bpf/limits.h"
#include "bpf/sha256.h"

#ifndef EM_BPF
#define EM_BPF 247
#endif
#ifndef AUDIT_ARCH_RISCV64
#define AUDIT_ARCH_RISCV64 (243 | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#endif

const struct artefact_arch_entry artefact_arches[ARTEFACT_ARCHES] = {
	[ARTEFACT_X86_64] = { "x86_64", "cave.seccomp.x86_64", AUDIT_ARCH_X86_64 },
	[ARTEFACT_AARCH64] = { "aarch64", "cave.seccomp.aarch64", AUDIT_ARCH_AARCH64 },
	[ARTEFACT_RISCV64] = { "riscv64", "cave.seccomp.riscv64", AUDIT_ARCH_RISCV64 },
};

static const char *const hooks[CAVE_HOOK_COUNT] = {
#define X(symbol, section, prog_type, attach_type) section,
	CAVE_HOOKS(X)
#undef X
};

const char *artefact_arch_name(enum artefact_arch arch)
{
	return artefact_arches[arch].name;
}

uint32_t artefact_arch_audit(enum artefact_arch arch)
{
	return artefact_arches[arch].audit;
}

const char *artefact_hook_name(enum cave_hook hook)
{
	return hooks[hook];
}

/* --- digest -------------------------------------------------------------------------------------- */

/* What `cavec FILTER -o OUT` writes begins with a load of the architecture; no ELF file does. */
static bool is_bare_filter(const struct artefact *a)
{
	static const struct sock_filter load = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4);

	return a->size >= sizeof load && a->size % sizeof load == 0 && memcmp(a->data, &load, sizeof load) == 0;
}

static bool check_digest(const struct artefact *a, struct artefact_error *error)
{
	uint8_t digest[SHA256_SIZE];
	size_t body;

	if (a->size > CAVE_ARTEFACT_MAX)
		return fail(error, "it is larger than %u bytes", CAVE_ARTEFACT_MAX);
	if (is_bare_filter(a))
		return fail(error, "it is a bare filter, not a profile's artefact: it has none of a profile's promises; "
				   "start the program with what takes one, such as bwrap --seccomp");
	if (a->size < sizeof(Elf64_Ehdr) + CAVE_DIGEST_SIZE)
		return fail(error, "it has only %zu bytes: empty, cut short, or no artefact", a->size);
	if (memcmp(a->data, ELFMAG, SELFMAG))
		return fail(error, "it is no artefact: it does not begin as an ELF file");
	body = a->size - CAVE_DIGEST_SIZE;
	sha256(a->data, body, digest);
	if (memcmp(digest, a->data + body, sizeof digest))
		return fail(error, "its digest does not match: it was cut short or changed");
	return true;
}

/* --- ELF ----------------------------------------------------------------------------------------- */

static Elf64_Ehdr elf_header(const struct artefact *a)
{
	Elf64_Ehdr header;

	memcpy(&header, a->data, sizeof header);
	return header;
}

static Elf64_Shdr section_header(const struct artefact *a, size_t i)
{
	Elf64_Shdr header;

	memcpy(&header, a->data + elf_header(a).e_shoff + i * sizeof header, sizeof header);
	return header;
}

static bool check_elf_header(const struct artefact *a, struct artefact_error *error)
{
	Elf64_Ehdr h = elf_header(a);
	size_t table;

	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    h.e_ident[EI_VERSION] != EV_CURRENT || h.e_type != ET_REL || h.e_machine != EM_BPF ||
	    h.e_version != EV_CURRENT || h.e_ehsize != sizeof h)
		return fail(error, "ELF header: not a little-endian ELF64 relocatable for BPF");
	if (h.e_phnum || h.e_phoff)
		return fail(error, "ELF header: it has program headers");
	if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum < 2 || h.e_shnum > ARTEFACT_SECTIONS_MAX)
		return fail(error, "ELF header: %u sections of header size %u", h.e_shnum,
			    h.e_shentsize);
	if (h.e_shstrndx == SHN_UNDEF || h.e_shstrndx >= h.e_shnum)
		return fail(error, "ELF header: section %u cannot hold the names", h.e_shstrndx);
	table = h.e_shnum * sizeof(Elf64_Shdr);
	if (h.e_shoff % 8 || h.e_shoff < sizeof h || h.e_shoff > a->size - CAVE_DIGEST_SIZE ||
	    table > a->size - CAVE_DIGEST_SIZE - h.e_shoff)
		return fail(error, "ELF header: section headers at offset %llu are outside",
			    (unsigned long long)h.e_shoff);
	return true;
}

/* Sections that are read as arrays of structures, and so must be aligned for them. */
#define PROFILE_PREFIX "cave.profile."

static bool is_array(const char *name)
{
	return !strcmp(name, "cave.manifest") || !strncmp(name, "cave.seccomp.", 13) ||
	       !strncmp(name, PROFILE_PREFIX, strlen(PROFILE_PREFIX)) ||
	       !strncmp(name, "cgroup", 6) || !strcmp(name, CAVE_FUNCTIONS) ||
	       !strncmp(name, CAVE_MAP_TABLE_PREFIX, strlen(CAVE_MAP_TABLE_PREFIX));
}

/* Offset, size and alignment of section `i`. */
static bool check_extent(const struct artefact *a, size_t i, struct artefact_error *error)
{
	Elf64_Shdr s = section_header(a, i);

	if (s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS)
		return fail(error, "section %zu: it has no contents", i);
	if (s.sh_offset > a->size || s.sh_size > a->size - s.sh_offset)
		return fail(error, "section %zu: %llu bytes at offset %llu are outside", i,
			    (unsigned long long)s.sh_size, (unsigned long long)s.sh_offset);
	if (s.sh_addralign & (s.sh_addralign - 1))
		return fail(error, "section %zu: alignment %llu is no power of two", i,
			    (unsigned long long)s.sh_addralign);
	if (s.sh_addralign > 1 && s.sh_offset % s.sh_addralign)
		return fail(error, "section %zu: offset %llu is not aligned", i,
			    (unsigned long long)s.sh_offset);
	return true;
}

static bool overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
	return a_size && b_size && a < b + b_size && b < a + a_size;
}

/* No byte means two things: sections share none with each other or with the headers. */
static bool check_overlaps(const struct artefact *a, size_t i, struct artefact_error *error)
{
	Elf64_Ehdr h = elf_header(a);
	Elf64_Shdr s = section_header(a, i);

	if (overlap(s.sh_offset, s.sh_size, 0, sizeof h) ||
	    overlap(s.sh_offset, s.sh_size, h.e_shoff, h.e_shnum * sizeof s))
		return fail(error, "section %zu: it overlaps the headers", i);
	for (size_t j = 1; j < i; j++) {
		Elf64_Shdr other = section_header(a, j);

		if (overlap(s.sh_offset, s.sh_size, other.sh_offset, other.sh_size))
			return fail(error, "sections %zu and %zu overlap", j, i);
	}
	return true;
}

const struct artefact_section *artefact_section(const struct artefact *a, const char *name)
{
	for (size_t i = 0; i < a->nsections; i++)
		if (!strcmp(a->section[i].name, name))
			return &a->section[i];
	return NULL;
}

/* Enters section `i` into the view under its name, which must be new. */
static bool name_section(struct artefact *a, size_t i, struct artefact_error *error)
{
	Elf64_Shdr names = section_header(a, elf_header(a).e_shstrndx), s = section_header(a, i);
	const char *name;

	if (s.sh_name >= names.sh_size)
		return fail(error, "section %zu: its name is outside", i);
	name = (const char *)a->data + names.sh_offset + s.sh_name;
	if (!*name || !memchr(name, 0, names.sh_size - s.sh_name))
		return fail(error, "section %zu: it has no name", i);
	if (artefact_section(a, name))
		return fail(error, "two sections have the name of section %zu", i);
	if (is_array(name) && s.sh_offset % 8)
		return fail(error, "section %s: offset %llu is no multiple of 8", name,
			    (unsigned long long)s.sh_offset);
	a->section[a->nsections++] =
		(struct artefact_section){ name, a->data + s.sh_offset, s.sh_size };
	return true;
}

static bool read_sections(struct artefact *a, struct artefact_error *error)
{
	size_t n = elf_header(a).e_shnum;

	for (size_t i = 1; i < n; i++)
		if (!check_extent(a, i, error) || !check_overlaps(a, i, error))
			return false;
	for (size_t i = 1; i < n; i++)
		if (!name_section(a, i, error))
			return false;
	return true;
}

/* A section that every artefact has. */
static bool require(const struct artefact *a, const char *name, struct artefact_section *out,
		    struct artefact_error *error)
{
	const struct artefact_section *s = artefact_section(a, name);

	if (!s)
		return fail(error, "there is no section %s", name);
	*out = *s;
	return true;
}

static bool require_sections(struct artefact *a, struct artefact_error *error)
{
	struct artefact_section digest = { 0 }, identity = { 0 };

	if (!require(a, "cave.manifest", &a->manifest, error) ||
	    !require(a, "cave.policy", &a->policy, error) ||
	    !require(a, "cave.identity", &identity, error) ||
	    !require(a, "cave.digest", &digest, error))
		return false;
	if (identity.size != CAVE_DIGEST_SIZE || digest.size != CAVE_DIGEST_SIZE)
		return fail(error, "cave.identity and cave.digest must have %u bytes each",
			    CAVE_DIGEST_SIZE);
	if (digest.data != a->data + a->size - CAVE_DIGEST_SIZE)
		return fail(error, "cave.digest is not at the end of the file");
	if (memchr(a->policy.data, 0, a->policy.size))
		return fail(error, "cave.policy: it is no text");
	a->identity = identity.data;
	return true;
}

/* --- identity ------------------------------------------------------------------------------------ */

static void add_part(struct sha256 *s, const struct artefact_section *part)
{
	uint8_t size[8];

	if (!part->data)
		return;
	for (unsigned i = 0; i < 8; i++)
		size[i] = (uint8_t)((uint64_t)part->size >> (8 * i));
	sha256_add(s, part->name, strlen(part->name) + 1);
	sha256_add(s, size, sizeof size);
	sha256_add(s, part->data, part->size);
}

void artefact_identity(const struct artefact_parts *parts, uint8_t out[CAVE_DIGEST_SIZE])
{
	struct sha256 s;

	sha256_init(&s);
	add_part(&s, &parts->manifest);
	add_part(&s, &parts->policy);
	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++)
		add_part(&s, &parts->program[i]);
	add_part(&s, &parts->functions);
	for (size_t i = 0; i < CAVE_MAPS_MAX; i++)
		add_part(&s, &parts->table[i]);
	for (size_t i = 0; i < ARTEFACT_ARCHES; i++)
		add_part(&s, &parts->filter[i]);
	sha256_end(&s, out);
}

/* The section that holds the contents of a table, or NULL. */
static const struct artefact_section *table_section(const struct artefact *a, const struct artefact_map *m)
{
	for (size_t i = 0; m->contents && i < a->nsections; i++)
		if (a->section[i].data == m->contents && a->section[i].size)
			return &a->section[i];
	return NULL;
}

static bool check_identity(const struct artefact *a, struct artefact_error *error)
{
	struct artefact_parts parts = { .manifest = a->manifest, .policy = a->policy };
	const struct artefact_section *s;
	uint8_t identity[CAVE_DIGEST_SIZE];

	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++)
		if ((s = artefact_section(a, hooks[i])))
			parts.program[i] = *s;
	if ((s = artefact_section(a, CAVE_FUNCTIONS)))
		parts.functions = *s;
	for (size_t i = 0; i < ARTEFACT_ARCHES; i++)
		if ((s = artefact_section(a, artefact_arches[i].section)))
			parts.filter[i] = *s;
	for (size_t i = 0, n = 0; i < a->nmaps; i++)
		if ((s = table_section(a, &a->map[i])))
			parts.table[n++] = *s;
	artefact_identity(&parts, identity);
	if (memcmp(identity, a->identity, sizeof identity))
		return fail(error, "its identity is not that of its policy and programs");
	return true;
}

/* --- the whole ----------------------------------------------------------------------------------- */

bool artefact_open(const void *data, size_t size, struct artefact *out, struct artefact_error *error)
{
	struct artefact a = { .data = data, .size = size, .limits = limits_standard() };

	if (!check_digest(&a, error) || !check_elf_header(&a, error) || !read_sections(&a, error) ||
	    !require_sections(&a, error) || !read_manifest(&a, error) || !check_identity(&a, error))
		return false;
	*out = a;
	return true;
}

const struct artefact_section *nested_section(const struct artefact *a, const char *name, size_t n)
{
	for (size_t i = 0; i < a->nsections; i++) {
		const char *own = a->section[i].name;

		if (!strncmp(own, PROFILE_PREFIX, strlen(PROFILE_PREFIX)) && strlen(own) == strlen(PROFILE_PREFIX) + n &&
		    !memcmp(own + strlen(PROFILE_PREFIX), name, n))
			return &a->section[i];
	}
	return NULL;
}

/* The record of that name; false if there is none. */
static bool find_nested(const struct artefact *a, const char *name, struct artefact_record *out)
{
	size_t at = 0, n;

	while (artefact_next(a, &at, out)) {
		const char *own;

		if (out->type != CAVE_RECORD_PROFILE)
			continue;
		own = artefact_nested_name(out, &n);
		if (strlen(name) == n && !memcmp(own, name, n))
			return true;
	}
	return false;
}

bool artefact_nested(const struct artefact *a, const char *name, struct artefact *out, struct artefact_error *error)
{
	const struct artefact_section *s;
	struct artefact_record r, inner;
	struct artefact view;
	size_t at = 0;

	if (!find_nested(a, name, &r)) {
		error->text[0] = '\0';
		return false;
	}
	s = nested_section(a, name, strlen(name));
	if (!artefact_open(s->data, s->size, &view, error))
		return false;
	if (memcmp(view.identity, r.payload, CAVE_DIGEST_SIZE))
		return fail(error, "its nested profile is not the one that it names");
	while (artefact_next(&view, &at, &inner))
		if (inner.type == CAVE_RECORD_PROFILE)
			return fail(error, "its nested profile has nested ones");
	view.around = a->identity;
	*out = view;
	return true;
}
