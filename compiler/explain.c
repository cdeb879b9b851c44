/* SPDX-License-Identifier: MIT */
/* cavec explain: the command line, the summary, and how answers are printed. */
#include "compiler/explain.h"

#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile.h"
#include "compiler/diff.h"
#include "compiler/nested.h"
#include "compiler/parse.h"
#include "compiler/review.h"
#include "compiler/visible.h"

static const char help[] =
	"usage: cavec explain [options] POLICY [QUESTION]\n"
	"\n"
	"Says whether something is allowed, by which line or default, and by what it is enforced;\n"
	"the answer is that of the emitted programs.  Without a question: what POLICY grants, in\n"
	"plain sentences.  POLICY is a profile, a JSON profile or an artefact.\n"
	"\n"
	"  connect tcp|udp ADDRESS|NAME port N\n"
	"  listen tcp|udp ADDRESS port N\n"
	"  syscall NAME [VALUE…]      values in the order of the arguments; - is any value\n"
	"  syscall 'NAME(CONDITION)'\n"
	"  read PATH, write PATH, execute PATH\n"
	"  env NAME\n"
	"  lookup NAME\n"
	"\n"
	"      --profile NAME      of the profile of that name within POLICY\n"
	"      --format FORMAT     text (the default) or json, of a question\n"
	"      --root DIR, --config DIR|FILE, --capabilities FILE   as for a compile\n"
	"  -h, --help              this text\n"
	"\n"
	"Exit status: 0 allowed; 1 refused, or it depends; 2 the policy does not compile, usage, or\n"
	"input and output.\n";

static const struct kind {
	const char *name;
	bool (*explain)(struct explanation *x, int n, char **word);
} kinds[] = {
	{ "connect", explain_connect }, { "listen", explain_listen },	{ "syscall", explain_syscall },
	{ "read", explain_read },	{ "write", explain_write },	{ "execute", explain_execute },
	{ "env", explain_env },		{ "lookup", explain_lookup },
};

struct explain_options {
	struct review_options review;
	const char *profile;
	bool json;
};

static int usage(const char *text, const char *what)
{
	return review_usage("explain", text, what);
}

struct reason *explain_add(struct explanation *x, enum verdict verdict, const char *what, const char *why)
{
	struct reason *r = arena_alloc(x->arena, sizeof *r);

	*r = (struct reason){ .verdict = verdict, .what = what, .why = why };
	*x->last = r;
	x->last = &r->next;
	return r;
}

const struct node *explain_parse(struct explanation *x, const char *query)
{
	struct compile *c = x->compile;
	const char *text = arena_printf(x->arena, "profile q { expect { allow %s } }", query);
	uint32_t file = sources_add(&c->sources, "(question)", text, strlen(text), (struct span){ 0 }, false);
	struct node *statements = NULL;

	if (!parse_statements(&c->diags, file, &statements) || !statements || !statements->kids ||
	    !statements->kids->kids)
		return NULL;
	return statements->kids->kids;
}

/* --- the summary --------------------------------------------------------------------------------- */

static void put(FILE *to, const char *s)
{
	visible_put(s, strlen(s), to);
}

static const char *verb_of(const struct diff_entry *e)
{
	static const struct {
		const char *kind, *verb;
	} verbs[] = {
		{ "destination", "reach " },
		{ "name", "look up and reach " },
		{ "listen", "listen at " },
		{ "credential", "hold the credential " },
		{ "environment", "have the variable: " },
		{ "syscall", "call " },
		{ "children", "start other programs: " },
		{ "limit", "use more: " },
	};

	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verbs[i].kind, e->kind->name) == 0)
			return verbs[i].verb;
	return "";
}

/* A place without a file: everywhere.  Returns how many sentences there were. */
static size_t print_sentences(const struct diff *d, enum diff_way way, struct span within, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < d->found.n; i++) {
		const struct diff_entry *e = &d->found.item[i];
		const char *file;
		unsigned line = diff_line(e, &file);
		bool call = strcmp(e->kind->name, "syscall") == 0;

		/* Calls that no line names come with what was said. */
		if (e->way != way || strcmp(e->kind->name, "profile") == 0 || (call && !line) ||
		    (within.file && (e->side != d->new || e->at.file != within.file || e->at.begin < within.begin ||
				     e->at.begin >= within.end)))
			continue;
		if (within.file && n == 0)
			fputs(way == DIFF_GRANTED ? "It may\n" : "It may not\n", to);
		n++;
		fprintf(to, "  %s", verb_of(e));
		put(to, e->text);
		if (e->amount) {
			fputs(", ", to);
			put(to, e->amount);
		}
		if (line) {
			fputs("  # ", to);
			put(to, file);
			fprintf(to, ":%u", line);
		}
		fputc('\n', to);
	}
	return n;
}

