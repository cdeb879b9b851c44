/* SPDX-License-Identifier: MIT */
/*
 * hostbench RUNS CALLERS NAME POLICY [NAME POLICY]… -- PROGRAM [ARG…]: how long it takes a running host to start
 * PROGRAM and see it end, through libcave, beside posix_spawn.
 *
 * Every round starts it once each way.  With FLOOR=STEPS, FILTER, RULES and GROUP in the environment, also by the
 * kernel steps alone (floor.h), with what can be prepared once prepared.  Prints medians and least times with their
 * ratios to posix_spawn's; then, for CALLERS threads, how many starts a second all of them together make under the
 * last policy.  CAVE_LOAD is the path of cave-load.
 */
#include <cave.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/tools/floor.h"

extern char **environ;

enum { WAYS = 24 };

struct way {
	const char *name;
	struct cave_prepared *prepared; /* NULL: posix_spawn, or the floor */
	struct floor *floor;
	unsigned flags;
	double *us;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

__attribute__((noreturn)) static void fail(const struct cave_error *e)
{
	fprintf(stderr, "hostbench: %s\n", e->text);
	exit(1);
}

static void start(struct cave_prepared *prepared, unsigned flags, char **argv)
{
	const struct cave_spawn spawn = { .size = sizeof spawn, .argv = argv, .environment = environ,
					  .standard = { -1, -1, -1 }, .flags = flags };
	struct cave_result result = { .size = sizeof result };
	struct cave_error error;
	struct cave_tool *tool;

	if (cave_spawn(prepared, &spawn, &tool, &error) || cave_wait(tool, -1, NULL, &result, &error) ||
	    cave_tool_free(tool, &error))
		fail(&error);
	if (result.status) {
		fprintf(stderr, "hostbench: %s: status %d\n", argv[0], result.status);
		exit(1);
	}
}

static void bare(char **argv)
{
	posix_spawn_file_actions_t quiet;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
	if (posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ) || waitpid(pid, &status, 0) < 0 || status) {
		fprintf(stderr, "hostbench: %s: failed\n", argv[0]);
		exit(1);
	}
	posix_spawn_file_actions_destroy(&quiet);
}

static void at_floor(struct floor *floor, char **argv)
{
	floor->argv = argv;
	if (floor_start(floor)) {
		fprintf(stderr, "hostbench: the floor: %s: failed\n", argv[0]);
		exit(1);
	}
}

static double once(const struct way *w, char **argv)
{
	double before = now_us();

	if (w->prepared)
		start(w->prepared, w->flags, argv);
	else if (w->floor)
		at_floor(w->floor, argv);
	else
		bare(argv);
	return now_us() - before;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const struct way *way, int n, int runs)
{
	printf("%-44s %10s %7s %10s %7s\n", "", "median us", "ratio", "least us", "ratio");
	for (int i = 0; i < n; i++)
		printf("%-44s %10.0f %7.2f %10.0f %7.2f\n", way[i].name, way[i].us[runs / 2],
		       way[i].us[runs / 2] / way->us[runs / 2], way[i].us[0], way[i].us[0] / way->us[0]);
}

struct caller {
	pthread_t thread;
	struct cave_prepared *prepared;
	char **argv;
	int runs;
};

static void *call(void *of)
{
	const struct caller *c = of;

	for (int i = 0; i < c->runs; i++)
		if (c->prepared)
			start(c->prepared, CAVE_SPAWN_FROM_CALLER, c->argv);
		else
			bare(c->argv);
	return NULL;
}

static double rate(int callers, struct cave_prepared *prepared, char **argv, int runs)
{
	struct caller caller[16];
	double before = now_us();

	for (int i = 0; i < callers; i++) {
		caller[i] = (struct caller){ .prepared = prepared, .argv = argv, .runs = runs };
		pthread_create(&caller[i].thread, NULL, call, &caller[i]);
	}
	for (int i = 0; i < callers; i++)
		pthread_join(caller[i].thread, NULL);
	return callers * runs / (now_us() - before) * 1e6;
}

