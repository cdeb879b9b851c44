/* SPDX-License-Identifier: MIT */
/* The addresses of granted names on their way to who keeps them (cave/resolve.h). */
#ifndef CAVE_RUNTIME_RESOLVE_LIVE_H
#define CAVE_RUNTIME_RESOLVE_LIVE_H

#include "cave/resolve.h"
#include "runtime/resolve_message.h"

enum admission {
	ADMITTED, /* some of them, or there were none */
	NOT_HERE, /* none of them is where the rules say */
	NO_ROOM, /* the bounds, or the map: the lookup fails */
	SUPERVISOR_GONE,
};

/*
 * Has addresses of a granted name made reachable, and leaves in the list, of `*n`, those that are now.  `*n` is at most
 * ANSWERS_MAX.
 */
enum admission live_admit(int supervisor, const char *name, struct answer *list, size_t *n);

#endif
