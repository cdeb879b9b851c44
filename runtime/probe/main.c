/* SPDX-License-Identifier: MIT */
/*
 * probe ATTEMPT [ARG…] [, ATTEMPT [ARG…]]…
 *
 * Prints for each attempt "ATTEMPT ARG…: allowed" or "ATTEMPT ARG…: refused ERRNO".  The exit status is 0 if all
 * got through, 1 if any was refused, 2 for a usage error.  Without arguments it lists the attempts.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/probe/probe.h"

static const struct attempt *const tables[] = {
	net_attempts,	  mixed_attempts, option_attempts, local_attempts, listen_attempts,
	process_attempts, child_attempts, file_attempts, kernel_attempts, state_attempts,
};
#define NTABLES (sizeof tables / sizeof *tables)

int number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 0);

	if (end == text || *end) {
		fprintf(stderr, "probe: not a number: %s\n", text);
		exit(2);
	}
	return (int)n;
}

static const struct attempt *find(const char *name)
{
	for (size_t t = 0; t < NTABLES; t++)
		for (const struct attempt *a = tables[t]; a->name; a++)
			if (!strcmp(a->name, name))
				return a;
	return NULL;
}

static void list(void)
{
	for (size_t t = 0; t < NTABLES; t++)
		for (const struct attempt *a = tables[t]; a->name; a++)
			printf("%s %d\n", a->name, a->args);
}

/* The words of one attempt: up to a lone comma or the end. */
static int words(char *const *argv)
{
	int n = 0;

	while (argv[n] && strcmp(argv[n], ",") != 0)
		n++;
	return n;
}

static int try(char *const *argv, int n)
{
	const struct attempt *a = find(argv[0]);
	const char *name;
	int error;

	if (!a || n - 1 != a->args) {
		fprintf(stderr, "probe: %s: no such attempt with %d arguments\n", argv[0], n - 1);
		exit(2);
	}
	errno = 0;
	error = a->run(argv + 1);
	for (int i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", argv[i]);
	name = strerrorname_np(error);
	if (!error)
		printf(": allowed\n");
	else
		printf(": refused %s\n", name ? name : "?");
	fflush(stdout);
	return error != 0;
}

int main(int argc, char **argv)
{
	int refused = 0;

	if (argc < 2) {
		list();
		return 0;
	}
	signal(SIGPIPE, SIG_IGN);
	for (char **next = argv + 1; *next;) {
		int n = words(next);

		if (n == 0) {
			fprintf(stderr, "probe: an attempt is missing\n");
			return 2;
		}
		refused |= try(next, n);
		next += n;
		if (*next)
			next++;
	}
	return refused;
}
