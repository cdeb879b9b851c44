/* SPDX-License-Identifier: MIT */
/*
 * files { … }.  The compiler checks the text of a path; that it exists, and what it leads to, is checked by
 * the runtime, by descriptor.
 */
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/resolve.h"
#include "compiler/system_set.h"

static const struct span nowhere;
static const char *const file_statements[] = { "read", "write", "execute", "deny", "shm", "base", "use", NULL };
static const char *const file_places[] = { "workspace", "tmp", "home", "optional", "folder", NULL };

/*
 * `path` without empty and "." elements; an absolute path keeps its leading slash.  *up is set if an element is
 * "..", which is kept.
 */
static char *normalise(struct arena *a, const char *path, bool *up)
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

static void refuse_up(struct resolver *r, const char *path, struct span at)
{
	const char *leads = collapse(r->arena, path);
	struct diag *e;

	if (!leads) {
		diag_error(r->diags, CAVE_READ_ESCAPES, at, "this path leaves the folder it is relative to");
		return;
	}
	if (strcmp(leads, "/") == 0) {
		diag_error(r->diags, CAVE_READ_ROOT, at, "this path collapses to /, the whole machine");
		return;
	}
	e = diag_error(r->diags, CAVE_VALUE, at, "a path has no '..': a link on the way would change its meaning");
	if (*leads)
		diag_note(r->diags, e, nowhere, "as text it leads to \"%s%s\"", *leads == '/' ? "" : "./", leads);
}

/* Kernel file systems that a tool must not write to, by the paths where they are always found. */
static bool kernel_path(const char *path)
{
	return strcmp(path, "/proc") == 0 || strncmp(path, "/proc/", 6) == 0 || strcmp(path, "/sys") == 0 ||
	       strncmp(path, "/sys/", 5) == 0;
}

static bool check_path(struct resolver *r, const char *path, unsigned flags, struct span at)
{
	struct diag *e;

	if (strcmp(path, "/") == 0) {
		e = diag_error(r->diags, CAVE_READ_ROOT, at, "this grants the whole machine");
		diag_note(r->diags, e, nowhere, "name the folders that the tool needs");
	} else if (strlen(path) > ARTEFACT_PATH_MAX) {
		diag_error(r->diags, CAVE_VALUE, at, "this path is longer than %d bytes", ARTEFACT_PATH_MAX);
	} else if ((flags & CAVE_FILE_WRITE) && (flags & CAVE_FILE_RELATIVE) && strcmp(path, ".") == 0) {
		e = diag_error(r->diags, CAVE_CONTRADICTION, at,
			       "this write grant covers the artefact that binds the tool");
		diag_note(r->diags, e, nowhere, "grant a folder below it, or workspace");
	} else if ((flags & CAVE_FILE_WRITE) && *path == '/' && kernel_path(path)) {
		diag_error(r->diags, CAVE_CONTRADICTION, at,
			   "writing to the kernel's own file systems would undo the promise that other processes are out of reach");
	} else {
		return true;
	}
	return false;
}

static void add_path(struct resolver *r, const char *path, unsigned flags, struct span at)
{
	/* A place is a folder by itself. */
	if (!*path)
		flags &= ~(unsigned)CAVE_FILE_FOLDER;
	if (check_path(r, path, flags, at))
		*ARENA_PUSH(r->arena, r->file, r->nfiles, r->file_cap) = (struct file_rule){ path, flags, at };
}

/* workspace, or workspace/… */
static void add_workspace(struct resolver *r, const char *text, unsigned flags, struct span at)
{
	bool up;
	const char *below = normalise(r->arena, text + strlen("workspace") + (text[strlen("workspace")] == '/'), &up);

	if (up)
		refuse_up(r, below, at);
	else
		add_path(r, below, flags | CAVE_FILE_WORKSPACE, at);
}

static bool is_place(const char *text, const char *place)
{
	size_t n = strlen(place);

	return strncmp(text, place, n) == 0 && (text[n] == '\0' || text[n] == '/');
}

/* A bare word without a slash is a name, and this is none. */
static void refuse_word(struct resolver *r, const struct node *n)
{
	const char *meant = nearest(n->text, file_places);
	struct diag *e = diag_error(r->diags, CAVE_UNKNOWN_NAME, n->at, "'%s' is no place that files knows", n->text);

	if (meant)
		diag_note(r->diags, e, nowhere, "did you mean '%s'?", meant);
	diag_note(r->diags, e, nowhere, "for a path beside the profile write: \"./%s\"", n->text);
}

