/* SPDX-License-Identifier: MIT */
/* Why a start was refused: a sentence, its code, and the exit status. */
#ifndef CAVE_RUNTIME_REPORT_H
#define CAVE_RUNTIME_REPORT_H

#include <stdbool.h>

#include "cave/codes.h"

enum {
	STATUS_LIMIT = 124,
	STATUS_REFUSED = 125,
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNALLED = 128, /* and the number of the signal */
};

/* Filled by the first step that fails; the steps after it are not reached. */
struct refusal {
	enum cave_code code;
	int status;
	int error; /* errno, or 0 */
	char text[1024];
};

/* Fills *r and returns false, so that a step can end in `return refuse(…)`.  STATUS_REFUSED. */
bool refuse(struct refusal *r, enum cave_code code, const char *format, ...)
	__attribute__((cold, format(printf, 3, 4)));

/* The same with ": " and what the errno means at the end. */
bool refuse_errno(struct refusal *r, enum cave_code code, int error, const char *format, ...)
	__attribute__((cold, format(printf, 4, 5)));

/* PROGRAM cannot be started: 127 where `error` is ENOENT or ENOTDIR, else 126; `why` may be NULL. */
bool refuse_program(struct refusal *r, int error, const char *program, const char *why) __attribute__((cold));

#endif
