/* SPDX-License-Identifier: MIT */
/*
 * cave-report POLICY PROFILE REPORT: started by caverun beside the tool (runtime/onlooker.c).
 *
 * Descriptors: 3 is the control group whose programs count, 4 a socket to caverun, 5 the log if there is one.  Answers
 * "ok" on the socket, or why not; then, with a log, looks every tenth of a second at what is new.  When caverun has
 * shut the socket down, or is gone, it looks once more, prints the report if REPORT is 1, answers how much it was, and
 * ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/printable.h"
#include "runtime/refused/refused.h"
#include "runtime/refused/protocol.h"

enum { POLL_MS = 100, LINES_MAX = 100 };

struct run {
	struct artefact outer, nested; /* the file's, and the profile's that was chosen in it */
	struct rules rules;
	struct counts counts;
	struct denied *seen; /* as of the last look */
	long nseen;
	uint64_t lost;
	struct told told;
	bool log, log_failed;
};

__attribute__((noreturn)) static void fail(int error, const char *what)
{
	char text[DENIALS_ANSWER_MAX];
	int n = snprintf(text, sizeof text, error ? "%s: %s" : "%s", what, strerror(error));

	if (write(DENIALS_SOCKET, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1) < 0)
		_exit(2);
	_exit(1);
}

