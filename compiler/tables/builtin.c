/* SPDX-License-Identifier: MIT */
/*
 * Makes the tables of compiler/syscalls_builtin.h, when the compiler is built: reads the built-in sets in the folder
 * given, resolves them for each architecture, generates the filter of each choice of sets, and prints all of it as C.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/parse.h"
#include "compiler/syscalls_builtin.h"
#include "compiler/syscalls_clauses.h"
#include "compiler/syscalls_rules.h"

static const struct span nowhere;

static const char *const set_names[BUILTINS] = {
	[BUILTIN_BASE] = "base",     [BUILTIN_NETWORK] = "network", [BUILTIN_TCP] = "tcp",
	[BUILTIN_UDP] = "udp",	     [BUILTIN_LISTEN] = "listen",   [BUILTIN_NETLINK] = "netlink",
	[BUILTIN_EXECUTE] = "execute", [BUILTIN_CHILDREN] = "children", [BUILTIN_UNICAST] = "unicast",
	[BUILTIN_MEMORY] = "memory",   [BUILTIN_MAY] = "may",
};

/* The compiler's own tables, which are not there yet: what is resolved here names those that it made. */
const struct builtin_tables builtin_tables;

/* An array that was printed, and under which number; equal ones are printed once. */
struct printed {
	const char *kind, *text;
};

struct maker {
	struct arena arena;
	struct sources sources;
	struct diags diags;
	struct builtin_tables tables;
	struct printed *printed;
	size_t nprinted, cap;
	size_t longest; /* filter */
};

/* --- text to clauses -------------------------------------------------------------------------- */

/* One set for one architecture, while it is read. */
struct reading {
	struct maker *maker;
	enum sys_arch arch;
	const struct syscall_row *rows;
	struct clauses {
		struct sys_clause *item;
		size_t n, cap;
	} *of; /* each row */
};

static bool error(struct reading *r, const struct node *n, const char *what)
{
	diag_error(&r->maker->diags, CAVE_SYNTAX, n->at, "%s", what);
	return false;
}

static const struct node *with_of(const struct node *rule)
{
	const struct node *n = rule->kids;

	while (n && n->kind != N_WITH)
		n = n->next;
	return n;
}

static bool is_with(const struct node *with, const char *name, const char *what)
{
	return strcmp(with->text, name) == 0 &&
	       (what ? with->kids && strcmp(with->kids->text, what) == 0 : !with->kids);
}

static bool result_of(struct reading *r, const struct node *rule, struct sys_result *out)
{
	const struct node *with = with_of(rule);

	*out = (struct sys_result){ .action = SYS_ALLOW };
	if (!with && strcmp(rule->text, "deny") == 0)
		*out = (struct sys_result){ SYS_ERRNO, EPERM };
	if (!with)
		return true;
	if (is_with(with, "token", NULL))
		out->action = SYS_EXEC_ONCE;
	else if (is_with(with, "count", NULL))
		out->action = SYS_COUNTED;
	else if (is_with(with, "guard", "metadata"))
		out->action = SYS_GUARD_METADATA;
	else if (is_with(with, "guard", "signal"))
		out->action = SYS_GUARD_SIGNAL;
	else if (is_with(with, "errno", "ENOSYS"))
		*out = (struct sys_result){ SYS_ERRNO, ENOSYS };
	else if (is_with(with, "errno", "ENOMEM"))
		*out = (struct sys_result){ SYS_ERRNO, ENOMEM };
	else if (is_with(with, "errno", "EOPNOTSUPP"))
		*out = (struct sys_result){ SYS_ERRNO, EOPNOTSUPP };
	else if (is_with(with, "errno", "NONE"))
		*out = (struct sys_result){ SYS_ERRNO, 0 };
	else
		return error(r, with, "unknown 'with'");
	return true;
}

static bool read_item(struct reading *r, const struct node *item, struct sys_result result)
{
	struct alternatives alt = { &(struct alternative){ NULL, 0 }, 1 };
	const struct syscall_row *row = syscall_find(item->text);
	struct clauses *to;

	if (!row)
		return error(r, item, "unknown system call");
	if (row->nr[r->arch] < 0)
		return true;
	if (item->kids && !condition_resolve(&r->maker->diags, &r->maker->arena, r->arch, row->name, item->kids, true,
					     &alt))
		return false;
	to = &r->of[row - r->rows];
	for (size_t i = 0; i < alt.n; i++)
		*ARENA_PUSH(&r->maker->arena, to->item, to->n, to->cap) =
			(struct sys_clause){ result, alt.item[i].test, alt.item[i].n, 0 };
	return true;
}

