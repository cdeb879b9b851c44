/* SPDX-License-Identifier: MIT */
/*
 * spawnbench RUNS NAME COMMAND… [, NAME COMMAND…]…: how long commands take as whole processes.
 *
 * Every round starts each command once, by posix_spawn, and waits for it, so that what disturbs the machine
 * disturbs all alike.  Before a command whose name begins with "cold" the shell command in BEFORE is run, outside of
 * what is measured.  Prints for each its median and its least time, and the ratios of both to the first's.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define COMMANDS 16

struct command {
	const char *name;
	char **argv;
	double *us;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Splits the arguments in place at lone commas; returns how many commands there are. */
static int parse(char **argv, struct command *command)
{
	int n = 0;

	while (*argv && n < COMMANDS) {
		command[n].name = argv[0];
		command[n].argv = argv + 1;
		while (*argv && strcmp(*argv, ",") != 0)
			argv++;
		if (*argv)
			*argv++ = NULL;
		n++;
	}
	return n;
}

static double once(const struct command *c, const posix_spawn_file_actions_t *quiet)
{
	const char *before = strncmp(c->name, "cold", 4) ? NULL : getenv("BEFORE");
	int status, error;
	double start;
	pid_t pid;

	if (before && system(before)) {
		fprintf(stderr, "spawnbench: %s: failed\n", before);
		exit(1);
	}
	start = now_us();

	error = posix_spawnp(&pid, c->argv[0], quiet, NULL, c->argv, environ);
	if (error || waitpid(pid, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "spawnbench: %s: failed\n", c->name);
		exit(1);
	}
	return now_us() - start;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const struct command *command, int n, int runs)
{
	const struct command *base = &command[0];

	printf("%-44s %10s %7s %10s %7s\n", "", "median us", "ratio", "least us", "ratio");
	for (const struct command *c = command; c < command + n; c++)
		printf("%-44s %10.0f %7.2f %10.0f %7.2f\n", c->name, c->us[runs / 2],
		       c->us[runs / 2] / base->us[runs / 2], c->us[0], c->us[0] / base->us[0]);
}

int main(int argc, char **argv)
{
	struct command command[COMMANDS];
	posix_spawn_file_actions_t quiet;
	int runs, n;

	runs = argc < 4 ? 0 : atoi(argv[1]);
	if (runs < 1) {
		fprintf(stderr, "usage: spawnbench RUNS NAME COMMAND… [, NAME COMMAND…]…\n");
		return 2;
	}
	n = parse(argv + 2, command);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < n; i++)
		command[i].us = calloc((size_t)runs, sizeof(double));
	for (int round = -3; round < runs; round++) /* three to warm up */
		for (int i = 0; i < n; i++) {
			double us = once(&command[i], &quiet);

			if (round >= 0)
				command[i].us[round] = us;
		}
	for (int i = 0; i < n; i++)
		qsort(command[i].us, (size_t)runs, sizeof(double), ascending);
	print(command, n, runs);
	for (int i = 0; i < n; i++)
		free(command[i].us);
	posix_spawn_file_actions_destroy(&quiet);
	return 0;
}
