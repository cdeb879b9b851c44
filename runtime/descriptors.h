/* SPDX-License-Identifier: MIT */
/* The descriptors that a tool is given: 0 to 2 and those that --keep-fd names. */
#ifndef CAVE_RUNTIME_DESCRIPTORS_H
#define CAVE_RUNTIME_DESCRIPTORS_H

#include "runtime/options.h"

/*
 * Checks that each is a regular file, pipe, terminal, /dev/null or connected unix stream: anything else would
 * be a way round the policy.  Opens /dev/null where one of 0 to 2 is closed.  To be called before this process
 * opens anything of its own.
 */
bool descriptors_check(const struct options *o, struct refusal *r);

#endif
