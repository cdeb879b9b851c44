/* SPDX-License-Identifier: MIT */
#include "compiler/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"
#include "bpf/limits.h"
#include "cave/codes.h"
#include "compiler/artefact_read.h"
#include "compiler/compile.h"
#include "compiler/disasm.h"
#include "compiler/dump_hosts.h"
#include "compiler/paths.h"
#include "compiler/visible.h"

/* A source line as the artefact records it; the text need not end with a NUL in a damaged one. */
struct line {
	uint32_t number;
	const char *file, *text;
};

struct lines {
	struct line *line;
	size_t n;
};

/* Bytes from an artefact on their way to a terminal. */
static void put(FILE *to, const char *s, size_t n)
{
	visible_put(s, n, to);
}

/* Of the artefact's texts only the profile has lines. */
static void put_lines(FILE *to, const char *s, size_t n)
{
	for (size_t at = 0; at < n;) {
		const char *end = memchr(s + at, '\n', n - at);
		size_t length = end ? (size_t)(end - (s + at)) : n - at;

		put(to, s + at, length);
		if (end)
			fputc('\n', to);
		at += length + 1;
	}
}

static void put_hex(FILE *to, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%02x", bytes[i]);
}

/* --- manifest --- */

static const struct {
	unsigned flag;
	const char *name;
} file_flags[] = {
	{ CAVE_FILE_OPTIONAL, "optional" },
	{ CAVE_FILE_RELATIVE, "relative" },
	{ CAVE_FILE_WORKSPACE, "workspace" },
	{ CAVE_FILE_SYSTEM, "system" },
	{ CAVE_FILE_HOME, "home" },
	{ CAVE_FILE_TMP, "tmp" },
	{ CAVE_FILE_SHM, "shm" },
	{ CAVE_FILE_SLOT, "slot" },
	{ CAVE_FILE_FOLDER, "folder" },
};

/* What may be done with it; `write` and `execute` include `read`. */
static const char *file_verb(unsigned flags)
{
	if (flags & CAVE_FILE_DENY)
		return flags & CAVE_FILE_ONLY_WRITE ? "deny write" : "deny";
	if (flags & CAVE_FILE_WRITE)
		return flags & CAVE_FILE_EXECUTE ? "write, execute" : "write";
	return flags & CAVE_FILE_EXECUTE ? "execute" : "read";
}

static void dump_file_record(FILE *to, const struct artefact_record *r)
{
	fprintf(to, "  %s \"", file_verb(r->flags));
	put(to, r->payload, r->length);
	fputc('"', to);
	for (size_t i = 0; i < sizeof file_flags / sizeof *file_flags; i++)
		if (r->flags & file_flags[i].flag)
			fprintf(to, " %s", file_flags[i].name);
	fputc('\n', to);
}

static void dump_set(FILE *to, const struct artefact_record *r)
{
	size_t name = strnlen(r->payload, r->length);

	fputs("  set ", to);
	put(to, r->payload, name);
	fputs(" \"", to);
	for (size_t i = name + 1; i < r->length; i++) {
		char place[PLACE_SPELLING_SIZE];

		if (r->payload[i] >= CAVE_ENV_WORKSPACE_BYTE && r->payload[i] <= CAVE_ENV_SLOT_BYTE) {
			i += place_spelling(r->payload + i, place) - 1;
			fputs(place, to);
		} else {
			put(to, &r->payload[i], 1);
		}
	}
	fputs("\"\n", to);
}

static void dump_patches(FILE *to, const struct artefact *a)
{
	static const char *const kinds[CAVE_PATCH_KINDS] = {
		"exec word 0", "exec word 1", "exec word 2",	    "exec word 3",	   "exec word 4",
		"exec word 5", "own process", "metadata of files", "signals to others",
	};

	for (int arch = 0; arch < ARTEFACT_ARCHES; arch++) {
		const struct artefact_filter *f = &a->filter[arch];

		if (!f->n)
			continue;
		fprintf(to, "  filter %s, completed at spawn:", artefact_arch_name(arch));
		for (size_t i = 0; i < f->npatches; i++)
			fprintf(to, "%s %u (%s)", i ? "," : "", f->patch[i].insn, kinds[f->patch[i].kind]);
		fputc('\n', to);
	}
}

