/* SPDX-License-Identifier: MIT */
/* --user: an entry of /etc/passwd and its groups. */
#ifndef CAVE_RUNTIME_USER_H
#define CAVE_RUNTIME_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/memory.h"
#include "runtime/report.h"

struct user {
	const char *name;
	uid_t uid;
	gid_t gid;
	const gid_t *group; /* supplementary, `gid` among them */
	size_t ngroups;
	const char *home; /* as the file says it */
};

/* Looks `name` up in the files; only root may ask for it. */
bool user_find(struct memory *m, const char *name, struct user *out, struct refusal *r);

/* The home folder that /etc/passwd gives that user; NULL where it has none. */
bool user_home(struct memory *m, uid_t uid, const char **out, struct refusal *r);

#endif
