/* SPDX-License-Identifier: MIT */
#include "compiler/diag.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/credentials.h"
#include "compiler/visible.h"

enum { MAX_SHOWN = 50, MAX_LINE = 160 };

void diags_init(struct diags *d, struct sources *s)
{
	memset(d, 0, sizeof *d);
	d->sources = s;
	d->last = &d->first;
}

static struct diag *record(struct diags *d, enum cave_code code, struct span at, const char *format,
			   va_list ap)
{
	struct diag *diag = arena_alloc(d->sources->arena, sizeof *diag);

	diag->code = code;
	diag->at = at;
	diag->text = arena_vprintf(d->sources->arena, format, ap);
	diag->last = &diag->notes;
	*d->last = diag;
	d->last = &diag->next;
	return diag;
}

struct diag *diag_error(struct diags *d, enum cave_code code, struct span at, const char *format, ...)
{
	struct diag *diag;
	va_list ap;

	va_start(ap, format);
	diag = record(d, code, at, format, ap);
	va_end(ap);
	d->errors++;
	return diag;
}

struct diag *diag_remark(struct diags *d, struct span at, const char *format, ...)
{
	struct diag *diag;
	va_list ap;

	va_start(ap, format);
	diag = record(d, CAVE_OK, at, format, ap);
	va_end(ap);
	d->notes++;
	return diag;
}

void diag_note(struct diags *d, struct diag *of, struct span at, const char *format, ...)
{
	struct diag_note *note = arena_alloc(d->sources->arena, sizeof *note);
	va_list ap;

	note->at = at;
	va_start(ap, format);
	note->text = arena_vprintf(d->sources->arena, format, ap);
	va_end(ap);
	*of->last = note;
	of->last = &note->next;
}

static void print_place(FILE *to, const struct diags *d, struct span at)
{
	const struct source_file *f = &d->sources->file[at.file];
	unsigned line, column;

	if (!at.file)
		return;
	source_position(f, at.begin, &line, &column);
	visible_put(f->shown, strlen(f->shown), to);
	fprintf(to, ":%u:%u: ", line, column);
}

/* The names that every profile may show. */
static bool is_builtin_credential(const char *name)
{
	size_t n;
	const struct credential *row = credentials_builtin(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(row[i].name, name) == 0)
			return true;
	return false;
}

/* True if some word of the line, in capitals as variables are, looks like the name of a credential. */
static bool names_credential(const char *at, const char *end)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	char name[128];

	while (at < end) {
		size_t n = 0;

		while (at + n < end && strchr(letters, at[n]))
			n++;
		if (n && n < sizeof name) {
			memcpy(name, at, n);
			name[n] = '\0';
			if (!is_builtin_credential(name) && !env_pass_excepted(name) &&
			    (credential_looks_like(name) || credential_denied(name)))
				return true;
		}
		at += n + 1;
	}
	return false;
}

/* A line on which a secret stands, or may stand, is shown by no error at all. */
static bool is_secret_line(const struct diags *d, uint32_t file, uint32_t start, uint32_t end)
{
	const struct source_file *f = &d->sources->file[file];

	for (const struct diag *i = d->first; i; i = i->next)
		if (i->secret && i->at.file == file && i->at.begin >= start && i->at.begin <= end)
			return true;
	return f->hidden || names_credential(f->text + start, f->text + end);
}

/* The source line, and a caret line under the part that is meant. */
static void print_source(FILE *to, const struct diags *d, struct span at)
{
	const struct source_file *f = &d->sources->file[at.file];
	const char *begin = f->text + at.begin, *start = begin, *end = begin;
	size_t length;

	if (!at.file || !f->size)
		return;
	while (start > f->text && start[-1] != '\n')
		start--;
	while (end < f->text + f->size && *end != '\n')
		end++;
	length = (size_t)(end - start);
	if (!length || length > MAX_LINE || !text_visible(start, length) || is_log_command(start, length) ||
	    is_secret_line(d, at.file, (uint32_t)(start - f->text), (uint32_t)(end - f->text)))
		return;
	fputs("    ", to);
	visible_put(start, length, to);
	fputs("\n    ", to);
	for (const char *p = start; p < begin; p++)
		if (((unsigned char)*p & 0xc0) != 0x80)
			fputc(*p == '\t' ? '\t' : ' ', to);
	fputc('^', to);
	for (const char *p = begin + 1; p < f->text + at.end && p < end; p++)
		if (((unsigned char)*p & 0xc0) != 0x80)
			fputc('~', to);
	fputc('\n', to);
}

