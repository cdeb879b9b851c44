/* SPDX-License-Identifier: MIT */
/*
 * netbench RUNS ADDRESS PORT: what connect() of a datagram socket and sendto() cost, each as the
 * median of RUNS batches, in nanoseconds a call: "CONNECT SENDTO".
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 200 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static int call(int fd, const struct sockaddr_in *to, int send)
{
	if (send)
		return sendto(fd, "x", 1, 0, (const struct sockaddr *)to, sizeof *to) == 1 ? 0 : -1;
	return connect(fd, (const struct sockaddr *)to, sizeof *to);
}

/* The median of `runs` batches, or a negative number if a call fails. */
static double measure(int runs, const struct sockaddr_in *to, int send)
{
	double *ns = calloc((size_t)runs, sizeof *ns), median;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), failed = !ns || fd < 0;

	for (int i = 0; i < runs && !failed; i++) {
		double start = now_ns();

		for (int k = 0; k < BATCH && !failed; k++)
			failed = call(fd, to, send) != 0;
		ns[i] = (now_ns() - start) / BATCH;
	}
	if (failed) {
		free(ns);
		return -1;
	}
	qsort(ns, (size_t)runs, sizeof *ns, by_value);
	median = ns[runs / 2];
	free(ns);
	close(fd);
	return median;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int runs = argc == 4 ? atoi(argv[1]) : 0;
	double connects, sends;

	if (runs < 1 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1) {
		fputs("usage: netbench RUNS ADDRESS PORT\n", stderr);
		return 2;
	}
	to.sin_port = htons((unsigned short)atoi(argv[3]));
	connects = measure(runs, &to, 0);
	sends = measure(runs, &to, 1);
	if (connects < 0 || sends < 0) {
		perror("netbench");
		return 1;
	}
	printf("%.0f %.0f\n", connects, sends);
	return 0;
}