/* A way each for a thread of the library's and for the caller itself. */
static int add(struct way *way, int n, const char *name, const char *path, const char *program)
{
	const struct cave_options options = { .size = sizeof options, .program = program, .search = getenv("PATH"),
					      .loader = getenv("CAVE_LOAD") };
	struct cave_prepared *prepared;
	struct cave_policy *policy;
	struct cave_error error;
	char *line;

	if (cave_policy_open(path, &policy, &error) || cave_prepare(policy, &options, &prepared, &error))
		fail(&error);
	if (asprintf(&line, "libcave, %s", name) < 0)
		exit(1);
	way[n] = (struct way){ .name = line, .prepared = prepared };
	if (asprintf(&line, "libcave from the caller, %s", name) < 0)
		exit(1);
	way[n + 1] = (struct way){ .name = line, .prepared = prepared, .flags = CAVE_SPAWN_FROM_CALLER };
	return n + 2;
}

/* A mount namespace that is made once and entered by each start: its descriptor. */
static int keep_mounts(void)
{
	struct k_mount_attr mounts = { .attr_set = K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID,
				       .propagation = MS_PRIVATE };
	int ready[2], fd = -1;
	char path[64];
	pid_t pid;

	if (pipe(ready))
		exit(1);
	pid = fork();
	if (!pid) {
		bool made = !unshare(CLONE_NEWNS) &&
			    !syscall(SYS_mount_setattr, AT_FDCWD, "/", K_AT_RECURSIVE, &mounts, sizeof mounts);

		_exit(write(ready[1], made ? "1" : "0", 1) == 1 && pause());
	}
	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	if (read(ready[0], path + sizeof path - 1, 1) == 1 && path[sizeof path - 1] == '1') {
		path[sizeof path - 1] = 0;
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return fd;
}

static int add_floor(struct way *way, int n)
{
	static struct floor floor = { .ruleset = -1 };

	floor.steps = getenv("FLOOR");
	if (!floor.steps)
		return n;
	floor_prepare(&floor, getenv("FILTER"), getenv("RULES"), getenv("GROUP"));
	floor.mounts = keep_mounts();
	way[n] = (struct way){ .name = "floor: the same kernel steps, nothing else", .floor = &floor };
	return n + 1;
}

int main(int argc, char **argv)
{
	struct way way[WAYS] = { { .name = "posix_spawn" } };
	int runs = argc > 5 ? atoi(argv[1]) : 0, callers = argc > 5 ? atoi(argv[2]) : 0, n = 1, at = 3, last = 3;

	while (last < argc && strcmp(argv[last], "--") != 0)
		last++;
	if (runs < 1 || callers < 1 || callers > 16 || last + 1 >= argc) {
		fprintf(stderr, "usage: hostbench RUNS CALLERS NAME POLICY… -- PROGRAM [ARG…]\n");
		return 2;
	}
	argv[last] = NULL;
	n = add_floor(way, n);
	for (; at + 1 < last && n + 2 <= WAYS; at += 2)
		n = add(way, n, argv[at], argv[at + 1], argv[last + 1]);
	for (int i = 0; i < n; i++)
		way[i].us = calloc((size_t)runs, sizeof(double));
	for (int round = -3; round < runs; round++) /* three to warm up */
		for (int i = 0; i < n; i++) {
			double us = once(&way[i], argv + last + 1);

			if (round >= 0)
				way[i].us[round] = us;
		}
	for (int i = 0; i < n; i++)
		qsort(way[i].us, (size_t)runs, sizeof(double), ascending);
	print(way, n, runs);
	for (int i = 1; i <= callers; i++)
		printf("starts a second, callers: %d%19s posix_spawn %8.0f   libcave %8.0f\n", i, "",
		       rate(i, NULL, argv + last + 1, runs), rate(i, way[n - 1].prepared, argv + last + 1, runs));
	return 0;
}
