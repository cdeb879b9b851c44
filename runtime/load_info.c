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

/* A table of records: its size of one record, then blocks.  Copies the block of `section`; NULL if none. */
static void *find_block(const struct load_info *info, size_t offset, size_t size, const char *section,
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
		if (!strcmp(load_btf_name(&info->btf, block.section), section)) {
			void *copy = malloc(bytes);

			*count = block.records;
			return copy ? memcpy(copy, data, bytes) : NULL;
		}
		data += bytes;
		size -= bytes;
	}
	return NULL;
}

/* The first word of either kind of record is its offset. */
static void to_instructions(void *records, uint32_t count, size_t record)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t offset;

		memcpy(&offset, (char *)records + i * record, sizeof offset);
		offset /= sizeof(struct bpf_insn);
		memcpy((char *)records + i * record, &offset, sizeof offset);
	}
}

void load_info_fill(const struct load_info *info, const char *section, union bpf_attr *attr, void *records[2])
{
	struct ext_header h;
	uint32_t functions = 0, lines = 0;

	records[0] = records[1] = NULL;
	if (info->fd < 0 || !info->ext || info->ext->size < sizeof h)
		return;
	memcpy(&h, info->ext->data, sizeof h);
	if (h.magic != EXT_MAGIC || h.header_size < sizeof h || h.header_size > info->ext->size)
		return;
	records[0] = find_block(info, (size_t)h.header_size + h.func_offset, h.func_size, section,
				sizeof(struct bpf_func_info), &functions);
	records[1] = find_block(info, (size_t)h.header_size + h.line_offset, h.line_size, section,
				sizeof(struct bpf_line_info), &lines);
	if (!records[0])
		return;
	to_instructions(records[0], functions, sizeof(struct bpf_func_info));
	attr->prog_btf_fd = (uint32_t)info->fd;
	attr->func_info = (uintptr_t)records[0];
	attr->func_info_cnt = functions;
	attr->func_info_rec_size = sizeof(struct bpf_func_info);
	if (!records[1])
		return;
	to_instructions(records[1], lines, sizeof(struct bpf_line_info));
	attr->line_info = (uintptr_t)records[1];
	attr->line_info_cnt = lines;
	attr->line_info_rec_size = sizeof(struct bpf_line_info);
}
