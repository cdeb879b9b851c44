/* SPDX-License-Identifier: MIT */
/* cavec fmt: the command line, and the proof that nothing but the layout changed. */
#include "compiler/fmt.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/compile.h"
#include "compiler/output.h"
#include "compiler/parse.h"
#include "compiler/visible.h"

enum { MAX_TEXT = 16 << 20 };

static const char help[] =
	"usage: cavec fmt [-w | --check] FILE…\n"
	"       cavec fmt < FILE\n"
	"\n"
	"Lays profiles out in the one way that there is: comments stay, the meaning too, which is\n"
	"checked on the syntax tree.\n"
	"\n"
	"  -w, --write             write the files; without it the result is printed\n"
	"      --check             print the names of files that are laid out otherwise\n"
	"  -h, --help              this text\n"
	"\n"
	"Exit status: 0 done; 1 a file is laid out otherwise (--check) or has an error in its syntax;\n"
	"2 usage, or input and output.\n";

static int trouble(const char *file, const char *text)
{
	complain("cavec fmt: %s: %s", file, text);
	return EXIT_TROUBLE;
}

/* --- the proof ----------------------------------------------------------------------------------- */

static bool same_tree(const struct node *a, const struct node *b)
{
	for (; a && b; a = a->next, b = b->next) {
		bool texts = a->text && b->text ? strcmp(a->text, b->text) == 0 : a->text == b->text;

		if (a->kind != b->kind || !texts || !same_tree(a->kids, b->kids))
			return false;
	}
	return a == b;
}

/* The syntax tree, or NULL with errors printed; *good tells an empty file from one with errors. */
static struct node *parse(struct diags *d, const char *name, const char *text, size_t size, FILE *messages, bool *good)
{
	struct node *statements = NULL;
	uint32_t file = sources_add(d->sources, name, text, size, (struct span){ 0 }, false);

	check_visible(d, file);
	*good = parse_statements(d, file, &statements) && !d->errors;
	if (!*good && messages)
		diags_print(d, messages);
	return statements;
}

/* Every comment of the one text is in the other, in order; a suppression may be there more often. */
static bool same_comments(const struct fmt_tokens *old, const struct fmt_tokens *new)
{
	size_t at = 0;

	for (size_t i = 0; i < old->n; i++) {
		if (old->item[i].kind != FMT_COMMENT)
			continue;
		while (at < new->n && (new->item[at].kind != FMT_COMMENT || new->item[at].n != old->item[i].n ||
				       memcmp(new->item[at].text, old->item[i].text, old->item[i].n) != 0))
			at++;
		if (at++ == new->n)
			return false;
	}
	return true;
}

bool fmt_text(struct arena *a, const char *name, const char *text, size_t size, FILE *messages, struct buffer *out)
{
	struct fmt_tokens tokens, again;
	struct sources sources;
	struct node *before, *after;
	struct fmt_item file;
	struct diags d;
	bool good;

	sources_init(&sources, a);
	diags_init(&d, &sources);
	before = parse(&d, name, text, size, messages, &good);
	if (!good)
		return false;
	tokens = fmt_scan(a, sources.file[1].text, sources.file[1].size);
	fmt_items(a, &tokens, &file);
	*out = (struct buffer){ .arena = a };
	fmt_layout(&file, out);
	buffer_add(out, "", 1);
	out->n--;
	after = parse(&d, name, out->data, out->n, NULL, &good);
	again = fmt_scan(a, out->data, out->n);
	if (good && same_tree(before, after) && same_comments(&tokens, &again))
		return true;
	fprintf(messages, "cavec fmt: %s: this cannot be laid out without a change; it stays as it is\n", name);
	return false;
}

/* --- files --------------------------------------------------------------------------------------- */

struct fmt_options {
	bool write, check;
};

/* All of a descriptor; NULL with errno set. */
static char *read_all(struct arena *a, int fd, size_t *size)
{
	struct buffer b = { .arena = a };
	char part[65536];
	ssize_t n;

	while ((n = read(fd, part, sizeof part)) > 0 && b.n <= MAX_TEXT)
		buffer_add(&b, part, (size_t)n);
	if (b.n > MAX_TEXT)
		errno = EFBIG;
	if (n < 0 || b.n > MAX_TEXT)
		return NULL;
	*size = b.n;
	buffer_add(&b, "", 1);
	return b.data;
}

static bool is_json(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '{';
}

static int give(const struct fmt_options *o, const char *name, const char *text, size_t size, const struct buffer *out)
{
	bool same = out->n == size && memcmp(out->data, text, size) == 0;

	if (o->check) {
		if (!same)
			printf("%s\n", name);
		return same ? EXIT_DONE : EXIT_REFUSED;
	}
	if (!o->write) {
		fwrite(out->data, 1, out->n, stdout);
		return EXIT_DONE;
	}
	if (!same && !output_source(name, out->data, out->n))
		return trouble(name, strerror(errno));
	return EXIT_DONE;
}

static int format_fd(const struct fmt_options *o, const char *name, int fd)
{
	struct arena a = { NULL };
	struct buffer out;
	size_t size;
	char *text = read_all(&a, fd, &size);
	int status;

	if (!text)
		status = trouble(name, strerror(errno));
	else if (is_json(text))
		status = trouble(name, "a JSON profile is laid out by other tools");
	else if (!fmt_text(&a, name, text, size, stderr, &out))
		status = EXIT_REFUSED;
	else
		status = give(o, name, text, size, &out);
	arena_free(&a);
	return status;
}

static int format_file(const struct fmt_options *o, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC), status;
	struct stat st;

	if (fd < 0)
		return trouble(name, strerror(errno));
	if (o->write && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
		status = trouble(name, "this is no regular file");
	else
		status = format_fd(o, name, fd);
	close(fd);
	return status;
}

int fmt_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "write", no_argument, NULL, 'w' },
		{ "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct fmt_options o = { false, false };
	int c, status = EXIT_DONE;

	while ((c = getopt_long(argc, argv, "wh", options, NULL)) != -1) {
		switch (c) {
		case 'w':
			o.write = true;
			break;
		case 'c':
			o.check = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_DONE;
		default:
			fputs("Try: cavec fmt --help\n", stderr);
			return EXIT_TROUBLE;
		}
	}
	if (o.write && (o.check || optind == argc))
		return trouble("-w", o.check ? "not together with --check" : "there is no file to write");
	if (optind == argc)
		return format_fd(&o, "(standard input)", STDIN_FILENO);
	for (int i = optind; i < argc; i++) {
		int one = format_file(&o, argv[i]);

		status = one > status ? one : status;
	}
	return status;
}