static bool writes(const struct policy *p)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->file[i].flags & CAVE_FILE_WRITE)
			return true;
	return false;
}

/* What a reader would want to hear although it is no grant. */
static void print_absences(const struct compile *c, FILE *to)
{
	if (!c->has_hooks)
		fputs("It has no network.\n", to);
	if (!c->policy.ncredentials)
		fputs("It holds no credential.\n", to);
	if (!writes(&c->policy))
		fputs("It writes to no file.\n", to);
	if (!c->policy.children)
		fputs("It starts no other program.\n", to);
}

/* The empty profile, or the empty filter with the same default: what there is without any grant. */
static struct compile *nothing(const struct compile *c)
{
	struct compile *none = compile_begin();
	const char *text = c->policy.bare ? "filter none { }" : "profile none { }";
	struct resolve_options o;
	uint32_t file = sources_add(&none->sources, "none", text, strlen(text), (struct span){ 0 }, false);

	compile_rules(none, NULL, NULL, &o);
	compile_arch(NULL, &o);
	compile_resolve(none, &o, file);
	return none;
}

void explain_summary(const struct compile *c, FILE *to)
{
	struct compile *none = nothing(c);
	struct arena arena = { NULL };
	struct nested_list nested = nested_all(&arena, c);
	struct diff d;

	diff_policies(&arena, none, c, &d);
	put(to, c->policy.name);
	fputs(c->policy.bare ? " is a bare filter of system calls.\n" : " is a sandbox profile.\n", to);
	if (diff_count(&d, DIFF_GRANTED))
		fprintf(to, "Beyond %s, it may\n", c->policy.bare ? "an empty filter" : "what an empty profile may");
	print_sentences(&d, DIFF_GRANTED, (struct span){ 0 }, to);
	if (diff_count(&d, DIFF_REFUSED))
		fprintf(to, "It may not, though an empty %s may,\n", c->policy.bare ? "filter" : "profile");
	print_sentences(&d, DIFF_REFUSED, (struct span){ 0 }, to);
	if (!c->policy.bare)
		print_absences(c, to);
	for (size_t i = 0; i < nested.n; i++) {
		fputs("Within it stands the profile ", to);
		put(to, nested.item[i]->policy.name);
		fputs(", which grants no more.\n", to);
	}
	diff_end(&d);
	arena_free(&arena);
	compile_end(none);
}

bool explain_statement(const struct compile *c, struct span at, FILE *to)
{
	struct compile *none = nothing(c);
	struct arena arena = { NULL };
	struct diff d;
	size_t n;

	diff_policies(&arena, none, c, &d);
	n = print_sentences(&d, DIFF_GRANTED, at, to);
	n += print_sentences(&d, DIFF_REFUSED, at, to);
	diff_end(&d);
	arena_free(&arena);
	compile_end(none);
	return n > 0;
}

/* --- answers ------------------------------------------------------------------------------------- */

static const char *const verdicts[] = { "allowed", "refused", "it depends" };

/* The statement, as far as it stands on one line. */
static const char *statement(const struct compile *c, struct span at, unsigned *line, size_t *n)
{
	const struct source_file *f = &c->sources.file[at.file];
	const char *text = f->text + at.begin;
	unsigned column;

	source_position(f, at.begin, line, &column);
	*n = strcspn(text, "\r\n");
	if (*n > at.end - at.begin)
		*n = at.end - at.begin;
	return text;
}

static void print_reason(const struct compile *c, const struct reason *r, FILE *to)
{
	unsigned line;
	size_t n;

	fprintf(to, "%s: ", verdicts[r->verdict]);
	put(to, r->what);
	fputs("\n  ", to);
	put(to, r->why);
	fputc('\n', to);
	if (r->at.file) {
		const char *text = statement(c, r->at, &line, &n);

		fputs("  ", to);
		put(to, c->sources.file[r->at.file].shown);
		fprintf(to, ":%u: ", line);
		put(to, c->sources.file[r->at.file].hidden ? "" : arena_strndup(c->sources.arena, text, n));
		fputc('\n', to);
	}
	if (r->how)
		fprintf(to, "  by %s\n", r->how);
}

