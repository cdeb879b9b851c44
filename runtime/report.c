/* SPDX-License-Identifier: MIT */
#include "runtime/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct refusal *r, enum cave_code code, const char *format, va_list ap)
{
	r->code = code;
	r->status = STATUS_REFUSED;
	r->error = 0;
	vsnprintf(r->text, sizeof r->text, format, ap);
}

bool refuse(struct refusal *r, enum cave_code code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fill(r, code, format, ap);
	va_end(ap);
	return false;
}

bool refuse_errno(struct refusal *r, enum cave_code code, int error, const char *format, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, format);
	fill(r, code, format, ap);
	va_end(ap);
	r->error = error;
	n = strlen(r->text);
	snprintf(r->text + n, sizeof r->text - n, ": %s (errno %d)", strerror(error), error);
	return false;
}

bool refuse_program(struct refusal *r, int error, const char *program, const char *why)
{
	bool absent = error == ENOENT || error == ENOTDIR;

	refuse_errno(r, CAVE_FAILED, error, "cannot execute %s%s%s", program, why ? ": " : "",
		     why ? why : "");
	r->status = absent ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	return false;
}
