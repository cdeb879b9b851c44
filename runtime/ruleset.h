/* SPDX-License-Identifier: MIT */
/*
 * Landlock rulesets.  One is for one start only: the child adds rules on its own part of /proc, which another tool must
 * not get.  So what is kept between starts are the files that were opened, and what is granted on them.
 */
#ifndef CAVE_RUNTIME_RULESET_H
#define CAVE_RUNTIME_RULESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rule {
	int fd; /* O_PATH */
	uint64_t rights;
};

/* An empty one, which handles everything that the version can refuse; TCP too unless there is `network`.  -errno. */
int ruleset_make(int abi, bool network);

/* The errno, 0 if all went well. */
int ruleset_add(int ruleset, const struct rule *rule);

/* One with all of `rule`; -errno. */
int ruleset_of(const struct rule *rule, size_t n, int abi, bool network);

#endif
