/* SPDX-License-Identifier: MIT */
#include "runtime/folders.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What a policy names: bases of its grants, and the home folder in its environment. */
struct wanted {
	unsigned bases; /* CAVE_FILE_* */
	size_t slots; /* at most: records that name one */
};

static struct wanted wanted(const struct artefact *a)
{
	struct artefact_record record;
	struct wanted w = { 0, 0 };

	for (size_t at = 0; artefact_next(a, &at, &record);) {
		if (record.type == CAVE_RECORD_ENV_SET && record.flags & CAVE_ENV_PLACES &&
		    memchr(record.payload, CAVE_ENV_HOME_BYTE, record.length))
			w.bases |= CAVE_FILE_HOME;
		if (record.type != CAVE_RECORD_FILE)
			continue;
		/* Home is there whatever is granted; of the others a denial makes nothing. */
		if (record.flags & CAVE_FILE_HOME || !(record.flags & CAVE_FILE_DENY))
			w.bases |= record.flags & CAVE_FILE_BASES;
		w.slots += record.flags & CAVE_FILE_SLOT && !(record.flags & CAVE_FILE_DENY);
	}
	return w;
}

void folders_init(struct folders *f)
{
	const struct workspace none = { .fd = -1, .parent = -1 };

	*f = (struct folders){ .workspace = none, .tmp = none, .home = none };
}

bool folders_are_fresh(const struct artefact *a, const struct cave_options *o)
{
	unsigned bases = wanted(a).bases;

	return bases & CAVE_FILE_TMP || (bases & CAVE_FILE_WORKSPACE && !o->workspace);
}

/* --- slots ---------------------------------------------------------------------------------------- */

static size_t name_length(const char *path, size_t n)
{
	const char *slash = memchr(path, '/', n);

	return slash ? (size_t)(slash - path) : n;
}

static struct slot *find_slot(const struct folders *f, const char *name, size_t n)
{
	for (size_t i = 0; i < f->nslots; i++)
		if (strlen(f->slot[i].name) == n && !memcmp(f->slot[i].name, name, n))
			return &f->slot[i];
	return NULL;
}

/* Every name once; a denial in a slot that nothing is granted of makes none. */
static void list_slots(struct memory *m, const struct artefact *a, size_t most, struct folders *f)
{
	struct artefact_record record;

	f->slot = MEMORY_ARRAY(m, most + 1, struct slot);
	for (size_t at = 0; artefact_next(a, &at, &record);) {
		size_t n = name_length(record.payload, record.length);

		if (record.type != CAVE_RECORD_FILE || !(record.flags & CAVE_FILE_SLOT) ||
		    record.flags & CAVE_FILE_DENY || find_slot(f, record.payload, n))
			continue;
		f->slot[f->nslots++] = (struct slot){ memory_string(m, record.payload, n), { .fd = -1, .parent = -1 } };
	}
}

static bool fill_slot(struct memory *m, struct folders *f, const struct cave_folder *given, struct refusal *r)
{
	struct slot *s;

	if (!given->name || !given->path)
		return refuse(r, CAVE_FAILED, "a folder without a name, or without a path");
	s = find_slot(f, given->name, strlen(given->name));
	if (!s)
		return refuse(r, CAVE_FAILED, "the policy knows no folder %s", given->name);
	if (s->folder.path)
		return refuse(r, CAVE_FAILED, "the folder %s is named twice", given->name);
	return workspace_open(m, memory_printf(m, "folder %s,", s->name), given->path, &s->folder, r);
}

static bool fill_slots(struct memory *m, struct folders *f, const struct cave_options *o, struct refusal *r)
{
	for (size_t i = 0; i < o->nfolders; i++)
		if (!fill_slot(m, f, &o->folders[i], r))
			return false;
	for (size_t i = 0; i < f->nslots; i++)
		if (!f->slot[i].folder.path)
			return refuse(r, CAVE_FAILED, "the policy needs a folder %s: name it with --folder %s=DIR",
				      f->slot[i].name, f->slot[i].name);
	return true;
}

