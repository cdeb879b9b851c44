/* SPDX-License-Identifier: MIT */
/*
 * Between caverun and cave-report: descriptors at fixed numbers; an answer at the beginning, which is DENIALS_OK or why
 * not; then caverun says DENIALS_NONE if nothing was started after all, and shuts its end down; and the answer to that
 * is how much was refused, if it could be read.
 */
#ifndef CAVE_RUNTIME_REFUSED_PROTOCOL_H
#define CAVE_RUNTIME_REFUSED_PROTOCOL_H

#include <stdint.h>

enum { DENIALS_GROUP = 3, DENIALS_SOCKET, DENIALS_LOG, DENIALS_FDS_END };

#define DENIALS_ANSWER_MAX 300
#define DENIALS_OK "ok"
#define DENIALS_NONE "none"

struct denials_counted {
	uint64_t refused; /* calls and packets, but for */
	uint64_t probes; /* connected to look for a route, by which nothing was sent */
};

#endif
