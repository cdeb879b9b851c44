/* SPDX-License-Identifier: MIT */
/* An artefact that has been read and checked: what everything else takes const. */
#ifndef CAVE_RUNTIME_POLICY_H
#define CAVE_RUNTIME_POLICY_H

#include "bpf/artefact.h"
#include "runtime/memory.h"
#include "runtime/report.h"

struct cave_policy {
	struct memory memory; /* holds the copy that counts, and this */
	const struct artefact *artefact; /* that was chosen, and does not change or go away when another is */
	struct artefact outermost; /* the whole of what was read */
	struct policy_nested *nested; /* those that were chosen at some time */
	char name[ARTEFACT_NAME_MAX + 1];
	int fd; /* the file, to see where it lies; -1: it is none */
};

/* Read through `fd`, which is kept as p->fd if all goes well, and else stays the caller's.  `path` is for messages. */
bool policy_read(struct cave_policy *p, int fd, const char *path, struct refusal *r);

/* From a copy of `size` bytes at `data`. */
bool policy_copy(struct cave_policy *p, const void *data, size_t size, struct refusal *r);

/* Makes p->artefact the profile of that name that is nested in the outermost one, or that one itself. */
bool policy_choose(struct cave_policy *p, const char *name, struct refusal *r);

/* Closes and frees what it holds, and so *p, which lies in its own memory. */
void policy_close(struct cave_policy *p);

#endif
