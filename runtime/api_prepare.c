/* SPDX-License-Identifier: MIT */
/* cave.h: preparing. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runtime/api.h"
#include "runtime/descriptors.h"
#include "runtime/thread.h"

struct preparing {
	struct cave_prepared *prepared;
	struct cave_policy *policy;
	const struct cave_options *options;
};

static void copy(struct memory *m, const char **string)
{
	if (*string)
		*string = memory_string(m, *string, strlen(*string));
}

static void copy_folders(struct memory *m, struct cave_options *o)
{
	struct cave_folder *folders = MEMORY_ARRAY(m, o->nfolders + 1, struct cave_folder);

	for (size_t i = 0; i < o->nfolders; i++) {
		folders[i] = o->folders[i];
		copy(m, &folders[i].name);
		copy(m, &folders[i].path);
	}
	o->folders = folders;
}

static bool take_options(struct preparing *p, struct refusal *r)
{
	struct cave_options *o = &p->prepared->options;
	const char **strings[] = { &o->program, &o->search, &o->script, &o->workspace,
				   &o->tmpdir,	&o->directory, &o->user, &o->loader,   &o->config,
				   &o->home,	&o->record };

	if (!api_take(o, sizeof *o, p->options, "struct cave_options", r))
		return false;
	if (!o->program || !*o->program)
		return refuse(r, CAVE_FAILED, "no program");
	for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
		copy(&p->prepared->memory, strings[i]);
	copy_folders(&p->prepared->memory, o);
	return true;
}

/* After the built-in rules, before anything is made. */
static bool ask_host(const struct preparing *p, struct refusal *r)
{
	const struct cave_options *o = &p->prepared->options;
	char why[CAVE_ERROR_TEXT] = "";
	enum cave_code code = o->accept ? o->accept(o->context, p->policy, why) : CAVE_OK;

	why[sizeof why - 1] = 0;
	return code == CAVE_OK || refuse(r, code, "%s", *why ? why : "the host does not accept the policy");
}

/* What later starts would else make anew.  What cannot be had is made, or missed, by those that need it. */
static void keep(struct plan *plan)
{
	sigset_t before;
	struct refusal r;

	if (!descriptors_open_null(&plan->null, &r))
		plan->null = -1;
	if (signals_block(&before))
		return;
	namespaces_keep(plan);
	signals_restore(&before);
}

static bool find_kept(struct cave_prepared *p, struct refusal *r)
{
	struct egress_helper helper = { .path = p->options.loader };

	if (!(p->plan.artefact->requires & CAVE_REQUIRE_EGRESS))
		return true;
	sigemptyset(&helper.mask);
	if (!kept_acquire(&p->memory, p->plan.artefact, &helper, p->options.flags & CAVE_PREPARE_OWN, &p->kept,
			  r))
		return false;
	if (!p->plan.artefact->host_record)
		return true;
	p->names = MEMORY_ARRAY(&p->memory, 1, struct names_prepared);
	return names_prepare(&p->memory, &p->options, p->names, r);
}

static bool prepare(void *of, struct refusal *r)
{
	struct preparing *p = of;
	struct cave_prepared *prepared = p->prepared;

	prepared->policy = p->policy;
	if (!take_options(p, r) || !plan_check(&prepared->plan, &prepared->options, r) || !ask_host(p, r))
		return false;
	if (!records_open(&prepared->memory, &prepared->plan.rules, prepared->options.record, &prepared->records, r))
		return false;
	for (size_t i = 0; i < RECORDS; i++)
		prepared->plan.bound[1 + i] = prepared->records.fd[i];
	prepared->fresh = plan_is_fresh(p->policy, &prepared->options);
	prepared->plan.keep = !(prepared->options.flags & CAVE_PREPARE_ONCE);
	if (!prepared->fresh && !plan_make(&prepared->plan, p->policy, &prepared->options, r))
		return false;
	if (!prepared->fresh && prepared->plan.keep)
		keep(&prepared->plan);
	return find_kept(prepared, r);
}

enum cave_code cave_prepare(struct cave_policy *policy, const struct cave_options *options,
			    struct cave_prepared **out, struct cave_error *error)
{
	struct preparing p = { api_make(sizeof *p.prepared, NULL), policy, options };
	struct refusal r;
	bool ok;

	if (!p.prepared) {
		ok = refuse(&r, CAVE_FAILED, "out of memory");
		return api_answer(ok, &r, error);
	}
	plan_init(&p.prepared->plan, &p.prepared->memory, policy);
	p.prepared->plan.dumpable = prctl(PR_GET_DUMPABLE);
	kept_init(&p.prepared->kept);
	p.prepared->spare = -1;
	p.prepared->pid = getpid();
	records_init(&p.prepared->records);
	ok = api_guard(&p.prepared->memory, prepare, &p, &r);
	if (ok && (spawner_init(&p.prepared->spawner) || guard_init(&p.prepared->guard)))
		ok = refuse(&r, CAVE_FAILED, "out of memory");
	p.prepared->has_threads = ok;
	if (ok)
		*out = p.prepared;
	else
		cave_prepared_free(p.prepared);
	return api_answer(ok, &r, error);
}

void cave_prepared_free(struct cave_prepared *prepared)
{
	/* After a fork what would be ended and removed is the parent's. */
	if (!prepared || prepared->pid != getpid())
		return;
	if (prepared->has_threads) {
		spawner_end(&prepared->spawner);
		guard_end(&prepared->guard);
	}
	if (prepared->spare >= 0)
		close(prepared->spare);
	plan_close(&prepared->plan, NULL);
	if (prepared->names)
		names_unprepare(prepared->names);
	kept_release(&prepared->kept);
	records_close(&prepared->records);
	if (prepared->plan.bound[0] >= 0)
		close(prepared->plan.bound[0]);
	memory_idle_free(&prepared->idle);
	api_free(prepared, NULL);
}

int cave_prepared_group(const struct cave_prepared *prepared)
{
	return prepared->kept.group.fd;
}

const char *cave_prepared_script(const struct cave_prepared *prepared, size_t i)
{
	return i < prepared->plan.program.nscripts ? prepared->plan.program.script[i] : NULL;
}
