/* SPDX-License-Identifier: MIT */
#include "runtime/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: caverun [options] POLICY.bpf -- PROGRAM [ARG...]\n"
	"       caverun --prepare POLICY.bpf | --list | --forget POLICY.bpf | --forget --all\n"
	"\n"
	"Starts PROGRAM under a policy that cavec has compiled.  What the policy says is enforced\n"
	"by the kernel, or PROGRAM is not started.\n"
	"\n"
	"  --profile NAME    the profile of that name within the policy, in place of the outermost\n"
	"  --script FILE     make FILE readable and pass its absolute path as the first argument\n"
	"  --workspace DIR   the folder that the policy calls workspace; without it a fresh one,\n"
	"                    made under TMPDIR or /tmp and removed at the end\n"
	"  --chdir DIR       start in DIR; without it in the workspace if the policy grants one,\n"
	"                    else in the current directory\n"
	"  --folder NAME=DIR the folder that the policy calls NAME (may be repeated)\n"
	"  --keep-fd N       leave descriptor N open in PROGRAM (may be repeated): a regular file,\n"
	"                    pipe, terminal, /dev/null or connected unix stream\n"
	"  --user NAME       run as that user of /etc/passwd, with its groups (root only)\n"
	"  --status-fd N     write one JSON record to descriptor N at the end: what became of the\n"
	"                    start, of PROGRAM, and why\n"
	"  --trace           say on standard error what is refused of system calls and of files, as it\n"
	"                    happens: slower\n"
	"  --record FILE     append one line of JSON to FILE for each start and each end\n"
	"  --report          print at the end which destinations were refused, and by which line\n"
	"  --log FILE        append a line of JSON to FILE for each refusal, as it happens\n"
	"  --config PATH     the operator's rules, a file or a folder, in place of /etc/cave\n"
	"  --prepare         load the network programs of POLICY, and start nothing\n"
	"  --list            show the policies whose network programs are kept loaded here\n"
	"  --forget          remove what is kept of POLICY, or --all\n"
	"  --doctor [POLICY]       what this host can enforce, each tried for real; 125 if something\n"
	"                          is missing that every policy, or this one, needs\n"
	"  --conformance [POLICY]  tries to break out of a sandbox, and says what was refused; 125\n"
	"                          if anything was not that should be\n"
	"  --format text|json      of these two; the second says json by itself\n"
	"  --help            print this\n"
	"  --version         print the version\n"
	"\n"
	"PROGRAM is sought in PATH.  Its environment is made of nothing but what the policy names,\n"
	"and PATH, LANG, LC_ALL and TZ.\n"
	"\n"
	"exit status: PROGRAM's own; 128+N if signal N ended it; 124 if a limit of the policy did;\n"
	"125 if it was refused or could not be set up (the reason and a code are on standard\n"
	"error); 126 if it cannot be executed; 127 if it was not found.\n";

static const char version[] = "caverun " CAVE_VERSION "\n";

/* Known to a later version: refused by name, so that nobody takes them for accepted. */
static const char *const later[] = { "--capabilities" };

static bool usage(struct refusal *r, const char *what, const char *which)
{
	return refuse(r, CAVE_FAILED, "%s%s; see caverun --help", what, which);
}

/* If argument `*i` is `name VALUE` or `name=VALUE`, *value is VALUE (NULL if it is missing) and *i the last read. */
static bool takes(int argc, char **argv, int *i, const char *name, char **value)
{
	size_t n = strlen(name);

	if (strncmp(argv[*i], name, n))
		return false;
	if (argv[*i][n] == '=') {
		*value = argv[*i] + n + 1;
		return true;
	}
	if (argv[*i][n])
		return false;
	*value = *i + 1 < argc ? argv[++*i] : NULL;
	return true;
}

static bool keep(struct options *o, const char *value, struct refusal *r)
{
	char *end;
	long n = strtol(value, &end, 10);
	size_t at = 0;

	if (*value < '0' || *value > '9' || *end || n < 3 || n > INT_MAX)
		return usage(r, "--keep-fd takes the number of a descriptor above 2, not ", value);
	while (at < o->nkeep && o->keep[at] < n)
		at++;
	if (at < o->nkeep && o->keep[at] == n)
		return true;
	if (o->nkeep == CAVE_KEEP_MAX)
		return usage(r, "too many --keep-fd", "");
	memmove(o->keep + at + 1, o->keep + at, (o->nkeep++ - at) * sizeof *o->keep);
	o->keep[at] = (int)n;
	return true;
}

/* NAME=DIR, which is taken apart where it stands. */
static bool folder(struct options *o, char *value, struct refusal *r)
{
	char *equals = strchr(value, '=');

	if (!equals || equals == value || !equals[1])
		return usage(r, "--folder takes NAME=DIR, not ", value);
	if (o->nfolders == FOLDERS_MAX)
		return usage(r, "too many --folder", "");
	*equals = 0;
	o->folder[o->nfolders++] = (struct cave_folder){ value, equals + 1 };
	return true;
}

static bool once(const char **option, const char *name, const char *value, struct refusal *r)
{
	if (*option)
		return usage(r, "given twice: ", name);
	*option = value;
	return true;
}