static bool read_rule(struct reading *r, const struct node *rule)
{
	struct sys_result result;

	if (rule->kind != N_SYS_RULE)
		return error(r, rule, "not an allow or a deny");
	if (!result_of(r, rule, &result))
		return false;
	for (const struct node *n = rule->kids; n; n = n->next)
		if (n->kind == N_SYS_ITEM && !read_item(r, n, result))
			return false;
	return true;
}

static bool read_set(struct reading *r, const struct node *statements)
{
	for (const struct node *s = statements; s; s = s->next) {
		if (s->kind != N_SYSCALLS)
			return error(r, s, "not a syscalls block");
		for (const struct node *rule = s->kids; rule; rule = rule->next)
			if (!read_rule(r, rule))
				return false;
	}
	return true;
}

static bool resolve_set(struct maker *m, enum builtin which, enum sys_arch arch, const struct node *statements)
{
	struct reading r = { .maker = m, .arch = arch };
	struct builtin_call *call;
	size_t rows, n = 0;

	r.rows = syscall_table(&rows);
	r.of = ARENA_ARRAY(&m->arena, rows, struct clauses);
	if (!read_set(&r, statements))
		return false;
	call = ARENA_ARRAY(&m->arena, rows, struct builtin_call);
	for (size_t i = 0; i < rows; i++) {
		size_t nclauses;
		const struct sys_clause *normal = clauses_normal(&m->arena, r.of[i].item, r.of[i].n, &nclauses);

		if (nclauses)
			call[n++] = (struct builtin_call){ (uint16_t)i, (uint16_t)nclauses, normal };
	}
	m->tables.calls[which][arch] = (struct builtin_calls){ call, n };
	return true;
}

static char *read_text(struct arena *a, const char *path, size_t *size)
{
	enum { TEXT_MAX = 1 << 20 };
	FILE *f = fopen(path, "re");
	char *text = arena_alloc(a, TEXT_MAX);

	*size = f ? fread(text, 1, TEXT_MAX - 1, f) : 0;
	if (!f || ferror(f) || *size == TEXT_MAX - 1)
		text = NULL;
	if (f)
		fclose(f);
	return text;
}

static bool make_set(struct maker *m, const char *folder, enum builtin which)
{
	const char *path = arena_printf(&m->arena, "%s/%s.cave", folder, set_names[which]);
	struct node *statements = NULL;
	size_t size;
	char *text = read_text(&m->arena, path, &size);

	if (!text) {
		fprintf(stderr, "builtin: cannot read %s\n", path);
		return false;
	}
	if (!parse_statements(&m->diags, sources_add(&m->sources, path, text, size, nowhere, false), &statements))
		return false;
	for (enum sys_arch arch = 0; arch < SYS_ARCHES; arch++)
		if (!resolve_set(m, which, arch, statements))
			return false;
	return true;
}

/* --- clauses to filters ----------------------------------------------------------------------- */

static bool make_filter(struct maker *m, uint32_t sets, enum sys_arch arch)
{
	const struct policy policy = { .base_syscalls = true };
	struct filter_program *f = &m->tables.filter[sets][arch];
	struct gen_error e;
	struct sys_rules rules;

	if (!syscalls_resolve_sets(&m->diags, &m->arena, &policy, &m->tables, sets, arch, &rules))
		return false;
	if (!seccomp_generate(&m->arena, &rules, f, &e)) {
		fprintf(stderr, "builtin: a filter takes %zu instructions\n", e.needed);
		return false;
	}
	m->longest = m->longest > f->n ? m->longest : f->n;
	return true;
}

static bool make_filters(struct maker *m)
{
	for (uint32_t sets = 0; sets < BUILTIN_CHOICES; sets++)
		for (enum sys_arch arch = 0; arch < SYS_ARCHES && builtin_choice(sets); arch++)
			if (!make_filter(m, sets, arch))
				return false;
	return true;
}

/* --- printing --------------------------------------------------------------------------------- */

/* Prints `text` as the values of an array, unless it was; returns its number, or the one before. */
static size_t print_array(struct maker *m, const char *kind, const char *type, struct buffer *text)
{
	size_t n = m->nprinted;

	buffer_add(text, "", 1);
	for (size_t i = 0; i < n; i++)
		if (strcmp(m->printed[i].kind, kind) == 0 && strcmp(m->printed[i].text, text->data) == 0)
			return i;
	*ARENA_PUSH(&m->arena, m->printed, m->nprinted, m->cap) = (struct printed){ kind, text->data };
	printf("static const %s %s_%zu[] = {\n%s};\n", type, kind, n, text->data);
	return n;
}

