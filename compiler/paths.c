/* SPDX-License-Identifier: MIT */
#include "compiler/paths.h"

#include <stdio.h>
#include <string.h>

#include "compiler/buffer.h"

static const struct span nowhere;

/* What a bare word may begin with, and the base that it stands for. */
static const struct place {
	const char *word;
	unsigned flag;
} places[] = {
	{ "workspace", CAVE_FILE_WORKSPACE },
	{ "tmp", CAVE_FILE_TMP },
	{ "home", CAVE_FILE_HOME },
};
enum { PLACES = sizeof places / sizeof *places };

static const char *const place_names[] = { "workspace", "tmp", "home", "optional", "folder", NULL };

char *path_normal(struct arena *a, const char *path, bool *up)
{
	char *out = arena_alloc(a, strlen(path) + 2), *to = out;

	*up = false;
	if (*path == '/')
		*to++ = '/';
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.')
			*up = true;
		if (n && !(n == 1 && *path == '.')) {
			if (to > out && to[-1] != '/')
				*to++ = '/';
			memcpy(to, path, n);
			to += n;
		}
		path += n + (path[n] == '/');
	}
	*to = '\0';
	return out;
}

/* Where a path with ".." leads when read as text: "/etc", "lib", or NULL if it leaves its base. */
static char *collapse(struct arena *a, const char *path)
{
	char *out = arena_strdup(a, path), *to = out, *from = out;
	char *base = *path == '/' ? out + 1 : out;

	to = from = base;
	while (*from) {
		size_t n = strcspn(from, "/");

		if (n == 2 && from[0] == '.' && from[1] == '.') {
			if (to == base && *path != '/')
				return NULL;
			while (to > base && (--to, to > base && to[-1] != '/'))
				;
		} else {
			if (to > base && to[-1] != '/')
				*to++ = '/';
			memmove(to, from, n);
			to += n;
		}
		from += n + (from[n] == '/');
	}
	if (to > base && to[-1] == '/')
		to--;
	*to = '\0';
	return out;
}

static bool refuse_up(struct resolver *r, const char *path, struct span at)
{
	const char *leads = collapse(r->arena, path);
	struct diag *e;

	if (!leads) {
		diag_error(r->diags, CAVE_READ_ESCAPES, at, "this path leaves the folder it is relative to");
		return false;
	}
	if (strcmp(leads, "/") == 0) {
		diag_error(r->diags, CAVE_READ_ROOT, at, "this path collapses to /, the whole machine");
		return false;
	}
	e = diag_error(r->diags, CAVE_VALUE, at, "a path has no '..': a link on the way would change its meaning");
	if (*leads)
		diag_note(r->diags, e, nowhere, "as text it leads to \"%s%s\"", *leads == '/' ? "" : "./", leads);
	return false;
}

static bool finish(struct resolver *r, const char *path, unsigned flags, struct span at, struct file_path *out)
{
	struct diag *e;

	if (strcmp(path, "/") == 0) {
		e = diag_error(r->diags, CAVE_READ_ROOT, at, "this is the whole machine");
		diag_note(r->diags, e, nowhere, "name the folders that are meant");
		return false;
	}
	if (strlen(path) > ARTEFACT_PATH_MAX) {
		diag_error(r->diags, CAVE_VALUE, at, "this path is longer than %d bytes", ARTEFACT_PATH_MAX);
		return false;
	}
	*out = (struct file_path){ path, flags };
	return true;
}

/* What stands below a place, or within a folder slot. */
static bool resolve_below(struct resolver *r, const char *text, unsigned flags, struct span at, struct file_path *out)
{
	bool up;
	const char *below = path_normal(r->arena, text + (*text == '/'), &up);

	/* A place is a folder by itself. */
	if (!*below)
		flags &= ~(unsigned)CAVE_FILE_FOLDER;
	return up ? refuse_up(r, below, at) : finish(r, below, flags, at, out);
}

/* folder NAME, or folder NAME/… */
static bool resolve_slot(struct resolver *r, const struct node *n, unsigned flags, struct file_path *out)
{
	size_t length = strcspn(n->text, "/");
	struct file_path below;

	if (!artefact_slot_valid(n->text, length)) {
		diag_error(r->diags, CAVE_VALUE, n->name,
			   "the name of a folder is 1 to %d letters, digits, dashes and underscores", ARTEFACT_SLOT_MAX);
		return false;
	}
	if (!resolve_below(r, n->text + length, flags, n->at, &below))
		return false;
	below.path = arena_printf(r->arena, "%.*s%s%s", (int)length, n->text, *below.path ? "/" : "", below.path);
	return finish(r, below.path, below.flags | CAVE_FILE_SLOT, n->at, out);
}

