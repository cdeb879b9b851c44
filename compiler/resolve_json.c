/* SPDX-License-Identifier: MIT */
/*
 * The seed system's JSON profile: exactly
 * {"schema_version":1,"network":BOOL,"child_process":BOOL,"credential_env":[NAME…]}.
 */
#include <jansson.h>
#include <string.h>

#include "compiler/resolve.h"

static const struct span nowhere;
static const char *const keys[] = { "schema_version", "network", "child_process", "credential_env", NULL };

/* Where a key or a name stands in the text, which the JSON library does not tell: its first occurrence. */
static struct span find(const struct diags *d, uint32_t file, const char *word)
{
	const struct source_file *f = &d->sources->file[file];
	const char *quoted = arena_printf(d->sources->arena, "\"%s\"", word), *found = strstr(f->text, quoted);

	if (!found)
		return (struct span){ file, 0, 0 };
	return (struct span){ file, (uint32_t)(found - f->text), (uint32_t)(found - f->text + (long)strlen(quoted)) };
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

/* Exactly the four keys, each of its type. */
static bool check_schema(struct diags *d, uint32_t file, json_t *root)
{
	unsigned before = d->errors;
	const char *key;
	json_t *value;

	if (!json_is_object(root)) {
		invalid(d, (struct span){ file, 0, 0 }, "a JSON profile is one object");
		return false;
	}
	json_object_foreach(root, key, value) {
		const char *meant = nearest(key, keys);

		if (!meant || strcmp(meant, key) != 0)
			invalid(d, find(d, file, key), "the schema has no such key");
	}
	for (size_t i = 0; keys[i]; i++)
		if (!json_object_get(root, keys[i]))
			invalid(d, (struct span){ file, 0, 0 },
				arena_printf(d->sources->arena, "the key \"%s\" is missing", keys[i]));
	if (d->errors != before)
		return false;
	value = json_object_get(root, "schema_version");
	if (!json_is_integer(value) || json_integer_value(value) != 1)
		invalid(d, find(d, file, keys[0]), "\"schema_version\" is 1");
	for (size_t i = 1; i <= 2; i++)
		if (!json_is_boolean(json_object_get(root, keys[i])))
			invalid(d, find(d, file, keys[i]), "this value is neither true nor false");
	if (!json_is_array(json_object_get(root, "credential_env")))
		invalid(d, find(d, file, keys[3]), "\"credential_env\" is a list of names");
	return d->errors == before;
}

static void resolve_names(struct resolver *r, uint32_t file, json_t *names)
{
	struct span at = find(r->diags, file, "credential_env");
	json_t *name;
	size_t i;

	json_array_foreach(names, i, name) {
		if (!json_is_string(name))
			invalid(r->diags, at, "\"credential_env\" is a list of names");
		else
			resolve_credential(r, arena_strdup(r->arena, json_string_value(name)),
					   find(r->diags, file, json_string_value(name)));
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
	bool good = root && check_schema(d, file, root);

	if (good) {
		*out = (struct policy){ .name = stem(r.arena, d->sources->file[file].name) };
		out->at = (struct span){ file, 0, 0 };
		if (json_is_true(json_object_get(root, "network")))
			diag_error(d, CAVE_EGRESS_UNBOUNDED, find(d, file, "network"),
				   "this grants every destination there is");
		if (json_is_true(json_object_get(root, "child_process")))
			diag_error(d, CAVE_CHILD_CONTAINMENT, find(d, file, "child_process"),
				   "children without a bound cannot be contained");
		resolve_names(&r, file, json_object_get(root, "credential_env"));
		good = resolver_finish(&r);
	}
	json_decref(root);
	return good;
}
