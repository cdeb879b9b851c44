/* SPDX-License-Identifier: MIT */
/*
 * Checks an artefact before anyone believes it: digest, ELF headers, sections, manifest, filters, patches,
 * programs, identity, in this order.  Each check relies on those before it.
 */
#include "bpf/artefact_check.h"

#include <elf.h>
#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <linux/seccomp.h>
#include <string.h>

#include "bpf/limits.h"
#include "bpf/sha256.h"

#ifndef EM_BPF
#define EM_BPF 247
#endif
#ifndef AUDIT_ARCH_RISCV64
#define AUDIT_ARCH_RISCV64 (243 | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#endif

static const struct {
	const char *name, *section;
	uint32_t audit;
} arches[ARTEFACT_ARCHES] = {
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
	return arches[arch].name;
}

uint32_t artefact_arch_audit(enum artefact_arch arch)
{
	return arches[arch].audit;
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
	       !strncmp(name, "cgroup", 6) || !strncmp(name, CAVE_MAP_TABLE_PREFIX, strlen(CAVE_MAP_TABLE_PREFIX));
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

/* --- manifest ------------------------------------------------------------------------------------ */

static struct cave_manifest_header manifest_header(const struct artefact *a)
{
	struct cave_manifest_header h;

	memcpy(&h, a->manifest.data, sizeof h);
	return h;
}

static bool check_manifest_header(struct artefact *a, struct artefact_error *error)
{
	struct cave_manifest_header h;

	if (a->manifest.size < sizeof h || a->manifest.size > ARTEFACT_MANIFEST_MAX ||
	    a->manifest.size % 8)
		return fail(error, "cave.manifest: %zu bytes cannot be a manifest", a->manifest.size);
	h = manifest_header(a);
	if (h.magic != CAVE_MANIFEST_MAGIC)
		return fail(error, "cave.manifest: it does not begin as one");
	if (h.version != CAVE_MANIFEST_VERSION)
		return fail(error, "cave.manifest: version %u, and only %u is known here: "
				   "compile the profile again, or use the caverun of its cavec",
			    h.version, CAVE_MANIFEST_VERSION);
	if (h.size != a->manifest.size)
		return fail(error, "cave.manifest: it has %zu bytes and says %u", a->manifest.size,
			    h.size);
	if (h.requires & ~(unsigned)(CAVE_REQUIRE_EGRESS | CAVE_REQUIRE_MOUNTS))
		return fail(error, "cave.manifest: unknown requirements 0x%x", h.requires);
	a->requires = h.requires;
	return true;
}

bool artefact_next(const struct artefact *a, size_t *at, struct artefact_record *out)
{
	const char *manifest = a->manifest.data;
	struct cave_record r;

	if (!*at)
		*at = sizeof(struct cave_manifest_header);
	if (*at >= a->manifest.size)
		return false;
	memcpy(&r, manifest + *at, sizeof r);
	*out = (struct artefact_record){ r.type, r.flags, manifest + *at + sizeof r, r.length };
	*at += sizeof r + ((size_t)r.length + 7) / 8 * 8;
	return true;
}

/* Frames: every record lies inside, in ascending order of type, padded with zero bytes. */
static bool check_frames(const struct artefact *a, struct artefact_error *error)
{
	const char *manifest = a->manifest.data;
	unsigned last = 0;

	for (size_t at = sizeof(struct cave_manifest_header); at < a->manifest.size;) {
		size_t left = a->manifest.size - at - sizeof(struct cave_record), end;
		struct cave_record r;

		memcpy(&r, manifest + at, sizeof r);
		if (r.length > left)
			return fail(error, "cave.manifest: the record at %zu reaches outside", at);
		if (r.type < CAVE_RECORD_NAME || r.type > CAVE_RECORD_REACH)
			return fail(error, "cave.manifest: unknown record type %u at %zu", r.type, at);
		if (r.type < last)
			return fail(error, "cave.manifest: the record at %zu is out of order", at);
		last = r.type;
		end = at + sizeof r + r.length;
		at += sizeof r + ((size_t)r.length + 7) / 8 * 8;
		for (; end < at; end++)
			if (manifest[end])
				return fail(error, "cave.manifest: padding before %zu is not zero", at);
	}
	return true;
}

static bool is_text(const char *s, size_t n, size_t max)
{
	if (n > max)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return true;
}

/* [A-Za-z_][A-Za-z0-9_]* */
static bool is_variable(const char *s, size_t n)
{
	if (!n || n > ARTEFACT_NAME_MAX || (s[0] >= '0' && s[0] <= '9'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!(s[i] == '_' || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z') ||
		      (s[i] >= '0' && s[i] <= '9')))
			return false;
	return true;
}

/* What the records of one manifest add up to. */
struct tally {
	size_t nested;
	struct artefact_record profile; /* the last one */
	size_t names, env, files, reaches, limits;
	bool hook[CAVE_HOOK_COUNT];
};

static size_t variable_length(const struct artefact_record *r)
{
	const char *nul = r->type == CAVE_RECORD_ENV_SET ? memchr(r->payload, 0, r->length) : NULL;

	return nul ? (size_t)(nul - r->payload) : r->length;
}

/* No variable is granted twice: two values for one name have no single meaning. */
static bool variable_is_new(const struct artefact *a, const struct artefact_record *r)
{
	size_t n = variable_length(r), at = 0;
	struct artefact_record other;

	while (artefact_next(a, &at, &other) && other.payload != r->payload)
		if (other.type >= CAVE_RECORD_CREDENTIAL && other.type <= CAVE_RECORD_ENV_SET &&
		    variable_length(&other) == n && !memcmp(other.payload, r->payload, n))
			return false;
	return true;
}

bool artefact_slot_valid(const char *s, size_t n)
{
	if (!n || n > ARTEFACT_SLOT_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') ||
		      s[i] == '_' || s[i] == '-'))
			return false;
	return true;
}

/* How many bytes at `s` stand for a place; 0 if they do not. */
static size_t place_length(const char *s, size_t n)
{
	const char *end;

	if (*s >= CAVE_ENV_WORKSPACE_BYTE && *s <= CAVE_ENV_HOME_BYTE)
		return 1;
	if (*s != CAVE_ENV_SLOT_BYTE)
		return 0;
	end = memchr(s + 1, CAVE_ENV_SLOT_BYTE, n - 1);
	return end && artefact_slot_valid(s + 1, (size_t)(end - s) - 1) ? (size_t)(end - s) + 1 : 0;
}

/* The value of an ENV_SET: text, in which a tab and places may stand as well. */
static bool is_value(const struct artefact_record *r)
{
	for (size_t i = variable_length(r) + 1; i < r->length; i++) {
		unsigned char c = (unsigned char)r->payload[i];
		size_t place = r->flags & CAVE_ENV_PLACES ? place_length(r->payload + i, r->length - i) : 0;

		if (place)
			i += place - 1;
		else if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* The messages give the position only: a credential's name is never echoed. */
static bool check_variable(const struct artefact *a, const struct artefact_record *r, size_t at,
			   struct tally *t, struct artefact_error *error)
{
	bool sets = r->type == CAVE_RECORD_ENV_SET;

	if (++t->env > ARTEFACT_ENV_MAX)
		return fail(error, "cave.manifest: more than %d variables", ARTEFACT_ENV_MAX);
	if (r->flags & ~(sets ? (unsigned)CAVE_ENV_PLACES : 0u))
		return fail(error, "cave.manifest: unknown flags 0x%x at %zu", r->flags, at);
	if (!is_variable(r->payload, variable_length(r)))
		return fail(error, "cave.manifest: the record at %zu names no variable", at);
	if (sets && (variable_length(r) == r->length || !is_value(r)))
		return fail(error, "cave.manifest: the record at %zu holds no value", at);
	if (!variable_is_new(a, r))
		return fail(error, "cave.manifest: the variable at %zu is there twice", at);
	return true;
}

/* "/proc/self/.." would be text below /proc/self and lead out of it. */
static bool goes_up(const char *path, size_t n)
{
	for (size_t at = 0, end; at < n; at = end + 1) {
		for (end = at; end < n && path[end] != '/'; end++)
			;
		if (end - at == 2 && path[at] == '.' && path[at + 1] == '.')
			return true;
	}
	return false;
}

/* What may be done: a grant reads at least, a denial nothing. */
static bool rights_agree(unsigned flags)
{
	const unsigned all = CAVE_FILE_READ | CAVE_FILE_WRITE | CAVE_FILE_EXECUTE;

	if (flags & CAVE_FILE_FOLDER && !(flags & CAVE_FILE_EXECUTE))
		return false;
	if (flags & CAVE_FILE_ONLY_WRITE && !(flags & CAVE_FILE_DENY))
		return false;
	if (flags & CAVE_FILE_DENY)
		return !(flags & (all | CAVE_FILE_SYSTEM | CAVE_FILE_SHM));
	return flags & CAVE_FILE_READ && (!(flags & CAVE_FILE_SHM) || (flags & all) == (CAVE_FILE_READ | CAVE_FILE_WRITE));
}

/* An absolute path, or one below the one base that the flags name. */
static bool path_agrees(const struct artefact_record *r, unsigned base)
{
	const char *slash;

	if (!base)
		return r->length && r->payload[0] == '/';
	if (r->length && r->payload[0] == '/')
		return false;
	if (base == CAVE_FILE_SHM)
		return !r->length;
	if (base != CAVE_FILE_SLOT)
		return true;
	slash = memchr(r->payload, '/', r->length);
	return artefact_slot_valid(r->payload, slash ? (size_t)(slash - r->payload) : r->length);
}

static bool check_file(const struct artefact_record *r, size_t at, struct tally *t,
		       struct artefact_error *error)
{
	const unsigned known = CAVE_FILE_READ | CAVE_FILE_WRITE | CAVE_FILE_OPTIONAL | CAVE_FILE_SYSTEM |
			       CAVE_FILE_EXECUTE | CAVE_FILE_DENY | CAVE_FILE_FOLDER | CAVE_FILE_ONLY_WRITE |
			       CAVE_FILE_BASES;
	const unsigned base = r->flags & CAVE_FILE_BASES;

	if (++t->files > ARTEFACT_FILES_MAX)
		return fail(error, "cave.manifest: more than %d files", ARTEFACT_FILES_MAX);
	if (r->flags & ~known || !rights_agree(r->flags))
		return fail(error, "cave.manifest: flags 0x%x of the file at %zu", r->flags, at);
	if (!is_text(r->payload, r->length, ARTEFACT_PATH_MAX))
		return fail(error, "cave.manifest: the record at %zu holds no path", at);
	if (goes_up(r->payload, r->length))
		return fail(error, "cave.manifest: the path at %zu has a '..'", at);
	if (base & (base - 1) || (base && r->flags & CAVE_FILE_SYSTEM))
		return fail(error, "cave.manifest: the path at %zu has two bases", at);
	if (!path_agrees(r, base))
		return fail(error, "cave.manifest: the path at %zu and its flags 0x%x disagree", at,
			    r->flags);
	return true;
}

static bool check_program_record(const struct artefact_record *r, size_t at, struct tally *t,
				 struct artefact_error *error)
{
	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++) {
		if (strlen(hooks[i]) != r->length || memcmp(hooks[i], r->payload, r->length))
			continue;
		if (r->flags || t->hook[i])
			return fail(error, "cave.manifest: program %s is there twice", hooks[i]);
		t->hook[i] = true;
		return true;
	}
	return fail(error, "cave.manifest: the record at %zu names no hook that is known here", at);
}

/* --- filters ------------------------------------------------------------------------------------- */

static bool is_load(const struct sock_filter *i)
{
	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS: /* becomes a load from struct seccomp_data */
		return i->k % 4 == 0 && i->k < sizeof(struct seccomp_data);
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
		return true;
	default:
		return false;
	}
}

static bool is_arithmetic(const struct sock_filter *i)
{
	switch (i->code) {
	case BPF_ALU | BPF_ADD | BPF_K:
	case BPF_ALU | BPF_ADD | BPF_X:
	case BPF_ALU | BPF_SUB | BPF_K:
	case BPF_ALU | BPF_SUB | BPF_X:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_ALU | BPF_AND | BPF_X:
	case BPF_ALU | BPF_OR | BPF_K:
	case BPF_ALU | BPF_OR | BPF_X:
	case BPF_ALU | BPF_XOR | BPF_K:
	case BPF_ALU | BPF_XOR | BPF_X:
	case BPF_ALU | BPF_NEG:
		return true;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K:
		return i->k < 32;
	default:
		return false;
	}
}

/* Jumps only go forward, so every program ends. */
static bool is_jump(const struct sock_filter *i, size_t left)
{
	switch (i->code) {
	case BPF_JMP | BPF_JA:
		return i->k < left;
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JEQ | BPF_X:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_X:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_X:
	case BPF_JMP | BPF_JSET | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_X:
		return i->jt < left && i->jf < left;
	default:
		return false;
	}
}

static bool is_return(const struct sock_filter *i)
{
	return i->code == (BPF_RET | BPF_K) || i->code == (BPF_RET | BPF_A);
}

bool artefact_filter_check(const struct sock_filter *insn, size_t n, size_t *bad)
{
	for (size_t i = 0; i < n && i < BPF_MAXINSNS; i++) {
		if (is_load(&insn[i]) || is_arithmetic(&insn[i]) || is_jump(&insn[i], n - i - 1) ||
		    is_return(&insn[i]))
			continue;
		*bad = i;
		return false;
	}
	*bad = n ? n - 1 : 0;
	return n && n <= BPF_MAXINSNS && is_return(&insn[n - 1]);
}

static bool check_patch(const struct artefact_filter *f, size_t i, const char *arch,
			unsigned seen[CAVE_PATCH_KINDS], struct artefact_error *error)
{
	const struct cave_patch *p = &f->patch[i];
	bool returns = p->kind == CAVE_PATCH_RET_METADATA || p->kind == CAVE_PATCH_RET_SIGNAL;

	if (p->kind >= CAVE_PATCH_KINDS)
		return fail(error, "%s filter: patch %zu is of unknown kind %u", arch, i, p->kind);
	if (p->insn >= f->n || (i && p->insn <= p[-1].insn))
		return fail(error, "%s filter: patch %zu at instruction %u is misplaced", arch, i,
			    p->insn);
	if (f->insn[p->insn].code != (returns ? BPF_RET | BPF_K : BPF_JMP | BPF_JEQ | BPF_K) ||
	    f->insn[p->insn].k != CAVE_PATCH_UNSET)
		return fail(error, "%s filter: instruction %u cannot be patched", arch, p->insn);
	if (seen[p->kind]++ && p->kind != CAVE_PATCH_SELF)
		return fail(error, "%s filter: patch %zu is there twice", arch, i);
	return true;
}

static bool check_patches(const struct artefact_filter *f, const char *arch,
			  struct artefact_error *error)
{
	unsigned seen[CAVE_PATCH_KINDS] = { 0 };

	for (size_t i = 0; i < f->npatches; i++)
		if (!check_patch(f, i, arch, seen, error))
			return false;
	return true;
}

/* No more than one of each is there: see above.  What may execute more than once needs none. */
static bool check_exec_patches(const struct artefact *a, enum artefact_arch arch, struct artefact_error *error)
{
	const struct artefact_filter *f = &a->filter[arch];
	unsigned wanted = a->children ? 0 : CAVE_PATCH_EXEC_5 - CAVE_PATCH_EXEC_0 + 1, n = 0;

	for (size_t i = 0; i < f->npatches; i++)
		n += f->patch[i].kind <= CAVE_PATCH_EXEC_5;
	return !f->n || n == wanted ||
	       fail(error, "%s filter: %u patches for its own execve, and there must be %u", arches[arch].name, n,
		    wanted);
}

/* The filter's section, whole and acceptable to the kernel. */
static bool read_filter(const struct artefact *a, const char *section, struct artefact_filter *f,
			struct artefact_error *error)
{
	const struct artefact_section *s = artefact_section(a, section);
	size_t bad;

	if (!s)
		return fail(error, "there is no section %s", section);
	if (s->size % sizeof *f->insn || !s->size || s->size / sizeof *f->insn > BPF_MAXINSNS)
		return fail(error, "%s: %zu bytes cannot be a filter", section, s->size);
	f->insn = s->data;
	f->n = s->size / sizeof *f->insn;
	if (!artefact_filter_check(f->insn, f->n, &bad))
		return fail(error, "%s: instruction %zu is not one that the kernel takes", section,
			    bad);
	return true;
}

static bool check_filter(struct artefact *a, const struct artefact_record *r, size_t at,
			 struct artefact_error *error)
{
	struct cave_filter head;
	struct artefact_filter f;
	size_t arch = 0;

	if (r->flags || r->length < sizeof head)
		return fail(error, "cave.manifest: the record at %zu describes no filter", at);
	memcpy(&head, r->payload, sizeof head);
	while (arch < ARTEFACT_ARCHES && arches[arch].audit != head.arch)
		arch++;
	if (arch == ARTEFACT_ARCHES || a->filter[arch].n)
		return fail(error, "cave.manifest: architecture 0x%x at %zu is unknown, or twice",
			    head.arch, at);
	if (head.patches != (r->length - sizeof head) / sizeof *f.patch ||
	    (r->length - sizeof head) % sizeof *f.patch)
		return fail(error, "cave.manifest: the record at %zu does not hold %u patches", at,
			    head.patches);
	f.patch = (const void *)(r->payload + sizeof head);
	f.npatches = head.patches;
	if (!read_filter(a, arches[arch].section, &f, error) ||
	    !check_patches(&f, arches[arch].name, error))
		return false;
	a->filter[arch] = f;
	return true;
}

/* --- name servers -------------------------------------------------------------------------------- */

void artefact_resolver_fill(const struct cave_resolver_patch *place, size_t nplaces, enum cave_hook hook,
			    const struct artefact_address *address, size_t n, struct bpf_insn *insn)
{
	for (size_t i = 0; i < nplaces; i++) {
		const struct artefact_address *a = &address[place[i].slot];
		bool six = place[i].field >= CAVE_RESOLVER_PORT6;
		uint32_t value;

		if (place[i].hook != hook || place[i].slot >= n || a->six != six)
			continue;
		if (place[i].field == CAVE_RESOLVER_PORT4 || place[i].field == CAVE_RESOLVER_PORT6)
			value = CAVE_RESOLVER_PORT;
		else
			value = a->word[six ? place[i].field - CAVE_RESOLVER_WORD6 : 3];
		insn[place[i].insn].imm = (int32_t)value;
	}
}

/* --- limits and children ------------------------------------------------------------------------- */

static bool read_limits(struct artefact *a, const struct artefact_record *r, size_t at, struct tally *t,
			struct artefact_error *error)
{
	struct cave_limits limits;

	if (t->limits++ || r->flags || r->length != sizeof limits)
		return fail(error, "cave.manifest: the record at %zu holds no limits", at);
	memcpy(&limits, r->payload, sizeof limits);
	for (unsigned i = 0; i < CAVE_LIMITS; i++)
		if (!limit_valid(i, limits.value[i]))
			return fail(error, "cave.manifest: the limit %s at %zu is none", limit_table[i].name, at);
	a->limits = limits;
	return true;
}

static bool read_children(struct artefact *a, const struct artefact_record *r, size_t at, struct artefact_error *error)
{
	struct cave_children children;

	if (a->children || r->flags || r->length != sizeof children)
		return fail(error, "cave.manifest: the record at %zu describes no children", at);
	memcpy(&children, r->payload, sizeof children);
	if (children.max > CAVE_CHILDREN_MAX || children.reserved)
		return fail(error, "cave.manifest: %u children at %zu, at most %d are known here", children.max, at,
			    CAVE_CHILDREN_MAX);
	a->children = true;
	a->max_children = children.max;
	return true;
}

/* --- all records, and what must be there because of them ----------------------------------------- */

static bool read_resolver(struct artefact *a, const struct artefact_record *r, size_t at,
			  struct artefact_error *error)
{
	if (a->nresolver || r->flags || !r->length || r->length % sizeof *a->resolver)
		return fail(error, "cave.manifest: the record at %zu holds no places of name servers", at);
	a->resolver = (const void *)r->payload;
	a->nresolver = r->length / sizeof *a->resolver;
	return true;
}

/* One constant: of a comparison that was made for it, and not yet set. */
static bool is_resolver_place(const struct artefact *a, const struct cave_resolver_patch *p)
{
	const uint8_t compare[] = { BPF_JMP32 | BPF_JEQ | BPF_K, BPF_JMP32 | BPF_JNE | BPF_K };
	const struct bpf_insn *insn;
	bool port = p->field == CAVE_RESOLVER_PORT4 || p->field == CAVE_RESOLVER_PORT6;

	if (p->hook >= CAVE_HOOK_COUNT || p->slot >= CAVE_RESOLVERS ||
	    p->field >= CAVE_RESOLVER_FIELDS || p->insn >= a->program[p->hook].n)
		return false;
	insn = &a->program[p->hook].insn[p->insn];
	return (insn->code == compare[0] || insn->code == compare[1]) && !insn->src_reg &&
	       insn->imm == (port ? CAVE_RESOLVER_UNSET : 0);
}

static bool check_resolver(const struct artefact *a, struct artefact_error *error)
{
	const struct cave_resolver_patch *p = a->resolver;

	for (size_t i = 0; i < a->nresolver; i++)
		if (!is_resolver_place(a, &p[i]) ||
		    (i && (p[i].hook < p[i - 1].hook ||
			   (p[i].hook == p[i - 1].hook && p[i].insn <= p[i - 1].insn))))
			return fail(error, "cave.manifest: place %zu of a name server is not one", i);
	return true;
}

static bool read_reach(struct artefact *a, const struct artefact_record *r, size_t at, struct tally *t,
		       struct artefact_error *error)
{
	if (t->reaches++ || r->flags || r->length != sizeof a->reach)
		return fail(error, "cave.manifest: the record at %zu is no reach", at);
	memcpy(&a->reach, r->payload, sizeof a->reach);
	return true;
}

/* Its section: the name that a record has, of `n` bytes. */
static const struct artefact_section *nested_section(const struct artefact *a, const char *name, size_t n)
{
	for (size_t i = 0; i < a->nsections; i++) {
		const char *own = a->section[i].name;

		if (!strncmp(own, PROFILE_PREFIX, strlen(PROFILE_PREFIX)) && strlen(own) == strlen(PROFILE_PREFIX) + n &&
		    !memcmp(own + strlen(PROFILE_PREFIX), name, n))
			return &a->section[i];
	}
	return NULL;
}

/* Names ascend, as strings do. */
static bool name_follows(const struct artefact_record *last, const struct artefact_record *r)
{
	size_t n, m;
	const char *a = artefact_nested_name(last, &n), *b = artefact_nested_name(r, &m);
	int order = memcmp(a, b, n < m ? n : m);

	return order < 0 || (!order && n < m);
}

static bool check_profile(const struct artefact *a, const struct artefact_record *r, size_t at, struct tally *t,
			  struct artefact_error *error)
{
	const char *name;
	size_t n;

	if (t->nested++ == ARTEFACT_NESTED_MAX)
		return fail(error, "cave.manifest: more than %d nested profiles", ARTEFACT_NESTED_MAX);
	if (r->flags || r->length <= CAVE_DIGEST_SIZE ||
	    !is_text(r->payload + CAVE_DIGEST_SIZE, r->length - CAVE_DIGEST_SIZE, ARTEFACT_NAME_MAX))
		return fail(error, "cave.manifest: the record at %zu is no nested profile", at);
	if (t->nested > 1 && !name_follows(&t->profile, r))
		return fail(error, "cave.manifest: the nested profile at %zu is out of order, or twice", at);
	t->profile = *r;
	name = artefact_nested_name(r, &n);
	return nested_section(a, name, n) || fail(error, "there is no section for the nested profile at %zu", at);
}

/* Names are of no use without the programs that know their addresses. */
static bool read_hosts(struct artefact *a, const struct artefact_record *r, size_t at, struct artefact_error *error)
{
	if (a->host_record || r->flags || !(a->requires & CAVE_REQUIRE_EGRESS) ||
	    !hosts_open(r->payload, r->length, &a->hosts))
		return fail(error, "cave.manifest: the record at %zu holds no host names", at);
	a->host_record = r->payload;
	a->host_record_size = r->length;
	return true;
}

static bool check_record(struct artefact *a, const struct artefact_record *r, size_t at,
			 struct tally *t, struct artefact_error *error)
{
	switch (r->type) {
	case CAVE_RECORD_NAME:
		if (t->names++ || r->flags || !r->length ||
		    !is_text(r->payload, r->length, ARTEFACT_NAME_MAX))
			return fail(error, "cave.manifest: the record at %zu is no name", at);
		return true;
	case CAVE_RECORD_CREDENTIAL:
	case CAVE_RECORD_ENV_PASS:
	case CAVE_RECORD_ENV_SET:
		return check_variable(a, r, at, t, error);
	case CAVE_RECORD_FILE:
		return check_file(r, at, t, error);
	case CAVE_RECORD_FILTER:
		return check_filter(a, r, at, error);
	case CAVE_RECORD_PROGRAM:
		return check_program_record(r, at, t, error);
	case CAVE_RECORD_RESOLVER:
		return read_resolver(a, r, at, error);
	case CAVE_RECORD_MAP:
		return check_map_record(a, r, at, error);
	case CAVE_RECORD_PROFILE:
		return check_profile(a, r, at, t, error);
	case CAVE_RECORD_REACH:
		return read_reach(a, r, at, t, error);
	case CAVE_RECORD_LIMITS:
		return read_limits(a, r, at, t, error);
	case CAVE_RECORD_CHILDREN:
		return read_children(a, r, at, error);
	case CAVE_RECORD_HOSTS:
		return read_hosts(a, r, at, error);
	}
	return fail(error, "cave.manifest: unknown record type %d at %zu", (int)r->type, at);
}

/* Without EGRESS there is no program at all; with it, one on every hook, but for those that belong to host names. */
static bool read_programs(struct artefact *a, const struct tally *t, struct artefact_error *error)
{
	bool egress = a->requires & CAVE_REQUIRE_EGRESS;

	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++) {
		const struct artefact_section *s = artefact_section(a, hooks[i]);
		bool wanted = egress && (i < CAVE_HOOK_NAMES || a->host_record);

		if (!!s != wanted || t->hook[i] != wanted)
			return fail(error, "program %s is %s", hooks[i],
				    wanted ? "missing" : "there and the manifest asks for nothing that it does");
		if (!s)
			continue;
		if (!s->size || s->size % sizeof(struct bpf_insn) ||
		    s->size / sizeof(struct bpf_insn) > ARTEFACT_PROGRAM_MAX)
			return fail(error, "program %s: %zu bytes cannot be one", hooks[i], s->size);
		a->program[i] = (struct artefact_program){ s->data, s->size / sizeof(struct bpf_insn) };
	}
	return true;
}

