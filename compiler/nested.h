/* SPDX-License-Identifier: MIT */
/* Profiles within a profile: each is a compile of its own, held to the one around it. */
#ifndef CAVE_COMPILER_NESTED_H
#define CAVE_COMPILER_NESTED_H

#include "compiler/manifest.h"
#include "compiler/pipeline.h"

/*
 * Resolves the profiles within c->policy, which was resolved, and those within them.  One that grants more than the
 * profile around it is an error of its own; so is a name that is given twice, and too many of them.
 */
void nested_resolve(struct compile *c, const struct resolve_options *o);

/* All profiles within, however deep, ascending by name. */
struct nested_list {
	struct compile **item;
	size_t n, cap;
};
struct nested_list nested_all(struct arena *a, const struct compile *c);

/* The one of that name, however deep, or NULL. */
struct compile *nested_find(struct arena *a, const struct compile *c, const char *name);

#endif
