/* SPDX-License-Identifier: MIT */
/*
 * Debian builds its libraries for glibc, with _FORTIFY_SOURCE.  All else that they call has the same form in musl;
 * these are glibc's checked variants (its folder debug), which end the process where a buffer would be overrun.  A
 * function that is neither here nor in musl would fail the link.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __vsnprintf_chk(char *to, size_t n, int flag, size_t size, const char *format, va_list ap);
int __snprintf_chk(char *to, size_t n, int flag, size_t size, const char *format, ...);
char *__strncpy_chk(char *to, const char *from, size_t n, size_t size);
void *__memmove_chk(void *to, const void *from, size_t n, size_t size);

int __vsnprintf_chk(char *to, size_t n, int flag, size_t size, const char *format, va_list ap)
{
	(void)flag;
	if (n > size)
		abort();
	return vsnprintf(to, n, format, ap);
}

int __snprintf_chk(char *to, size_t n, int flag, size_t size, const char *format, ...)
{
	va_list ap;
	int length;

	va_start(ap, format);
	length = __vsnprintf_chk(to, n, flag, size, format, ap);
	va_end(ap);
	return length;
}

char *__strncpy_chk(char *to, const char *from, size_t n, size_t size)
{
	if (n > size)
		abort();
	return strncpy(to, from, n);
}

void *__memmove_chk(void *to, const void *from, size_t n, size_t size)
{
	if (n > size)
		abort();
	return memmove(to, from, n);
}
