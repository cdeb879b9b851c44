/* SPDX-License-Identifier: MIT */
/* A folder that a policy calls by a name: the caller's, or a fresh one for this run. */
#ifndef CAVE_RUNTIME_WORKSPACE_H
#define CAVE_RUNTIME_WORKSPACE_H

#include "runtime/memory.h"
#include "runtime/report.h"
#include "runtime/user.h"

struct workspace {
	const char *path; /* canonical; NULL: the policy grants none */
	int fd; /* the folder */
	int parent; /* of a fresh one, else -1 */
	const char *name; /* of a fresh one in `parent` */
};

/* The caller's own folder; `what` it is called is for the refusal. */
bool workspace_open(struct memory *m, const char *what, const char *dir, struct workspace *out, struct refusal *r);

/* A fresh private one under `tmpdir` (or /tmp, if that is NULL or relative), owned by `owner` if not NULL. */
bool workspace_make(struct memory *m, const char *what, const char *tmpdir, const struct user *owner,
		    struct workspace *out, struct refusal *r);

/*
 * Removes a fresh one with all that is in it, following no link; closes either kind.  False, with *r if that is not
 * NULL, where something is left.
 */
bool workspace_close(struct workspace *w, struct refusal *r);

/* The path of an open descriptor as the kernel knows it; NULL if it has none. */
char *path_of(struct memory *m, int fd);

#endif
