/* SPDX-License-Identifier: MIT */
/* What a run may use: whether this host can bound it exactly. */
#ifndef CAVE_RUNTIME_LIMITS_H
#define CAVE_RUNTIME_LIMITS_H

#include "bpf/artefact.h"
#include "runtime/report.h"

/* Refuses limits and children that cannot be enforced, naming what is missing. */
bool limits_check(const struct artefact *a, struct refusal *r);

#endif
