/* SPDX-License-Identifier: MIT */
/*
 * What the policy denies inside of what it grants.  Landlock knows no denials: a grant that lies in a denial is left
 * out, and a denial that lies in a grant is covered, in the private mounts, by something that cannot be opened; or, if
 * only writing is denied, and in a write grant, by itself on a mount that is read-only.  What cannot be kept exactly is
 * refused:
 *
 * - a path that leads through a link, which whoever may write there could point elsewhere;
 * - one that is missing where the tool may write, who could make it (in a fresh folder it is made beforehand);
 * - one that is granted by another mount, or a file that has another name (a hard link).
 *
 * A descriptor that the tool is handed keeps the mount it was opened on, which has no covers: /proc/self/fd opens its
 * file there once more, for whatever Landlock lets pass.  None may lead to what is denied.
 *
 * Folders between a write grant and a denial become mounts of their own: a mount point cannot be renamed or removed, so
 * that the denied path stays what it names.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/files_private.h"
#include "runtime/kernel.h"

#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#endif

/* A denial, as far as it leads. */
struct denial {
	const char *shown;
	const char *path; /* canonical, or what it would be: nothing on the way is a link */
	const struct workspace *base; /* the folder by name that it begins at, or NULL */
	bool optional, only_write, exists;
	bool granted; /* something of it is granted: for writing, where nothing else is denied */
	struct covered covered; /* what exists of it; no place while `exists` is false */
	struct stat st;
};

static const char *join(struct memory *m, const char *folder, const char *below)
{
	return memory_printf(m, "%s%s%s", strcmp(folder, "/") ? folder : "", *below ? "/" : "", below);
}

static bool is_base(const char *below)
{
	return !*below || !strcmp(below, ".");
}

/* --- where they lead ------------------------------------------------------------------------------ */

