/* SPDX-License-Identifier: MIT */
/*
 * What the private mount namespace leaves writable, and from which of that the tool may execute: a write grant is
 * mounted noexec unless the policy grants its execution as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/files_private.h"

bool read_mounts(struct preparation *p)
{
	int error = p->have_mounts ? 0 : mountinfo_read(p->memory, &p->mounts);

	if (error)
		return refuse_errno(p->refusal, CAVE_FAILED, error, "/proc/self/mountinfo");
	p->have_mounts = true;
	return true;
}

/* A mount of the kernel's own file systems at or below `path`, or NULL. */
static const char *kernel_mount(const struct mounts *mounts, const char *path)
{
	for (size_t i = 0; i < mounts->n; i++)
		if (mount_is_kernel(mounts->mount[i].type) && path_within(mounts->mount[i].point, path))
			return mounts->mount[i].point;
	return NULL;
}

static const char *named_path(struct preparation *p, int fd)
{
	char *path = fd < 0 ? NULL : path_of(p->memory, fd);
	struct stat st, named;

	if (!path || fstat(fd, &st) || stat(path, &named))
		return NULL;
	return st.st_dev == named.st_dev && st.st_ino == named.st_ino ? path : NULL;
}

const char *artefact_path(struct preparation *p)
{
	return named_path(p, p->request->artefact_fd);
}

/* True also where it cannot be told. */
static bool covers_file(struct preparation *p, const struct grant *g, const struct covered *folder, int fd)
{
	struct place place;
	const char *path;
	struct stat st;

	if (fd < 0)
		return false; /* there is none; or only in memory, where nobody can reach it */
	if (fstat(fd, &st) || (st.st_dev == g->st.st_dev && st.st_ino == g->st.st_ino))
		return true;
	if (!S_ISDIR(g->st.st_mode) || !st.st_nlink)
		return false;
	path = named_path(p, fd);
	return !path || !place_of(p->memory, &p->mounts, fd, path, &place) ||
	       place_covered(&p->mounts, &place, folder);
}

/*
 * Who could replace what starts them could do without it next time.  One that / does not lead to is out of the tool's
 * reach.
 */
static bool spares_starter(struct preparation *p, const struct grant *g, const struct covered *folder)
{
	int fd = memory_hold(p->memory, open("/proc/self/exe", O_PATH | O_CLOEXEC));
	bool covers;

	if (fd < 0)
		return refuse_errno(p->refusal, CAVE_FAILED, errno, "/proc/self/exe");
	covers = named_path(p, fd) && covers_file(p, g, folder, fd);
	memory_close(p->memory, fd);
	return !covers || refuse(p->refusal, CAVE_FAILED,
				 "the write grant %s covers the program that starts the tool, which could replace it",
				 grant_shown(p, g));
}

void add_mount(struct files *f, const struct writable *w)
{
	size_t at = f->nwritable++;

	while (at && strlen(f->writable[at - 1].path) > strlen(w->path)) {
		f->writable[at] = f->writable[at - 1];
		at--;
	}
	f->writable[at] = *w;
}

bool add_writable(struct preparation *p, const struct grant *g)
{
	const char *path = path_of(p->memory, g->fd), *point;
	struct covered *covered = &p->writable[p->nwritable];

	if (!read_mounts(p))
		return false;
	covered->path = path;
	if (!path || !place_of(p->memory, &p->mounts, g->fd, path, &covered->place))
		return refuse(p->refusal, CAVE_FAILED, "the write grant %s has no path that can be known",
			      grant_shown(p, g));
	point = kernel_mount(&p->mounts, path);
	if (is_kernel_file(g->fd) || point)
		return refuse(p->refusal, CAVE_FAILED,
			      "the write grant %s reaches %s, a file system of the kernel", grant_shown(p, g),
			      point ? point : path);
	if (covers_file(p, g, covered, p->request->artefact_fd))
		return refuse(p->refusal, CAVE_FAILED,
			      "the write grant %s covers the policy itself, which binds the tool", grant_shown(p, g));
	for (size_t i = 0; i < p->request->nbound; i++)
		if (covers_file(p, g, covered, p->request->bound[i]))
			return refuse(p->refusal, CAVE_FAILED,
				      "the write grant %s covers the operator's rules or the record of starts",
				      grant_shown(p, g));
	if (!spares_starter(p, g, covered))
		return false;
	p->nwritable++;
	add_mount(p->files, &(struct writable){ path, g->st.st_dev, g->st.st_ino, false });
	return true;
}

