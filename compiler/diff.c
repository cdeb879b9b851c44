/* SPDX-License-Identifier: MIT */
#include "compiler/diff.h"

#include "cave/artefact.h"
#include "compiler/nested.h"
#include "compiler/paths.h"
#include "compiler/syscalls.h"

#include <string.h>

static const struct diff_kind kinds[] = {
	{ "destination", "destinations", diff_destinations },
	{ "name", "host names", diff_names },
	{ "listen", "listening", diff_listens },
	{ "denial", "denials", diff_denials },
	{ "credential", "credentials", diff_credentials },
	{ "environment", "environment", diff_env },
	{ "file", "files", diff_files },
	{ "children", "other processes", diff_children },
	{ "limit", "limits", diff_limits },
	{ "syscall", "system calls", diff_syscalls },
	{ "profile", "nested profiles", diff_nested }, /* the last one */
};

const struct compile *diff_side(const struct diff *d, enum diff_way way)
{
	return way == DIFF_REFUSED ? d->old : d->new;
}

struct diff_entry *diff_add(struct diff *d, enum diff_way way, const char *text)
{
	struct diff_entry *e = ARENA_PUSH(d->arena, d->found.item, d->found.n, d->found.cap);

	*e = (struct diff_entry){ .kind = d->kind, .way = way, .text = text, .side = diff_side(d, way),
				  .detail = json_object() };
	return e;
}

enum { KINDS = sizeof kinds / sizeof *kinds };

const struct diff_kind *diff_kind_of(const char *name)
{
	size_t i = 0;

	while (strcmp(kinds[i].name, name) != 0)
		i++;
	return &kinds[i];
}

/* The rules of the old policy without what only bounds a grant that the new one has not. */
static const struct sys_rules *resolve_around(struct diff *d)
{
	struct sys_rules *around = ARENA_ARRAY(d->arena, SYS_ARCHES, struct sys_rules);
	struct sources sources = d->old->sources;
	struct diags none;

	sources.arena = d->arena;
	sources.line_cap = sources.nlines; /* new lines go elsewhere */
	diags_init(&none, &sources);
	syscalls_resolve_around(&none, d->arena, &d->old->policy, &d->old->set, &d->new->policy, &d->new->set, around);
	return around;
}

void diff_policies(struct arena *a, const struct compile *old, const struct compile *new, struct diff *out)
{
	/* Of two profiles that are nested in others, or one in the other, it is their own reach that counts. */
	size_t n = old->around || new->around ? KINDS - 1 : KINDS;

	*out = (struct diff){ .arena = a, .old = old, .new = new };
	out->around = resolve_around(out);
	for (size_t i = 0; i < n; i++) {
		out->kind = &kinds[i];
		kinds[i].compare(out);
	}
	out->kind = &kinds[0];
	diff_held(out);
}

/* --- nested profiles ----------------------------------------------------------------------------- */

static void take(struct diff *d, struct diff_entries *to, const struct diff_entries *from, const char *profile)
{
	for (size_t i = 0; i < from->n; i++) {
		struct diff_entry *e = ARENA_PUSH(d->arena, to->item, to->n, to->cap);

		*e = from->item[i];
		e->profile = profile;
	}
}

/* Those of one name are compared; one that was not there lies within the profile around it, which is compared. */
void diff_nested(struct diff *d)
{
	struct nested_list new = nested_all(d->arena, d->new), old = nested_all(d->arena, d->old);

	for (size_t i = 0; i < new.n; i++) {
		const char *name = new.item[i]->policy.name;
		const struct compile *before = nested_find(d->arena, d->old, name);
		struct diff inner;

		if (!before) {
			diff_add(d, DIFF_CHANGED, arena_printf(d->arena, "%s is new, within the profile around it", name))->at =
				new.item[i]->policy.at;
			continue;
		}
		diff_policies(d->arena, before, new.item[i], &inner);
		take(d, &d->found, &inner.found, name);
		take(d, &d->held, &inner.held, name);
	}
	for (size_t i = 0; i < old.n; i++)
		if (!nested_find(d->arena, d->new, old.item[i]->policy.name))
			diff_add(d, DIFF_REFUSED, old.item[i]->policy.name)->at = old.item[i]->policy.at;
}

void diff_end(struct diff *d)
{
	for (size_t i = 0; i < d->found.n; i++)
		json_decref(d->found.item[i].detail);
	for (size_t i = 0; i < d->held.n; i++)
		json_decref(d->held.item[i].detail);
}

size_t diff_count(const struct diff *d, enum diff_way way)
{
	size_t n = 0;

	for (size_t i = 0; i < d->found.n; i++)
		n += d->found.item[i].way == way;
	return n;
}

const struct diff_entry *diff_first_granted(const struct diff *d)
{
	for (size_t i = 0; i < d->found.n; i++)
		if (d->found.item[i].way == DIFF_GRANTED)
			return &d->found.item[i];
	return NULL;
}

unsigned diff_line(const struct diff_entry *e, const char **file)
{
	const struct source_file *f = &e->side->sources.file[e->at.file];
	unsigned line, column;

	if (!e->at.file)
		return 0;
	source_position(f, e->at.begin, &line, &column);
	*file = f->shown;
	return line;
}

/* --- names --------------------------------------------------------------------------------------- */

static bool has_credential(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->ncredentials; i++)
		if (strcmp(p->credential[i], name) == 0)
			return true;
	return false;
}

static void credentials_one_way(struct diff *d, const struct policy *has, const struct policy *lacks, enum diff_way way)
{
	for (size_t i = 0; i < has->ncredentials; i++) {
		struct diff_entry *e;

		if (has_credential(lacks, has->credential[i]))
			continue;
		e = diff_add(d, way, has->credential[i]);
		e->example = arena_printf(d->arena, "env %s", has->credential[i]);
	}
}

void diff_credentials(struct diff *d)
{
	credentials_one_way(d, &d->new->policy, &d->old->policy, DIFF_GRANTED);
	credentials_one_way(d, &d->old->policy, &d->new->policy, DIFF_REFUSED);
}

/* As a profile says it; the places in a value are spelled out. */
static const char *env_text(struct arena *a, const struct env_entry *e)
{
	if (!e->value)
		return arena_printf(a, "pass %s", e->name);
	return arena_printf(a, "set %s %s", e->name, value_spelling(a, e->value));
}

static bool has_entry(const struct policy *p, const struct env_entry *e)
{
	for (size_t i = 0; i < p->nenv; i++) {
		const struct env_entry *x = &p->env[i];

		if (strcmp(x->name, e->name) == 0 && (x->value == NULL) == (e->value == NULL) &&
		    (!x->value || strcmp(x->value, e->value) == 0))
			return true;
	}
	return false;
}

static void env_one_way(struct diff *d, const struct policy *has, const struct policy *lacks, enum diff_way way)
{
	for (size_t i = 0; i < has->nenv; i++) {
		struct diff_entry *e;

		if (has_entry(lacks, &has->env[i]))
			continue;
		e = diff_add(d, way, env_text(d->arena, &has->env[i]));
		e->at = has->env[i].at;
		e->example = arena_printf(d->arena, "env %s", has->env[i].name);
	}
}

/* Another value of a variable is one that was not given before. */
void diff_env(struct diff *d)
{
	env_one_way(d, &d->new->policy, &d->old->policy, DIFF_GRANTED);
	env_one_way(d, &d->old->policy, &d->new->policy, DIFF_REFUSED);
}