/* The descriptor of a path without links, or -1 with errno. */
static int open_plain(const char *path)
{
	struct k_open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
				  .resolve = K_RESOLVE_NO_SYMLINKS | K_RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static bool is_proc(const struct preparation *p, const struct denial *d)
{
	return path_within(d->path, "/proc") || (d->st.st_dev == p->proc && p->proc != p->root.st_dev);
}

/* Looks at what is there now. */
static bool look(struct preparation *p, struct denial *d)
{
	int fd = memory_hold(p->memory, open_plain(d->path)), error = errno;
	bool ok = true;

	d->exists = fd >= 0;
	/* One at the very end is opened itself. */
	if (fd >= 0 && !fstat(fd, &d->st) && S_ISLNK(d->st.st_mode)) {
		memory_close(p->memory, fd);
		fd = -1;
		error = ELOOP;
	}
	if (fd < 0 && error != ENOENT && error != ENOTDIR)
		return refuse_errno(p->refusal, CAVE_FAILED, error,
				    error == ELOOP ? "the denial %s leads through a link: deny what it leads to" :
						     "cannot look at the denial %s",
				    d->shown);
	if (fd < 0)
		return true;
	d->path = d->covered.path = path_of(p->memory, fd);
	if (!d->path || fstat(fd, &d->st) || !read_mounts(p) ||
	    !place_of(p->memory, &p->mounts, fd, d->path, &d->covered.place) || !d->covered.place.listed)
		ok = refuse(p->refusal, CAVE_FAILED, "the denial %s has no place that can be known", d->shown);
	else if (is_proc(p, d))
		ok = refuse(p->refusal, CAVE_FAILED, "the denial %s lies in /proc, where a process has many names",
			    d->shown);
	memory_close(p->memory, fd);
	return ok;
}

static bool add_denial(struct preparation *p, const struct artefact_record *record)
{
	struct grant g = { .path = memory_string(p->memory, record->payload, record->length),
			   .flags = record->flags };
	struct denial *d = &p->denial[p->ndenials];
	const char *below = folders_below(g.path, g.flags), *folder = NULL;

	d->shown = grant_shown(p, &g);
	d->optional = record->flags & CAVE_FILE_OPTIONAL;
	d->only_write = record->flags & CAVE_FILE_ONLY_WRITE;
	d->base = folders_base(p->request->folders, g.path, g.flags);
	if (d->base)
		folder = d->base->path;
	else if (g.flags & CAVE_FILE_RELATIVE && !artefact_folder(p, &folder))
		return false;
	/* Nothing is granted of a place that is not there. */
	if (!folder && g.flags & CAVE_FILE_BASES)
		return true;
	d->path = folder ? join(p->memory, folder, is_base(below) ? "" : below) : g.path;
	p->ndenials++;
	return look(p, d);
}

bool find_denials(struct preparation *p)
{
	struct artefact_record record;
	size_t n = 0;

	for (size_t at = 0; artefact_next(p->request->artefact, &at, &record);)
		n += record.type == CAVE_RECORD_FILE && record.flags & CAVE_FILE_DENY;
	p->denial = MEMORY_ARRAY(p->memory, n + 1, struct denial);
	for (size_t at = 0; artefact_next(p->request->artefact, &at, &record);)
		if (record.type == CAVE_RECORD_FILE && record.flags & CAVE_FILE_DENY && !add_denial(p, &record))
			return false;
	return true;
}

/* --- grants --------------------------------------------------------------------------------------- */

/* True if the place is in that of the denial, or what is mounted in it. */
static bool denies(const struct mounts *mounts, const struct denial *d, const char *path, const struct place *place)
{
	return path_within(path, d->path) || (d->exists && place_covered(mounts, place, &d->covered));
}

/* Writing it is denied: what the profile asks for by name is refused, the rest is left of what it does not. */
static bool judge_only_write(struct preparation *p, struct grant *g)
{
	if (!(g->flags & (CAVE_FILE_OPTIONAL | CAVE_FILE_SYSTEM)))
		return refuse(p->refusal, CAVE_FAILED, "nothing may be written of the grant %s: the policy denies it",
			      grant_shown(p, g));
	g->flags &= ~(unsigned)CAVE_FILE_WRITE;
	return true;
}

bool judge_denied(struct preparation *p, struct grant *g, bool *denied)
{
	const char *path = p->ndenials ? path_of(p->memory, g->fd) : NULL;
	struct place place;

	*denied = false;
	if (!p->ndenials)
		return true;
	if (!path || !read_mounts(p) || !place_of(p->memory, &p->mounts, g->fd, path, &place))
		return refuse(p->refusal, CAVE_FAILED, "the grant %s has no path that can be known", grant_shown(p, g));
	for (size_t i = 0; i < p->ndenials && !*denied; i++) {
		const struct denial *d = &p->denial[i];

		if ((d->only_write && !(g->flags & CAVE_FILE_WRITE)) || !denies(&p->mounts, d, path, &place))
			continue;
		*denied = !d->only_write;
		if (d->only_write && !judge_only_write(p, g))
			return false;
	}
	if (!*denied) {
		p->granted[p->ngranted++] = path;
		return true;
	}
	if (g->program)
		return refuse_program(p->refusal, EACCES, g->path, "the policy denies it");
	if (g->flags & (CAVE_FILE_OPTIONAL | CAVE_FILE_SYSTEM))
		return true;
	return refuse(p->refusal, CAVE_FAILED, "nothing is left of the grant %s: the policy denies it", grant_shown(p, g));
}

static bool is_granted(const struct preparation *p, const char *path)
{
	for (size_t i = 0; i < p->ngranted; i++)
		if (path_within(path, p->granted[i]))
			return true;
	return false;
}

/* Granted itself, or a folder around something that is: for writing, where nothing else is denied. */
static bool touches_grant(const struct preparation *p, const struct denial *d, const char *path)
{
	size_t n = d->only_write ? p->nwritable : p->ngranted;

	for (size_t i = 0; i < n; i++) {
		const char *granted = d->only_write ? p->writable[i].path : p->granted[i];

		if (path_within(path, granted) || path_within(granted, path))
			return true;
	}
	return false;
}

/* --- what is missing ------------------------------------------------------------------------------ */

/* The next element of *path to `out`; false at its end, or if it is too long to be a name. */
static bool next_name(const char **path, char out[256])
{
	size_t n;

	*path += strspn(*path, "/");
	n = strcspn(*path, "/");
	if (!n || n > 255)
		return false;
	memcpy(out, *path, n);
	out[n] = 0;
	*path += n;
	return true;
}

/* Makes the denied path in a fresh folder, which nobody else knows yet; it goes with the folder. */
static bool make_in_fresh(struct preparation *p, struct denial *d)
{
	const char *below = d->path + strlen(d->base->path);
	int at = open(d->base->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), next;
	char name[256];
	struct stat st;

	if (at >= 0 && fstat(at, &st)) {
		close(at);
		at = -1;
	}
	while (at >= 0 && next_name(&below, name)) {
		next = mkdirat(at, name, 0700) && errno != EEXIST ? -1 : 0;
		if (!next && !fchownat(at, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW))
			next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		else
			next = -1;
		close(at);
		at = next;
	}
	if (at < 0)
		return refuse_errno(p->refusal, CAVE_FAILED, errno, "cannot make the denied %s", d->shown);
	close(at);
	return look(p, d);
}

/* The nearest folder around `path` that is there. */
static bool find_around(struct preparation *p, const struct denial *d, struct place *place)
{
	char *path = memory_string(p->memory, d->path, strlen(d->path));
	bool ok;
	int fd;

	do {
		char *slash = strrchr(path, '/');

		slash[slash == path] = 0;
		fd = open_plain(path);
	} while (fd < 0 && path[1]);
	memory_hold(p->memory, fd);
	ok = fd >= 0 && read_mounts(p) && place_of(p->memory, &p->mounts, fd, path, place);
	memory_close(p->memory, fd);
	return ok || refuse(p->refusal, CAVE_FAILED, "the denial %s has no place that can be known", d->shown);
}

static bool settle_missing(struct preparation *p, struct denial *d)
{
	struct place around;

	if (d->base && d->base->parent >= 0)
		return make_in_fresh(p, d);
	if (!find_around(p, d, &around))
		return false;
	for (size_t i = 0; i < p->nwritable; i++)
		if (place_covered(&p->mounts, &around, &p->writable[i]))
			return refuse(p->refusal, CAVE_FAILED,
				      "the denial %s is missing where the tool may write: it could make it", d->shown);
	if (!is_granted(p, d->path))
		return true;
	if (!d->optional)
		return refuse(p->refusal, CAVE_FAILED, "the denial %s is missing; if it may be, write: deny%s optional",
			      d->shown, d->only_write ? " write" : "");
	/* What nobody may write may come. */
	if (!d->only_write)
		p->files->absent[p->files->nabsent++] = d->path;
	return true;
}

/* --- what is there -------------------------------------------------------------------------------- */

/* The path by which a mount shows the place, or what of the place it shows; NULL if it does not. */
static const char *seen_by(struct preparation *p, const struct place *place, const struct mount *m)
{
	if (strcmp(m->device, place->device))
		return NULL;
	if (path_within(m->root, place->path))
		return m->point;
	if (!path_within(place->path, m->root))
		return NULL;
	return join(p->memory, m->point, place->path + (strcmp(m->root, "/") ? strlen(m->root) : 0) + 1);
}

/* Nothing of the place is granted by a path outside of the denial. */
static bool check_place(struct preparation *p, const struct denial *d, const struct place *place)
{
	for (size_t i = 0; i < p->mounts.n; i++) {
		const char *path = seen_by(p, place, &p->mounts.mount[i]);

		if (path && !path_within(path, d->path) && touches_grant(p, d, path))
			return refuse(p->refusal, CAVE_FAILED,
				      "the denied %s is granted by another mount, as %s", d->shown, path);
	}
	return true;
}

/* By other names of the file itself, of where it lies, and of what is mounted there. */
static bool check_names(struct preparation *p, const struct denial *d)
{
	if (!S_ISDIR(d->st.st_mode) && d->st.st_nlink > 1)
		return refuse(p->refusal, CAVE_FAILED,
			      "the denied file %s has another name (a hard link), which may be granted", d->shown);
	if (!check_place(p, d, &d->covered.place))
		return false;
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct mount *m = &p->mounts.mount[i];
		const struct place place = { m->id, true, m->device, m->root };

		if (path_within(m->point, d->path) && !check_place(p, d, &place))
			return false;
	}
	return true;
}

