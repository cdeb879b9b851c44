/* SPDX-License-Identifier: MIT */
#include "bpf/limits.h"

#include <inttypes.h>
#include <stdio.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)
#define HOUR (UINT64_C(60) * 60 * 1000)

/*
 * The upper bounds: 30 days; PID_MAX_LIMIT (include/linux/threads.h); the kernel's own bound on descriptors
 * (sysctl_nr_open, fs/file.c); for sizes what no machine has.  The lower ones leave room for a loader to start.
 * 64 KiB is the largest page of the architectures that there are filters for.
 */
const struct limit_row limit_table[CAVE_LIMITS] = {
	[CAVE_LIMIT_TIME] = { "time", LIMIT_DURATION, 1, 720 * HOUR, 1, HOUR },
	[CAVE_LIMIT_CPU_TIME] = { "cpu-time", LIMIT_DURATION, 1, 720 * HOUR, 1, 0 },
	[CAVE_LIMIT_MEMORY] = { "memory", LIMIT_SIZE, MIB, 64 * TIB, 64 * KIB, 0 },
	[CAVE_LIMIT_TASKS] = { "tasks", LIMIT_COUNT, 1, 4194304, 1, 0 },
	[CAVE_LIMIT_OUTPUT] = { "output", LIMIT_SIZE, 1, 64 * TIB, 1, 0 },
	[CAVE_LIMIT_OPEN_FILES] = { "open-files", LIMIT_COUNT, 8, 1048576, 1, 4096 },
	[CAVE_LIMIT_FILE_SIZE] = { "file-size", LIMIT_SIZE, 1, 64 * TIB, 1, 4 * GIB },
};

static const struct limit_unit durations[] = { { "ms", 1 },	 { "s", 1000 }, { "min", 60000 },
					       { "h", HOUR }, { NULL, 0 } };
static const struct limit_unit sizes[] = { { "B", 1 },	   { "KiB", KIB }, { "MiB", MIB },
					   { "GiB", GIB }, { "TiB", TIB }, { NULL, 0 } };
static const struct limit_unit none[] = { { NULL, 0 } };

const struct limit_unit *limit_units(enum limit_kind kind)
{
	return kind == LIMIT_DURATION ? durations : kind == LIMIT_SIZE ? sizes : none;
}

struct cave_limits limits_standard(void)
{
	struct cave_limits l;

	for (unsigned i = 0; i < CAVE_LIMITS; i++)
		l.value[i] = limit_table[i].standard;
	return l;
}

bool limit_valid(enum cave_limit limit, uint64_t value)
{
	const struct limit_row *row = &limit_table[limit];

	return value == 0 || (value >= row->min && value <= row->max && value % row->multiple == 0);
}

const char *limit_text(enum limit_kind kind, uint64_t value, char out[LIMIT_TEXT])
{
	struct limit_unit best = { "", 1 };

	for (const struct limit_unit *u = limit_units(kind); u->name; u++)
		if (value % u->factor == 0)
			best = *u;
	if (value)
		snprintf(out, LIMIT_TEXT, "%" PRIu64 "%s", value / best.factor, best.name);
	else
		snprintf(out, LIMIT_TEXT, "none");
	return out;
}
