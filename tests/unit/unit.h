/* SPDX-License-Identifier: MIT */
/*
 * The smallest test harness: every check prints one line that tests/run counts - "ok NAME", or
 * "not ok NAME: why" - and main returns unit_done().
 */
#ifndef CAVE_TESTS_UNIT_H
#define CAVE_TESTS_UNIT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int unit_failures;

/* One result; `name` and what follows is a format. */
__attribute__((format(printf, 2, 3))) static inline bool check(bool holds, const char *format, ...)
{
	va_list ap;

	fputs(holds ? "ok " : "not ok ", stdout);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	unit_failures += !holds;
	return holds;
}

static inline int unit_done(void)
{
	return unit_failures ? 1 : 0;
}

#endif
