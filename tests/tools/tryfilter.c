/* SPDX-License-Identifier: MIT */
/*
 * Asks the kernel what a filter decides, without making the calls.
 *
 *	tryfilter FILTER <calls		a call is a line: its number, then up to five arguments
 *
 * Prints for each call: allowed, errno N, killed.  Each is made in a child under two filters: first one that answers
 * whatever carries the sixth argument MAGIC with the error ESAFE, then the one in question.  Of two answers the kernel
 * takes the stricter, and of two errors that of the filter installed last (seccomp_run_filters, kernel/seccomp.c); so
 * ESAFE means that the filter in question allows the call, and nothing has happened.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAGIC = 0x5afe5afe, ESAFE = 4000, UNANSWERED = -1 };

static int install(const struct sock_filter *insn, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, (struct sock_filter *)insn };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int install_safety(void)
{
	static const struct sock_filter safety[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAGIC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ESAFE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(safety, sizeof safety / sizeof *safety);
}

static void ask(const struct sock_filter *insn, size_t n, const long *call, volatile int *answer)
{
	*answer = UNANSWERED;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || install_safety() || install(insn, n))
		_exit(1);
	*answer = syscall(call[0], call[1], call[2], call[3], call[4], call[5], (long)MAGIC) < 0 ? errno : 0;
	__builtin_trap(); /* even exit may be refused by now */
}

static void report(int status, int answer)
{
	if (answer == ESAFE)
		puts("allowed");
	else if (answer > 0)
		printf("errno %d\n", answer);
	else if (answer == UNANSWERED && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		puts("killed");
	else
		printf("no answer (%d, status 0x%x)\n", answer, status);
}

int main(int argc, char **argv)
{
	static struct sock_filter insn[4096];
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	size_t n = f ? fread(insn, sizeof *insn, sizeof insn / sizeof *insn, f) : 0;
	volatile int *answer = mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char line[512];

	if (n == 0 || answer == MAP_FAILED) {
		fputs("usage: tryfilter FILTER <calls\n", stderr);
		return 2;
	}
	while (fgets(line, sizeof line, stdin)) {
		long call[6] = { 0 };
		char *at = line;
		int status;
		pid_t pid;

		for (int i = 0; i < 6; i++)
			call[i] = (long)strtoull(at, &at, 0);
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			ask(insn, n, call, answer);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 2;
		report(status, *answer);
	}
	return 0;
}
