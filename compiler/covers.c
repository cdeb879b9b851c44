/* SPDX-License-Identifier: MIT */
#include "compiler/covers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cave/artefact.h"
#include "compiler/paths.h"

static const struct span nowhere;

/* The folder that a path lies in, links resolved; NULL if it cannot be. */
static const char *folder_of(struct arena *a, const char *path)
{
	char *copy = arena_strdup(a, path), *slash = strrchr(copy, '/'), real[PATH_MAX];

	if (slash)
		*(slash == copy ? slash + 1 : slash) = '\0';
	return realpath(slash ? copy : ".", real) ? arena_strdup(a, real) : NULL;
}

/* Where a write grant leads here; NULL if that is not known, or nothing is there. */
static const char *leads_to(struct arena *a, const struct file_rule *f, const char *folder)
{
	unsigned base = f->flags & CAVE_FILE_BASES;
	const char *path = f->path;
	char real[PATH_MAX];

	if (!(f->flags & CAVE_FILE_WRITE) || (base && base != CAVE_FILE_RELATIVE) || (base && !folder))
		return NULL;
	if (base)
		path = arena_printf(a, "%s/%s", folder, f->path);
	return realpath(path, real) ? arena_strdup(a, real) : NULL;
}

static bool covers(const char *folder, const char *path)
{
	return path_below(&(struct file_path){ path, 0 }, &(struct file_path){ folder, 0 });
}

static void refuse(struct diags *d, const struct file_rule *f, const char *what)
{
	diag_note(d,
		  diag_error(d, CAVE_CONTRADICTION, f->at, "this write grant covers %s: the tool could change its own rules",
			     what),
		  nowhere, "grant a folder that holds nothing else, or workspace");
}

void covers_check(struct diags *d, const struct policy *p, const struct loader *l, const char *out)
{
	struct arena *a = d->sources->arena;
	const char *folder = folder_of(a, out);

	for (size_t i = 0; i < p->nfiles; i++) {
		const char *leads = leads_to(a, &p->file[i], folder);
		const char *what = leads && folder && covers(leads, folder) ? "the artefact" : NULL;

		for (size_t j = 1; leads && !what && j < l->nresolved; j++)
			if (*l->resolved[j] && covers(leads, l->resolved[j]))
				what = arena_printf(a, "'%s'", d->sources->file[j].shown);
		if (what)
			refuse(d, &p->file[i], what);
	}
}
