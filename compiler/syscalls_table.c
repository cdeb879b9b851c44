/* SPDX-License-Identifier: MIT */
/* System calls by name, and their groups: the rows come from syscalls.tbl. */
#include "compiler/syscalls_data.h"

#include <linux/audit.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/syscalls.h"
#include "syscalls_table.h"

const char syscalls_version[] = "Linux " SYSCALLS_VERSION;

static const char *const groups[] = {
	"base",	   "control",  "debug",	    "file",    "identity", "ipc",  "keyring",
	"memory",  "metadata", "namespace", "network", "obsolete", "poll", "privileged",
	"process", "ring",     "sandbox",   "service", "signal",   "thread",   "time",
};

/* The groups of @service: what an ordinary service needs, as service managers have it. */
static const char *const service[] = {
	"base",	  "control", "file",	"identity", "ipc",    "keyring", "memory",
	"metadata", "network", "poll",	"process",  "signal", "thread",	 "time",
};

enum {
	ROWS = sizeof syscall_rows / sizeof syscall_rows[0],
	GROUPS = sizeof groups / sizeof groups[0]
};

const struct syscall_row *syscall_table(size_t *n)
{
	*n = ROWS;
	return syscall_rows;
}

static int compare_name(const void *name, const void *row)
{
	return strcmp(name, ((const struct syscall_row *)row)->name);
}

const struct syscall_row *syscall_find(const char *name)
{
	return bsearch(name, syscall_rows, ROWS, sizeof syscall_rows[0], compare_name);
}

const char *syscall_group(size_t i)
{
	return i < GROUPS ? groups[i] : NULL;
}

bool syscall_group_exists(const char *group)
{
	for (size_t i = 0; i < GROUPS; i++)
		if (strcmp(groups[i], group) == 0)
			return true;
	return false;
}

bool syscall_in_group(const struct syscall_row *row, const char *group)
{
	if (strcmp(group, "service") != 0)
		return strcmp(row->group, group) == 0;
	for (size_t i = 0; i < sizeof service / sizeof service[0]; i++)
		if (strcmp(row->group, service[i]) == 0)
			return true;
	return false;
}

uint32_t sys_arch_audit(enum sys_arch arch)
{
	static const uint32_t audit[] = {
		[SYS_X86_64] = AUDIT_ARCH_X86_64,
		[SYS_AARCH64] = AUDIT_ARCH_AARCH64,
		[SYS_RISCV64] = AUDIT_ARCH_RISCV64,
	};
	return audit[arch];
}

const char *sys_arch_name(enum sys_arch arch)
{
	static const char *const name[] = {
		[SYS_X86_64] = "x86_64",
		[SYS_AARCH64] = "aarch64",
		[SYS_RISCV64] = "riscv64",
	};
	return name[arch];
}
