/* SPDX-License-Identifier: MIT */
/* The object file: programs, BTF, filter, manifest and text laid out as cave/artefact.h says. */
#ifndef CAVE_COMPILER_OBJECT_H
#define CAVE_COMPILER_OBJECT_H

#include "bpf/program.h"
#include "compiler/buffer.h"
#include "compiler/manifest.h"
#include "compiler/source.h"

/* What an artefact is made of; buffers are finished. */
struct object_parts {
	const struct sources *sources; /* the line table */
	const struct hook_program *hook; /* CAVE_HOOK_COUNT of them, or NULL */
	const struct filter_program *filter; /* one for each architecture of bpf/artefact.h */
	const struct nested_profiles *nested; /* or NULL */
	struct buffer manifest, policy;
	struct buffer rules; /* empty where no network is granted */
};

/* Writes the whole file to *out, which is empty. */
void object_write(struct arena *a, const struct object_parts *parts, struct buffer *out);

/* The .BTF and .BTF.ext sections for the programs: one function each, and their line info. */
void btf_write(struct arena *a, const struct object_parts *parts, struct buffer *btf, struct buffer *ext);

/* BTF for the maps, as libbpf reads it.  The size of a definition in .maps. */
struct btf_types;
void btf_maps(struct btf_types *btf, const struct map_list *maps);
size_t btf_map_size(void);

/* The function and program name for a hook: "cave_connect4". */
const char *object_function(enum cave_hook hook);

#endif
