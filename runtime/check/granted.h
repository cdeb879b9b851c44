/* SPDX-License-Identifier: MIT */
/* What a policy's own programs say, by the interpreter: the kernel must agree. */
#ifndef CAVE_RUNTIME_CHECK_GRANTED_H
#define CAVE_RUNTIME_CHECK_GRANTED_H

#include <stdbool.h>

#include "bpf/artefact.h"

/* Whether a connection to an IPv4 address, in dots, would be let through. */
bool granted_reach(const struct artefact *a, const char *to, unsigned port, bool datagram);

#endif
