/* SPDX-License-Identifier: MIT */
/* What the command line asks for. */
#ifndef CAVE_RUNTIME_OPTIONS_H
#define CAVE_RUNTIME_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/report.h"
#include "cave.h"

enum options_action { ACTION_RUN, ACTION_PREPARE, ACTION_LIST, ACTION_FORGET, ACTION_DOCTOR, ACTION_CONFORMANCE };

enum { FOLDERS_MAX = 64 };

struct options {
	enum options_action action;
	bool trace;
	bool all; /* --forget --all */
	const char *policy;
	const char *profile, *script, *workspace, *chdir, *user, *config, *status_fd, *record; /* NULL where not given */
	int keep[CAVE_KEEP_MAX]; /* ascending, no two equal, above 2 */
	size_t nkeep;
	struct cave_folder folder[FOLDERS_MAX];
	size_t nfolders;
	char **argv; /* PROGRAM and its arguments, NULL at the end */
	const char *format; /* of the answer of --doctor and --conformance: "text" or "json"; NULL: the usual */
	const char *log; /* a line for each refusal of the network's policy is appended to it */
	bool report; /* they are printed at the end */
	const char *information; /* --help or --version: the text to print, and nothing else to do */
};

/* Parses argv of main(); what it points at must stay. */
bool options_parse(int argc, char **argv, struct options *out, struct refusal *r);

#endif
