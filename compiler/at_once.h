/* SPDX-License-Identifier: MIT */
/* Work on all processors. */
#ifndef CAVE_COMPILER_AT_ONCE_H
#define CAVE_COMPILER_AT_ONCE_H

#include <stddef.h>

/*
 * Calls job(closure, i) for every i below `n`, and returns when all are done: several at the same time if there are
 * processors and threads to be had, else, and within a job, one after the other.  Jobs write to nothing that another
 * one looks at.
 */
void at_once(void (*job)(void *closure, size_t i), void *closure, size_t n);

#endif
