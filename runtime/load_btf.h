/* SPDX-License-Identifier: MIT */
/*
 * The section .BTF of an artefact (Documentation/bpf/btf.rst).  It is outside the identity, and so anybody may have
 * written it: every offset is checked before use.
 */
#ifndef CAVE_RUNTIME_LOAD_BTF_H
#define CAVE_RUNTIME_LOAD_BTF_H

#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_btf {
	const char *types, *strings;
	size_t types_size, strings_size;
};

/* False if it does not read as one. */
bool load_btf_open(const void *data, size_t size, struct load_btf *out);

/* A string of it, or "". */
const char *load_btf_name(const struct load_btf *btf, uint32_t offset);

/* The types that the fields "key" and "value" of the map's definition point to (compiler/btf_maps.c); 0: unknown. */
void load_btf_map(const struct load_btf *btf, const char *map, uint32_t *key, uint32_t *value);

#endif
