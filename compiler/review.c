/* SPDX-License-Identifier: MIT */
#include "compiler/review.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/artefact_read.h"
#include "compiler/compile.h"
#include "compiler/egress.h"
#include "compiler/nested.h"
#include "compiler/syscalls.h"
#include "compiler/visible.h"

static int trouble(const char *file, const char *text)
{
	complain("cavec: %s: %s", file, text);
	return EXIT_TROUBLE;
}

static int invalid(const char *path, const char *text)
{
	complain("cavec: %s: error: %s [%s]", path, text, cave_code_name(CAVE_POLICY_INVALID));
	return EXIT_REFUSED;
}

int review_usage(const char *command, const char *text, const char *what)
{
	complain("cavec %s: %s%s", command, text, what);
	fprintf(stderr, "Try: cavec %s --help\n", command);
	return EXIT_TROUBLE;
}

bool review_option(struct review_options *o, int option, const char *argument, const char *command, const char *help,
		   int *status)
{
	switch (option) {
	case REVIEW_ROOT:
		o->root = argument;
		return true;
	case REVIEW_CONFIG:
		o->config = argument;
		return true;
	case REVIEW_CAPABILITIES:
		o->capabilities = argument;
		return true;
	case 'h':
		fputs(help, stdout);
		*status = EXIT_DONE;
		return false;
	default:
		*status = review_usage(command, "see above", "");
		return false;
	}
}

/* --- artefacts ----------------------------------------------------------------------------------- */

static bool is_artefact(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[4];
	bool found = fd >= 0 && read(fd, magic, 4) == 4 && memcmp(magic, "\177ELF", 4) == 0;

	if (fd >= 0)
		close(fd);
	return found;
}

/* The bytes in the arena, where they live as long as the view of them. */
static void *read_bytes(struct arena *a, const char *path, size_t *size)
{
	void *data = artefact_read(path, size), *copy;

	if (!data)
		return NULL;
	copy = arena_alloc(a, *size + 1);
	memcpy(copy, data, *size);
	free(data);
	return copy;
}

static const struct map_list *take_maps(struct arena *a, const struct artefact *view)
{
	struct map_def *map = ARENA_ARRAY(a, view->nmaps, struct map_def);
	struct map_list *list = ARENA_ARRAY(a, 1, struct map_list);

	for (size_t i = 0; i < view->nmaps; i++)
		map[i] = (struct map_def){ view->map[i].name, view->map[i].spec, view->map[i].contents };
	*list = (struct map_list){ map, view->nmaps };
	return view->nmaps ? list : NULL;
}

/* The artefact's own programs take the place of those that would be generated. */
static void take_programs(struct compile *c, const struct artefact *view)
{
	const struct map_list *maps = take_maps(&c->arena, view);

	for (int arch = 0; arch < ARTEFACT_ARCHES; arch++) {
		const struct artefact_filter *f = &view->filter[arch];

		c->filter[arch] = (struct filter_program){ f->insn, ARENA_ARRAY(&c->arena, f->n + 1, line_id), f->n,
							   f->patch, f->npatches };
	}
	c->has_hooks = view->requires & CAVE_REQUIRE_EGRESS;
	for (size_t hook = 0; c->has_hooks && hook < CAVE_HOOK_COUNT; hook++) {
		const struct artefact_program *p = &view->program[hook];
		struct cave_resolver_patch *patch = ARENA_ARRAY(&c->arena, view->nresolver + 1, struct cave_resolver_patch);
		struct artefact_whole whole;
		struct bpf_insn *insn;
		size_t n = 0;

		artefact_whole(view, (enum cave_hook)hook, &whole);
		insn = ARENA_ARRAY(&c->arena, whole.n, struct bpf_insn);
		artefact_link(view, (enum cave_hook)hook, &whole, insn);
		for (size_t i = 0; i < view->nresolver; i++)
			if (view->resolver[i].hook == hook)
				patch[n++] = view->resolver[i];
		c->hook[hook] = (struct hook_program){ .hook = (enum cave_hook)hook,
						       .insn = insn,
						       .line = ARENA_ARRAY(&c->arena, whole.n + 1, line_id),
						       .n = whole.n,
						       .shared = whole.n - p->n,
						       .patch = patch,
						       .npatches = n,
						       .maps = maps };
	}
}

