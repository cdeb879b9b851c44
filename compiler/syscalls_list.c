/* SPDX-License-Identifier: MIT */
/* `cavec list`: the groups, or the members of one with their numbers. */
#include <string.h>

#include "compiler/syscalls.h"
#include "compiler/syscalls_data.h"
#include "compiler/syscalls_promises.h"
#include "compiler/visible.h"

static size_t members(const char *group)
{
	size_t n, count = 0;
	const struct syscall_row *rows = syscall_table(&n);

	for (size_t i = 0; i < n; i++)
		count += syscall_in_group(&rows[i], group);
	return count;
}

static void list_groups(FILE *to)
{
	const char *group;

	for (size_t i = 0; (group = syscall_group(i)); i++)
		fprintf(to, "@%-12s %3zu calls\n", group, members(group));
}

static void list_number(FILE *to, int nr)
{
	if (nr < 0)
		fputs("       -", to);
	else
		fprintf(to, " %7d", nr);
}

static void list_members(const char *group, FILE *to)
{
	size_t n;
	const struct syscall_row *rows = syscall_table(&n);

	fprintf(to, "%-24s", "");
	for (unsigned a = 0; a < SYS_ARCHES; a++)
		fprintf(to, " %7s", sys_arch_name(a));
	fputc('\n', to);
	for (size_t i = 0; i < n; i++) {
		const char *promise;

		if (!syscall_in_group(&rows[i], group))
			continue;
		fprintf(to, "%-24s", rows[i].name);
		for (unsigned a = 0; a < SYS_ARCHES; a++)
			list_number(to, rows[i].nr[a]);
		if (syscall_grant(&rows[i], &promise) == GRANT_NEVER)
			fprintf(to, "  no profile can grant it whole: %s", promise);
		fputc('\n', to);
	}
}

static const char *group_candidate(const void *context, size_t i)
{
	(void)context;
	return syscall_group(i);
}

int syscalls_list(const char *group, FILE *to)
{
	const char *near;

	if (!group) {
		list_groups(to);
		return 0;
	}
	group += group[0] == '@';
	if (syscall_group_exists(group)) {
		list_members(group, to);
		return 0;
	}
	near = did_you_mean(group, group_candidate, NULL);
	complain("cavec: '@%s' is no group of system calls%s%s%s", group, near ? "; did you mean '@" : "", near ? near : "",
		 near ? "'?" : "");
	return 2;
}
