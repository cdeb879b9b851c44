/* SPDX-License-Identifier: MIT */
#include "runtime/check/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 1024, OUTPUT_MAX = 1 << 17, PATIENCE_MS = 60000, STATUS_SIGNAL = 128 };

/* --- the command line ------------------------------------------------------------------------------ */

static const char *value_of(struct memory *m, const struct outside *o, const struct launch *l, char sign)
{
	switch (sign) {
	case 'F':
		return o->scratch.file;
	case 'D':
		return o->scratch.folder;
	case 'W':
		return l->where;
	case 'P':
		return l->probe;
	case 'V':
		return memory_printf(m, "%d", (int)o->victim);
	case 'T':
		return memory_printf(m, "%u", o->tcp_port);
	case 'U':
		return memory_printf(m, "%u", o->udp_port);
	case 'X':
		return memory_printf(m, "%u", o->tcp6_port);
	case 'Y':
		return memory_printf(m, "%u", o->udp6_port);
	case 'A':
		return o->policy;
	case 'G':
		return o->group;
	default:
		return o->unix_name;
	}
}

/* `n` bytes of a row, with what stands for the signs in it. */
static char *fill(struct memory *m, const struct outside *o, const struct launch *l, const char *word, size_t n)
{
	const char *sign = memchr(word, '%', n);
	size_t before = sign ? (size_t)(sign - word) : n;

	if (!sign)
		return memory_string(m, word, n);
	return memory_printf(m, "%.*s%s%s", (int)before, word, value_of(m, o, l, sign[1]),
			     fill(m, o, l, sign + 2, n - before - 2));
}

/* Appends the words of a row. */
static size_t put_row(struct memory *m, const struct outside *o, const struct launch *l, const struct row *row,
		      char **argv, size_t n)
{
	for (const char *word = row->attempt; *word && n < WORDS_MAX - 1;) {
		size_t length = strcspn(word, " ");

		argv[n++] = fill(m, o, l, word, length);
		word += length + (word[length] == ' ');
	}
	return n;
}

/* What the probe prints before the result: the words, blanks between them. */
static char *label(struct memory *m, const struct outside *o, const struct launch *l, const struct row *row)
{
	return memory_printf(m, "%s: ", fill(m, o, l, row->attempt, strlen(row->attempt)));
}

static bool is_alone(const struct row *row)
{
	return row->how == ROW_ALONE || row->how == ROW_KILLED;
}

/* --- running --------------------------------------------------------------------------------------- */

static __attribute__((noreturn)) void become(char **argv, char *const *env, int output)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
		_exit(STATUS_REFUSED);
	execve(argv[0], argv, env);
	_exit(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

/* Reads until the end of file; false if that does not come. */
static bool collect(int fd, char *to, size_t max)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;
	ssize_t got = 1;

	while (got && n + 1 < max) {
		if (poll(&p, 1, PATIENCE_MS) != 1)
			return false;
		got = read(fd, to + n, max - 1 - n);
		if (got < 0)
			return false;
		n += (size_t)got;
	}
	to[n] = '\0';
	return got == 0;
}

static bool run(char **argv, char *const *env, char *output, int *status, struct refusal *r)
{
	int ends[2], ended = 0;
	pid_t pid;
	bool whole;

	if (pipe2(ends, O_CLOEXEC))
		return refuse_errno(r, CAVE_FAILED, errno, "pipe2");
	pid = fork();
	if (!pid)
		become(argv, env, ends[1]);
	close(ends[1]);
	whole = pid > 0 && collect(ends[0], output, OUTPUT_MAX);
	if (pid > 0 && !whole)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &ended, 0) < 0 && errno == EINTR)
		;
	close(ends[0]);
	*status = WIFEXITED(ended) ? WEXITSTATUS(ended) : STATUS_SIGNAL + WTERMSIG(ended);
	return whole || refuse(r, CAVE_CONFORMANCE_FAILED, "the probe did not come to its end (%s)", argv[0]);
}

/* --- reading --------------------------------------------------------------------------------------- */

static int errno_of(const char *name)
{
	for (int error = 1; error < 134; error++) {
		const char *known = strerrorname_np(error);

		if (known && !strcmp(known, name))
			return error;
	}
	return EPROTO;
}

/* Cuts the answer to `label` out of *text, which goes on behind it; what stands before it was said by the attempt. */
static void read_outcome(char **text, const char *label, struct outcome *out)
{
	size_t n = strlen(label);
	char *line = *text;

	for (; *line; line += strcspn(line, "\n") + 1) {
		char *end = line + strcspn(line, "\n");
		bool last = !*end;

		if (!strncmp(line, label, n)) {
			*end = '\0';
			out->answered = true;
			out->allowed = !strcmp(line + n, "allowed");
			out->error = out->allowed ? 0 : errno_of(line + n + (strncmp(line + n, "refused ", 8) ? 0 : 8));
			*line = '\0';
			out->said = *text;
			*text = last ? end : end + 1;
			return;
		}
		if (last)
			return;
	}
}

static size_t put_start(const struct launch *l, char **argv)
{
	size_t n = 0;

	for (const char *const *word = l->before; *word; word++)
		argv[n++] = (char *)*word;
	argv[n++] = (char *)l->probe;
	return n;
}

static bool attempt_one(struct memory *m, const struct launch *l, const struct outside *o, const struct row *row,
			struct outcome *out, struct refusal *r)
{
	char *argv[WORDS_MAX], *output = memory_take(m, OUTPUT_MAX);
	size_t n = put_row(m, o, l, row, argv, put_start(l, argv));

	argv[n] = NULL;
	if (!run(argv, l->env, output, &out->status, r))
		return false;
	read_outcome(&output, label(m, o, l, row), out);
	return true;
}

/* All that can share a process do: a start each would take long. */
static bool attempt_together(struct memory *m, const struct launch *l, const struct outside *o, struct outcome *out,
			     struct refusal *r)
{
	char *argv[WORDS_MAX], *output = memory_take(m, OUTPUT_MAX), *text = output;
	size_t n = put_start(l, argv), first = n;
	int status = 0;

	for (size_t i = 0; i < battery_size; i++) {
		if (is_alone(&battery[i]))
			continue;
		if (n > first)
			argv[n++] = (char *)",";
		n = put_row(m, o, l, &battery[i], argv, n);
	}
	argv[n] = NULL;
	if (!run(argv, l->env, output, &status, r))
		return false;
	for (size_t i = 0; i < battery_size; i++) {
		if (is_alone(&battery[i]))
			continue;
		read_outcome(&text, label(m, o, l, &battery[i]), &out[i]);
		out[i].status = status;
	}
	if (!out[0].answered)
		return refuse(r, CAVE_CONFORMANCE_FAILED, "the probe was not started (status %d): %.*s", status,
			      (int)strcspn(output, "\n"), output);
	return true;
}

bool attempt_all(struct memory *m, const struct launch *l, const struct outside *o, struct outcome *out,
		 struct refusal *r)
{
	if (!attempt_together(m, l, o, out, r))
		return false;
	for (size_t i = 0; i < battery_size; i++)
		if (is_alone(&battery[i]) && !attempt_one(m, l, o, &battery[i], &out[i], r))
			return false;
	return true;
}

const char *outcome_text(struct memory *m, const struct outcome *o)
{
	const char *name = strerrorname_np(o->error);

	if (!o->answered)
		return memory_printf(m, "status %d", o->status);
	return o->allowed ? "allowed" : memory_printf(m, "refused %s", name ? name : "?");
}