static void print_included(FILE *to, const struct diags *d, struct span at)
{
	struct span from = d->sources->file[at.file].included_from;

	for (; from.file; from = d->sources->file[from.file].included_from) {
		fputs("    ", to);
		print_place(to, d, from);
		fputs("note: included here\n", to);
	}
}

static void print_one(FILE *to, const struct diags *d, const struct diag *diag)
{
	print_place(to, d, diag->at);
	fputs(diag->code ? "error: " : "note: ", to);
	visible_put(diag->text, strlen(diag->text), to);
	if (diag->code)
		fprintf(to, " [%s]", cave_code_name(diag->code));
	fputc('\n', to);
	print_source(to, d, diag->at);
	print_included(to, d, diag->at);
	for (const struct diag_note *n = diag->notes; n; n = n->next) {
		fputs("    ", to);
		print_place(to, d, n->at);
		fputs("note: ", to);
		visible_put(n->text, strlen(n->text), to);
		fputc('\n', to);
	}
}

static int by_position(const void *a, const void *b)
{
	const struct diag *x = *(const struct diag *const *)a, *y = *(const struct diag *const *)b;

	if (x->at.file != y->at.file)
		return x->at.file < y->at.file ? -1 : 1;
	if (x->at.begin != y->at.begin)
		return x->at.begin < y->at.begin ? -1 : 1;
	return strcmp(x->text, y->text);
}

static bool same_diag(const struct diag *x, const struct diag *y)
{
	return x->code == y->code && x->at.file == y->at.file && x->at.begin == y->at.begin &&
	       strcmp(x->text, y->text) == 0;
}

/* Sorted by position, without what is said twice; *n is their number. */
static const struct diag **sort(const struct diags *d, size_t *n)
{
	const struct diag **sorted;
	size_t kept = 0;

	*n = 0;
	sorted = ARENA_ARRAY(d->sources->arena, d->errors + d->notes + 1, const struct diag *);
	for (const struct diag *i = d->first; i; i = i->next)
		sorted[(*n)++] = i;
	qsort(sorted, *n, sizeof *sorted, by_position);
	for (size_t i = 0; i < *n; i++)
		if (!kept || !same_diag(sorted[i], sorted[kept - 1]))
			sorted[kept++] = sorted[i];
	*n = kept;
	return sorted;
}

/* The number of errors is capped, but the first of every code is always shown: programs read the codes. */
void diags_print(const struct diags *d, FILE *to)
{
	size_t n, shown = 0, left_out = 0;
	const struct diag **sorted = sort(d, &n);
	bool seen[CAVE_CODE_COUNT] = { false };

	for (size_t i = 0; i < n; i++) {
		enum cave_code code = sorted[i]->code;

		if (shown >= MAX_SHOWN && seen[code]) {
			left_out += code != CAVE_OK;
			continue;
		}
		print_one(to, d, sorted[i]);
		seen[code] = true;
		shown += code != CAVE_OK;
	}
	if (left_out)
		fprintf(to, "cavec: %zu more errors are not shown\n", left_out);
}

/* Letters in another case are the same ones. */
static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment distance; words longer than the table are never suggested. */
static unsigned distance(const char *a, const char *b)
{
	enum { MAX = 40 };
	unsigned row[MAX + 1][MAX + 1];
	size_t m = strlen(a), n = strlen(b);

	if (m > MAX || n > MAX)
		return MAX;
	for (size_t i = 0; i <= m; i++)
		row[i][0] = (unsigned)i;
	for (size_t j = 0; j <= n; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= m; i++) {
		for (size_t j = 1; j <= n; j++) {
			unsigned best = row[i - 1][j - 1] + !same_letter(a[i - 1], b[j - 1]);

			if (row[i - 1][j] + 1 < best)
				best = row[i - 1][j] + 1;
			if (row[i][j - 1] + 1 < best)
				best = row[i][j - 1] + 1;
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]) &&
			    row[i - 2][j - 2] + 1 < best)
				best = row[i - 2][j - 2] + 1;
			row[i][j] = best;
		}
	}
	return row[m][n];
}

const char *did_you_mean(const char *word, const char *(*candidate)(const void *context, size_t i),
			 const void *context)
{
	unsigned best = (unsigned)(strlen(word) + 2) / 3 + 1; /* more than a third wrong is a guess */
	const char *name, *nearest = NULL;

	for (size_t i = 0; (name = candidate(context, i)); i++) {
		unsigned d = distance(word, name);

		if (d < best && d < strlen(name)) {
			best = d;
			nearest = name;
		}
	}
	return nearest;
}
