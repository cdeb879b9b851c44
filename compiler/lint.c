/* SPDX-License-Identifier: MIT */
/* The table of rules, and how one policy is looked at. */
#include "compiler/lint.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/nested.h"

static const struct lint_rule rules[] = {
	{ 101, SEVERITY_WARNING, "dead-allow",
	  "An allow that denials take away whole grants nothing, and its reader thinks it does." },
	{ 102, SEVERITY_WARNING, "covered-allow",
	  "What another line allows as well stays allowed when this one is taken away." },
	{ 103, SEVERITY_INFO, "idle-deny", "A denial of what no line allows changes nothing." },
	{ 104, SEVERITY_WARNING, "covered-path", "A path in a folder that is granted is granted already." },
	{ 105, SEVERITY_WARNING, "idle-syscall-line", "A line that changes no call is not what its author meant." },
	{ 106, SEVERITY_WARNING, "contradictory-syscalls", "Of an allow and a denial of one call the denial wins." },
	{ 107, SEVERITY_WARNING, "idle-except", "An except that takes nothing away is not what its author meant." },
	{ 108, SEVERITY_WARNING, "commented-include", "What begins with # is a comment: nothing is included." },
	{ 110, SEVERITY_WARNING, "wide-destinations",
	  "Many addresses are many owners; the tool can send to each of them." },
	{ 111, SEVERITY_WARNING, "every-port", "Every port is every service of a host." },
	{ 112, SEVERITY_ERROR, "metadata-address",
	  "A cloud's metadata service hands out the credentials of the machine." },
	{ 113, SEVERITY_WARNING, "mixed-space",
	  "Public and private addresses in one line are two decisions made at once." },
	{ 114, SEVERITY_WARNING, "name-channel",
	  "Who may ask a name server can send data to whoever answers for a zone." },
	{ 115, SEVERITY_INFO, "one-family", "A host with both kinds of addresses is tried by IPv6 first." },
	{ 116, SEVERITY_INFO, "loopback", "Services on loopback often trust whoever can reach them." },
	{ 117, SEVERITY_INFO, "wide-private", "A large private range holds machines that nobody thought of." },
	{ 118, SEVERITY_WARNING, "shared-hosting",
	  "Names or accounts there are given to anyone: what the tool sends may be for anyone." },
	{ 119, SEVERITY_INFO, "content-network",
	  "Many names share its addresses: who may reach one of them by address may reach all." },
	{ 120, SEVERITY_WARNING, "credential-elsewhere",
	  "A credential can be sent to every destination that is granted." },
	{ 121, SEVERITY_WARNING, "credential-without-network", "Without a network a credential can only be leaked." },
	{ 122, SEVERITY_INFO, "private-name",
	  "Whoever answers for the name chooses which of the private addresses is reached." },
	{ 130, SEVERITY_WARNING, "code-loading-variable",
	  "The variable makes programs load code that its value names." },
	{ 131, SEVERITY_WARNING, "credential-pointer",
	  "The variable leads to a credential, or to an agent that holds one." },
	{ 132, SEVERITY_ERROR, "secret-in-text",
	  "A profile, and its artefact, are read by many: a secret in them is one no more." },
	{ 140, SEVERITY_WARNING, "interpreter", "A program that runs other code or programs is all of them." },
	{ 141, SEVERITY_ERROR, "executable-writable", "What can be written and executed is any program." },
	{ 142, SEVERITY_WARNING, "executable-folder", "A folder of programs has launchers and interpreters in it." },
	{ 150, SEVERITY_WARNING, "hooks-writable", "Hooks and configuration run later, outside of the sandbox." },
	{ 151, SEVERITY_ERROR, "profile-writable", "Who can write its own profile grants itself what it likes." },
	{ 152, SEVERITY_WARNING, "secret-readable", "The path is a known place of credentials." },
	{ 153, SEVERITY_WARNING, "path-like-a-pattern",
	  "A path is taken as it stands: nothing in it is a pattern or a variable." },
	{ 160, SEVERITY_ERROR, "powerful-socket", "The socket lets its peer start containers or programs outside." },
	{ 170, SEVERITY_WARNING, "powerful-call",
	  "The call is known for the faults of the kernel behind it, or for what it shows." },
	{ 171, SEVERITY_WARNING, "learned-condition",
	  "Descriptor numbers and byte counts differ from run to run; the line was copied from a trace." },
	{ 172, SEVERITY_WARNING, "kernel-sockets",
	  "Sockets of these families reach the kernel's own services, or the links, or the host of the machine." },
	{ 173, SEVERITY_WARNING, "denied-in-part", "What is denied by one call is done by another that does the same." },
	{ 174, SEVERITY_WARNING, "no-fallback",
	  "Programs go on with an older call only if they are told that there is no newer one." },
	{ 180, SEVERITY_ERROR, "suppression-without-reason",
	  "A finding that is put aside for no reason is one that is hidden." },
	{ 181, SEVERITY_WARNING, "idle-suppression", "The line has no such finding any more." },
	{ 190, SEVERITY_INFO, "no-time-limit", "A tool that hangs holds its caller." },
};

