/* SPDX-License-Identifier: MIT */
/*
 * A path is allowed if a record grants it, or a folder that it lies in, and no denial has it or a part of it.  It is
 * denied if no record grants anything of it: neither itself, nor a folder that it lies in, nor what lies in it; or if a
 * denial has it.  A denial of writing says nothing of the other rights.  Paths are compared as text: where links lead
 * is the host's affair, and the runtime's.
 *
 * Where the home folder is, nobody knows before the start, and so not whether a path of the machine lies in it: what is
 * granted of the one denies nothing of the other for certain, but of what is the system's.
 */
#include "compiler/grants_expect.h"

#include <string.h>

#include "bpf/limits.h"
#include "compiler/paths.h"

static const struct span nowhere;

/* What the records say of one path. */
struct verdict {
	bool granted, denied;
	const char *grant; /* a record that grants it, or a part of it, as it is spelled; NULL: none does */
	const char *denial; /* one that denies a part of it */
	const char *maybe; /* one that may grant it, or a part of it, if the home folder is there */
};

/* A private /dev/shm is found where the host's is. */
static struct file_path path_of(struct arena *arena, const struct artefact_record *record)
{
	if (record->flags & CAVE_FILE_SHM)
		return (struct file_path){ "/dev/shm", 0 };
	return (struct file_path){ arena_strndup(arena, record->payload, record->length), record->flags };
}

static void judge_record(struct arena *arena, const struct artefact_record *record, const struct file_path *asked,
			 unsigned right, struct verdict *v)
{
	struct file_path of = path_of(arena, record);
	bool above = path_below(asked, &of), inside = path_below(&of, asked);
	bool file = right == CAVE_FILE_EXECUTE && !(of.flags & CAVE_FILE_FOLDER) && !path_is_place(of.path, of.flags);
	const char *spelling;

	/* What may be executed and has no final slash is a file, with nothing below. */
	if (file && !(record->flags & CAVE_FILE_DENY))
		above = above && inside;
	if (!(record->flags & CAVE_FILE_DENY) && record->flags & right && path_may_meet(asked, &of))
		v->maybe = path_spelling(arena, of.path, of.flags);
	if ((!above && !inside) || (!(record->flags & CAVE_FILE_DENY) && !(record->flags & right)) ||
	    (record->flags & CAVE_FILE_ONLY_WRITE && right != CAVE_FILE_WRITE))
		return;
	spelling = path_spelling(arena, of.path, of.flags);
	if (!(record->flags & CAVE_FILE_DENY)) {
		v->granted |= above;
		v->grant = spelling;
		return;
	}
	v->denied |= above;
	v->denial = spelling;
}

static struct verdict judge(struct arena *arena, const struct artefact *a, const struct grant_expectation *x)
{
	struct file_path asked = { x->name, x->flags };
	struct artefact_record record;
	struct verdict v = { .granted = false };

	for (size_t at = 0; artefact_next(a, &at, &record);)
		if (record.type == CAVE_RECORD_FILE)
			judge_record(arena, &record, &asked, x->right, &v);
	return v;
}

/* Nothing grants it, unless the home folder is there. */
static void uncertain(struct diags *d, const struct grant_expectation *x, const char *grant)
{
	struct diag *e = diag_error(d, CAVE_EXPECTATION_FAILED, x->at,
				    "this is not certain: where the home folder is, is known at the start only");

	diag_note(d, e, nowhere, "the grant of %s may reach it", grant);
	diag_note(d, e, nowhere, "it holds with `deny %s%s` in files, which wins",
		  x->right == CAVE_FILE_WRITE ? "write " : "", path_spelling(d->sources->arena, x->name, x->flags));
}

static void expect_file(struct diags *d, const struct artefact *a, const struct grant_expectation *x)
{
	struct verdict v = judge(d->sources->arena, a, x);
	struct diag *e;

	if (x->allow && v.granted && !v.denial)
		return;
	if (!x->allow && !v.denied && !v.grant && v.maybe)
		uncertain(d, x, v.maybe);
	if (!x->allow && (v.denied || !v.grant))
		return;
	e = diag_error(d, CAVE_EXPECTATION_FAILED, x->at, "this expectation does not hold: it is %s",
		       !x->allow ? "granted" : v.granted ? "granted, and denied in part or whole" : "not granted");
	if (!x->allow)
		diag_note(d, e, nowhere, "by the grant of %s", v.grant);
	else if (v.granted)
		diag_note(d, e, nowhere, "by the denial of %s", v.denial);
	else if (v.grant)
		diag_note(d, e, nowhere, "only a part of it is: %s", v.grant);
}

/* What the runtime sets by itself, beside what the profile names (docs/runtime.md). */
static bool is_always_set(const struct artefact *a, const char *name)
{
	static const char *const names[] = { "LANG", "LC_ALL", "PATH", "TZ" };
	struct artefact_record record;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	for (size_t at = 0; strcmp(name, "TMPDIR") == 0 && artefact_next(a, &at, &record);)
		if (record.type == CAVE_RECORD_FILE && record.flags & CAVE_FILE_TMP && !(record.flags & CAVE_FILE_DENY))
			return true;
	return false;
}

static void expect_variable(struct diags *d, const struct artefact *a, const struct grant_expectation *x)
{
	bool given = is_always_set(a, x->name);
	struct artefact_record record;

	for (size_t at = 0; artefact_next(a, &at, &record);) {
		size_t n = record.type == CAVE_RECORD_ENV_SET ? strnlen(record.payload, record.length) : record.length;

		given |= record.type >= CAVE_RECORD_CREDENTIAL && record.type <= CAVE_RECORD_ENV_SET &&
			 strlen(x->name) == n && memcmp(record.payload, x->name, n) == 0;
	}
	if (given != x->allow)
		diag_error(d, CAVE_EXPECTATION_FAILED, x->at, "this expectation does not hold: the variable %s",
			   given ? "reaches the tool" : "does not reach the tool");
}

/* A limit of 0 is none. */
static bool has_so_much(const struct artefact *a, const struct limit_expectation *x)
{
	uint64_t most = x->limit == CAVE_LIMITS ? a->max_children : a->limits.value[x->limit];

	if (x->limit == CAVE_LIMITS)
		return most >= x->value;
	return !most || (x->value && most >= x->value);
}

static void expect_bound(struct diags *d, const struct artefact *a, const struct limit_expectation *x)
{
	const struct limit_row *row = x->limit == CAVE_LIMITS ? NULL : &limit_table[x->limit];
	char text[LIMIT_TEXT];

	if (has_so_much(a, x) == x->allow)
		return;
	if (row)
		diag_error(d, CAVE_EXPECTATION_FAILED, x->at, "this expectation does not hold: the limit %s is %s",
			   row->name, limit_text(row->kind, a->limits.value[x->limit], text));
	else
		diag_error(d, CAVE_EXPECTATION_FAILED, x->at,
			   "this expectation does not hold: at most %u processes may be beside the tool",
			   a->max_children);
}

void grants_expect(struct diags *d, const struct policy *p, const struct artefact *a)
{
	for (size_t i = 0; i < p->ngrants; i++)
		(p->grant[i].right ? expect_file : expect_variable)(d, a, &p->grant[i]);
	for (size_t i = 0; i < p->nbounds_expected; i++)
		expect_bound(d, a, &p->bound_expected[i]);
}
