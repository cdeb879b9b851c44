/* SPDX-License-Identifier: MIT */
/* Findings about variables, files, programs and limits. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/credentials.h"
#include "cave/artefact.h"
#include "compiler/lint.h"
#include "compiler/paths.h"

/* --- variables ----------------------------------------------------------------------------------- */

static const char *const loading[] = {
	"LD_*", "DYLD_*", "NODE_PATH", "NODE_OPTIONS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP",
	"PYTHONUSERBASE", "PERL5*", "PERLLIB", "RUBYOPT", "RUBYLIB", "BASH_ENV", "ENV", "GIT_SSH*",
	"GIT_CONFIG*", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_*EDITOR", "GIT_TEMPLATE_DIR",
	"JAVA_*", "_JAVA_*", "JDK_JAVA_*", "GCONV_PATH", "GLIBC_*", "CLASSPATH", "LUA_*", "PHPRC",
	"PHP_INI_*", "EDITOR", "VISUAL", "PAGER", "ZDOTDIR", "PROMPT_*", "OPENSSL_CONF", "OPENSSL_*",
	"*_PRELOAD",
};
/* With a value of the profile's own these are settings; what the caller has may be anything. */
static const char *const loading_passed[] = { "GIT_*", "PYTHON*" };
static const char *const pointing[] = {
	"*_SOCK", "*_ASKPASS", "KUBECONFIG", "DOCKER_*", "CONTAINER_HOST", "DBUS_*", "XDG_RUNTIME_DIR",
	"GNUPGHOME", "NETRC", "*_CREDENTIALS*", "*_CONFIG_DIR", "WAYLAND_DISPLAY", "DISPLAY", "XAUTHORITY",
	"SSH_*",
};

static bool matches(const char *name, const char *const *pattern, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(pattern[i], name, 0) == 0)
			return true;
	return false;
}

/* How keys of well-known services begin. */
static const char *const secret_values[] = {
	"sk-*", "ghp_*", "gho_*", "ghs_*", "github_pat_*", "glpat-*", "xox[bp]-*", "AKIA*", "AIza*", "eyJ*.*.*",
	"-----BEGIN *",
};

/* A user and a password in a URL. */
static bool has_password(const char *value)
{
	const char *at = strstr(value, "://"), *colon;

	if (!at)
		return false;
	at += 3;
	colon = memchr(at, ':', strcspn(at, "/@"));
	return colon && at[strcspn(at, "/@")] == '@' && colon[1] != '@';
}

enum { SECRET_LENGTH = 8 }; /* shorter ones are switches and numbers */

/* A text of the profile's own that is a secret by the name of its variable, or by how it looks; no path, no place. */
static bool holds_secret(const struct env_entry *e)
{
	const char *value = e->value ? e->value : "";

	if (strlen(value) < SECRET_LENGTH || *value == '/' || (unsigned char)*value < ' ')
		return false;
	return has_password(value) || matches(value, secret_values, sizeof secret_values / sizeof *secret_values) ||
	       (credential_looks_like(e->name) && strspn(value, "0123456789.") != strlen(value));
}

static void check_value(struct lint *l, const struct env_entry *e)
{
	struct finding *f;

	if (!holds_secret(e))
		return;
	f = lint_add(l, 132, e->at, "the value of this variable looks like a secret, and stands in the profile");
	f->instead = "credentialEnv with its name, and the value in the environment of the caller";
	f->secret = true;
}

void lint_env(struct lint *l)
{
	const struct policy *p = &l->compile->policy;

	for (size_t i = 0; i < p->nenv; i++) {
		const struct env_entry *e = &p->env[i];
		struct finding *f;

		if (e->set)
			continue; /* of a built-in set */
		check_value(l, e);
		if (matches(e->name, loading, sizeof loading / sizeof *loading) ||
		    (!e->value && matches(e->name, loading_passed, sizeof loading_passed / sizeof *loading_passed))) {
			f = lint_add(l, 130, e->at, "%s makes programs load code, or start others", e->name);
			f->instead = "a setting of the tool's own, or none";
		} else if (!e->value && matches(e->name, pointing, sizeof pointing / sizeof *pointing)) {
			f = lint_add(l, 131, e->at, "%s leads to credentials, or to an agent that holds them", e->name);
			f->instead = "credentialEnv with the one that the tool needs";
		} else {
			continue;
		}
		f->fix = lint_remove_item(l, e->at, false);
	}
}

/* --- files --------------------------------------------------------------------------------------- */

/* Is the rule's path `path`, or a folder around it, or (a pattern without a slash) does it end so? */
struct place {
	unsigned base; /* CAVE_FILE_BASES */
	const char *path;
};

