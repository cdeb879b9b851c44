/* SPDX-License-Identifier: MIT */
/* The tables behind compiler/syscalls.h: calls, their arguments, and symbolic constants. */
#ifndef CAVE_COMPILER_SYSCALLS_DATA_H
#define CAVE_COMPILER_SYSCALLS_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sys_arch { SYS_X86_64, SYS_AARCH64, SYS_RISCV64, SYS_ARCHES };

enum {
	SYS_NUMBER_MAX =
		511, /* of every table; larger numbers are free for what the kernel may add */
	SYS_ARGS = 6,
};

struct syscall_row {
	const char *name;
	const char *group;
	int16_t nr[SYS_ARCHES]; /* -1: not on this architecture */
};

/* Sorted by name. */
const struct syscall_row *syscall_table(size_t *n);

/* NULL if there is no such call. */
const struct syscall_row *syscall_find(const char *name);

/* The i-th group by name, or NULL after the last. */
const char *syscall_group(size_t i);
bool syscall_group_exists(const char *group);

/* True for a member, of the call's own group or of one that is made of others (a call has one own group). */
bool syscall_in_group(const struct syscall_row *row, const char *group);

uint32_t sys_arch_audit(enum sys_arch arch); /* AUDIT_ARCH_* */
const char *sys_arch_name(enum sys_arch arch);

/* How the kernel reads an argument register. */
enum arg_type { ARG_NONE, ARG_INT, ARG_UINT, ARG_LONG, ARG_ULONG, ARG_POINTER };

struct syscall_arg {
	const char *names; /* as the manual page has it, then others that people write: "request|cmd|op" */
	enum arg_type type;
};

/* The arguments of a call, SYS_ARGS of them, those after the last without names; NULL if it has none. */
const struct syscall_arg *syscall_args(const char *call);

/* How much of arg->names is the argument's own name. */
size_t syscall_arg_name(const struct syscall_arg *arg);

/* True if `word` is one of its names. */
bool syscall_arg_is(const struct syscall_arg *arg, const char *word);

/* A symbolic constant; *value is set for CONSTANT_HERE.  ELSEWHERE: on other architectures only. */
enum constant_state { CONSTANT_UNKNOWN, CONSTANT_ELSEWHERE, CONSTANT_HERE };
enum constant_state syscall_constant(const char *name, enum sys_arch arch, uint64_t *value);

/* The i-th constant's name, in order, or NULL after the last. */
const char *syscall_constant_name(size_t i);

#endif