/* --- home ----------------------------------------------------------------------------------------- */

/* Of the user that the tool becomes; else what the host says is its own, else what /etc/passwd does. */
static bool find_home(struct memory *m, const struct cave_options *o, const struct user *user, struct workspace *out,
		      struct refusal *r)
{
	const char *home = user ? user->home : o->home;

	if (!user && !home && !user_home(m, geteuid(), &home, r))
		return false;
	if (!home || *home != '/')
		return refuse(r, CAVE_FAILED, "the policy names the home folder, and %s",
			      home ? "HOME is no absolute path" : "this user has none");
	return workspace_open(m, "home folder", home, out, r);
}

/* --- all of them ---------------------------------------------------------------------------------- */

static bool find_workspace(struct memory *m, const struct cave_options *o, const struct user *user,
			   struct workspace *out, struct refusal *r)
{
	if (o->workspace)
		return workspace_open(m, "workspace", o->workspace, out, r);
	return workspace_make(m, "workspace", o->tmpdir, user, out, r);
}

bool folders_find(struct memory *m, const struct artefact *a, const struct cave_options *o, const struct user *user,
		  struct folders *out, struct refusal *r)
{
	struct wanted w = wanted(a);

	list_slots(m, a, w.slots, out);
	if (!(w.bases & CAVE_FILE_WORKSPACE) && o->workspace)
		return refuse(r, CAVE_FAILED, "--workspace: the policy grants no workspace");
	if (!fill_slots(m, out, o, r))
		return false;
	if (w.bases & CAVE_FILE_HOME && !find_home(m, o, user, &out->home, r))
		return false;
	if (w.bases & CAVE_FILE_WORKSPACE && !find_workspace(m, o, user, &out->workspace, r))
		return false;
	return !(w.bases & CAVE_FILE_TMP) || workspace_make(m, "private folder", o->tmpdir, user, &out->tmp, r);
}

bool folders_close(struct folders *f, struct refusal *r)
{
	bool ok = workspace_close(&f->workspace, r);

	ok = workspace_close(&f->tmp, ok ? r : NULL) && ok;
	workspace_close(&f->home, NULL);
	for (size_t i = 0; i < f->nslots; i++)
		workspace_close(&f->slot[i].folder, NULL);
	return ok;
}

const struct workspace *folders_base(const struct folders *f, const char *path, unsigned flags)
{
	const struct slot *s = flags & CAVE_FILE_SLOT ? find_slot(f, path, strcspn(path, "/")) : NULL;
	const struct workspace *base = flags & CAVE_FILE_WORKSPACE ? &f->workspace :
				       flags & CAVE_FILE_TMP	   ? &f->tmp :
				       flags & CAVE_FILE_HOME	   ? &f->home :
				       s			   ? &s->folder :
								     NULL;

	return base && base->path ? base : NULL;
}

const char *folders_below(const char *path, unsigned flags)
{
	size_t n = flags & CAVE_FILE_SLOT ? strcspn(path, "/") : 0;

	return path + n + (flags & CAVE_FILE_SLOT && path[n]);
}

const struct workspace *folders_place(const struct folders *f, const char *at, size_t *length)
{
	const struct slot *s;
	const char *end;

	*length = 1;
	switch (*at) {
	case CAVE_ENV_WORKSPACE_BYTE:
		return f->workspace.path ? &f->workspace : NULL;
	case CAVE_ENV_TMP_BYTE:
		return f->tmp.path ? &f->tmp : NULL;
	case CAVE_ENV_HOME_BYTE:
		return f->home.path ? &f->home : NULL;
	}
	end = strchr(at + 1, CAVE_ENV_SLOT_BYTE);
	*length = (size_t)(end - at) + 1;
	s = find_slot(f, at + 1, *length - 2);
	return s ? &s->folder : NULL;
}
