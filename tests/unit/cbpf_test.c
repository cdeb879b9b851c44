/* SPDX-License-Identifier: MIT */
/*
 * The interpreter of classic BPF against the live kernel: random programs are judged by both (would
 * it load?), and those that load are run by both on random arguments.  A child installs each
 * program; it concerns one unused call number only, and its 32-bit result is seen through a 12-bit
 * hash in the error number.
 */
#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/vm.h"
#include "tests/unit/unit.h"

enum {
	PROGRAMS = 1500,
	SECONDS = 3,
	CALLS = 12,
	BODY_MAX = 24,
	UNUSED_NUMBER = 900,
	LOADED = 1,
	REFUSED = 2,
};

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#define NATIVE AUDIT_ARCH_RISCV64
#endif

static uint64_t rng(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t interesting(uint64_t *state)
{
	static const uint64_t value[] = { 0,	      1,	   2,	       31,
					  32,	      33,	   0x7fffffff, 0x80000000,
					  0xffffffff, 0x100000000, UINT64_MAX };
	uint64_t r = rng(state);

	return r & 1 ? value[(r >> 8) % (sizeof value / sizeof value[0])] : r >> (r >> 1) % 60;
}

/* Mostly what seccomp knows; the last few it refuses. */
static const uint16_t opcodes[] = {
	BPF_LD | BPF_W | BPF_ABS,
	BPF_LD | BPF_W | BPF_ABS,
	BPF_LD | BPF_W | BPF_ABS,
	BPF_LD | BPF_W | BPF_LEN,
	BPF_LD | BPF_IMM,
	BPF_LD | BPF_MEM,
	BPF_LDX | BPF_W | BPF_LEN,
	BPF_LDX | BPF_IMM,
	BPF_LDX | BPF_MEM,
	BPF_ST,
	BPF_ST,
	BPF_STX,
	BPF_STX,
	BPF_MISC | BPF_TAX,
	BPF_MISC | BPF_TXA,
	BPF_RET | BPF_K,
	BPF_ALU | BPF_NEG,
	BPF_ALU | BPF_ADD | BPF_K,
	BPF_ALU | BPF_ADD | BPF_X,
	BPF_ALU | BPF_SUB | BPF_K,
	BPF_ALU | BPF_SUB | BPF_X,
	BPF_ALU | BPF_MUL | BPF_K,
	BPF_ALU | BPF_MUL | BPF_X,
	BPF_ALU | BPF_DIV | BPF_K,
	BPF_ALU | BPF_DIV | BPF_X,
	BPF_ALU | BPF_AND | BPF_K,
	BPF_ALU | BPF_AND | BPF_X,
	BPF_ALU | BPF_OR | BPF_K,
	BPF_ALU | BPF_OR | BPF_X,
	BPF_ALU | BPF_XOR | BPF_K,
	BPF_ALU | BPF_XOR | BPF_X,
	BPF_ALU | BPF_LSH | BPF_K,
	BPF_ALU | BPF_LSH | BPF_X,
	BPF_ALU | BPF_RSH | BPF_K,
	BPF_ALU | BPF_RSH | BPF_X,
	BPF_JMP | BPF_JA,
	BPF_JMP | BPF_JEQ | BPF_K,
	BPF_JMP | BPF_JEQ | BPF_X,
	BPF_JMP | BPF_JGE | BPF_K,
	BPF_JMP | BPF_JGE | BPF_X,
	BPF_JMP | BPF_JGT | BPF_K,
	BPF_JMP | BPF_JGT | BPF_X,
	BPF_JMP | BPF_JSET | BPF_K,
	BPF_JMP | BPF_JSET | BPF_X,
	BPF_ALU | BPF_MOD | BPF_K,
	BPF_LD | BPF_B | BPF_ABS,
	BPF_LD | BPF_W | BPF_IND,
	BPF_LDX | BPF_B | BPF_MSH,
	0x1006,
	0xff,
};

/* One out of 16 operands is one that the kernel may refuse. */
static struct sock_filter random_insn(uint64_t *state, size_t left)
{
	uint64_t r = rng(state);
	bool wild = (r & 15) == 0;
	size_t n = sizeof opcodes / sizeof opcodes[0] - (wild ? 0 : 6);
	struct sock_filter f = { .code = opcodes[(r >> 8) % n] };
	unsigned reach = (unsigned)(wild ? left + 2 : left);

	f.k = (uint32_t)interesting(state);
	f.jt = (uint8_t)((r >> 20) % reach);
	f.jf = (uint8_t)((r >> 28) % reach);
	if (f.code == (BPF_LD | BPF_W | BPF_ABS)) {
		/* Not the instruction pointer, which only the kernel knows. */
		f.k = (uint32_t)(r >> 36) % 14 * 4;
		f.k = f.k >= 8 ? f.k + 8 : f.k;
		f.k += wild ? (uint32_t)(r >> 50) % 9 : 0;
	} else if (f.code == (BPF_JMP | BPF_JA)) {
		f.k = f.jt;
	} else if (f.code == BPF_ST || f.code == BPF_STX || f.code == (BPF_LD | BPF_MEM) ||
		   f.code == (BPF_LDX | BPF_MEM)) {
		f.k = (uint32_t)(r >> 40) % (wild ? 18 : 3);
	} else if (!wild && BPF_CLASS(f.code) == BPF_ALU && BPF_OP(f.code) >= BPF_LSH &&
		   BPF_OP(f.code) <= BPF_RSH) {
		f.k &= 31;
	} else if (f.code == (BPF_RET | BPF_K)) {
		f.k = SECCOMP_RET_ERRNO | (f.k & 0xfff);
	}
	return f;
}

/* Other numbers pass; then the body; then the result folded into an error number. */
static size_t random_program(uint64_t *state, struct sock_filter *f)
{
	size_t body = 2 + rng(state) % (BODY_MAX - 2), n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr));
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UNUSED_NUMBER, 1, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < body; i++)
		f[n++] = random_insn(state, body - i);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 0x9e3779b1);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 20);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	return n;
}

