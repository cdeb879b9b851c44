/* SPDX-License-Identifier: MIT */
/* Egress programs and their maps in the kernel, for tests. */
#ifndef CAVE_TESTS_EGRESS_LOAD_H
#define CAVE_TESTS_EGRESS_LOAD_H

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/program.h"

struct loaded_maps {
	int fd[CAVE_MAPS_MAX];
	size_t n;
};

/* Creates the maps, as cave-load would; false if one is refused. */
static inline bool load_maps(const struct map_list *list, struct loaded_maps *out)
{
	out->n = 0;
	for (size_t i = 0; list && i < list->n; i++) {
		const struct map_def *m = &list->map[i];
		LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = m->spec.flags);
		int fd = bpf_map_create((enum bpf_map_type)m->spec.type, m->name, m->spec.key_size, m->spec.value_size,
					m->spec.max_entries, &opts);

		if (fd < 0)
			return false;
		out->fd[out->n++] = fd;
		if (m->contents &&
		    (bpf_map_update_elem(fd, &(uint32_t){ 0 }, m->contents, BPF_ANY) || bpf_map_freeze(fd)))
			return false;
	}
	return true;
}

static inline void unload_maps(struct loaded_maps *m)
{
	while (m->n)
		close(m->fd[--m->n]);
}

/* A copy of the instructions that refers to the maps' descriptors; to be freed. */
static inline struct bpf_insn *refer_to_maps(const struct hook_program *h, const struct loaded_maps *m)
{
	struct bpf_insn *copy = malloc(h->n * sizeof *copy);

	memcpy(copy, h->insn, h->n * sizeof *copy);
	for (size_t i = 0; i + 1 < h->n; i++) {
		bool value = copy[i].src_reg == BPF_PSEUDO_MAP_VALUE;

		if (copy[i].code != (BPF_LD | BPF_IMM | BPF_DW) || !copy[i].src_reg)
			continue;
		if (value) {
			int32_t offset = copy[i].imm;

			copy[i].imm = m->fd[copy[i + 1].imm];
			copy[++i].imm = offset;
		} else {
			copy[i].imm = m->fd[copy[i].imm];
			i++;
		}
	}
	return copy;
}

#endif
