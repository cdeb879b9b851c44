/* SPDX-License-Identifier: MIT */
/* Between caverun and cave-report: descriptors at fixed numbers, and one answer, which is DENIALS_OK or why not. */
#ifndef CAVE_RUNTIME_REFUSED_PROTOCOL_H
#define CAVE_RUNTIME_REFUSED_PROTOCOL_H

enum { DENIALS_GROUP = 3, DENIALS_SOCKET, DENIALS_LOG, DENIALS_FDS_END };

#define DENIALS_ANSWER_MAX 300
#define DENIALS_OK "ok"

#endif
