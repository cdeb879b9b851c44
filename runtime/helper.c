/* SPDX-License-Identifier: MIT */
#include "runtime/helper.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cave_libexec.h"

/* Up to and with the last slash. */
static int folder_of(const char *path, size_t n)
{
	while (n > 0 && path[n - 1] != '/')
		n--;
	return (int)n;
}

const char *helper_find(struct memory *m, const char *loader, const char *name)
{
	static const char *const places[] = { "", "../libexec/cave/" };
	char exe[PATH_MAX];
	const char *path;
	ssize_t n;

	if (loader && strcmp(name, "cave-load") == 0)
		return loader;
	if (loader)
		return memory_printf(m, "%.*s%s", folder_of(loader, strlen(loader)), loader, name);
	n = readlink("/proc/self/exe", exe, sizeof exe);
	for (size_t i = 0; n > 0 && i < sizeof places / sizeof *places; i++) {
		path = memory_printf(m, "%.*s%s%s", folder_of(exe, (size_t)n), exe, places[i], name);
		if (!access(path, R_OK))
			return path;
	}
	path = memory_printf(m, "%s/%s", CAVE_LIBEXEC, name);
	return access(path, R_OK) ? NULL : path;
}
