/* SPDX-License-Identifier: MIT */
/* The built-in text: compiler/base, embedded in the binary. */
#ifndef CAVE_COMPILER_SYSCALLS_BUILTIN_H
#define CAVE_COMPILER_SYSCALLS_BUILTIN_H

#include <stddef.h>

enum builtin {
	BUILTIN_BASE,
	BUILTIN_NETWORK,
	BUILTIN_TCP,
	BUILTIN_UDP,
	BUILTIN_LISTEN,
	BUILTIN_NETLINK,
	BUILTIN_EXECUTE,
	BUILTIN_CHILDREN,
	BUILTIN_MAY,
	BUILTINS,
};

struct builtin_text {
	const char *name; /* "<base>" */
	const char *text; /* NUL-terminated */
	size_t size;
};

struct builtin_text builtin_text(enum builtin which);

#endif
