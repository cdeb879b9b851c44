/* SPDX-License-Identifier: MIT */
/* Places and URIs of the protocol. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/lsp.h"

/* The end of a line of the protocol: \n, \r\n or \r. */
static bool ends_line(const char *text, size_t size, size_t at)
{
	return text[at] == '\n' || (text[at] == '\r' && (at + 1 == size || text[at + 1] != '\n'));
}

/* The code units that the byte adds: those of a character count at its first byte. */
static unsigned units(char c)
{
	unsigned char byte = (unsigned char)c;

	return (byte & 0xc0) == 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
}

json_t *lsp_position(const char *text, size_t size, size_t offset)
{
	json_int_t line = 0, character = 0;

	for (size_t i = 0; i < offset && i < size; i++) {
		character += units(text[i]);
		if (ends_line(text, size, i)) {
			line++;
			character = 0;
		}
	}
	return json_pack("{s:I, s:I}", "line", line, "character", character);
}

size_t lsp_offset(const char *text, size_t size, json_int_t line, json_int_t character)
{
	size_t at = 0;
	json_int_t passed = 0;

	while (at < size && line > 0)
		line -= ends_line(text, size, at++);
	while (at < size && text[at] != '\n' && text[at] != '\r') {
		passed += units(text[at]);
		if (passed > character)
			break;
		at++;
	}
	return at;
}

json_t *lsp_range(const char *text, size_t size, size_t begin, size_t end)
{
	return json_pack("{s:o, s:o}", "start", lsp_position(text, size, begin), "end",
			 lsp_position(text, size, end < begin ? begin : end));
}

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

char *lsp_path(const char *uri)
{
	static const char scheme[] = "file://";
	char *path, *to;

	if (strncmp(uri, scheme, strlen(scheme)) != 0 || uri[strlen(scheme)] != '/')
		return NULL;
	to = path = malloc(strlen(uri) + 1);
	for (const char *from = uri + strlen(scheme); path && *from; from++) {
		int high = *from == '%' ? digit(from[1]) : -1, low = high < 0 ? -1 : digit(from[2]);

		*to++ = low < 0 ? *from : (char)(high * 16 + low);
		from += low < 0 ? 0 : 2;
		if (!to[-1]) {
			free(path);
			return NULL;
		}
	}
	if (path)
		*to = '\0';
	return path;
}

const char *lsp_uri(struct arena *a, const char *path)
{
	char *uri = arena_alloc(a, 3 * strlen(path) + 8), *to = uri + sprintf(uri, "file://");

	for (; *path; path++)
		if (isalnum((unsigned char)*path) || strchr("/-._~", *path))
			*to++ = *path;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*path);
	return uri;
}

json_t *lsp_string(const char *s)
{
	json_t *text = json_string(s);
	char *copy;

	if (text)
		return text;
	copy = strdup(s);
	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	text = copy ? json_string(copy) : NULL;
	free(copy);
	return text;
}