/* Folders on the way to it in which the tool may write. */
static bool pin_folders(struct preparation *p, const struct denial *d)
{
	for (const char *c = strchr(d->path + 1, '/'); c; c = strchr(c + 1, '/')) {
		const char *path = memory_string(p->memory, d->path, (size_t)(c - d->path));
		const struct writable *around = enclosing(p->files, path);
		struct stat st;

		if (!around || !strcmp(around->path, path))
			continue;
		if (lstat(path, &st))
			return refuse_errno(p->refusal, CAVE_FAILED, errno, "%s, on the way to a denial", path);
		add_mount(p->files, &(struct writable){ path, st.st_dev, st.st_ino, around->execute });
	}
	return true;
}

/* One within another is covered with it, if that denies no less; the first of two that are the same. */
static bool is_inner(const struct preparation *p, const struct denial *d)
{
	for (size_t i = 0; i < p->ndenials; i++) {
		const struct denial *other = &p->denial[i];
		bool same = !strcmp(d->path, other->path) && d->only_write == other->only_write;

		if (other != d && path_within(d->path, other->path) && (d->only_write || !other->only_write) &&
		    (!same || other < d))
			return true;
	}
	return false;
}

static bool settle_one(struct preparation *p, struct denial *d)
{
	struct files *f = p->files;

	if (is_inner(p, d))
		return true;
	if (!d->exists && !settle_missing(p, d))
		return false;
	if (!d->exists)
		return true;
	if (!touches_grant(p, d, d->path))
		return check_place(p, d, &d->covered.place);
	/* A device or a pipe is written through a read-only mount as well. */
	if (d->only_write && !S_ISDIR(d->st.st_mode) && !S_ISREG(d->st.st_mode))
		return refuse(p->refusal, CAVE_FAILED,
			      "the denial of writing %s is about neither a regular file nor a folder: deny it whole", d->shown);
	if (!check_names(p, d) || !pin_folders(p, d))
		return false;
	f->denied[f->ndenied++] = (struct denied){ d->path, d->st.st_dev, d->st.st_ino, S_ISDIR(d->st.st_mode),
						   d->only_write };
	return true;
}