static void dump_reach(FILE *to, const struct artefact_record *r)
{
	struct cave_reach reach;

	memcpy(&reach, r->payload, sizeof reach);
	fprintf(to, "  reaches %" PRIu64 " public IPv4 addresses, %" PRIu64 " public IPv6 /48 networks\n", reach.ipv4,
		reach.ipv6);
}

/* The records of maps stand in the order of their numbers. */
static void dump_map(FILE *to, const struct artefact *a, const struct artefact_record *r)
{
	static const char *const types[] = {
		[BPF_MAP_TYPE_ARRAY] = "array",
		[BPF_MAP_TYPE_HASH] = "hash",
		[BPF_MAP_TYPE_LRU_HASH] = "lru_hash",
	};
	const struct artefact_map *m = a->map;

	while (memcmp(m->name, r->payload + sizeof m->spec, r->length - sizeof m->spec) ||
	       m->name[r->length - sizeof m->spec])
		m++;
	fprintf(to, "  map %zu, %s: ", (size_t)(m - a->map), m->name);
	if (m->contents)
		fprintf(to, "a table of %u bytes\n", m->spec.value_size);
	else
		fprintf(to, "%s, at most %u entries, key %u bytes, value %u bytes\n", types[m->spec.type],
			m->spec.max_entries, m->spec.key_size, m->spec.value_size);
}

static void dump_limits(FILE *to, const struct artefact_record *r)
{
	struct cave_limits limits;
	char text[LIMIT_TEXT];

	memcpy(&limits, r->payload, sizeof limits);
	for (unsigned i = 0; i < CAVE_LIMITS; i++)
		fprintf(to, "  limit %s %s\n", limit_table[i].name, limit_text(limit_table[i].kind, limits.value[i], text));
}

static void dump_children(FILE *to, const struct artefact_record *r)
{
	struct cave_children children;

	memcpy(&children, r->payload, sizeof children);
	fprintf(to, "  children %u\n", children.max);
}

static void dump_record(FILE *to, const struct artefact *a, const struct artefact_record *r)
{
	static const char *const labels[] = {
		[CAVE_RECORD_NAME] = "name",
		[CAVE_RECORD_CREDENTIAL] = "credential",
		[CAVE_RECORD_ENV_PASS] = "pass",
		[CAVE_RECORD_PROGRAM] = "program",
	};

	if (r->type == CAVE_RECORD_PROFILE) {
		size_t n;
		const char *name = artefact_nested_name(r, &n);

		fputs("  profile ", to);
		put(to, name, n);
		fputs(", identity ", to);
		put_hex(to, (const uint8_t *)r->payload, CAVE_DIGEST_SIZE);
		fputc('\n', to);
	} else if (r->type == CAVE_RECORD_FILE) {
		dump_file_record(to, r);
	} else if (r->type == CAVE_RECORD_ENV_SET) {
		dump_set(to, r);
	} else if (r->type == CAVE_RECORD_RESOLVER) {
		fprintf(to, "  name servers of the host, in %zu places\n",
			r->length / sizeof(struct cave_resolver_patch));
	} else if (r->type == CAVE_RECORD_MAP) {
		dump_map(to, a, r);
	} else if (r->type == CAVE_RECORD_HOSTS) {
		dump_hosts(to, &a->hosts);
	} else if (r->type == CAVE_RECORD_REACH) {
		dump_reach(to, r);
	} else if (r->type == CAVE_RECORD_LIMITS) {
		dump_limits(to, r);
	} else if (r->type == CAVE_RECORD_CHILDREN) {
		dump_children(to, r);
	} else if (r->type != CAVE_RECORD_FILTER) {
		fprintf(to, "  %s ", labels[r->type]);
		put(to, r->payload, r->length);
		fputc('\n', to);
	}
}

