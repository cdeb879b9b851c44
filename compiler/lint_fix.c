/* SPDX-License-Identifier: MIT */
/* Fixes: text is replaced, the result is compiled again, and compared with what it was. */
#include <string.h>

#include "compiler/diff.h"
#include "compiler/lint.h"
#include "compiler/visible.h"

struct text {
	const char *data;
	size_t n;
};

static struct text replace(struct arena *a, struct text old, const struct lint_fix *fix)
{
	struct buffer b = { .arena = a };

	buffer_add(&b, old.data, fix->at.begin);
	buffer_add(&b, fix->text, strlen(fix->text));
	buffer_add(&b, old.data + fix->at.end, old.n - fix->at.end);
	buffer_add(&b, "", 1);
	return (struct text){ b.data, b.n - 1 };
}

/* The profile with another text of its file; NULL if it does not compile, with what it expects and the proof. */
static struct compile *compile_again(const struct compile *was, struct text text)
{
	struct compile *c = compile_begin();
	const struct source_file *f = &was->sources.file[1];
	struct resolve_options o;
	const char *fault;
	uint32_t file = sources_add(&c->sources, f->name, arena_strndup(&c->arena, text.data, text.n), text.n,
				    (struct span){ 0 }, false);

	c->sources.file[file].shown = f->shown;
	loader_again(&c->loader, &c->diags, &was->loader);
	c->operator = was->operator;
	o.rules = was->operator;
	compile_arch(NULL, &o);
	if (compile_whole(c, &o, file, &fault))
		return c;
	compile_end(c);
	return NULL;
}

/* The policy with the fix, if that is as it must be; else NULL. */
static struct compile *with_fix(const struct compile *was, const struct lint_fix *fix, bool all)
{
	const struct source_file *f = &was->sources.file[1];
	struct arena scratch = { NULL };
	struct compile *c = compile_again(was, replace(&scratch, (struct text){ f->text, f->size }, fix));
	struct diff d;
	bool good;

	arena_free(&scratch);
	if (!c)
		return NULL;
	diff_policies(&c->arena, was, c, &d);
	good = diff_count(&d, DIFF_GRANTED) == 0 && (all || d.found.n == 0);
	diff_end(&d);
	if (good)
		return c;
	compile_end(c);
	return NULL;
}

static bool is_wanted(const struct finding *f, bool all)
{
	return f->fix.at.file == 1 && !f->because && (f->fix.safe || all);
}

static void say(const struct lint *l, const struct finding *f, FILE *to)
{
	const char *file = l->path;
	unsigned line = 1, column;

	lint_place(l, f->at, &file, &line, &column);
	visible_put(file, strlen(file), to);
	fprintf(to, ":%u: CAVE%u: ", line, f->rule->id);
	visible_put(f->fix.what, strlen(f->fix.what), to);
	fputc('\n', to);
}

/* From the end of the file to its beginning, so that places stay what they are; two that overlap are not both made. */
static struct compile *apply_once(const struct lint *l, bool all, FILE *to)
{
	struct compile *now = NULL;
	uint32_t free_to = UINT32_MAX;

	for (uint32_t i = 0; i < l->n; i++) {
		const struct finding *last = NULL;
		struct compile *next;

		/* The last fix that ends before what was fixed already. */
		for (size_t k = 0; k < l->n; k++)
			if (is_wanted(&l->item[k], all) && l->item[k].fix.at.end <= free_to &&
			    l->item[k].fix.at.begin < free_to && (!last || l->item[k].fix.at.begin > last->fix.at.begin))
				last = &l->item[k];
		if (!last)
			break;
		free_to = last->fix.at.begin;
		next = with_fix(now ? now : l->compile, &last->fix, all);
		if (!next)
			continue;
		say(l, last, to);
		if (now)
			compile_end(now);
		now = next;
	}
	return now;
}

enum { ROUNDS_MAX = 16 };

struct compile *lint_apply(const struct lint *l, bool all, FILE *to)
{
	struct compile *now = apply_once(l, all, to);

	for (unsigned i = 0; now && i < ROUNDS_MAX; i++) {
		struct lint again = { .arena = &now->arena, .compile = now, .path = l->path };
		struct compile *next;

		lint_policy(&again);
		next = apply_once(&again, all, to);
		if (!next)
			break;
		compile_end(now);
		now = next;
	}
	return now;
}
