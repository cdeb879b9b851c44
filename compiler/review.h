/* SPDX-License-Identifier: MIT */
/* What lint, diff and explain look at: the resolved policy of a profile, a JSON profile or an artefact. */
#ifndef CAVE_COMPILER_REVIEW_H
#define CAVE_COMPILER_REVIEW_H

#include "compiler/pipeline.h"

struct review_options {
	const char *root; /* of profiles; NULL: each one's folder */
	const char *config; /* the operator's rules, or NULL */
	const char *capabilities; /* the operator's table alone, or NULL */
	bool programs; /* make the programs of a profile too; an artefact always has its own */
};

/*
 * Reads, resolves and checks the policy at `path`.  Of an artefact it is the canonical text that is read; its
 * manifest and programs are compared with it: the manifest must be the text's, byte for byte, and the programs are
 * proved against it.  Returns NULL after what is wrong was printed to stderr, *status is then EXIT_REFUSED or
 * EXIT_TROUBLE.  The result is the caller's, to be given to compile_end().
 */
struct compile *review_open(const char *path, const struct review_options *o, int *status);

#endif
