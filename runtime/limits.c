/* SPDX-License-Identifier: MIT */
#include "runtime/limits.h"

bool limits_check(const struct artefact *a, struct refusal *r)
{
	return !a->children || refuse(r, CAVE_FAILED, "this version cannot contain children");
}
