/* SPDX-License-Identifier: MIT */
/* What time it is, at the least cost to a process that asks a few times. */
#ifndef CAVE_RUNTIME_CLOCK_H
#define CAVE_RUNTIME_CLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * A program that is linked statically must seek the kernel's own code for it (vdso(7)) at the first question, and touch
 * its pages: that costs as much as twenty system calls.  A host's has been found by the dynamic linker.
 */
static inline void clock_read(clockid_t clock, struct timespec *t)
{
#ifdef __GLIBC__
	clock_gettime(clock, t);
#else
	if (syscall(SYS_clock_gettime, clock, t))
		clock_gettime(clock, t);
#endif
}

#endif
