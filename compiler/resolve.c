/* SPDX-License-Identifier: MIT */
#include "compiler/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/limits.h"
#include "compiler/parse.h"
#include "compiler/visible.h"

static const struct span nowhere;

static const char *const profile_statements[] = {
	"include", "profile", "sandbox", "network", "childProcess", "credentialEnv", "env",
	"files",   "limits",  "syscalls", "expect", "use",	    NULL,
};
static const char *const file_statements[] = { "include", "profile", "filter", NULL };

/* Words that begin a statement of some block, and the block. */
static const struct home {
	const char *word, *block;
} homes[] = {
	{ "allow", "network or syscalls" }, { "deny", "network, files or syscalls" },
	{ "listen", "network" },	    { "pass", "env" },
	{ "set", "env" },		    { "read", "files" },
	{ "write", "files" },		    { "execute", "files or childProcess" },
	{ "shm", "files" },		    { "base", "files or syscalls" },
	{ "default", "filter" },	    { "unknown", "filter" },
};

static const char *name_at(const void *context, size_t i)
{
	return ((const char *const *)context)[i];
}

const char *nearest(const char *word, const char *const *names)
{
	return did_you_mean(word, name_at, names);
}

void stranger(struct resolver *r, const struct node *n, const char *block, const char *const *names)
{
	const char *meant = nearest(n->text, names);
	struct diag *e;

	if (strcmp(block, "env") == 0 || credential_looks_like(n->text) || (meant && strcmp(meant, "credentialEnv") == 0)) {
		/* What stands here may be the name of a credential. */
		e = diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "no statement of %s begins with this word", block);
		e->secret = true;
	} else {
		e = diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "no statement of %s begins with '%s'", block,
			       n->text);
	}
	if (meant) {
		diag_note(r->diags, e, nowhere, "did you mean '%s'?", meant);
		return;
	}
	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
		if (strcmp(n->text, homes[i].word) == 0)
			diag_note(r->diags, e, nowhere, "'%s' belongs in %s { … }", n->text, homes[i].block);
	for (size_t i = 0; profile_statements[i]; i++)
		if (strcmp(n->text, profile_statements[i]) == 0)
			diag_note(r->diags, e, nowhere, "'%s' belongs in profile NAME { … }", n->text);
}

void unsupported(struct resolver *r, struct span at, const char *what)
{
	diag_error(r->diags, CAVE_UNSUPPORTED, at, "%s not built yet; nothing is granted by it", what);
}

void scalar_set(struct resolver *r, struct scalar *s, const char *what, const char *value, struct span at)
{
	struct diag *e;

	if (s->at.file && strcmp(s->value, value) != 0) {
		e = diag_error(r->diags, CAVE_CONTRADICTION, at, "%s has two values, '%s' and '%s'", what, s->value,
			       value);
		diag_note(r->diags, e, s->at, "the other one is here");
		return;
	}
	s->at = at;
	s->value = value;
}

static void resolve_sandbox(struct resolver *r, const struct node *n)
{
	struct diag *e;

	if (strcmp(n->text, "host") == 0 && r->inner) {
		diag_error(r->diags, CAVE_HOST_NESTED, n->name, "'sandbox host' within a profile that requires a sandbox");
	} else if (strcmp(n->text, "host") == 0) {
		e = diag_error(r->diags, CAVE_HOST_INELIGIBLE, n->name,
			       "'sandbox host' contains nothing, so there is nothing to compile");
		diag_note(r->diags, e, nowhere, "leave the line out, or write: sandbox required");
	} else if (strcmp(n->text, "required") != 0) {
		e = diag_error(r->diags, CAVE_VALUE, n->name, "'%s' is no kind of sandbox", n->text);
		diag_note(r->diags, e, nowhere, "write: sandbox required");
	} else {
		scalar_set(r, &r->sandbox, "sandbox", n->text, n->name);
	}
}

static void resolve_include(struct resolver *r, const struct node *n)
{
	struct node *statements = NULL;
	uint32_t file;

	if (!r->loader->root) {
		diag_error(r->diags, CAVE_PROFILE_ESCAPES_ROOT, n->name, "this text has no folder to include from");
		return;
	}
	file = loader_include(r->loader, n->at.file, n->name, n->text);
	if (!file)
		return;
	check_visible(r->diags, file);
	parse_statements(r->diags, file, &statements);
	resolve_statements(r, statements);
}

static void resolve_statement(struct resolver *r, const struct node *n)
{
	static const struct span none;

	switch (n->kind) {
	case N_INCLUDE:
		resolve_include(r, n);
		break;
	case N_SANDBOX:
		resolve_sandbox(r, n);
		break;
	case N_NETWORK:
		resolve_network(r, n);
		break;
	case N_CHILDREN:
		resolve_children(r, n);
		break;
	case N_CREDENTIALS:
		resolve_credentials(r, n);
		break;
	case N_ENV:
		resolve_env(r, n);
		break;
	case N_FILES:
		resolve_files(r, n);
		break;
	case N_SYSCALLS:
		resolve_syscalls(r, n);
		break;
	case N_LIMITS:
		resolve_limits(r, n);
		break;
	case N_EXPECT:
		resolve_expect(r, n);
		break;
	case N_USE:
		resolve_use(r, n);
		break;
	case N_PROFILE:
		if (r->diags->sources->file[n->at.file].included_from.file)
			diag_error(r->diags, CAVE_SYNTAX, n->name, "an included file holds bare statements, no profile");
		else
			*ARENA_PUSH(r->arena, r->nested, r->nnested, r->nested_cap) = n;
		break;
	case N_FILTER:
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_SYNTAX, n->name, "a filter stands in a file of its own, not in a profile"),
			  none, "to change the system calls of a profile write: syscalls { … }");
		break;
	default:
		stranger(r, n, "a profile", profile_statements);
	}
}

