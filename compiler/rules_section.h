/* SPDX-License-Identifier: MIT */
/* The section cave.rules: the rules of the network with their lines, by which refusals are explained. */
#ifndef CAVE_COMPILER_RULES_SECTION_H
#define CAVE_COMPILER_RULES_SECTION_H

#include "compiler/buffer.h"
#include "compiler/policy.h"
#include "compiler/source.h"

/* Writes the section (struct cave_rule, cave/artefact.h) to *out, which is empty. */
void rules_write(const struct sources *sources, const struct policy *p, struct buffer *out);

#endif
