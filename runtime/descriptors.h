/* SPDX-License-Identifier: MIT */
/* The descriptors that a tool is given: what becomes 0 to 2, and those that are kept. */
#ifndef CAVE_RUNTIME_DESCRIPTORS_H
#define CAVE_RUNTIME_DESCRIPTORS_H

#include <sys/stat.h>
#include <sys/types.h>

#include "cave.h"
#include "runtime/report.h"

/* A device that the child opens again, by its path, in its own mount namespace. */
struct reopened {
	int fd; /* its number in the tool */
	int flags; /* of open() */
	bool narrowed; /* it must be opened again also where no mount asks for it */
	dev_t device;
	dev_t terminals; /* the instance of devpts it is of, each of which numbers its terminals from 0; else 0 */
	char path[64];
};

/*
 * A descriptor keeps the mount that its file was opened on.  One from before the private mount namespace would
 * let the tool change the mode, owner and times of that file however read-only the namespace is; devices are
 * therefore opened again within it.
 */
struct descriptors {
	int standard[3]; /* what becomes 0, 1 and 2 */
	const int *keep; /* ascending, no two equal, above 2 */
	size_t nkeep;
	struct reopened reopened[CAVE_KEEP_MAX + 3];
	size_t nreopened;
	/* One remains, open for reading only, whose metadata no mount protects: the filter has to. */
	bool loose;
};

/*
 * Checks that each is a regular file, pipe, terminal, /dev/null or connected unix stream: anything else would
 * be a way round the policy.  *out points to `keep`.  `null` is from descriptors_open_null(), or -1.
 */
bool descriptors_check(const int standard[3], const int *keep, size_t nkeep, int null, struct descriptors *out,
		       struct refusal *r);

/*
 * Where a tool may execute files: none of these is memory that it could give an x bit.  Landlock does not judge what is
 * executed from memory (is_nouser_or_private(), security/landlock/fs.c).
 */
bool descriptors_refuse_executable(const int *fd, size_t n, struct refusal *r);

/* What struct reopened calls `terminals`, of a descriptor's status. */
dev_t descriptors_terminals(const struct stat *st);

/* Opens /dev/null, and sees that it is that. */
bool descriptors_open_null(int *out, struct refusal *r);

#endif
