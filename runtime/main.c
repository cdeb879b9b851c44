/* SPDX-License-Identifier: MIT */
/* caverun: starts a tool under a compiled policy.  A thin user of libcave (include/cave.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cave.h"
#include "runtime/become.h"
#include "runtime/main_kept.h"
#include "runtime/message.h"
#include "runtime/options.h"
#include "runtime/wait.h"

static int inform(const char *text)
{
	return write(STDOUT_FILENO, text, strlen(text)) < 0 ? STATUS_REFUSED : 0;
}

/*
 * Before this process opens anything of its own, which would get the number.  open() takes the lowest free one, which
 * is the one that was closed.
 */
static bool fill_descriptors(const struct options *o, struct refusal *r)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return refuse_errno(r, CAVE_FAILED, errno,
					    "descriptor %d is closed and /dev/null cannot replace it", fd);
	for (size_t i = 0; i < o->nkeep; i++)
		if (fcntl(o->keep[i], F_GETFD) < 0)
			return refuse_errno(r, CAVE_FAILED, errno, "descriptor %d", o->keep[i]);
	return true;
}

/* A shell says 126 where an exec is refused; whoever wrote the command line may not know that it is a script. */
static void explain(const struct cave_prepared *prepared, int status)
{
	const char *script = cave_prepared_script(prepared, 0);

	if (script && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_NOT_EXECUTABLE)
		report_note("note: %s is a script; if it starts another program, which the policy refuses, "
			    "name that program instead\n",
			    script);
}

static enum cave_code prepare(const struct options *o, struct cave_policy *policy, struct cave_prepared **out,
			      struct cave_error *error)
{
	const struct cave_options options = {
		.size = sizeof options, .program = o->argv[0],	   .search = getenv("PATH"),
		.script = o->script,	.workspace = o->workspace, .tmpdir = getenv("TMPDIR"),
		.directory = o->chdir,	.user = o->user,	   .config = o->config,
		.home = getenv("HOME"), .folders = o->folder,	   .nfolders = o->nfolders,
		.flags = CAVE_PREPARE_ONCE,
	};

	return cave_prepare(policy, &options, out, error);
}

static enum cave_code start(const struct options *o, struct cave_prepared *prepared, const sigset_t *mask,
			    struct cave_tool **out, struct cave_error *error)
{
	const struct cave_spawn spawn = {
		.size = sizeof spawn, .argv = o->argv, .environment = environ, .standard = { 0, 1, 2 },
		.keep = o->keep,      .nkeep = o->nkeep, .mask = mask, .flags = CAVE_SPAWN_FROM_CALLER | CAVE_SPAWN_UNGUARDED,
	};

	return cave_spawn(prepared, &spawn, out, error);
}

static enum cave_code run(const struct options *o, struct cave_prepared *prepared, const sigset_t *mask, int *status,
			  struct cave_error *error)
{
	struct cave_error left;
	struct cave_tool *tool;
	enum cave_code code;

	*status = wait_interrupted(); /* as waitpid() says it of a process that the signal ended */
	if (*status)
		return CAVE_OK;
	code = start(o, prepared, mask, &tool, error);
	if (code)
		return code;
	*status = wait_for(tool);
	code = tool_verdict(tool, error);
	if (cave_tool_free(tool, &left))
		report_note("%s\n", left.text);
	if (!code)
		explain(prepared, *status);
	return code;
}

static int refused(const struct cave_error *e)
{
	report_refusal(e);
	return e->status;
}

static int refused_early(const struct refusal *r)
{
	struct cave_error e = { .code = r->code, .status = r->status };

	memcpy(e.text, r->text, sizeof e.text);
	return refused(&e);
}

int main(int argc, char **argv)
{
	struct cave_policy *policy = NULL;
	struct cave_prepared *prepared = NULL;
	struct cave_error error;
	struct options options;
	struct refusal refusal;
	enum cave_code code;
	sigset_t mask;
	int status = 0;

	if (!options_parse(argc, argv, &options, &refusal))
		return refused_early(&refusal);
	if (options.information)
		return inform(options.information);
	if (options.action == ACTION_DOCTOR || options.action == ACTION_CONFORMANCE) {
		become_check(&options, &refusal);
		return refused_early(&refusal);
	}
	if (options.action != ACTION_RUN)
		return main_kept(&options, &status, &error) ? refused(&error) : status;
	if (!fill_descriptors(&options, &refusal))
		return refused_early(&refusal);
	/* Before anything is made that would have to be removed. */
	wait_prepare(&mask);
	code = cave_policy_open(options.policy, &policy, &error);
	if (!code && options.profile)
		code = cave_policy_choose(policy, options.profile, &error);
	if (!code)
		code = prepare(&options, policy, &prepared, &error);
	if (!code)
		code = run(&options, prepared, &mask, &status, &error);
	/* What the library still holds goes with the process, and sooner. */
	return code ? refused(&error) : wait_status(status);
}
