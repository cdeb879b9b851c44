/* SPDX-License-Identifier: MIT */
#include "runtime/main_kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/message.h"

enum { LINE = 1024, STATUS_IN_USE = 1 };

static void put(const char *line, int n)
{
	size_t size = n < LINE ? (size_t)n : LINE - 1;

	if (write(STDOUT_FILENO, line, size) < 0)
		_exit(STATUS_REFUSED);
}

/* IDENTITY STATE SECONDS NAME PATH: one line each, a name being without blanks. */
static bool show(void *context, const struct cave_kept *k)
{
	char line[LINE];
	int n = 0;

	(void)context;
	for (unsigned i = 0; k->identity && i < 32; i++)
		n += snprintf(line + n, sizeof line - (size_t)n, "%02x", k->identity[i]);
	n += snprintf(line + n, sizeof line - (size_t)n, "%s %s %llu %s %s\n", k->identity ? "" : "unfinished",
		      k->used ? "used" : "unused", (unsigned long long)k->unused_s, *k->name ? k->name : "-",
		      k->path);
	put(line, n);
	return true;
}

static enum cave_code forget(const struct cave_policy *policy, int *status, struct cave_error *error)
{
	unsigned gone = 0, busy = 0;
	enum cave_code code = cave_kept_forget(policy, &gone, &busy, error);

	if (!code && busy) {
		report_note("%u in use, and kept\n", busy);
		*status = STATUS_IN_USE;
	}
	return code;
}

static enum cave_code keep(const struct options *o, struct cave_policy *policy, struct cave_error *error)
{
	const struct cave_options options = { .size = sizeof options, .tmpdir = getenv("TMPDIR"), .config = o->config };

	return cave_keep(policy, &options, error);
}

enum cave_code main_kept(const struct options *o, int *status, struct cave_error *error)
{
	struct cave_policy *policy = NULL;
	enum cave_code code = CAVE_OK;

	*status = 0;
	if (o->action == ACTION_LIST)
		return cave_kept_list(show, NULL, error);
	if (o->policy)
		code = cave_policy_open(o->policy, &policy, error);
	if (!code && policy && o->profile)
		code = cave_policy_choose(policy, o->profile, error);
	if (!code)
		code = o->action == ACTION_PREPARE ? keep(o, policy, error) : forget(policy, status, error);
	cave_policy_free(policy);
	return code;
}
