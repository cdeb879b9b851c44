/* SPDX-License-Identifier: MIT */
#include "runtime/load_maps.h"

#include <string.h>
#include <unistd.h>

/* The kernel checks what it is told here; a map without it is one that tools show as bytes. */
static void describe(const struct load_info *info, const struct artefact_map *m, union bpf_attr *attr)
{
	uint32_t key, value;

	if (info->fd < 0 || m->contents)
		return;
	load_btf_map(&info->btf, m->name, &key, &value);
	if (!key || !value)
		return;
	attr->btf_fd = (uint32_t)info->fd;
	attr->btf_key_type_id = key;
	attr->btf_value_type_id = value;
}

static int create(const struct artefact_map *m, const struct load_info *info)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof attr);
	attr.map_type = m->spec.type;
	attr.key_size = m->spec.key_size;
	attr.value_size = m->spec.value_size;
	attr.max_entries = m->spec.max_entries;
	attr.map_flags = m->spec.flags;
	strncpy(attr.map_name, m->name, sizeof attr.map_name - 1);
	describe(info, m, &attr);
	fd = load_bpf(BPF_MAP_CREATE, &attr);
	if (fd >= 0 || !attr.btf_fd)
		return fd;
	attr.btf_fd = attr.btf_key_type_id = attr.btf_value_type_id = 0;
	return load_bpf(BPF_MAP_CREATE, &attr);
}

/* The one value of a table: nobody can change it from now on. */
static bool fill(int fd, const struct artefact_map *m)
{
	const uint32_t zero = 0;

	return !load_bpf_map_update(fd, &zero, m->contents) && !load_bpf_map_freeze(fd);
}

const char *load_maps_create(const struct artefact *a, const struct load_info *info, struct load_maps *out)
{
	out->n = 0;
	for (size_t i = 0; i < a->nmaps; i++) {
		int fd = create(&a->map[i], info);

		if (fd < 0)
			return a->map[i].name;
		out->fd[out->n++] = fd;
		if (a->map[i].contents && !fill(fd, &a->map[i]))
			return a->map[i].name;
	}
	return NULL;
}

void load_maps_refer(const struct load_maps *m, struct bpf_insn *insn, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (insn[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (insn[i].src_reg == BPF_PSEUDO_MAP_FD) {
			insn[i].imm = m->fd[insn[i].imm];
		} else if (insn[i].src_reg == BPF_PSEUDO_MAP_VALUE) {
			int fd = m->fd[insn[i + 1].imm];

			insn[i + 1].imm = insn[i].imm;
			insn[i].imm = fd;
		}
		i++;
	}
}

void load_maps_close(struct load_maps *m)
{
	while (m->n)
		close(m->fd[--m->n]);
}
