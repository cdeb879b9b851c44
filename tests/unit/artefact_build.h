/* SPDX-License-Identifier: MIT */
/*
 * Builds small artefacts by hand, byte by byte, so that the checks of bpf/artefact.c are tried without the
 * compiler's writer: sound ones, and ones that are wrong in one place and sealed again.
 */
#ifndef CAVE_TESTS_ARTEFACT_BUILD_H
#define CAVE_TESTS_ARTEFACT_BUILD_H

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "bpf/artefact.h"
#include "bpf/sha256.h"

#define BUILD_MAX 65536

struct build_bytes {
	uint8_t data[BUILD_MAX];
	size_t size;
};

static inline void build_put(struct build_bytes *b, const void *data, size_t n)
{
	if (n > sizeof b->data - b->size)
		abort();
	if (n)
		memcpy(b->data + b->size, data, n);
	b->size += n;
}

static inline void build_align(struct build_bytes *b, size_t to)
{
	while (b->size % to)
		build_put(b, "", 1);
}

static inline void build_record(struct build_bytes *b, unsigned type, unsigned flags,
				const void *payload, size_t n)
{
	struct cave_record r = { (uint16_t)type, (uint16_t)flags, (uint32_t)n };

	build_put(b, &r, sizeof r);
	build_put(b, payload, n);
	build_align(b, 8);
}

static inline void build_text(struct build_bytes *b, unsigned type, unsigned flags, const char *text)
{
	build_record(b, type, flags, text, strlen(text));
}

static inline void build_manifest_begin(struct build_bytes *b, unsigned requires)
{
	struct cave_manifest_header h = { CAVE_MANIFEST_MAGIC, CAVE_MANIFEST_VERSION, 0, requires };

	b->size = 0;
	build_put(b, &h, sizeof h);
}

static inline void build_manifest_end(struct build_bytes *b)
{
	uint32_t size = (uint32_t)b->size;

	memcpy(b->data + offsetof(struct cave_manifest_header, size), &size, sizeof size);
}

/*
 * A filter that allows everything but a foreign architecture and a second execve; kill() needs the tool's own
 * process id or CAVE_PATCH_RET_SIGNAL, chmod() CAVE_PATCH_RET_METADATA.  The system calls are x86-64's.
 */
static const struct sock_filter build_filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 59, 7, 0), /* execve */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 90, 4, 0), /* chmod */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 62, 0, 17), /* kill */
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CAVE_PATCH_UNSET, 15, 0),
	BPF_STMT(BPF_RET | BPF_K, CAVE_PATCH_UNSET),
	BPF_STMT(BPF_RET | BPF_K, CAVE_PATCH_UNSET),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CAVE_PATCH_UNSET, 0, 11),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3]) + 4),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CAVE_PATCH_UNSET, 0, 9),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CAVE_PATCH_UNSET, 0, 7),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4]) + 4),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CAVE_PATCH_UNSET, 0, 5),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CAVE_PATCH_UNSET, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5]) + 4),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CAVE_PATCH_UNSET, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

static const struct cave_patch build_patches[] = {
	{ 8, CAVE_PATCH_SELF },	  { 9, CAVE_PATCH_RET_SIGNAL },	 { 10, CAVE_PATCH_RET_METADATA },
	{ 13, CAVE_PATCH_EXEC_0 }, { 15, CAVE_PATCH_EXEC_0 + 1 }, { 17, CAVE_PATCH_EXEC_0 + 2 },
	{ 19, CAVE_PATCH_EXEC_0 + 3 }, { 21, CAVE_PATCH_EXEC_0 + 4 }, { 23, CAVE_PATCH_EXEC_5 },
};

static inline void build_filter_record(struct build_bytes *b, const struct cave_patch *patch, size_t n)
{
	struct cave_filter head = { AUDIT_ARCH_X86_64, (uint32_t)n };
	struct build_bytes payload = { .size = 0 };

	build_put(&payload, &head, sizeof head);
	build_put(&payload, patch, n * sizeof *patch);
	build_record(b, CAVE_RECORD_FILTER, 0, payload.data, payload.size);
}

/* Lays the sections out as the format says and seals the whole; cave.identity and cave.digest are added. */
#define BUILD_SECTIONS 32

struct build_file {
	struct {
		const char *name;
		const void *data;
		size_t size;
	} section[BUILD_SECTIONS];
	size_t n;
};