static bool unknown(const char *argument, struct refusal *r)
{
	for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
		size_t n = strlen(later[i]);

		if (!strncmp(argument, later[i], n) && (!argument[n] || argument[n] == '='))
			return refuse(r, CAVE_FAILED, "%s is not supported by this version", later[i]);
	}
	return usage(r, "unknown option ", argument);
}

/* What is to be done in place of a run. */
static bool action(struct options *o, const char *argument)
{
	static const struct {
		const char *name;
		enum options_action action;
	} actions[] = { { "--prepare", ACTION_PREPARE }, { "--list", ACTION_LIST }, { "--forget", ACTION_FORGET },
			{ "--doctor", ACTION_DOCTOR }, { "--conformance", ACTION_CONFORMANCE } };

	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (!strcmp(argument, actions[i].name) && o->action == ACTION_RUN) {
			o->action = actions[i].action;
			return true;
		}
	}
	if (!strcmp(argument, "--trace")) {
		o->trace = true;
		return true;
	}
	if (strcmp(argument, "--all"))
		return false;
	o->all = true;
	return true;
}

/* What says how a tool is started, and so nothing where none is. */
static bool concerns_tool(const struct options *o)
{
	return o->script || o->workspace || o->chdir || o->user || o->record || o->trace || o->nkeep || o->nfolders;
}

/* Whether what is there goes with what is to be done; `rest` are the arguments after "--", if any. */
static bool check(const struct options *o, char **rest, struct refusal *r)
{
	bool asks = o->action == ACTION_DOCTOR || o->action == ACTION_CONFORMANCE;
	bool wants_policy = o->action == ACTION_PREPARE || (o->action == ACTION_FORGET && !o->all);

	if (o->all && o->action != ACTION_FORGET)
		return usage(r, "--all goes with --forget", "");
	if (o->format && (!asks || (strcmp(o->format, "text") && strcmp(o->format, "json"))))
		return usage(r, "--format is text or json, and goes with --doctor and --conformance", "");
	for (size_t i = 0; o->status_fd && i < o->nkeep; i++)
		if (o->keep[i] == atoi(o->status_fd))
			return usage(r, "the tool may not have the descriptor of --status-fd: --keep-fd ", o->status_fd);
	if ((o->report || o->log) && o->action != ACTION_RUN)
		return usage(r, "--report and --log go with a PROGRAM", "");
	if (o->action != ACTION_RUN && !asks && concerns_tool(o))
		return usage(r, "no PROGRAM is started here, and an option is about one", "");
	if (o->profile && !asks && !o->policy)
		return usage(r, "--profile goes with a POLICY", "");
	if (o->action == ACTION_RUN)
		return o->policy ? (rest && *rest && **rest) || usage(r, "no -- PROGRAM given", "") :
				   usage(r, "no POLICY given", "");
	if (rest)
		return usage(r, "nothing is started: no -- here", "");
	if (!o->policy != !wants_policy && !asks)
		return usage(r, wants_policy ? "no POLICY given" : "no POLICY is looked at here: ",
			     wants_policy ? "" : o->policy);
	return true;
}

static bool option(struct options *o, int argc, char **argv, int *i, struct refusal *r)
{
	const struct {
		const char *name;
		const char **to;
	} values[] = { { "--profile", &o->profile }, { "--script", &o->script }, { "--workspace", &o->workspace },
		       { "--chdir", &o->chdir },   { "--user", &o->user },
		       { "--config", &o->config }, { "--format", &o->format }, { "--status-fd", &o->status_fd },
		       { "--record", &o->record }, { "--log", &o->log },
		       { "--keep-fd", NULL },
		       { "--folder", NULL } };
	char *value = NULL;

	if (!strcmp(argv[*i], "--help") || !strcmp(argv[*i], "-h")) {
		o->information = help;
		return true;
	}
	if (!strcmp(argv[*i], "--version")) {
		o->information = version;
		return true;
	}
	if (!strcmp(argv[*i], "--report")) {
		o->report = true;
		return true;
	}
	if (action(o, argv[*i]))
		return true;
	for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
		if (!takes(argc, argv, i, values[j].name, &value))
			continue;
		if (!value || !*value)
			return usage(r, "a value is missing after ", values[j].name);
		if (values[j].to)
			return once(values[j].to, values[j].name, value, r);
		return strcmp(values[j].name, "--folder") ? keep(o, value, r) : folder(o, value, r);
	}
	return unknown(argv[*i], r);
}

bool options_parse(int argc, char **argv, struct options *out, struct refusal *r)
{
	struct options o = { .policy = NULL };
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (argv[i][0] == '-') {
			if (!option(&o, argc, argv, &i, r))
				return false;
			if (o.information)
				break;
		} else if (!once(&o.policy, "POLICY", argv[i], r)) {
			return usage(r, "-- must stand between POLICY and PROGRAM, before ", argv[i]);
		}
	}
	if (!o.information && !check(&o, i < argc ? argv + i + 1 : NULL, r))
		return false;
	if (!o.information && o.action == ACTION_RUN)
		o.argv = argv + i + 1;
	*out = o;
	return true;
}
