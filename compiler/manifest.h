/* SPDX-License-Identifier: MIT */
/* The manifest: everything the runtime needs, in the records of cave/artefact.h. */
#ifndef CAVE_COMPILER_MANIFEST_H
#define CAVE_COMPILER_MANIFEST_H

#include "bpf/artefact.h"
#include "bpf/program.h"
#include "compiler/buffer.h"
#include "compiler/policy.h"

/* One filter for each architecture; `hook`: CAVE_HOOK_COUNT egress programs, or NULL; `reach`: theirs. */
void manifest_write(const struct policy *p, const struct filter_program filter[ARTEFACT_ARCHES],
		    const struct hook_program *hook, const struct net_reach *reach, struct buffer *out);

#endif
