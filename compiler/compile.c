/* SPDX-License-Identifier: MIT */
/*
 * The pipeline: read, parse, resolve, generate, prove, write.  Each stage takes what the one before it made and
 * changes nothing of it.  A stage that records an error does not keep the next from looking for more, as long as
 * it has something to look at; nothing is generated from a policy with an error in it.
 */
#include "compiler/compile.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "bpf/artefact.h"
#include "compiler/canonical.h"
#include "compiler/covers.h"
#include "compiler/egress.h"
#include "compiler/hosts.h"
#include "compiler/emit.h"
#include "compiler/grants_expect.h"
#include "compiler/manifest.h"
#include "compiler/nested.h"
#include "compiler/object.h"
#include "compiler/rules_section.h"
#include "compiler/operator.h"
#include "compiler/output.h"
#include "compiler/parse.h"
#include "compiler/pipeline.h"
#include "compiler/syscalls.h"
#include "compiler/visible.h"

static int trouble(const char *file, const char *text)
{
	complain("cavec: %s: %s", file, text);
	return EXIT_TROUBLE;
}

/* A profile of the seed system is JSON: it begins with a brace, which no profile of ours does. */
static bool is_json(const struct source_file *f)
{
	const char *c = f->text;
	size_t n = strlen(f->shown);

	while (isspace((unsigned char)*c))
		c++;
	return *c == '{' || (n > 5 && strcmp(f->shown + n - 5, ".json") == 0);
}

void compile_sets(struct compile *c, const struct resolve_options *o)
{
	c->policy.bound = (struct net_reach){ o->rules.reach_ipv4, o->rules.reach_ipv6 };
	egress_resolve(&c->diags, &c->arena, &c->policy, &c->set);
	if (hosts_resolve(&c->diags, &c->arena, &c->policy, &c->hosts) && c->hosts.ngrants &&
	    hosts_measure(&c->diags, &c->arena, &c->policy, &c->hosts, &c->set.reach))
		c->set.hosts = &c->hosts;
	if (!c->diags.errors)
		syscalls_resolve(&c->diags, &c->arena, &c->policy, &c->set, c->rules);
}

size_t compile_errors(const struct compile *c)
{
	size_t n = c->diags.errors;

	for (size_t i = 0; i < c->nnested; i++)
		n += compile_errors(c->nested[i]);
	return n;
}

void compile_print(const struct compile *c, FILE *to)
{
	diags_print(&c->diags, to);
	for (size_t i = 0; i < c->nnested; i++)
		compile_print(c->nested[i], to);
}

bool compile_resolve(struct compile *c, const struct resolve_options *o, uint32_t file)
{
	struct node *statements = NULL;

	c->operator = o->rules;
	check_visible(&c->diags, file);
	if (is_json(&c->sources.file[file])) {
		/* A credential may be named anywhere in it, and it is one line as a rule. */
		c->sources.file[file].hidden = true;
		if (!resolve_json(&c->diags, o, file, &c->policy))
			return false;
	} else {
		parse_statements(&c->diags, file, &statements);
		resolve_profile(&c->diags, &c->loader, o, file, statements, &c->policy);
	}
	compile_sets(c, o);
	nested_resolve(c, o);
	return compile_errors(c) == 0;
}

static void too_long(struct compile *c, const struct gen_error *error, const char *what)
{
	struct diag *e = diag_error(&c->diags, CAVE_UNSUPPORTED, c->policy.at,
				    "%s would take %zu %s, more than %zu", what, error->needed,
				    error->unit ? error->unit : "instructions", error->limit);

	if (error->detail)
		diag_note(&c->diags, e, (struct span){ 0 }, "%s", error->detail);
}

static void generate_filter(struct compile *c, enum sys_arch arch)
{
	const struct filter_program *ready = syscalls_ready_filter(&c->policy, &c->set, arch);
	struct gen_error error = { 0 };

	if (ready)
		c->filter[arch] = *ready;
	if (!ready && !seccomp_generate(&c->arena, &c->rules[arch], &c->filter[arch], &error))
		too_long(c, &error, arena_printf(&c->arena, "the syscall filter for %s", sys_arch_name(arch)));
	else
		syscalls_prove(&c->diags, &c->rules[arch], &c->filter[arch]);
}

