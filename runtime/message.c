/* SPDX-License-Identifier: MIT */
#include "runtime/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/printable.h"

/* Nothing can be done where standard error does not take the message.  Names in it may be anybody's. */
static void print(char *line, int n, size_t max)
{
	size_t size = (size_t)n < max ? (size_t)n : max - 1;

	line[size] = 0;
	if (size && line[size - 1] == '\n')
		line[--size] = 0;
	printable(line);
	line[size++] = '\n';
	if (write(STDERR_FILENO, line, size) < 0)
		return;
}

void report_refusal(const struct cave_error *e)
{
	char line[sizeof e->text + 128];

	print(line,
	      snprintf(line, sizeof line, "caverun: error: %s [%s]\n", e->text, cave_code_name(e->code)),
	      sizeof line);
}

void report_note(const char *format, ...)
{
	char line[1024] = "caverun: ";
	int n = (int)strlen(line);
	va_list ap;

	va_start(ap, format);
	n += vsnprintf(line + n, sizeof line - (size_t)n, format, ap);
	va_end(ap);
	print(line, n, sizeof line);
}
