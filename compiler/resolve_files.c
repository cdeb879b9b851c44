/* SPDX-License-Identifier: MIT */
/*
 * files { … }.  The compiler checks the text of a path; that it exists, and what it leads to, is checked by
 * the runtime, by descriptor.
 */
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/paths.h"
#include "compiler/resolve.h"
#include "compiler/system_set.h"

static const struct span nowhere;
static const char *const file_statements[] = { "read", "write", "execute", "deny", "shm", "base", "use", NULL };

/* The words that begin a rule, and what they grant. */
static const struct {
	const char *word;
	unsigned flags;
} verbs[] = {
	{ "read", CAVE_FILE_READ },
	{ "write", CAVE_FILE_READ | CAVE_FILE_WRITE },
	{ "execute", CAVE_FILE_READ | CAVE_FILE_EXECUTE },
	{ "deny", CAVE_FILE_DENY },
	{ "deny write", CAVE_FILE_DENY | CAVE_FILE_ONLY_WRITE },
	{ "shm", CAVE_FILE_SHM | CAVE_FILE_READ | CAVE_FILE_WRITE },
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static bool within(const char *path, const char *folder)
{
	return path_below(&(struct file_path){ path, 0 }, &(struct file_path){ folder, 0 });
}

/* Kernel file systems that a tool must not write to, by the paths where they are always found. */
static bool kernel_path(const char *path)
{
	return within(path, "/proc") || within(path, "/sys");
}

/* A write grant that could be turned against the sandbox; the runtime looks at what it really leads to. */
static bool check_write(struct resolver *r, const struct file_path *p, struct span at)
{
	struct diag *e;

	if (p->flags & CAVE_FILE_RELATIVE && strcmp(p->path, ".") == 0) {
		e = diag_error(r->diags, CAVE_CONTRADICTION, at,
			       "this write grant covers the artefact that binds the tool");
		diag_note(r->diags, e, nowhere, "grant a folder below it, or workspace");
		return false;
	}
	if (*p->path == '/' && kernel_path(p->path)) {
		diag_error(r->diags, CAVE_CONTRADICTION, at,
			   "writing to the kernel's own file systems would undo the promise that other processes are out of reach");
		return false;
	}
	return true;
}

/* What cannot be denied exactly, whatever is there when the tool starts. */
static bool check_denial(struct resolver *r, const struct file_path *p, unsigned flags, struct span at)
{
	struct diag *e;

	if (*p->path == '/' && within(p->path, "/proc")) {
		diag_error(r->diags, CAVE_CONTRADICTION, at,
			   "a denial in /proc cannot be kept: a process has many names there");
		return false;
	}
	if (path_is_place(p->path, p->flags)) {
		e = diag_error(r->diags, CAVE_CONTRADICTION, at, "this denies a whole place, which nothing else names");
		diag_note(r->diags, e, nowhere,
			  flags & CAVE_FILE_ONLY_WRITE ? "grant reading of it only" : "grant nothing of it");
		return false;
	}
	return true;
}

/* An operand of read, write, execute or deny; the final slash has a meaning for what is executed. */
static void resolve_operand(struct resolver *r, const struct node *n, unsigned flags)
{
	struct file_path p;

	if (n->kind == N_OPTIONAL) {
		resolve_operand(r, n->kids, flags | CAVE_FILE_OPTIONAL);
		return;
	}
	if (!path_resolve(r, n, &p) || (flags & CAVE_FILE_WRITE && !check_write(r, &p, n->at)) ||
	    (flags & CAVE_FILE_DENY && !check_denial(r, &p, flags, n->at)))
		return;
	if (!(flags & CAVE_FILE_EXECUTE))
		p.flags &= ~(unsigned)CAVE_FILE_FOLDER;
	*ARENA_PUSH(r->arena, r->file, r->nfiles, r->file_cap) =
		(struct file_rule){ .path = p.path, .flags = flags | p.flags, .set = r->in_set, .at = n->at };
}

static void resolve_base(struct resolver *r, const struct node *n)
{
	if (strcmp(n->text, "none") == 0 || strcmp(n->text, "system") == 0)
		scalar_set(r, &r->base_files, "base", n->text, n->name);
	else
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_UNKNOWN_NAME, n->name, "'%s' is no base of files", n->text), nowhere,
			  "they are: base system (the default), base none");
}

