/* SPDX-License-Identifier: MIT */
#include "runtime/tool.h"

#include "runtime/contained.h"

#include <string.h>
#include <unistd.h>

enum { DRAIN_MS = 250, DRAIN_STEP_MS = 10 };

/* The guard looks at the same. */
static void lock(const struct cave_tool *t)
{
	if (t->guarded.listed)
		guard_lock(&t->prepared->guard);
}

static void unlock(const struct cave_tool *t)
{
	if (t->guarded.listed)
		guard_unlock(&t->prepared->guard);
}

int tool_check(struct cave_tool *t)
{
	int ms;

	lock(t);
	ms = watch_check(&t->watch);
	unlock(t);
	return t->ended ? DRAIN_STEP_MS : t->guarded.listed ? -1 : ms;
}

/* What ended it may show only when its output has ended. */
static void judge(struct cave_tool *t)
{
	if (t->watch.reached)
		return;
	if (t->watch.pump && pump_full(t->watch.pump)) {
		watch_check(&t->watch);
	} else if (groups_out_of_memory(&t->groups)) {
		t->watch.reached = true;
		t->watch.limit = CAVE_LIMIT_MEMORY;
	}
}

/* What a tool that was ended had written is passed on, if its reader takes it soon; what is too much is not. */
static bool output_done(const struct cave_tool *t)
{
	if (!t->watch.pump || pump_done(t->watch.pump))
		return true;
	return t->watch.reached && (t->watch.limit == CAVE_LIMIT_OUTPUT ||
				    (t->watch.killed && now_ns() > t->result.ended_ns + DRAIN_MS * 1000000ull));
}

bool tool_over(struct cave_tool *t)
{
	struct refusal r;
	bool over;

	if (!t->ended || !t->started)
		return t->ended;
	lock(t);
	over = output_done(t);
	judge(t);
	t->watch.over |= over;
	t->result.code = watch_verdict(&t->watch, &r);
	unlock(t);
	return over;
}

void tool_ended(struct cave_tool *t, int status)
{
	t->ended = true;
	t->result.status = contained_status(&t->process, status);
	if (t->trace) {
		t->result.refused_calls = atomic_load(&t->trace->calls);
		t->result.refused_files = atomic_load(&t->trace->files);
	}
	t->result.ended_ns = now_ns();
}

enum cave_code tool_verdict(const struct cave_tool *t, struct cave_error *error)
{
	struct refusal r;
	enum cave_code code = CAVE_OK;

	lock(t);
	if (t->ended && t->started)
		code = watch_verdict(&t->watch, &r);
	unlock(t);
	return code ? api_answer(false, &r, error) : CAVE_OK;
}

void tool_freeze(const struct cave_tool *t, bool freeze)
{
	groups_freeze(&t->groups, freeze);
}
