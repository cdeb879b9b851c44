/* SPDX-License-Identifier: MIT */
/* explain read, write, execute and env: from the grants that the manifest holds. */
#include <string.h>

#include "bpf/credentials.h"
#include "cave/artefact.h"
#include "compiler/explain.h"
#include "compiler/paths.h"
#include "compiler/system_set.h"

static const char enforced[] = "a mount namespace in which all but write grants is read-only, and Landlock; links are "
			       "followed at the start, here paths are text";

struct question {
	unsigned place;
	const char *path;
	unsigned right;
};

static bool is_at_or_beneath(const char *path, const char *top)
{
	size_t n = strlen(top);

	if (n == 0 || strcmp(top, ".") == 0)
		return true;
	return strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool covers(const struct question *q, const char *path, unsigned flags)
{
	if ((flags & CAVE_FILE_BASES) != q->place || !(flags & q->right) || !is_at_or_beneath(q->path, path))
		return false;
	return q->right != CAVE_FILE_EXECUTE || flags & CAVE_FILE_FOLDER || path_is_place(path, flags) ||
	       strcmp(q->path, path) == 0;
}

static const struct file_rule *covering(const struct policy *p, const struct question *q)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (covers(q, p->file[i].path, p->file[i].flags))
			return &p->file[i];
	return NULL;
}

static const struct file_rule *denying(const struct policy *p, struct question q)
{
	bool whole = q.right != CAVE_FILE_WRITE;

	q.right = CAVE_FILE_DENY;
	for (size_t i = 0; i < p->nfiles; i++)
		if (covers(&q, p->file[i].path, p->file[i].flags) && !(whole && p->file[i].flags & CAVE_FILE_ONLY_WRITE))
			return &p->file[i];
	return NULL;
}

static bool in_system(const struct policy *p, const struct question *q)
{
	for (size_t i = 0; p->base_files && i < system_set_size; i++)
		if (covers(q, system_set[i].path, system_set[i].flags))
			return true;
	return false;
}

/* An absolute path below the policy's folder is also what a relative grant is about. */
static bool below_folder(const struct explanation *x, const struct question *q, struct question *out)
{
	size_t n = x->folder ? strlen(x->folder) : 0;

	if (q->place || n < 2 || !is_at_or_beneath(q->path, x->folder))
		return false;
	*out = (struct question){ CAVE_FILE_RELATIVE, q->path[n] ? q->path + n + 1 : ".", q->right };
	return true;
}

static bool grants_shm(const struct policy *p)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->file[i].flags & CAVE_FILE_SHM)
			return true;
	return false;
}

static struct question question_of(const struct policy *p, const char *path, unsigned right)
{
	static const struct {
		const char *name;
		unsigned place;
	} places[] = {
		{ "workspace", CAVE_FILE_WORKSPACE },
		{ "home", CAVE_FILE_HOME },
		{ "tmp", CAVE_FILE_TMP },
		{ "shm", CAVE_FILE_SHM },
	};

	/* A private one is found where the host's is. */
	if (is_at_or_beneath(path, "/dev/shm") && grants_shm(p))
		return (struct question){ CAVE_FILE_SHM, "", right };
	if (*path == '/')
		return (struct question){ 0, path, right };
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		size_t n = strlen(places[i].name);

		if (strncmp(path, places[i].name, n) == 0 && (path[n] == '\0' || path[n] == '/'))
			return (struct question){ places[i].place, path[n] ? path + n + 1 : "", right };
	}
	return (struct question){ CAVE_FILE_RELATIVE, strncmp(path, "./", 2) == 0 ? path + 2 : path, right };
}

