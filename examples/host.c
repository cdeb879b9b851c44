/* SPDX-License-Identifier: MIT */
/*
 * A host program: starts a tool under a policy, reads what it prints, and bounds its time.
 *
 *   cc host.c -o host $(pkg-config --cflags --libs libcave)
 *   ./host POLICY.bpf PROGRAM [ARG…]
 */
#include <cave.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { TIME_MS = 30000 };

static int refused(const struct cave_error *e)
{
	fprintf(stderr, "host: %s [%s]\n", e->text, cave_code_name(e->code));
	return e->status;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

/* Reads the tool's output to its end, or to the end of its time: the pipe closes when nothing of the tool is left. */
static void drain(int fd, long until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char bytes[4096];
	ssize_t n;

	for (long left = TIME_MS; left > 0 && poll(&p, 1, (int)left) == 1; left = until - now_ms()) {
		n = read(fd, bytes, sizeof bytes);
		if (n <= 0)
			return;
		fwrite(bytes, 1, (size_t)n, stdout);
	}
}

static int call(struct cave_prepared *prepared, char **argv)
{
	struct cave_result result = { .size = sizeof result };
	struct cave_error error;
	struct cave_tool *tool;
	const long until = now_ms() + TIME_MS;
	bool ended = false;
	int output[2];

	if (pipe(output))
		return 1;
	const struct cave_spawn spawn = {
		.size = sizeof spawn,
		.argv = argv,
		.environment = environ,
		.standard = { -1, output[1], 2 },
	};
	if (cave_spawn(prepared, &spawn, &tool, &error)) {
		close(output[0]);
		close(output[1]);
		return refused(&error);
	}
	close(output[1]); /* the tool's end; ours would keep the pipe open */
	drain(output[0], until);
	close(output[0]);
	if (cave_wait(tool, until > now_ms() ? (int)(until - now_ms()) : 0, &ended, &result, &error))
		refused(&error);
	if (!ended)
		fprintf(stderr, "host: out of time\n");
	cave_tool_free(tool, NULL);
	fprintf(stderr, "host: status %d after %llu us\n", WEXITSTATUS(result.status),
		(unsigned long long)(result.ended_ns - result.started_ns) / 1000);
	return ended && WIFEXITED(result.status) ? WEXITSTATUS(result.status) : 1;
}

int main(int argc, char **argv)
{
	struct cave_options options = { .size = sizeof options, .search = getenv("PATH") };
	struct cave_prepared *prepared = NULL;
	struct cave_policy *policy = NULL;
	struct cave_error error;
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: host POLICY.bpf PROGRAM [ARG…]\n");
		return 2;
	}
	options.program = argv[2];
	if (cave_policy_open(argv[1], &policy, &error) || cave_prepare(policy, &options, &prepared, &error))
		status = refused(&error);
	else
		status = call(prepared, argv + 2);
	cave_prepared_free(prepared);
	cave_policy_free(policy);
	return status;
}
