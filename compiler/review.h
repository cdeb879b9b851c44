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

/* The options that these commands share: rows of the table of getopt_long(), to stand last. */
enum { REVIEW_ROOT = 1000, REVIEW_CONFIG, REVIEW_CAPABILITIES };
#define REVIEW_OPTIONS                                                     \
	{ "root", required_argument, NULL, REVIEW_ROOT },                  \
	{ "config", required_argument, NULL, REVIEW_CONFIG },              \
	{ "capabilities", required_argument, NULL, REVIEW_CAPABILITIES },  \
	{ "help", no_argument, NULL, 'h' },                                \
	{ NULL, 0, NULL, 0 }

/*
 * What getopt_long() found, if the command has no case for it.  True if the command goes on; otherwise *status is its
 * exit status: help was asked for, or something is wrong, which was said.
 */
bool review_option(struct review_options *o, int option, const char *argument, const char *command, const char *help,
		   int *status);

/* Says what is wrong with the words of `cavec COMMAND`; EXIT_TROUBLE. */
int review_usage(const char *command, const char *text, const char *what);

/*
 * Reads, resolves and checks the policy at `path`.  Of an artefact it is the canonical text that is read; its
 * manifest and programs are compared with it: the manifest must be the text's, byte for byte, and the programs are
 * proved against it.  Returns NULL after what is wrong was printed to stderr, *status is then EXIT_REFUSED or
 * EXIT_TROUBLE.  The result is the caller's, to be given to compile_end().
 */
struct compile *review_open(const char *path, const struct review_options *o, int *status);

#endif
