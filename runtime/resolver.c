/* SPDX-License-Identifier: MIT */
#include "runtime/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 16384, WORD_MAX = 128 };

/* Mapped IPv6 is IPv4, and the unspecified address goes to loopback, as everywhere in the programs. */
static bool read_address(const char *word, struct artefact_address *out)
{
	struct artefact_address a = { false, { 0 } };
	uint32_t raw[4];

	if (inet_pton(AF_INET, word, &raw[3]) == 1) {
		a.word[3] = ntohl(raw[3]);
	} else if (inet_pton(AF_INET6, word, raw) == 1) {
		a.six = true;
		for (int w = 0; w < 4; w++)
			a.word[w] = ntohl(raw[w]);
		if (!a.word[0] && !a.word[1] && a.word[2] == 0xffff)
			a = (struct artefact_address){ false, { 0, 0, 0, a.word[3] } };
	} else {
		return false;
	}
	if (!a.word[0] && !a.word[1] && !a.word[2] && !a.word[3])
		a.word[3] = a.six ? 1 : 0x7f000001;
	*out = a;
	return true;
}

/* The word after `nameserver` at the beginning of a line; false if the line is another one. */
static bool server_of(const char *line, size_t n, char word[WORD_MAX])
{
	static const char key[] = "nameserver";
	size_t at = sizeof key - 1, length;

	if (n <= at || memcmp(line, key, at) || (line[at] != ' ' && line[at] != '\t'))
		return false;
	while (at < n && (line[at] == ' ' || line[at] == '\t'))
		at++;
	for (length = 0; at + length < n && !memchr(" \t\r#;", line[at + length], 5); length++)
		;
	if (length >= WORD_MAX)
		length = WORD_MAX - 1;
	memcpy(word, line + at, length);
	word[length] = 0;
	return true;
}

static bool read_lines(const char *text, size_t size, struct artefact_address *out, size_t *n, struct refusal *r)
{
	char word[WORD_MAX];

	for (size_t at = 0; at < size && *n < CAVE_RESOLVERS;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = end ? (size_t)(end - text) - at : size - at;

		if (server_of(text + at, length, word) && !read_address(word, &out[(*n)++]))
			return refuse(r, CAVE_FAILED,
				      "the policy grants the host's name servers, and '%s' is not an address that it "
				      "can be held to", word);
		at += length + 1;
	}
	return true;
}

bool resolver_read(const char *file, struct artefact_address out[CAVE_RESOLVERS], size_t *n, struct refusal *r)
{
	char text[FILE_MAX];
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t size = 0;
	ssize_t got = 0;

	if (fd < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "the policy grants the host's name servers; %s", file);
	while (size < sizeof text && (got = read(fd, text + size, sizeof text - size)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		size += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	*n = 0;
	if (got < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "the policy grants the host's name servers; %s", file);
	/* The rest of a longer file, and with it the end of an address, would be cut off. */
	if (size == sizeof text)
		return refuse(r, CAVE_FAILED, "the policy grants the host's name servers; %s is too long", file);
	if (!read_lines(text, size, out, n, r))
		return false;
	return *n || refuse(r, CAVE_FAILED, "the policy grants the host's name servers, and %s names none", file);
}
