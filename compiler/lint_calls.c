/* SPDX-License-Identifier: MIT */
/*
 * Findings about calls that go together: several that do the same, of which some are denied; and newer ones, without
 * which a C library does by an older one only if it is told that there are none.
 */
#include <string.h>

#include "compiler/lint.h"
#include "compiler/syscalls_data.h"
#include "compiler/syscalls_errno.h"

/* What becomes of a call, as far as its arguments do not matter. */
struct fate {
	bool known; /* the architecture has it */
	bool allowed; /* for some arguments */
	struct sys_result refusal; /* if it is not */
};

static bool lets(struct sys_result r)
{
	return r.action != SYS_ERRNO && r.action != SYS_KILL && r.action != SYS_EXEC_ONCE;
}

static const struct sys_call *entry_of(const struct sys_rules *r, uint32_t nr)
{
	for (size_t i = 0; i < r->ncalls; i++)
		if (r->call[i].nr == nr)
			return &r->call[i];
	return NULL;
}

static struct fate fate_of(const struct sys_rules *r, enum sys_arch arch, const char *name)
{
	const struct syscall_row *row = syscall_find(name);
	const struct sys_call *call = row && row->nr[arch] >= 0 ? entry_of(r, (uint32_t)row->nr[arch]) : NULL;
	struct fate f = { .known = row && row->nr[arch] >= 0, .allowed = lets(r->refused), .refusal = r->refused };

	for (size_t i = 0; call && i < call->nclauses; i++) {
		const struct sys_clause *c = &call->clause[i];

		f.allowed |= lets(c->result);
		if (lets(c->result) || c->ntests)
			continue;
		/* A denial of all wins. */
		return (struct fate){ .known = f.known, .refusal = c->result };
	}
	return f;
}

static enum sys_arch first_arch(const struct policy *p)
{
	unsigned arch = 0;

	while (arch + 1 < SYS_ARCHES && !policy_has_arch(p, arch))
		arch++;
	return (enum sys_arch)arch;
}

/* At another error than ENOSYS these are not tried again in the older way. */
static const struct {
	const char *newer, *older;
} fallbacks[] = {
	{ "clone3", "clone" },	    { "faccessat2", "faccessat" }, { "fchmodat2", "fchmodat" },
	{ "openat2", "openat" },    { "statx", "newfstatat" },	   { "epoll_pwait2", "epoll_pwait" },
};

/* Denied so that an older one is used, which is judged. */
static bool is_newer(const char *name)
{
	for (size_t i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++)
		if (strcmp(fallbacks[i].newer, name) == 0)
			return true;
	return false;
}

/* --- several that do the same -------------------------------------------------------------------- */

enum { ALIKE_MAX = 8 };

static const char *const alike[][ALIKE_MAX] = {
	{ "open", "openat", "openat2", "creat" },
	{ "fork", "vfork", "clone", "clone3" },
	{ "execve", "execveat" },
	{ "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal" },
	{ "chmod", "fchmod", "fchmodat", "fchmodat2" },
	{ "chown", "fchown", "lchown", "fchownat" },
	{ "setxattr", "lsetxattr", "fsetxattr", "setxattrat" },
	{ "removexattr", "lremovexattr", "fremovexattr", "removexattrat" },
	{ "utime", "utimes", "futimesat", "utimensat" },
	{ "unlink", "unlinkat" },
	{ "rename", "renameat", "renameat2" },
	{ "link", "linkat" },
	{ "symlink", "symlinkat" },
	{ "mkdir", "mkdirat" },
	{ "mknod", "mknodat" },
	{ "truncate", "ftruncate" },
	{ "sendto", "sendmsg", "sendmmsg" },
	{ "recvfrom", "recvmsg", "recvmmsg" },
	{ "mprotect", "pkey_mprotect" },
	{ "init_module", "finit_module" },
	{ "kexec_load", "kexec_file_load" },
	{ "settimeofday", "clock_settime", "adjtimex", "clock_adjtime" },
	{ "setrlimit", "prlimit64" },
	{ "dup2", "dup3" },
	{ "pipe", "pipe2" },
	{ "accept", "accept4" },
};

static bool is_alike(size_t i, const char *name)
{
	for (size_t k = 0; k < ALIKE_MAX && alike[i][k]; k++)
		if (strcmp(alike[i][k], name) == 0)
			return true;
	return false;
}

/* Some line has a denial that is about the call. */
static bool is_denied(const struct policy *p, const char *name)
{
	const struct syscall_row *row = syscall_find(name);

	for (size_t i = 0; i < p->nsys_rules; i++)
		for (const struct node *item = p->sys_rule[i]->kids; item; item = item->next)
			if (strcmp(p->sys_rule[i]->text, "deny") == 0 && item->kind == N_SYS_ITEM &&
			    (strcmp(item->text, name) == 0 ||
			     (*item->text == '@' && syscall_in_group(row, item->text + 1))))
				return true;
	return false;
}

static void check_alike(struct lint *l, const struct node *item)
{
	const struct policy *p = &l->compile->policy;
	enum sys_arch arch = first_arch(p);

	for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
		const char *others = NULL;

		for (size_t k = 0; is_alike(i, item->text) && k < ALIKE_MAX && alike[i][k]; k++) {
			struct fate f = fate_of(&l->compile->rules[arch], arch, alike[i][k]);

			if (f.known && f.allowed && strcmp(alike[i][k], item->text) != 0 && !is_denied(p, alike[i][k]))
				others = others ? arena_printf(l->arena, "%s, %s", others, alike[i][k]) : alike[i][k];
		}
		if (others)
			lint_add(l, 173, item->at, "%s is denied, and what does the same is not: %s", item->text, others)
				->instead = "deny them as well, or what is meant by files, network or childProcess";
	}
}

/* --- newer ones ---------------------------------------------------------------------------------- */

/* The line that refuses it, or the filter whose default does. */
static struct span refused_at(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->nsys_rules; i++)
		for (const struct node *item = p->sys_rule[i]->kids; item; item = item->next)
			if (strcmp(p->sys_rule[i]->text, "deny") == 0 && item->kind == N_SYS_ITEM &&
			    strcmp(item->text, name) == 0)
				return item->at;
	return p->at;
}

static void check_fallbacks(struct lint *l)
{
	const struct policy *p = &l->compile->policy;
	enum sys_arch arch = first_arch(p);
	const struct sys_rules *r = &l->compile->rules[arch];

	for (size_t i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++) {
		struct fate newer = fate_of(r, arch, fallbacks[i].newer), older = fate_of(r, arch, fallbacks[i].older);

		if (!newer.known || newer.allowed || !older.allowed ||
		    (newer.refusal.action == SYS_ERRNO && newer.refusal.error == errno_by_name("ENOSYS")))
			continue;
		lint_add(l, 174, refused_at(p, fallbacks[i].newer),
			 "%s is not answered with ENOSYS: programs do not go on with %s then", fallbacks[i].newer,
			 fallbacks[i].older)
			->instead = arena_printf(l->arena, "deny %s with errno ENOSYS", fallbacks[i].newer);
	}
}

void lint_calls(struct lint *l)
{
	const struct policy *p = &l->compile->policy;

	for (size_t i = 0; i < p->nsys_rules; i++)
		for (const struct node *item = p->sys_rule[i]->kids; item; item = item->next)
			if (strcmp(p->sys_rule[i]->text, "deny") == 0 && item->kind == N_SYS_ITEM && !is_newer(item->text))
				check_alike(l, item);
	check_fallbacks(l);
}
