/* SPDX-License-Identifier: MIT */
/* cavec lint: the command line. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile.h"
#include "compiler/diff.h"
#include "compiler/lint.h"
#include "compiler/output.h"
#include "compiler/review.h"
#include "compiler/visible.h"

static const char help[] =
	"usage: cavec lint [options] FILE…\n"
	"\n"
	"Looks for what compiles and is unwise.  Each finding has a number; docs/review.md says why it\n"
	"is one.  # cave: ignore CAVE110 because … puts one finding of one line aside.\n"
	"\n"
	"      --fail-on LEVEL     the exit status is 1 from this level on: error (the default),\n"
	"                          warning or info\n"
	"      --format FORMAT     text (the default), gcc, json, sarif or github\n"
	"      --fix               write the fixes that leave the reach as it is, which is proved\n"
	"      --unsafe-fix        make all fixes, show what they change, and write them; none grants more\n"
	"      --root DIR, --config DIR|FILE, --capabilities FILE   as for a compile\n"
	"  -h, --help              this text\n"
	"\n"
	"Exit status: 0 no finding from the level on; 1 there is one; 2 an input does not compile,\n"
	"usage, or input and output.\n";

struct lint_options {
	struct review_options review;
	enum severity fail_on;
	enum lint_format format;
	bool fix, unsafe;
};

static int usage(const char *text, const char *what)
{
	return review_usage("lint", text, what);
}

static bool by_name(const char *name, const char *const *names, size_t n, unsigned *out)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0) {
			*out = (unsigned)i;
			return true;
		}
	return false;
}

static int worst(const struct lint *l, enum severity fail_on)
{
	for (size_t i = 0; i < l->n; i++)
		if (!l->item[i].because && l->item[i].severity >= fail_on)
			return EXIT_REFUSED;
	return EXIT_DONE;
}

/* What all fixes together change, as a diff. */
static void show_change(const struct lint *l, struct compile *after)
{
	struct diff_names names = { l->path, l->path, false };
	struct diff d;

	diff_policies(&after->arena, l->compile, after, &d);
	diff_print(&d, &names, false, stderr);
	diff_end(&d);
}

static int fix(const struct lint *l, const struct lint_options *o)
{
	struct compile *after = lint_apply(l, o->unsafe, stderr);
	int status = EXIT_DONE;

	if (!after)
		return EXIT_DONE;
	if (o->unsafe)
		show_change(l, after);
	if (!output_source(l->path, after->sources.file[1].text, after->sources.file[1].size)) {
		complain("cavec lint: %s: %s", l->path, strerror(errno));
		status = EXIT_TROUBLE;
	}
	compile_end(after);
	return status;
}

static bool is_profile(const struct lint *l)
{
	const struct source_file *f = &l->compile->sources.file[1];

	return !f->hidden && l->compile->loader.root;
}

static int lint_all(const struct lint_options *o, char **path, size_t n)
{
	struct lint *l = calloc(n, sizeof *l);
	int status = EXIT_DONE, one;
	size_t good = 0;

	if (!l)
		return usage("out of memory", "");
	for (size_t i = 0; i < n; i++) {
		struct compile *c = review_open(path[i], &o->review, &one);

		if (!c) {
			status = EXIT_TROUBLE;
			continue;
		}
		l[good] = (struct lint){ .arena = &c->arena, .compile = c, .path = path[i] };
		lint_policy(&l[good++]);
	}
	lint_report(l, good, o->format, stdout);
	for (size_t i = 0; i < good; i++) {
		one = worst(&l[i], o->fail_on);
		if ((o->fix || o->unsafe) && is_profile(&l[i]))
			one = fix(&l[i], o) == EXIT_TROUBLE ? EXIT_TROUBLE : one;
		status = one > status ? one : status;
	}
	for (size_t i = 0; i < good; i++)
		compile_end(l[i].compile);
	free(l);
	return status;
}

int lint_main(int argc, char **argv)
{
	enum { OPT_FAIL_ON = 256, OPT_FORMAT, OPT_FIX, OPT_UNSAFE };
	static const struct option options[] = {
		{ "fail-on", required_argument, NULL, OPT_FAIL_ON },
		{ "format", required_argument, NULL, OPT_FORMAT },
		{ "fix", no_argument, NULL, OPT_FIX },
		{ "unsafe-fix", no_argument, NULL, OPT_UNSAFE },
		REVIEW_OPTIONS,
	};
	static const char *const levels[] = { "info", "warning", "error" };
	static const char *const formats[] = { "text", "gcc", "json", "sarif", "github" };
	struct lint_options o = { .fail_on = SEVERITY_ERROR };
	int c, status;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case OPT_FAIL_ON:
			if (!by_name(optarg, levels, SEVERITIES, &o.fail_on))
				return usage("--fail-on takes error, warning or info, not ", optarg);
			break;
		case OPT_FORMAT:
			if (!by_name(optarg, formats, LINT_FORMATS, &o.format))
				return usage("--format takes text, gcc, json, sarif or github, not ", optarg);
			break;
		case OPT_FIX:
			o.fix = true;
			break;
		case OPT_UNSAFE:
			o.unsafe = true;
			break;
		default:
			if (!review_option(&o.review, c, optarg, "lint", help, &status))
				return status;
		}
	}
	if (optind == argc)
		return usage("no file is given", "");
	return lint_all(&o, argv + optind, (size_t)(argc - optind));
}