static const struct place hooks[] = {
	{ 0, "/etc" }, { 0, "/usr" }, { 0, "/opt" }, { 0, "/boot" }, { 0, "/var/spool/cron" }, { 0, "/root" },
	{ CAVE_FILE_HOME, ".bashrc" }, { CAVE_FILE_HOME, ".profile" }, { CAVE_FILE_HOME, ".ssh" },
	{ CAVE_FILE_HOME, ".config" }, { CAVE_FILE_HOME, ".gitconfig" }, { CAVE_FILE_HOME, ".local/bin" },
	{ CAVE_FILE_WORKSPACE, ".git/hooks" }, { CAVE_FILE_WORKSPACE, ".git/config" },
	{ CAVE_FILE_RELATIVE, ".git/hooks" }, { CAVE_FILE_RELATIVE, ".git/config" },
};
static const struct place secrets[] = {
	{ 0, "/etc/shadow" }, { 0, "/etc/gshadow" }, { 0, "/etc/ssh" }, { 0, "/root" }, { 0, "/etc/kubernetes" },
	{ 0, "/var/run/secrets" }, { 0, "/run/secrets" }, { 0, "/proc" },
	{ CAVE_FILE_HOME, ".ssh" }, { CAVE_FILE_HOME, ".aws" }, { CAVE_FILE_HOME, ".netrc" },
	{ CAVE_FILE_HOME, ".kube" }, { CAVE_FILE_HOME, ".gnupg" }, { CAVE_FILE_HOME, ".docker" },
	{ CAVE_FILE_HOME, ".config/gcloud" }, { CAVE_FILE_HOME, ".npmrc" }, { CAVE_FILE_HOME, ".git-credentials" },
};
static const struct place sockets[] = {
	{ 0, "/run/docker.sock" }, { 0, "/var/run/docker.sock" }, { 0, "/run/containerd/containerd.sock" },
	{ 0, "/run/podman/podman.sock" }, { 0, "/run/crio/crio.sock" }, { 0, "/run/user" }, { 0, "/run/dbus" },
	{ 0, "/var/run/dbus" }, { 0, "/run/libvirt" }, { 0, "/tmp/.X11-unix" }, { 0, "/run/systemd/private" },
	{ CAVE_FILE_HOME, ".docker/run/docker.sock" },
};

static bool is_place(const char *path)
{
	return !*path || strcmp(path, ".") == 0;
}

static bool below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return is_place(top) || (strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/'));
}

/* A denial takes the place, or the right to write it, away. */
static bool is_denied(const struct policy *p, const struct place *place, unsigned right)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->file[i].flags & CAVE_FILE_DENY && (p->file[i].flags & CAVE_FILE_BASES) == place->base &&
		    (right == CAVE_FILE_WRITE || !(p->file[i].flags & CAVE_FILE_ONLY_WRITE)) &&
		    below(place->path, p->file[i].path))
			return true;
	return false;
}

/* The first place that the grant covers or lies in, and that no denial takes away; NULL if there is none. */
static const struct place *touches(const struct policy *p, const struct file_rule *f, unsigned right,
				   const struct place *place, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((f->flags & CAVE_FILE_BASES) == place[i].base &&
		    (below(place[i].path, f->path) || below(f->path, place[i].path)) && !is_denied(p, &place[i], right))
			return &place[i];
	return NULL;
}

#define TOUCHES(l, f, right, list) touches(&(l)->compile->policy, f, right, list, sizeof(list) / sizeof *(list))

static const char *spelled(struct lint *l, const char *path, unsigned flags)
{
	return path_spelling(l->arena, path, flags);
}

static bool is_below(const char *path, const char *top)
{
	return below(path, top) && strcmp(path, top) != 0 && !(is_place(path) && is_place(top));
}

/* A denial of all listed places below the grant, or the end of a grant that is one of them or lies in one. */
static struct lint_fix fix_places(struct lint *l, const struct file_rule *f, const char *verb, unsigned right,
				  const struct place *place, size_t n)
{
	const struct policy *p = &l->compile->policy;
	const char *text = verb;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if ((f->flags & CAVE_FILE_BASES) != place[i].base || is_denied(p, &place[i], right))
			continue;
		if (below(f->path, place[i].path))
			return lint_remove_item(l, f->at, false);
		if (!is_below(place[i].path, f->path))
			continue;
		text = arena_printf(l->arena, "%s%s %s", text, any ? "," : "", spelled(l, place[i].path, place[i].base));
		any = true;
	}
	return any ? lint_append(l, f->at, text, text) : (struct lint_fix){ 0 };
}