void compile_prove(struct compile *c)
{
	if (c->set.hosts)
		names_prove(&c->diags, &c->policy, c->set.hosts, c->hook);
	else
		egress_prove(&c->diags, &c->policy, c->hook);
}

static void generate_one(struct compile *c)
{
	struct gen_error error = { 0 };

	c->has_hooks = !net_set_empty(&c->set);
	/* What is wrong with one architecture's is mostly wrong with all. */
	for (unsigned arch = 0; arch < SYS_ARCHES && !c->diags.errors; arch++)
		if (policy_has_arch(&c->policy, arch))
			generate_filter(c, arch);
	if (c->diags.errors || !c->has_hooks)
		return;
	if (!egress_generate(&c->arena, &c->set, c->hook, &error))
		too_long(c, &error, "an egress program");
	else
		compile_prove(c);
}

bool compile_generate(struct compile *c)
{
	generate_one(c);
	for (size_t i = 0; i < c->nnested; i++)
		compile_generate(c->nested[i]);
	return compile_errors(c) == 0;
}

static void expect(struct compile *c)
{
	syscalls_expect(&c->diags, &c->policy, c->filter);
	egress_expect(&c->diags, &c->policy, c->has_hooks ? c->hook : NULL, c->set.hosts);
	hosts_expect(&c->diags, &c->arena, &c->policy, c->set.hosts);
	for (size_t i = 0; i < c->nnested; i++)
		expect(c->nested[i]);
}

/* Each line of a text, further to the right. */
static void add_indented(struct buffer *to, const char *text, size_t n)
{
	for (const char *at = text, *end = text + n; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		buffer_printf(to, "    ");
		buffer_add(to, at, (size_t)(newline + 1 - at));
		at = newline + 1;
	}
}

void compile_text_of(const struct compile *c, bool nested, struct buffer *out)
{
	static const char close[] = "}\n";

	canonical_text(&c->policy, &c->set, out);
	if (!nested || !c->nnested)
		return;
	out->n -= strlen(close);
	for (size_t i = 0; i < c->nnested; i++) {
		struct buffer inner = { .arena = out->arena };

		compile_text_of(c->nested[i], true, &inner);
		add_indented(out, inner.data, inner.n);
	}
	buffer_add(out, close, strlen(close));
}

static const char *assemble(struct compile *c, const struct nested_profiles *nested, struct buffer *out)
{
	struct object_parts parts = {
		.sources = &c->sources,
		.hook = c->has_hooks ? c->hook : NULL,
		.filter = c->filter,
		.nested = nested,
		.manifest = { .arena = &c->arena },
		.policy = { .arena = &c->arena },
		.rules = { .arena = &c->arena },
	};
	struct artefact_error error;
	struct artefact *view = arena_alloc(&c->arena, sizeof *view);

	compile_text_of(c, !c->around, &parts.policy);
	manifest_write(&c->policy, c->filter, parts.hook, &c->set, nested, &parts.manifest);
	if (parts.manifest.n > ARTEFACT_MANIFEST_MAX) {
		diag_error(&c->diags, CAVE_VALUE, c->policy.at,
			   "the profile's names, values and paths take %zu bytes, more than %d", parts.manifest.n,
			   ARTEFACT_MANIFEST_MAX);
		return NULL;
	}
	if (parts.hook)
		rules_write(&c->sources, &c->policy, &parts.rules);
	object_write(&c->arena, &parts, out);
	if (!artefact_open(out->data, out->n, view, &error))
		return arena_printf(&c->arena, "the artefact does not pass its own check: %s", error.text);
	grants_expect(&c->diags, &c->policy, view);
	return NULL;
}

/* Programs to the bytes of the artefact, which the runtime's own reader must accept; those within first. */
static const char *assemble_all(struct compile *c, struct buffer *out)
{
	struct artefact *view = arena_alloc(&c->arena, sizeof *view);
	struct nested_list all = nested_all(&c->arena, c);
	struct nested_profiles nested = { NULL, 0, 0 };
	struct artefact_error error;

	for (size_t i = 0; i < all.n; i++) {
		struct nested_profile inner = { .name = all.item[i]->policy.name, .artefact = { .arena = &c->arena } };
		const char *fault = assemble(all.item[i], NULL, &inner.artefact);

		if (fault || all.item[i]->diags.errors)
			return fault;
		if (!artefact_open(inner.artefact.data, inner.artefact.n, view, &error))
			return arena_printf(&c->arena, "a nested artefact does not pass its own check: %s", error.text);
		memcpy(inner.identity, view->identity, CAVE_DIGEST_SIZE);
		*ARENA_PUSH(&c->arena, nested.item, nested.n, nested.cap) = inner;
	}
	return assemble(c, &nested, out);
}

