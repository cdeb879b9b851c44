/* SPDX-License-Identifier: MIT */
/*
 * The rules on names of environment variables that both the compiler and the runtime keep: the compiler's
 * bind honest authors only, so the runtime repeats them at start.  docs/language.md has the lists.
 */
#ifndef CAVE_BPF_CREDENTIALS_H
#define CAVE_BPF_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

/* A row of the capability table: this variable is a credential for that service. */
struct credential {
	const char *capability; /* "anthropic" */
	const char *name;
};

/* The built-in table, *n rows. */
const struct credential *credentials_builtin(size_t *n);

/* Letters, digits and underscores, not beginning with a digit. */
bool env_name_valid(const char *name);

/* Names that are never a credential and never passed, whatever a table says. */
bool credential_denied(const char *name);

/* Of the denied names, the four that `env { pass … }` may name all the same: HOME PATH PWD SHELL. */
bool env_pass_excepted(const char *name);

/* Names that look as if they held a credential, in any case of letters: *_KEY, *TOKEN*, *PASSWORD*, … */
bool credential_looks_like(const char *name);

/* What is wrong with a PATH: a sentence, or NULL.  Every element must be absolute and not empty. */
const char *path_fault(const char *path);

#endif
