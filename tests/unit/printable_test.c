/* SPDX-License-Identifier: MIT */
/* What is shown of names that others have chosen: nothing that a terminal obeys. */
#include <string.h>

#include "runtime/printable.h"
#include "tests/unit/unit.h"

static const struct {
	const char *text, *wanted;
} rows[] = {
	{ "", "" },
	{ "plain text, ~", "plain text, ~" },
	{ "a\nb\tc\x1b[31m\x7f", "a?b?c?[31m?" },
	{ "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80" },
	{ "\xc2\x9b" "2J \xc2\xa0", "??2J \xc2\xa0" }, /* CSI; a blank that is none of them */
	{ "\x9b" "2J", "?2J" },
	{ "\xe2\x80\xae" "exe.txt", "???exe.txt" }, /* from right to left */
	{ "\xe2\x81\xa6 \xe2\x80\xa8", "??? ???" },
	{ "\xe2\x80\x93 \xe2\x81\xa5", "\xe2\x80\x93 \xe2\x81\xa5" },
	{ "cut \xe2\x80", "cut ??" },
	{ "\xc3", "?" },
	{ "\xff\xfe\xc0\x80", "????" },
	{ "\xf5\x80\x80\x80", "????" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[64];

		strcpy(text, rows[i].text);
		printable(text);
		check(!strcmp(text, rows[i].wanted), "row %zu is shown as '%s'", i, rows[i].wanted);
	}
	return unit_done();
}
