/* SPDX-License-Identifier: MIT */
#include "runtime/thread.h"

int signals_block(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	return pthread_sigmask(SIG_SETMASK, &all, before);
}

void signals_restore(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

int thread_start(pthread_t *out, size_t stack, void *(*run)(void *), void *of)
{
	pthread_attr_t attributes;
	sigset_t before;
	int error = pthread_attr_init(&attributes);

	if (error)
		return error;
	if (stack)
		error = pthread_attr_setstacksize(&attributes, stack);
	if (!error)
		error = signals_block(&before);
	if (!error) {
		error = pthread_create(out, &attributes, run, of);
		signals_restore(&before);
	}
	pthread_attr_destroy(&attributes);
	return error;
}
