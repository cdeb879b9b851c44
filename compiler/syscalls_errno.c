/* SPDX-License-Identifier: MIT */
#include "compiler/syscalls_errno.h"

#include <errno.h>
#include <string.h>

enum { ERRNO_LAST = EHWPOISON };

int errno_by_name(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} also[] = { { "EWOULDBLOCK", EWOULDBLOCK }, { "ENOTSUP", ENOTSUP }, { "EDEADLOCK", EDEADLOCK } };

	for (int i = 1; i <= ERRNO_LAST; i++)
		if (errno_name(i) && strcmp(errno_name(i), name) == 0)
			return i;
	for (unsigned i = 0; i < sizeof also / sizeof also[0]; i++)
		if (strcmp(also[i].name, name) == 0)
			return also[i].number;
	return 0;
}

const char *errno_name(int number)
{
	return strerrorname_np(number);
}
