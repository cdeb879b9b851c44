/* SPDX-License-Identifier: MIT */
/*
 * From syntax tree to resolved policy: names are looked up, values checked, includes folded in, and whatever
 * cannot be kept is refused.  resolve.c walks the statements; each block has a file of its own.
 */
#ifndef CAVE_COMPILER_RESOLVE_H
#define CAVE_COMPILER_RESOLVE_H

#include "bpf/credentials.h"
#include "bpf/operator.h"
#include "compiler/ast.h"
#include "compiler/load.h"
#include "compiler/policy.h"
#include "compiler/syscalls_data.h"

/* What the command line says about the meaning of a profile. */
struct resolve_options {
	struct operator_rules rules;
	enum sys_arch arch; /* of a bare filter */
	bool arch_named; /* by the command line */
};

/* A value that may be given once; `at` is where it was, nowhere if it was not. */
struct scalar {
	struct span at;
	const char *value;
};

/* A credential, or a variable that counts as one, as it was met. */
struct credential_use {
	const char *capability;
	const char *name;
	struct span at;
	bool granted; /* by credentialEnv, rather than counted from env */
};

/* What grows while the statements are walked; the policy gets the result. */
struct builtin_set;

struct resolver {
	struct diags *diags;
	struct arena *arena;
	struct loader *loader;
	const struct resolve_options *options;
	struct policy *policy;

	struct scalar sandbox, network, children, max_processes, base_files, base_syscalls;
	bool programs_named; /* by childProcess */
	struct span network_block;
	struct span resolver_allow, resolver_deny;
	struct span netlink_allow, netlink_deny; /* the first of each */
	struct net_rule *net_rule, *listen;
	size_t nnet_rules, net_cap, nlistens, listen_cap;
	struct host_rule *host_rule;
	size_t nhost_rules, host_cap, nhost_names; /* nhost_names: as they are spelled, exceptions too */
	uint32_t *nconditions; /* by row of the table of system calls: the conditions on it; NULL: none yet */
	bool net_incomplete; /* see struct policy */
	struct credential_use *credential;
	size_t ncredentials, credential_cap;
	struct env_entry *env;
	size_t nenv, env_cap;
	struct file_rule *file;
	size_t nfiles, file_cap;
	const struct node **sys_rule;
	size_t nsys_rules, sys_cap;
	const struct node **expectation;
	size_t nexpectations, expectation_cap;
	struct connect_expectation *connect;
	size_t nconnects, connect_cap;
	const struct node **nested;
	size_t nnested, nested_cap;
	bool inner; /* this profile is a nested one */
	struct grant_expectation *grant;
	size_t ngrants, grant_cap;
	struct limit_expectation *bound;
	size_t nbounds, bound_cap;
	const char **set; /* the built-in sets that were used */
	size_t nsets, set_cap;
	const char *in_set; /* the one whose statements are being resolved */
	struct host_expectation *lookup;
	size_t nlookups, lookup_cap;
};

/* Resolves the statements of profile file number `file`.  Returns false if any error was recorded. */
bool resolve_profile(struct diags *d, struct loader *l, const struct resolve_options *o, uint32_t file,
		     const struct node *statements, struct policy *out);

/* The same of a nested profile, an N_PROFILE node; d and l are its own, with the file that it stands in. */
bool resolve_nested(struct diags *d, struct loader *l, const struct resolve_options *o, const struct node *profile,
		    struct policy *out);

/* Resolves a JSON profile of the seed system; `text` is file number `file`. */
bool resolve_json(struct diags *d, const struct resolve_options *o, uint32_t file, struct policy *out);

/* Sorts, merges and hands over what was gathered.  Returns false if any error was recorded. */
bool resolver_finish(struct resolver *r);

/* Bare statements: of a profile, an include, or a set. */
void resolve_statements(struct resolver *r, const struct node *first);

/* The blocks. */
void resolve_network(struct resolver *r, const struct node *statement);
void resolve_credentials(struct resolver *r, const struct node *statement);
void resolve_credential(struct resolver *r, const char *name, struct span at);
void resolve_env(struct resolver *r, const struct node *statement);
void resolve_files(struct resolver *r, const struct node *statement);
void resolve_use(struct resolver *r, const struct node *statement);

/* Records that the set, or NULL, that `n` names is not one for this place. */
void refuse_set(struct resolver *r, const struct node *n, const struct builtin_set *set);
void resolve_syscalls(struct resolver *r, const struct node *statement);
void resolve_limits(struct resolver *r, const struct node *statement);
void resolve_children(struct resolver *r, const struct node *statement);
void resolve_filter(struct resolver *r, const struct node *statement);
void resolve_expect(struct resolver *r, const struct node *statement);

/* The limit of that name, CAVE_LIMITS if there is none. */
unsigned limit_named(const char *name);

/* The value of a limit (0: none), or of max-processes.  False, with an error, if `n` is none. */
bool limit_value(struct resolver *r, enum cave_limit limit, const struct node *n, uint64_t *out);
bool processes_value(struct resolver *r, const struct node *n, uint64_t *out);

/* Grants the paths of `operands` (N_WORD, N_STRING, N_OPTIONAL) with the rights in `flags`, CAVE_FILE_*. */
void resolve_paths(struct resolver *r, const struct node *operands, unsigned flags);

/* After all blocks. */
void finish_network(struct resolver *r);
void finish_credentials(struct resolver *r);
void finish_env(struct resolver *r);
void finish_files(struct resolver *r);
void finish_children(struct resolver *r);
void finish_places(struct resolver *r); /* after the files: what env names must be granted */

/* Gives a scalar its value; a second, different one is a contradiction that names the first. */
void scalar_set(struct resolver *r, struct scalar *s, const char *what, const char *value, struct span at);

/* The refusal of what the language has and this version has not. */
void unsupported(struct resolver *r, struct span at, const char *what);

/*
 * Refuses the first word of a statement that the block does not know, with what was meant, or with where the
 * word does belong.  `names` ends with NULL.
 */
void stranger(struct resolver *r, const struct node *n, const char *block, const char *const *names);

/* did_you_mean() over an array that ends with NULL. */
const char *nearest(const char *word, const char *const *names);

#endif
