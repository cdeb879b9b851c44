/* SPDX-License-Identifier: MIT */
/*
 * The built-in syscall sets (compiler/base), resolved when the compiler is built: compiler/tables/builtin.c makes these
 * tables of the text.
 */
#ifndef CAVE_COMPILER_SYSCALLS_BUILTIN_H
#define CAVE_COMPILER_SYSCALLS_BUILTIN_H

#include "bpf/program.h"
#include "compiler/syscalls_data.h"

enum builtin {
	BUILTIN_BASE,
	BUILTIN_NETWORK,
	BUILTIN_TCP,
	BUILTIN_UDP,
	BUILTIN_LISTEN,
	BUILTIN_NETLINK,
	BUILTIN_EXECUTE,
	BUILTIN_CHILDREN,
	BUILTIN_UNICAST,
	BUILTIN_MEMORY,
	BUILTIN_MAY, /* what a line may say beyond these; the last */
	BUILTINS,
};

/* Bit of a set among those that a policy has. */
#define BUILTIN_BIT(which) (1u << (which))

/* What one set says of one call: clauses in normal form. */
struct builtin_call {
	uint16_t row; /* of syscall_table() */
	uint16_t n;
	const struct sys_clause *clause;
};

struct builtin_calls {
	const struct builtin_call *item;
	size_t n;
};

enum { BUILTIN_CHOICES = 1 << BUILTIN_MAY };

struct builtin_tables {
	struct builtin_calls calls[BUILTINS][SYS_ARCHES];
	/*
	 * What seccomp_generate() makes of the sets in a choice, by their bits, where no line says anything else.  All
	 * n are 0 for a choice that no policy makes.
	 */
	struct filter_program filter[BUILTIN_CHOICES][SYS_ARCHES];
};

extern const struct builtin_tables builtin_tables;

/*
 * True if there is a filter of these sets among the tables.  That of a policy with a limit on memory is made when it is
 * compiled: there would be twice as many.
 */
static inline bool builtin_choice(uint32_t sets)
{
	bool network = sets & BUILTIN_BIT(BUILTIN_NETWORK);
	bool protocol = sets & (BUILTIN_BIT(BUILTIN_TCP) | BUILTIN_BIT(BUILTIN_UDP));

	return (sets & BUILTIN_BIT(BUILTIN_BASE)) && !(sets & BUILTIN_BIT(BUILTIN_MEMORY)) && network == protocol &&
	       (network || !(sets & BUILTIN_BIT(BUILTIN_LISTEN))) &&
	       ((sets & BUILTIN_BIT(BUILTIN_UDP)) || !(sets & BUILTIN_BIT(BUILTIN_UNICAST))) &&
	       ((sets & BUILTIN_BIT(BUILTIN_EXECUTE)) || !(sets & BUILTIN_BIT(BUILTIN_CHILDREN)));
}

#endif