static void dump_manifest(FILE *to, const struct artefact *a)
{
	struct artefact_record r;
	size_t at = 0;

	fprintf(to, "identity ");
	put_hex(to, a->identity, CAVE_DIGEST_SIZE);
	fprintf(to, "\ndigest   ");
	put_hex(to, a->data + a->size - CAVE_DIGEST_SIZE, CAVE_DIGEST_SIZE);
	fprintf(to, "\n\nmanifest, version %u\n", CAVE_MANIFEST_VERSION);
	fprintf(to, "  requires%s%s%s\n", a->requires & CAVE_REQUIRE_EGRESS ? " egress programs" : "",
		a->requires & CAVE_REQUIRE_MOUNTS ? " a mount namespace" : "", a->requires ? "" : " nothing more");
	while (artefact_next(a, &at, &r))
		dump_record(to, a, &r);
	dump_patches(to, a);
	fputs("\nprofile\n", to);
	put_lines(to, a->policy.data, a->policy.size);
}

/* --- lines --- */

/* Splits cave.lines; what does not fit its format is left out. */
static struct lines read_lines(const struct artefact *a)
{
	const struct artefact_section *s = artefact_section(a, "cave.lines");
	const char *at = s ? s->data : NULL, *end = s ? at + s->size : NULL;
	struct lines l = { calloc(s ? s->size / 6 + 1 : 1, sizeof *l.line), 0 };

	while (l.line && at && end - at > 4) {
		struct line *line = &l.line[l.n];
		size_t file = strnlen(at + 4, (size_t)(end - at) - 4), text;

		memcpy(&line->number, at, 4);
		line->file = at + 4;
		at += 4 + file + 1;
		text = at < end ? strnlen(at, (size_t)(end - at)) : 0;
		if (at >= end || at + text == end)
			break;
		line->text = at;
		at += text + 1;
		l.n++;
	}
	return l;
}

static void put_line(FILE *to, const char *file, uint32_t number, const char *text)
{
	if (!number)
		return;
	fputs("  # ", to);
	put(to, file, strlen(file));
	fprintf(to, ":%u: ", number);
	put(to, text, strlen(text));
}

/* --- programs --- */

/* Where a filter's instructions came from: runs that are used up one instruction after the other. */
struct runs {
	const struct cave_line_run *run, *end;
	uint32_t used;
};

static struct runs read_runs(const struct artefact *a, enum artefact_arch arch)
{
	const struct artefact_section *s;
	const struct cave_line_run *run;
	char name[64];

	snprintf(name, sizeof name, "cave.seccomp.%s.lines", artefact_arch_name(arch));
	s = artefact_section(a, name);
	run = s ? s->data : NULL;
	return (struct runs){ run, run ? run + s->size / sizeof *run : NULL, 0 };
}

/* The line of the next instruction, or NULL. */
static const struct line *next_line(struct runs *r, const struct lines *lines)
{
	while (r->run < r->end && r->used >= r->run->count) {
		r->run++;
		r->used = 0;
	}
	if (r->run == r->end)
		return NULL;
	r->used++;
	return r->run->line < lines->n ? &lines->line[r->run->line] : NULL;
}

static void dump_filter(FILE *to, const struct artefact *a, enum artefact_arch arch, const struct lines *lines)
{
	const struct artefact_filter *f = &a->filter[arch];
	struct runs runs = read_runs(a, arch);
	char text[DISASM_SIZE];

	fprintf(to, "\nsyscall filter %s, %zu instructions\n", artefact_arch_name(arch), f->n);
	for (size_t i = 0; i < f->n; i++) {
		const struct line *l = next_line(&runs, lines);

		disasm_filter(f->insn, i, text);
		fprintf(to, "%5zu  %-44s", i, text);
		if (l)
			put_line(to, l->file, l->number, l->text);
		fputc('\n', to);
	}
}

/* The line records of one section in .BTF.ext, as the kernel and bpftool read them. */
struct line_info {
	const struct bpf_line_info *record;
	size_t n;
	const char *strings;
	size_t strings_size;
};

