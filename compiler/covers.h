/* SPDX-License-Identifier: MIT */
/* Write grants that would let the tool change the rules that bind it. */
#ifndef CAVE_COMPILER_COVERS_H
#define CAVE_COMPILER_COVERS_H

#include "compiler/load.h"
#include "compiler/policy.h"

/*
 * Records an error for every write grant that, on this machine, leads to a folder in which a source of the compile or
 * the artefact, at `out`, lies.  What places by name lead to, and other machines, the runtime looks at.
 */
void covers_check(struct diags *d, const struct policy *p, const struct loader *l, const char *out);

#endif
