/* SPDX-License-Identifier: MIT */
/*
 * netbench RUNS ADDRESS PORT , NAME COMMAND… , NAME COMMAND…: what connect() of a datagram socket and sendto() cost
 * in each of the commands, all of which run at the same time and are asked in turn, RUNS times.  Each command ends in
 * `netbench serve ADDRESS PORT` (netbench adds these words).  Prints medians and minima in nanoseconds a call, and
 * their ratios to those of the first command.
 *
 * netbench serve ADDRESS PORT: for each byte of the standard input, the cost of a call in a batch of connects, and in
 * one of sends, as two doubles.  A refused call is a call.  With FILTER in the environment, under the system call
 * filter that this file holds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 200, WAYS = 2, MAX_COMMANDS = 16 };

struct command {
	const char *name;
	pid_t pid;
	int ask, answer;
	double *ns[WAYS];
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* --- in the command ------------------------------------------------------- */

static int call(int fd, const struct sockaddr_in *to, int send)
{
	int result = send ? (int)sendto(fd, "x", 1, 0, (const struct sockaddr *)to, sizeof *to)
			  : connect(fd, (const struct sockaddr *)to, sizeof *to);

	return result >= 0 || errno == EPERM ? 0 : -1;
}

static int install(const char *path)
{
	static struct sock_filter insn[BPF_MAXINSNS];
	FILE *file = fopen(path, "re");
	size_t n = file ? fread(insn, sizeof *insn, BPF_MAXINSNS, file) : 0;
	struct sock_fprog program = { (unsigned short)n, insn };

	if (!n || fclose(file) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int serve(const struct sockaddr_in *to)
{
	const char *filter = getenv("FILTER");
	int fd[WAYS];
	char byte;

	if (filter && install(filter))
		return 1;
	for (int way = 0; way < WAYS; way++)
		if ((fd[way] = socket(AF_INET, SOCK_DGRAM, 0)) < 0)
			return 1;
	while (read(0, &byte, 1) == 1) {
		double ns[WAYS];

		for (int way = 0; way < WAYS; way++) {
			double start = now_ns();

			for (int k = 0; k < BATCH; k++)
				if (call(fd[way], to, way))
					return 1;
			ns[way] = (now_ns() - start) / BATCH;
		}
		if (write(1, ns, sizeof ns) != (ssize_t)sizeof ns)
			return 1;
	}
	return 0;
}

/* --- outside of it -------------------------------------------------------- */

/* `argv` up to the next comma, with the words that make it a server. */
static int start(struct command *c, char **argv, int n, char *address, char *port)
{
	char self[4096], **words = calloc((size_t)n + 5, sizeof *words);
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	int ask[2], answer[2];

	if (!words || length < 0 || pipe2(ask, O_CLOEXEC) || pipe2(answer, O_CLOEXEC))
		return -1;
	self[length] = 0;
	memcpy(words, argv, (size_t)n * sizeof *words);
	words[n] = self;
	words[n + 1] = "serve";
	words[n + 2] = address;
	words[n + 3] = port;
	c->pid = fork();
	if (!c->pid) {
		dup2(ask[0], 0);
		dup2(answer[1], 1);
		execvp(words[0], words);
		_exit(127);
	}
	close(ask[0]);
	close(answer[1]);
	free(words);
	c->ask = ask[1];
	c->answer = answer[0];
	return c->pid < 0 ? -1 : 0;
}

static int ask(struct command *c, int run)
{
	double ns[WAYS];

	if (write(c->ask, "", 1) != 1 || read(c->answer, ns, sizeof ns) != (ssize_t)sizeof ns) {
		fprintf(stderr, "netbench: %s does not answer\n", c->name);
		return -1;
	}
	for (int way = 0; way < WAYS; way++)
		c->ns[way][run] = ns[way];
	return 0;
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static void print(const struct command *c, size_t n, int runs)
{
	printf("%-24s %26s %26s %26s %26s\n", "", "connect, median ns ratio", "least ns ratio", "sendto, median ns ratio",
	       "least ns ratio");
	for (size_t i = 0; i < n; i++) {
		printf("%-24s", c[i].name);
		for (int way = 0; way < WAYS; way++)
			for (int which = runs / 2; which >= 0; which -= runs / 2 ? runs / 2 : 1)
				printf(" %18.0f %7.2f", c[i].ns[way][which], c[i].ns[way][which] / c[0].ns[way][which]);
		putchar('\n');
	}
}

static size_t start_all(struct command *c, int argc, char **argv, int runs)
{
	size_t n = 0;

	for (int i = 4; i + 1 < argc && n < MAX_COMMANDS; n++) {
		int end = i + 2;

		while (end < argc && strcmp(argv[end], ","))
			end++;
		c[n].name = argv[i + 1];
		for (int way = 0; way < WAYS; way++)
			c[n].ns[way] = calloc((size_t)runs, sizeof **c[n].ns);
		if (!c[n].ns[0] || !c[n].ns[1] || start(&c[n], argv + i + 2, end - i - 2, argv[2], argv[3]))
			return 0;
		i = end;
	}
	return n;
}

static int drive(int argc, char **argv, int runs)
{
	struct command c[MAX_COMMANDS] = { { 0 } };
	size_t n = start_all(c, argc, argv, runs);
	int failed = !n;

	/* The first round warms up. */
	for (int run = -1; run < runs && !failed; run++)
		for (size_t i = 0; i < n && !failed; i++)
			failed = ask(&c[i], run < 0 ? 0 : run);
	for (size_t i = 0; i < n; i++) {
		close(c[i].ask);
		waitpid(c[i].pid, NULL, 0);
		for (int way = 0; way < WAYS; way++)
			qsort(c[i].ns[way], (size_t)runs, sizeof **c[i].ns, by_value);
	}
	if (!failed)
		print(c, n, runs);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int server = argc == 4 && !strcmp(argv[1], "serve"), runs = argc > 5 ? atoi(argv[1]) : 0;

	if ((!server && runs < 2) || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1) {
		fputs("usage: netbench RUNS ADDRESS PORT , NAME COMMAND… , NAME COMMAND…\n", stderr);
		return 2;
	}
	to.sin_port = htons((unsigned short)atoi(argv[3]));
	return server ? serve(&to) : drive(argc, argv, runs);
}
