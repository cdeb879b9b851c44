/* SPDX-License-Identifier: MIT */
/* limits { … } and childProcess { … }. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/limits.h"
#include "compiler/resolve.h"

static const struct span nowhere;

/* --- values --------------------------------------------------------------------------------------- */

/* The digits at the beginning of `text`; false if there are none, a zero too many, or too many for uint64_t. */
static bool read_number(const char *text, uint64_t *value, const char **end)
{
	char *after;

	if (*text < '0' || *text > '9' || (*text == '0' && text[1] >= '0' && text[1] <= '9'))
		return false;
	errno = 0;
	*value = strtoull(text, &after, 10);
	*end = after;
	return errno == 0;
}

static const char *unit_names(struct arena *a, enum limit_kind kind)
{
	const char *text = "";

	for (const struct limit_unit *u = limit_units(kind); u->name; u++)
		text = arena_printf(a, "%s%s%s", text, *text ? " " : "", u->name);
	return text;
}

/* What a person meant who wrote a unit that there is not, or none; NULL if that cannot be told. */
static const char *meant_unit(enum limit_kind kind, const char *unit)
{
	static const struct {
		enum limit_kind kind;
		const char *written, *meant;
	} slips[] = {
		{ LIMIT_DURATION, "m", "min" }, { LIMIT_DURATION, "M", "min" },	 { LIMIT_DURATION, "sec", "s" },
		{ LIMIT_DURATION, "S", "s" },	{ LIMIT_DURATION, "mins", "min" }, { LIMIT_DURATION, "hr", "h" },
		{ LIMIT_SIZE, "k", "KiB" },	{ LIMIT_SIZE, "K", "KiB" },	 { LIMIT_SIZE, "kB", "KiB" },
		{ LIMIT_SIZE, "KB", "KiB" },	{ LIMIT_SIZE, "m", "MiB" },	 { LIMIT_SIZE, "M", "MiB" },
		{ LIMIT_SIZE, "MB", "MiB" },	{ LIMIT_SIZE, "g", "GiB" },	 { LIMIT_SIZE, "G", "GiB" },
		{ LIMIT_SIZE, "GB", "GiB" },	{ LIMIT_SIZE, "T", "TiB" },	 { LIMIT_SIZE, "TB", "TiB" },
		{ LIMIT_SIZE, "b", "B" },
	};

	for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
		if (slips[i].kind == kind && strcmp(slips[i].written, unit) == 0)
			return slips[i].meant;
	return NULL;
}

static void refuse_value(struct resolver *r, const struct limit_row *row, const struct node *n)
{
	static const char *const what[] = { "a duration", "a size", "a number" };
	struct diag *e = diag_error(r->diags, CAVE_VALUE, n->at, "'%s' is not %s", n->text, what[row->kind]);
	const char *end, *meant;
	uint64_t value;

	if (n->kind == N_STRING) {
		diag_note(r->diags, e, nowhere, "write it without quotes");
		return;
	}
	/* What begins with a zero and goes on as a number does in other languages is meant as one. */
	if (!read_number(n->text, &value, &end) || (!value && *end && row->kind == LIMIT_COUNT)) {
		diag_note(r->diags, e, nowhere, "a value is digits, without a sign, a fraction or leading zeros%s%s",
			  row->kind == LIMIT_COUNT ? "" : ", and one of these units: ",
			  row->kind == LIMIT_COUNT ? "" : unit_names(r->arena, row->kind));
		return;
	}
	if (row->kind == LIMIT_COUNT) {
		diag_note(r->diags, e, nowhere, "a count has no unit; write: %s %" PRIu64, row->name, value);
		return;
	}
	meant = meant_unit(row->kind, end);
	if (meant)
		diag_note(r->diags, e, nowhere, "did you mean '%" PRIu64 "%s'?", value, meant);
	else
		diag_note(r->diags, e, nowhere, "the units are: %s", unit_names(r->arena, row->kind));
}

/* The factor of the unit, 0 if there is no such unit. */
static uint64_t factor_of(enum limit_kind kind, const char *unit)
{
	if (kind == LIMIT_COUNT)
		return *unit == '\0';
	for (const struct limit_unit *u = limit_units(kind); u->name; u++)
		if (strcmp(u->name, unit) == 0)
			return u->factor;
	return 0;
}