static bool explain_path(struct explanation *x, const char *verb, unsigned right, int n, char **word)
{
	const struct policy *p = &x->compile->policy;
	bool slot = n == 2 && strcmp(word[0], "folder") == 0;
	struct question q, relative;
	const struct file_rule *rule, *denial;
	struct reason *r;
	const char *what;

	if ((n != 1 && !slot) || strstr(word[n - 1], "..")) {
		fprintf(stderr, "cavec explain: write: %s PATH, absolute, ./ for the policy's folder, or a place such as "
				"workspace/…; no '..'\n",
			verb);
		return false;
	}
	what = arena_printf(x->arena, "%s %s%s", verb, slot ? "folder " : "", word[n - 1]);
	q = slot ? (struct question){ CAVE_FILE_SLOT, word[1], right } : question_of(p, word[0], right);
	rule = covering(p, &q);
	denial = denying(p, q);
	if (below_folder(x, &q, &relative)) {
		rule = rule ? rule : covering(p, &relative);
		denial = denial ? denial : denying(p, relative);
	}
	if (denial) {
		r = explain_add(x, VERDICT_REFUSED, what, "this line denies it");
		r->at = denial->at;
	} else if (rule) {
		r = explain_add(x, VERDICT_ALLOWED, what, "this line allows it");
		r->at = rule->at;
	} else if (in_system(p, &q)) {
		r = explain_add(x, VERDICT_ALLOWED, what,
				"it is of the built-in set of files (base system, cavec list system)");
	} else {
		r = explain_add(x, VERDICT_REFUSED, what, "no line allows this path or a folder around it");
	}
	r->how = enforced;
	return true;
}

bool explain_read(struct explanation *x, int n, char **word)
{
	return explain_path(x, "read", CAVE_FILE_READ, n, word);
}

bool explain_write(struct explanation *x, int n, char **word)
{
	return explain_path(x, "write", CAVE_FILE_WRITE, n, word);
}

bool explain_execute(struct explanation *x, int n, char **word)
{
	if (n == 1 && !x->compile->policy.children) {
		explain_add(x, VERDICT_REFUSED, arena_printf(x->arena, "execute %s", word[0]),
			    "the profile grants no other program (childProcess)")->how =
			"the syscall filter (seccomp): one exec, the runtime's own, is let through";
		return true;
	}
	return explain_path(x, "execute", CAVE_FILE_EXECUTE, n, word);
}

static bool always_there(const struct policy *p, const char *name)
{
	static const char *const names[] = { "LANG", "LC_ALL", "TZ", "PATH" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	for (size_t i = 0; strcmp(name, "TMPDIR") == 0 && i < p->nfiles; i++)
		if (p->file[i].flags & CAVE_FILE_TMP && !(p->file[i].flags & CAVE_FILE_DENY))
			return true;
	return false;
}

static const struct env_entry *entry_of(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->nenv; i++)
		if (strcmp(p->env[i].name, name) == 0)
			return &p->env[i];
	return NULL;
}

bool explain_env(struct explanation *x, int n, char **word)
{
	const struct policy *p = &x->compile->policy;
	const struct env_entry *e;
	struct reason *r = NULL;
	const char *what;

	if (n != 1) {
		fputs("cavec explain: write: env NAME\n", stderr);
		return false;
	}
	what = arena_printf(x->arena, "env %s", word[0]);
	e = entry_of(p, word[0]);
	for (size_t i = 0; i < p->ncredentials && !r; i++)
		if (strcmp(p->credential[i], word[0]) == 0)
			r = explain_add(x, VERDICT_ALLOWED, what, "it is a credential that the profile grants: the caller's value");
	if (!r && e) {
		r = explain_add(x, VERDICT_ALLOWED, what,
				e->value ? "this line sets it" : "this line passes the caller's value, if there is one");
		r->at = e->at;
	}
	if (!r && always_there(p, word[0]))
		r = explain_add(x, VERDICT_ALLOWED, what, "the runtime gives every tool this one, or every one that has tmp");
	if (!r)
		r = explain_add(x, VERDICT_REFUSED, what, "no line names it, and the environment is made from nothing");
	r->how = "the runtime, which makes the environment from what the policy names and nothing else";
	return true;
}
