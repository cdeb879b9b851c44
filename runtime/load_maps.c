/* SPDX-License-Identifier: MIT */
#include "runtime/load_maps.h"

#include <bpf/bpf.h>
#include <linux/btf.h>
#include <string.h>
#include <unistd.h>

/* What a field of the definition points to (compiler/btf_maps.c); 0 where it is not there. */
static __u32 pointed(const struct btf *btf, const struct btf_type *definition, const char *name)
{
	const struct btf_member *m = btf_members(definition);

	for (__u16 i = 0; i < btf_vlen(definition); i++) {
		const struct btf_type *t = btf__type_by_id(btf, m[i].type);
		const char *own = btf__name_by_offset(btf, m[i].name_off);

		if (t && btf_is_ptr(t) && own && !strcmp(own, name))
			return t->type;
	}
	return 0;
}

/* The kernel checks what it is told here; a map without it is one that tools show as bytes. */
static void describe(const struct btf *btf, const struct artefact_map *m, struct bpf_map_create_opts *out)
{
	__s32 id = btf ? btf__find_by_name_kind(btf, m->name, BTF_KIND_VAR) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	type = type ? btf__type_by_id(btf, type->type) : NULL;
	if (m->contents || !type || !btf_is_struct(type))
		return;
	out->btf_fd = (__u32)btf__fd(btf);
	out->btf_key_type_id = pointed(btf, type, "key");
	out->btf_value_type_id = pointed(btf, type, "value");
}

static int create(const struct artefact_map *m, const struct btf *btf)
{
	LIBBPF_OPTS(bpf_map_create_opts, plain, .map_flags = m->spec.flags);
	struct bpf_map_create_opts described = plain;
	int fd;

	describe(btf, m, &described);
	fd = bpf_map_create((enum bpf_map_type)m->spec.type, m->name, m->spec.key_size, m->spec.value_size,
			    m->spec.max_entries, &described);
	if (fd < 0 && described.btf_fd)
		fd = bpf_map_create((enum bpf_map_type)m->spec.type, m->name, m->spec.key_size, m->spec.value_size,
				    m->spec.max_entries, &plain);
	return fd;
}

/* The one value of a table: nobody can change it from now on. */
static bool fill(int fd, const struct artefact_map *m)
{
	const __u32 zero = 0;

	return !bpf_map_update_elem(fd, &zero, m->contents, BPF_ANY) && !bpf_map_freeze(fd);
}

const char *load_maps_create(const struct artefact *a, const struct btf *btf, struct load_maps *out)
{
	out->n = 0;
	for (size_t i = 0; i < a->nmaps; i++) {
		int fd = create(&a->map[i], btf);

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