void resolve_statements(struct resolver *r, const struct node *first)
{
	for (const struct node *n = first; n; n = n->next)
		resolve_statement(r, n);
}

/* A statement at the top of a file that belongs inside its profile. */
static void misplaced(struct resolver *r, const struct node *n)
{
	struct diag *e;

	if (n->kind == N_STRANGER) {
		stranger(r, n, "a file", file_statements);
		return;
	}
	e = diag_error(r->diags, CAVE_SYNTAX, n->name, "this statement stands outside of any profile");
	diag_note(r->diags, e, nowhere, "put it inside: profile NAME { … }");
}

/* The one profile or filter of the file; what may stand beside it is checked after it is known. */
static const struct node *find_subject(struct resolver *r, const struct node *file)
{
	const struct node *found = NULL;

	for (const struct node *n = file; n; n = n->next) {
		if (n->kind != N_PROFILE && n->kind != N_FILTER)
			continue;
		if (found)
			diag_note(r->diags,
				  diag_error(r->diags, CAVE_CONTRADICTION, n->name,
					     "a file holds one profile or filter, this is a second"),
				  found->name, "the first one is here");
		else
			found = n;
	}
	return found;
}

/* Beside a profile stand includes, beside a filter expectations. */
static void check_beside(struct resolver *r, const struct node *file, bool bare)
{
	for (const struct node *n = file; n; n = n->next) {
		if (n->kind == N_PROFILE || n->kind == N_FILTER || n->kind == (bare ? N_EXPECT : N_INCLUDE))
			continue;
		if (bare && n->kind == N_INCLUDE)
			diag_error(r->diags, CAVE_SYNTAX, n->name,
				   "an include holds statements of a profile; a filter has none");
		else
			misplaced(r, n);
	}
}

static bool profile_name_valid(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return n > 0 && n <= 64 && name[n] == '\0';
}

static void begin_policy(struct resolver *r, const struct node *subject)
{
	*r->policy = (struct policy){
		.name = subject->text,
		.at = subject->name,
		.bare = subject->kind == N_FILTER,
		.limits = limits_standard(),
	};
	if (!profile_name_valid(subject->text))
		diag_error(r->diags, CAVE_VALUE, subject->name,
			   "a name is 1 to 64 letters, digits, dots, dashes and underscores");
}

bool resolver_finish(struct resolver *r)
{
	struct policy *p = r->policy;

	finish_network(r);
	finish_credentials(r);
	finish_env(r);
	finish_files(r);
	finish_children(r);
	finish_places(r);
	p->net_incomplete = r->net_incomplete;
	p->sys_rule = r->sys_rule;
	p->nsys_rules = r->nsys_rules;
	p->expectation = r->expectation;
	p->nexpectations = r->nexpectations;
	p->nested = r->nested;
	p->nnested = r->nnested;
	p->connect = r->connect;
	p->nconnects = r->nconnects;
	p->grant = r->grant;
	p->ngrants = r->ngrants;
	p->bound_expected = r->bound;
	p->nbounds_expected = r->nbounds;
	p->lookup = r->lookup;
	p->nlookups = r->nlookups;
	p->base_files = !r->base_files.at.file || strcmp(r->base_files.value, "none") != 0;
	p->base_syscalls = !r->base_syscalls.at.file || strcmp(r->base_syscalls.value, "none") != 0;
	return r->diags->errors == 0;
}

bool resolve_profile(struct diags *d, struct loader *l, const struct resolve_options *o, uint32_t file,
		     const struct node *statements, struct policy *out)
{
	struct resolver r = {
		.diags = d, .arena = d->sources->arena, .loader = l, .options = o, .policy = out,
	};
	const struct node *subject = find_subject(&r, statements);
	bool bare = subject && subject->kind == N_FILTER;

	check_beside(&r, statements, bare);
	if (!subject) {
		if (!d->errors)
			diag_error(d, CAVE_SYNTAX, (struct span){ file, 0, 0 },
				   "this file holds no profile; write: profile NAME { … }");
		return false;
	}
	begin_policy(&r, subject);
	if (bare)
		resolve_filter(&r, subject);
	for (const struct node *n = statements; n; n = n->next) {
		if (!bare && n->kind == N_INCLUDE)
			resolve_include(&r, n);
		if (bare && n->kind == N_EXPECT)
			resolve_expect(&r, n);
	}
	if (!bare)
		resolve_statements(&r, subject->kids);
	return resolver_finish(&r);
}

bool resolve_nested(struct diags *d, struct loader *l, const struct resolve_options *o, const struct node *profile,
		    struct policy *out)
{
	struct resolver r = {
		.diags = d, .arena = d->sources->arena, .loader = l, .options = o, .policy = out, .inner = true,
	};

	begin_policy(&r, profile);
	resolve_statements(&r, profile->kids);
	return resolver_finish(&r);
}
