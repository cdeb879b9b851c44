/* SPDX-License-Identifier: MIT */
#include "runtime/lines.h"

#include <stdio.h>
#include <string.h>

/* Which entry of cave.lines; the first one, 0, is for what came from no line. */
static uint32_t find_run(const struct artefact_section *s, size_t insn)
{
	struct cave_line_run run;

	for (size_t at = 0; s->size - at >= sizeof run; at += sizeof run) {
		memcpy(&run, (const char *)s->data + at, sizeof run);
		if (insn < run.count)
			return run.line;
		insn -= run.count;
	}
	return 0;
}

/* Entries are a number of four bytes, and the file and the text with a NUL each. */
static bool find_line(const struct artefact_section *s, uint32_t wanted, char *out, size_t max)
{
	const char *at = s->data, *end = at + s->size;

	while (wanted && end - at > 4) { /* the first entry is passed over */
		const char *file = at + 4, *text = memchr(file, 0, (size_t)(end - file)), *next;
		uint32_t number;

		memcpy(&number, at, sizeof number);
		next = text ? memchr(text + 1, 0, (size_t)(end - text - 1)) : NULL;
		if (!next)
			return false;
		if (at != (const char *)s->data && !--wanted) {
			text += 1 + strspn(text + 1, " \t");
			return snprintf(out, max, "%s:%u: %s", file, number, text) > 0;
		}
		at = next + 1;
	}
	return false;
}

bool lines_of_filter(const struct artefact *a, enum artefact_arch arch, size_t insn, char *out, size_t max)
{
	char name[64];
	const struct artefact_section *runs, *lines = artefact_section(a, "cave.lines");

	snprintf(name, sizeof name, "cave.seccomp.%s.lines", artefact_arch_name(arch));
	runs = artefact_section(a, name);
	return runs && lines && find_line(lines, find_run(runs, insn), out, max);
}
