/* SPDX-License-Identifier: MIT */
#include "runtime/filter.h"

#include <errno.h>
#include <linux/seccomp.h>

static uint32_t constant(const struct filter_values *v, uint32_t kind)
{
	bool allowed = kind == CAVE_PATCH_RET_METADATA ? v->metadata : v->signals;

	if (kind <= CAVE_PATCH_EXEC_5)
		return (uint32_t)(v->exec[kind / 2] >> (kind % 2 ? 32 : 0));
	return allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM;
}

void filter_complete(const struct artefact_filter *f, const struct filter_values *v,
		     struct sock_filter *insn)
{
	for (size_t i = 0; i < f->npatches; i++)
		if (f->patch[i].kind != CAVE_PATCH_SELF)
			insn[f->patch[i].insn].k = constant(v, f->patch[i].kind);
}

void filter_set_self(const struct artefact_filter *f, uint32_t pid, struct sock_filter *insn)
{
	for (size_t i = 0; i < f->npatches; i++)
		if (f->patch[i].kind == CAVE_PATCH_SELF)
			insn[f->patch[i].insn].k = pid;
}