/* At the root, or with "." or "..": any other word is a name. */
static bool begins_as_path(const char *text)
{
	size_t dots = strspn(text, ".");

	return *text == '/' || ((dots == 1 || dots == 2) && (text[dots] == '/' || !text[dots]));
}

/*
 * A bare word without a slash is a name, and this is none; nor is one that begins nearly like a place: beside the
 * profile there is hardly a folder `homes`.
 */
static bool is_no_place(struct resolver *r, const struct node *n)
{
	const char *place = arena_strndup(r->arena, n->text, strcspn(n->text, "/"));
	const char *meant = nearest(place, place_names);
	struct diag *e;

	if (begins_as_path(n->text) || (!meant && strchr(n->text, '/')))
		return false;
	e = diag_error(r->diags, CAVE_UNKNOWN_NAME, n->at, "'%s' is no place that files knows", place);
	if (meant)
		diag_note(r->diags, e, nowhere, "did you mean '%s'?", meant);
	diag_note(r->diags, e, nowhere, "for a path beside the profile write: \"./%s\"", n->text);
	return true;
}

/* The word that a string begins with as if it were none: `"home/.ssh"` lies beside the artefact.  NULL: it does not. */
static const char *place_in_quotes(const char *text)
{
	size_t n = strcspn(text, "/");

	for (size_t i = 0; i < PLACES; i++)
		if (strlen(places[i].word) == n && strncmp(text, places[i].word, n) == 0)
			return places[i].word;
	return strncmp(text, "folder ", 7) == 0 ? "folder" : NULL;
}

static bool refuse_quotes(struct resolver *r, const struct node *n, const char *place)
{
	struct diag *e = diag_error(r->diags, CAVE_VALUE, n->at,
				    "in quotes this is a path beside the artefact, and not the place '%s'", place);

	if (strcspn(n->text, " ") == strlen(n->text) || strcmp(place, "folder") == 0)
		diag_note(r->diags, e, nowhere, "write it without quotes: %s", n->text);
	else
		diag_note(r->diags, e, nowhere, "below a place stand words only: grant the folder that holds it");
	diag_note(r->diags, e, nowhere, "beside the artefact it is: \"./%s\"", n->text);
	return false;
}

static bool refuse_text(struct resolver *r, const struct node *n)
{
	size_t length = strlen(n->text);
	struct diag *e;

	if (*n->text == ' ' || (length && n->text[length - 1] == ' ')) {
		diag_error(r->diags, CAVE_VALUE, n->at, "this path begins or ends with a blank, which nobody sees");
		return false;
	}

	if (*n->text == '~' || strchr(n->text, '*')) {
		e = diag_error(r->diags, CAVE_VALUE, n->at, "a path is taken as it stands: no ~, no wildcards");
		if (*n->text == '~' && (!n->text[1] || n->text[1] == '/'))
			diag_note(r->diags, e, nowhere, "write: home%s", n->text + 1);
		else
			diag_note(r->diags, e, nowhere, "grant the folder that holds the files");
		return false;
	}
	if (*n->text && !strstr(n->text, "${"))
		return true;
	diag_error(r->diags, CAVE_VALUE, n->at, *n->text ? "a path holds no ${place}" : "this path is empty");
	return false;
}

bool path_resolve(struct resolver *r, const struct node *n, struct file_path *out)
{
	size_t length = strlen(n->text);
	unsigned flags = length && n->text[length - 1] == '/' ? CAVE_FILE_FOLDER : 0;
	const char *path, *place = n->kind == N_STRING ? place_in_quotes(n->text) : NULL;
	bool up;

	if (n->kind == N_FOLDER)
		return resolve_slot(r, n, flags, out);
	for (size_t i = 0; i < PLACES && n->kind == N_WORD; i++) {
		size_t word = strlen(places[i].word);

		if (strncmp(n->text, places[i].word, word) == 0 && (!n->text[word] || n->text[word] == '/'))
			return resolve_below(r, n->text + word, flags | places[i].flag, n->at, out);
	}
	if (place)
		return refuse_quotes(r, n, place);
	if (!refuse_text(r, n))
		return false;
	if (n->kind == N_WORD && is_no_place(r, n))
		return false;
	path = path_normal(r->arena, n->text, &up);
	if (up)
		return refuse_up(r, path, n->at);
	if (*path == '/')
		return finish(r, path, flags, n->at, out);
	return finish(r, *path ? path : ".", flags | CAVE_FILE_RELATIVE, n->at, out);
}

