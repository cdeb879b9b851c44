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

/* A path, the flags of its place, and what is asked of it. */
struct question {
	struct file_path at;
	unsigned right;
};

static struct file_path path_of(const struct file_rule *rule)
{
	/* A private one is found where the host's is. */
	if (rule->flags & CAVE_FILE_SHM)
		return (struct file_path){ "/dev/shm", 0 };
	return (struct file_path){ rule->path, rule->flags };
}

/* True if the rule is about what is asked: a grant of that right, or a denial that takes it away. */
static bool is_about(const struct question *q, const struct file_rule *rule, bool denial)
{
	if (!!(rule->flags & CAVE_FILE_DENY) != denial)
		return false;
	return denial ? !(rule->flags & CAVE_FILE_ONLY_WRITE) || q->right == CAVE_FILE_WRITE : rule->flags & q->right;
}

/* The path, or a folder around it.  What may be executed and has no final slash is a file, with nothing below. */
static bool covers(const struct question *q, const struct file_rule *rule)
{
	struct file_path path = path_of(rule);
	bool file = q->right == CAVE_FILE_EXECUTE && !(rule->flags & (CAVE_FILE_FOLDER | CAVE_FILE_DENY)) &&
		    !path_is_place(path.path, path.flags);

	return path_below(&q->at, &path) && (!file || path_below(&path, &q->at));
}

static bool lies_in(const struct question *q, const struct file_rule *rule)
{
	struct file_path path = path_of(rule);

	return path_below(&path, &q->at);
}

/* If the home folder is there: of a rule in it the end of the path has to be what the rule is about. */
static bool may_meet(const struct question *q, const struct file_rule *rule)
{
	struct file_path path = path_of(rule);

	if (!path_may_meet(&q->at, &path))
		return false;
	if (q->at.flags & CAVE_FILE_HOME || !*path.path)
		return true;
	for (const char *end = strchr(q->at.path, '/'); end; end = strchr(end + 1, '/'))
		if (path_below(&(struct file_path){ end + 1, path.flags }, &path))
			return true;
	return false;
}

static const struct file_rule *find(const struct policy *p, const struct question *q, bool denial,
				    bool (*fits)(const struct question *q, const struct file_rule *rule))
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (is_about(q, &p->file[i], denial) && fits(q, &p->file[i]))
			return &p->file[i];
	return NULL;
}

static bool in_system(const struct policy *p, const struct question *q)
{
	for (size_t i = 0; p->base_files && i < system_set_size; i++) {
		const struct file_rule rule = { .path = system_set[i].path, .flags = system_set[i].flags };

		if (is_about(q, &rule, false) && covers(q, &rule))
			return true;
	}
	return false;
}

/* An absolute path below the policy's folder is also what a relative grant is about. */
static bool below_folder(const struct explanation *x, const struct question *q, struct question *out)
{
	const struct file_path folder = { x->folder ? x->folder : "", 0 };
	size_t n = strlen(folder.path);

	if (n < 2 || !path_below(&q->at, &folder))
		return false;
	*out = (struct question){ { q->at.path[n] ? q->at.path + n + 1 : ".", CAVE_FILE_RELATIVE }, q->right };
	return true;
}

static struct file_path path_asked(struct arena *a, const char *text, bool slot, bool *up)
{
	static const struct {
		const char *name;
		unsigned place;
	} places[] = {
		{ "workspace", CAVE_FILE_WORKSPACE },
		{ "home", CAVE_FILE_HOME },
		{ "tmp", CAVE_FILE_TMP },
	};
	const char *path = path_normal(a, text, up);

	if (slot)
		return (struct file_path){ path, CAVE_FILE_SLOT };
	if (*path == '/')
		return (struct file_path){ path, 0 };
	if (strcmp(path, "shm") == 0 || strncmp(path, "shm/", 4) == 0)
		return (struct file_path){ arena_printf(a, "/dev/%s", path), 0 };
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		size_t n = strlen(places[i].name);

		/* "./home" is beside the policy. */
		if (strncmp(text, places[i].name, n) == 0 && (path[n] == '\0' || path[n] == '/'))
			return (struct file_path){ path[n] ? path + n + 1 : "", places[i].place };
	}
	return (struct file_path){ *path ? path : ".", CAVE_FILE_RELATIVE };
}

/* What is said of the path in all spellings, the first line of each sort; NULL where there is none. */
struct findings {
	const struct file_rule *grant, *denial; /* of all of it */
	const struct file_rule *part; /* a denial of something below it */
	const struct file_rule *home_grant, *home_denial; /* if the home folder is there */
};

static void look(const struct policy *p, const struct question *q, struct findings *f)
{
	f->grant = f->grant ? f->grant : find(p, q, false, covers);
	f->denial = f->denial ? f->denial : find(p, q, true, covers);
	f->part = f->part ? f->part : find(p, q, true, lies_in);
	f->home_grant = f->home_grant ? f->home_grant : find(p, q, false, may_meet);
	f->home_denial = f->home_denial ? f->home_denial : find(p, q, true, may_meet);
}

static void judge(struct explanation *x, const char *what, const struct findings *f, bool system)
{
	const struct file_rule *line = f->denial ? f->denial : f->grant;
	enum verdict verdict = VERDICT_DEPENDS;
	struct reason *r;
	const char *why;

	if (f->denial) {
		verdict = VERDICT_REFUSED;
		why = "this line denies it";
	} else if (f->grant || system) {
		line = f->part ? f->part : f->home_denial ? f->home_denial : f->grant;
		verdict = f->part || f->home_denial ? VERDICT_DEPENDS : VERDICT_ALLOWED;
		why = f->part	     ? "it is granted, but this line denies some of what is below it" :
		      f->home_denial ? "it is granted, but this line denies it if the home folder is there" :
		      f->grant	     ? "this line allows it" :
				       "it is of the built-in set of files (base system, cavec list system)";
	} else if (f->home_grant) {
		line = f->home_grant;
		why = "this line allows it if the home folder is there, which is known at the start";
	} else {
		verdict = VERDICT_REFUSED;
		why = "no line allows this path or a folder around it";
	}
	r = explain_add(x, verdict, what, why);
	r->at = line ? line->at : (struct span){ 0 };
	r->how = enforced;
}

static bool explain_path(struct explanation *x, const char *verb, unsigned right, int n, char **word)
{
	const struct policy *p = &x->compile->policy;
	bool slot = n == 2 && strcmp(word[0], "folder") == 0, up = false;
	struct question q = { .right = right }, relative;
	struct findings f = { NULL, NULL, NULL, NULL, NULL };

	if (n == 1 || slot)
		q.at = path_asked(x->arena, word[n - 1], slot, &up);
	if ((n != 1 && !slot) || up || !*word[n - 1]) {
		fprintf(stderr, "cavec explain: write: %s PATH, absolute, ./ for the policy's folder, or a place such as "
				"workspace/…; no '..'\n",
			verb);
		return false;
	}
	look(p, &q, &f);
	if (below_folder(x, &q, &relative))
		look(p, &relative, &f);
	judge(x, arena_printf(x->arena, "%s %s%s", verb, slot ? "folder " : "", word[n - 1]), &f, in_system(p, &q));
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
