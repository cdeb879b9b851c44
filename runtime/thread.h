/* SPDX-License-Identifier: MIT */
/* Threads of the library's own, and calls that no signal is to interrupt. */
#ifndef CAVE_RUNTIME_THREAD_H
#define CAVE_RUNTIME_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Blocks all signals of this thread; 0 or an errno.  Only where it is 0 may `before` be set again. */
int signals_block(sigset_t *before);
void signals_restore(const sigset_t *before);

/*
 * A thread with so much stack (0: as much as others have) in which all signals are blocked: they are the host's.
 * 0 or an errno.
 */
int thread_start(pthread_t *out, size_t stack, void *(*run)(void *), void *of);

#endif
