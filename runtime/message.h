/* SPDX-License-Identifier: MIT */
/* What caverun says on standard error.  The library says nothing. */
#ifndef CAVE_RUNTIME_MESSAGE_H
#define CAVE_RUNTIME_MESSAGE_H

#include "cave.h"

/* Prints "caverun: error: … [code]" on standard error, in one write. */
void report_refusal(const struct cave_error *e);

/* Prints a line "caverun: …". */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
