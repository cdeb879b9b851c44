/* SPDX-License-Identifier: MIT */
/*
 * The seed system's JSON profile: exactly
 * {"schema_version":1,"network":BOOL,"child_process":BOOL,"credential_env":[NAME…]}.
 */
#include <jansson.h>
#include <string.h>

#include "bpf/limits.h"
#include "compiler/resolve.h"

static const struct span nowhere;

enum { MAX_NAMES = 1000 };
static const char *const keys[] = { "schema_version", "network", "child_process", "credential_env", NULL };

/*
 * Where a key (`is_key`) or a name stands in the text, which the JSON library does not tell: the first string of
 * that spelling with a colon behind it, or without one.
 */
static struct span find(const struct diags *d, uint32_t file, const char *word, bool is_key)
{
	const struct source_file *f = &d->sources->file[file];
	const char *quoted = arena_printf(d->sources->arena, "\"%s\"", word), *at = f->text;
	size_t n = strlen(quoted);

	for (; (at = strstr(at, quoted)); at += n) {
		const char *after = at + n + strspn(at + n, " \t\r\n");

		if ((*after == ':') == is_key)
			return (struct span){ file, (uint32_t)(at - f->text), (uint32_t)(at - f->text + (long)n) };
	}
	return (struct span){ file, 0, 0 };
}

static void invalid(struct diags *d, struct span at, const char *text)
{
	struct diag *e = diag_error(d, CAVE_PROFILE_INVALID, at, "%s", text);

	diag_note(d, e, nowhere,
		  "the schema is {\"schema_version\":1,\"network\":false,\"child_process\":false,\"credential_env\":[]}");
}

static json_t *load(struct diags *d, uint32_t file)
{
	const struct source_file *f = &d->sources->file[file];
	json_error_t error;
	json_t *root = json_loadb(f->text, f->size, JSON_REJECT_DUPLICATES, &error);
	struct span at = { file, 0, 0 };

	if (!root) {
		at.begin = error.position > 0 && (size_t)error.position <= f->size ? (uint32_t)error.position - 1 : 0;
		at.end = at.begin;
		/* The library's text may quote what it stumbled on, and that may be a credential's name. */
		invalid(d, at, json_error_code(&error) == json_error_duplicate_key ? "an object has one key twice" :
										       "this is not JSON");
	}
	return root;
}

/* Exactly the four keys; what is wrong with one does not keep the others from being looked at. */
static void check_keys(struct diags *d, uint32_t file, json_t *root)
{
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value) {
		const char *meant = nearest(key, keys);

		if (!meant || strcmp(meant, key) != 0)
			invalid(d, find(d, file, key, true), "the schema has no such key");
	}
	for (size_t i = 0; keys[i]; i++)
		if (!json_object_get(root, keys[i]))
			invalid(d, (struct span){ file, 0, 0 },
				arena_printf(d->sources->arena, "the key \"%s\" is missing", keys[i]));
	value = json_object_get(root, "schema_version");
	if (value && (!json_is_integer(value) || json_integer_value(value) != 1))
		invalid(d, find(d, file, "schema_version", true), "\"schema_version\" is 1");
}

/* A key that may only be false: true is refused with `code`. */
static void resolve_bool(struct resolver *r, uint32_t file, json_t *root, const char *key, enum cave_code code,
			 const char *text)
{
	json_t *value = json_object_get(root, key);

	if (json_is_true(value))
		diag_error(r->diags, code, find(r->diags, file, key, true), "%s", text);
	else if (value && !json_is_false(value))
		invalid(r->diags, find(r->diags, file, key, true), "this value is neither true nor false");
}

static void resolve_names(struct resolver *r, uint32_t file, json_t *names)
{
	struct span at = find(r->diags, file, "credential_env", true);
	json_t *name;
	size_t i;

	if (names && (!json_is_array(names) || json_array_size(names) > MAX_NAMES)) {
		invalid(r->diags, at, "\"credential_env\" is a list of names, 1,000 at most");
		return;
	}
	json_array_foreach(names, i, name) {
		if (!json_is_string(name))
			invalid(r->diags, at, "\"credential_env\" is a list of names");
		else
			resolve_credential(r, arena_strdup(r->arena, json_string_value(name)),
					   find(r->diags, file, json_string_value(name), false));
	}
}

/* The profile's name: the file's, without folder and ending, of letters that a name may have. */
static const char *stem(struct arena *a, const char *file)
{
	const char *slash = strrchr(file, '/');
	char *name = arena_strdup(a, slash ? slash + 1 : file), *dot = strrchr(name, '.');

	if (dot && dot > name)
		*dot = '\0';
	for (char *c = name; *c; c++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *c))
			*c = '-';
	return strlen(name) > 64 ? arena_strndup(a, name, 64) : name;
}

bool resolve_json(struct diags *d, const struct resolve_options *o, uint32_t file, struct policy *out)
{
	struct resolver r = { .diags = d, .arena = d->sources->arena, .options = o, .policy = out };
	json_t *root = load(d, file);
	bool good = false;

	*out = (struct policy){ .name = stem(r.arena, d->sources->file[file].name), .at = { file, 0, 0 },
				.limits = limits_standard() };
	if (root && !json_is_object(root)) {
		invalid(d, out->at, "a JSON profile is one object");
	} else if (root) {
		check_keys(d, file, root);
		resolve_bool(&r, file, root, "network", CAVE_EGRESS_UNBOUNDED,
			     "this grants every destination there is");
		resolve_bool(&r, file, root, "child_process", CAVE_CHILD_CONTAINMENT,
			     "children without a bound cannot be contained");
		resolve_names(&r, file, json_object_get(root, "credential_env"));
		good = resolver_finish(&r);
	}
	json_decref(root);
	return good;
}
