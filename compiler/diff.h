/* SPDX-License-Identifier: MIT */
/*
 * What one policy grants and another does not, by meaning: sets of destinations, arguments of calls, trees of paths.
 *
 * One row of a table per kind of grant (diff.c); each has a function that compares two policies and adds what it found.
 */
#ifndef CAVE_COMPILER_DIFF_H
#define CAVE_COMPILER_DIFF_H

#include <jansson.h>
#include <stdio.h>

#include "compiler/pipeline.h"

/* CHANGED: neither more nor less is reached, but it is another: how a call is refused, what is logged. */
enum diff_way { DIFF_GRANTED, DIFF_REFUSED, DIFF_CHANGED, DIFF_WAYS };

struct diff;

struct diff_kind {
	const char *name; /* in JSON: "destination" */
	const char *title; /* "destinations" */
	void (*compare)(struct diff *d);
};

struct diff_entry {
	const struct diff_kind *kind;
	enum diff_way way;
	const char *text; /* "tcp 10.0.0.0/8 port 443" */
	const char *amount; /* "16,777,216 addresses"; or NULL */
	const char *example; /* one that is granted, or no longer: "connect tcp 10.0.0.1 port 443"; or NULL */
	const char *profile; /* the nested profile that it is about; NULL: the outermost one */
	const struct compile *side; /* whose line it is */
	struct span at; /* the line that grants it; nowhere: a default */
	json_t *detail; /* more members for JSON; the diff's */
};

struct diff_entries {
	struct diff_entry *item;
	size_t n, cap;
};

struct diff {
	struct arena *arena;
	const struct compile *old, *new;
	/*
	 * What the old policy refuses only to bound a grant that the new one has not (syscalls_resolve_around()) is not
	 * held against the new one: by these rules, of each architecture, it is asked what is newly granted.  NULL: by
	 * all.
	 */
	const struct sys_rules *around;
	const struct diff_kind *kind; /* being compared */
	struct diff_entries found; /* in the order of kinds and of ways */
	struct diff_entries held; /* destinations that become reachable while a credential is held */
};

/* Compares two policies of one sort: profiles, or bare filters.  All lives in the arena but what diff_end() frees. */
void diff_policies(struct arena *a, const struct compile *old, const struct compile *new, struct diff *out);

void diff_end(struct diff *d);

/* The entries that go a way. */
size_t diff_count(const struct diff *d, enum diff_way way);

/* The first entry that is newly granted, or NULL. */
const struct diff_entry *diff_first_granted(const struct diff *d);

/* Adds an entry of the kind at hand; the caller fills in the rest. */
struct diff_entry *diff_add(struct diff *d, enum diff_way way, const char *text);

/* The policy that has what goes this way: the new one what is granted, the old one what is refused. */
const struct compile *diff_side(const struct diff *d, enum diff_way way);

/* The kinds. */
void diff_destinations(struct diff *d);
void diff_names(struct diff *d);
void diff_listens(struct diff *d);
void diff_denials(struct diff *d);
void diff_credentials(struct diff *d);
void diff_env(struct diff *d);
void diff_files(struct diff *d);
void diff_children(struct diff *d);
void diff_limits(struct diff *d);
void diff_syscalls(struct diff *d);
void diff_nested(struct diff *d);

/* The kind of that name, of which there is one. */
const struct diff_kind *diff_kind_of(const char *name);

/* True if some call is decided in another way, whichever, or that was too much to find out; it reads rules alone. */
bool diff_calls_differ(const struct diff *d);

/* Ports, as a rule has them: "port 443", "port { 80, 8000-8010 }", "port any"; and as JSON has them. */
const char *diff_ports_text(struct arena *a, const struct net_portset *set);
json_t *diff_ports_json(const struct net_portset *set);

/* What `has` grants by host name and `lacks` (NULL: nothing) does not. */
void diff_names_one_way(struct diff *d, const struct compile *has, const struct compile *lacks, enum diff_way way,
			struct diff_entries *to);

/* After the kinds: fills d->held. */
void diff_held(struct diff *d);

/* --- reports ------------------------------------------------------------------------------------- */

struct diff_names {
	const char *old, *new; /* as the user named them */
	bool within; /* the old one is a maximum */
};

void diff_print(const struct diff *d, const struct diff_names *names, bool colour, FILE *to);
void diff_markdown(const struct diff *d, const struct diff_names *names, FILE *to);
bool diff_json(const struct diff *d, const struct diff_names *names, FILE *to);

/* Line number of an entry, 0 if it has none; *file is as shown to the user. */
unsigned diff_line(const struct diff_entry *e, const char **file);

/* The command: `cavec diff …`, without its name.  Returns the exit status. */
int diff_main(int argc, char **argv);

#endif
