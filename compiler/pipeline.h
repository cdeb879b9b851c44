/* SPDX-License-Identifier: MIT */
/*
 * What one compile makes, stage by stage, for those who read it afterwards: the driver writes an artefact of it,
 * the review commands (lint, diff, explain) look at it.
 */
#ifndef CAVE_COMPILER_PIPELINE_H
#define CAVE_COMPILER_PIPELINE_H

#include "bpf/hostset.h"
#include "bpf/program.h"
#include "compiler/buffer.h"
#include "compiler/resolve.h"

struct compile {
	struct arena arena;
	struct sources sources;
	struct diags diags;
	struct loader loader;
	struct policy policy;
	struct net_set set;
	struct host_set hosts;
	struct sys_rules rules[SYS_ARCHES];
	struct filter_program filter[SYS_ARCHES];
	struct hook_program hook[CAVE_HOOK_COUNT];
	bool has_hooks;
	struct operator_rules operator; /* that it was resolved with */
	struct compile **nested; /* profiles within this one */
	size_t nnested, nested_cap;
	const struct compile *around; /* the profile that this one is nested in, or NULL */
};

/* Nothing yet; compile_end() frees everything that was made. */
struct compile *compile_begin(void);
void compile_end(struct compile *c);

/*
 * The operator's rules from `config`, or else the credential table alone from `capabilities`; either may be NULL.
 * Returns NULL, or a sentence that says what is wrong with the file.
 */
const char *compile_rules(struct compile *c, const char *config, const char *capabilities, struct resolve_options *out);

/*
 * Reads the profile at `path`, from beneath `root` (NULL: its folder).  Returns EXIT_DONE with its number in *file;
 * EXIT_REFUSED after an error was recorded; EXIT_TROUBLE after one was printed.
 */
int compile_read(struct compile *c, const char *path, const char *root, uint32_t *file);

/* The architecture of a bare filter: the one named, or this machine's.  False if there is no such architecture. */
bool compile_arch(const char *name, struct resolve_options *out);

/* Prints what is to be said of the profile and of those within it; the number of errors in all of them. */
void compile_print(const struct compile *c, FILE *to);
size_t compile_errors(const struct compile *c);

/* A policy that was resolved, to sets and rules. */
void compile_sets(struct compile *c, const struct resolve_options *o);

/* Text to policy to sets and rules.  False after an error was recorded, in it or in a profile within it. */
bool compile_resolve(struct compile *c, const struct resolve_options *o, uint32_t file);

/* The canonical text: of the profile alone, or with those within it. */
void compile_text_of(const struct compile *c, bool nested, struct buffer *out);

/* Holds the egress programs against the policy; a difference is recorded. */
void compile_prove(struct compile *c);

/* Rules and sets to programs, each proved against the policy.  False after an error was recorded. */
bool compile_generate(struct compile *c);

/*
 * All that a compile does but write, of file number `file`.  False after an error was recorded, or with *fault set to
 * what is wrong and is no error in the profile.
 */
bool compile_whole(struct compile *c, const struct resolve_options *o, uint32_t file, const char **fault);

#endif
