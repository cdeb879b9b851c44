/* SPDX-License-Identifier: MIT */
/*
 * Links that lie in a write grant.  An earlier run may have made them, and aimed them at anything: a grant, or a
 * script, that leads through one to what the tool may not write anyway would be its own choice.
 *
 * The kernel has resolved the path already.  It is walked once more, one component at a time, and must lead to the very
 * same file: so a link that is exchanged meanwhile is seen in one of both.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/files_private.h"

enum { LINKS_MAX = 40 /* MAXSYMLINKS, include/linux/namei.h */ };

struct walk {
	struct preparation *p;
	int at; /* how far it has come; -1: nowhere */
	char rest[PATH_MAX];
	unsigned links;
	bool aimed; /* it led through a link of the tool's */
};

/* True also where it cannot be told. */
static bool in_write_grant(struct preparation *p, int fd)
{
	struct place place;
	const char *path;
	bool in;

	memory_hold(p->memory, fd);
	path = path_of(p->memory, fd);
	in = !path || !place_of(p->memory, &p->mounts, fd, path, &place) || is_writable(p, &place);
	memory_let_go(p->memory, fd);
	return in;
}

static bool go(struct walk *w, int fd)
{
	if (w->at >= 0)
		close(w->at);
	w->at = fd;
	return fd >= 0;
}

static bool follow(struct walk *w, int link)
{
	char target[PATH_MAX], rest[2 * PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof target);

	close(link);
	if (n <= 0 || n == sizeof target || ++w->links > LINKS_MAX)
		return false;
	w->aimed |= in_write_grant(w->p, w->at);
	if (snprintf(rest, sizeof rest, "%.*s/%s", (int)n, target, w->rest) >= (int)sizeof w->rest)
		return false;
	strcpy(w->rest, rest);
	return *target != '/' || go(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* One component.  *done at the end of the path. */
static bool step(struct walk *w, bool *done)
{
	const char *from = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(from, "/");
	char name[NAME_MAX + 1];
	struct stat st;
	int fd;

	*done = n == 0;
	if (*done || n > NAME_MAX)
		return *done;
	memcpy(name, from, n);
	name[n] = 0;
	memmove(w->rest, from + n, strlen(from + n) + 1);
	fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	return S_ISLNK(st.st_mode) ? follow(w, fd) : go(w, fd);
}

static bool walk(struct walk *w, int base, const char *path)
{
	bool ok, done = false;

	w->at = base >= 0 ? openat(base, ".", O_PATH | O_DIRECTORY | O_CLOEXEC) :
			    open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ok = w->at >= 0 && strlen(path) < sizeof w->rest;
	if (ok)
		strcpy(w->rest, path);
	while (ok && !done)
		ok = step(w, &done);
	return ok;
}

bool check_links(struct preparation *p, const struct linked *l)
{
	struct walk w = { .p = p, .at = -1 };
	bool same, aimed;
	struct stat st;

	if (!p->nwritable)
		return true;
	same = walk(&w, l->base, l->path) && !fstat(w.at, &st) && st.st_dev == l->dev && st.st_ino == l->ino;
	aimed = same && w.aimed && !in_write_grant(p, w.at);
	if (w.at >= 0)
		close(w.at);
	if (!same)
		return refuse(p->refusal, CAVE_FAILED, "%s leads elsewhere than a moment ago", l->shown);
	return !aimed || refuse(p->refusal, CAVE_FAILED,
				"%s leads through a link that lies in a write grant, where the tool can aim it at "
				"anything: name what it leads to",
				l->shown);
}

/* The links of a distribution are nobody's but root's: only a write grant among them makes them worth a look. */
static bool is_near_write_grant(const struct preparation *p, const char *path)
{
	char top[NAME_MAX + 2];
	size_t n = *path == '/' ? strcspn(path + 1, "/") + 1 : 0;

	if (!n || n >= sizeof top)
		return true;
	memcpy(top, path, n);
	top[n] = 0;
	for (size_t i = 0; i < p->nwritable; i++)
		if (path_within(p->writable[i].path, top) || path_within(top, p->writable[i].path))
			return true;
	return false;
}

bool links_matter(const struct preparation *p, const struct grant *g)
{
	return p->writes && !g->program && !g->same && (!(g->flags & CAVE_FILE_SYSTEM) || is_near_write_grant(p, g->path));
}