static void refuse_bounds(struct resolver *r, const struct limit_row *row, const struct node *n, uint64_t value)
{
	char least[LIMIT_TEXT], most[LIMIT_TEXT], step[LIMIT_TEXT];
	struct diag *e = diag_error(r->diags, CAVE_VALUE, n->at, "'%s' cannot be a limit of %s", n->text, row->name);

	if (value == 0)
		diag_note(r->diags, e, nowhere, "nothing can run with none of it; for no limit write: %s none", row->name);
	else if (value < row->min || value > row->max)
		diag_note(r->diags, e, nowhere, "it is at least %s and at most %s", limit_text(row->kind, row->min, least),
			  limit_text(row->kind, row->max, most));
	else
		diag_note(r->diags, e, nowhere, "it must be a multiple of %s, as the kernel counts it",
			  limit_text(row->kind, row->multiple, step));
}

bool limit_value(struct resolver *r, enum cave_limit limit, const struct node *n, uint64_t *out)
{
	const struct limit_row *row = &limit_table[limit];
	uint64_t value, factor, product;
	const char *end;

	if (strcmp(n->text, "none") == 0) {
		*out = 0;
		return true;
	}
	if (n->kind != N_WORD || !read_number(n->text, &value, &end) || !(factor = factor_of(row->kind, end))) {
		refuse_value(r, row, n);
		return false;
	}
	if (__builtin_mul_overflow(value, factor, &product))
		product = UINT64_MAX; /* above every bound */
	if (product == 0 || !limit_valid(limit, product)) {
		refuse_bounds(r, row, n, product);
		return false;
	}
	*out = product;
	return true;
}

/* --- limits --------------------------------------------------------------------------------------- */

static const char *limit_name(const void *context, size_t i)
{
	(void)context;
	return i < CAVE_LIMITS ? limit_table[i].name : NULL;
}

static void unknown_limit(struct resolver *r, const struct node *n)
{
	const char *meant = did_you_mean(n->text, limit_name, NULL);
	struct diag *e = diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "no limit is called '%s'", n->text);
	const char *all = "";

	for (unsigned i = 0; i < CAVE_LIMITS; i++)
		all = arena_printf(r->arena, "%s%s%s", all, i ? ", " : "", limit_table[i].name);
	if (meant)
		diag_note(r->diags, e, nowhere, "did you mean '%s'?", meant);
	else
		diag_note(r->diags, e, nowhere, "they are: %s", all);
}

/* A value that was given before must have been the same, however it was spelled. */
static void set_limit(struct resolver *r, enum cave_limit limit, uint64_t value, struct span at)
{
	uint64_t *old = &r->policy->limits.value[limit];
	struct diag *e;

	if (r->policy->limit_at[limit].file && *old != value) {
		e = diag_error(r->diags, CAVE_CONTRADICTION, at, "%s has two values", limit_table[limit].name);
		diag_note(r->diags, e, r->policy->limit_at[limit], "the other one is here");
		return;
	}
	r->policy->limit_at[limit] = at;
	*old = value;
}

unsigned limit_named(const char *name)
{
	unsigned limit = 0;

	while (limit < CAVE_LIMITS && strcmp(limit_table[limit].name, name) != 0)
		limit++;
	return limit;
}

static void resolve_limit(struct resolver *r, const struct node *n)
{
	unsigned limit = limit_named(n->text);
	uint64_t value;

	if (limit == CAVE_LIMITS)
		unknown_limit(r, n);
	else if (n->kids->next)
		diag_error(r->diags, CAVE_SYNTAX, n->kids->next->at, "a limit has one value");
	else if (limit_value(r, limit, n->kids, &value))
		set_limit(r, limit, value, n->kids->at);
}

void resolve_limits(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next)
		resolve_limit(r, n);
}

/* --- childProcess --------------------------------------------------------------------------------- */

bool processes_value(struct resolver *r, const struct node *n, uint64_t *out)
{
	const char *end;
	struct diag *e;

	if (n->kind == N_WORD && read_number(n->text, out, &end) && !*end && *out <= CAVE_CHILDREN_MAX)
		return true;
	e = diag_error(r->diags, CAVE_VALUE, n->at, "'%s' is no number of processes", n->text);
	diag_note(r->diags, e, nowhere,
		  "from 0, which lets the tool replace itself by another program, to %d; the tool itself is not counted",
		  CAVE_CHILDREN_MAX);
	return false;
}

