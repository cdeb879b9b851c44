/* SPDX-License-Identifier: MIT */
/* Arguments of system calls: the rows come from syscalls_args.tbl. */
#include <stdlib.h>
#include <string.h>

#include "compiler/syscalls_data.h"

struct args_row {
	const char *call;
	struct syscall_arg arg[SYS_ARGS];
};

#include "syscalls_args.h"

static int compare_call(const void *call, const void *row)
{
	return strcmp(call, ((const struct args_row *)row)->call);
}

const struct syscall_arg *syscall_args(const char *call)
{
	const struct args_row *row = bsearch(call, args_rows, sizeof args_rows / sizeof args_rows[0],
					     sizeof args_rows[0], compare_call);

	return row ? row->arg : NULL;
}

size_t syscall_arg_name(const struct syscall_arg *arg)
{
	return strcspn(arg->names, "|");
}

bool syscall_arg_is(const struct syscall_arg *arg, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = arg->names; *at; at += strcspn(at, "|"), at += *at == '|')
		if (strcspn(at, "|") == n && memcmp(at, word, n) == 0)
			return true;
	return false;
}
