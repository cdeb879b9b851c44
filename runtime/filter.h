/* SPDX-License-Identifier: MIT */
/* Completing the syscall filter: the constants that are known only at spawn. */
#ifndef CAVE_RUNTIME_FILTER_H
#define CAVE_RUNTIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/artefact.h"

enum { FILTER_EXEC_WORDS = 3 };

/* What the patches of a filter become. */
struct filter_values {
	uint64_t exec[FILTER_EXEC_WORDS]; /* arguments 3, 4 and 5 of the one execve that is let through */
	bool metadata, signals; /* true: allowed; false: EPERM */
};

/* Sets every patch of `insn`, a copy of the artefact's filter, but those of the tool's process id. */
void filter_complete(const struct artefact_filter *f, const struct filter_values *v,
		     struct sock_filter *insn);

/* Sets those, in the child itself, which alone knows its id as its system calls name it. */
void filter_set_self(const struct artefact_filter *f, uint32_t pid, struct sock_filter *insn);

#endif
