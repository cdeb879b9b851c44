/* SPDX-License-Identifier: MIT */
/*
 * hostthreads FOLDER PROBE ROUNDS: a host with many threads that start tools from the same prepared starts, each in its
 * own way, while others open, prepare and free.  FOLDER holds plain.bpf (no grants), limits.bpf (time 50ms, output
 * 1KiB), write.bpf (writes the workspace), children.bpf (other processes) and, if this host bounds a network, net.bpf.
 * For ThreadSanitizer, and to see that nothing grows.
 */
#include <cave.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STARTERS = 4, LIMITS = 1, NET = 4, PREPARED = 5 };

/* A sanitizer has a thread and mappings of its own, which come with what is done. */
#ifdef __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static const char *folder, *probe;
static int rounds;
static struct cave_policy *policy[PREPARED];
static struct cave_prepared *prepared[PREPARED]; /* the last may be missing */
static atomic_int started, wrong, traced;

static void check(bool holds, const char *name)
{
	printf(holds ? "ok %s\n" : "not ok %s: see stderr\n", name);
}

/* Says what is wrong, for whoever looks into it. */
static void fault(const char *what, const struct cave_error *error)
{
	atomic_fetch_add(&wrong, 1);
	fprintf(stderr, "%s: %s\n", what, error->text);
}

static int entries(const char *path)
{
	DIR *list = opendir(path);
	int n = 0;

	while (list && readdir(list))
		n++;
	if (list)
		closedir(list);
	return n;
}

static int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	int n = 0, c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static bool open_policy(const char *name, struct cave_policy **out, struct cave_error *error)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return !cave_policy_open(path, out, error);
}

static bool prepare(struct cave_policy *p, struct cave_prepared **out, struct cave_error *error)
{
	const struct cave_options o = { .size = sizeof o, .program = probe, .loader = getenv("CAVE_LOAD") };

	return !cave_prepare(p, &o, out, error);
}

static void refused(void *context, const char *sentence)
{
	(void)context;
	(void)sentence;
	atomic_fetch_add(&traced, 1);
}

static const struct cave_trace trace = { .refused = refused };

/* What is done with a tool, by turns. */
enum { WAIT, POLL, KILL, DROP, SLEEPER, TRACED, WAYS };

static void finish(struct cave_tool *tool, int way)
{
	struct cave_result result = { .size = sizeof result };
	struct cave_error error = { .text = "" };
	bool ended = false;

	if (way == KILL && cave_tool_signal(tool, SIGKILL, &error))
		fault("cave_tool_signal", &error);
	while (way == POLL && !ended)
		if (cave_wait(tool, 1, &ended, NULL, &error)) {
			fault("cave_wait", &error);
			break;
		}
	if (way != DROP && cave_wait(tool, -1, NULL, &result, &error))
		fault("cave_wait", &error);
	if ((way == WAIT || way == POLL) && result.status)
		fault("its status", &error);
	if (way == SLEEPER && result.code != CAVE_TIMEOUT)
		fault("its limit of time", &error);
	if (cave_tool_free(tool, &error))
		fault("cave_tool_free", &error);
}

static void start(unsigned turn)
{
	static char *const quick[] = { "probe", "exit", "0", NULL }, *const slow[] = { "probe", "wait", "5000", NULL };
	static char *const refusing[] = { "probe", "fork", NULL };
	unsigned way = turn % WAYS, which = way == SLEEPER ? LIMITS : way == TRACED ? 0 : turn / WAYS % PREPARED;
	struct cave_spawn s = { .size = sizeof s, .standard = { -1, -1, -1 },
				.flags = turn / 7 % 2 ? CAVE_SPAWN_FROM_CALLER : 0,
				.trace = way == TRACED ? &trace : NULL };
	struct cave_error error;
	struct cave_tool *tool;

	/* Its limit of time is for who sleeps: others may be slow for reasons of the machine's. */
	if (!prepared[which] || (which == LIMITS && way != SLEEPER && way != KILL))
		which = 0;
	s.argv = way == WAIT || way == POLL ? quick : way == TRACED ? refusing : slow;
	if (cave_spawn(prepared[which], &s, &tool, &error)) {
		fault("cave_spawn", &error);
		return;
	}
	atomic_fetch_add(&started, 1);
	/* A tool of `limits` ends by itself. */
	finish(tool, (int)way);
}

static void *starts(void *of)
{
	const unsigned first = *(const unsigned *)of;

	for (int i = 0; i < rounds; i++)
		start(first * 5 + (unsigned)i);
	return NULL;
}

/* Meanwhile: other objects of the same policy come and go, with a tool each. */
static void *prepares(void *unused)
{
	static char *const argv[] = { "probe", "exit", "0", NULL };
	const struct cave_spawn s = { .size = sizeof s, .argv = argv, .standard = { -1, -1, -1 } };

	for (int i = 0; i < rounds / 2 + 1; i++) {
		struct cave_prepared *mine;
		struct cave_policy *other;
		struct cave_error error;
		struct cave_tool *tool;

		if (!open_policy("plain.bpf", &other, &error)) {
			fault("cave_policy_open", &error);
			continue;
		}
		if (!prepare(policy[i % 2 && prepared[NET] ? NET : 0], &mine, &error)) {
			fault("cave_prepare", &error);
		} else {
			if (cave_spawn(mine, &s, &tool, &error))
				fault("cave_spawn", &error);
			else
				finish(tool, WAIT);
			cave_prepared_free(mine);
		}
		cave_policy_free(other);
	}
	return unused;
}

static void run_all(void)
{
	pthread_t thread[STARTERS + 1];
	unsigned number[STARTERS];

	for (unsigned i = 0; i < STARTERS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, starts, &number[i]);
	}
	pthread_create(&thread[STARTERS], NULL, prepares, NULL);
	for (unsigned i = 0; i <= STARTERS; i++)
		pthread_join(thread[i], NULL);
}

/* Every way with every policy first: what first starts make and later ones keep is no growth. */
static void measure(void)
{
	int all = rounds, fds, maps, threads;

	rounds = 2 * WAYS * PREPARED;
	run_all();
	rounds = all;
	fds = entries("/proc/self/fd");
	maps = mappings();
	threads = entries("/proc/self/task");
	run_all();
	check(entries("/proc/self/fd") == fds, "no descriptor more");
	check(SANITIZED || entries("/proc/self/task") == threads, "no thread more");
	/* Stacks of threads and idle blocks come and go by a few. */
	check(SANITIZED || mappings() <= maps + 16, "no mappings more");
}

int main(int argc, char **argv)
{
	static const char *const names[PREPARED] = { "plain.bpf", "limits.bpf", "write.bpf", "children.bpf",
						    "net.bpf" };
	struct cave_error error;
	int threads = entries("/proc/self/task");

	if (argc != 4 || (rounds = atoi(argv[3])) < 1)
		return 2;
	folder = argv[1];
	probe = argv[2];
	for (int i = 0; i < PREPARED; i++)
		if (!open_policy(names[i], &policy[i], &error) || !prepare(policy[i], &prepared[i], &error)) {
			if (i != NET)
				fault(names[i], &error);
			prepared[i] = NULL;
		}
	measure();
	for (int i = 0; i < PREPARED; i++) {
		cave_prepared_free(prepared[i]);
		cave_policy_free(policy[i]);
	}
	check(SANITIZED || entries("/proc/self/task") == threads, "every thread of the library ends");
	check(atomic_load(&started) >= STARTERS * rounds, "all were started");
	check(atomic_load(&traced) > 0, "refusals are told from a thread of the library");
	check(!atomic_load(&wrong), "and became what they should");
	return 0;
}
