/* SPDX-License-Identifier: MIT */
/*
 * What is written on the control group of a kept policy, in an extended attribute: whose it is, and which programs
 * were attached to it.  cave-load writes it, last of all; a group without one was never finished.
 *
 *   IDENTITY ID ID … NAME      64 hexadecimal digits, a program id for each hook in their order, the profile's name
 */
#ifndef CAVE_RUNTIME_KEPT_RECORD_H
#define CAVE_RUNTIME_KEPT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "cave/artefact.h"
#include "cave/hooks.h"

struct kept_record {
	uint8_t identity[CAVE_DIGEST_SIZE];
	uint32_t id[CAVE_HOOK_COUNT];
	char name[256];
};

/* An errno; 0 if all went well. */
int kept_record_write(int group, const struct kept_record *record);

/* False if there is none, or it does not read as one. */
bool kept_record_read(int group, struct kept_record *out);

#endif
