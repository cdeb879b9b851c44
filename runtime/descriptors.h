/* SPDX-License-Identifier: MIT */
/* The descriptors that a tool is given: 0 to 2 and those that --keep-fd names. */
#ifndef CAVE_RUNTIME_DESCRIPTORS_H
#define CAVE_RUNTIME_DESCRIPTORS_H

#include <sys/types.h>

#include "runtime/options.h"

/* A device that the child opens again, by its path, in its own mount namespace. */
struct reopened {
	int fd;
	int flags; /* of open() */
	dev_t device;
	char path[64];
};

/*
 * A descriptor keeps the mount that its file was opened on.  One from before the private mount namespace would
 * let the tool change the mode, owner and times of that file however read-only the namespace is; devices are
 * therefore opened again within it.
 */
struct descriptors {
	struct reopened reopened[KEEP_MAX + 3];
	size_t nreopened;
	/* One remains, open for reading only, whose metadata no mount protects: the filter has to. */
	bool loose;
};

/*
 * Checks that each is a regular file, pipe, terminal, /dev/null or connected unix stream: anything else would
 * be a way round the policy.  Opens /dev/null where one of 0 to 2 is closed.  To be called before this process
 * opens anything of its own.
 */
bool descriptors_check(const struct options *o, struct descriptors *out, struct refusal *r);

#endif