/* Room for the folders on the way as well. */
static void make_room(struct preparation *p)
{
	struct files *f = p->files;
	struct writable *larger;
	size_t n = f->nwritable;

	f->denied = MEMORY_ARRAY(p->memory, p->ndenials + 1, struct denied);
	f->absent = MEMORY_ARRAY(p->memory, p->ndenials + 1, const char *);
	for (size_t i = 0; i < p->ndenials; i++)
		for (const char *c = p->denial[i].path; *c; c++)
			n += *c == '/';
	larger = MEMORY_ARRAY(p->memory, n + 1, struct writable);
	memcpy(larger, f->writable, f->nwritable * sizeof *larger);
	f->writable = larger;
}

bool settle_denials(struct preparation *p)
{
	if (!p->ndenials)
		return true;
	make_room(p);
	for (int only_write = 1; only_write >= 0; only_write--)
		for (size_t i = 0; i < p->ndenials; i++)
			if (p->denial[i].only_write == only_write && !settle_one(p, &p->denial[i]))
				return false;
	for (size_t i = 0; i < p->ndenials; i++)
		p->denial[i].granted = touches_grant(p, &p->denial[i], p->denial[i].path);
	p->files->denial = p->denial;
	p->files->ndenials = p->ndenials;
	if (p->files->nwritable > ARTEFACT_FILES_MAX)
		return refuse(p->refusal, CAVE_FAILED, "more than %d folders are mounted for write grants and denials",
			      ARTEFACT_FILES_MAX);
	return true;
}

/* --- what the tool is handed ---------------------------------------------------------------------- */

struct handed {
	int fd;
	struct stat st;
	const char *path;
	struct place place;
};

/* Only that is opened once more by /proc/self/fd on its old mount; the runtime opens devices anew, on private ones. */
static bool lies_in_folder(const struct handed *h)
{
	struct statfs fs;

	return S_ISREG(h->st.st_mode) ||
	       (S_ISFIFO(h->st.st_mode) && (fstatfs(h->fd, &fs) || fs.f_type != PIPEFS_MAGIC));
}

