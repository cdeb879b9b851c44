/* SPDX-License-Identifier: MIT */
#include "runtime/env.h"

#include <string.h>

#include "bpf/credentials.h"

/* What is set where the profile says nothing: the caller's value if `inherited` and it has one. */
static const struct {
	const char *name, *value;
	bool inherited;
} defaults[] = {
	{ "LANG", "C.UTF-8", true },
	{ "LC_ALL", "C.UTF-8", true },
	{ "PATH", "/usr/local/bin:/usr/bin:/bin", false },
	{ "TZ", "UTC", true },
};

static bool is_env(const struct artefact_record *record)
{
	return record->type >= CAVE_RECORD_CREDENTIAL && record->type <= CAVE_RECORD_ENV_SET;
}

static char *name_of(struct memory *m, const struct artefact_record *record)
{
	return memory_string(m, record->payload, strnlen(record->payload, record->length));
}

static bool may_be_granted(const struct operator_rules *o, unsigned type, const char *name)
{
	struct operator_word capability;

	switch (type) {
	case CAVE_RECORD_CREDENTIAL:
		return operator_capability(o, name, &capability) && !credential_denied(name);
	case CAVE_RECORD_ENV_PASS:
		return !credential_looks_like(name) &&
		       (!credential_denied(name) || env_pass_excepted(name));
	default:
		return true;
	}
}

bool env_check(struct memory *m, const struct operator_rules *o, const struct artefact *a, struct refusal *r)
{
	struct operator_word first = { NULL, 0 }, capability;
	struct artefact_record record;
	unsigned n = 0;

	for (size_t at = 0; artefact_next(a, &at, &record);) {
		const char *name;

		if (!is_env(&record))
			continue;
		n++;
		name = name_of(m, &record);
		if (!may_be_granted(o, record.type, name))
			return refuse(r, CAVE_CREDENTIAL_NOT_ALLOWLISTED,
				      "variable %u of the policy's environment (of the kind '%s') is one "
				      "that this host does not give to a tool",
				      n, record.type == CAVE_RECORD_CREDENTIAL ? "credential" : "pass");
		if (!operator_capability(o, name, &capability))
			continue;
		if (first.n && !operator_word_same(&capability, &first))
			return refuse(r, CAVE_CREDENTIAL_AMBIGUOUS,
				      "variable %u of the policy's environment belongs to another "
				      "capability than the credential before it",
				      n);
		first = capability;
	}
	return true;
}

const char *env_get(char *const *environment, const char *name)
{
	size_t n = strlen(name);

	for (; *environment; environment++)
		if (!strncmp(*environment, name, n) && (*environment)[n] == '=')
			return *environment + n + 1;
	return NULL;
}

static bool is_place(char c)
{
	return c >= CAVE_ENV_WORKSPACE_BYTE && c <= CAVE_ENV_SLOT_BYTE;
}

/* Places in a value are folders that the policy names; *length is that of the value with their paths. */
static bool measure(const char *value, const struct folders *folders, size_t *length)
{
	*length = 0;
	while (*value) {
		const struct workspace *place;
		size_t n = 1;

		if (is_place(*value)) {
			place = folders_place(folders, value, &n);
			if (!place)
				return false;
			*length += strlen(place->path);
		} else {
			++*length;
		}
		value += n;
	}
	return true;
}

/* A value that is set, with paths put where their bytes stand; NULL if the policy grants nothing of one. */
static char *expand(struct memory *m, const char *value, const struct folders *folders)
{
	size_t length, n;
	char *out, *to;

	if (!measure(value, folders, &length))
		return NULL;
	for (to = out = memory_take(m, length + 1); *value; value += n) {
		n = 1;
		if (is_place(*value))
			to = stpcpy(to, folders_place(folders, value, &n)->path);
		else
			*to++ = *value;
	}
	*to = 0;
	return out;
}

/* *value is NULL where the caller has nothing to pass. */
static bool value_of(struct memory *m, const struct artefact_record *record, const char *name,
		     char *const *caller, const struct folders *folders, const char **value,
		     struct refusal *r)
{
	size_t skip = strlen(name) + 1;

	if (record->type == CAVE_RECORD_ENV_SET) {
		*value = expand(m, memory_string(m, record->payload + skip, record->length - skip), folders);
		if (!*value)
			return refuse(r, CAVE_POLICY_INVALID,
				      "the policy sets %s to a place of which it grants nothing", name);
		return true;
	}
	*value = env_get(caller, name);
	if (record->type == CAVE_RECORD_CREDENTIAL && (!*value || !**value))
		return refuse(r, CAVE_CREDENTIAL_MISSING,
			      "the policy grants %s and it is not set in the caller's environment", name);
	return true;
}

static bool add(struct memory *m, const struct artefact_record *record, char *const *caller,
		const struct folders *folders, char ***end, struct refusal *r)
{
	const char *name = name_of(m, record), *value = NULL, *fault = NULL;

	if (!value_of(m, record, name, caller, folders, &value, r))
		return false;
	if (value && !strcmp(name, "PATH"))
		fault = path_fault(value);
	if (fault)
		return refuse(r, CAVE_FAILED, "%s", fault);
	if (value)
		*(*end)++ = memory_printf(m, "%s=%s", name, value);
	return true;
}

static size_t count(const struct artefact *a)
{
	struct artefact_record record;
	size_t n = 0;

	for (size_t at = 0; artefact_next(a, &at, &record);)
		n += is_env(&record);
	return n;
}

bool env_build(struct memory *m, const struct artefact *a, char *const *caller, const struct folders *folders,
	       char ***out, struct refusal *r)
{
	const size_t ndefaults = sizeof defaults / sizeof *defaults;
	char **env = MEMORY_ARRAY(m, count(a) + ndefaults + 2, char *), **end = env;
	struct artefact_record record;

	for (size_t at = 0; artefact_next(a, &at, &record);)
		if (is_env(&record) && !add(m, &record, caller, folders, &end, r))
			return false;
	for (size_t i = 0; i < ndefaults; i++) {
		const char *value = defaults[i].inherited ? env_get(caller, defaults[i].name) : NULL;

		if (!env_get(env, defaults[i].name))
			*end++ = memory_printf(m, "%s=%s", defaults[i].name,
					       value ? value : defaults[i].value);
	}
	if (folders->tmp.path && !env_get(env, "TMPDIR"))
		*end++ = memory_printf(m, "TMPDIR=%s", folders->tmp.path);
	*end = NULL;
	*out = env;
	return true;
}
