/* SPDX-License-Identifier: MIT */
/* Names of errors, as the kernel's headers have them (asm-generic/errno.h: the same on every architecture here). */
#ifndef CAVE_COMPILER_SYSCALLS_ERRNO_H
#define CAVE_COMPILER_SYSCALLS_ERRNO_H

/* The number, or 0 if there is no such name. */
int errno_by_name(const char *name);

/* The name of a number that errno_by_name() gives. */
const char *errno_name(int number);

#endif
