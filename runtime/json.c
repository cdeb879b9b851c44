/* SPDX-License-Identifier: MIT */
#include "runtime/json.h"

#include <stdio.h>
#include <string.h>

static void add(struct json *j, const char *text, size_t n)
{
	if (j->full || n >= j->size - j->n) {
		j->full = true;
		return;
	}
	memcpy(j->text + j->n, text, n);
	j->n += n;
}

static void separate(struct json *j)
{
	if (j->comma)
		add(j, ",", 1);
	j->comma = true;
}

void json_begin(struct json *j, char *text, size_t size)
{
	*j = (struct json){ .text = text, .size = size, .full = size == 0 };
}

bool json_end(struct json *j)
{
	if (!j->full)
		j->text[j->n] = '\0';
	return !j->full;
}

void json_open(struct json *j, char bracket)
{
	separate(j);
	add(j, &bracket, 1);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	add(j, &bracket, 1);
	j->comma = true;
}

/* The length of the UTF-8 sequence at `s` (RFC 3629, 4), 0 if there is none. */
static size_t sequence(const unsigned char *s)
{
	size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* U+0080 to U+009F, which some terminals obey. */
static bool is_c1(const unsigned char *s)
{
	return s[0] == 0xc2 && s[1] < 0xa0;
}

static void quote(struct json *j, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	add(j, "\"", 1);
	while (*s) {
		size_t n = sequence(s);
		char escape[8];

		if (!n) {
			add(j, "\\ufffd", 6);
		} else if (*s < ' ' || *s == '"' || *s == '\\' || *s == 0x7f || is_c1(s)) {
			snprintf(escape, sizeof escape, "\\u%04x", is_c1(s) ? s[1] : *s);
			add(j, escape, 6);
		} else {
			add(j, (const char *)s, n);
		}
		s += n ? n : 1;
	}
	add(j, "\"", 1);
}

void json_key(struct json *j, const char *key)
{
	separate(j);
	quote(j, key);
	add(j, ":", 1);
	j->comma = false;
}

void json_add_string(struct json *j, const char *value)
{
	if (!value) {
		json_add_null(j);
		return;
	}
	separate(j);
	quote(j, value);
}

void json_add_number(struct json *j, uint64_t value)
{
	char digits[24];

	separate(j);
	add(j, digits, (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)value));
}

void json_add_boolean(struct json *j, bool value)
{
	separate(j);
	add(j, value ? "true" : "false", value ? 4 : 5);
}

void json_add_null(struct json *j)
{
	separate(j);
	add(j, "null", 4);
}

void json_put_string(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_add_string(j, value);
}

void json_put_number(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_add_number(j, value);
}

void json_put_boolean(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_add_boolean(j, value);
}