/* Relative grants are to the artefact's folder; an artefact elsewhere means other files. */
static void remark_elsewhere(struct compile *c, const struct compile_options *o)
{
	const struct file_rule *relative = NULL;
	char profile[PATH_MAX], folder[PATH_MAX], *out = arena_strdup(&c->arena, o->out), *slash = strrchr(out, '/');

	if (slash)
		*(slash == out ? slash + 1 : slash) = '\0';
	for (size_t i = 0; i < c->policy.nfiles && !relative; i++)
		if (c->policy.file[i].flags & CAVE_FILE_RELATIVE)
			relative = &c->policy.file[i];
	if (relative && realpath(o->file, profile) && realpath(slash ? out : ".", folder)) {
		*strrchr(profile, '/') = '\0';
		if (strcmp(*profile ? profile : "/", folder) != 0)
			diag_remark(&c->diags, relative->at,
				    "relative paths are to the artefact's folder, which is not the profile's");
	}
}

/* A bare filter's bytes, in the form asked for; false after an error was recorded. */
static bool emit_filter(struct compile *c, enum sys_arch arch, enum emit how, struct buffer *out)
{
	if (how == EMIT_C)
		emit_c(c->policy.name, &c->rules[arch], &c->filter[arch], out);
	else if (how != EMIT_OCI)
		emit_bpf(&c->filter[arch], out);
	else if (!emit_oci(&c->arena, &c->rules[arch], out))
		diag_error(&c->diags, CAVE_UNSUPPORTED, c->policy.at,
			   "a condition takes too many comparisons of the container engines' kind");
	diag_remark(&c->diags, c->policy.at,
		    "a bare filter carries none of a profile's promises: it judges system calls, and nothing else");
	return c->diags.errors == 0;
}

/* Forms and architectures are for bare filters alone: an artefact has them all. */
static bool fits(struct compile *c, const struct resolve_options *o, enum emit how, const char **fault)
{
	if (!c->policy.bare && (how == EMIT_C || how == EMIT_OCI || o->arch_named))
		*fault = "--arch, --emit c and --emit oci are for a bare filter; this is a profile";
	return !*fault;
}

/* From file number `file` to the artefact; false after an error was recorded, or with *fault set. */
static bool build(struct compile *c, const struct resolve_options *o, enum emit how, uint32_t file,
		  struct buffer *out, const char **fault)
{
	compile_resolve(c, o, file);
	if (!compile_errors(c) && !fits(c, o, how, fault))
		return false;
	if (!compile_errors(c))
		compile_generate(c);
	if (!compile_errors(c))
		expect(c);
	if (compile_errors(c))
		return false;
	if (c->policy.bare)
		return emit_filter(c, o->arch, how, out);
	*fault = assemble_all(c, out);
	return !*fault && !compile_errors(c);
}

