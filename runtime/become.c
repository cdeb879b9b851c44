/* SPDX-License-Identifier: MIT */
#include "runtime/become.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = { "cave-check", "../libexec/cave/cave-check" };

/* The command line of cave-check (runtime/check/main.c). */
static void make_arguments(const struct options *o, char *exe, char *argv[9])
{
	bool doctor = o->action == ACTION_DOCTOR;
	const char *format = o->format ? o->format : doctor ? "text" : "json";
	size_t n = 0;

	argv[n++] = (char *)"cave-check";
	argv[n++] = (char *)(doctor ? "doctor" : "conformance");
	argv[n++] = exe;
	if (!strcmp(format, "json"))
		argv[n++] = (char *)"--json";
	if (o->config) {
		argv[n++] = (char *)"--config";
		argv[n++] = (char *)o->config;
	}
	if (o->policy)
		argv[n++] = (char *)o->policy;
	argv[n] = NULL;
}

void become_check(const struct options *o, struct refusal *r)
{
	char exe[PATH_MAX + 1], path[PATH_MAX + 32], *argv[9];
	ssize_t n = readlink("/proc/self/exe", exe, PATH_MAX);
	int folder = (int)n;

	if (n <= 0) {
		refuse_errno(r, CAVE_FAILED, errno, "/proc/self/exe");
		return;
	}
	exe[n] = '\0';
	while (folder > 0 && exe[folder - 1] != '/')
		folder--;
	make_arguments(o, exe, argv);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(path, sizeof path, "%.*s%s", folder, exe, places[i]);
		execv(path, argv);
	}
	refuse_errno(r, CAVE_FAILED, errno, "cannot start cave-check, which is beside caverun or in ../libexec/cave");
}
