/* SPDX-License-Identifier: MIT */
/* The table of limits: how they are spelled, what values they take, and what holds where a profile is silent. */
#ifndef CAVE_BPF_LIMITS_H
#define CAVE_BPF_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "cave/artefact.h"

enum limit_kind {
	LIMIT_DURATION, /* 500ms 30s 5min 1h */
	LIMIT_SIZE, /* 100B 64KiB 512MiB 2GiB 1TiB */
	LIMIT_COUNT, /* 256 */
};

struct limit_row {
	const char *name;
	enum limit_kind kind;
	uint64_t min, max; /* inclusive */
	uint64_t multiple; /* values are multiples of it: the kernel counts memory in pages */
	/*
	 * Where a profile says nothing; 0: no limit.  Only what every host enforces without privilege has a default, so
	 * that a forgotten `limits` neither is endless nor asks for anything.
	 */
	uint64_t standard;
};

/* By enum cave_limit. */
extern const struct limit_row limit_table[CAVE_LIMITS];

struct limit_unit {
	const char *name;
	uint64_t factor;
};

/* The units of a kind, the smallest first, a row without a name at the end; of counts there are none. */
const struct limit_unit *limit_units(enum limit_kind kind);

/* The defaults. */
struct cave_limits limits_standard(void);

/* True if `value` may stand in an artefact; 0 may. */
bool limit_valid(enum cave_limit limit, uint64_t value);

enum { LIMIT_TEXT = 32 };

/* As a profile spells it, in the largest unit that says it exactly: "90s"; "none" for 0. */
const char *limit_text(enum limit_kind kind, uint64_t value, char out[LIMIT_TEXT]);

#endif
