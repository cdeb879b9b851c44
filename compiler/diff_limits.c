/* SPDX-License-Identifier: MIT */
/* How much a run may use, and how many processes it may be. */
#include "bpf/limits.h"
#include "compiler/diff.h"

/* No limit is more than any. */
static bool more(uint64_t a, uint64_t b)
{
	return a != b && (a == 0 || (b != 0 && a > b));
}

static void limit_one_way(struct diff *d, unsigned limit, enum diff_way way)
{
	const struct policy *with = &diff_side(d, way)->policy;
	const struct policy *without = with == &d->new->policy ? &d->old->policy : &d->new->policy;
	const struct limit_row *row = &limit_table[limit];
	char much[LIMIT_TEXT], less[LIMIT_TEXT];
	struct diff_entry *e;

	if (!more(with->limits.value[limit], without->limits.value[limit]))
		return;
	e = diff_add(d, way, arena_printf(d->arena, "%s %s", row->name,
					  limit_text(row->kind, with->limits.value[limit], much)));
	e->amount = arena_printf(d->arena, "%s %s", way == DIFF_GRANTED ? "was" : "is",
				 limit_text(row->kind, without->limits.value[limit], less));
	e->at = with->limit_at[limit];
}

void diff_limits(struct diff *d)
{
	for (unsigned limit = 0; limit < CAVE_LIMITS; limit++) {
		limit_one_way(d, limit, DIFF_GRANTED);
		limit_one_way(d, limit, DIFF_REFUSED);
	}
}

static const char *children_text(struct arena *a, const struct policy *p)
{
	return p->children ? arena_printf(a, "max-processes %u", p->max_processes) : "none";
}

static void children_one_way(struct diff *d, enum diff_way way)
{
	const struct policy *with = &diff_side(d, way)->policy;
	const struct policy *without = with == &d->new->policy ? &d->old->policy : &d->new->policy;
	struct diff_entry *e;

	if (!with->children || (without->children && with->max_processes <= without->max_processes))
		return;
	e = diff_add(d, way, children_text(d->arena, with));
	e->amount = arena_printf(d->arena, "%s %s", way == DIFF_GRANTED ? "was" : "is", children_text(d->arena, without));
	e->at = with->children_at;
}

void diff_children(struct diff *d)
{
	children_one_way(d, DIFF_GRANTED);
	children_one_way(d, DIFF_REFUSED);
}
