/* SPDX-License-Identifier: MIT */
/*
 * A host of the library with the command line of caverun, as far as tests use it: what is shown of the one is so asked
 * of the other, whose starts are made by a thread of the library, or by the calling one where CALLER is set, in
 * namespaces and with rulesets that are kept.  The shell command MEANWHILE is run when everything has been prepared.
 */
#include <cave.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int refused(const struct cave_error *e)
{
	fprintf(stderr, "caverun: error: %s [%s]\n", e->text, cave_code_name(e->code));
	return e->status;
}

static int run(struct cave_prepared *prepared, const struct cave_spawn *spawn)
{
	struct cave_result result = { .size = sizeof result };
	const char *meanwhile = getenv("MEANWHILE");
	struct cave_error error;
	struct cave_tool *tool;

	if (meanwhile && system(meanwhile))
		return 2;
	if (cave_spawn(prepared, spawn, &tool, &error))
		return refused(&error);
	if (cave_wait(tool, -1, NULL, &result, &error))
		return refused(&error);
	if (cave_tool_free(tool, &error))
		fprintf(stderr, "caverun: %s\n", error.text);
	return WIFEXITED(result.status) ? WEXITSTATUS(result.status) : 128 + WTERMSIG(result.status);
}

/* NAME=DIR; one is enough here. */
static void add_folder(struct cave_options *options, struct cave_folder *folder, char *argument)
{
	char *path = strchr(argument, '=');

	if (!path)
		return;
	*path = 0;
	*folder = (struct cave_folder){ argument, path + 1 };
	options->folders = folder;
	options->nfolders = 1;
}

int main(int argc, char **argv)
{
	struct cave_options options = { .size = sizeof options, .search = getenv("PATH"), .tmpdir = getenv("TMPDIR"),
					.loader = getenv("CAVE_LOAD"), .home = getenv("HOME") };
	struct cave_spawn spawn = { .size = sizeof spawn, .environment = environ, .standard = { 0, 1, 2 } };
	const struct {
		const char *name;
		const char **to;
	} values[] = { { "--script", &options.script }, { "--workspace", &options.workspace },
		       { "--chdir", &options.directory }, { "--user", &options.user },
		       { "--config", &options.config } };
	struct cave_prepared *prepared = NULL;
	struct cave_policy *policy = NULL;
	struct cave_error error;
	struct cave_folder folder;
	const char *path = NULL;
	int keep[CAVE_KEEP_MAX], i = 1, status;

	spawn.keep = keep;
	spawn.flags = getenv("CALLER") ? CAVE_SPAWN_FROM_CALLER : 0;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		bool known = false;

		for (size_t j = 0; j < sizeof values / sizeof *values && i + 1 < argc; j++) {
			if (!strcmp(argv[i], values[j].name)) {
				*values[j].to = argv[++i];
				known = true;
				break;
			}
		}
		if (!known && !strcmp(argv[i], "--keep-fd") && i + 1 < argc && spawn.nkeep < CAVE_KEEP_MAX)
			keep[spawn.nkeep++] = atoi(argv[++i]);
		else if (!known && !strcmp(argv[i], "--folder") && i + 1 < argc && !options.nfolders)
			add_folder(&options, &folder, argv[++i]);
		else if (!known)
			path = argv[i];
	}
	if (!path || i + 1 >= argc)
		return 2;
	options.program = argv[i + 1];
	spawn.argv = argv + i + 1;
	if (cave_policy_open(path, &policy, &error) || cave_prepare(policy, &options, &prepared, &error))
		status = refused(&error);
	else
		status = run(prepared, &spawn);
	cave_prepared_free(prepared);
	cave_policy_free(policy);
	return status;
}