/* A string of the language. */
static const char *quoted(struct arena *a, const char *prefix, const char *path, const char *slash)
{
	char *out = arena_alloc(a, 2 * strlen(path) + strlen(prefix) + 4), *to = out;

	*to++ = '"';
	to = stpcpy(to, prefix);
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			*to++ = '\\';
		*to++ = *path;
	}
	strcpy(stpcpy(to, slash), "\"");
	return out;
}

const char *path_spelling(struct arena *a, const char *path, unsigned flags)
{
	const char *slash = flags & CAVE_FILE_FOLDER ? "/" : "";

	/* What stands below a place was written as words: a string is no place. */
	for (size_t i = 0; i < PLACES; i++)
		if (flags & places[i].flag)
			return arena_printf(a, "%s%s%s%s", places[i].word, *path ? "/" : "", path, slash);
	if (flags & CAVE_FILE_SLOT)
		return arena_printf(a, "folder %s%s", path, slash);
	return quoted(a, flags & CAVE_FILE_RELATIVE ? "./" : "", path, slash);
}

bool path_is_place(const char *path, unsigned flags)
{
	if (flags & CAVE_FILE_SLOT)
		return !strchr(path, '/');
	return !*path && flags & (CAVE_FILE_WORKSPACE | CAVE_FILE_TMP | CAVE_FILE_HOME);
}

size_t place_spelling(const char *at, char out[PLACE_SPELLING_SIZE])
{
	static const char *const names[] = { "workspace", "tmp", "home" };
	const char *end;

	if (*at != CAVE_ENV_SLOT_BYTE) {
		snprintf(out, PLACE_SPELLING_SIZE, "${%s}", names[*at - CAVE_ENV_WORKSPACE_BYTE]);
		return 1;
	}
	end = strchr(at + 1, CAVE_ENV_SLOT_BYTE);
	snprintf(out, PLACE_SPELLING_SIZE, "${folder:%.*s}", (int)(end - at - 1), at + 1);
	return (size_t)(end - at) + 1;
}

const char *value_spelling(struct arena *a, const char *value)
{
	struct buffer b = { .arena = a };
	char place[PLACE_SPELLING_SIZE];

	buffer_printf(&b, "\"");
	for (const char *c = value; *c; c++) {
		if (*c >= CAVE_ENV_WORKSPACE_BYTE && *c <= CAVE_ENV_SLOT_BYTE) {
			c += place_spelling(c, place) - 1;
			buffer_printf(&b, "%s", place);
		} else {
			buffer_printf(&b, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
		}
	}
	buffer_add(&b, "\"", 2);
	return b.data;
}

bool path_below(const struct file_path *path, const struct file_path *folder)
{
	size_t n = strlen(folder->path);

	if ((path->flags & CAVE_FILE_BASES) != (folder->flags & CAVE_FILE_BASES))
		return false;
	if (n == 0 || (folder->flags & CAVE_FILE_RELATIVE && strcmp(folder->path, ".") == 0))
		return true;
	return strncmp(path->path, folder->path, n) == 0 && (path->path[n] == '/' || !path->path[n]);
}

/* True if a path of the machine may be, hold or lie in somebody's home folder. */
static bool may_be_of_home(const struct file_path *p)
{
	static const char *const system[] = { "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64",
					      "/libx32", "/opt", "/proc", "/run", "/sbin", "/sys", "/usr",
					      "/var/cache" };

	for (size_t i = 0; i < sizeof system / sizeof *system; i++)
		if (path_below(p, &(struct file_path){ system[i], 0 }))
			return false;
	return !(p->flags & CAVE_FILE_BASES);
}

bool path_may_meet(const struct file_path *a, const struct file_path *b)
{
	return (a->flags & CAVE_FILE_HOME && may_be_of_home(b)) || (b->flags & CAVE_FILE_HOME && may_be_of_home(a));
}