static void put_test(struct maker *m, const struct sys_test *t, struct buffer *to)
{
	struct buffer ranges = { .arena = &m->arena };

	buffer_printf(to, "\t{ .arg = %u, .width = %u, .self = %d, .mask = 0x%" PRIx64, t->arg, t->width, t->self,
		      t->mask);
	for (size_t i = 0; i < t->nranges; i++)
		buffer_printf(&ranges, "\t{ 0x%" PRIx64 ", 0x%" PRIx64 " },\n", t->range[i].lo, t->range[i].hi);
	if (t->nranges)
		buffer_printf(to, ", .range = range_%zu, .nranges = %zu",
			      print_array(m, "range", "struct sys_range", &ranges), t->nranges);
	buffer_printf(to, " },\n");
}

static void put_clause(struct maker *m, const struct sys_clause *c, struct buffer *to)
{
	struct buffer tests = { .arena = &m->arena };

	buffer_printf(to, "\t{ .result = { %d, %u }", (int)c->result.action, c->result.error);
	for (size_t i = 0; i < c->ntests; i++)
		put_test(m, &c->test[i], &tests);
	if (c->ntests)
		buffer_printf(to, ", .test = test_%zu, .ntests = %zu", print_array(m, "test", "struct sys_test", &tests),
			      c->ntests);
	buffer_printf(to, " },\n");
}

static size_t print_calls(struct maker *m, const struct builtin_calls *calls)
{
	struct buffer items = { .arena = &m->arena };

	for (size_t i = 0; i < calls->n; i++) {
		const struct builtin_call *call = &calls->item[i];
		struct buffer clauses = { .arena = &m->arena };

		for (size_t j = 0; j < call->n; j++)
			put_clause(m, &call->clause[j], &clauses);
		buffer_printf(&items, "\t{ %u, %u, clause_%zu },\n", call->row, call->n,
			      print_array(m, "clause", "struct sys_clause", &clauses));
	}
	return print_array(m, "call", "struct builtin_call", &items);
}

static void put_filter(struct maker *m, const struct filter_program *f, struct buffer *to)
{
	struct buffer insns = { .arena = &m->arena }, patches = { .arena = &m->arena };
	size_t patch;

	for (size_t i = 0; i < f->n; i++)
		buffer_printf(&insns, "\t{ 0x%02x, %u, %u, 0x%x },\n", f->insn[i].code, f->insn[i].jt, f->insn[i].jf,
			      f->insn[i].k);
	for (size_t i = 0; i < f->npatches; i++)
		buffer_printf(&patches, "\t{ %u, %u },\n", f->patch[i].insn, f->patch[i].kind);
	patch = print_array(m, "patch", "struct cave_patch", &patches);
	buffer_printf(to, "\t\t{ insn_%zu, no_lines, %zu, patch_%zu, %zu },\n",
		      print_array(m, "insn", "struct sock_filter", &insns), f->n, patch, f->npatches);
}

static void print(struct maker *m)
{
	struct buffer tables = { .arena = &m->arena };

	printf("/* Made by compiler/tables/builtin.c. */\n");
	printf("static const line_id no_lines[%zu];\n", m->longest);
	buffer_printf(&tables, "const struct builtin_tables builtin_tables = {\n\t.calls = {\n");
	for (enum builtin which = 0; which < BUILTINS; which++)
		for (enum sys_arch arch = 0; arch < SYS_ARCHES; arch++)
			buffer_printf(&tables, "\t\t[%d][%d] = { call_%zu, %zu },\n", (int)which, (int)arch,
				      print_calls(m, &m->tables.calls[which][arch]),
				      m->tables.calls[which][arch].n);
	buffer_printf(&tables, "\t},\n\t.filter = {\n");
	for (uint32_t sets = 0; sets < BUILTIN_CHOICES; sets++)
		for (enum sys_arch arch = 0; arch < SYS_ARCHES && builtin_choice(sets); arch++) {
			buffer_printf(&tables, "\t\t[%u][%d] =\n", sets, (int)arch);
			put_filter(m, &m->tables.filter[sets][arch], &tables);
		}
	printf("%.*s\t},\n};\n", (int)tables.n, tables.data);
}

int main(int argc, char **argv)
{
	struct maker *m = calloc(1, sizeof *m);
	bool good = m && argc == 2;

	if (!good) {
		fputs("usage: builtin FOLDER\n", stderr);
		free(m);
		return 2;
	}
	sources_init(&m->sources, &m->arena);
	diags_init(&m->diags, &m->sources);
	for (enum builtin which = 0; which < BUILTINS && good; which++)
		good = make_set(m, argv[1], which);
	good = good && make_filters(m);
	if (good)
		print(m);
	diags_print(&m->diags, stderr);
	arena_free(&m->arena);
	free(m);
	return good && fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
