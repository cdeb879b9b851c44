/* SPDX-License-Identifier: MIT */
/*
 * Between caverun and cave-load: descriptors at fixed numbers, and one answer, which is LOAD_OK or a sentence
 * that says why not.  Arguments are the name servers of the host, for a policy that grants them: SIX:A:B:C:D, which is
 * 0 or 1 for the family and the words of struct artefact_address in hexadecimal.
 */
#ifndef CAVE_RUNTIME_LOAD_PROTOCOL_H
#define CAVE_RUNTIME_LOAD_PROTOCOL_H

enum { LOAD_ARTEFACT, LOAD_CGROUP, LOAD_PARENT, LOAD_ANSWER, LOAD_FDS };

#define LOAD_FD_FIRST 3 /* LOAD_ARTEFACT is 3, and so on */
#define LOAD_ANSWER_MAX 900
#define LOAD_OK "ok"

#endif
