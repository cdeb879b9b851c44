/* SPDX-License-Identifier: MIT */
/* Symbolic constants that conditions may use: the rows come from syscalls_consts.tbl. */
#include <stdlib.h>
#include <string.h>

#include "compiler/syscalls_data.h"

struct constant {
	const char *name;
	unsigned there; /* bit i: on architecture i */
	int64_t value[SYS_ARCHES];
};

#include "syscalls_consts.h"

enum { CONSTANTS = sizeof constants / sizeof constants[0] };

static int compare_name(const void *name, const void *constant)
{
	return strcmp(name, ((const struct constant *)constant)->name);
}

enum constant_state syscall_constant(const char *name, enum sys_arch arch, uint64_t *value)
{
	const struct constant *c = bsearch(name, constants, CONSTANTS, sizeof constants[0], compare_name);

	if (!c)
		return CONSTANT_UNKNOWN;
	if (!(c->there >> arch & 1))
		return CONSTANT_ELSEWHERE;
	*value = (uint64_t)c->value[arch];
	return CONSTANT_HERE;
}

const char *syscall_constant_name(size_t i)
{
	return i < CONSTANTS ? constants[i].name : NULL;
}