static const char *btf_string(const struct line_info *l, uint32_t offset)
{
	if (offset >= l->strings_size || !memchr(l->strings + offset, '\0', l->strings_size - offset))
		return "?";
	return l->strings + offset;
}

static bool btf_strings(const struct artefact *a, struct line_info *out)
{
	const struct artefact_section *s = artefact_section(a, ".BTF");
	const struct btf_header *h = s && s->size >= sizeof *h ? s->data : NULL;

	if (!h || h->hdr_len > s->size || h->str_off > s->size - h->hdr_len ||
	    h->str_len > s->size - h->hdr_len - h->str_off)
		return false;
	out->strings = (const char *)s->data + h->hdr_len + h->str_off;
	out->strings_size = h->str_len;
	return true;
}

/* Finds the records for section `name`; false if there are none, or the section is not as it should be. */
static bool find_line_info(const struct artefact *a, const char *name, struct line_info *out)
{
	const struct artefact_section *s = artefact_section(a, ".BTF.ext");
	const uint32_t *word = s && s->size >= 24 ? s->data : NULL;
	size_t at, end;

	if (!word || !btf_strings(a, out) || word[1] > s->size || word[4] > s->size - word[1] ||
	    word[5] > s->size - word[1] - word[4])
		return false;
	at = (size_t)word[1] + word[4];
	end = at + word[5];
	if (at % 4 || end - at < 4 || word[at / 4] != sizeof *out->record)
		return false;
	for (at += 4; end - at >= 8;) {
		uint32_t section = word[at / 4], n = word[at / 4 + 1];

		at += 8;
		if (n > (end - at) / sizeof *out->record)
			return false;
		out->record = (const struct bpf_line_info *)(word + at / 4);
		out->n = n;
		if (strcmp(btf_string(out, section), name) == 0)
			return true;
		at += n * sizeof *out->record;
	}
	return false;
}

/* One section of instructions; calls in it show where in .text the function begins. */
static void dump_program(FILE *to, const struct artefact *a, const char *name, const struct artefact_program *p)
{
	struct line_info info = { 0 };
	bool found = find_line_info(a, name, &info);
	char text[DISASM_SIZE];
	size_t record = 0;

	fprintf(to, "\nprogram %s, %zu instructions\n", name, p->n);
	for (size_t i = 0; i < p->n; i++) {
		disasm_hook(p->insn, p->n, i, text);
		while (found && record + 1 < info.n && info.record[record + 1].insn_off <= i * sizeof *p->insn)
			record++;
		if (!*text) /* the second half of a long load */
			continue;
		fprintf(to, "%5zu  %-44s", i, text);
		if (found && info.n)
			put_line(to, btf_string(&info, info.record[record].file_name_off),
				 info.record[record].line_col >> 10, btf_string(&info, info.record[record].line_off));
		fputc('\n', to);
	}
}

/* --- the whole --- */

int dump_file(const char *path, FILE *to)
{
	struct artefact *a = calloc(1, sizeof *a);
	struct artefact_error error;
	int status = EXIT_TROUBLE;
	struct lines lines;
	size_t size;
	void *data = a ? artefact_read(path, &size) : NULL;

	if (!data) {
		complain("cavec: %s: %s", path, strerror(errno));
	} else if (!artefact_open(data, size, a, &error)) {
		complain("cavec: %s: error: %s [%s]", path, error.text, cave_code_name(CAVE_POLICY_INVALID));
		status = EXIT_REFUSED;
	} else {
		lines = read_lines(a);
		dump_manifest(to, a);
		for (int arch = 0; arch < ARTEFACT_ARCHES; arch++)
			if (a->filter[arch].n)
				dump_filter(to, a, arch, &lines);
		for (int hook = 0; hook < CAVE_HOOK_COUNT; hook++)
			if (a->program[hook].n)
				dump_program(to, a, artefact_hook_name(hook), &a->program[hook]);
		if (a->functions.n)
			dump_program(to, a, CAVE_FUNCTIONS, &a->functions);
		free(lines.line);
		status = EXIT_DONE;
	}
	free(data);
	free(a);
	return status;
}
