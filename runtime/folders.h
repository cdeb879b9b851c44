/* SPDX-License-Identifier: MIT */
/* The folders that a policy calls by a name: workspace, tmp, home, and the slots that the host fills. */
#ifndef CAVE_RUNTIME_FOLDERS_H
#define CAVE_RUNTIME_FOLDERS_H

#include "bpf/artefact.h"
#include "cave.h"
#include "runtime/workspace.h"

struct slot {
	const char *name;
	struct workspace folder;
};

/* The path of a folder of which the policy names nothing is NULL. */
struct folders {
	struct workspace workspace, tmp, home;
	struct slot *slot;
	size_t nslots;
};

void folders_init(struct folders *f);

/* True if the policy needs one that is made for each tool. */
bool folders_are_fresh(const struct artefact *a, const struct cave_options *o);

/*
 * Opens what the policy names and makes what is to be fresh, owned by `user` if not NULL.  Refuses a folder that the
 * policy does not know, or that the host does not name.  folders_close() may be called whatever it returns.
 */
bool folders_find(struct memory *m, const struct artefact *a, const struct cave_options *o, const struct user *user,
		  struct folders *out, struct refusal *r);

/* Removes fresh ones; false, with *r if that is not NULL, if one stays. */
bool folders_close(struct folders *f, struct refusal *r);

/* The folder that a path of the manifest with these flags begins at; NULL: at none of these, or it was not named. */
const struct workspace *folders_base(const struct folders *f, const char *path, unsigned flags);

/* What comes after the name of its slot. */
const char *folders_below(const char *path, unsigned flags);

/* The folder for which the bytes at `at` stand in a value of the environment; *length is how many they are. */
const struct workspace *folders_place(const struct folders *f, const char *at, size_t *length);

#endif
