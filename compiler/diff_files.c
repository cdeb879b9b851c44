/* SPDX-License-Identifier: MIT */
/*
 * Files: a grant covers all that is beneath its path.  The paths that either policy names, `system` included, cut the
 * tree into parts - each path with what is beneath it, less the parts of the other paths there - and within one part
 * neither policy can tell two files apart.  So each part is asked once, by its path.  Paths are compared as text; where
 * links lead is not known before the start.
 */
#include <stdlib.h>
#include <string.h>

#include "cave/artefact.h"
#include "compiler/buffer.h"
#include "compiler/diff.h"
#include "compiler/paths.h"
#include "compiler/system_set.h"

enum { PLACE = CAVE_FILE_BASES, SHOWN = 4 };

static const struct permission {
	unsigned flag;
	const char *verb; /* the strongest one names the others */
} permissions[] = {
	{ CAVE_FILE_WRITE, "write" },
	{ CAVE_FILE_EXECUTE, "execute" },
	{ CAVE_FILE_READ, "read" },
};

enum { PERMISSIONS = CAVE_FILE_READ | CAVE_FILE_WRITE | CAVE_FILE_EXECUTE };

/* A part of the tree, and what each policy lets be done in it. */
struct part {
	unsigned place;
	const char *path;
	struct reach {
		unsigned here, beneath;
	} old, new;
	const struct part *above; /* the nearest one that holds it, or NULL */
};

struct parts {
	struct part *item;
	size_t n, cap;
};

static bool same_place(const struct part *p, unsigned flags)
{
	return p->place == (flags & PLACE);
}

/* Is `path` the folder `top`, or beneath it?  The place itself is "" or ".". */
static bool beneath(const char *path, const char *top)
{
	size_t n = strlen(top);

	if (n == 0 || strcmp(top, ".") == 0)
		return true;
	return strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0' || top[n - 1] == '/');
}

/* What a grant adds to a part.  A file that may be executed has nothing beneath. */
static void add_rule(struct reach *r, const struct part *part, const char *path, unsigned flags)
{
	bool folder = flags & CAVE_FILE_FOLDER || path_is_place(path, flags);
	unsigned whole = folder ? flags : flags & ~(unsigned)CAVE_FILE_EXECUTE;

	if (!same_place(part, flags) || !beneath(part->path, path))
		return;
	r->here |= (strcmp(part->path, path) == 0 ? flags : whole) & PERMISSIONS;
	r->beneath |= whole & PERMISSIONS;
}

static void take_away(struct reach *r, unsigned denial)
{
	unsigned stays = denial & CAVE_FILE_ONLY_WRITE ? CAVE_FILE_READ | CAVE_FILE_EXECUTE : 0;

	r->here &= stays;
	r->beneath &= stays;
}

/* `late`: of what is not there when the tool starts, and comes to be while it runs: `deny optional` has not seen it. */
static struct reach reach_of(const struct policy *p, const struct part *part, bool late)
{
	struct reach r = { 0, 0 };

	for (size_t i = 0; i < p->nfiles; i++)
		add_rule(&r, part, p->file[i].path, p->file[i].flags);
	for (size_t i = 0; p->base_files && i < system_set_size; i++)
		add_rule(&r, part, system_set[i].path, system_set[i].flags);
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->file[i].flags & CAVE_FILE_DENY && same_place(part, p->file[i].flags) &&
		    beneath(part->path, p->file[i].path) && !(late && p->file[i].flags & CAVE_FILE_OPTIONAL))
			take_away(&r, p->file[i].flags);
	return r;
}

static int by_path(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void add_policy(struct arena *a, struct parts *to, const struct policy *p)
{
	for (size_t i = 0; i < p->nfiles; i++)
		*ARENA_PUSH(a, to->item, to->n, to->cap) =
			(struct part){ p->file[i].flags & PLACE, p->file[i].path, { 0, 0 }, { 0, 0 }, NULL };
	for (size_t i = 0; p->base_files && i < system_set_size; i++)
		*ARENA_PUSH(a, to->item, to->n, to->cap) =
			(struct part){ system_set[i].flags & PLACE, system_set[i].path, { 0, 0 }, { 0, 0 }, NULL };
}

static void find_above(struct parts *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct part *p = &all->item[i];

		for (size_t j = 0; j < all->n; j++) {
			const struct part *q = &all->item[j];

			if (q != p && q->place == p->place && beneath(p->path, q->path) &&
			    (!p->above || beneath(q->path, p->above->path)))
				p->above = q;
		}
	}
}