static inline void build_section(struct build_file *f, const char *name, const void *data, size_t size)
{
	if (f->n == BUILD_SECTIONS)
		abort();
	f->section[f->n].name = name;
	f->section[f->n].data = data;
	f->section[f->n++].size = size;
}

/* The file's bytes [offset, offset + size) of a section; NULL if it has none of that name. */
static inline uint8_t *build_find(struct build_bytes *b, const char *name, size_t *size)
{
	Elf64_Ehdr h;
	Elf64_Shdr names, s;

	memcpy(&h, b->data, sizeof h);
	memcpy(&names, b->data + h.e_shoff + h.e_shstrndx * sizeof names, sizeof names);
	for (size_t i = 1; i < h.e_shnum; i++) {
		memcpy(&s, b->data + h.e_shoff + i * sizeof s, sizeof s);
		if (strcmp((char *)b->data + names.sh_offset + s.sh_name, name))
			continue;
		*size = s.sh_size;
		return b->data + s.sh_offset;
	}
	*size = 0;
	return NULL;
}

static inline void build_seal_digest(struct build_bytes *b)
{
	sha256(b->data, b->size - CAVE_DIGEST_SIZE, b->data + b->size - CAVE_DIGEST_SIZE);
}

static inline struct artefact_section build_part(struct build_bytes *b, const char *name)
{
	struct artefact_section s = { .name = name };

	s.data = build_find(b, name, &s.size);
	return s;
}

/* Identity and digest; the section table of `b` must be sound. */
static inline void build_seal(struct build_bytes *b)
{
	struct artefact_parts parts = { .manifest = build_part(b, "cave.manifest"),
					.policy = build_part(b, "cave.policy") };
	size_t size;
	uint8_t *identity = build_find(b, "cave.identity", &size);

	for (unsigned i = 0; i < CAVE_HOOK_NAMES; i++)
		parts.program[i] = build_part(b, artefact_hook_name(i));
	parts.functions = build_part(b, CAVE_FUNCTIONS);
	for (unsigned i = 0; i < CAVE_MAPS_MAX; i++) {
		static char name[CAVE_MAPS_MAX][32];

		/* Tables of tests are called t0, t1 … */
		snprintf(name[i], sizeof name[i], CAVE_MAP_TABLE_PREFIX "t%u", i);
		parts.table[i] = build_part(b, name[i]);
	}
	parts.filter[ARTEFACT_X86_64] = build_part(b, "cave.seccomp.x86_64");
	if (identity)
		artefact_identity(&parts, identity);
	build_seal_digest(b);
}

static inline void build_write(const struct build_file *f, struct build_bytes *out)
{
	Elf64_Ehdr h = { .e_type = ET_REL, .e_machine = 247, .e_version = EV_CURRENT,
			 .e_ehsize = sizeof h, .e_shentsize = sizeof(Elf64_Shdr) };
	Elf64_Shdr s[BUILD_SECTIONS + 3] = { { 0 } };
	struct build_bytes names = { .size = 1 };
	size_t n = f->n + 2, i;

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	out->size = 0;
	build_put(out, &h, sizeof h);
	for (i = 1; i <= f->n; i++) {
		build_align(out, 8);
		s[i] = (Elf64_Shdr){ .sh_name = (uint32_t)names.size, .sh_type = SHT_PROGBITS,
				     .sh_offset = out->size, .sh_size = f->section[i - 1].size,
				     .sh_addralign = 8 };
		build_put(&names, f->section[i - 1].name, strlen(f->section[i - 1].name) + 1);
		build_put(out, f->section[i - 1].data, f->section[i - 1].size);
	}
	s[n].sh_name = (uint32_t)names.size;
	build_put(&names, ".shstrtab\0cave.digest", 22);
	s[n].sh_type = SHT_STRTAB;
	s[n].sh_offset = out->size;
	s[n].sh_size = names.size;
	build_put(out, names.data, names.size);
	build_align(out, 8);
	h.e_shoff = out->size;
	h.e_shnum = (uint16_t)(n + 1);
	h.e_shstrndx = (uint16_t)n;
	s[n - 1] = (Elf64_Shdr){ .sh_name = s[n].sh_name + 10, .sh_type = SHT_PROGBITS,
				 .sh_offset = out->size + (n + 1) * sizeof *s,
				 .sh_size = CAVE_DIGEST_SIZE, .sh_addralign = 8 };
	build_put(out, s, (n + 1) * sizeof *s);
	build_put(out, (uint8_t[CAVE_DIGEST_SIZE]){ 0 }, CAVE_DIGEST_SIZE);
	memcpy(out->data, &h, sizeof h);
	build_seal(out);
}

