/* SPDX-License-Identifier: MIT */
/*
 * The syntax tree: what the grammar saw, nothing looked up.
 *
 * One kind of node; what its text and kids mean is said beside each kind.  Lists are kids chained by `next`.
 */
#ifndef CAVE_COMPILER_AST_H
#define CAVE_COMPILER_AST_H

#include "compiler/source.h"

enum node_kind {
	/* operands */
	N_WORD, /* text */
	N_STRING, /* text, unescaped */
	N_SET, /* text: the name between the angle brackets */
	N_GROUP, /* { … }: kids are operands */
	N_LIST_FILE, /* list "file": text */
	N_OPTIONAL, /* optional OPERAND: kid */
	N_FOLDER, /* folder NAME: text */

	/* statements */
	N_PROFILE, /* text: name; kids: statements */
	N_FILTER, /* text: name; kids: N_SYS_*, N_DEFAULT, N_UNKNOWN */
	N_INCLUDE, /* text: path */
	N_SANDBOX, /* text: the word */
	N_NETWORK, /* kid: a word; or N_BLOCK */
	N_CHILDREN, /* childProcess; kid: a word; or N_BLOCK of N_SETTING */
	N_CREDENTIALS, /* kids: words */
	N_ENV, /* kids: N_ENV_PASS, N_ENV_SET */
	N_FILES, /* kids: N_FILE_RULE, N_BASE, N_USE */
	N_LIMITS, /* kids: N_SETTING */
	N_SYSCALLS, /* kids: N_SYS_RULE, N_BASE */
	N_EXPECT, /* kids: N_EXPECTATION */
	N_USE, /* kids: N_SET */
	N_BLOCK, /* kids: statements of the block */
	N_STRANGER, /* no statement of this block begins so; text: the word */

	/* inside blocks */
	N_NET_RULE, /* text: allow, deny, listen; kids: operands, then N_EXCEPT, N_PORT, N_WITHIN */
	N_EXCEPT, /* kids: operands */
	N_PORT, /* kids: operands */
	N_WITHIN, /* kids: operands */
	N_ENV_PASS, /* kids: words */
	N_ENV_SET, /* text: name; kid: word or string */
	N_FILE_RULE, /* text: read, write, execute, deny, deny write, shm; kids: operands */
	N_BASE, /* text: the word */
	N_SETTING, /* text: name; kids: operands */
	N_SYS_RULE, /* text: allow, deny; kids: N_SYS_ITEM, then N_WITH, N_LOGGED */
	N_SYS_ITEM, /* text: name or @group; kid: a condition, if any */
	N_WITH, /* text: errno, kill, guard, token; kid: word, if any */
	N_LOGGED,
	N_DEFAULT, /* of a filter; text: errno, kill, allow, log; kid: word, if any */
	N_UNKNOWN, /* of a filter; the same */
	N_EXPECTATION, /* text: allow, deny; kids: operands and N_SYS_ITEM, N_PORT */

	/* conditions */
	N_OR, /* two kids */
	N_AND,
	N_NOT, /* one kid */
	N_COMPARE, /* text: == != < <= > >=; kids: left, right */
	N_IN, /* kids: left, then words (values and ranges) */
	N_TRUTH, /* kid: a term that must be non-zero */
	N_MASK, /* left & right: two kids */
	N_UNION, /* left | right: two kids */
};

struct node {
	enum node_kind kind;
	struct span at; /* the whole node */
	struct span name; /* of `text`, where the node has more to it */
	const char *text;
	struct node *kids, *next;
};

#endif
