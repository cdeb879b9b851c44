/* SPDX-License-Identifier: MIT */
#include "bpf/credentials.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct credential builtin[] = {
	{ "anthropic", "ANTHROPIC_API_KEY" },
	{ "google", "GEMINI_API_KEY" },
	{ "google", "GOOGLE_API_KEY" },
	{ "openai", "OPENAI_API_KEY" },
};

static const char *const denied_prefixes[] = {
	"AWS_", "AZURE_", "BOOTSTRAP_", "CAVE_", "CAVEBENCH_", "CLOUD_", "COSIGN_", "STRIPE_", "VALKEY_", "REDIS_",
};

static const char *const denied_names[] = {
	"HOME",	 "LD_PRELOAD", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "PATH", "PWD",
	"SHELL", "DYLD_INSERT_LIBRARIES",
};

static const char *const excepted_names[] = { "HOME", "PATH", "PWD", "SHELL" };

/* Where in a name the word must stand. */
static const char *const looks_anywhere[] = {
	"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "CREDENTIAL", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY",
};
static const char *const looks_at_end[] = {
	"_KEY", "_KEYS", "_PASS", "_PW", "_PWD", "_AUTH", "_PAT", "_COOKIE", "_CERT", "_DSN",
};
static const char *const looks_whole[] = { "KEY", "AUTH", "PASS", "COOKIE", "PGPASSFILE", "DATABASE_URL" };

const struct credential *credentials_builtin(size_t *n)
{
	*n = LENGTH(builtin);
	return builtin;
}

/* Independent of the locale, as names of variables are. */
static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* `name`, in any case, begins with `word`, which is in capitals. */
static bool begins(const char *name, const char *word)
{
	for (; *word; word++, name++)
		if (upper(*name) != *word)
			return false;
	return true;
}

static bool ends(const char *name, const char *word)
{
	size_t n = strlen(name), m = strlen(word);

	return n >= m && begins(name + n - m, word);
}

static bool contains(const char *name, const char *word)
{
	for (; *name; name++)
		if (begins(name, word))
			return true;
	return false;
}

static bool same(const char *name, const char *word)
{
	return strlen(name) == strlen(word) && begins(name, word);
}

bool env_name_valid(const char *name)
{
	if (!letter(*name))
		return false;
	while (letter(*name) || (*name >= '0' && *name <= '9'))
		name++;
	return *name == '\0';
}

bool credential_denied(const char *name)
{
	for (size_t i = 0; i < LENGTH(denied_prefixes); i++)
		if (begins(name, denied_prefixes[i]))
			return true;
	for (size_t i = 0; i < LENGTH(denied_names); i++)
		if (same(name, denied_names[i]))
			return true;
	return false;
}

bool env_pass_excepted(const char *name)
{
	for (size_t i = 0; i < LENGTH(excepted_names); i++)
		if (strcmp(name, excepted_names[i]) == 0)
			return true;
	return false;
}

bool credential_looks_like(const char *name)
{
	for (size_t i = 0; i < LENGTH(looks_anywhere); i++)
		if (contains(name, looks_anywhere[i]))
			return true;
	for (size_t i = 0; i < LENGTH(looks_at_end); i++)
		if (ends(name, looks_at_end[i]))
			return true;
	for (size_t i = 0; i < LENGTH(looks_whole); i++)
		if (same(name, looks_whole[i]))
			return true;
	return false;
}

const char *path_fault(const char *path)
{
	for (;;) {
		if (*path == '\0' || *path == ':')
			return "PATH has an empty element: programs would be taken from the workspace";
		if (*path != '/')
			return "PATH has a relative element: programs would be taken from the workspace";
		path += strcspn(path, ":");
		if (*path == '\0')
			return NULL;
		path++;
	}
}
