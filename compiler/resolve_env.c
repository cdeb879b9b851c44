/* SPDX-License-Identifier: MIT */
/* credentialEnv and env { … }. */
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/buffer.h"
#include "compiler/resolve.h"

static const struct span nowhere;

/* Linux takes strings of 128 KiB (MAX_ARG_STRLEN, include/uapi/linux/binfmts.h), the name counted. */
enum { MAX_VALUE = 100000 };

static const char *const env_statements[] = { "pass", "set", NULL };

/* A place in a value: its name, the bytes that stand for it, and the base of what must be granted of it. */
static const struct place {
	const char *word, *bytes;
	unsigned base;
} places[] = {
	{ "workspace", (const char[]){ CAVE_ENV_WORKSPACE_BYTE, 0 }, CAVE_FILE_WORKSPACE },
	{ "tmp", (const char[]){ CAVE_ENV_TMP_BYTE, 0 }, CAVE_FILE_TMP },
	{ "home", (const char[]){ CAVE_ENV_HOME_BYTE, 0 }, 0 }, /* it is there without a grant */
};
enum { PLACES = sizeof places / sizeof *places };

static const char *const place_names[] = { "workspace", "tmp", "home", NULL };
static const char slot_byte = CAVE_ENV_SLOT_BYTE;

static const char *capability_of(const struct resolver *r, const char *name)
{
	struct operator_word capability;

	if (!operator_capability(&r->options->rules, name, &capability))
		return NULL;
	return arena_strndup(r->arena, capability.at, capability.n);
}

/* The name may itself identify a secret: neither it nor its line is ever shown. */
static void refuse_secretly(struct resolver *r, enum cave_code code, struct span at, const char *text)
{
	diag_error(r->diags, code, at, "%s", text)->secret = true;
}

static void count_capability(struct resolver *r, const char *name, struct span at, bool granted)
{
	const char *capability = capability_of(r, name);

	if (capability)
		*ARENA_PUSH(r->arena, r->credential, r->ncredentials, r->credential_cap) =
			(struct credential_use){ capability, name, at, granted };
}

void resolve_credential(struct resolver *r, const char *name, struct span at)
{
	if (!capability_of(r, name) || credential_denied(name)) {
		refuse_secretly(r, CAVE_CREDENTIAL_NOT_ALLOWLISTED, at,
				"this name is not in the table of credential capabilities");
		return;
	}
	count_capability(r, name, at, true);
}

void resolve_credentials(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next)
		resolve_credential(r, n->text, n->at);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void finish_credentials(struct resolver *r)
{
	const char **names = ARENA_ARRAY(r->arena, r->ncredentials + 1, const char *);
	size_t n = 0, unique = 0;

	for (size_t i = 0; i < r->ncredentials; i++) {
		if (strcmp(r->credential[i].capability, r->credential[0].capability) != 0)
			refuse_secretly(r, CAVE_CREDENTIAL_AMBIGUOUS, r->credential[i].at,
					"a profile holds credentials of one capability only, and another came before");
		if (r->credential[i].granted)
			names[n++] = r->credential[i].name;
	}
	qsort(names, n, sizeof *names, by_name);
	for (size_t i = 0; i < n; i++)
		if (!unique || strcmp(names[i], names[unique - 1]) != 0)
			names[unique++] = names[i];
	r->policy->credential = names;
	r->policy->ncredentials = unique;
}

static void add_variable(struct resolver *r, const char *name, const char *value, struct span at)
{
	*ARENA_PUSH(r->arena, r->env, r->nenv, r->env_cap) =
		(struct env_entry){ .name = name, .value = value, .set = r->in_set, .at = at };
	count_capability(r, name, at, false);
}

static bool check_name(struct resolver *r, const char *name, struct span at)
{
	if (env_name_valid(name) && strlen(name) <= ARTEFACT_NAME_MAX)
		return true;
	diag_error(r->diags, CAVE_VALUE, at, "this is no name of an environment variable");
	return false;
}

static void resolve_pass(struct resolver *r, const struct node *n)
{
	if (credential_looks_like(n->text) || (credential_denied(n->text) && !env_pass_excepted(n->text))) {
		refuse_secretly(r, CAVE_CREDENTIAL_NOT_ALLOWLISTED, n->at,
				"this name is, or looks like, a credential or one that loads code: env does not pass it");
		return;
	}
	if (check_name(r, n->text, n->at))
		add_variable(r, n->text, NULL, n->at);
}

