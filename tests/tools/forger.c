/* SPDX-License-Identifier: MIT */
/*
 * In the place of cave-resolve: what a resolver does that somebody has taken over.  Every datagram that the tool sends
 * to a name server goes to the supervisor as it is, and the supervisor's answer back: the tool forges what it likes.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cave/resolve.h"

static int say(int supervisor, const void *message, size_t n, struct cave_resolve_answer *out)
{
	struct pollfd p = { supervisor, POLLIN, 0 };

	if (send(supervisor, message, n, MSG_NOSIGNAL) != (ssize_t)n || poll(&p, 1, 500) != 1)
		return 0;
	return (int)recv(supervisor, out, sizeof *out, 0);
}

int main(int argc, char **argv)
{
	int supervisor, udp;
	struct pollfd p[2];

	if (argc < 4)
		return 2;
	supervisor = atoi(argv[2]);
	udp = atoi(argv[3]);
	p[0] = (struct pollfd){ udp, POLLIN, 0 };
	p[1] = (struct pollfd){ supervisor, 0, 0 };
	while (poll(p, 2, -1) > 0 && !p[1].revents) {
		struct cave_resolve_answer answer;
		struct sockaddr_storage from;
		socklen_t length = sizeof from;
		unsigned char data[4096];
		ssize_t n = recvfrom(udp, data, sizeof data, 0, (struct sockaddr *)&from, &length);

		if (n <= 0)
			continue;
		n = say(supervisor, data, (size_t)n, &answer);
		sendto(udp, &answer, n > 0 ? (size_t)n : 0, 0, (struct sockaddr *)&from, length);
	}
	return 0;
}
