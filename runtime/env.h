/* SPDX-License-Identifier: MIT */
/* The operator's rules on credentials, and the tool's environment. */
#ifndef CAVE_RUNTIME_ENV_H
#define CAVE_RUNTIME_ENV_H

#include "bpf/artefact.h"
#include "bpf/operator.h"
#include "runtime/folders.h"
#include "runtime/memory.h"
#include "runtime/report.h"

/*
 * Repeats at start what the compiler has checked: an artefact may have been made by another one.  The refusals
 * give a position and never a name, which may itself identify a secret.
 */
bool env_check(struct memory *m, const struct operator_rules *o, const struct artefact *a, struct refusal *r);

/* Builds the environment from nothing; `caller` is the caller's. */
bool env_build(struct memory *m, const struct artefact *a, char *const *caller, const struct folders *folders,
	       char ***out, struct refusal *r);

/* The value of `name` in `environment`, or NULL. */
const char *env_get(char *const *environment, const char *name);

#endif
