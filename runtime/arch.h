/* SPDX-License-Identifier: MIT */
/*
 * What differs between architectures.  Each arch_NAME.h defines
 *
 *   ARCH_FILTER        which filter of an artefact is for this machine
 *   ARCH_ELF_MACHINE   what an executable for it says
 *   ARCH_LOADERS       the usual ELF interpreters
 *   arch_syscall()     a system call with all six argument registers set, -errno on failure
 *   arch_clone3()      clone3 whose child runs fn(arg) on the stack named in args, and never returns
 *   arch_trap()        ends the process without a system call
 *
 * The child of a vfork shares the parent's memory, errno included, and the filter reads registers that the
 * C library leaves as they are: so the steps of the child use arch_syscall() only.
 */
#ifndef CAVE_RUNTIME_ARCH_H
#define CAVE_RUNTIME_ARCH_H

#if defined(__x86_64__)
#include "runtime/arch_x86_64.h"
#else
#error "cave's runtime does not know this architecture"
#endif

#endif
