/* SPDX-License-Identifier: MIT */
#include "runtime/names_hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, ROOM = 4096, NAME_MAX_LENGTH = 253 };

/* A name of the file as a rule spells it; false if none could. */
static bool normal(const char *word, char out[NAME_MAX_LENGTH + 1])
{
	size_t n = strlen(word);

	if (n && word[n - 1] == '.')
		n--;
	if (!n || n > NAME_MAX_LENGTH)
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

static bool is_granted(const struct hosts *granted, const char *name)
{
	struct host_match match;
	size_t at = 0;

	return !hosts_denied(granted, name) && hosts_match(granted, name, &at, &match);
}

/* One line: an address, and its names. */
static bool read_line(char *line, const struct hosts *granted, names_found *found, void *of)
{
	char *save, *word, name[NAME_MAX_LENGTH + 1];
	struct host_address a;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r", &save);
	if (!word || !read_address(word, &a))
		return true;
	while ((word = strtok_r(NULL, " \t\r", &save)))
		if (normal(word, name) && is_granted(granted, name) && !found(of, name, &a))
			return false;
	return true;
}

/*
 * The whole file, ended by a NUL: in `room`, as most fit into, or in memory of malloc().  NULL if it cannot be read, or
 * is too long.
 */
static char *slurp(const char *file, char room[ROOM])
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	size_t n = 0;
	ssize_t got = -1;
	char *text;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || st.st_size < 0 || st.st_size > FILE_MAX)
		text = NULL;
	else
		text = st.st_size < ROOM ? room : malloc((size_t)st.st_size + 1);
	while (text && n < (size_t)st.st_size && (got = read(fd, text + n, (size_t)st.st_size - n)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (text)
		text[n] = '\0';
	return text;
}

void names_hosts_read(char *text, const struct hosts *granted, names_found *found, void *of)
{
	char *save;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!read_line(line, granted, found, of))
			break;
}

void names_hosts(const char *file, const struct hosts *granted, names_found *found, void *of)
{
	char room[ROOM], *text = slurp(file, room);

	if (text)
		names_hosts_read(text, granted, found, of);
	if (text != room)
		free(text);
}