/* Every part once, judged by both. */
static struct parts parts_of(const struct diff *d)
{
	struct parts all = { NULL, 0, 0 };
	size_t n = 0;

	add_policy(d->arena, &all, &d->new->policy);
	add_policy(d->arena, &all, &d->old->policy);
	if (all.n)
		qsort(all.item, all.n, sizeof *all.item, by_path);
	for (size_t i = 0; i < all.n; i++) {
		if (n && by_path(&all.item[n - 1], &all.item[i]) == 0)
			continue;
		all.item[n] = all.item[i];
		all.item[n].old = reach_of(&d->old->policy, &all.item[n], false);
		all.item[n].new = reach_of(&d->new->policy, &all.item[n], false);
		n++;
	}
	all.n = n;
	find_above(&all);
	return all;
}


/* What goes this way beneath a part, and what at it or beneath it. */
static unsigned gained_beneath(const struct part *p, enum diff_way way)
{
	return way == DIFF_GRANTED ? p->new.beneath & ~p->old.beneath : p->old.beneath & ~p->new.beneath;
}

static unsigned gained(const struct part *p, enum diff_way way)
{
	return (way == DIFF_GRANTED ? p->new.here & ~p->old.here : p->old.here & ~p->new.here) | gained_beneath(p, way);
}

/* The part above goes along, and says it. */
static bool is_said(const struct part *p, enum diff_way way)
{
	return p->above && (gained(p, way) & ~gained_beneath(p->above, way)) == 0;
}

static const char *path_text(struct arena *a, const struct part *p)
{
	if (p->place & CAVE_FILE_RELATIVE && !strcmp(p->path, "."))
		return "./";
	if (p->place & CAVE_FILE_RELATIVE)
		return arena_printf(a, "./%s", p->path);
	if (p->place & CAVE_FILE_SHM)
		return "shm";
	return p->place ? path_spelling(a, p->path, p->place) : p->path;
}

/* Parts beneath that do not go along: "but for /usr/lib". */
static const char *but_for(struct arena *a, const struct parts *all, const struct part *p, enum diff_way way)
{
	const char *text = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct part *q = &all->item[i];

		if (q == p || q->place != p->place || !beneath(q->path, p->path) ||
		    (gained_beneath(p, way) & ~gained(q, way)) == 0 ||
		    (gained_beneath(p, way) & ~gained_beneath(q->above, way)) != 0)
			continue;
		if (n++ < SHOWN)
			text = text ? arena_printf(a, "%s, %s", text, path_text(a, q)) :
				      arena_printf(a, "but for %s", path_text(a, q));
	}
	return n > SHOWN ? arena_printf(a, "%s and %zu more", text, n - SHOWN) : text;
}

/* The line that grants it: of the path itself, or of one above. */
static struct span line_of(const struct policy *p, const struct part *part, unsigned flags)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (same_place(part, p->file[i].flags) && beneath(part->path, p->file[i].path) &&
		    (p->file[i].flags & flags))
			return p->file[i].at;
	return (struct span){ 0 };
}

static void add_part(struct diff *d, const struct parts *all, const struct part *p, enum diff_way way)
{
	unsigned flags = gained(p, way);
	const char *verb = NULL, *path = path_text(d->arena, p);
	struct diff_entry *e;

	for (size_t i = 0; i < sizeof permissions / sizeof *permissions && !verb; i++)
		if (flags & permissions[i].flag)
			verb = permissions[i].verb;
	if (flags & CAVE_FILE_EXECUTE && flags & CAVE_FILE_WRITE)
		verb = "write and execute";
	e = diff_add(d, way, arena_printf(d->arena, "%s %s", verb, path));
	e->amount = but_for(d->arena, all, p, way);
	e->at = line_of(&diff_side(d, way)->policy, p, flags);
	e->example = arena_printf(d->arena, "%s %s", flags & CAVE_FILE_WRITE ? "write" : verb, path);
	json_object_set_new(e->detail, "access", json_string(verb));
	json_object_set_new(e->detail, "path", json_string(path));
}

