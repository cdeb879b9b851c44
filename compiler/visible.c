/* SPDX-License-Identifier: MIT */
#include "compiler/visible.h"

#include <stdarg.h>
#include <string.h>

/* Ranges of code points (Unicode 15, general categories Cc, Cf, Zl, Zp of the planes that occur in text). */
static const struct range {
	unsigned first, last;
} hidden[] = {
	{ 0x80, 0x9f },	    { 0xad, 0xad },	{ 0x61c, 0x61c },     { 0x180e, 0x180e }, { 0x200b, 0x200f },
	{ 0x2028, 0x202e }, { 0x2060, 0x2069 }, { 0xfeff, 0xfeff },   { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

/* Decodes one character of UTF-8 in [at, end); *length is 1 for a byte that begins none. */
static unsigned decode(const unsigned char *at, const unsigned char *end, unsigned *length)
{
	unsigned n = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : *at >= 0xc2 ? 2 : 1;
	unsigned c = n == 1 ? *at : *at & (0xffu >> (n + 1));

	*length = 1;
	if (n == 1 || (size_t)(end - at) < n)
		return *at >= 0x80 ? 0xfffd : *at;
	for (unsigned i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (at[i] & 0x3f);
	}
	*length = n;
	return c;
}

static bool is_hidden(unsigned c, bool newline_follows)
{
	if (c < 0x20)
		return c != '\t' && c != '\n' && !(c == '\r' && newline_follows);
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return c == 0x7f;
}

/* The first character that hides in [at, end), or NULL. */
static const unsigned char *find_hidden(const unsigned char *at, const unsigned char *end, unsigned *c,
					unsigned *length)
{
	for (; at < end; at += *length) {
		*length = 1;
		if (*at >= 0x20 && *at < 0x7f)
			continue;
		*c = decode(at, end, length);
		if (is_hidden(*c, at + 1 < end && at[1] == '\n'))
			return at;
	}
	return NULL;
}

bool text_visible(const char *text, size_t n)
{
	const unsigned char *at = (const unsigned char *)text;
	unsigned c, length;

	return !find_hidden(at, at + n, &c, &length);
}

void check_visible(struct diags *d, uint32_t file)
{
	const struct source_file *f = &d->sources->file[file];
	const unsigned char *text = (const unsigned char *)f->text, *end = text + f->size, *at = text;
	unsigned c, length;

	while (at && (at = find_hidden(at, end, &c, &length))) {
		uint32_t offset = (uint32_t)(at - text);

		diag_error(d, CAVE_SYNTAX, (struct span){ file, offset, offset + length },
			   "the character U+%04X does not show: what a reviewer reads would not be what is compiled", c);
		at = memchr(at, '\n', (size_t)(end - at));
	}
}

/* True if the next character, of *length bytes, can be shown. */
static bool shows(const unsigned char *at, const unsigned char *end, unsigned *length)
{
	unsigned c = decode(at, end, length);

	return c != '\n' && c != '\r' && c != 0xfffd && !is_hidden(c, false);
}

void visible_put(const char *s, size_t n, FILE *to)
{
	const unsigned char *at = (const unsigned char *)s, *end = at + n;
	unsigned length;

	for (; at < end; at += length)
		if (shows(at, end, &length))
			fwrite(at, 1, length, to);
		else
			fputc('?', to);
}

char *visible_text(struct arena *a, const char *s)
{
	const unsigned char *at = (const unsigned char *)s, *end = at + strlen(s);
	char *out = arena_alloc(a, strlen(s) + 1);
	size_t n = 0;
	unsigned length;

	for (; at < end; at += length) {
		bool good = shows(at, end, &length);

		memcpy(out + n, good ? (const char *)at : "?", good ? length : 1);
		n += good ? length : 1;
	}
	out[n] = '\0';
	return out;
}

bool is_log_command(const char *line, size_t n)
{
	while (n && (*line == ' ' || *line == '\t')) {
		line++;
		n--;
	}
	return n > 2 && ((memcmp(line, "::", 2) == 0 && memmem(line + 2, n - 2, "::", 2)) || memcmp(line, "##[", 3) == 0);
}

void complain(const char *format, ...)
{
	struct arena a = { NULL };
	const char *text;
	va_list ap;

	va_start(ap, format);
	text = arena_vprintf(&a, format, ap);
	va_end(ap);
	visible_put(text, strlen(text), stderr);
	fputc('\n', stderr);
	arena_free(&a);
}
