/* SPDX-License-Identifier: MIT */
#include "runtime/kept_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

/* cgroupfs takes attributes of users since Linux 5.7 (fs/kernfs/inode.c). */
static const char attribute[] = "user.cave";

enum { TEXT_MAX = 2 * CAVE_DIGEST_SIZE + CAVE_HOOK_COUNT * 11 + 256 + 8 };

int kept_record_write(int group, const struct kept_record *record)
{
	char text[TEXT_MAX];
	int n = 0;

	for (unsigned i = 0; i < CAVE_DIGEST_SIZE; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%02x", record->identity[i]);
	for (unsigned i = 0; i < CAVE_HOOK_COUNT; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, " %u", record->id[i]);
	n += snprintf(text + n, sizeof text - (size_t)n, " %s", record->name);
	return fsetxattr(group, attribute, text, (size_t)n, 0) ? errno : 0;
}

static bool read_identity(const char *text, uint8_t out[CAVE_DIGEST_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < 2 * CAVE_DIGEST_SIZE; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return false;
		out[i / 2] = (uint8_t)((i % 2 ? out[i / 2] << 4 : 0) | (digit - digits));
	}
	return true;
}

bool kept_record_read(int group, struct kept_record *out)
{
	char text[TEXT_MAX + 1], *at = text + 2 * CAVE_DIGEST_SIZE;
	ssize_t n = fgetxattr(group, attribute, text, TEXT_MAX);

	if (n < 0)
		return false;
	text[n] = 0;
	if (!read_identity(text, out->identity))
		return false;
	for (unsigned i = 0; i < CAVE_HOOK_COUNT; i++) {
		/* 0: the policy has no program there */
		if (at[0] != ' ' || at[1] < (i < CAVE_HOOK_NAMES ? '1' : '0') || at[1] > '9')
			return false;
		out->id[i] = (uint32_t)strtoul(at + 1, &at, 10);
	}
	if (*at != ' ' || strlen(at + 1) >= sizeof out->name)
		return false;
	strcpy(out->name, at + 1);
	return true;
}
