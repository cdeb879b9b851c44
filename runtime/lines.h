/* SPDX-License-Identifier: MIT */
/* From instructions to lines of the profile (cave.lines, cave/artefact.h): an aid, which is not checked before. */
#ifndef CAVE_RUNTIME_LINES_H
#define CAVE_RUNTIME_LINES_H

#include "bpf/artefact.h"

/* "fetch.cave:3: deny ptrace": the line that an instruction of a filter came from; false if it came from none. */
bool lines_of_filter(const struct artefact *a, enum artefact_arch arch, size_t insn, char *out, size_t max);

#endif
