/* SPDX-License-Identifier: MIT */
#include "runtime/resolve_live.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert((int)ANSWERS_MAX <= (int)CAVE_RESOLVE_PER_NAME, "a message holds the addresses of a reply");

static void put_address(struct cave_resolve_address *to, const struct answer *a)
{
	memcpy(to->word, a->address.word, sizeof to->word);
	if (!a->address.six) {
		to->word[0] = to->word[1] = 0;
		to->word[2] = 0xffff;
	}
	to->ttl = a->ttl;
}

enum admission live_admit(int supervisor, const char *name, struct answer *list, size_t *n)
{
	struct cave_resolve_message m = { .kind = CAVE_RESOLVE_ADMIT, .n = (uint32_t)*n };
	ssize_t size = (ssize_t)cave_resolve_size(m.n);
	struct cave_resolve_answer answer;
	size_t kept = 0;

	if (!*n)
		return ADMITTED;
	strncpy(m.name, name, sizeof m.name - 1);
	for (size_t i = 0; i < *n; i++)
		put_address(&m.address[i], &list[i]);
	if (send(supervisor, &m, (size_t)size, MSG_NOSIGNAL) != size ||
	    recv(supervisor, &answer, sizeof answer, 0) != (ssize_t)sizeof answer)
		return SUPERVISOR_GONE;
	if (answer.error)
		return NO_ROOM;
	for (size_t i = 0; i < *n; i++)
		if (answer.admitted >> i & 1)
			list[kept++] = list[i];
	*n = kept;
	return kept ? ADMITTED : NOT_HERE;
}

/* A name of the file as a question would spell it; false if none could. */
static bool normal(const char *word, char *out)
{
	size_t n = strlen(word);

	if (n && word[n - 1] == '.')
		n--;
	if (!n || n >= NAME_TEXT)
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + ('a' - 'A') : word[i]);
	out[n] = '\0';
	return true;
}

static bool read_address(const char *word, struct host_address *out)
{
	uint32_t raw[4];

	*out = (struct host_address){ .six = inet_pton(AF_INET6, word, raw) == 1 };
	if (!out->six && inet_pton(AF_INET, word, &raw[3]) != 1)
		return false;
	for (int i = out->six ? 0 : 3; i < 4; i++)
		out->word[i] = ntohl(raw[i]);
	return true;
}

/* One line: an address, and its names. */
static bool admit_line(int supervisor, const struct hosts *granted, char *line)
{
	char *save, *word, name[NAME_TEXT];
	struct host_match match;
	struct host_address a;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r", &save);
	if (!word)
		return true;
	if (!read_address(word, &a))
		return true;
	while ((word = strtok_r(NULL, " \t\r", &save))) {
		struct answer one = { a, CAVE_RESOLVE_FOREVER };
		size_t n = 1, at = 0;

		if (normal(word, name) && !hosts_denied(granted, name) && hosts_match(granted, name, &at, &match) &&
		    live_admit(supervisor, name, &one, &n) == SUPERVISOR_GONE)
			return false;
	}
	return true;
}

bool live_admit_file(int supervisor, const struct hosts *granted, char *text)
{
	char *save;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!admit_line(supervisor, granted, line))
			return false;
	return true;
}