/* A part that no line grants: it is of the built-in set. */
static bool is_system(const struct diff *d, const struct part *p, enum diff_way way)
{
	return !line_of(&diff_side(d, way)->policy, p, gained(p, way)).file;
}

/* The built-in set comes and goes as a whole; what of it the other policy grants as well is left out. */
static void add_system(struct diff *d, const struct parts *all, enum diff_way way)
{
	struct diff_entry *e = NULL;
	json_t *paths = json_array();

	for (size_t i = 0; i < all->n; i++) {
		const struct part *p = &all->item[i];

		if (!gained(p, way) || is_said(p, way) || !is_system(d, p, way))
			continue;
		if (!e) {
			e = diff_add(d, way, "the built-in set of readable files (base system)");
			e->example = arena_printf(d->arena, "read %s", path_text(d->arena, p));
		}
		json_array_append_new(paths, json_string(path_text(d->arena, p)));
	}
	if (e)
		e->amount = arena_printf(d->arena, "%zu paths, see cavec list system", json_array_size(paths));
	if (e)
		json_object_set(e->detail, "paths", paths);
	json_decref(paths);
}

static void parts_one_way(struct diff *d, const struct parts *all, enum diff_way way)
{
	for (size_t i = 0; i < all->n; i++)
		if (gained(&all->item[i], way) && !is_said(&all->item[i], way) && !is_system(d, &all->item[i], way))
			add_part(d, all, &all->item[i], way);
	add_system(d, all, way);
}

/* --- what `deny optional` does not deny ----------------------------------------------------------- */

static unsigned either(struct reach r)
{
	return r.here | r.beneath;
}

/*
 * What comes to be after the start is denied by a line only if what it names had to be there.  Where the tool may write
 * the start is refused without it, so that this is about reading.
 */
static void add_late(struct diff *d, const struct file_rule *rule, enum diff_way way)
{
	const struct compile *side = diff_side(d, way), *other = side == d->new ? d->old : d->new;
	struct part part = { .place = rule->flags & PLACE, .path = rule->path };
	unsigned has = either(reach_of(&side->policy, &part, true));
	unsigned lacks = has & ~either(reach_of(&other->policy, &part, true));
	unsigned said = either(reach_of(&side->policy, &part, false));
	const char *path = path_text(d->arena, &part), *verb;
	struct diff_entry *e;

	lacks &= ~said;
	if (has & CAVE_FILE_WRITE || !lacks)
		return;
	verb = lacks & CAVE_FILE_EXECUTE ? "execute" : "read";
	e = diff_add(d, way, arena_printf(d->arena, "%s %s, if it is not there before the tool starts", verb, path));
	e->at = rule->at;
	e->example = arena_printf(d->arena, "%s %s", verb, path);
	json_object_set_new(e->detail, "access", json_string(verb));
	json_object_set_new(e->detail, "path", json_string(path));
}

static void late_one_way(struct diff *d, enum diff_way way)
{
	const struct policy *p = &diff_side(d, way)->policy;
	const unsigned wanted = CAVE_FILE_DENY | CAVE_FILE_OPTIONAL;

	for (size_t i = 0; i < p->nfiles; i++)
		if ((p->file[i].flags & (wanted | CAVE_FILE_ONLY_WRITE)) == wanted)
			add_late(d, &p->file[i], way);
}

void diff_files(struct diff *d)
{
	struct parts all = parts_of(d);

	parts_one_way(d, &all, DIFF_GRANTED);
	late_one_way(d, DIFF_GRANTED);
	parts_one_way(d, &all, DIFF_REFUSED);
	late_one_way(d, DIFF_REFUSED);
}
