/* SPDX-License-Identifier: MIT */
/* Why something is allowed or refused: by which line or default, and by what it is enforced. */
#ifndef CAVE_COMPILER_EXPLAIN_H
#define CAVE_COMPILER_EXPLAIN_H

#include <stdio.h>

#include "compiler/pipeline.h"

/* DEPENDS: on arguments that the question left open, or on the host. */
enum verdict { VERDICT_ALLOWED, VERDICT_REFUSED, VERDICT_DEPENDS };

/* One answer; a question about a call with open arguments may have several. */
struct reason {
	enum verdict verdict;
	const char *what; /* the question, or the part of it that this is about */
	const char *why; /* a sentence without a full stop */
	struct span at; /* the line; nowhere: none */
	const char *how; /* what enforces it; NULL where nothing has to */
	struct reason *next;
};

struct explanation {
	struct arena *arena;
	struct compile *compile; /* with its programs */
	const char *folder; /* of the policy, resolved; NULL if that is not to be had */
	struct reason *first, **last;
};

/* Adds an answer. */
struct reason *explain_add(struct explanation *x, enum verdict verdict, const char *what, const char *why);

/*
 * The kinds of questions; `word` are what follows the first word.  False with what is wrong with the question said on
 * stderr.
 */
bool explain_connect(struct explanation *x, int n, char **word);
bool explain_listen(struct explanation *x, int n, char **word);
bool explain_syscall(struct explanation *x, int n, char **word);
bool explain_read(struct explanation *x, int n, char **word);
bool explain_write(struct explanation *x, int n, char **word);
bool explain_execute(struct explanation *x, int n, char **word);
bool explain_env(struct explanation *x, int n, char **word);
bool explain_lookup(struct explanation *x, int n, char **word);

/* explain connect NAME, after `what` was made of the words; and what a name adds to the answer about an address. */
bool explain_connect_name(struct explanation *x, const char *what, char **word);
void explain_by_name(struct explanation *x, const char *what, const struct connect_expectation *port);

/* Parses "allow QUERY" as a line of `expect`; NULL after an error was recorded. */
const struct node *explain_parse(struct explanation *x, const char *query);

/* Answers the question; false if it is none, which is said on stderr. */
bool explain_question(struct explanation *x, int n, char **word);

/* The answers, for people. */
void explain_answers(const struct explanation *x, FILE *to);

/* What the policy grants and takes away, in plain sentences. */
void explain_summary(const struct compile *c, FILE *to);

/* Of these the sentences whose line stands at `at`; false if there are none. */
bool explain_statement(const struct compile *c, struct span at, FILE *to);

/* The command: `cavec explain …`, without its name.  Returns the exit status. */
int explain_main(int argc, char **argv);

#endif
