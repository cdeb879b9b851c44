/* SPDX-License-Identifier: MIT */
/*
 * A line is one write() to a descriptor opened with O_APPEND: lines of starts that go on at once do not mix, and a file
 * that the operator has made append-only (chattr +a) can be written.
 */
#include "runtime/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/identity.h"
#include "runtime/json.h"

enum { LINE_MAX_BYTES = 49152 };

void records_init(struct records *records)
{
	for (size_t i = 0; i < RECORDS; i++)
		records->fd[i] = -1;
}

static bool open_one(const char *path, int *out, struct refusal *r)
{
	struct stat st;
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);

	if (fd < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "the record of starts %s", path);
	*out = fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return refuse(r, CAVE_FAILED, "the record of starts %s is no regular file", path);
	return true;
}

bool records_open(struct memory *m, const struct operator_rules *rules, const char *own, struct records *out,
		  struct refusal *r)
{
	const char *theirs = rules->record.n ? memory_string(m, rules->record.at, rules->record.n) : NULL;

	return (!theirs || open_one(theirs, &out->fd[0], r)) && (!own || open_one(own, &out->fd[1], r));
}

void records_close(struct records *records)
{
	for (size_t i = 0; i < RECORDS; i++)
		if (records->fd[i] >= 0)
			close(records->fd[i]);
	records_init(records);
}

static bool write_all(const struct records *records, const char *line, size_t n, struct refusal *r)
{
	for (size_t i = 0; i < RECORDS; i++) {
		ssize_t wrote;

		if (records->fd[i] < 0)
			continue;
		do
			wrote = write(records->fd[i], line, n);
		while (wrote < 0 && errno == EINTR);
		if (wrote != (ssize_t)n)
			return refuse_errno(r, CAVE_FAILED, wrote < 0 ? errno : ENOSPC, "the record of starts");
	}
	return true;
}

/* What every line begins with. */
static void put_head(struct json *j, const char *event, const struct record *record)
{
	char hex[IDENTITY_TEXT], time[TIME_TEXT], run[20];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(run, sizeof run, "%016llx", (unsigned long long)record->run);
	json_open(j, '{');
	json_put_string(j, "event", event);
	json_put_string(j, "time", time_text(&now, time));
	json_put_string(j, "run", run);
	json_put_string(j, "policy", cave_policy_name(record->policy));
	json_put_string(j, "identity", identity_text(cave_policy_identity(record->policy), hex));
	json_put_string(j, "program", record->program);
	json_put_number(j, "user", geteuid());
	json_put_number(j, "caller", (uint64_t)getpid());
}

static bool finish(const struct records *records, struct json *j, struct refusal *r)
{
	json_close(j, '}');
	if (!json_end(j))
		return refuse(r, CAVE_FAILED, "the record of starts: a line is too long");
	j->text[j->n++] = '\n';
	return write_all(records, j->text, j->n, r);
}

static bool asked_for(const struct records *records)
{
	return records->fd[0] >= 0 || records->fd[1] >= 0;
}

bool record_start(const struct records *records, struct record *record, struct refusal *r)
{
	char line[LINE_MAX_BYTES];
	struct json j;

	if (!asked_for(records))
		return true;
	if (getrandom(&record->run, sizeof record->run, 0) != sizeof record->run)
		return refuse_errno(r, CAVE_FAILED, errno, "getrandom");
	json_begin(&j, line, sizeof line - 1);
	put_head(&j, "start", record);
	record->open = finish(records, &j, r);
	return record->open;
}

static void put_result(struct json *j, const struct cave_result *result)
{
	bool known = result->status != -1;

	json_put_string(j, "outcome",
			result->code ? "limit" : !known ? "unknown" : WIFSIGNALED(result->status) ? "signalled" : "exited");
	json_put_string(j, "code", result->code ? cave_code_name(result->code) : NULL);
	if (known && WIFEXITED(result->status))
		json_put_number(j, "tool_status", (uint64_t)WEXITSTATUS(result->status));
	if (known && WIFSIGNALED(result->status))
		json_put_number(j, "tool_signal", (uint64_t)WTERMSIG(result->status));
	json_put_number(j, "run_ns", result->ended_ns - result->started_ns);
}

static void put_refusal(struct json *j, const struct refusal *refusal)
{
	json_put_string(j, "outcome", "refused");
	json_put_string(j, "code", cave_code_name(refusal->code));
	json_put_string(j, "message", refusal->text);
}

bool record_end(const struct records *records, struct record *record, struct refusal *r)
{
	char line[LINE_MAX_BYTES];
	struct json j;

	if (!record->open)
		return true;
	record->open = false;
	json_begin(&j, line, sizeof line - 1);
	put_head(&j, "end", record);
	json_put_number(&j, "pid", (uint64_t)record->pid);
	if (record->refusal)
		put_refusal(&j, record->refusal);
	else
		put_result(&j, record->result);
	return finish(records, &j, r);
}
