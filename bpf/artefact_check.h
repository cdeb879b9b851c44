/* SPDX-License-Identifier: MIT */
/* Inside the checks of an artefact: what their files share. */
#ifndef CAVE_BPF_ARTEFACT_CHECK_H
#define CAVE_BPF_ARTEFACT_CHECK_H

#include <stdarg.h>
#include <stdio.h>

#include "bpf/artefact.h"

/* Says what is wrong; returns false. */
__attribute__((format(printf, 2, 3))) static inline bool fail(struct artefact_error *error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(error->text, sizeof error->text, format, ap);
	va_end(ap);
	return false;
}

/* The record of a map at `at` of the manifest: entered into the view, with its table where it has one. */
bool check_map_record(struct artefact *a, const struct artefact_record *r, size_t at, struct artefact_error *error);

/*
 * Every map that a program refers to is there, and may be referred to in that way; the sections .rodata.NAME are
 * those of the tables, and no others.  For when programs and maps have been read.
 */
bool check_maps(const struct artefact *a, struct artefact_error *error);

#endif
