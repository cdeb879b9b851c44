/* SPDX-License-Identifier: MIT */
/*
 * Where the child of a start waits, before its filter and its exec, for what another thread asks meanwhile.  They share
 * the memory that it is in (CLONE_VM).
 */
#ifndef CAVE_RUNTIME_GATE_H
#define CAVE_RUNTIME_GATE_H

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "runtime/raw.h"

enum { GATE_SHUT, GATE_OPEN, GATE_NEVER };

typedef _Atomic uint32_t gate;

static inline void gate_set(gate *g, uint32_t state)
{
	atomic_store(g, state);
	SYS3(SYS_futex, g, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

/* 0 if it was opened, -ECANCELED if it never will be. */
static inline long gate_wait(gate *g)
{
	while (atomic_load(g) == GATE_SHUT)
		SYS4(SYS_futex, g, FUTEX_WAIT_PRIVATE, GATE_SHUT, NULL);
	return atomic_load(g) == GATE_OPEN ? 0 : -ECANCELED;
}

#endif
