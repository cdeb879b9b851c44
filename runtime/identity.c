/* SPDX-License-Identifier: MIT */
#include "runtime/identity.h"

#include <stdio.h>

const char *identity_text(const uint8_t identity[CAVE_DIGEST_SIZE], char out[IDENTITY_TEXT])
{
	for (size_t i = 0; i < CAVE_DIGEST_SIZE; i++) {
		out[2 * i] = "0123456789abcdef"[identity[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[identity[i] & 15];
	}
	out[2 * CAVE_DIGEST_SIZE] = '\0';
	return out;
}

const char *time_text(const struct timespec *at, char out[TIME_TEXT])
{
	struct tm tm;

	if (!gmtime_r(&at->tv_sec, &tm))
		tm = (struct tm){ 0 };
	snprintf(out, TIME_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%06luZ", (unsigned)(tm.tm_year + 1900) % 10000u,
		 (unsigned)(tm.tm_mon + 1) % 100u, (unsigned)tm.tm_mday % 100u, (unsigned)tm.tm_hour % 100u,
		 (unsigned)tm.tm_min % 100u, (unsigned)tm.tm_sec % 100u, (unsigned long)at->tv_nsec / 1000 % 1000000);
	return out;
}
