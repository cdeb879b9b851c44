/* SPDX-License-Identifier: MIT */
#include "compiler/load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_SOURCE = 16 << 20, MAX_FILES = 1000 };

/* The folder part of a path, "." if it has none. */
static char *folder_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return arena_strdup(a, ".");
	return arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path));
}

/* realpath() into the arena; NULL with errno set. */
static char *resolve(struct arena *a, const char *path)
{
	char found[PATH_MAX];

	return realpath(path, found) ? arena_strdup(a, found) : NULL;
}

bool loader_init(struct loader *l, struct diags *d, const char *profile, const char *root)
{
	struct arena *a = d->sources->arena;
	char *found = resolve(a, root ? root : folder_of(a, profile));
	struct stat st;

	if (!found)
		return false;
	if (stat(found, &st) != 0 || !S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return false;
	}
	*l = (struct loader){ .diags = d, .root = strcmp(found, "/") == 0 ? "" : found };
	return true;
}

void loader_again(struct loader *l, struct diags *d, const struct loader *from)
{
	*l = (struct loader){ .diags = d, .root = from->root };
	for (size_t i = 0; i < 2 && i < from->nresolved; i++)
		*ARENA_PUSH(d->sources->arena, l->resolved, l->nresolved, l->cap) = from->resolved[i];
}

/* The part of a resolved path below the root, or NULL if it lies outside. */
static const char *beneath(const struct loader *l, const char *path)
{
	size_t n = strlen(l->root);

	return strncmp(path, l->root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* True if the descriptor's file is found at `path`, with no link on the way. */
static bool is_at(int fd, const char *path)
{
	char link[32], found[4096];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, found, sizeof found);
	return n >= 0 && (size_t)n == strlen(path) && memcmp(found, path, (size_t)n) == 0;
}

/*
 * Opens a path that has no link in it any more: one that has come between would lead out of the root unseen, and
 * is an error.  Where openat2() is not to be had (a filter, an emulator), what was opened is looked at instead.
 */
static int open_resolved(const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

	if (fd >= 0 || errno != ENOSYS)
		return fd;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || is_at(fd, path))
		return fd;
	close(fd);
	errno = ELOOP;
	return -1;
}

const char *loader_fault(int error)
{
	switch (error) {
	case EINVAL: return "this is no regular file";
	case ESTALE: return "its length is not what it says: it changes, or is made by the kernel";
	default: return strerror(error);
	}
}

/* True if there is a byte, or a fault, behind what was read: half a file may lack what it denies. */
static bool goes_on(int fd)
{
	char byte;

	return read(fd, &byte, 1) != 0;
}

/* The bytes of a regular file at a resolved path, NUL-terminated; NULL with errno set, see loader_fault(). */
static char *read_file(struct arena *a, const char *path, size_t *size)
{
	int fd = open_resolved(path);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	else if (st.st_size > MAX_SOURCE)
		errno = EFBIG;
	else
		text = arena_alloc(a, (size_t)st.st_size + 1);
	for (*size = 0; text && *size < (size_t)st.st_size; *size += (size_t)n) {
		n = read(fd, text + *size, (size_t)st.st_size - *size);
		if (n == 0)
			break;
		if (n < 0)
			text = NULL;
	}
	if (text && (*size < (size_t)st.st_size || goes_on(fd))) {
		text = NULL;
		errno = ESTALE;
	}
	close(fd);
	return text;
}

static uint32_t add(struct loader *l, const char *shown, const char *resolved, const char *text, size_t size,
		    struct span from)
{
	struct sources *s = l->diags->sources;
	uint32_t file = sources_add(s, beneath(l, resolved), text, size, from, false);

	s->file[file].shown = shown;
	while (l->nresolved <= file)
		*ARENA_PUSH(s->arena, l->resolved, l->nresolved, l->cap) = "";
	l->resolved[file] = resolved;
	return file;
}

/* A place for errors about a file that was not read: its first byte. */
static struct span unread(struct loader *l, const char *path)
{
	return (struct span){ sources_add(l->diags->sources, path, "", 0, (struct span){ 0 }, false), 0, 0 };
}

uint32_t loader_profile(struct loader *l, const char *path, bool *failed)
{
	struct arena *a = l->diags->sources->arena;
	const char *resolved = resolve(a, path), *text;
	struct stat st;
	size_t size;

	*failed = false;
	if (!resolved && (errno == ENOENT || errno == ENOTDIR)) {
		diag_error(l->diags, CAVE_PROFILE_MISSING, unread(l, path), "there is no such profile");
		return 0;
	}
	if (resolved && stat(resolved, &st) == 0 && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		*failed = true;
		return 0;
	}
	if (resolved && !beneath(l, resolved)) {
		diag_error(l->diags, CAVE_PROFILE_ESCAPES_ROOT, unread(l, path), "the profile lies outside the root %s",
			   *l->root ? l->root : "/");
		return 0;
	}
	text = resolved ? read_file(a, resolved, &size) : NULL;
	if (!text) {
		*failed = true;
		return 0;
	}
	return add(l, path, resolved, text, size, (struct span){ 0 });
}

