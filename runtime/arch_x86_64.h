/* SPDX-License-Identifier: MIT */
/* x86-64: see runtime/arch.h. */
#ifndef CAVE_RUNTIME_ARCH_X86_64_H
#define CAVE_RUNTIME_ARCH_X86_64_H

#include <elf.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "bpf/artefact.h"
#include "runtime/kernel.h"

#define ARCH_FILTER ARTEFACT_X86_64
#define ARCH_ELF_MACHINE EM_X86_64
/* Where C libraries have their ELF interpreter: part of the ABI. */
#define ARCH_LOADERS "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"

static inline long arch_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/*
 * The kernel keeps every register but rax, rcx and r11, so `fn` and `arg` are still there in the child; its
 * stack pointer is the top of args->stack, which is aligned as a call expects.
 */
static inline long arch_clone3(const struct k_clone_args *args, void (*fn)(void *), void *arg)
{
	register void *child_arg __asm__("r12") = arg;
	register void (*child_fn)(void *) __asm__("r13") = fn;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %[arg], %%rdi\n\t"
			 "call *%[fn]\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "0"((long)SYS_clone3), "D"(args), "S"(sizeof *args), [arg] "r"(child_arg),
			   [fn] "r"(child_fn)
			 : "rcx", "r11", "memory");
	return ret;
}

__attribute__((noreturn)) static inline void arch_trap(void)
{
	for (;;)
		__asm__ volatile("ud2");
}

#endif
