/* SPDX-License-Identifier: MIT */
/* The maps of a policy's programs, in the kernel. */
#ifndef CAVE_RUNTIME_LOAD_MAPS_H
#define CAVE_RUNTIME_LOAD_MAPS_H

#include "bpf/artefact.h"
#include "runtime/load_info.h"

struct load_maps {
	int fd[CAVE_MAPS_MAX]; /* by number */
	size_t n;
};

/*
 * Creates every map of the artefact; tables are filled, and frozen.  The BTF in `info`, if it is there, describes the
 * maps to who looks at them later.  Returns NULL, or the name of the map that could not be made, with errno set: the
 * ones before it stay, until the process ends.
 */
const char *load_maps_create(const struct artefact *a, const struct load_info *info, struct load_maps *out);

/* Turns the numbers of maps in the instructions, which artefact_open() has checked, into descriptors. */
void load_maps_refer(const struct load_maps *m, struct bpf_insn *insn, size_t n);

void load_maps_close(struct load_maps *m);

#endif
