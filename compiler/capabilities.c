/* SPDX-License-Identifier: MIT */
#include "compiler/capabilities.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"

struct table {
	struct arena *arena;
	struct credential *row;
	size_t n, cap;
};

static const char *add_row(struct table *t, const char *capability, const char *name, unsigned line)
{
	if (!env_name_valid(name) || strlen(name) > ARTEFACT_NAME_MAX)
		return arena_printf(t->arena, "line %u: this is no name of an environment variable", line);
	if (credential_denied(name))
		return arena_printf(t->arena, "line %u: this name is never eligible", line);
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->row[i].name, name) == 0 && strcmp(t->row[i].capability, capability) != 0)
			return arena_printf(t->arena, "line %u: this name belongs to another capability", line);
	*ARENA_PUSH(t->arena, t->row, t->n, t->cap) = (struct credential){ capability, arena_strdup(t->arena, name) };
	return NULL;
}

static const char *add_line(struct table *t, char *text, unsigned line)
{
	const char *blanks = " \t\r\n", *capability, *fault = NULL;
	char *state, *word;

	text[strcspn(text, "#")] = '\0';
	word = strtok_r(text, blanks, &state);
	if (!word)
		return NULL;
	capability = arena_strdup(t->arena, word);
	word = strtok_r(NULL, blanks, &state);
	if (!word)
		return arena_printf(t->arena, "line %u: a capability without a variable", line);
	for (; word && !fault; word = strtok_r(NULL, blanks, &state))
		fault = add_row(t, capability, word, line);
	return fault;
}

const char *capabilities_read(struct arena *a, const char *file, const struct credential **out, size_t *n)
{
	struct table t = { .arena = a };
	const char *fault = NULL;
	unsigned number = 0;
	char *line = NULL;
	size_t builtin, size = 0;
	const struct credential *row = credentials_builtin(&builtin);
	FILE *f;

	for (size_t i = 0; i < builtin; i++)
		*ARENA_PUSH(a, t.row, t.n, t.cap) = row[i];
	if (file) {
		f = fopen(file, "re");
		if (!f)
			return arena_strdup(a, strerror(errno));
		while (!fault && getline(&line, &size, f) >= 0)
			fault = add_line(&t, line, ++number);
		if (!fault && ferror(f))
			fault = "cannot be read";
		free(line);
		fclose(f);
	}
	if (fault)
		return fault;
	*out = t.row;
	*n = t.n;
	return NULL;
}