/* Appends the bytes for the place of "${…}"; returns false after an error was recorded. */
static bool add_place(struct resolver *r, const char *name, size_t n, struct span at, struct buffer *out)
{
	const char prefix[] = "folder:";
	size_t skip = sizeof prefix - 1;
	struct diag *e;

	for (size_t i = 0; i < PLACES; i++)
		if (strlen(places[i].word) == n && memcmp(places[i].word, name, n) == 0) {
			buffer_add(out, places[i].bytes, 1);
			return true;
		}
	if (n > skip && memcmp(name, prefix, skip) == 0 && artefact_slot_valid(name + skip, n - skip)) {
		buffer_add(out, &slot_byte, 1);
		buffer_add(out, name + skip, n - skip);
		buffer_add(out, &slot_byte, 1);
		return true;
	}
	e = diag_error(r->diags, CAVE_UNKNOWN_NAME, at, "this string names no known place");
	diag_note(r->diags, e, nowhere, "the places are ${workspace}, ${tmp}, ${home} and ${folder:NAME}");
	return false;
}

/* "${workspace}/x": places are replaced by their bytes; NULL after an error was recorded. */
static const char *expand(struct resolver *r, const char *text, struct span at)
{
	struct buffer out = { .arena = r->arena };
	const char *open;

	while ((open = strstr(text, "${"))) {
		size_t n = strcspn(open + 2, "}");

		buffer_add(&out, text, (size_t)(open - text));
		/* An open one names nothing. */
		if (!add_place(r, open + 2, open[2 + n] == '}' ? n : 0, at, &out))
			return NULL;
		text = open + 2 + n + 1;
	}
	buffer_add(&out, text, strlen(text) + 1);
	return out.data;
}

/* The place that a bare word begins with, or NULL. */
static const struct place *place_of(const char *word)
{
	for (size_t i = 0; i < PLACES; i++) {
		size_t n = strlen(places[i].word);

		if (strncmp(word, places[i].word, n) == 0 && (!word[n] || word[n] == '/'))
			return &places[i];
	}
	return NULL;
}

static const char *value_of(struct resolver *r, const struct node *n)
{
	const struct place *place = n->kind == N_WORD ? place_of(n->text) : NULL;
	const char *meant;
	struct diag *e;

	if (n->kind == N_STRING) {
		place = place_of(n->text);
		if (place && !n->text[strlen(place->word)])
			diag_remark(r->diags, n->at, "in quotes this is a text; the place is: %s", n->text);
		return expand(r, n->text, n->at);
	}
	if (place && !n->text[strlen(place->word)])
		return place->bytes;
	e = diag_error(r->diags, CAVE_VALUE, n->at, "a value is a string or a place, not a bare word");
	meant = place ? NULL : nearest(n->text, place_names);
	if (meant)
		diag_note(r->diags, e, nowhere, "did you mean the place '%s'?", meant);
	if (place)
		diag_note(r->diags, e, nowhere, "write: \"${%s}%s\"", place->word, n->text + strlen(place->word));
	else
		diag_note(r->diags, e, nowhere, "write: \"%s\"", n->text);
	return NULL;
}

/* PATH with "/" for every place, whose path is absolute. */
static char *with_slashes(struct arena *a, const char *value)
{
	char *path = arena_strdup(a, value), *to = path;

	for (const char *c = value; *c; c++) {
		if (*c == CAVE_ENV_SLOT_BYTE)
			c = strchr(c + 1, CAVE_ENV_SLOT_BYTE);
		*to++ = *c < ' ' && *c >= 0 ? '/' : *c;
	}
	*to = '\0';
	return path;
}

static void resolve_set(struct resolver *r, const struct node *n)
{
	const char *value = value_of(r, n->kids), *fault;

	if (!check_name(r, n->text, n->name) || !value)
		return;
	if (strlen(value) > MAX_VALUE) {
		diag_error(r->diags, CAVE_VALUE, n->kids->at, "a value is at most %d bytes long", MAX_VALUE);
		return;
	}
	if (strcmp(n->text, "PATH") == 0) {
		fault = path_fault(with_slashes(r->arena, value));
		if (fault) {
			diag_error(r->diags, CAVE_VALUE, n->kids->at, "%s", fault);
			return;
		}
	}
	add_variable(r, n->text, value, n->name);
}

