/* SPDX-License-Identifier: MIT */
/* expect { … } about files, variables and limits, judged by what was emitted. */
#ifndef CAVE_COMPILER_GRANTS_EXPECT_H
#define CAVE_COMPILER_GRANTS_EXPECT_H

#include "bpf/artefact.h"
#include "compiler/diag.h"
#include "compiler/policy.h"

/* Records an error, with what contradicts it, for every expectation that the manifest of `a` does not keep. */
void grants_expect(struct diags *d, const struct policy *p, const struct artefact *a);

#endif
