/* SPDX-License-Identifier: MIT */
/*
 * Findings: what compiles, and is unwise.  A rule has an identifier that never changes its meaning; a check looks at
 * one part of a policy and adds findings for one rule or several.
 */
#ifndef CAVE_COMPILER_LINT_H
#define CAVE_COMPILER_LINT_H

#include <stdio.h>

#include "compiler/pipeline.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR, SEVERITIES };

struct lint_rule {
	unsigned id; /* 101: "CAVE101" */
	enum severity severity;
	const char *name; /* "line-without-effect" */
	const char *why; /* a sentence, for reports that describe rules */
};

/*
 * Replaces the text at a place.  A safe one leaves the reach as it is, which is proved before it is applied; of another
 * it is proved that it grants nothing.
 */
struct lint_fix {
	struct span at;
	const char *text;
	bool safe;
	const char *what; /* "remove the line" */
};

struct finding {
	const struct lint_rule *rule;
	enum severity severity;
	struct span at;
	struct span other; /* the line that it has to do with; nowhere: none */
	const char *text; /* what is wrong, a sentence without a full stop */
	const char *instead; /* what to write */
	struct lint_fix fix; /* without a place: there is none */
	const char *because; /* the reason of its suppression; NULL: it is not suppressed */
	bool secret; /* its line must not be shown */
};

struct suppression {
	struct span at; /* the comment */
	unsigned line; /* that it covers */
	unsigned id;
	const char *because; /* NULL: it gives no reason */
	bool used;
};

struct lint {
	struct arena *arena;
	struct compile *compile;
	const char *path; /* of the policy, as the user named it */
	struct finding *item;
	size_t n, cap;
	struct suppression *suppression;
	size_t nsuppressions, suppression_cap;
	const struct node *tree; /* of the profile's file; NULL until a fix needs it */
};

/* The rules, ascending; NULL after the last. */
const struct lint_rule *lint_rule(size_t i);
const struct lint_rule *lint_rule_by_id(unsigned id);

/* What stands in a built-in set is placed where the set is named. */
struct span lint_users(const struct lint *l, struct span at);

/* Adds a finding with the severity of its rule; the caller may change it and add the rest. */
struct finding *lint_add(struct lint *l, unsigned id, struct span at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The fix that takes a statement away, and its line if nothing else stands on it. */
struct lint_fix lint_remove(const struct lint *l, struct span at, bool safe);

/*
 * Others, of the profile's own file; without a place where there is none.  The operand at a place is taken out of its
 * list, or the statement with it if it is the only one; a statement is put behind the one at a place, or in its stead;
 * the first statement of a kind (compiler/ast.h) is removed from the profile whose name stands at a place.
 */
struct lint_fix lint_remove_item(struct lint *l, struct span at, bool safe);
struct lint_fix lint_append(struct lint *l, struct span at, const char *text, const char *what);
struct lint_fix lint_replace(struct lint *l, struct span at, const char *text, const char *what);
struct lint_fix lint_remove_kind(struct lint *l, struct span profile, int kind);
struct lint_fix lint_remove_comment(const struct lint *l, struct span at);

/* Looks at a policy: all findings, sorted by place, suppressed ones marked. */
void lint_policy(struct lint *l);

/* The checks. */
void lint_network(struct lint *l);
void lint_network_lines(struct lint *l);
void lint_names(struct lint *l);
void lint_names_lines(struct lint *l);
void lint_credentials(struct lint *l);
void lint_env(struct lint *l);
void lint_files(struct lint *l);
void lint_syscalls(struct lint *l);
void lint_calls(struct lint *l);
void lint_limits(struct lint *l);
void lint_comments(struct lint *l);

/* Before the checks: reads the suppressions; after them: applies these, and looks for idle ones. */
void lint_read_suppressions(struct lint *l);
void lint_suppress(struct lint *l);

/* --- reports ------------------------------------------------------------------------------------- */

enum lint_format { LINT_TEXT, LINT_GCC, LINT_JSON, LINT_SARIF, LINT_GITHUB, LINT_FORMATS };

/* The findings of `n` policies. */
void lint_report(const struct lint *l, size_t n, enum lint_format format, FILE *to);

const char *lint_severity(enum severity s);

/* Where a finding stands; false if it has no place. */
bool lint_place(const struct lint *l, struct span at, const char **file, unsigned *line, unsigned *column);

/* --- fixing -------------------------------------------------------------------------------------- */

/*
 * Applies the fixes of one policy: those that are safe, or all.  What each does is said on `to`.  Returns the policy
 * as it is then, whose file number 1 is the fixed text, or NULL if there was nothing to fix.  A fix after which the
 * profile does not compile is not made, nor one that grants anything, or, of the safe ones, that changes the reach.
 */
struct compile *lint_apply(const struct lint *l, bool all, FILE *to);

/* The command: `cavec lint …`, without its name.  Returns the exit status. */
int lint_main(int argc, char **argv);

#endif
