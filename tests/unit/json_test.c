/* SPDX-License-Identifier: MIT */
/* What is written as JSON: whatever the bytes, it is read back by a reader that is strict. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/json.h"
#include "tests/unit/unit.h"

/* A string, read back; NULL if it is no JSON. */
static char *through(const char *value)
{
	char text[4096];
	struct json j;
	json_t *read;
	char *copy;

	json_begin(&j, text, sizeof text);
	json_open(&j, '{');
	json_put_string(&j, "s", value);
	json_close(&j, '}');
	if (!json_end(&j) || !(read = json_loads(text, JSON_REJECT_DUPLICATES, NULL)))
		return NULL;
	copy = strdup(json_string_value(json_object_get(read, "s")));
	json_decref(read);
	return copy;
}

static void same(const char *name, const char *value, const char *wanted)
{
	char *got = through(value);

	check(got && !strcmp(got, wanted), "%s", name);
	free(got);
}

static void strings(void)
{
	char every[2] = "";
	bool all = true;

	same("a word", "word", "word");
	same("nothing", "", "");
	same("quotes, backslashes and control characters", "\"\\\n\t\001\177/", "\"\\\n\t\001\177/");
	same("two, three and four bytes", "\303\274\342\202\254\360\237\230\200", "\303\274\342\202\254\360\237\230\200");
	same("a byte that is none", "a\377b", "a\357\277\275b");
	same("a sequence that is cut off", "a\342\202", "a\357\277\275\357\277\275");
	same("a sequence that is too long", "\300\200", "\357\277\275\357\277\275");
	same("half of a surrogate pair", "\355\240\200", "\357\277\275\357\277\275\357\277\275");
	same("past the last code point", "\364\220\200\200", "\357\277\275\357\277\275\357\277\275\357\277\275");
	for (int c = 1; c < 256; c++) {
		char *got;

		every[0] = (char)c;
		got = through(every);
		all = all && got && (c >= 128 || !strcmp(got, every));
		free(got);
	}
	check(all, "every byte");
}

static void structure(void)
{
	static const char wanted[] = "{\"a\":[1,2,{\"b\":true}],\"c\":null,\"d\":18446744073709551615}";
	char text[128];
	struct json j;

	json_begin(&j, text, sizeof text);
	json_open(&j, '{');
	json_key(&j, "a");
	json_open(&j, '[');
	json_add_number(&j, 1);
	json_add_number(&j, 2);
	json_open(&j, '{');
	json_put_boolean(&j, "b", true);
	json_close(&j, '}');
	json_close(&j, ']');
	json_put_string(&j, "c", NULL);
	json_put_number(&j, "d", UINT64_MAX);
	json_close(&j, '}');
	check(json_end(&j) && !strcmp(text, wanted), "commas are where they belong");
}

/* In a buffer of every size: whole, or said to be not. */
static void room(void)
{
	char *text = malloc(64);
	bool good = text != NULL;

	for (size_t size = 0; good && size < 64; size++) {
		struct json j;

		text = realloc(text, size ? size : 1);
		json_begin(&j, text, size);
		json_put_string(&j, "key", "a\n\377b");
		good = json_end(&j) == (size > strlen("\"key\":\"a\\u000a\\ufffdb\""));
	}
	check(good, "what does not fit is said to be too long");
	free(text);
}

int main(void)
{
	strings();
	structure();
	room();
	return unit_done();
}