/* In the place of the programs' instructions, where it is not NULL. */
static const struct bpf_insn *build_program;
static size_t build_program_size;

/* A sound artefact around a manifest; with programs where `egress`, and a section more where it has a name. */
static inline void build_with(const struct build_bytes *manifest, bool egress, const char *more, const void *data,
			      size_t size, struct build_bytes *out)
{
	static const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	static const char policy[] = "profile test {\n}\n";
	static const uint8_t none[CAVE_DIGEST_SIZE];
	struct build_file f = { .n = 0 };

	for (unsigned i = 0; egress && i < CAVE_HOOK_NAMES; i++)
		build_section(&f, artefact_hook_name(i), build_program ? build_program : pass,
			      build_program ? build_program_size : sizeof pass);
	if (egress)
		build_section(&f, "license", "MIT", 4);
	build_section(&f, "cave.seccomp.x86_64", build_filter, sizeof build_filter);
	build_section(&f, "cave.policy", policy, sizeof policy - 1);
	build_section(&f, "cave.manifest", manifest->data, manifest->size);
	if (more)
		build_section(&f, more, data, size);
	build_section(&f, "cave.identity", none, sizeof none);
	build_write(&f, out);
}

static inline void build_around(const struct build_bytes *manifest, bool egress, struct build_bytes *out)
{
	build_with(manifest, egress, NULL, NULL, 0, out);
}

/* One record of most kinds. */
static inline void build_manifest(struct build_bytes *m, bool egress)
{
	build_manifest_begin(m, egress ? CAVE_REQUIRE_EGRESS : 0);
	build_text(m, CAVE_RECORD_NAME, 0, "test");
	build_text(m, CAVE_RECORD_CREDENTIAL, 0, "ANTHROPIC_API_KEY");
	build_text(m, CAVE_RECORD_ENV_PASS, 0, "TERM");
	build_record(m, CAVE_RECORD_ENV_SET, CAVE_ENV_PLACES, "HOME\0\001/home", 11);
	build_text(m, CAVE_RECORD_FILE, CAVE_FILE_READ | CAVE_FILE_SYSTEM | CAVE_FILE_OPTIONAL,
		   "/usr/lib");
	build_text(m, CAVE_RECORD_FILE, CAVE_FILE_READ | CAVE_FILE_RELATIVE, "lib");
	build_text(m, CAVE_RECORD_FILE, CAVE_FILE_READ | CAVE_FILE_WRITE | CAVE_FILE_WORKSPACE, "");
	build_filter_record(m, build_patches, sizeof build_patches / sizeof *build_patches);
	for (unsigned i = 0; egress && i < CAVE_HOOK_NAMES; i++)
		build_text(m, CAVE_RECORD_PROGRAM, 0, artefact_hook_name(i));
	if (egress)
		build_record(m, CAVE_RECORD_REACH, 0, &(struct cave_reach){ 16, 1 }, sizeof(struct cave_reach));
	build_manifest_end(m);
}

/* Reads all that the view offers, so that a sanitizer sees whatever lies outside; returns a sum of it. */
static inline unsigned build_walk(const struct artefact *a)
{
	struct artefact_record r;
	unsigned sum = a->requires;

	for (size_t at = 0; artefact_next(a, &at, &r);)
		for (size_t i = 0; i < r.length; i++)
			sum += (unsigned char)r.payload[i];
	for (size_t i = 0; i < a->nsections; i++) {
		sum += (unsigned)strlen(a->section[i].name);
		for (size_t j = 0; j < a->section[i].size; j++)
			sum += ((const uint8_t *)a->section[i].data)[j];
	}
	for (size_t i = 0; i < ARTEFACT_ARCHES; i++)
		for (size_t j = 0; j < a->filter[i].npatches; j++)
			sum += a->filter[i].insn[a->filter[i].patch[j].insn].k;
	for (size_t i = 0; i < CAVE_HOOK_NAMES && a->program[i].n; i++) {
		struct artefact_whole whole;
		struct bpf_insn *insn;

		artefact_whole(a, (enum cave_hook)i, &whole);
		insn = malloc(whole.n * sizeof *insn);
		artefact_link(a, (enum cave_hook)i, &whole, insn);
		for (size_t j = 0; j < whole.n; j++)
			sum += insn[j].code;
		free(insn);
	}
	return sum;
}

#endif
