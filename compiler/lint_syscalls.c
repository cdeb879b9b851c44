/* SPDX-License-Identifier: MIT */
/* Findings about syscalls lines. */
#include <stdlib.h>
#include <string.h>

#include "compiler/diff.h"
#include "compiler/lint.h"
#include "compiler/syscalls.h"
#include "compiler/syscalls_data.h"

static bool allows(const struct node *rule)
{
	return strcmp(rule->text, "allow") == 0;
}

/* --- lines that undo each other ------------------------------------------------------------------ */

static bool names_call(const struct node *item, const struct syscall_row *row)
{
	return item->text[0] == '@' ? syscall_in_group(row, item->text + 1) : strcmp(item->text, row->name) == 0;
}

/* A denial of the whole call, by its name or by a group. */
static const struct node *denial_of(const struct policy *p, const struct syscall_row *row)
{
	for (size_t i = 0; i < p->nsys_rules; i++)
		for (const struct node *item = p->sys_rule[i]->kids; item && !allows(p->sys_rule[i]); item = item->next)
			if (item->kind == N_SYS_ITEM && !item->kids && names_call(item, row))
				return p->sys_rule[i];
	return NULL;
}

static void check_contradiction(struct lint *l, const struct node *rule, const struct node *item)
{
	const struct syscall_row *row = item->text[0] == '@' ? NULL : syscall_find(item->text);
	const struct node *denial = row ? denial_of(&l->compile->policy, row) : NULL;
	struct finding *f;

	if (!denial || !allows(rule))
		return;
	f = lint_add(l, 106, item->at, "%s is allowed here and denied elsewhere, and the denial wins", item->text);
	f->other = denial->at;
	f->instead = "one of the two lines";
	f->fix = lint_remove_item(l, item->at, true);
}

/* --- lines without effect ------------------------------------------------------------------------ */

/* The rules without line number `skip`, or NULL if they do not resolve. */
static bool same_without(struct lint *l, size_t skip)
{
	struct compile *c = l->compile, other = { .around = c };
	const struct node **rule = ARENA_ARRAY(l->arena, c->policy.nsys_rules + 1, const struct node *);
	struct sources sources;
	struct diags none;
	size_t n = 0;

	for (size_t i = 0; i < c->policy.nsys_rules; i++)
		if (i != skip)
			rule[n++] = c->policy.sys_rule[i];
	other.policy = c->policy;
	other.policy.sys_rule = rule;
	other.policy.nsys_rules = n;
	other.set = c->set;
	sources_init(&sources, l->arena);
	/* Lines of the rules lead to the files that they stand in. */
	sources.file = c->sources.file;
	sources.nfiles = c->sources.nfiles;
	sources.line = c->sources.line;
	sources.nlines = sources.line_cap = c->sources.nlines;
	diags_init(&none, &sources);
	other.sources = sources;
	if (!syscalls_resolve(&none, l->arena, &other.policy, &other.set, other.rules))
		return false;
	return !diff_calls_differ(&(struct diff){ .arena = l->arena, .old = &other, .new = c });
}

enum { LINES_MAX = 40 };

static void check_idle(struct lint *l)
{
	const struct policy *p = &l->compile->policy;

	for (size_t i = 0; i < p->nsys_rules && p->nsys_rules <= LINES_MAX; i++) {
		struct finding *f;

		if (!same_without(l, i))
			continue;
		f = lint_add(l, 105, p->sys_rule[i]->at, "without this line every call would be decided as it is");
		f->instead = "remove it";
		f->fix = lint_remove(l, p->sys_rule[i]->at, true);
	}
}

/* --- what is allowed ----------------------------------------------------------------------------- */

static void check_powerful(struct lint *l, const struct node *item)
{
	static const char *const calls[] = {
		"@debug", "@keyring", "@namespace", "@obsolete", "@privileged", "@ring",
		/* other processes, and the kernel itself */
		"bpf", "kcmp", "lookup_dcookie", "migrate_pages", "move_pages", "perf_event_open", "pidfd_getfd",
		"process_madvise", "process_vm_readv", "process_vm_writev", "ptrace", "syslog", "userfaultfd",
		"add_key", "keyctl", "request_key", "io_uring_setup",
		/* namespaces and mounts */
		"chroot", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr",
		"move_mount", "open_by_handle_at", "open_tree", "open_tree_attr", "pivot_root", "setns", "umount2",
		"unshare",
		/* the machine */
		"acct", "clock_settime", "delete_module", "finit_module", "init_module", "ioperm", "iopl",
		"kexec_file_load", "kexec_load", "quotactl", "quotactl_fd", "reboot", "setdomainname", "sethostname",
		"settimeofday", "swapoff", "swapon", "vhangup",
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strcmp(calls[i], item->text) == 0) {
			struct finding *f =
				lint_add(l, 170, item->at, "%s is powerful, or a known source of kernel faults", item->text);

			f->instead = "leave it out if the tool runs without it";
			f->fix = lint_remove_item(l, item->at, false);
		}
}

