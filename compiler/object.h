/* SPDX-License-Identifier: MIT */
/* The object file: programs, BTF, filter, manifest and text laid out as cave/artefact.h says. */
#ifndef CAVE_COMPILER_OBJECT_H
#define CAVE_COMPILER_OBJECT_H

#include <bpf/btf.h>

#include "bpf/program.h"
#include "compiler/buffer.h"
#include "compiler/source.h"

/* What an artefact is made of; buffers are finished. */
struct object_parts {
	const struct sources *sources; /* the line table */
	const struct hook_program *hook; /* CAVE_HOOK_COUNT of them, or NULL */
	const struct filter_program *filter; /* one for each architecture of bpf/artefact.h */
	struct buffer manifest, policy;
};

/*
 * Writes the whole file to *out, in memory.  Returns NULL, or what a library refused (which only a lack of
 * memory or a fault of ours can bring about).
 */
const char *object_write(struct arena *a, const struct object_parts *parts, struct buffer *out);

/* The .BTF and .BTF.ext sections for the programs: one function each, and their line info. */
const char *btf_write(struct arena *a, const struct object_parts *parts, struct buffer *btf, struct buffer *ext);

/* BTF for the maps, as libbpf reads it; NULL, or what the library refused.  The size of a definition in .maps. */
const char *btf_maps(struct btf *btf, const struct map_list *maps);
size_t btf_map_size(void);

/* The function and program name for a hook: "cave_connect4". */
const char *object_function(enum cave_hook hook);

#endif
