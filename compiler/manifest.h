/* SPDX-License-Identifier: MIT */
/* The manifest: everything the runtime needs, in the records of cave/artefact.h. */
#ifndef CAVE_COMPILER_MANIFEST_H
#define CAVE_COMPILER_MANIFEST_H

#include "bpf/artefact.h"
#include "bpf/program.h"
#include "compiler/buffer.h"
#include "compiler/policy.h"

/* A nested profile as the one around it knows it. */
struct nested_profile {
	const char *name;
	uint8_t identity[CAVE_DIGEST_SIZE];
	struct buffer artefact; /* whole */
};

struct nested_profiles {
	struct nested_profile *item; /* ascending by name */
	size_t n, cap;
};

/* A filter for each architecture; `hook`: CAVE_HOOK_COUNT egress programs, or NULL; `set`: what they are made from. */
void manifest_write(const struct policy *p, const struct filter_program filter[ARTEFACT_ARCHES],
		    const struct hook_program *hook, const struct net_set *set,
		    const struct nested_profiles *nested, struct buffer *out);

#endif