/* A filter that no record completes would be one whose patches nobody sets. */
static bool check_filters(const struct artefact *a, struct artefact_error *error)
{
	size_t n = 0;

	for (size_t i = 0; i < ARTEFACT_ARCHES; i++) {
		if (!a->filter[i].n && artefact_section(a, arches[i].section))
			return fail(error, "%s: the manifest does not mention it", arches[i].section);
		if (!check_exec_patches(a, i, error))
			return false;
		n += a->filter[i].n != 0;
	}
	return n || fail(error, "there is no syscall filter");
}

static bool read_manifest(struct artefact *a, struct artefact_error *error)
{
	struct artefact_record r;
	struct tally t = { 0 };
	size_t next = 0, at = sizeof(struct cave_manifest_header);

	if (!check_manifest_header(a, error) || !check_frames(a, error))
		return false;
	for (; artefact_next(a, &next, &r); at = next)
		if (!check_record(a, &r, at, &t, error))
			return false;
	if (t.names != 1)
		return fail(error, "cave.manifest: the profile has no name");
	if (t.reaches != !!(a->requires & CAVE_REQUIRE_EGRESS))
		return fail(error, "cave.manifest: a reach is %s", t.reaches ? "there without a network" : "missing");
	return check_filters(a, error) && read_programs(a, &t, error) &&
	       check_resolver(a, error) && check_maps(a, error);
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
	for (size_t i = 0; i < ARTEFACT_ARCHES; i++)
		if ((s = artefact_section(a, arches[i].section)))
			parts.filter[i] = *s;
	for (size_t i = 0, n = 0; i < a->nmaps; i++)
		if ((s = table_section(a, &a->map[i])))
			parts.table[n++] = *s;
	artefact_identity(&parts, identity);
	if (memcmp(identity, a->identity, sizeof identity))
		return fail(error, "its identity is not that of its policy and programs");
	return true;
}

bool artefact_open(const void *data, size_t size, struct artefact *out, struct artefact_error *error)
{
	struct artefact a = { .data = data, .size = size, .limits = limits_standard() };

	if (!check_digest(&a, error) || !check_elf_header(&a, error) || !read_sections(&a, error) ||
	    !require_sections(&a, error) || !read_manifest(&a, error) || !check_identity(&a, error))
		return false;
	*out = a;
	return true;
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
