/* SPDX-License-Identifier: MIT */
#include "runtime/printable.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The length of the UTF-8 sequence at `s`, as far as its bytes are there; 1 if it is none. */
static size_t sequence(const unsigned char *s)
{
	size_t n = *s >= 0xf0 && *s < 0xf5 ? 4 : *s >= 0xe0 ? 3 : 2;

	if (*s < 0xc2 || *s >= 0xf5)
		return 1;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 1;
	return n;
}

/* U+202A to U+202E and U+2066 to U+2069 (Unicode Standard Annex 9), and the separators U+2028 and U+2029. */
static bool turns(const unsigned char *s)
{
	return s[0] == 0xe2 && ((s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) ||
				(s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

void printable(char *text)
{
	unsigned char *s = (unsigned char *)text;
	size_t n;

	for (; *s; s += n) {
		n = sequence(s);
		if (n == 1 ? *s < ' ' || *s >= 0x7f : (*s == 0xc2 && s[1] < 0xa0) || (n == 3 && turns(s)))
			memset(s, '?', n);
	}
}
