/* SPDX-License-Identifier: MIT */
/* --doctor and --conformance: caverun becomes cave-check, and stays small itself. */
#ifndef CAVE_RUNTIME_BECOME_H
#define CAVE_RUNTIME_BECOME_H

#include "runtime/options.h"
#include "runtime/report.h"

/* Does not come back but with *r filled. */
void become_check(const struct options *o, struct refusal *r);

#endif
