/* SPDX-License-Identifier: MIT */
/* Grants by host name, as `cavec dump` shows them. */
#ifndef CAVE_COMPILER_DUMP_HOSTS_H
#define CAVE_COMPILER_DUMP_HOSTS_H

#include <stdio.h>

#include "bpf/hosts.h"

/* Prints every grant and denial of the record, a line each. */
void dump_hosts(FILE *to, const struct hosts *h);

#endif
