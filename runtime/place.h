/* SPDX-License-Identifier: MIT */
/*
 * Where a file lies in its file system, whatever path led to it: a folder that is mounted in two places has two
 * paths and one place.
 */
#ifndef CAVE_RUNTIME_PLACE_H
#define CAVE_RUNTIME_PLACE_H

#include <stdint.h>

#include "runtime/mountinfo.h"

struct place {
	uint64_t mount; /* its number */
	bool listed; /* the mount is in mountinfo; one that a chroot() hides is not */
	const char *device; /* "8:1" */
	const char *path; /* in the file system if the mount is listed, else as seen from / */
};

/* A folder, and with it everything that is mounted below it. */
struct covered {
	struct place place;
	const char *path; /* as seen from / */
};

/* `path` is that of `fd`, as path_of() says it.  False if the kernel does not tell. */
bool place_of(struct memory *m, const struct mounts *mounts, int fd, const char *path, struct place *out);

/* True if the place is in the folder, or if that cannot be told. */
bool place_covered(const struct mounts *mounts, const struct place *place, const struct covered *folder);

#endif
