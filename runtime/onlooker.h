/* SPDX-License-Identifier: MIT */
/* --report and --log: a helper that reads what the programs of a run have refused (runtime/refused/main.c). */
#ifndef CAVE_RUNTIME_ONLOOKER_H
#define CAVE_RUNTIME_ONLOOKER_H

#include <sys/types.h>

#include "runtime/options.h"
#include "runtime/refused/protocol.h"
#include "runtime/report.h"

struct onlooker {
	pid_t helper; /* 0: none */
	int socket;
};

/* Opens the file of --log, to be appended to; -1 where none is asked for.  Before anything else is made. */
bool onlooker_open_log(const struct options *o, int *log, struct refusal *r);

/*
 * Starts the helper for the programs of a control group, -1 if the policy has none.  A refusal if it cannot do what is
 * asked for.  `log` is closed.
 */
bool onlooker_begin(const struct options *o, int group, int log, struct onlooker *out, struct refusal *r);

/* Passes on what the run of a tool tells of host names; `of` is an onlooker. */
void onlooker_told(void *of, const struct denials_told *what);

/*
 * Lets it print the report, if a tool was started, and waits for it.  True if it has counted; then *counted is set.
 */
bool onlooker_end(struct onlooker *d, bool started, struct denials_counted *counted);

#endif
