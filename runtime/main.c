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
#include "runtime/ending.h"
#include "runtime/main_kept.h"
#include "runtime/message.h"
#include "runtime/onlooker.h"
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
		.flags = CAVE_PREPARE_ONCE | (o->report || o->log ? CAVE_PREPARE_OWN : 0),
		.record = o->record,
	};

	return cave_prepare(policy, &options, out, error);
}

static void say(void *context, const char *sentence)
{
	(void)context;
	report_note("%s\n", sentence);
}

static const struct cave_trace trace = { .refused = say };

static enum cave_code start(const struct options *o, struct cave_prepared *prepared, const sigset_t *mask,
			    struct cave_tool **out, struct cave_error *error)
{
	const struct cave_spawn spawn = {
		.size = sizeof spawn, .argv = o->argv, .environment = environ, .standard = { 0, 1, 2 },
		.keep = o->keep,      .nkeep = o->nkeep, .mask = mask,
		.trace = o->trace ? &trace : NULL,
		.flags = CAVE_SPAWN_FROM_CALLER | CAVE_SPAWN_UNGUARDED | CAVE_SPAWN_ASIDE,
	};

	return cave_spawn(prepared, &spawn, out, error);
}

static enum cave_code run(const struct options *o, struct cave_prepared *prepared, const sigset_t *mask, int signals,
			  struct onlooker *onlooker, struct ending *e)
{
	struct cave_error left;
	struct cave_tool *tool;
	enum cave_code code;

	e->status = wait_interrupted(); /* as waitpid() says it of a process that the signal ended */
	if (e->status)
		return CAVE_OK;
	ending_note(&e->started);
	code = start(o, prepared, mask, &tool, &e->error);
	if (code)
		return code;
	e->step = "run";
	e->tool = true;
	e->pid = cave_tool_pid(tool);
	if (onlooker->helper && tool->names)
		names_tell(tool->names, onlooker_told, onlooker);
	e->status = wait_for(tool, signals);
	ending_note(&e->ended);
	e->limit = tool_verdict(tool, &e->error);
	e->traced = o->trace;
	e->refused_calls = tool->result.refused_calls;
	e->refused_files = tool->result.refused_files;
	if (cave_tool_free(tool, &left))
		report_note("%s\n", left.text);
	if (!e->limit)
		explain(prepared, e->status);
	return e->limit;
}

/* Tells why, to whoever called us.  Returns the exit status. */
static int refused(const struct cave_error *error, const struct ending *e)
{
	report_refusal(error);
	ending_write(e, error->status);
	return error->status;
}

static int refused_early(const struct refusal *r, struct ending *e)
{
	e->error = (struct cave_error){ .code = r->code, .status = r->status, .error = r->error };
	memcpy(e->error.text, r->text, sizeof e->error.text);
	return refused(&e->error, e);
}

/* With --report or --log a helper looks on. */
static enum cave_code run_watched(const struct options *o, struct cave_prepared *prepared, int log,
				  const sigset_t *mask, int signals, struct ending *e)
{
	struct onlooker onlooker;
	struct refusal r;
	enum cave_code code;

	if (onlooker_begin(o, cave_prepared_group(prepared), log, &onlooker, &r)) {
		code = run(o, prepared, mask, signals, &onlooker, e);
		e->counted = onlooker_end(&onlooker, e->tool, &e->refused);
	} else {
		e->error = (struct cave_error){ .code = r.code, .status = r.status, .error = r.error };
		memcpy(e->error.text, r.text, sizeof e->error.text);
		code = r.code;
	}
	/* Its programs are nobody else's. */
	if (o->report || o->log)
		cave_prepared_free(prepared);
	return code;
}

/* From the policy to the end of the tool. */
static enum cave_code run_policy(const struct options *o, struct cave_policy **policy, struct cave_prepared **prepared,
				 int log, const sigset_t *mask, int signals, struct ending *e)
{
	enum cave_code code;

	e->step = "policy";
	e->program = o->argv[0];
	code = cave_policy_open(o->policy, policy, &e->error);
	if (!code && o->profile)
		code = cave_policy_choose(*policy, o->profile, &e->error);
	if (code)
		return code;
	e->policy = *policy;
	e->step = "start";
	code = prepare(o, *policy, prepared, &e->error);
	return code ? code : run_watched(o, *prepared, log, mask, signals, e);
}

static int run_tool(const struct options *o, struct ending *e)
{
	struct cave_policy *policy = NULL;
	struct cave_prepared *prepared = NULL;
	struct refusal r;
	sigset_t mask;
	int signals, log;

	e->step = "descriptors";
	/* Signals before anything is made that would have to be removed. */
	if (!fill_descriptors(o, &r) || !onlooker_open_log(o, &log, &r) || !wait_prepare(&mask, &signals, &r))
		return refused_early(&r, e);
	/* What the library still holds goes with the process, and sooner. */
	if (run_policy(o, &policy, &prepared, log, &mask, signals, e))
		return refused(&e->error, e);
	ending_write(e, wait_status_number(e->status));
	return wait_status(e->status);
}

/* What is asked for in place of a run. */
static int other(const struct options *o, struct ending *e)
{
	struct refusal r;
	int status = 0;

	if (o->information)
		return inform(o->information);
	if (o->action != ACTION_DOCTOR && o->action != ACTION_CONFORMANCE)
		return main_kept(o, &status, &e->error) ? refused(&e->error, e) : status;
	become_check(o, &r);
	return refused_early(&r, e);
}

int main(int argc, char **argv)
{
	struct options options;
	struct refusal refusal;
	struct ending ending;

	if (!ending_begin(argc, argv, &ending, &refusal) || !options_parse(argc, argv, &options, &refusal))
		return refused_early(&refusal, &ending);
	if (options.information || options.action != ACTION_RUN)
		return other(&options, &ending);
	return run_tool(&options, &ending);
}
