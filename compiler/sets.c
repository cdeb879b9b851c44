/* SPDX-License-Identifier: MIT */
#include "compiler/sets.h"

#include <string.h>

#include "compiler/diag.h"

/* `symbol` and `symbol`_end: the bytes of `file`, from the top folder, with a NUL behind them. */
#define EMBED(symbol, file)                                                                        \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #symbol ", " #symbol "_end\n" #symbol ":\n"                             \
		".incbin \"" file "\"\n" #symbol "_end:\n"                                         \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char symbol[], symbol##_end[]

EMBED(set_coreutils, "compiler/sets/coreutils.cave");
EMBED(set_fonts, "compiler/sets/fonts.cave");
EMBED(set_gcc, "compiler/sets/gcc.cave");
EMBED(set_git, "compiler/sets/git.cave");
EMBED(set_github, "compiler/sets/github.hosts");
EMBED(set_go, "compiler/sets/go.cave");
EMBED(set_go_proxy, "compiler/sets/go-proxy.hosts");
EMBED(set_java, "compiler/sets/java.cave");
EMBED(set_node, "compiler/sets/node.cave");
EMBED(set_npm, "compiler/sets/npm.cave");
EMBED(set_npm_registry, "compiler/sets/npm-registry.hosts");
EMBED(set_pip, "compiler/sets/pip.cave");
EMBED(set_pypi, "compiler/sets/pypi.hosts");
EMBED(set_python3, "compiler/sets/python3.cave");
EMBED(set_ssh, "compiler/sets/ssh.cave");

const char sets_version[] = "2";

/* By name. */
static const struct builtin_set sets[] = {
#define SET(symbol, name) { name, "<" name ">", false, set_##symbol, set_##symbol##_end }
#define HOSTS(symbol, name) { name, "<" name ">", true, set_##symbol, set_##symbol##_end }
	SET(coreutils, "coreutils"), SET(fonts, "fonts"), SET(gcc, "gcc"), SET(git, "git"), HOSTS(github, "github"),
	SET(go, "go"), HOSTS(go_proxy, "go-proxy"), SET(java, "java"), SET(node, "node"), SET(npm, "npm"),
	HOSTS(npm_registry, "npm-registry"), SET(pip, "pip"), HOSTS(pypi, "pypi"), SET(python3, "python3"),
	SET(ssh, "ssh"),
#undef HOSTS
#undef SET
};
enum { SETS = sizeof sets / sizeof *sets };

const struct builtin_set *set_at(size_t i)
{
	return i < SETS ? &sets[i] : NULL;
}

const struct builtin_set *set_find(const char *name)
{
	for (size_t i = 0; i < SETS; i++)
		if (strcmp(sets[i].name, name) == 0)
			return &sets[i];
	return NULL;
}

static const char *candidate(const void *context, size_t i)
{
	(void)context;
	return i < SETS ? sets[i].name : NULL;
}

const char *set_nearest(const char *name)
{
	return did_you_mean(name, candidate, NULL);
}

bool set_list(const char *name, FILE *to)
{
	const struct builtin_set *set = set_find(name);

	if (set)
		fwrite(set->text, 1, (size_t)(set->end - set->text), to);
	return set != NULL;
}
