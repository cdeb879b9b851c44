/* SPDX-License-Identifier: MIT */
#include "runtime/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/identity.h"
#include "runtime/json.h"
#include "runtime/message.h"

enum { RECORD_MAX = 65536 };

static const char option[] = "--status-fd";

void ending_note(struct timespec *at)
{
	clock_read(CLOCK_MONOTONIC, at);
}

/* The value of the option, or NULL; a missing one is "". */
static const char *find(int argc, char **argv)
{
	size_t n = strlen(option);

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], option, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
		if (!strcmp(argv[i], option))
			return i + 1 < argc ? argv[i + 1] : "";
	}
	return NULL;
}

bool ending_begin(int argc, char **argv, struct ending *out, struct refusal *r)
{
	const char *value = find(argc, argv);
	char *end;
	long fd;

	*out = (struct ending){ .fd = -1, .step = "options", .error = { .code = CAVE_OK } };
	ending_note(&out->begun);
	clock_read(CLOCK_REALTIME, &out->began);
	if (!value)
		return true;
	fd = strtol(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || fd < 3 || fd > INT_MAX)
		return refuse(r, CAVE_FAILED, "--status-fd takes the number of a descriptor above 2, not %s", value);
	/* Neither the tool nor the helper gets it. */
	if (fcntl((int)fd, F_GETFD) < 0 || fcntl((int)fd, F_SETFD, FD_CLOEXEC))
		return refuse_errno(r, CAVE_FAILED, errno, "descriptor %ld of --status-fd", fd);
	out->fd = (int)fd;
	return true;
}

/* --- the record ------------------------------------------------------------------------------------ */

static uint64_t between(const struct timespec *from, const struct timespec *to)
{
	int64_t ns = (int64_t)(to->tv_sec - from->tv_sec) * 1000000000 + (to->tv_nsec - from->tv_nsec);

	return ns > 0 ? (uint64_t)ns : 0;
}

static const char *outcome(const struct ending *e)
{
	if (!e->tool)
		return e->error.code ? "refused" : "interrupted";
	if (e->limit)
		return "limit";
	return WIFSIGNALED(e->status) ? "signalled" : "exited";
}

static void put_number_or_null(struct json *j, const char *key, bool there, uint64_t n)
{
	json_key(j, key);
	if (there)
		json_add_number(j, n);
	else
		json_add_null(j);
}

static void put_policy(struct json *j, const struct ending *e)
{
	char hex[IDENTITY_TEXT];

	json_put_string(j, "policy", e->policy ? cave_policy_name(e->policy) : NULL);
	json_put_string(j, "identity", e->policy ? identity_text(cave_policy_identity(e->policy), hex) : NULL);
	json_put_string(j, "program", e->program);
}

static void put_error(struct json *j, const struct ending *e)
{
	enum cave_code code = e->tool ? e->limit : e->error.code;

	json_put_string(j, "step", e->step);
	json_put_string(j, "code", code ? cave_code_name(code) : NULL);
	put_number_or_null(j, "errno", !e->tool && e->error.error, (uint64_t)e->error.error);
	json_put_string(j, "message", e->error.code ? e->error.text : NULL);
}

/* Those that were counted. */
static void put_refusals(struct json *j, const struct ending *e)
{
	json_key(j, "refusals");
	if (!e->traced && !e->counted) {
		json_add_null(j);
		return;
	}
	json_open(j, '{');
	if (e->traced) {
		json_put_number(j, "syscalls", e->refused_calls);
		json_put_number(j, "files", e->refused_files);
	}
	if (e->counted) {
		json_put_number(j, "network", e->refused.refused);
		json_put_number(j, "probes", e->refused.probes);
		json_put_number(j, "lookups", e->refused.lookups);
	}
	json_close(j, '}');
}

static void put_tool(struct json *j, const struct ending *e)
{
	bool exited = e->tool && WIFEXITED(e->status), signalled = e->tool && WIFSIGNALED(e->status);
	struct timespec now;

	ending_note(&now);
	put_number_or_null(j, "pid", e->tool, (uint64_t)e->pid);
	put_number_or_null(j, "tool_status", exited, (uint64_t)WEXITSTATUS(e->status));
	put_number_or_null(j, "tool_signal", signalled, (uint64_t)WTERMSIG(e->status));
	put_refusals(j, e);
	put_number_or_null(j, "setup_ns", true, between(&e->begun, e->tool ? &e->started : &now));
	put_number_or_null(j, "run_ns", e->tool, between(&e->started, &e->ended));
}

void ending_write(const struct ending *e, int exit_status)
{
	char text[RECORD_MAX];
	char time[TIME_TEXT];
	struct json j;

	if (e->fd < 0)
		return;
	json_begin(&j, text, sizeof text - 1);
	json_open(&j, '{');
	json_put_number(&j, "schema_version", 1);
	json_put_string(&j, "outcome", outcome(e));
	json_put_number(&j, "exit_status", (uint64_t)exit_status);
	put_error(&j, e);
	put_tool(&j, e);
	put_policy(&j, e);
	json_put_string(&j, "time", time_text(&e->began, time));
	json_close(&j, '}');
	if (!json_end(&j)) {
		report_note("the record for --status-fd is too long\n");
		return;
	}
	text[j.n++] = '\n';
	if (write(e->fd, text, j.n) != (ssize_t)j.n)
		report_note("cannot write the record of --status-fd: %s\n", strerror(errno));
}