const struct lint_rule *lint_rule(size_t i)
{
	return i < sizeof rules / sizeof *rules ? &rules[i] : NULL;
}

const struct lint_rule *lint_rule_by_id(unsigned id)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].id == id)
			return &rules[i];
	return NULL;
}

struct span lint_users(const struct lint *l, struct span at)
{
	const struct source_file *file = l->compile->sources.file;

	while (at.file && file[at.file].builtin && file[at.file].included_from.file)
		at = file[at.file].included_from;
	return at;
}

struct finding *lint_add(struct lint *l, unsigned id, struct span at, const char *format, ...)
{
	struct finding *f = ARENA_PUSH(l->arena, l->item, l->n, l->cap);
	const struct lint_rule *rule = lint_rule_by_id(id);
	va_list ap;

	va_start(ap, format);
	*f = (struct finding){ .rule = rule, .severity = rule->severity, .at = lint_users(l, at),
			       .text = arena_vprintf(l->arena, format, ap) };
	va_end(ap);
	return f;
}

bool lint_place(const struct lint *l, struct span at, const char **file, unsigned *line, unsigned *column)
{
	const struct source_file *f = &l->compile->sources.file[at.file];

	if (!at.file || f->builtin)
		return false;
	*file = f->shown;
	source_position(f, at.begin, line, column);
	return true;
}

struct lint_fix lint_remove(const struct lint *l, struct span at, bool safe)
{
	const struct source_file *f = &l->compile->sources.file[at.file];
	uint32_t begin = at.begin, end = at.end;

	while (begin > 0 && (f->text[begin - 1] == ' ' || f->text[begin - 1] == '\t'))
		begin--;
	while (end < f->size && (f->text[end] == ' ' || f->text[end] == '\t'))
		end++;
	if (end < f->size && f->text[end] == ';')
		end++;
	else if ((begin == 0 || f->text[begin - 1] == '\n') && end < f->size && f->text[end] == '\n')
		end++;
	else
		begin = at.begin;
	return (struct lint_fix){ { at.file, begin, end }, "", safe, "remove the line" };
}

static int by_place(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->at.file != y->at.file)
		return x->at.file < y->at.file ? -1 : 1;
	if (x->at.begin != y->at.begin)
		return x->at.begin < y->at.begin ? -1 : 1;
	return (x->rule->id > y->rule->id) - (x->rule->id < y->rule->id);
}

static void check(struct lint *l)
{
	static void (*const checks[])(struct lint *) = {
		lint_network, lint_network_lines, lint_names, lint_names_lines,
		lint_credentials, lint_env, lint_files, lint_limits,
		lint_comments,
	};

	for (size_t i = 0; !l->compile->policy.bare && i < sizeof checks / sizeof *checks; i++)
		checks[i](l);
	lint_syscalls(l);
	lint_calls(l);
}

/* Nested profiles stand in the same file, which is number 1 of theirs too; what they include was looked at there. */
static void check_nested(struct lint *l)
{
	struct nested_list nested = nested_all(l->arena, l->compile);

	for (size_t i = 0; i < nested.n; i++) {
		struct lint inner = { .arena = l->arena, .compile = nested.item[i], .path = l->path };

		check(&inner);
		for (size_t k = 0; k < inner.n; k++)
			if (inner.item[k].at.file == 1) {
				struct finding *f = ARENA_PUSH(l->arena, l->item, l->n, l->cap);

				*f = inner.item[k];
				f->other = f->other.file == 1 ? f->other : (struct span){ 0 };
			}
	}
}

void lint_policy(struct lint *l)
{
	lint_read_suppressions(l);
	check(l);
	check_nested(l);
	if (l->n)
		qsort(l->item, l->n, sizeof *l->item, by_place);
	lint_suppress(l);
}