static void *read_policy(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t n = 0;
	char *data;

	if (fd < 0 || fstat(fd, &st))
		fail(errno, "the policy");
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > (off_t)CAVE_ARTEFACT_MAX)
		fail(0, "the policy is no regular file, or too large");
	data = malloc((size_t)st.st_size);
	while (data && n < (size_t)st.st_size) {
		ssize_t got = read(fd, data + n, (size_t)st.st_size - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	close(fd);
	*size = n;
	return data;
}

static void open_policy(struct run *r, const char *path, const char *profile)
{
	struct artefact_error error;
	size_t size;
	void *data = read_policy(path, &size);

	if (!data || !artefact_open(data, size, &r->outer, &error) ||
	    (*profile && !artefact_nested(&r->outer, profile, &r->nested, &error)))
		fail(0, "the policy cannot be read again");
	rules_open(*profile ? &r->nested : &r->outer, &r->rules);
	r->rules.told = &r->told;
}

/* --- the log -------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void log_line(struct run *r, const char *line, size_t n)
{
	if (n && write(DENIALS_LOG, line, n) == (ssize_t)n)
		return;
	if (!r->log_failed)
		fprintf(stderr, "caverun: a refusal could not be logged: %s\n", strerror(errno));
	r->log_failed = true;
}

static void log_one(struct run *r, const struct denied *d)
{
	char line[SAY_MAX];

	log_line(r, line, say_json(&r->rules, d, now_ms(), line));
}

/* Both are sorted, and nothing is ever taken out of the map. */
static void log_new(struct run *r, const struct denied *now, long n)
{
	long old = 0;

	for (long i = 0; i < n; i++) {
		struct denied d = now[i];

		while (old < r->nseen && denied_order(&r->seen[old], &d) < 0)
			old++;
		if (old < r->nseen && !denied_order(&r->seen[old], &d))
			d.count -= r->seen[old].count;
		if (d.count)
			log_one(r, &d);
	}
}

static void log_lookups(struct run *r)
{
	char line[SAY_MAX];

	for (size_t i = 0; i < r->told.nlookups; i++) {
		struct lookup *l = &r->told.lookup[i];

		if (l->count > l->logged)
			log_line(r, line, say_lookup_json(l, now_ms(), line));
		l->logged = l->count;
	}
}

static bool look(struct run *r)
{
	struct denied *now = NULL;
	long n = counts_read(&r->counts, &now, &r->lost);

	if (n < 0)
		return false;
	if (r->log) {
		log_new(r, now, n);
		log_lookups(r);
	}
	free(r->seen);
	r->seen = now;
	r->nseen = n;
	return true;
}

/* What caverun says; false at its end.  Sets *none if nothing was started. */
static bool hear(struct run *r, bool *none)
{
	struct denials_told told;
	ssize_t n;

	do
		n = read(DENIALS_SOCKET, &told, sizeof told);
	while (n < 0 && errno == EINTR);
	*none = n > 0 && n < (ssize_t)sizeof told;
	if (n < (ssize_t)sizeof told)
		return false;
	told.name[sizeof told.name - 1] = '\0';
	if (told.why < DENIALS_WHYS)
		told_hear(&r->told, &told);
	return true;
}

/* Until the tool has ended; false if there was none. */
static bool attend(struct run *r)
{
	struct pollfd end = { .fd = DENIALS_SOCKET, .events = POLLIN };
	uint64_t last = now_ms();
	bool none = false;

	for (;;) {
		if (poll(&end, 1, r->log ? POLL_MS : -1) > 0 && !hear(r, &none))
			return !none;
		if (!r->log || now_ms() - last < POLL_MS)
			continue;
		look(r);
		last = now_ms();
	}
}

/* --- the report ----------------------------------------------------------- */

static void report_lookups(const struct told *t)
{
	uint64_t more = t->lost;
	char text[SAY_MAX];

	for (size_t i = 0; i < t->nlookups; i++) {
		if (i >= LINES_MAX) {
			more += t->lookup[i].count;
			continue;
		}
		say_lookup(&t->lookup[i], text);
		printable(text);
		fprintf(stderr, "caverun: %s\n", text);
	}
	if (more)
		fprintf(stderr, "caverun: and %llu lookups of other names\n", (unsigned long long)more);
}

static void report(const struct run *r)
{
	unsigned long long probes = 0;
	char text[SAY_MAX];
	long shown = 0;

	for (long i = 0; i < r->nseen; i++) {
		if (say_is_probe(&r->rules, &r->seen[i])) {
			probes += r->seen[i].count;
		} else if (shown++ < LINES_MAX) {
			say_text(&r->rules, &r->seen[i], text);
			printable(text);
			fprintf(stderr, "caverun: %s\n", text);
		}
	}
	if (shown > LINES_MAX)
		fprintf(stderr, "caverun: and %ld more destinations\n", shown - LINES_MAX);
	report_lookups(&r->told);
	if (probes)
		fprintf(stderr, "caverun: %llu address probe%s, harmless\n", probes, probes == 1 ? "" : "s");
	if (r->lost)
		fprintf(stderr, "caverun: %llu more refusals, which there was no room to tell apart\n",
			(unsigned long long)r->lost);
	if (!shown && !probes && !r->lost && !r->told.nlookups)
		fprintf(stderr, "caverun: nothing was refused by the network's policy\n");
}

static void answer(const struct run *r)
{
	struct denials_counted counted = { .refused = r->lost, .lookups = r->told.lost };

	for (long i = 0; i < r->nseen; i++)
		*(say_is_probe(&r->rules, &r->seen[i]) ? &counted.probes : &counted.refused) += r->seen[i].count;
	for (size_t i = 0; i < r->told.nlookups; i++)
		counted.lookups += r->told.lookup[i].count;
	/* If nobody listens, nobody wants to know. */
	if (write(DENIALS_SOCKET, &counted, sizeof counted) < 0)
		return;
}

int main(int argc, char **argv)
{
	struct run r = { .nseen = 0 };
	int error;

	if (argc != 4)
		fail(0, "cave-report is started by caverun");
	r.log = fcntl(DENIALS_LOG, F_GETFD) >= 0;
	signal(SIGPIPE, SIG_IGN);
	open_policy(&r, argv[1], argv[2]);
	error = counts_open(DENIALS_GROUP, &r.counts);
	if (error)
		fail(error, "the counts of the policy's programs");
	close(DENIALS_GROUP);
	if (write(DENIALS_SOCKET, DENIALS_OK, strlen(DENIALS_OK)) < 0)
		return 1;
	if (!attend(&r))
		return 0;
	if (!look(&r)) {
		fprintf(stderr, "caverun: what the network's policy refused cannot be read: %s\n", strerror(errno));
		return 1;
	}
	if (*argv[3] == '1')
		report(&r);
	answer(&r);
	return 0;
}
