/* SPDX-License-Identifier: MIT */
/*
 * The mount namespace of a plan (and the user namespace that it needs without privilege), made once and entered by each
 * start.  What the host mounts later is not seen there.
 */
#ifndef CAVE_RUNTIME_NAMESPACES_H
#define CAVE_RUNTIME_NAMESPACES_H

struct plan;

struct namespaces {
	int mounts; /* -1: each start makes its own */
	int user; /* -1: none is needed */
};

/*
 * Makes them, as a start would, and keeps them in plan->namespaces if that is sound.  If not, or if anything fails,
 * each start makes its own, and says what is wrong.  All signals of the calling thread must be blocked.
 */
void namespaces_keep(struct plan *plan);

void namespaces_close(struct namespaces *n);

#endif
