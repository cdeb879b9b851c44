/* SPDX-License-Identifier: MIT */
#include "compiler/operator.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *operator_file(struct arena *a, const char *path, struct operator_rules *out)
{
	struct operator_error error;
	struct stat st;
	char *text;
	size_t n;
	FILE *f;

	operator_defaults(out);
	if (!path)
		return NULL;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		path = arena_printf(a, "%s/" OPERATOR_FILE, path);
	f = fopen(path, "re");
	if (!f)
		return arena_strdup(a, strerror(errno));
	text = arena_alloc(a, OPERATOR_SIZE_MAX + 1);
	n = fread(text, 1, OPERATOR_SIZE_MAX + 1, f);
	if (ferror(f)) {
		fclose(f);
		return "cannot be read";
	}
	fclose(f);
	if (!operator_read(text, n, out, &error))
		return error.line ? arena_printf(a, "line %u: %s", error.line, error.text) : error.text;
	return NULL;
}
