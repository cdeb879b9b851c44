/* SPDX-License-Identifier: MIT */
/* What the functions of cave.h share: how they begin and how they fail. */
#ifndef CAVE_RUNTIME_API_H
#define CAVE_RUNTIME_API_H

#include "cave.h"
#include "runtime/kept.h"
#include "runtime/guard.h"
#include "runtime/memory.h"
#include "runtime/names.h"
#include "runtime/plan.h"
#include "runtime/record.h"
#include "runtime/report.h"
#include "runtime/spawner.h"

struct cave_prepared {
	struct memory memory; /* holds this as well */
	const struct cave_policy *policy;
	struct cave_options options; /* its strings are copies */
	struct plan plan;
	struct records records;
	struct kept kept; /* of a policy that grants network */
	_Atomic bool started;
	memory_idle idle; /* of tools */
	_Atomic int spare; /* a ruleset for the next start, made while the last tool runs; -1: there is none */
	struct names_prepared *names; /* of one that grants by host name, else NULL */
	pid_t pid; /* of the process that it belongs to: one that fork(2) made has none of its threads */
	bool fresh; /* the plan has been checked and not made: each tool makes its own */
	bool has_threads;
	struct spawner spawner;
	struct guard guard;
};

/* Calls step(of) where memory of `m` is taken; refuses if it runs out.  What was half made is the caller's to undo. */
bool api_guard(struct memory *m, bool (*step)(void *of, struct refusal *r), void *of, struct refusal *r);

/*
 * A handle of `size` bytes, cleared, in the memory that it begins with; NULL if there is none.  api_free() frees it.
 * Where many come and go, `idle` holds memory for the next; else it is NULL.
 */
void *api_make(size_t size, memory_idle *idle);
void api_free(void *handle, memory_idle *idle);

/* CAVE_OK, or the code of *r, copied to *error. */
enum cave_code api_answer(bool ok, const struct refusal *r, struct cave_error *error);

/*
 * Copies a structure of the caller, who may know fewer fields than we do; refuses one that sets fields that we do not
 * know.  Each begins with its size.
 */
bool api_take(void *to, size_t size, const void *from, const char *what, struct refusal *r);

/*
 * cave_spawn(); with `internal` the kept descriptors may be of any kind, as those of a program of our own are.  Such a
 * tool has them as they are, and nothing else of the host's.
 */
enum cave_code api_spawn(struct cave_prepared *prepared, const struct cave_spawn *spawn, bool internal,
			 struct cave_tool **out, struct cave_error *error);

#endif
