/* SPDX-License-Identifier: MIT */
/* The canonical text of a resolved profile: in the language itself, so that compiling it gives the same programs. */
#ifndef CAVE_COMPILER_CANONICAL_H
#define CAVE_COMPILER_CANONICAL_H

#include "bpf/netset.h"
#include "compiler/buffer.h"
#include "compiler/policy.h"

void canonical_text(const struct policy *p, const struct net_set *set, struct buffer *out);

/* The syscalls block of it. */
void canonical_syscalls(const struct policy *p, struct buffer *out);

#endif
