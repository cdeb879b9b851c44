/* SPDX-License-Identifier: MIT */
/* What a bare filter is written as, for launchers other than caverun. */
#ifndef CAVE_COMPILER_EMIT_H
#define CAVE_COMPILER_EMIT_H

#include "bpf/program.h"
#include "compiler/buffer.h"

/* The instructions as struct sock_filter in the byte order of the machine, as `bwrap --seccomp` reads them. */
void emit_bpf(const struct filter_program *f, struct buffer *out);

/* A C header with the instructions in an array. */
void emit_c(const char *name, const struct sys_rules *rules, const struct filter_program *f, struct buffer *out);

/*
 * The container engines' JSON.  They compare whole registers, so every test becomes masked comparisons.  Returns false
 * if that takes too many rules.
 */
bool emit_oci(struct arena *a, const struct sys_rules *rules, struct buffer *out);

#endif