/* Everything in the manifest and the text follows from the resolved text and the programs. */
static const char *differs(struct compile *c, const struct artefact *view, const struct nested_profiles *nested)
{
	struct buffer manifest = { .arena = &c->arena }, text = { .arena = &c->arena };

	if (c->has_hooks != !net_set_empty(&c->set))
		return "it has egress programs that its text does not ask for, or lacks those that it does";
	compile_text_of(c, !c->around, &text);
	if (text.n != view->policy.size || memcmp(text.data, view->policy.data, text.n) != 0)
		return "its text is not in the canonical form of this compiler";
	manifest_write(&c->policy, c->filter, c->has_hooks ? c->hook : NULL, &c->set, nested, &manifest);
	if (manifest.n != view->manifest.size || memcmp(manifest.data, view->manifest.data, manifest.n) != 0)
		return "its manifest says something else than its text";
	return NULL;
}

/* Compares a view with the policy of its text, and proves it.  NULL, or what is wrong; or errors were recorded. */
static const char *check(struct compile *c, const struct artefact *view, const struct nested_profiles *nested)
{
	const char *fault;

	take_programs(c, view);
	fault = differs(c, view, nested);
	if (fault)
		return fault;
	for (unsigned arch = 0; arch < SYS_ARCHES; arch++)
		syscalls_prove(&c->diags, &c->rules[arch], &c->filter[arch]);
	if (c->has_hooks)
		compile_prove(c);
	return NULL;
}

/* The nested profiles of the text, each compared with the artefact within the artefact. */
static const char *check_nested(struct compile *c, const struct artefact *view, struct nested_profiles *out)
{
	struct nested_list all = nested_all(&c->arena, c);

	for (size_t i = 0; i < all.n; i++) {
		struct artefact *inner = arena_alloc(&c->arena, sizeof *inner);
		struct nested_profile *known = ARENA_PUSH(&c->arena, out->item, out->n, out->cap);
		struct artefact_error error;
		const char *fault;

		if (!artefact_nested(view, all.item[i]->policy.name, inner, &error))
			return *error.text ? arena_strdup(&c->arena, error.text) : "a nested profile of its text is not in it";
		known->name = all.item[i]->policy.name;
		memcpy(known->identity, inner->identity, CAVE_DIGEST_SIZE);
		fault = check(all.item[i], inner, NULL);
		if (fault)
			return fault;
	}
	return NULL;
}

static int open_artefact(struct compile *c, const char *path, const struct resolve_options *o)
{
	struct artefact *view = arena_alloc(&c->arena, sizeof *view);
	struct nested_profiles nested = { NULL, 0, 0 };
	struct artefact_error error;
	const char *fault;
	size_t size;
	void *data = read_bytes(&c->arena, path, &size);
	uint32_t file;

	if (!data)
		return trouble(path, strerror(errno));
	if (!artefact_open(data, size, view, &error))
		return invalid(path, error.text);
	file = sources_add(&c->sources, arena_strdup(&c->arena, path),
			   arena_strndup(&c->arena, view->policy.data, view->policy.size), view->policy.size,
			   (struct span){ 0 }, false);
	if (!compile_resolve(c, o, file))
		return EXIT_REFUSED;
	if (c->policy.bare)
		return invalid(path, "its text is a bare filter");
	fault = check_nested(c, view, &nested);
	if (!fault)
		fault = check(c, view, &nested);
	if (fault)
		return invalid(path, fault);
	return compile_errors(c) ? EXIT_REFUSED : EXIT_DONE;
}

/* --- profiles ------------------------------------------------------------------------------------ */

static int open_profile(struct compile *c, const char *path, const struct resolve_options *o,
			const struct review_options *review)
{
	uint32_t file;
	int status = compile_read(c, path, review->root, &file);

	if (status != EXIT_DONE)
		return status;
	if (!compile_resolve(c, o, file))
		return EXIT_REFUSED;
	return review->programs && !compile_generate(c) ? EXIT_REFUSED : EXIT_DONE;
}

struct compile *review_open(const char *path, const struct review_options *o, int *status)
{
	struct compile *c = compile_begin();
	struct resolve_options options = { 0 };
	const char *fault = compile_rules(c, o->config, o->capabilities, &options);

	compile_arch(NULL, &options);
	if (fault)
		*status = trouble(o->config ? o->config : o->capabilities, fault);
	else if (is_artefact(path))
		*status = open_artefact(c, path, &options);
	else
		*status = open_profile(c, path, &options, o);
	if (*status == EXIT_DONE)
		return c;
	compile_print(c, stderr);
	compile_end(c);
	return NULL;
}