static void resolve_operand(struct resolver *r, const struct node *n, unsigned flags)
{
	const char *path;
	bool up;

	if (n->kind == N_OPTIONAL) {
		resolve_operand(r, n->kids, flags | CAVE_FILE_OPTIONAL);
		return;
	}
	if (n->kind == N_FOLDER) {
		unsupported(r, n->at, "folders that the host fills are");
		return;
	}
	if (flags & CAVE_FILE_EXECUTE && *n->text && n->text[strlen(n->text) - 1] == '/')
		flags |= CAVE_FILE_FOLDER;
	if (n->kind == N_WORD && is_place(n->text, "workspace")) {
		add_workspace(r, n->text, flags, n->at);
		return;
	}
	if (n->kind == N_WORD && (is_place(n->text, "tmp") || is_place(n->text, "home"))) {
		unsupported(r, n->at, "this place is");
		return;
	}
	if (n->kind == N_WORD && !strchr(n->text, '/')) {
		refuse_word(r, n);
		return;
	}
	if (*n->text == '~' || strchr(n->text, '*')) {
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_VALUE, n->at, "a path is taken as it stands: no ~, no wildcards"), nowhere,
			  "grant the folder that holds the files");
		return;
	}
	if (!*n->text || strstr(n->text, "${")) {
		diag_error(r->diags, CAVE_VALUE, n->at, *n->text ? "a path holds no ${place}" : "this path is empty");
		return;
	}
	path = normalise(r->arena, n->text, &up);
	if (up)
		refuse_up(r, path, n->at);
	else if (*path == '/')
		add_path(r, path, flags, n->at);
	else
		add_path(r, *path ? path : ".", flags | CAVE_FILE_RELATIVE, n->at);
}

static void resolve_base(struct resolver *r, const struct node *n)
{
	if (strcmp(n->text, "none") == 0 || strcmp(n->text, "system") == 0)
		scalar_set(r, &r->base_files, "base", n->text, n->name);
	else
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "'%s' is no base of files", n->text), nowhere,
			  "they are: base system (the default), base none");
}

static void resolve_rule(struct resolver *r, const struct node *n)
{
	unsigned flags;

	if (strcmp(n->text, "read") == 0) {
		flags = CAVE_FILE_READ;
	} else if (strcmp(n->text, "write") == 0) {
		flags = CAVE_FILE_READ | CAVE_FILE_WRITE;
	} else if (strcmp(n->text, "execute") == 0) {
		flags = CAVE_FILE_READ | CAVE_FILE_EXECUTE;
	} else {
		unsupported(r, n->name,
			    strcmp(n->text, "shm") == 0 ? "a private /dev/shm is" :
							  "a denial inside a granted folder is");
		return;
	}
	resolve_paths(r, n->kids, flags);
}

void resolve_paths(struct resolver *r, const struct node *operands, unsigned flags)
{
	for (const struct node *i = operands; i; i = i->next)
		resolve_operand(r, i, flags);
}

void resolve_files(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next) {
		if (n->kind == N_STRANGER)
			stranger(r, n, "files", file_statements);
		else if (n->kind == N_BASE)
			resolve_base(r, n);
		else if (n->kind == N_USE)
			unsupported(r, n->name, "built-in sets are");
		else
			resolve_rule(r, n);
	}
}

/* What a path is relative to comes before the path. */
static unsigned base_of(const struct file_rule *f)
{
	return f->flags & (CAVE_FILE_RELATIVE | CAVE_FILE_WORKSPACE);
}

static int by_path(const void *a, const void *b)
{
	const struct file_rule *x = a, *y = b;

	if (base_of(x) != base_of(y))
		return base_of(x) < base_of(y) ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Two lines about one path: all that either grants; it may be missing only if both say so. */
static void merge(struct file_rule *to, const struct file_rule *from)
{
	unsigned optional = to->flags & from->flags & CAVE_FILE_OPTIONAL;

	to->flags = ((to->flags | from->flags) & ~(unsigned)CAVE_FILE_OPTIONAL) | optional;
}

void finish_files(struct resolver *r)
{
	size_t n = 0;

	if (r->nfiles)
		qsort(r->file, r->nfiles, sizeof *r->file, by_path);
	for (size_t i = 0; i < r->nfiles; i++) {
		if (n && by_path(&r->file[n - 1], &r->file[i]) == 0)
			merge(&r->file[n - 1], &r->file[i]);
		else
			r->file[n++] = r->file[i];
	}
	if (n + system_set_size > ARTEFACT_FILES_MAX)
		diag_error(r->diags, CAVE_VALUE, r->file[n - 1].at, "a profile names at most %zu paths",
			   ARTEFACT_FILES_MAX - system_set_size);
	r->policy->file = r->file;
	r->policy->nfiles = n;
}