uint32_t loader_profile_text(struct loader *l, const char *path, const char *text, size_t size)
{
	struct arena *a = l->diags->sources->arena;
	const char *resolved = resolve(a, path), *slash = strrchr(path, '/');

	if (!resolved && (resolved = resolve(a, folder_of(a, path))) != NULL)
		resolved = arena_printf(a, "%s/%s", resolved, slash ? slash + 1 : path);
	if (!resolved || !beneath(l, resolved)) {
		diag_error(l->diags, CAVE_PROFILE_ESCAPES_ROOT, unread(l, path), "the profile lies outside the root %s",
			   *l->root ? l->root : "/");
		return 0;
	}
	return add(l, path, resolved, arena_strndup(a, text, size), size, (struct span){ 0 });
}

/* Is `resolved` the file `from`, or one that includes it, however indirectly? */
static bool in_chain(const struct loader *l, uint32_t from, const char *resolved)
{
	while (from) {
		if (strcmp(l->resolved[from], resolved) == 0)
			return true;
		from = l->diags->sources->file[from].included_from.file;
	}
	return false;
}

/*
 * Statements are idempotent and their order means nothing: a file says all it has to say the first time.
 * A list says it to every rule that names it: the number of a file that was read; 0 if it is new.
 */
static uint32_t find_loaded(const struct loader *l, const char *resolved)
{
	for (uint32_t i = 1; i < l->nresolved; i++)
		if (strcmp(l->resolved[i], resolved) == 0)
			return i;
	return 0;
}

bool loader_is_source(const struct loader *l, const char *path)
{
	struct stat out, source;
	bool found = false;

	if (stat(path, &out) == 0)
		for (size_t i = 1; i < l->nresolved && !found; i++)
			found = stat(l->resolved[i], &source) == 0 && out.st_dev == source.st_dev &&
				out.st_ino == source.st_ino;
	return found;
}

/*
 * Reads the file that `text`, in file `from`, names at `at`.  Returns its number, or 0 after an error was
 * recorded; of an include also if it has been read before.
 */
static uint32_t read_named(struct loader *l, uint32_t from, struct span at, const char *text, bool list)
{
	struct arena *a = l->diags->sources->arena;
	const char *shown, *path, *resolved, *bytes, *verb = list ? "read" : "include";
	uint32_t loaded;
	size_t size;

	if (!*text) {
		diag_error(l->diags, CAVE_VALUE, at, "this names no file");
		return 0;
	}
	if (*text == '/') {
		shown = path = text;
	} else {
		path = arena_printf(a, "%s/%s", folder_of(a, l->resolved[from]), text);
		shown = l->diags->sources->file[from].shown;
		shown = strchr(shown, '/') ? arena_printf(a, "%s/%s", folder_of(a, shown), text) : text;
	}
	resolved = resolve(a, path);
	if (!resolved) {
		diag_error(l->diags, CAVE_PROFILE_MISSING, at, "cannot %s this file: %s", verb, loader_fault(errno));
		return 0;
	}
	if (!beneath(l, resolved)) {
		struct diag *e = diag_error(l->diags, CAVE_PROFILE_ESCAPES_ROOT, at,
					    "this file lies outside the root");
		diag_note(l->diags, e, (struct span){ 0 }, "--root DIR names a wider one");
		return 0;
	}
	if (in_chain(l, from, resolved)) {
		diag_error(l->diags, CAVE_CONTRADICTION, at, "this file includes itself");
		return 0;
	}
	loaded = find_loaded(l, resolved);
	if (loaded)
		return list ? loaded : 0;
	if (l->nresolved > MAX_FILES) {
		diag_error(l->diags, CAVE_UNSUPPORTED, at, "a profile is made of %d files at most", MAX_FILES);
		return 0;
	}
	bytes = read_file(a, resolved, &size);
	if (!bytes) {
		diag_error(l->diags, CAVE_PROFILE_MISSING, at, "cannot %s this file: %s", verb, loader_fault(errno));
		return 0;
	}
	return add(l, shown, resolved, bytes, size, at);
}

uint32_t loader_include(struct loader *l, uint32_t from, struct span at, const char *text)
{
	return read_named(l, from, at, text, false);
}

uint32_t loader_list(struct loader *l, uint32_t from, struct span at, const char *text)
{
	return read_named(l, from, at, text, true);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool list_next(const struct sources *sources, uint32_t file, size_t *at, struct span *out, const char **text)
{
	const struct source_file *f = &sources->file[file];

	while (*at < f->size) {
		size_t begin = *at, end = begin, stop;
		const char *newline = memchr(f->text + begin, '\n', f->size - begin), *comment;

		stop = newline ? (size_t)(newline - f->text) : f->size;
		*at = stop + 1;
		comment = memchr(f->text + begin, '#', stop - begin);
		end = comment ? (size_t)(comment - f->text) : stop;
		while (begin < end && is_blank(f->text[begin]))
			begin++;
		while (begin < end && is_blank(f->text[end - 1]))
			end--;
		if (begin == end)
			continue;
		*out = (struct span){ file, (uint32_t)begin, (uint32_t)end };
		*text = arena_strndup(sources->arena, f->text + begin, end - begin);
		return true;
	}
	return false;
}
