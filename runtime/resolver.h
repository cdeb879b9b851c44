/* SPDX-License-Identifier: MIT */
/* The name servers of the host, for `allow resolver`. */
#ifndef CAVE_RUNTIME_RESOLVER_H
#define CAVE_RUNTIME_RESOLVER_H

#include "bpf/artefact.h"
#include "runtime/report.h"

/*
 * Reads the first CAVE_RESOLVERS `nameserver` lines of `file`, as the C library does (resolv.conf(5)).  Refuses if
 * there is none, or if one is no address that a grant can hold: what is bound to an interface, for one.
 */
bool resolver_read(const char *file, struct artefact_address out[CAVE_RESOLVERS], size_t *n, struct refusal *r);

#endif
