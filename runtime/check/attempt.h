/* SPDX-License-Identifier: MIT */
/* Running cave-probe, outside or in a sandbox, and reading what became of each attempt. */
#ifndef CAVE_RUNTIME_CHECK_ATTEMPT_H
#define CAVE_RUNTIME_CHECK_ATTEMPT_H

#include "runtime/check/battery.h"
#include "runtime/check/outside.h"

struct outcome {
	bool answered, allowed;
	int error; /* of a refusal */
	int status; /* exit status of the probe, or of what it became */
	const char *said; /* what it printed before its answer */
};

/* How the probe is started. */
struct launch {
	const char *const *before; /* words before the probe, as caverun and its options; NULL at the end */
	char *const *env;
	const char *probe;
	const char *where; /* "outside" or "inside" */
};

/* Tries all rows; out[i] is of battery[i].  False, with *r, if the probe did not come to its end. */
bool attempt_all(struct memory *m, const struct launch *l, const struct outside *o, struct outcome *out,
		 struct refusal *r);

/* What an outcome is called: "allowed", "refused EPERM", "status 159". */
const char *outcome_text(struct memory *m, const struct outcome *o);

#endif
