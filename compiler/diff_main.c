/* SPDX-License-Identifier: MIT */
/* cavec diff: the command line. */
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "compiler/compile.h"
#include "compiler/diff.h"
#include "compiler/review.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN, FORMATS };

struct diff_options {
	struct review_options review;
	const char *within;
	enum format format;
	bool colour;
};

static const char help[] =
	"usage: cavec diff [options] OLD NEW\n"
	"       cavec diff [options] --within MAX FILE\n"
	"\n"
	"Says what NEW grants and OLD does not, and the other way round, by meaning and not by text.\n"
	"Profiles, JSON profiles and artefacts are taken alike; an artefact's programs are proved\n"
	"against its text first.\n"
	"\n"
	"      --within MAX        is FILE inside of MAX?  Shows what is not\n"
	"      --format FORMAT     text (the default), json, or markdown for a review comment\n"
	"      --color WHEN        auto (the default: on a terminal), always, never\n"
	"      --root DIR          what profiles and their includes must lie in\n"
	"                          (default: each profile's folder)\n"
	"      --config DIR|FILE   an operator's rules: credentials, and what is unbounded\n"
	"      --capabilities FILE more credential capabilities\n"
	"  -h, --help              this text\n"
	"\n"
	"Exit status: 0 nothing is newly granted; 1 something is; 2 an input does not compile, usage,\n"
	"or input and output.\n";

static int usage(const char *text, const char *what)
{
	return review_usage("diff", text, what);
}

static bool read_format(const char *name, enum format *out)
{
	static const char *const names[FORMATS] = { "text", "json", "markdown" };

	for (enum format i = 0; i < FORMATS; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = i;
			return true;
		}
	return false;
}

static bool read_colour(const char *when, bool *out)
{
	*out = strcmp(when, "always") == 0 || (strcmp(when, "auto") == 0 && isatty(STDOUT_FILENO));
	return *out || strcmp(when, "auto") == 0 || strcmp(when, "never") == 0;
}

static int report(const struct diff *d, const struct diff_options *o, const struct diff_names *names)
{
	if (o->format == FORMAT_MARKDOWN)
		diff_markdown(d, names, stdout);
	else if (o->format == FORMAT_TEXT)
		diff_print(d, names, o->colour, stdout);
	else if (!diff_json(d, names, stdout))
		return EXIT_TROUBLE;
	return diff_count(d, DIFF_GRANTED) ? EXIT_REFUSED : EXIT_DONE;
}

static int compare(const struct diff_options *o, const char *old_path, const char *new_path)
{
	struct diff_names names = { old_path, new_path, o->within != NULL };
	struct arena arena = { NULL };
	struct compile *old, *new = NULL;
	int status;

	old = review_open(old_path, &o->review, &status);
	if (old)
		new = review_open(new_path, &o->review, &status);
	if (old && new && old->policy.bare != new->policy.bare) {
		fprintf(stderr, "cavec diff: a profile and a bare filter have nothing to be compared by\n");
		status = EXIT_TROUBLE;
	} else if (old && new) {
		struct diff d;

		diff_policies(&arena, old, new, &d);
		status = report(&d, o, &names);
		diff_end(&d);
	} else {
		status = EXIT_TROUBLE;
	}
	if (new)
		compile_end(new);
	if (old)
		compile_end(old);
	arena_free(&arena);
	return status;
}

int diff_main(int argc, char **argv)
{
	enum { OPT_WITHIN = 256, OPT_FORMAT, OPT_COLOUR };
	static const struct option options[] = {
		{ "within", required_argument, NULL, OPT_WITHIN },
		{ "format", required_argument, NULL, OPT_FORMAT },
		{ "color", required_argument, NULL, OPT_COLOUR },
		REVIEW_OPTIONS,
	};
	struct diff_options o = { .colour = isatty(STDOUT_FILENO) };
	int c, operands, status;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case OPT_WITHIN:
			o.within = optarg;
			break;
		case OPT_FORMAT:
			if (!read_format(optarg, &o.format))
				return usage("--format takes text, json or markdown, not ", optarg);
			break;
		case OPT_COLOUR:
			if (!read_colour(optarg, &o.colour))
				return usage("--color takes auto, always or never, not ", optarg);
			break;
		default:
			if (!review_option(&o.review, c, optarg, "diff", help, &status))
				return status;
		}
	}
	operands = argc - optind;
	if (operands != (o.within ? 1 : 2))
		return usage(o.within ? "--within MAX takes one FILE" : "two policies are compared, OLD and NEW", "");
	return o.within ? compare(&o, o.within, argv[optind]) : compare(&o, argv[optind], argv[optind + 1]);
}
