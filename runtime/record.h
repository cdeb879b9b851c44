/* SPDX-License-Identifier: MIT */
/* The record of starts and ends that an operator, or a host, may ask for: one line of JSON each, appended. */
#ifndef CAVE_RUNTIME_RECORD_H
#define CAVE_RUNTIME_RECORD_H

#include <stdint.h>
#include <sys/types.h>

#include "cave.h"
#include "runtime/memory.h"
#include "runtime/operator.h"
#include "runtime/plan.h"
#include "runtime/report.h"

enum { RECORDS = PLAN_BOUND - 1 }; /* the operator's, and the host's own */

struct records {
	int fd[RECORDS]; /* -1: none */
};

/* So that records_close() does nothing. */
void records_init(struct records *records);

/* Opens, and makes if they are not there, what the rules and `own`, a path or NULL, ask for. */
bool records_open(struct memory *m, const struct operator_rules *rules, const char *own, struct records *out,
		  struct refusal *r);
void records_close(struct records *records);

/* One run. */
struct record {
	uint64_t run; /* a random number, the same in both lines */
	const struct cave_policy *policy;
	const char *program;
	pid_t pid; /* of the tool; 0 if it was not started */
	const struct cave_result *result; /* of one that has ended */
	const struct refusal *refusal; /* of one that was not started */
	bool open; /* its start is written, and its end is not */
};

/* Writes that it is about to be started.  A start that cannot be recorded is refused. */
bool record_start(const struct records *records, struct record *record, struct refusal *r);

/* Writes what became of it, if its start was written; false, with *r, if that cannot be. */
bool record_end(const struct records *records, struct record *record, struct refusal *r);

#endif