void resolve_env(struct resolver *r, const struct node *statement)
{
	for (const struct node *n = statement->kids; n; n = n->next) {
		if (n->kind == N_STRANGER)
			stranger(r, n, "env", env_statements);
		else if (n->kind == N_ENV_SET)
			resolve_set(r, n);
		else
			for (const struct node *i = n->kids; i; i = i->next)
				resolve_pass(r, i);
	}
}

static int by_variable(const void *a, const void *b)
{
	const struct env_entry *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (!x->set != !y->set)
		return x->set ? 1 : -1;
	return x->at.begin < y->at.begin ? -1 : x->at.begin > y->at.begin;
}

static bool same_value(const struct env_entry *a, const struct env_entry *b)
{
	if (!a->value || !b->value)
		return a->value == b->value;
	return strcmp(a->value, b->value) == 0;
}

void finish_env(struct resolver *r)
{
	size_t n = 0;

	if (r->nenv)
		qsort(r->env, r->nenv, sizeof *r->env, by_variable);
	for (size_t i = 0; i < r->nenv; i++) {
		if (n && strcmp(r->env[n - 1].name, r->env[i].name) == 0) {
			if (r->env[n - 1].set && !r->env[i].set)
				r->env[n - 1] = r->env[i]; /* the profile's own comes before a set's */
			else if (!r->env[i].set && !same_value(&r->env[n - 1], &r->env[i]))
				diag_note(r->diags,
					  diag_error(r->diags, CAVE_CONTRADICTION, r->env[i].at,
						     "this variable has two values"),
					  r->env[n - 1].at, "the other one is here");
			continue;
		}
		r->env[n++] = r->env[i];
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < r->policy->ncredentials; j++)
			if (strcmp(r->env[i].name, r->policy->credential[j]) == 0)
				refuse_secretly(r, CAVE_CONTRADICTION, r->env[i].at,
						"this variable is a granted credential and set by env as well");
	if (n + r->policy->ncredentials > ARTEFACT_ENV_MAX)
		diag_error(r->diags, CAVE_VALUE, r->env[n - 1].at, "a profile names at most %d variables",
			   ARTEFACT_ENV_MAX);
	r->policy->env = r->env;
	r->policy->nenv = n;
}

/* True if `f` grants something of the place that stands at `bytes` in a value. */
static bool grants_place(const struct file_rule *f, const char *bytes)
{
	size_t n;

	if (f->flags & CAVE_FILE_DENY)
		return false;
	for (size_t i = 0; i < PLACES; i++)
		if (*bytes == *places[i].bytes)
			return !places[i].base || f->flags & places[i].base;
	n = strcspn(bytes + 1, (const char[]){ slot_byte, 0 });
	return f->flags & CAVE_FILE_SLOT && strncmp(f->path, bytes + 1, n) == 0 && (!f->path[n] || f->path[n] == '/');
}

/* The place that stands at `c`, of which files grants nothing, and what would grant it. */
static void refuse_place(struct resolver *r, const struct env_entry *e, const char *c)
{
	struct diag *d = diag_error(r->diags, CAVE_VALUE, e->at,
				    "the value names a place of which files grants nothing: it has no path");

	for (size_t i = 0; i < PLACES; i++)
		if (*c == *places[i].bytes)
			diag_note(r->diags, d, nowhere, "grant it besides: files { write %s }", places[i].word);
	if (*c == CAVE_ENV_SLOT_BYTE)
		diag_note(r->diags, d, nowhere, "grant it besides: files { read folder %.*s }, or write",
			  (int)strcspn(c + 1, (const char[]){ slot_byte, 0 }), c + 1);
}

/* A place that the profile grants nothing of has no path. */
static void check_places(struct resolver *r, const struct env_entry *e)
{
	for (const char *c = e->value; c && *c; c++) {
		bool granted = *c == CAVE_ENV_HOME_BYTE;

		if (*c < CAVE_ENV_WORKSPACE_BYTE || *c > CAVE_ENV_SLOT_BYTE)
			continue;
		for (size_t i = 0; i < r->policy->nfiles && !granted; i++)
			granted = grants_place(&r->policy->file[i], c);
		if (!granted)
			refuse_place(r, e, c);
		if (*c == CAVE_ENV_SLOT_BYTE)
			c = strchr(c + 1, CAVE_ENV_SLOT_BYTE);
	}
}

void finish_places(struct resolver *r)
{
	for (size_t i = 0; i < r->policy->nenv; i++)
		check_places(r, &r->policy->env[i]);
}
