/* SPDX-License-Identifier: MIT */
/*
 * The language server: what editors ask, answered by the parts of the compiler that the commands use.
 *
 *     lsp.c           messages, documents, the command line
 *     lsp_text.c      places and URIs
 *     lsp_check.c     a document to diagnostics
 *     lsp_answer.c    hover, definition, formatting
 *
 * The protocol is 3.17 of https://microsoft.github.io/language-server-protocol/.
 */
#ifndef CAVE_COMPILER_LSP_H
#define CAVE_COMPILER_LSP_H

#include <jansson.h>

#include "compiler/ast.h"
#include "compiler/pipeline.h"
#include "compiler/review.h"

struct lsp_document {
	char *uri, *text;
	char *path; /* NULL: it is no file, and includes nothing */
	size_t size;
	json_int_t version;
};

/* A document as a compile, which is the caller's. */
struct lsp_compiled {
	struct compile *compile;
	const char *name; /* of the document, in messages and for lint */
	struct node *tree;
	bool fragment; /* bare statements, to be included: only its syntax is looked at */
	const char *fault; /* what keeps it from being compiled and is no error in it; or NULL */
};

/* --- lsp_text.c ---------------------------------------------------------------------------------- */

/* Lines from 0, columns in UTF-16 code units, as the protocol counts them; a place past a line's end is its end. */
json_t *lsp_position(const char *text, size_t size, size_t offset);
size_t lsp_offset(const char *text, size_t size, json_int_t line, json_int_t character);
json_t *lsp_range(const char *text, size_t size, size_t begin, size_t end);

/* The absolute path of a file: URI, malloc'd; NULL for any other. */
char *lsp_path(const char *uri);

/* The URI of an absolute path, in the arena. */
const char *lsp_uri(struct arena *a, const char *path);

/* Text for a message: NULL never, bytes that are no UTF-8 replaced. */
json_t *lsp_string(const char *s);

/* --- lsp_check.c --------------------------------------------------------------------------------- */

/* Reads and parses; with `whole`, does all that a compile does but write. */
struct lsp_compiled lsp_compile(const struct lsp_document *d, const struct review_options *o, bool whole);

/* Errors, remarks and findings, as the protocol's diagnostics. */
json_t *lsp_diagnostics(const struct lsp_document *d, const struct review_options *o);

/* --- lsp_answer.c -------------------------------------------------------------------------------- */

/* Results of requests about the byte at `offset`, or about the document; NULL with *error set. */
json_t *lsp_hover(const struct lsp_document *d, const struct review_options *o, size_t offset);
json_t *lsp_definition(const struct lsp_document *d, const struct review_options *o, size_t offset);
json_t *lsp_formatting(const struct lsp_document *d, const char **error);

/* The command: `cavec lsp …`, without its name.  Returns the exit status. */
int lsp_main(int argc, char **argv);

#endif
