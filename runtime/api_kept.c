/* SPDX-License-Identifier: MIT */
/* cave.h: policies that are kept. */
#include <signal.h>
#include <unistd.h>

#include "runtime/api.h"

/* All three take memory that is freed when they are done. */
struct keeping {
	struct memory memory; /* holds this as well */
	struct cave_policy *policy;
	const struct cave_options *asked;
	struct cave_options options;
	struct plan plan;
	struct kept kept;
	cave_kept_seen seen;
	void *context;
	unsigned gone, busy;
};

static enum cave_code with(struct keeping *k, bool (*step)(void *of, struct refusal *r), struct cave_error *error)
{
	struct refusal r;
	bool ok = k ? api_guard(&k->memory, step, k, &r) : refuse(&r, CAVE_FAILED, "out of memory");

	return api_answer(ok, &r, error);
}

static bool keep(void *of, struct refusal *r)
{
	struct keeping *k = of;
	struct egress_helper helper = { .path = NULL };

	if (!api_take(&k->options, sizeof k->options, k->asked, "struct cave_options", r))
		return false;
	plan_init(&k->plan, &k->memory, k->policy);
	if (!plan_check(&k->plan, &k->options, r))
		return false;
	if (!(k->plan.artefact->requires & CAVE_REQUIRE_EGRESS))
		return true;
	helper.path = k->options.loader;
	sigemptyset(&helper.mask);
	return kept_acquire(&k->memory, k->plan.artefact, &helper, false, &k->kept, r) && kept_verify(&k->kept, r);
}

enum cave_code cave_keep(struct cave_policy *policy, const struct cave_options *options, struct cave_error *error)
{
	struct keeping *k = api_make(sizeof *k, NULL);
	enum cave_code code;

	if (k) {
		k->policy = policy;
		k->asked = options;
		kept_init(&k->kept);
	}
	code = with(k, keep, error);
	if (k) {
		kept_release(&k->kept);
		api_free(k, NULL);
	}
	return code;
}

static bool show(void *of, const struct kept_entry *e)
{
	const struct keeping *k = of;
	const struct cave_kept kept = {
		.size = sizeof kept,
		.identity = e->record ? e->record->identity : NULL,
		.name = e->record ? e->record->name : "",
		.path = e->path,
		.used = e->used,
		.unused_s = e->unused_s,
	};

	return k->seen(k->context, &kept);
}

static bool list(void *of, struct refusal *r)
{
	struct keeping *k = of;

	return kept_list(&k->memory, show, k, r);
}

enum cave_code cave_kept_list(cave_kept_seen seen, void *context, struct cave_error *error)
{
	struct keeping *k = api_make(sizeof *k, NULL);
	enum cave_code code;

	if (k) {
		k->seen = seen;
		k->context = context;
	}
	code = with(k, list, error);
	if (k)
		api_free(k, NULL);
	return code;
}

static bool forget(void *of, struct refusal *r)
{
	struct keeping *k = of;

	return kept_forget(&k->memory, k->policy ? k->policy->artefact->identity : NULL, &k->gone, &k->busy, r);
}

enum cave_code cave_kept_forget(const struct cave_policy *policy, unsigned *gone, unsigned *busy,
				struct cave_error *error)
{
	struct keeping *k = api_make(sizeof *k, NULL);
	enum cave_code code;

	if (k)
		k->policy = (struct cave_policy *)policy;
	code = with(k, forget, error);
	if (!code) {
		*gone = k->gone;
		*busy = k->busy;
	}
	if (k)
		api_free(k, NULL);
	return code;
}
