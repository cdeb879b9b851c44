/* SPDX-License-Identifier: MIT */
/* From text to syntax tree.  The grammar proper is grammar/cave.y, the lexer grammar/cave.l. */
#ifndef CAVE_COMPILER_PARSE_H
#define CAVE_COMPILER_PARSE_H

#include "compiler/ast.h"
#include "compiler/diag.h"

/*
 * Parses file number `file` of d->sources as statements: a whole profile file and an included fragment have
 * the same grammar, which of them may hold what is checked later.  *out is the chain of statements (those
 * without a syntax error).  Returns false if any syntax error was recorded.
 */
bool parse_statements(struct diags *d, uint32_t file, struct node **out);

/* What the lexer and the grammar share while they run. */
struct parser {
	struct diags *diags;
	struct arena *arena;
	uint32_t file;
	void *scanner;
	struct node *statements;
	uint32_t offset; /* of the next byte to scan */
	int previous; /* the last token given to the grammar */
	unsigned parens, braces; /* open ones */
	unsigned operators; /* in the parentheses that are open */
	bool secret, secret_before; /* names of variables stand here, or stood before the last token */
	bool unclosed; /* the file has ended within a block */
	bool failed;
};

#endif
