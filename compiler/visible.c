/* SPDX-License-Identifier: MIT */
#include "compiler/visible.h"

#include <stdarg.h>
#include <string.h>
#include <unictype.h>
#include <unistr.h>

enum {
	NO_CHARACTER = 0xfffd, /* stands for a byte that begins none */
	BRAILLE_BLANK = 0x2800, /* these two are symbols to Unicode, and blank */
	NULL_NOTEHEAD = 0x1d159,
};

/* Decodes one character of UTF-8 in [at, end); *length is 1 for a byte that begins none. */
static unsigned decode(const unsigned char *at, const unsigned char *end, unsigned *length)
{
	ucs4_t c;
	int n = u8_mbtoucr(&c, at, (size_t)(end - at));

	*length = n > 0 ? (unsigned)n : 1;
	return n > 0 ? c : NO_CHARACTER;
}

/*
 * What is blank, or not to be seen at all: it could make two names of what looks like one, or one of what looks like
 * nothing.
 */
static bool is_blank(unsigned c)
{
	const uint32_t blank = UC_CATEGORY_MASK_Zs | UC_CATEGORY_MASK_Zl | UC_CATEGORY_MASK_Zp | UC_CATEGORY_MASK_Cc |
			       UC_CATEGORY_MASK_Cf;

	return uc_is_general_category_withtable(c, blank) || uc_is_property_default_ignorable_code_point(c) ||
	       c == BRAILLE_BLANK || c == NULL_NOTEHEAD;
}

static bool is_hidden(unsigned c, bool newline_follows)
{
	if (c < 0x20)
		return c != '\t' && c != '\n' && !(c == '\r' && newline_follows);
	return c >= 0x7f && (c == NO_CHARACTER || is_blank(c));
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
		struct span span = { file, offset, offset + length };

		if (c == NO_CHARACTER)
			diag_error(d, CAVE_SYNTAX, span, "this is no character of UTF-8");
		else
			diag_error(d, CAVE_SYNTAX, span,
				   "the character U+%04X does not show: what a reviewer reads would not be what is "
				   "compiled", c);
		at = memchr(at, '\n', (size_t)(end - at));
	}
}

/* True if the next character, of *length bytes, can be shown. */
static bool shows(const unsigned char *at, const unsigned char *end, unsigned *length)
{
	unsigned c = decode(at, end, length);

	return c != '\n' && c != '\r' && !is_hidden(c, false);
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