#define FIX_PLACES(l, f, verb, right, list) fix_places(l, f, verb, right, list, sizeof(list) / sizeof *(list))

static void check_hooks(struct lint *l, const struct file_rule *f)
{
	const struct place *place = TOUCHES(l, f, CAVE_FILE_WRITE, hooks);
	struct finding *finding;

	if (!place)
		return;
	finding = lint_add(l, 150, f->at, "this write grant covers %s, which runs or configures what is outside",
			   spelled(l, place->path, place->base));
	finding->instead = arena_printf(l->arena, "a narrower folder, or besides: deny write %s",
					spelled(l, place->path, place->base));
	finding->fix = FIX_PLACES(l, f, "deny write", CAVE_FILE_WRITE, hooks);
	/* A workspace need not be a repository. */
	if (place->base == CAVE_FILE_WORKSPACE && is_place(f->path))
		finding->severity = SEVERITY_INFO;
}

static void check_secrets(struct lint *l, const struct file_rule *f)
{
	const struct place *place = TOUCHES(l, f, CAVE_FILE_READ, secrets);
	struct finding *finding;

	if (!place)
		return;
	finding = lint_add(l, 152, f->at, "this grant has %s in it", spelled(l, place->path, place->base));
	finding->instead = "the one file that the tool needs, or credentialEnv";
	finding->fix = FIX_PLACES(l, f, "deny", CAVE_FILE_READ, secrets);
}

static void check_sockets(struct lint *l, const struct file_rule *f)
{
	const struct place *place = TOUCHES(l, f, CAVE_FILE_READ, sockets);
	struct finding *finding;

	if (!place)
		return;
	finding = lint_add(l, 160, f->at, "this grant has the socket, or the sockets of, %s in it", place->path);
	finding->instead = "remove it: a sandbox with such a socket is none";
	finding->fix = lint_remove_item(l, f->at, false);
}

/* An absolute path as the profile's folder makes one, or NULL. */
static const char *absolute(struct lint *l, const struct file_rule *f, const char *folder)
{
	if (!(f->flags & CAVE_FILE_BASES))
		return f->path;
	if (!(f->flags & CAVE_FILE_RELATIVE) || !folder)
		return NULL;
	return is_place(f->path) ? folder : arena_printf(l->arena, "%s/%s", folder, f->path);
}

/* The writing of an absolute path is denied. */
static bool is_denied_at(struct lint *l, const char *path, const char *folder)
{
	const struct policy *p = &l->compile->policy;

	for (size_t i = 0; i < p->nfiles; i++) {
		const char *top = p->file[i].flags & CAVE_FILE_DENY ? absolute(l, &p->file[i], folder) : NULL;

		if (top && below(path, top))
			return true;
	}
	return false;
}

static void check_own_profile(struct lint *l, const struct file_rule *f)
{
	char *own = realpath(l->path, NULL), *slash = own ? strrchr(own, '/') : NULL;
	const char *folder = slash ? arena_strndup(l->arena, own, (size_t)(slash - own)) : NULL;
	const char *top = absolute(l, f, folder), *text;
	struct finding *finding;

	if (own && top && below(own, top) && !is_denied_at(l, own, folder)) {
		finding = lint_add(l, 151, f->at, "this write grant covers the profile itself");
		finding->instead = "a folder that holds no policy";
		text = arena_printf(l->arena, "deny write %s",
				    f->flags & CAVE_FILE_RELATIVE ? spelled(l, slash + 1, CAVE_FILE_RELATIVE) :
								    spelled(l, arena_strdup(l->arena, own), 0));
		finding->fix = is_below(own, top) ? lint_append(l, f->at, text, text) : lint_remove_item(l, f->at, false);
	}
	free(own);
}

static const char *const interpreters[] = {
	"sh", "bash", "dash", "zsh", "busybox", "python*", "node", "perl*", "ruby*", "php*", "lua*", "java",
	"deno", "bun", "env", "find", "xargs", "nohup", "nice", "timeout", "sudo", "su", "ssh", "git",
	"make", "awk", "gawk", "mawk", "sed", "tar", "setsid", "stdbuf", "script", "expect", "gdb",
	"strace", "vi", "vim", "emacs", "less", "man", "npx", "npm", "pip*", "curl", "wget", "socat", "nc*",
	"ld*.so*", "docker", "kubectl", "systemd-run",
};