/* A memfd, which has a mount that nobody sees, and no name in any folder. */
static bool is_memory(const struct handed *h)
{
	return !h->st.st_nlink && fcntl(h->fd, F_GET_SEALS) >= 0;
}

/* The kernel says so of a name that was removed; a file may also be called so.  NULL: it does not end so. */
static const char *without_deleted(struct memory *m, const char *path)
{
	static const char end[] = " (deleted)";
	size_t n = strlen(path), of = sizeof end - 1;

	return n > of && !strcmp(path + n - of, end) ? memory_string(m, path, n - of) : NULL;
}

/* The one that it lies in, or NULL.  What only may not be written can be read where nothing grants to write it. */
static const struct denial *denial_of(const struct files *f, const struct mounts *mounts, const struct handed *h)
{
	bool reads = (fcntl(h->fd, F_GETFL) & O_ACCMODE) == O_RDONLY;

	for (size_t i = 0; i < f->ndenials; i++) {
		const struct denial *d = &f->denial[i];

		if (d->only_write && !d->granted && reads)
			continue;
		if ((d->exists && d->st.st_dev == h->st.st_dev && d->st.st_ino == h->st.st_ino) ||
		    denies(mounts, d, h->path, &h->place))
			return d;
	}
	return NULL;
}

/* False also if it was mounted over since, or is known to the kernel without the folders around it (by a handle). */
static bool is_where_it_says(const struct handed *h)
{
	struct stat st;

	/* Whoever may not look there can have been handed it all the same. */
	if (lstat(h->path, &st))
		return errno == EACCES;
	return st.st_dev == h->st.st_dev && st.st_ino == h->st.st_ino;
}

/*
 * It may have been opened in another mount namespace.  A file with one name only lies where that name is found from
 * here as well.
 */
static bool find_place(struct memory *m, const struct mounts *mounts, struct handed *h)
{
	struct stat st;
	int fd;

	if (!place_of(m, mounts, h->fd, h->path, &h->place))
		return false;
	if (h->place.listed || h->st.st_nlink != 1)
		return true;
	fd = memory_hold(m, open_plain(h->path));
	if (fd >= 0 && !fstat(fd, &st) && st.st_dev == h->st.st_dev && st.st_ino == h->st.st_ino)
		place_of(m, mounts, fd, h->path, &h->place);
	memory_close(m, fd);
	return true;
}

static bool check_handed(struct memory *m, const struct files *f, const struct mounts *mounts, struct handed *h,
			 struct refusal *r)
{
	const char *path = path_of(m, h->fd);
	bool known = path != NULL, deleted = path && without_deleted(m, path);
	const struct denial *d = NULL;

	while (path && known && !d) {
		h->path = path;
		known = find_place(m, mounts, h);
		d = known ? denial_of(f, mounts, h) : NULL;
		path = without_deleted(m, path);
	}
	if (d)
		return refuse(r, CAVE_FAILED,
			      "descriptor %d leads to a file in what the policy denies (deny%s %s): hand it over "
			      "through a pipe",
			      h->fd, d->only_write ? " write" : "", d->shown);
	if (known && (h->place.listed || is_memory(h)) && (deleted || is_where_it_says(h)))
		return true;
	return refuse(r, CAVE_FAILED,
		      "descriptor %d leads to a file whose place cannot be known, and the policy has denials, which it "
		      "may lie in",
		      h->fd);
}

bool files_check_handed(struct memory *m, const struct files *f, const int *fd, size_t n, struct refusal *r)
{
	struct mounts mounts = { 0 };
	bool have_mounts = false;

	for (size_t i = 0; i < n && f->ndenials; i++) {
		struct handed h = { .fd = fd[i] };
		int error = 0;

		if (fstat(h.fd, &h.st))
			return refuse_errno(r, CAVE_FAILED, errno, "descriptor %d", h.fd);
		if (!lies_in_folder(&h))
			continue;
		if (!have_mounts)
			error = mountinfo_read(m, &mounts);
		if (error)
			return refuse_errno(r, CAVE_FAILED, error, "/proc/self/mountinfo");
		have_mounts = true;
		if (!check_handed(m, f, &mounts, &h, r))
			return false;
	}
	return true;
}
