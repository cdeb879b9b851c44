/* SPDX-License-Identifier: MIT */
/* --status-fd: one record at the end, for programs, of what became of a start and of the tool. */
#ifndef CAVE_RUNTIME_ENDING_H
#define CAVE_RUNTIME_ENDING_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "cave.h"
#include "runtime/refused/protocol.h"
#include "runtime/report.h"

struct ending {
	int fd; /* where the record goes; -1: nowhere */
	struct timespec begun, began; /* CLOCK_MONOTONIC and CLOCK_REALTIME, of caverun */
	struct timespec started, ended; /* CLOCK_MONOTONIC, of the tool */
	const char *step; /* how far it came: docs/runtime.md lists them */
	const char *program; /* NULL: not known yet */
	const struct cave_policy *policy; /* NULL: not read */
	struct cave_error error; /* of a refusal or a limit; code is CAVE_OK if there was none */
	bool tool; /* it was started; then these are set */
	pid_t pid;
	int status; /* as waitpid() says it */
	bool traced; /* and so refusals were counted */
	uint64_t refused_calls, refused_files;
	bool counted; /* by the network's policy */
	struct denials_counted refused;
	enum cave_code limit; /* what ended it in its own place; CAVE_OK */
};

/*
 * Finds --status-fd on the command line, ahead of everything else, so that a fault in that is told as well.  Fills
 * *out, also where it refuses.
 */
bool ending_begin(int argc, char **argv, struct ending *out, struct refusal *r);

void ending_note(struct timespec *at);

/* Writes the record; `exit_status` is what caverun ends with. */
void ending_write(const struct ending *e, int exit_status);

#endif
