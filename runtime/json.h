/* SPDX-License-Identifier: MIT */
/* Writes JSON into memory of the caller's: the reports that programs read. */
#ifndef CAVE_RUNTIME_JSON_H
#define CAVE_RUNTIME_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	char *text;
	size_t n, size;
	bool comma; /* before the next value or key */
	bool full; /* something did not fit: what is there is not to be used */
};

void json_begin(struct json *j, char *text, size_t size);

/* A NUL after it all; false if it did not fit. */
bool json_end(struct json *j);

void json_open(struct json *j, char bracket); /* { or [ */
void json_close(struct json *j, char bracket); /* } or ] */
void json_key(struct json *j, const char *key);

/* NULL is null.  What is no UTF-8 is shown as U+FFFD, byte for byte: readers take nothing else. */
void json_add_string(struct json *j, const char *value);
void json_add_number(struct json *j, uint64_t value);
void json_add_boolean(struct json *j, bool value);
void json_add_null(struct json *j);

/* A key and its value. */
void json_put_string(struct json *j, const char *key, const char *value);
void json_put_number(struct json *j, const char *key, uint64_t value);
void json_put_boolean(struct json *j, const char *key, bool value);

#endif