static void resolve_max(struct resolver *r, const struct node *n)
{
	const struct node *value = n->kids;
	uint64_t max;

	/* One fault is enough: it is not missing as well. */
	if (!r->max_processes.at.file)
		r->max_processes = (struct scalar){ value->at, value->text };
	if (value->next)
		diag_error(r->diags, CAVE_SYNTAX, value->next->at, "max-processes has one value");
	else if (processes_value(r, value, &max))
		scalar_set(r, &r->max_processes, "max-processes", value->text, value->at);
}

static void resolve_execute(struct resolver *r, const struct node *n)
{
	r->programs_named = true;
	resolve_paths(r, n->kids, CAVE_FILE_READ | CAVE_FILE_EXECUTE);
}

static void resolve_setting(struct resolver *r, const struct node *n)
{
	static const char *const names[] = { "max-processes", "execute", NULL };

	if (strcmp(n->text, "max-processes") == 0)
		resolve_max(r, n);
	else if (strcmp(n->text, "execute") == 0)
		resolve_execute(r, n);
	else
		stranger(r, n, "childProcess", names);
}

static void resolve_block(struct resolver *r, const struct node *n)
{
	scalar_set(r, &r->children, "childProcess", "{ … }", n->name);
	for (const struct node *i = n->kids->kids; i; i = i->next)
		resolve_setting(r, i);
}

void resolve_children(struct resolver *r, const struct node *n)
{
	const struct node *value = n->kids;
	struct diag *e;

	if (value->kind == N_BLOCK) {
		resolve_block(r, n);
	} else if (strcmp(value->text, "true") == 0) {
		e = diag_error(r->diags, CAVE_CHILD_CONTAINMENT, value->at,
			       "children without a bound cannot be contained");
		diag_note(r->diags, e, nowhere,
			  "write: childProcess { max-processes N; execute \"/path\" }, or: childProcess false");
	} else if (strcmp(value->text, "false") != 0) {
		e = diag_error(r->diags, CAVE_VALUE, value->at, "'%s' is neither true nor false", value->text);
		diag_note(r->diags, e, nowhere,
			  "write: childProcess false, or: childProcess { max-processes N; execute \"/path\" }");
	} else {
		scalar_set(r, &r->children, "childProcess", value->text, value->at);
	}
}

static const struct file_rule *executable(const struct policy *p)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->file[i].flags & CAVE_FILE_EXECUTE)
			return &p->file[i];
	return NULL;
}

/* A path of the host's /proc that is not about processes. */
static bool is_of_host(const struct file_rule *f)
{
	const char *below = strncmp(f->path, "/proc", 5) == 0 ? f->path + 5 : NULL;

	if (!below || (*below && *below != '/') || f->flags & (CAVE_FILE_SYSTEM | CAVE_FILE_OPTIONAL))
		return false;
	return strcmp(below, "/self") != 0 && strncmp(below, "/self/", 6) != 0;
}

/* With processes of its own, the tool has a /proc of its own. */
static void check_proc(struct resolver *r)
{
	const struct policy *p = r->policy;

	for (size_t i = 0; i < p->nfiles; i++)
		if (is_of_host(&p->file[i]))
			diag_note(r->diags,
				  diag_error(r->diags, CAVE_CONTRADICTION, p->file[i].at,
					     "this is not to be had beside processes of its own: /proc then holds those, "
					     "and nothing else"),
				  r->children.at, "they are granted here");
}

/* After finish_files(). */
void finish_children(struct resolver *r)
{
	struct policy *p = r->policy;
	struct diag *e = NULL;

	if (!r->children.at.file || strcmp(r->children.value, "false") == 0)
		return;
	if (!r->max_processes.at.file) {
		e = diag_error(r->diags, CAVE_SYNTAX, r->children.at,
			       "childProcess { … } does not say how many there may be");
		diag_note(r->diags, e, nowhere, "write: max-processes N");
	} else if (!executable(p) && !r->programs_named) {
		e = diag_error(r->diags, CAVE_CONTRADICTION, r->children.at, "nothing is named that may be started");
		diag_note(r->diags, e, nowhere, "write: execute \"/path/of/a/program\"");
	}
	p->children = true;
	p->children_at = r->children.at;
	p->max_processes = e ? 0 : (unsigned)strtoul(r->max_processes.value, NULL, 10);
	if (p->max_processes)
		check_proc(r);
}
