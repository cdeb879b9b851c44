/* SPDX-License-Identifier: MIT */
/*
 * .BTF.ext (Documentation/bpf/btf.rst, 4.2).  Every offset is checked here, since the section is outside the identity.
 */
#include "runtime/load_info.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_size;
	uint32_t func_offset, func_size, line_offset, line_size;
};

struct ext_block {
	uint32_t section; /* its name, in the strings of .BTF */
	uint32_t records;
};

enum { EXT_MAGIC = 0xeb9f };

void load_info_open(const struct artefact *a, struct load_info *out)
{
	const struct artefact_section *btf = artefact_section(a, ".BTF");

	*out = (struct load_info){ .fd = -1, .ext = artefact_section(a, ".BTF.ext") };
	if (btf && btf->size <= UINT32_MAX && load_btf_open(btf->data, btf->size, &out->btf))
		out->fd = load_bpf_btf(btf->data, btf->size);
}

void load_info_close(struct load_info *info)
{
	if (info->fd >= 0)
		close(info->fd);
	info->fd = -1;
}

/* The block of `section` in a table of records, which is the size of one record and then blocks; NULL if none. */
static const char *find_block(const struct load_info *info, size_t offset, size_t size, const char *section,
			      uint32_t want, uint32_t *count)
{
	const char *data = info->ext->data;
	uint32_t record;

	if (offset > info->ext->size || size > info->ext->size - offset || size < sizeof record)
		return NULL;
	memcpy(&record, data + offset, sizeof record);
	if (record != want)
		return NULL;
	data += offset + sizeof record;
	size -= sizeof record;
	while (size >= sizeof(struct ext_block)) {
		struct ext_block block;
		size_t bytes;

		memcpy(&block, data, sizeof block);
		bytes = (size_t)block.records * record;
		data += sizeof block;
		size -= sizeof block;
		if (bytes > size || !bytes)
			return NULL;
		*count = block.records;
		if (!strcmp(load_btf_name(&info->btf, block.section), section))
			return data;
		data += bytes;
		size -= bytes;
	}
	return NULL;
}

/* Records while they are put together; data is NULL where there is no memory, or was none. */
struct records {
	char *data;
	uint32_t n;
};

/*
 * Those of one piece of the program, from its place in the section to the one in the program.  The first word of either
 * kind of record is its offset.
 */
static void add_piece(struct records *r, const char *block, uint32_t count, size_t record,
		      const struct artefact_piece *piece)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at;

		memcpy(&at, block + i * record, sizeof at);
		at /= sizeof(struct bpf_insn);
		if (at < piece->from || at - piece->from >= piece->n)
			continue;
		at = at - piece->from + piece->at;
		memcpy(r->data + r->n * record, block + i * record, record);
		memcpy(r->data + r->n * record, &at, sizeof at);
		r->n++;
	}
}

/* Those of all pieces of a program: the first is of its own section, the others are functions. */
static struct records collect(const struct load_info *info, size_t offset, size_t size, const char *section,
			      uint32_t record, const struct artefact_whole *whole)
{
	uint32_t own = 0, shared = 0;
	const char *first = find_block(info, offset, size, section, record, &own), *rest = NULL;
	struct records r = { NULL, 0 };

	if (first && whole->npieces > 1)
		rest = find_block(info, offset, size, CAVE_FUNCTIONS, record, &shared);
	if (!first || (whole->npieces > 1 && !rest))
		return r;
	r.data = malloc(((size_t)own + shared) * record);
	if (!r.data)
		return r;
	add_piece(&r, first, own, record, &whole->piece[0]);
	for (size_t i = 1; i < whole->npieces; i++)
		add_piece(&r, rest, shared, record, &whole->piece[i]);
	return r;
}

void load_info_fill(const struct load_info *info, const char *section, const struct artefact_whole *whole,
		    union bpf_attr *attr, void *records[2])
{
	struct records functions, lines;
	struct ext_header h;

	records[0] = records[1] = NULL;
	if (info->fd < 0 || !info->ext || info->ext->size < sizeof h)
		return;
	memcpy(&h, info->ext->data, sizeof h);
	if (h.magic != EXT_MAGIC || h.header_size < sizeof h || h.header_size > info->ext->size)
		return;
	functions = collect(info, (size_t)h.header_size + h.func_offset, h.func_size, section,
			    sizeof(struct bpf_func_info), whole);
	lines = collect(info, (size_t)h.header_size + h.line_offset, h.line_size, section,
			sizeof(struct bpf_line_info), whole);
	records[0] = functions.data;
	records[1] = lines.data;
	/* The kernel wants one for each function. */
	if (!functions.data || functions.n != whole->npieces)
		return;
	attr->prog_btf_fd = (uint32_t)info->fd;
	attr->func_info = (uintptr_t)functions.data;
	attr->func_info_cnt = functions.n;
	attr->func_info_rec_size = sizeof(struct bpf_func_info);
	if (!lines.n)
		return;
	attr->line_info = (uintptr_t)lines.data;
	attr->line_info_cnt = lines.n;
	attr->line_info_rec_size = sizeof(struct bpf_line_info);
}
