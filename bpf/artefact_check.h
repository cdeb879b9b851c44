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

/* What an architecture is called, the section of its filter, and AUDIT_ARCH_* (linux/audit.h). */
struct artefact_arch_entry {
	const char *name, *section;
	uint32_t audit;
};
extern const struct artefact_arch_entry artefact_arches[ARTEFACT_ARCHES];

/* What the records of one manifest add up to. */
struct tally {
	size_t nested;
	struct artefact_record profile; /* the last one */
	size_t names, env, files, reaches, limits;
	bool hook[CAVE_HOOK_COUNT];
};

/* The section of the nested profile whose name is those `n` bytes, or NULL. */
const struct artefact_section *nested_section(const struct artefact *a, const char *name, size_t n);

/* The whole manifest, and what it describes; for when the sections have been read. */
bool read_manifest(struct artefact *a, struct artefact_error *error);

/* --- filters -------------------------------------------------------------------------------------- */

/* The record of a filter at `at` of the manifest: entered into the view with its section and patches. */
bool check_filter_record(struct artefact *a, const struct artefact_record *r, size_t at,
			 struct artefact_error *error);

/* There is a filter, no section of one that no record describes, and its patches are those that the children need. */
bool check_filters(const struct artefact *a, struct artefact_error *error);

/* --- programs ------------------------------------------------------------------------------------- */

bool check_program_record(const struct artefact_record *r, size_t at, struct tally *t, struct artefact_error *error);

/* Every program that the records name, and no other. */
bool read_programs(struct artefact *a, const struct tally *t, struct artefact_error *error);

/* The places of name servers: entered into the view, and checked once the programs have been read. */
bool check_resolver_record(struct artefact *a, const struct artefact_record *r, size_t at,
			   struct artefact_error *error);
bool check_resolver_places(const struct artefact *a, struct artefact_error *error);

/* --- maps ----------------------------------------------------------------------------------------- */

/* The record of a map at `at` of the manifest: entered into the view, with its table where it has one. */
bool check_map_record(struct artefact *a, const struct artefact_record *r, size_t at, struct artefact_error *error);

/*
 * Every map that a program refers to is there, and may be referred to in that way; the sections .rodata.NAME are
 * those of the tables, and no others.  For when programs and maps have been read.
 */
bool check_maps(const struct artefact *a, struct artefact_error *error);

#endif