/* The write grant that covers what may be executed, or lies in it. */
static const struct file_rule *writing(const struct policy *p, const struct file_rule *f)
{
	if (is_denied(p, &(struct place){ f->flags & CAVE_FILE_BASES, f->path }, CAVE_FILE_WRITE))
		return NULL;
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->file[i].flags & CAVE_FILE_WRITE &&
		    (p->file[i].flags & CAVE_FILE_BASES) == (f->flags & CAVE_FILE_BASES) &&
		    (below(f->path, p->file[i].path) || (f->flags & CAVE_FILE_FOLDER && below(p->file[i].path, f->path))))
			return &p->file[i];
	return NULL;
}

static void check_writable(struct lint *l, const struct file_rule *f)
{
	const struct file_rule *by = writing(&l->compile->policy, f);
	struct finding *finding;
	const char *text;

	if (!by)
		return;
	finding = lint_add(l, 141, f->at, "what may be executed here may be written too");
	finding->instead = "programs in a folder that the tool cannot write to";
	finding->other = by->at.begin == f->at.begin ? (struct span){ 0 } : by->at;
	text = arena_printf(l->arena, "deny write %s", spelled(l, f->path, f->flags & CAVE_FILE_BASES));
	if (is_below(f->path, by->path))
		finding->fix = lint_append(l, by->at, text, text);
}

static void check_program(struct lint *l, const struct file_rule *f)
{
	const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;

	check_writable(l, f);
	if (f->flags & CAVE_FILE_FOLDER || path_is_place(f->path, f->flags))
		lint_add(l, 142, f->at, "every program of a folder may be executed")->instead =
			"the programs that the tool starts";
	else if (matches(name, interpreters, sizeof interpreters / sizeof *interpreters))
		lint_add(l, 140, f->at, "'%s' runs code or starts programs as it is told", name)->instead =
			"the program that it is to run, if there is one; what it starts keeps to this profile";
}

/* A path that another grant covers, with all that may be done with it. */
static void check_covered(struct lint *l, const struct file_rule *f)
{
	const struct policy *p = &l->compile->policy;

	for (size_t i = 0; i < p->nfiles; i++) {
		const struct file_rule *other = &p->file[i];
		unsigned rights = CAVE_FILE_READ | CAVE_FILE_WRITE;
		struct finding *finding;

		if (other == f || (other->flags & CAVE_FILE_DENY) || f->set || other->set ||
		    (f->flags & CAVE_FILE_EXECUTE) || (other->flags & CAVE_FILE_BASES) != (f->flags & CAVE_FILE_BASES) ||
		    (f->flags & rights & ~other->flags) || !below(f->path, other->path))
			continue;
		finding = lint_add(l, 104, f->at, "a folder around this path is granted already");
		finding->other = other->at;
		finding->instead = "remove it, unless the start shall fail where it is missing";
		finding->fix = lint_remove_item(l, f->at, true);
		return;
	}
}

/* A shell, a service manager or another sandbox would read it in another way; a star is refused by the compiler. */
static void check_pattern(struct lint *l, const struct file_rule *rule)
{
	static const char *const patterns[] = { "*[?]*", "*[[]*]*", "*{*}*", "*$[A-Za-z_({]*", "*%[a-zA-Z]*", "*%{*}*" };
	struct finding *f;

	if (!matches(rule->path, patterns, sizeof patterns / sizeof *patterns))
		return;
	f = lint_add(l, 153, rule->at, "this is the path of that very name: no pattern, and no variable");
	f->instead = "the folder that holds the files; or keep it, if there is a file of this name";
}

void lint_files(struct lint *l)
{
	const struct policy *p = &l->compile->policy;

	for (size_t i = 0; i < p->nfiles; i++) {
		const struct file_rule *f = &p->file[i];

		if (!f->set)
			check_pattern(l, f);
		if (f->flags & CAVE_FILE_DENY || f->set)
			continue;
		if (f->flags & CAVE_FILE_WRITE) {
			check_hooks(l, f);
			check_own_profile(l, f);
		}
		if (f->flags & CAVE_FILE_EXECUTE)
			check_program(l, f);
		check_secrets(l, f);
		check_sockets(l, f);
		check_covered(l, f);
	}
}

void lint_limits(struct lint *l)
{
	const struct policy *p = &l->compile->policy;

	struct span at = p->limit_at[CAVE_LIMIT_TIME].file ? p->limit_at[CAVE_LIMIT_TIME] : p->at;
	struct finding *f;

	if (p->limits.value[CAVE_LIMIT_TIME])
		return;
	f = lint_add(l, 190, at, "the tool may run for ever");
	f->instead = "limits { time 5min }";
	f->fix = lint_replace(l, at, "time 5min", "time 5min");
}