bool compile_whole(struct compile *c, const struct resolve_options *o, uint32_t file, const char **fault)
{
	struct buffer artefact = { .arena = &c->arena };

	*fault = NULL;
	return build(c, o, EMIT_DEFAULT, file, &artefact, fault);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool compile_arch(const char *name, struct resolve_options *out)
{
	struct utsname machine = { .machine = "" };

	if (!name && uname(&machine) == 0)
		name = machine.machine;
	out->arch_named = name && name != machine.machine;
	for (unsigned arch = 0; name && arch < SYS_ARCHES; arch++)
		if (strcmp(sys_arch_name(arch), name) == 0) {
			out->arch = arch;
			return true;
		}
	/* An artefact has the filters of all, wherever it is compiled. */
	out->arch = SYS_X86_64;
	return !out->arch_named;
}

static const char *rules_of(const struct compile_options *o)
{
	return o->config ? o->config : o->capabilities;
}

const char *compile_rules(struct compile *c, const char *config, const char *capabilities, struct resolve_options *out)
{
	const char *fault = operator_file(&c->arena, config ? config : capabilities, &out->rules);

	if (!config) {
		out->rules.reach_ipv4 = OPERATOR_REACH_IPV4;
		out->rules.reach_ipv6 = OPERATOR_REACH_IPV6;
	}
	return fault;
}

int compile_read(struct compile *c, const char *path, const char *root, uint32_t *file)
{
	bool failed;

	if (!loader_init(&c->loader, &c->diags, path, root)) {
		/* Without its folder the profile is absent; a root that the user named is a mistake in usage. */
		if (root)
			return trouble(root, strerror(errno));
		c->loader = (struct loader){ .diags = &c->diags, .root = "" };
	}
	*file = loader_profile(&c->loader, path, &failed);
	if (failed)
		return trouble(path, loader_fault(errno));
	return *file ? EXIT_DONE : EXIT_REFUSED;
}

static int run(struct compile *c, const struct compile_options *o)
{
	struct buffer artefact = { .arena = &c->arena };
	struct resolve_options options;
	const char *fault;
	uint32_t file;
	int status;

	fault = compile_rules(c, o->config, o->capabilities, &options);
	if (fault)
		return trouble(rules_of(o), fault);
	if (!compile_arch(o->arch, &options))
		return trouble(o->arch ? o->arch : "--arch", "no such architecture; they are x86_64, aarch64, riscv64");
	status = compile_read(c, o->file, o->root, &file);
	if (status != EXIT_DONE)
		return status;
	if (!build(c, &options, o->emit, file, &artefact, &fault))
		return fault ? trouble(o->file, fault) : EXIT_REFUSED;
	if (loader_is_source(&c->loader, o->out) || same_file(o->out, rules_of(o)))
		return trouble(o->out, "this is a source of the compile; it is not written over");
	if (!c->policy.bare) {
		remark_elsewhere(c, o);
		covers_check(&c->diags, &c->policy, &c->loader, o->out);
	}
	if (c->diags.errors)
		return EXIT_REFUSED;
	if (!output_write(o->out, artefact.data, artefact.n))
		return trouble(o->out, strerror(errno));
	return EXIT_DONE;
}

_Static_assert((int)SYS_X86_64 == ARTEFACT_X86_64 && (int)SYS_AARCH64 == ARTEFACT_AARCH64 &&
		       (int)SYS_RISCV64 == ARTEFACT_RISCV64 && (int)SYS_ARCHES == ARTEFACT_ARCHES,
	       "one order of architectures");

struct compile *compile_begin(void)
{
	struct compile *c = calloc(1, sizeof *c);

	if (!c) {
		fputs("cavec: out of memory\n", stderr);
		exit(EXIT_TROUBLE);
	}
	sources_init(&c->sources, &c->arena);
	diags_init(&c->diags, &c->sources);
	return c;
}

void compile_end(struct compile *c)
{
	for (size_t i = 0; i < c->nnested; i++)
		compile_end(c->nested[i]);
	arena_free(&c->arena);
	free(c);
}

int compile_file(const struct compile_options *o)
{
	struct compile *c = compile_begin();
	int status = run(c, o);

	compile_print(c, stderr);
	compile_end(c);
	return status;
}

bool compile_text(const char *name, const char *text, size_t n, FILE *messages, void **out, size_t *size)
{
	struct compile *c = compile_begin();
	struct buffer artefact = { .arena = &c->arena };
	struct resolve_options options;
	const char *fault = NULL;
	bool good;
	uint32_t file = sources_add(&c->sources, arena_strdup(&c->arena, name), arena_strndup(&c->arena, text, n), n,
				    (struct span){ 0 }, false);

	operator_defaults(&options.rules);
	compile_arch(NULL, &options);
	good = build(c, &options, EMIT_DEFAULT, file, &artefact, &fault);
	if (good) {
		*out = malloc(artefact.n);
		good = *out != NULL;
		*size = artefact.n;
		if (good)
			memcpy(*out, artefact.data, artefact.n);
	}
	compile_print(c, messages);
	if (fault)
		fprintf(messages, "cavec: %s: %s\n", name, fault);
	compile_end(c);
	return good;
}