static void resolve_rule(struct resolver *r, const struct node *n)
{
	for (size_t i = 0; i < VERBS; i++) {
		if (strcmp(n->text, verbs[i].word) != 0)
			continue;
		if (verbs[i].flags & CAVE_FILE_SHM)
			*ARENA_PUSH(r->arena, r->file, r->nfiles, r->file_cap) =
				(struct file_rule){ .path = "", .flags = verbs[i].flags, .at = n->at };
		resolve_paths(r, n->kids, verbs[i].flags);
	}
}

void resolve_paths(struct resolver *r, const struct node *operands, unsigned flags)
{
	for (const struct node *i = operands; i; i = i->next)
		resolve_operand(r, i, flags);
}

void resolve_files(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next) {
		if (n->kind == N_STRANGER)
			stranger(r, n, "files", file_statements);
		else if (n->kind == N_BASE)
			resolve_base(r, n);
		else if (n->kind == N_USE)
			resolve_use(r, n);
		else
			resolve_rule(r, n);
	}
}

/* What a path is relative to comes before the path; denials stand after all grants. */
static unsigned key_of(const struct file_rule *f)
{
	return f->flags & (CAVE_FILE_BASES | CAVE_FILE_DENY);
}

static int by_path(const void *a, const void *b)
{
	const struct file_rule *x = a, *y = b;
	unsigned kx = key_of(x), ky = key_of(y);

	if ((kx ^ ky) & CAVE_FILE_DENY)
		return kx & CAVE_FILE_DENY ? 1 : -1;
	if (kx != ky)
		return kx < ky ? -1 : 1;
	return strcmp(x->path, y->path);
}

static struct file_path path_of_rule(const struct file_rule *f)
{
	return (struct file_path){ f->path, f->flags };
}

/*
 * Two lines about one path: all that either grants or denies; it may be missing, or read, only if both say so.
 */
static void merge(struct file_rule *to, const struct file_rule *from)
{
	const unsigned agreed = CAVE_FILE_OPTIONAL | CAVE_FILE_ONLY_WRITE;

	to->flags = ((to->flags | from->flags) & ~agreed) | (to->flags & from->flags & agreed);
	if (to->set && !from->set) {
		to->set = NULL;
		to->at = from->at;
	}
}

/* A grant of which nothing is left; what a built-in set names may be denied. */
static void check_denied(struct resolver *r, const struct file_rule *grant, const struct file_rule *denial)
{
	struct file_path p = path_of_rule(grant), d = path_of_rule(denial);
	bool only_write = denial->flags & CAVE_FILE_ONLY_WRITE;

	if (grant->set || !path_below(&p, &d) || (only_write && !(grant->flags & CAVE_FILE_WRITE)))
		return;
	diag_note(r->diags,
		  diag_error(r->diags, CAVE_CONTRADICTION, grant->at,
			     only_write ? "nothing of this grant may be written: it is denied" :
					  "nothing of this grant is left: it is denied"),
		  denial->at, "it is denied here");
}

/* The host's /dev/shm cannot be seen beside a private one. */
static void check_shm(struct resolver *r, const struct file_rule *shm, const struct file_rule *f)
{
	if (f->flags & CAVE_FILE_BASES || f->set || !within(f->path, "/dev/shm"))
		return;
	diag_note(r->diags,
		  diag_error(r->diags, CAVE_CONTRADICTION, f->at, "with shm, /dev/shm is private to the tool"), shm->at,
		  "shm is here");
}

/* What one rule has to say about all others. */
static void check_rule(struct resolver *r, const struct file_rule *rule, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (rule->flags & CAVE_FILE_DENY && !(r->file[i].flags & CAVE_FILE_DENY))
			check_denied(r, &r->file[i], rule);
		if (rule->flags & CAVE_FILE_SHM)
			check_shm(r, rule, &r->file[i]);
	}
}

void finish_files(struct resolver *r)
{
	size_t n = 0;

	if (r->nfiles)
		qsort(r->file, r->nfiles, sizeof *r->file, by_path);
	for (size_t i = 0; i < r->nfiles; i++) {
		if (n && by_path(&r->file[n - 1], &r->file[i]) == 0)
			merge(&r->file[n - 1], &r->file[i]);
		else
			r->file[n++] = r->file[i];
	}
	if (n + system_set_size > ARTEFACT_FILES_MAX)
		diag_error(r->diags, CAVE_VALUE, r->file[n - 1].at, "a profile names at most %zu paths",
			   ARTEFACT_FILES_MAX - system_set_size);
	else
		for (size_t i = 0; i < n; i++)
			if (r->file[i].flags & (CAVE_FILE_DENY | CAVE_FILE_SHM))
				check_rule(r, &r->file[i], n);
	r->policy->file = r->file;
	r->policy->nfiles = n;
}