struct trial {
	struct sock_filter insn[BODY_MAX + 8];
	size_t n;
	struct seccomp_data data[CALLS];
	/* written by the child */
	volatile int verdict, done;
	volatile int error[CALLS];
};

static void run_child(struct trial *t)
{
	struct sock_fprog prog = { (unsigned short)t->n, t->insn };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		_exit(1);
	t->verdict =
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0 ? LOADED : REFUSED;
	for (int i = 0; t->verdict == LOADED && i < CALLS; i++) {
		const uint64_t *a = (const uint64_t *)t->data[i].args;

		errno = 0;
		syscall(UNUSED_NUMBER, a[0], a[1], a[2], a[3], a[4], a[5]);
		t->error[i] = errno;
		t->done = i + 1;
	}
	_exit(0);
}

/*
 * The error number that a program's result leads to; -1 if the process ends (__seccomp_filter,
 * kernel/seccomp.c).
 */
static int outcome(uint32_t result)
{
	int data = result & SECCOMP_RET_DATA;

	switch (result & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ERRNO: return data > 4095 ? 4095 : data;
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_USER_NOTIF: return ENOSYS;
	default: return -1;
	}
}

static bool same_result(const struct trial *t, int call)
{
	int expected = outcome(cbpf_run(t->insn, t->n, &t->data[call], NULL));

	return call < t->done ? t->error[call] == expected : expected == -1;
}

static bool compare_trial(struct trial *t)
{
	size_t bad;
	bool loads = cbpf_check(t->insn, t->n, &bad);
	pid_t pid = fork();

	if (pid == 0)
		run_child(t);
	waitpid(pid, NULL, 0);
	if (t->verdict != (loads ? LOADED : REFUSED))
		return false;
	for (int i = 0; loads && i <= t->done && i < CALLS; i++)
		if (!same_result(t, i))
			return false;
	return true;
}

static void print_trial(const struct trial *t)
{
	for (int i = 0; i < CALLS; i++)
		printf("# call %d: here 0x%08x, the kernel %d (%d done)\n", i,
		       cbpf_run(t->insn, t->n, &t->data[i], NULL), t->error[i], t->done);
	for (size_t i = 0; i < t->n; i++)
		printf("# %2zu: { 0x%02x, %u, %u, 0x%08x }\n", i, t->insn[i].code, t->insn[i].jt,
		       t->insn[i].jf, t->insn[i].k);
}

static void fuzz(struct trial *t)
{
	uint64_t state = UINT64_C(0x2545f4914f6cdd1d);
	time_t end = time(NULL) + SECONDS;
	unsigned loaded = 0, tried = 0;
	bool same = true;

	for (; same && tried < PROGRAMS && time(NULL) < end; tried++) {
		memset(t, 0, sizeof *t);
		t->n = random_program(&state, t->insn);
		for (int i = 0; i < CALLS; i++) {
			t->data[i].nr = UNUSED_NUMBER;
			t->data[i].arch = NATIVE;
			for (int j = 0; j < 6; j++)
				t->data[i].args[j] = interesting(&state);
		}
		same = compare_trial(t);
		loaded += t->verdict == LOADED;
	}
	if (!same)
		print_trial(t);
	check(same, "random programs mean the same here and in the kernel");
	check(loaded >= 20 && tried - loaded >= 20,
	      "enough of them load (%u), enough are refused (%u)", loaded, tried - loaded);
}

static void check_limits(void)
{
	static struct sock_filter f[4097];
	size_t bad;

	for (size_t i = 0; i < 4097; i++)
		f[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	check(cbpf_check(f, 4096, &bad), "4096 instructions are accepted");
	check(!cbpf_check(f, 4097, &bad), "4097 are not");
	check(!cbpf_check(f, 0, &bad), "no instruction is no program");
	f[0] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 4096);
	check(!cbpf_check(f, 4096, &bad) && bad == 0, "a jump past the end is refused, and named");
}

int main(void)
{
	struct trial *t =
		mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!check(t != MAP_FAILED, "memory shared with children"))
		return unit_done();
	check_limits();
	fuzz(t);
	return unit_done();
}
