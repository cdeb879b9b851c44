/* SPDX-License-Identifier: MIT */
/*
 * What lookups take, and connections to what they find:
 *
 *   lookupbench serve SERVER ADDRESS PORT   a name server at SERVER for which every name has ADDRESS; at ADDRESS and
 *                                           PORT connections are taken and closed.  Says "ready", and ends with its
 *                                           standard input
 *   lookupbench ask SERVER NAME N           prints the time of the first question, and the median of N more
 *   lookupbench connect ADDRESS PORT N      after a question for x.test: prints the median time of N connect()
 *
 * in microseconds.  Each question has a socket of its own, as in the C library.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 12, ANSWER = 16, MAX = 512, DNS = 53 };

static void need(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct sockaddr_in at(const char *address, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	need(inet_pton(AF_INET, address, &a.sin_addr) == 1, address);
	return a;
}

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double median(double *list, int n)
{
	qsort(list, (size_t)n, sizeof *list, compare);
	return list[n / 2];
}

/* --- serving -------------------------------------------------------------------------------------- */

/* Of a question of one name: its end. */
static size_t end_of(const uint8_t *m, size_t n)
{
	size_t i = HEAD;

	while (i < n && m[i])
		i += m[i] + 1u;
	return i + 5;
}

static void reply(int udp, const struct sockaddr_in *to)
{
	static const uint8_t record[ANSWER - 4] = { 0xc0, HEAD, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4 };
	uint8_t m[MAX + ANSWER];
	struct sockaddr_in from;
	socklen_t size = sizeof from;
	ssize_t n = recvfrom(udp, m, MAX, 0, (struct sockaddr *)&from, &size);
	size_t end = n > HEAD ? end_of(m, (size_t)n) : 0;

	if (!end || end > (size_t)n)
		return;
	m[2] = 0x81;
	m[3] = 0x80;
	memset(m + 6, 0, 6);
	if (m[end - 3] == 1) {
		m[7] = 1;
		memcpy(m + end, record, sizeof record);
		memcpy(m + end + sizeof record, &to->sin_addr, 4);
		end += ANSWER;
	}
	sendto(udp, m, end, 0, (struct sockaddr *)&from, size);
}

static int serve(const char *server, const char *address, const char *port)
{
	struct sockaddr_in here = at(server, DNS), there = at(address, atoi(port));
	int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct pollfd p[] = { { udp, POLLIN, 0 }, { tcp, POLLIN, 0 }, { 0, POLLIN, 0 } };

	setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	need(!bind(udp, (struct sockaddr *)&here, sizeof here), server);
	need(!bind(tcp, (struct sockaddr *)&there, sizeof there) && !listen(tcp, 128), address);
	puts("ready");
	fflush(stdout);
	while (poll(p, 3, -1) > 0 && !p[2].revents) {
		if (p[0].revents)
			reply(udp, &there);
		if (p[1].revents)
			close(accept(tcp, NULL, NULL));
	}
	return 0;
}

/* --- asking --------------------------------------------------------------------------------------- */

static double ask(const char *server, const char *name)
{
	static const uint8_t head[HEAD] = { 0x12, 0x34, 1, 0, 0, 1 };
	struct sockaddr_in to = at(server, DNS);
	double begun = now();
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	uint8_t m[MAX];
	size_t n = HEAD;
	ssize_t got;

	memcpy(m, head, sizeof head);
	while (*name) {
		size_t label = strcspn(name, ".");

		m[n++] = (uint8_t)label;
		memcpy(m + n, name, label);
		n += label;
		name += label + (name[label] == '.');
	}
	memcpy(m + n, "\0\0\1\0\1", 5);
	need(!connect(fd, (struct sockaddr *)&to, sizeof to) && send(fd, m, n + 5, 0) > 0, "asking");
	got = recv(fd, m, sizeof m, 0);
	close(fd);
	need(got > HEAD && m[7] == 1, "an answer with an address");
	return now() - begun;
}

static double connect_once(const struct sockaddr_in *to)
{
	struct linger reset = { 1, 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	double begun;

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	begun = now();
	need(!connect(fd, (const struct sockaddr *)to, sizeof *to), "connect");
	begun = now() - begun;
	close(fd);
	return begun;
}

int main(int argc, char **argv)
{
	int n = argc == 5 ? atoi(argv[4]) : 0;
	double *list = calloc((size_t)n + 1, sizeof *list), first;
	struct sockaddr_in to;

	if (argc == 5 && !strcmp(argv[1], "serve"))
		return serve(argv[2], argv[3], argv[4]);
	if (n < 1 || !list)
		return 2;
	if (!strcmp(argv[1], "ask")) {
		first = ask(argv[2], argv[3]);
		for (int i = 0; i < n; i++)
			list[i] = ask(argv[2], argv[3]);
		printf("%.1f %.1f\n", first, median(list, n));
		return 0;
	}
	to = at(argv[2], atoi(argv[3]));
	ask("127.0.0.53", "x.test");
	for (int i = 0; i < n; i++)
		list[i] = connect_once(&to);
	printf("%.1f\n", median(list, n));
	return 0;
}