static json_t *text_json(const char *s)
{
	json_t *text = s ? json_string(s) : json_null();

	return text ? text : json_string("(not UTF-8)");
}

static json_t *reason_json(const struct compile *c, const struct reason *r)
{
	json_t *o = json_pack("{s:s, s:o, s:o, s:o}", "verdict", verdicts[r->verdict], "what", text_json(r->what), "why",
			      text_json(r->why), "by", text_json(r->how));
	unsigned line;
	size_t n;

	if (r->at.file) {
		statement(c, r->at, &line, &n);
		json_object_set_new(o, "file", text_json(c->sources.file[r->at.file].shown));
		json_object_set_new(o, "line", json_integer(line));
	}
	return o;
}

void explain_answers(const struct explanation *x, FILE *to)
{
	for (const struct reason *r = x->first; r; r = r->next)
		print_reason(x->compile, r, to);
}

static int print_answers(const struct explanation *x, bool json)
{
	json_t *all = json_array();
	bool allowed = true;

	for (const struct reason *r = x->first; r; r = r->next) {
		allowed &= r->verdict == VERDICT_ALLOWED;
		if (json)
			json_array_append_new(all, reason_json(x->compile, r));
	}
	if (!json)
		explain_answers(x, stdout);
	if (json) {
		json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		putchar('\n');
	}
	json_decref(all);
	return allowed ? EXIT_DONE : EXIT_REFUSED;
}

static const char *folder_of(struct arena *a, const char *path)
{
	char *found = realpath(path, NULL), *slash = found ? strrchr(found, '/') : NULL;
	const char *folder = slash ? arena_strndup(a, found, (size_t)(slash - found)) : NULL;

	free(found);
	return folder;
}

bool explain_question(struct explanation *x, int n, char **word)
{
	if (x->compile->policy.bare && strcmp(word[0], "syscall") != 0) {
		usage("a bare filter is about system calls only, not about ", word[0]);
		return false;
	}
	for (int i = 0; i < n; i++)
		if (!text_visible(word[i], strlen(word[i])) || strchr(word[i], '\n')) {
			usage("a character of the question does not show: ", word[i]);
			return false;
		}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(kinds[i].name, word[0]) != 0)
			continue;
		if (kinds[i].explain(x, n - 1, word + 1))
			return true;
		diags_print(&x->compile->diags, stderr);
		return false;
	}
	usage("a question begins with connect, listen, syscall, read, write, execute, env or lookup, not with ", word[0]);
	return false;
}

static int ask(struct compile *c, const char *path, const struct explain_options *o, int n, char **word)
{
	struct explanation x = { .arena = &c->arena, .compile = c, .folder = folder_of(&c->arena, path) };

	x.last = &x.first;
	return explain_question(&x, n, word) ? print_answers(&x, o->json) : EXIT_TROUBLE;
}

static int explain(const struct explain_options *o, int n, char **word)
{
	int status;
	struct compile *c = review_open(word[0], &o->review, &status), *chosen = c;

	if (!c)
		return EXIT_TROUBLE;
	if (o->profile && strcmp(o->profile, c->policy.name) != 0)
		chosen = nested_find(&c->arena, c, o->profile);
	if (!chosen) {
		status = usage("there is no profile of this name in the policy: ", o->profile);
	} else if (n == 1) {
		explain_summary(chosen, stdout);
		status = EXIT_DONE;
	} else {
		status = ask(chosen, word[0], o, n - 1, word + 1);
	}
	compile_end(c);
	return status;
}

int explain_main(int argc, char **argv)
{
	enum { OPT_PROFILE = 256, OPT_FORMAT };
	static const struct option options[] = {
		{ "profile", required_argument, NULL, OPT_PROFILE },
		{ "format", required_argument, NULL, OPT_FORMAT },
		REVIEW_OPTIONS,
	};
	struct explain_options o = { .review = { .programs = true } };
	int c, status;

	/* What follows the policy is the question. */
	while ((c = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		switch (c) {
		case OPT_PROFILE:
			o.profile = optarg;
			break;
		case OPT_FORMAT:
			o.json = strcmp(optarg, "json") == 0;
			if (!o.json && strcmp(optarg, "text") != 0)
				return usage("--format takes text or json, not ", optarg);
			break;
		default:
			if (!review_option(&o.review, c, optarg, "explain", help, &status))
				return status;
		}
	}
	if (optind == argc)
		return usage("no policy is given", "");
	return explain(&o, argc - optind, argv + optind);
}
