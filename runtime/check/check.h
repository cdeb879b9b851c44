/* SPDX-License-Identifier: MIT */
/*
 * cave-check: asks a host what it can enforce (doctor), and proves that a policy holds there (conformance).  Started by
 * caverun, which stays small without it.
 */
#ifndef CAVE_RUNTIME_CHECK_CHECK_H
#define CAVE_RUNTIME_CHECK_CHECK_H

#include <stdbool.h>

#include "runtime/memory.h"
#include "runtime/report.h"

struct check_options {
	const char *caverun; /* the program that is asked about */
	const char *policy; /* NULL: what any policy needs */
	const char *config; /* the operator's rules, for caverun; NULL: the usual */
	bool json;
};

/* Both print to the standard output and return the exit status; 125, with *r filled, if not all is as it should be. */
int doctor(struct memory *m, const struct check_options *o, struct refusal *r);
int conformance(struct memory *m, const struct check_options *o, struct refusal *r);

/* Writes all of it to the standard output. */
bool check_print(const char *text, struct refusal *r);

/* A file and a folder of this run's own, for what is tried; in `at`, or where TMPDIR says if that is NULL. */
struct scratch {
	const char *folder, *file;
};
bool scratch_make(struct memory *m, const char *at, struct scratch *out, struct refusal *r);
void scratch_remove(const struct scratch *s);

#endif
