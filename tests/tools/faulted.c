/* SPDX-License-Identifier: MIT */
/*
 * faulted FILE: the tool of the fault injection.  Without a C library, so that a call that is made to fail in it can
 * look like a refusal and never like anything else.  Prints "ran"; ends with 0 if all that it tries is refused, else
 * with 42.
 */
#include <asm/unistd.h>
#include <linux/fcntl.h>

void begin(long *stack) __attribute__((noreturn, used));

static long call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}

void begin(long *stack)
{
	long file = stack[2]; /* argc, argv[0], argv[1] */
	int got = 0;

	call(__NR_write, 1, (long)"ran\n", 4);
	got |= call(__NR_openat, AT_FDCWD, file, O_RDONLY) >= 0;
	got |= call(__NR_openat, AT_FDCWD, file, O_WRONLY) >= 0;
	got |= call(__NR_chmod, file, 0600, 0) >= 0;
	got |= call(__NR_socket, 1, 1, 0) >= 0;
	got |= call(__NR_kill, call(__NR_getppid, 0, 0, 0), 0, 0) >= 0;
	got |= call(__NR_unshare, 0x10000000, 0, 0) >= 0;
	got |= call(__NR_fork, 0, 0, 0) >= 0;
	for (;;)
		call(__NR_exit_group, got ? 42 : 0, 0, 0);
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
