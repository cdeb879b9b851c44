/* SPDX-License-Identifier: MIT */
#include "runtime/limits.h"

#include "bpf/limits.h"

bool limits_check(const struct artefact *a, struct refusal *r)
{
	struct cave_limits standard = limits_standard();

	for (unsigned i = 0; i < CAVE_LIMITS; i++)
		if (a->limits.value[i] != standard.value[i])
			return refuse(r, CAVE_FAILED, "this version cannot enforce the limit %s", limit_table[i].name);
	return !a->children || refuse(r, CAVE_FAILED, "this version cannot contain children");
}