/* --- what may be executed ------------------------------------------------------------------------- */

bool add_executable(struct preparation *p, const struct grant *g)
{
	struct executable *e = &p->executable[p->nexecutable];

	/* Without a write grant there is no mount that would forbid it. */
	if (!p->nwritable)
		return true;
	e->path = path_of(p->memory, g->fd);
	if (!e->path || !place_of(p->memory, &p->mounts, g->fd, e->path, &e->place))
		return refuse(p->refusal, CAVE_FAILED, "what may be executed, %s, has no path that can be known",
			      grant_shown(p, g));
	e->shown = grant_shown(p, g);
	e->linked = *g->path == '/' && strcmp(g->path, e->path);
	e->dev = g->st.st_dev;
	e->ino = g->st.st_ino;
	p->nexecutable++;
	return true;
}

bool is_writable(struct preparation *p, const struct place *place)
{
	for (size_t i = 0; i < p->nwritable; i++)
		if (place_covered(&p->mounts, place, &p->writable[i]))
			return true;
	return false;
}

bool check_program(struct preparation *p, const struct grant *g)
{
	const char *path = p->nwritable ? path_of(p->memory, g->fd) : NULL;
	struct place place;

	if (!p->nwritable)
		return true;
	for (size_t i = 0; path && i < p->nexecutable; i++)
		if (path_within(path, p->executable[i].path))
			return true;
	if (path && place_of(p->memory, &p->mounts, g->fd, path, &place) && !is_writable(p, &place))
		return true;
	return refuse_program(p->refusal, EACCES, g->path, "it lies in a write grant, where nothing is executed");
}

struct writable *enclosing(struct files *f, const char *path)
{
	for (size_t i = f->nwritable; i--;)
		if (path_within(path, f->writable[i].path))
			return &f->writable[i];
	return NULL;
}

/* A mount of its own for what may be executed in a write grant that else may not. */
static bool settle_one(struct preparation *p, const struct executable *e)
{
	const struct writable *around = enclosing(p->files, e->path);
	bool related = around != NULL;

	/* Whoever follows the profile's text does not see that the tool may write it. */
	if (around && e->linked)
		return refuse(p->refusal, CAVE_FAILED,
			      "what may be executed, %s, leads by a link into the write grant %s: grant it by that path",
			      e->shown, around->path);
	if (around && !around->execute)
		add_mount(p->files, &(struct writable){ e->path, e->dev, e->ino, true });
	for (size_t i = 0; i < p->nwritable && !related; i++)
		related = path_within(p->writable[i].path, e->path);
	if (related || !is_writable(p, &e->place))
		return true;
	return refuse(p->refusal, CAVE_FAILED,
		      "what may be executed, %s, lies in a write grant by another mount: grant it by that path",
		      e->shown);
}

bool check_shm(struct preparation *p)
{
	for (size_t i = 0; p->files->shm && i < p->files->nwritable; i++)
		if (path_within(p->files->writable[i].path, "/dev/shm"))
			return refuse(p->refusal, CAVE_FAILED,
				      "the write grant %s lies in /dev/shm, which is private to the tool",
				      p->files->writable[i].path);
	return true;
}

bool settle_executables(struct preparation *p)
{
	struct files *f = p->files;

	for (size_t i = 0; i < f->nwritable; i++)
		for (size_t j = 0; j < p->nexecutable; j++)
			f->writable[i].execute |= path_within(f->writable[i].path, p->executable[j].path);
	for (size_t i = 0; i < p->nexecutable; i++)
		if (!settle_one(p, &p->executable[i]))
			return false;
	return true;
}
