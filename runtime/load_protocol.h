/* SPDX-License-Identifier: MIT */
/*
 * Between caverun and cave-load: descriptors at fixed numbers, and one answer, which is LOAD_OK or a sentence
 * that says why not.
 */
#ifndef CAVE_RUNTIME_LOAD_PROTOCOL_H
#define CAVE_RUNTIME_LOAD_PROTOCOL_H

enum { LOAD_ARTEFACT, LOAD_CGROUP, LOAD_PARENT, LOAD_ANSWER, LOAD_FDS };

#define LOAD_FD_FIRST 3 /* LOAD_ARTEFACT is 3, and so on */
#define LOAD_ANSWER_MAX 900
#define LOAD_OK "ok"

#endif
