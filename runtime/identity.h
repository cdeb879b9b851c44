/* SPDX-License-Identifier: MIT */
/* How a policy and a moment are named in what is written for programs. */
#ifndef CAVE_RUNTIME_IDENTITY_H
#define CAVE_RUNTIME_IDENTITY_H

#include <stdint.h>
#include <time.h>

#include "cave/artefact.h"

enum { IDENTITY_TEXT = 2 * CAVE_DIGEST_SIZE + 1, TIME_TEXT = 32 };

/* In hexadecimal digits, as `cavec dump` shows it.  Returns `out`. */
const char *identity_text(const uint8_t identity[CAVE_DIGEST_SIZE], char out[IDENTITY_TEXT]);

/* "2026-11-29T19:31:27.123456Z" (RFC 3339), UTC.  Returns `out`. */
const char *time_text(const struct timespec *at, char out[TIME_TEXT]);

#endif
