/* SPDX-License-Identifier: MIT */
/* Which programs are in force in a control group: bpf(2), BPF_PROG_QUERY. */
#ifndef CAVE_RUNTIME_ATTACHED_H
#define CAVE_RUNTIME_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

#include "cave/hooks.h"

enum { ATTACHED_MAX = 2048 }; /* BPF_CGROUP_MAX_PROGS (kernel/bpf/cgroup.c) for each of 32 levels */

struct attached {
	uint32_t id[ATTACHED_MAX];
	uint32_t n;
};

/* Those that are attached to the group itself or, if `effective`, all that bind what is in it.  Returns an errno. */
int attached_query(int group, enum cave_hook hook, bool effective, struct attached *out);

/* True if `all` is `some` and, unless it is 0, `id`, and nothing else. */
bool attached_is_plus(const struct attached *all, const struct attached *some, uint32_t id);

/* "connect4" … for messages. */
const char *attached_hook_name(enum cave_hook hook);

#endif
