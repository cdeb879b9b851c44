/* SPDX-License-Identifier: MIT */
/* Reading an artefact's bytes; what they are is for artefact_open() to say. */
#ifndef CAVE_COMPILER_ARTEFACT_READ_H
#define CAVE_COMPILER_ARTEFACT_READ_H

#include <stddef.h>

/*
 * The whole of a regular file that is no larger than an artefact may be, malloc'd and the caller's, with its size;
 * NULL with errno set.
 */
void *artefact_read(const char *path, size_t *size);

#endif
