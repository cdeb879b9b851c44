/* SPDX-License-Identifier: MIT */
/* Fixes: text is replaced, the result is compiled again, and a safe one must leave the reach as it was. */
#include <string.h>

#include "compiler/diff.h"
#include "compiler/lint.h"

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

/* The profile with another text of its file; NULL if it does not compile. */
static struct compile *compile_again(const struct lint *l, struct text text)
{
	struct compile *c = compile_begin();
	const struct source_file *f = &l->compile->sources.file[1];
	struct resolve_options o;
	uint32_t file = sources_add(&c->sources, f->name, arena_strndup(&c->arena, text.data, text.n), text.n,
				    (struct span){ 0 }, false);

	c->sources.file[file].shown = f->shown;
	loader_again(&c->loader, &c->diags, &l->compile->loader);
	o.rules = l->compile->operator;
	compile_arch(NULL, &o);
	if (compile_resolve(c, &o, file))
		return c;
	compile_end(c);
	return NULL;
}

static bool keeps_reach(const struct lint *l, struct text text)
{
	struct compile *c = compile_again(l, text);
	struct diff d;
	bool equal;

	if (!c)
		return false;
	diff_policies(&c->arena, l->compile, c, &d);
	equal = d.found.n == 0;
	diff_end(&d);
	compile_end(c);
	return equal;
}

/* Fixes are applied from the end of the file to its beginning, so that places stay what they are. */
size_t lint_apply(const struct lint *l, bool all, const char **text, size_t *size)
{
	const struct source_file *f = &l->compile->sources.file[1];
	struct text now = { f->text, f->size };
	uint32_t free_to = (uint32_t)f->size;
	size_t n = 0;

	for (size_t i = l->n; i-- > 0;) {
		const struct finding *finding = &l->item[i];
		const struct lint_fix *fix = &finding->fix;
		struct text next;

		if (fix->at.file != 1 || finding->because || (!fix->safe && !all) || fix->at.end > free_to)
			continue;
		next = replace(l->arena, now, fix);
		if (fix->safe && !all && !keeps_reach(l, next))
			continue;
		now = next;
		free_to = fix->at.begin;
		n++;
	}
	*text = now.data;
	*size = now.n;
	return n;
}
