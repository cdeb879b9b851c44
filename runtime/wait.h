/* SPDX-License-Identifier: MIT */
/* While the tool runs: signals, stops, and its end. */
#ifndef CAVE_RUNTIME_WAIT_H
#define CAVE_RUNTIME_WAIT_H

#include <signal.h>

#include "runtime/tool.h"

/*
 * Blocks every signal that can be waited for, so that none is lost between here and wait_for(); *before is the
 * mask as it was, *signals a descriptor that they are read from.
 */
bool wait_prepare(sigset_t *before, int *signals, struct refusal *r);

/* A signal that came meanwhile and would have ended us, or 0: the tool need not be started then. */
int wait_interrupted(void);

/*
 * Waits until the tool and its output have ended: passes signals on, stops with it and lets it go on, keeps its limits.
 * Returns its wait status.
 */
int wait_for(struct cave_tool *tool, int signals);

/* The exit status that stands for a wait status. */
int wait_status_number(int status);

/* The same; dies by SIGINT if the tool did, as a shell expects. */
int wait_status(int status);

#endif
