/* SPDX-License-Identifier: MIT */
#include "runtime/attached.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	enum bpf_attach_type type;
} hooks[CAVE_HOOK_COUNT] = {
#define X(symbol, section, prog_type, attach_type) { section, attach_type },
	CAVE_HOOKS(X)
#undef X
};

const char *attached_hook_name(enum cave_hook hook)
{
	return hooks[hook].name;
}

int attached_query(int group, enum cave_hook hook, bool effective, struct attached *out)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.query.target_fd = (uint32_t)group;
	attr.query.attach_type = hooks[hook].type;
	attr.query.query_flags = effective ? BPF_F_QUERY_EFFECTIVE : 0;
	attr.query.prog_ids = (uintptr_t)out->id;
	attr.query.prog_cnt = ATTACHED_MAX;
	if (syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof attr))
		return errno;
	out->n = attr.query.prog_cnt;
	return 0;
}

static uint32_t times(const struct attached *a, uint32_t id)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n; i++)
		n += a->id[i] == id;
	return n;
}

/* A program may be attached at several levels, and so be there several times. */
bool attached_is_plus(const struct attached *all, const struct attached *some, uint32_t id)
{
	if (all->n != some->n + (id != 0) || (id && times(all, id) != times(some, id) + 1))
		return false;
	for (uint32_t i = 0; i < some->n; i++)
		if (some->id[i] != id && times(all, some->id[i]) != times(some, some->id[i]))
			return false;
	return true;
}
