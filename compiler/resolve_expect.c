/* SPDX-License-Identifier: MIT */
/* expect { … }: the lines are checked here, and kept until there are programs to run them on. */
#include <string.h>

#include "bpf/limits.h"
#include "compiler/egress.h"
#include "compiler/hosts.h"
#include "compiler/paths.h"
#include "compiler/resolve.h"
#include "compiler/syscalls.h"

static const struct span nowhere;

static bool is_word(const struct node *n, const char *word)
{
	return n && n->kind == N_WORD && strcmp(n->text, word) == 0;
}

static void expect_syscall(struct resolver *r, const struct node *n)
{
	unsigned before = r->diags->errors;

	syscalls_check_expectation(r->diags, r->policy, n);
	if (r->diags->errors == before)
		*ARENA_PUSH(r->arena, r->expectation, r->nexpectations, r->expectation_cap) = n;
}

static void expect_connect(struct resolver *r, const struct node *n)
{
	struct connect_expectation x;

	if (r->policy->bare)
		diag_error(r->diags, CAVE_SYNTAX, n->kids->at, "a bare filter has no network to expect something of");
	else if (egress_parse_expectation(r->diags, n, &x))
		*ARENA_PUSH(r->arena, r->connect, r->nconnects, r->connect_cap) = x;
}

/* read, write and execute take a path, env the name of a variable. */
static const struct {
	const char *word;
	unsigned right;
} subjects[] = {
	{ "read", CAVE_FILE_READ }, { "write", CAVE_FILE_WRITE }, { "execute", CAVE_FILE_EXECUTE }, { "env", 0 },
};

/* `folder NAME` stands as two words here, and `shm` for where it is. */
static const struct node *path_operand(struct resolver *r, const struct node *n)
{
	struct node *folder;

	if (is_word(n, "shm")) {
		folder = arena_alloc(r->arena, sizeof *folder);
		*folder = *n;
		folder->kind = N_STRING;
		folder->text = "/dev/shm";
		return folder;
	}
	if (!is_word(n, "folder") || !n->next)
		return n;
	folder = arena_alloc(r->arena, sizeof *folder);
	*folder = *n->next;
	folder->kind = N_FOLDER;
	folder->name = folder->at;
	return folder;
}

static void add_grant(struct resolver *r, const struct node *n, const struct grant_expectation *x)
{
	struct grant_expectation *to = ARENA_PUSH(r->arena, r->grant, r->ngrants, r->grant_cap);

	*to = *x;
	to->allow = strcmp(n->text, "allow") == 0;
	to->at = n->at;
}

static void expect_grant(struct resolver *r, const struct node *n, unsigned right)
{
	const struct node *operand = n->kids->next ? path_operand(r, n->kids->next) : NULL;
	struct file_path p;

	if (!operand || operand->next || operand->kind == N_SET || operand->kind == N_SYS_ITEM)
		diag_error(r->diags, CAVE_SYNTAX, n->kids->at, right ? "one path stands here" : "one variable stands here");
	else if (right && path_resolve(r, operand, &p))
		add_grant(r, n, &(struct grant_expectation){ .right = right, .name = p.path, .flags = p.flags });
	else if (!right)
		add_grant(r, n, &(struct grant_expectation){ .name = operand->text });
}

/* False if the word begins no such expectation. */
static bool expect_subject(struct resolver *r, const struct node *n)
{
	for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
		if (!is_word(n->kids, subjects[i].word))
			continue;
		if (r->policy->bare)
			diag_error(r->diags, CAVE_SYNTAX, n->kids->at, "a bare filter grants no files and no variables");
		else
			expect_grant(r, n, subjects[i].right);
		return true;
	}
	return false;
}

static void add_bound(struct resolver *r, const struct node *n, unsigned limit, const struct node *value)
{
	struct limit_expectation x = { .allow = strcmp(n->text, "allow") == 0, .limit = limit, .at = n->at };

	if (limit == CAVE_LIMITS ? processes_value(r, value, &x.value) : limit_value(r, limit, value, &x.value))
		*ARENA_PUSH(r->arena, r->bound, r->nbounds, r->bound_cap) = x;
}

/* The name of a limit, or max-processes, and a value; false if the word is none of them. */
static bool expect_bound(struct resolver *r, const struct node *n)
{
	unsigned limit = n->kids && n->kids->kind == N_WORD ? limit_named(n->kids->text) : CAVE_LIMITS;

	if (limit == CAVE_LIMITS && !is_word(n->kids, "max-processes"))
		return false;
	if (r->policy->bare)
		diag_error(r->diags, CAVE_SYNTAX, n->kids->at, "a bare filter limits nothing");
	else if (!n->kids->next || n->kids->next->next)
		diag_error(r->diags, CAVE_SYNTAX, n->kids->at, "one value stands here");
	else
		add_bound(r, n, limit, n->kids->next);
	return true;
}

static void expect_host(struct resolver *r, const struct node *n)
{
	struct host_expectation x;

	if (r->policy->bare)
		diag_error(r->diags, CAVE_SYNTAX, n->kids->at, "a bare filter has no network to expect something of");
	else if (host_parse_expectation(r->diags, r->arena, n, &x))
		*ARENA_PUSH(r->arena, r->lookup, r->nlookups, r->lookup_cap) = x;
}

/* The i-th word that an expectation may be about. */
static const char *kind_at(const void *context, size_t i)
{
	static const char *const words[] = { "connect", "lookup", "syscall", "max-processes" };
	const size_t nwords = sizeof words / sizeof *words, nsubjects = sizeof subjects / sizeof *subjects;

	(void)context;
	if (i < nwords)
		return words[i];
	if (i < nwords + nsubjects)
		return subjects[i - nwords].word;
	return i < nwords + nsubjects + CAVE_LIMITS ? limit_table[i - nwords - nsubjects].name : NULL;
}

/* A word of the language may become a kind of expectation; any other is a slip. */
static void refuse_kind(struct resolver *r, const struct node *n)
{
	static const char *const later[] = { "listen", "resolver", "netlink", NULL };
	const char *text = n->kids->text ? n->kids->text : "", *meant = did_you_mean(text, kind_at, NULL);
	struct diag *e;

	for (size_t i = 0; later[i]; i++)
		if (strcmp(later[i], text) == 0) {
			unsupported(r, n->kids->at, "this kind of expectation is");
			return;
		}
	e = diag_error(r->diags, CAVE_UNKNOWN_NAME, n->kids->at, "'%s' is nothing that can be expected of", text);
	if (meant)
		diag_note(r->diags, e, nowhere, "did you mean: %s %s", n->text, meant);
	else
		diag_note(r->diags, e, nowhere,
			  "it may be connect, lookup, syscall, read, write, execute, env, max-processes, or a limit");
}

void resolve_expect(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next) {
		if (strcmp(n->text, "allow") != 0 && strcmp(n->text, "deny") != 0)
			diag_note(r->diags,
				  diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "'%s' is no expectation", n->text),
				  nowhere, "write: allow …, or: deny …");
		else if (is_word(n->kids, "syscall"))
			expect_syscall(r, n);
		else if (n->kids && host_is_expected(n))
			expect_host(r, n);
		else if (is_word(n->kids, "connect"))
			expect_connect(r, n);
		else if (!expect_subject(r, n) && !expect_bound(r, n))
			refuse_kind(r, n);
	}
}