/* --- families of sockets that a bare filter lets through ------------------------------------------ */

enum { FAMILY = 0 }; /* the argument of socket */

/* What a clause says of a family: of all sockets of it, or, with `some`, of one. */
static bool is_about(const struct sys_clause *c, uint64_t family, bool some)
{
	for (size_t i = 0; i < c->ntests; i++) {
		const struct sys_test *t = &c->test[i];
		bool in = t->arg != FAMILY && some;

		for (size_t k = 0; t->arg == FAMILY && k < t->nranges; k++)
			in |= t->range[k].lo <= (family & t->mask) && (family & t->mask) <= t->range[k].hi;
		if (!in)
			return false;
	}
	return true;
}

static bool lets_family(const struct sys_rules *r, uint32_t nr, uint64_t family)
{
	bool allowed = r->refused.action == SYS_ALLOW || r->refused.action == SYS_ALLOW_LOGGED;

	for (size_t i = 0; i < r->ncalls; i++)
		for (size_t k = 0; r->call[i].nr == nr && k < r->call[i].nclauses; k++) {
			const struct sys_clause *c = &r->call[i].clause[k];
			bool refuses = c->result.action == SYS_ERRNO || c->result.action == SYS_KILL;

			if (refuses && is_about(c, family, false))
				return false;
			allowed |= !refuses && is_about(c, family, true);
		}
	return allowed;
}

/* The first line that names the call, or the filter. */
static struct span line_of(const struct policy *p, const struct syscall_row *row)
{
	for (size_t i = 0; i < p->nsys_rules; i++)
		for (const struct node *item = p->sys_rule[i]->kids; item && allows(p->sys_rule[i]); item = item->next)
			if (item->kind == N_SYS_ITEM && names_call(item, row))
				return item->at;
	return p->at;
}

static void check_families(struct lint *l)
{
	static const struct {
		unsigned number;
		const char *name, *what;
	} families[] = {
		{ 17, "AF_PACKET", "all packets of the links" },
		{ 38, "AF_ALG", "the kernel's ciphers, which few programs need" },
		{ 40, "AF_VSOCK", "the host of a virtual machine" },
	};
	const struct policy *p = &l->compile->policy;
	const struct syscall_row *row = syscall_find("socket");
	unsigned arch = 0;

	while (arch < SYS_ARCHES && !policy_has_arch(p, arch))
		arch++;
	for (size_t i = 0; arch < SYS_ARCHES && i < sizeof families / sizeof *families; i++)
		if (lets_family(&l->compile->rules[arch], (uint32_t)row->nr[arch], families[i].number))
			lint_add(l, 172, line_of(p, row), "sockets of %s may be made: %s", families[i].name, families[i].what)
				->instead = "allow socket(family in { AF_UNIX, AF_INET, AF_INET6 })";
}

/* A comparison of a descriptor or a length with a number. */
static bool is_learned(const struct node *n, const char **argument)
{
	static const char *const measured[] = { "fd",  "oldfd", "newfd", "sockfd", "epfd", "dirfd", "count", "len",
						"length", "size", "nbytes", "addrlen", "optlen", "buflen", "pid", "tid", "tgid" };

	if ((n->kind == N_COMPARE && (strcmp(n->text, "==") == 0 || strcmp(n->text, "!=") == 0)) || n->kind == N_IN) {
		const struct node *left = n->kids;

		for (size_t i = 0; left->kind == N_WORD && i < sizeof measured / sizeof *measured; i++)
			if (strcmp(left->text, measured[i]) == 0 && n->kids->next && n->kids->next->text &&
			    n->kids->next->text[0] >= '0' && n->kids->next->text[0] <= '9') {
				*argument = left->text;
				return true;
			}
	}
	for (const struct node *kid = n->kids; kid && n->kind != N_WORD; kid = kid->next)
		if (is_learned(kid, argument))
			return true;
	return false;
}

void lint_syscalls(struct lint *l)
{
	const struct policy *p = &l->compile->policy;

	for (size_t i = 0; i < p->nsys_rules; i++)
		for (const struct node *item = p->sys_rule[i]->kids; item; item = item->next) {
			const char *argument;

			if (item->kind != N_SYS_ITEM)
				continue;
			check_contradiction(l, p->sys_rule[i], item);
			if (allows(p->sys_rule[i]) && !(p->bare && item->kids))
				check_powerful(l, item);
			if (item->kids && is_learned(item->kids, &argument))
				lint_add(l, 171, item->at, "a number for '%s' holds in one run and not in the next", argument)
					->instead = "a condition on what the call does: flags, a family, a request";
		}
	if (p->bare)
		check_families(l);
	else
		check_idle(l);
}
