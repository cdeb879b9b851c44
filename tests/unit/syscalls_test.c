/* SPDX-License-Identifier: MIT */
/*
 * The syscall half of the compiler: its tables are in order, the built-in sets decide as
 * documented, and the lines of a profile are refused or resolved as they should be.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/vm.h"
#include "compiler/parse.h"
#include "compiler/syscalls.h"
#include "compiler/syscalls_data.h"
#include "compiler/syscalls_promises.h"
#include "tests/unit/unit.h"

enum {
	SELF = 4321,
	OTHER = 99,
	ALLOW = SECCOMP_RET_ALLOW,
	METADATA = SECCOMP_RET_ERRNO | 901,
	SIGNAL = SECCOMP_RET_ERRNO | 902,
	REFUSED = SECCOMP_RET_ERRNO | EPERM,
	NO_SUCH = SECCOMP_RET_ERRNO | ENOSYS,
};

static const uint64_t token[3] = { 0x1111111122222222, 0x3333333344444444, 0x5555555566666666 };

/* One compile of a syscalls block beside some network grants. */
struct compiled {
	struct arena arena;
	struct sources sources;
	struct diags diags;
	struct policy policy;
	struct net_set set;
	struct net_interval reached;
	struct sys_rules rules[SYS_ARCHES];
	struct filter_program all[SYS_ARCHES], filter; /* the latter is x86_64's */
	bool ok; /* resolved, generated, proved */
};

/* Parses `text`, a block of syscalls or nothing, and checks its lines. */
static void read_lines(struct compiled *c, const char *text)
{
	const struct span nowhere = { 0 };
	struct node *statement = NULL;
	const struct node **rules = NULL;
	size_t cap = 0;

	parse_statements(&c->diags,
			 sources_add(&c->sources, "t.cave", text, strlen(text), nowhere, false),
			 &statement);
	for (const struct node *n = statement ? statement->kids : NULL; n; n = n->next) {
		if (n->kind == N_BASE) {
			c->policy.base_syscalls = strcmp(n->text, "none") != 0;
			continue;
		}
		syscalls_check(&c->diags, &c->policy, n);
		*ARENA_PUSH(&c->arena, rules, c->policy.nsys_rules, cap) = n;
	}
	c->policy.sys_rule = rules;
}

static struct sock_filter *finished(struct compiled *c)
{
	struct sock_filter *insn = ARENA_ARRAY(&c->arena, c->filter.n, struct sock_filter);

	memcpy(insn, c->filter.insn, c->filter.n * sizeof *insn);
	for (size_t i = 0; i < c->filter.npatches; i++) {
		const struct cave_patch *p = &c->filter.patch[i];

		insn[p->insn].k = p->kind == CAVE_PATCH_SELF	       ? (uint32_t)SELF
				  : p->kind == CAVE_PATCH_RET_METADATA ? (uint32_t)METADATA
				  : p->kind == CAVE_PATCH_RET_SIGNAL
					  ? (uint32_t)SIGNAL
					  : (uint32_t)(token[p->kind / 2] >> (p->kind % 2 * 32));
	}
	return insn;
}

/* `grants` holds the letters of what is granted: t for tcp, u for udp, l for listen, n for netlink. */
static struct compiled *compile(const char *text, const char *grants)
{
	struct compiled *c = calloc(1, sizeof *c);
	struct gen_error e;

	sources_init(&c->sources, &c->arena);
	diags_init(&c->diags, &c->sources);
	c->policy.base_syscalls = true;
	c->set.cell[NET_TCP][NET_V4] = (struct net_cell){ &c->reached, strchr(grants, 't') != NULL };
	c->set.cell[NET_UDP][NET_V4] = (struct net_cell){ &c->reached, strchr(grants, 'u') != NULL };
	c->set.local[NET_TCP][NET_V4] = (struct net_cell){ &c->reached, strchr(grants, 'l') != NULL };
	c->policy.netlink_route = strchr(grants, 'n') != NULL;
	read_lines(c, text);
	c->ok = c->diags.errors == 0 &&
		syscalls_resolve(&c->diags, &c->arena, &c->policy, &c->set, c->rules);
	for (unsigned arch = 0; c->ok && arch < SYS_ARCHES; arch++)
		c->ok = seccomp_generate(&c->arena, &c->rules[arch], &c->all[arch], &e) &&
			syscalls_prove(&c->diags, &c->rules[arch], &c->all[arch]);
	c->filter = c->all[SYS_X86_64];
	if (!c->ok)
		diags_print(&c->diags, stdout);
	return c;
}

static void release(struct compiled *c)
{
	arena_free(&c->arena);
	free(c);
}

struct attempt {
	const char *call;
	uint64_t args[6];
	uint32_t answer;
};

static uint32_t ask(struct compiled *c, const struct sock_filter *insn, const struct attempt *a)
{
	const struct syscall_row *row = syscall_find(a->call);
	struct seccomp_data data = { .nr = row ? row->nr[SYS_X86_64] : -1,
				     .arch = AUDIT_ARCH_X86_64 };

	memcpy(data.args, a->args, sizeof data.args);
	return row ? cbpf_run(insn, c->filter.n, &data, NULL) : 0;
}

static void attempts(struct compiled *c, const char *what, const struct attempt *a, size_t n)
{
	const struct sock_filter *insn = c->ok ? finished(c) : NULL;
	bool all = c->ok;

	for (size_t i = 0; c->ok && i < n; i++) {
		uint32_t got = ask(c, insn, &a[i]);

		if (got != a[i].answer) {
			printf("# %s(0x%llx, 0x%llx, 0x%llx): 0x%08x, not 0x%08x\n", a[i].call,
			       (unsigned long long)a[i].args[0], (unsigned long long)a[i].args[1],
			       (unsigned long long)a[i].args[2], got, a[i].answer);
			all = false;
		}
	}
	check(all, "%s (%zu attempts)", what, n);
}

#define ATTEMPTS(c, what, list) attempts((c), (what), (list), sizeof(list) / sizeof((list)[0]))

/* --- tables ----------------------------------------------------------------------------------- */

static void tables(void)
{
	size_t n, without = 0, misplaced = 0, nowhere = 0;
	const struct syscall_row *row = syscall_table(&n);
	const char *name, *last = "";
	uint64_t v;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		without += !syscall_group_exists(row[i].group);
		misplaced += syscall_find(row[i].name) != &row[i];
		nowhere += row[i].nr[0] < 0 && row[i].nr[1] < 0 && row[i].nr[2] < 0;
		for (int a = 0; a < SYS_ARCHES; a++)
			nowhere += row[i].nr[a] > SYS_NUMBER_MAX;
	}
	check(n > 380 && without == 0, "%zu calls, each in a group", n);
	check(misplaced == 0 && nowhere == 0, "each is found by name and has a number");
	for (size_t i = 0; (name = syscall_constant_name(i)); last = name, i++)
		sorted &= strcmp(last, name) < 0 &&
			  syscall_constant(name, SYS_X86_64, &v) != CONSTANT_UNKNOWN;
	check(sorted, "constants are in order");
	check(!syscall_find("ptrac") && !syscall_find("") &&
		      syscall_constant("AF_NOTHING", SYS_X86_64, &v) == CONSTANT_UNKNOWN,
	      "no other is found");
}

struct known_constant {
	const char *name;
	uint64_t value;
};

/* As the C library has them, which took them from the same kernel long ago. */
#define K(name) { #name, (uint64_t)(name) }
static const struct known_constant known_constants[] = {
	K(AF_UNIX), K(AF_INET6), K(SOCK_STREAM), K(SOCK_CLOEXEC), K(IPPROTO_TCP), K(SOL_SOCKET),
	K(SO_REUSEADDR), K(TCGETS), K(TIOCSTI), K(FIONREAD), K(CLONE_THREAD), K(CLONE_NEWUSER),
	K(O_CREAT), K(O_TRUNC), K(O_CLOEXEC), K(PROT_EXEC), K(MAP_ANONYMOUS), K(MADV_DONTNEED),
	K(PR_SET_NAME), K(PR_CAP_AMBIENT), K(SIGKILL), K(SIGUSR1), K(F_SETFL), K(F_GETLK),
	K(FUTEX_WAIT), K(FUTEX_PRIVATE_FLAG), K(ADDR_NO_RANDOMIZE), K(PER_LINUX32), K(KEYCTL_READ),
	K(SECCOMP_SET_MODE_FILTER), K(RLIMIT_NOFILE), K(AT_FDCWD), K(EPOLL_CTL_ADD),
	K(CLOCK_MONOTONIC), K(MS_BIND), K(PTRACE_ATTACH), K(GRND_NONBLOCK), K(MFD_CLOEXEC),
	K(IPC_RMID), K(SCHED_FIFO), K(R_OK), K(BPF_PROG_LOAD), K(LOCK_EX), K(SEEK_END),
	K(MEMBARRIER_CMD_QUERY), K(RENAME_NOREPLACE), K(WNOHANG), K(P_PIDFD), K(SHUT_WR),
};

static void constants_known(void)
{
	uint64_t v = 0, arm = 0;

	for (size_t i = 0; i < sizeof known_constants / sizeof known_constants[0]; i++) {
		const struct known_constant *k = &known_constants[i];

		check(syscall_constant(k->name, SYS_X86_64, &v) == CONSTANT_HERE && v == k->value, "%s", k->name);
	}
	check(syscall_constant("O_DIRECTORY", SYS_X86_64, &v) == CONSTANT_HERE && v == 0200000 &&
		      syscall_constant("O_DIRECTORY", SYS_AARCH64, &arm) == CONSTANT_HERE && arm == 040000 &&
		      syscall_constant("O_DIRECTORY", SYS_RISCV64, &v) == CONSTANT_HERE && v == 0200000,
	      "a constant may differ between architectures");
	check(syscall_constant("ARCH_SET_FS", SYS_AARCH64, &v) == CONSTANT_ELSEWHERE, "or be missing");
}

static bool is_arg(const char *call, unsigned i, const char *name, enum arg_type type)
{
	const struct syscall_arg *args = syscall_args(call);

	return args && args[i].names && syscall_arg_is(&args[i], name) && args[i].type == type;
}

/* Calls that take nothing, or that no kernel of the table has the code of any more. */
static bool takes_nothing(const char *call)
{
	static const char *const none[] = {
		"_sysctl", "afs_syscall", "create_module", "epoll_ctl_old", "epoll_wait_old", "fork",
		"get_kernel_syms", "getegid", "geteuid", "getgid", "getpgrp", "getpid", "getpmsg",
		"getppid", "gettid", "getuid", "inotify_init", "munlockall", "nfsservctl", "pause",
		"putpmsg", "query_module", "restart_syscall", "rt_sigreturn", "sched_yield", "security",
		"setsid", "sync", "tuxcall", "uprobe", "uretprobe", "vfork", "vhangup", "vserver",
	};

	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		if (strcmp(none[i], call) == 0)
			return true;
	return false;
}

static void arguments_known(void)
{
	size_t n, without = 0;
	const struct syscall_row *rows = syscall_table(&n);

	for (size_t i = 0; i < n; i++)
		if ((syscall_args(rows[i].name) == NULL) != takes_nothing(rows[i].name)) {
			printf("# %s\n", rows[i].name);
			without++;
		}
	check(without == 0, "the arguments of every call are known");
	check(is_arg("socket", 0, "domain", ARG_INT) && is_arg("socket", 0, "family", ARG_INT) &&
		      is_arg("ioctl", 1, "request", ARG_UINT) && is_arg("ioctl", 1, "cmd", ARG_UINT) &&
		      is_arg("mmap", 2, "prot", ARG_ULONG) && is_arg("openat", 1, "path", ARG_POINTER) &&
		      is_arg("lseek", 1, "offset", ARG_LONG) && is_arg("kill", 1, "signal", ARG_INT),
	      "names, other names and types");
	check(!syscall_arg_is(&syscall_args("socket")[0], "dom") && !syscall_arg_is(&syscall_args("socket")[0], "") &&
		      !syscall_arg_is(&syscall_args("socket")[0], "domain|family"),
	      "and no part of a name");
}

/* --- the base set ----------------------------------------------------------------------------- */

#define THREAD_FLAGS 0x3d0f00 /* what glibc's pthread_create passes */

static const struct attempt base_process[] = {
	{ "read", { 0 }, ALLOW },
	{ "exit_group", { 0 }, ALLOW },
	{ "execve", { 1, 2, 3, token[0], token[1], token[2] }, ALLOW },
	{ "execve", { 1, 2, 3, token[0], token[1], token[2] ^ 1 }, REFUSED },
	{ "execve", { 1, 2, 3, token[0], token[1] ^ UINT64_C(1) << 40, token[2] }, REFUSED },
	{ "execve", { 1, 2, 3, 0, 0, 0 }, REFUSED },
	{ "execveat", { 0 }, REFUSED },
	{ "fork", { 0 }, REFUSED },
	{ "vfork", { 0 }, REFUSED },
	{ "clone3", { 0 }, NO_SUCH },
	{ "clone", { THREAD_FLAGS }, ALLOW },
	{ "clone", { 17 }, REFUSED },
	{ "clone", { CLONE_VM | CLONE_VFORK | 17 }, REFUSED },
	{ "clone", { THREAD_FLAGS | CLONE_NEWUSER }, REFUSED },
	{ "clone", { THREAD_FLAGS | CLONE_NEWNS }, REFUSED },
	{ "clone", { THREAD_FLAGS | CLONE_NEWCGROUP }, REFUSED },
	{ "clone", { THREAD_FLAGS | UINT64_C(1) << 40 }, ALLOW },
	{ "unshare", { CLONE_NEWUSER }, REFUSED },
	{ "setns", { 0 }, REFUSED },
	{ "prctl", { PR_SET_NAME }, ALLOW },
	{ "prctl", { PR_SET_PDEATHSIG }, REFUSED },
	{ "prctl", { PR_SET_PDEATHSIG | UINT64_C(1) << 32 }, REFUSED },
	{ "prctl", { PR_SET_DUMPABLE, 1 }, REFUSED },
	{ "prctl", { PR_SET_PTRACER, 1 }, REFUSED },
	{ "prctl", { PR_SET_MM, 1 }, REFUSED },
	{ "prctl", { PR_SET_SECCOMP, 2 }, REFUSED },
	{ "prctl", { PR_SET_CHILD_SUBREAPER, 1 }, REFUSED },
	{ "prctl", { PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET }, ALLOW },
	{ "prctl", { PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE }, REFUSED },
};

static const struct attempt base_others[] = {
	{ "kill", { SELF, 6 }, ALLOW },
	{ "kill", { OTHER, 6 }, SIGNAL },
	{ "kill", { 0, 6 }, SIGNAL },
	{ "kill", { UINT64_MAX, 6 }, SIGNAL },
	{ "tgkill", { SELF, OTHER, 6 }, ALLOW },
	{ "tgkill", { OTHER, SELF, 6 }, SIGNAL },
	{ "pidfd_send_signal", { SELF, 6 }, SIGNAL },
	{ "fcntl", { 0, F_SETOWN, SELF }, ALLOW },
	{ "fcntl", { 0, F_SETOWN, OTHER }, SIGNAL },
	{ "fcntl", { 0, F_SETOWN_EX, 0 }, SIGNAL },
	{ "fcntl", { 0, F_GETFL, 0 }, ALLOW },
	{ "fcntl", { 0, F_SETFL, O_NONBLOCK }, ALLOW },
	{ "fcntl", { 0, F_SETFL, O_ASYNC }, REFUSED },
	{ "fcntl", { 0, F_SETSIG, 9 }, REFUSED },
	{ "fcntl", { 0, F_SETLEASE, 0 }, REFUSED },
	{ "fcntl", { 0, F_NOTIFY, 0 }, REFUSED },
	{ "prlimit64", { 0 }, ALLOW },
	{ "prlimit64", { SELF }, ALLOW },
	{ "prlimit64", { OTHER }, REFUSED },
	{ "sched_setaffinity", { SELF }, ALLOW },
	{ "sched_setaffinity", { OTHER }, REFUSED },
	{ "setpriority", { PRIO_PROCESS, 0 }, ALLOW },
	{ "setpriority", { PRIO_PROCESS, SELF }, ALLOW },
	{ "setpriority", { PRIO_PROCESS, OTHER }, REFUSED },
	{ "setpriority", { PRIO_PGRP, 0 }, REFUSED },
	{ "setpriority", { PRIO_USER, 0 }, REFUSED },
	{ "ioprio_set", { 1, SELF }, ALLOW },
	{ "ioprio_set", { 2, 0 }, REFUSED },
	{ "ptrace", { 0 }, REFUSED },
	{ "process_vm_readv", { 0 }, REFUSED },
	{ "pidfd_getfd", { 0 }, REFUSED },
	{ "shmget", { 0 }, REFUSED },
	{ "mq_open", { 0 }, REFUSED },
	{ "add_key", { 0 }, REFUSED },
	{ "bpf", { 0 }, REFUSED },
	{ "perf_event_open", { 0 }, REFUSED },
	{ "userfaultfd", { 0 }, REFUSED },
	{ "io_uring_setup", { 0 }, REFUSED },
	{ "ioctl", { 0, TIOCGWINSZ }, ALLOW },
	{ "ioctl", { 0, FIONREAD | UINT64_C(1) << 32 }, ALLOW },
	{ "ioctl", { 0, FIOASYNC }, REFUSED },
	{ "ioctl", { 0, TIOCSTI }, REFUSED },
	{ "ioctl", { 0, TIOCSTI | UINT64_C(1) << 32 }, REFUSED },
	{ "ioctl", { 0, TIOCLINUX }, REFUSED },
	{ "ioctl", { 0, TIOCCONS }, REFUSED },
	{ "ioctl", { 0, TIOCSETD }, REFUSED },
	{ "ioctl", { 0, 0x40086602 /* FS_IOC_SETFLAGS */ }, REFUSED },
	{ "ioctl", { 0, 0x89e0 /* SIOCUNIXFILE */ }, REFUSED },
};

static const struct attempt base_files[] = {
	{ "openat", { 0, 0, O_RDONLY | O_CLOEXEC, 07777 }, ALLOW },
	{ "openat", { 0, 0, O_WRONLY | O_CREAT | O_TRUNC, 0666 }, ALLOW },
	{ "openat", { 0, 0, O_WRONLY | O_CREAT, 04755 }, REFUSED },
	{ "openat", { 0, 0, O_WRONLY | O_CREAT, 02755 }, REFUSED },
	{ "openat", { 0, 0, O_RDWR | O_TMPFILE, 04600 }, REFUSED },
	{ "openat", { 0, 0, O_RDWR | O_TMPFILE, 0600 }, ALLOW },
	{ "openat", { 0, 0, O_RDONLY | O_TRUNC, 0 }, METADATA },
	{ "openat", { 0, 0, O_ACCMODE | O_TRUNC, 0 }, METADATA },
	{ "openat", { 0, 0, O_RDONLY | O_TRUNC | O_CREAT, 04000 }, REFUSED },
	{ "openat", { 0, 0, O_RDWR | O_TRUNC, 04000 }, ALLOW },
	{ "open", { 0, O_WRONLY | O_CREAT, 04755 }, REFUSED },
	{ "open", { 0, O_WRONLY | O_CREAT, 0755 }, ALLOW },
	{ "creat", { 0, 0644 }, ALLOW },
	{ "creat", { 0, 06644 }, REFUSED },
	{ "openat2", { 0 }, NO_SUCH },
	{ "mknod", { 0 }, REFUSED },
	{ "mkdir", { 0, 07777 }, ALLOW },
	{ "chmod", { 0, 0644 }, METADATA },
	{ "chmod", { 0, 04644 }, REFUSED },
	{ "fchmod", { 0, 02644 }, REFUSED },
	{ "fchmodat", { 0, 0, 0644 }, METADATA },
	{ "fchmodat2", { 0, 0, 04644 }, REFUSED },
	{ "chown", { 0 }, METADATA },
	{ "utimensat", { 0 }, METADATA },
	{ "setxattr", { 0 }, METADATA },
	{ "truncate", { 0 }, METADATA },
	{ "ftruncate", { 0 }, ALLOW },
	{ "getxattr", { 0 }, ALLOW },
	{ "file_setattr", { 0 }, REFUSED },
	{ "mount", { 0 }, REFUSED },
	{ "open_by_handle_at", { 0 }, REFUSED },
	{ "inotify_init1", { 0 }, REFUSED },
};

static const struct attempt without_network[] = {
	{ "socket", { AF_INET, SOCK_STREAM, 0 }, REFUSED },
	{ "socket", { AF_UNIX, SOCK_STREAM, 0 }, REFUSED },
	{ "connect", { 0 }, REFUSED },
	{ "bind", { 0 }, REFUSED },
	{ "listen", { 0 }, REFUSED },
	{ "socketpair", { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0 }, ALLOW },
	{ "socketpair", { AF_UNIX, SOCK_SEQPACKET, 0 }, ALLOW },
	{ "socketpair", { AF_UNIX, SOCK_DGRAM, 0 }, REFUSED },
	{ "socketpair", { AF_UNIX, SOCK_RAW, 0 }, REFUSED },
	{ "socketpair", { AF_UNIX, SOCK_STREAM, 1 }, REFUSED },
	{ "socketpair", { AF_TIPC, SOCK_STREAM, 0 }, REFUSED },
	{ "sendto", { 0 }, ALLOW },
	{ "setsockopt", { 0, SOL_SOCKET, SO_SNDBUF }, ALLOW },
	{ "setsockopt", { 0, 6, 1 }, REFUSED },
};

static const struct attempt with_tcp[] = {
	{ "socket", { AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0 }, ALLOW },
	{ "socket", { AF_INET6, SOCK_STREAM, 6 }, ALLOW },
	{ "socket", { AF_INET, SOCK_STREAM, 262 }, REFUSED },
	{ "socket", { AF_INET, SOCK_STREAM, 132 }, REFUSED },
	{ "socket", { AF_INET, SOCK_DGRAM, 0 }, REFUSED },
	{ "socket", { AF_INET, SOCK_RAW, 1 }, REFUSED },
	{ "socket", { AF_UNIX, SOCK_STREAM, 0 }, REFUSED },
	{ "socket", { AF_NETLINK, SOCK_RAW, 0 }, REFUSED },
	{ "socket", { AF_PACKET, SOCK_RAW, 0 }, REFUSED },
	{ "socket", { AF_VSOCK, SOCK_STREAM, 0 }, REFUSED },
	{ "connect", { 0 }, ALLOW },
	{ "bind", { 0, 0, 16 }, ALLOW },
	{ "bind", { 0, 0, 28 }, ALLOW },
	{ "bind", { 0, 0, 2 }, REFUSED },
	{ "bind", { 0, 0, 110 }, REFUSED },
	{ "listen", { 0 }, REFUSED },
	{ "accept4", { 0 }, REFUSED },
	{ "setsockopt", { 0, 6, 1 /* TCP_NODELAY */ }, ALLOW },
	{ "setsockopt", { 0, 6, 31 /* TCP_ULP */ }, REFUSED },
	{ "setsockopt", { 0, 6, 19 /* TCP_REPAIR */ }, REFUSED },
	{ "setsockopt", { 0, 6, 14 /* TCP_MD5SIG */ }, REFUSED },
	{ "setsockopt", { 0, SOL_SOCKET, SO_KEEPALIVE }, ALLOW },
	{ "setsockopt", { 0, SOL_SOCKET, SO_BINDTODEVICE }, REFUSED },
	{ "setsockopt", { 0, SOL_SOCKET, SO_MARK }, REFUSED },
	{ "setsockopt", { 0, SOL_SOCKET, SO_ATTACH_FILTER }, REFUSED },
	{ "setsockopt", { 0, 0, 4 /* IP_OPTIONS */ }, REFUSED },
	{ "setsockopt", { 0, 0, 35 /* IP_ADD_MEMBERSHIP */ }, REFUSED },
	{ "setsockopt", { 0, 0, 1 /* IP_TOS */ }, ALLOW },
	{ "setsockopt", { 0, 41, 57 /* IPV6_RTHDR */ }, REFUSED },
	{ "setsockopt", { 0, 41, 20 /* IPV6_JOIN_GROUP */ }, REFUSED },
	{ "setsockopt", { 0, 41, 32 /* IPV6_FLOWLABEL_MGR */ }, REFUSED },
	{ "setsockopt", { 0, 41, 6 /* IPV6_2292PKTOPTIONS */ }, REFUSED },
	{ "setsockopt", { 0, 41, 26 /* IPV6_V6ONLY */ }, ALLOW },
	{ "setsockopt", { 0, 17, 103 /* UDP_SEGMENT */ }, REFUSED },
};

static const struct attempt with_udp[] = {
	{ "socket", { AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 17 }, ALLOW },
	{ "socket", { AF_INET, SOCK_DGRAM, 136 /* UDP-Lite */ }, REFUSED },
	{ "socket", { AF_INET, SOCK_DGRAM, 1 /* ping */ }, REFUSED },
	{ "socket", { AF_INET, SOCK_STREAM, 0 }, REFUSED },
	{ "sendmmsg", { 0 }, ALLOW },
	{ "setsockopt", { 0, 17, 103 /* UDP_SEGMENT */ }, ALLOW },
	{ "setsockopt", { 0, 17, 100 /* UDP_ENCAP */ }, REFUSED },
	{ "setsockopt", { 0, 6, 1 }, REFUSED },
};

static const struct attempt with_listen[] = {
	{ "socket", { AF_INET, SOCK_STREAM, 0 }, ALLOW },
	{ "socket", { AF_INET, SOCK_DGRAM, 0 }, REFUSED },
	{ "socket", { AF_UNIX, SOCK_STREAM, 0 }, REFUSED },
	{ "bind", { 0, 0, 16 }, ALLOW },
	{ "listen", { 0 }, ALLOW },
	{ "accept", { 0 }, ALLOW },
	{ "accept4", { 0 }, ALLOW },
	{ "setsockopt", { 0, 6, 9 /* TCP_DEFER_ACCEPT */ }, ALLOW },
	{ "setsockopt", { 0, 6, 23 /* TCP_FASTOPEN */ }, REFUSED },
	{ "setsockopt", { 0, 6, 31 /* TCP_ULP */ }, REFUSED },
};

static const struct attempt with_netlink[] = {
	{ "socket", { AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0 }, ALLOW },
	{ "socket", { AF_NETLINK, SOCK_DGRAM, 0 }, ALLOW },
	{ "socket", { AF_NETLINK, SOCK_STREAM, 0 }, REFUSED },
	{ "socket", { AF_NETLINK, SOCK_RAW, 4 /* NETLINK_SOCK_DIAG */ }, REFUSED },
	{ "socket", { AF_NETLINK, SOCK_RAW, 9 /* NETLINK_AUDIT */ }, REFUSED },
	{ "socket", { AF_NETLINK, SOCK_RAW, 15 /* NETLINK_KOBJECT_UEVENT */ }, REFUSED },
	{ "socket", { AF_NETLINK, SOCK_RAW, 16 /* NETLINK_GENERIC */ }, REFUSED },
	{ "socket", { AF_INET, SOCK_DGRAM, 0 }, REFUSED },
	{ "socket", { AF_INET, SOCK_RAW, 0 }, REFUSED },
	{ "socket", { AF_PACKET, SOCK_RAW, 0 }, REFUSED },
	{ "bind", { 0, 0, 12 }, ALLOW },
	{ "bind", { 0, 0, 16 }, REFUSED },
	{ "connect", { 0 }, REFUSED },
	{ "setsockopt", { 0, 270 /* SOL_NETLINK */, 1 }, REFUSED },
};

static void each_patch_once(const struct compiled *c)
{
	size_t count[CAVE_PATCH_KINDS] = { 0 };
	bool once = c->ok;

	for (size_t i = 0; i < c->filter.npatches; i++)
		count[c->filter.patch[i].kind]++;
	for (int kind = 0; kind < CAVE_PATCH_KINDS; kind++)
		once &= kind == CAVE_PATCH_SELF ? count[kind] > 0 : count[kind] == 1;
	check(once, "every patch is there, the returns and the token's halves once");
}

static void base_set(void)
{
	struct compiled *c = compile("", "");

	ATTEMPTS(c, "base: processes and threads", base_process);
	ATTEMPTS(c, "base: others and devices", base_others);
	ATTEMPTS(c, "base: files", base_files);
	ATTEMPTS(c, "base: no network", without_network);
	each_patch_once(c);
	check(c->diags.errors == 0, "no complaint");
	release(c);
	c = compile("", "t");
	ATTEMPTS(c, "tcp granted", with_tcp);
	release(c);
	c = compile("", "u");
	ATTEMPTS(c, "udp granted", with_udp);
	release(c);
	c = compile("", "l");
	ATTEMPTS(c, "listen granted", with_listen);
	release(c);
	c = compile("", "n");
	ATTEMPTS(c, "netlink granted", with_netlink);
	release(c);
}

/* --- lines of a profile ----------------------------------------------------------------------- */

static void with_lines(const char *text, bool mounts, const struct attempt *a, size_t n)
{
	struct compiled *c = compile(text, "");

	attempts(c, text, a, n);
	check(c->diags.errors == 0 && c->policy.requires_mounts == mounts, "%s: accepted%s", text,
	      mounts ? ", needs the mount namespace" : "");
	release(c);
}

#define WITH_LINES(text, mounts, ...)                                                              \
	with_lines((text), (mounts), (const struct attempt[]){ __VA_ARGS__ },                      \
		   sizeof((const struct attempt[]){ __VA_ARGS__ }) / sizeof(struct attempt))

static void accepted_lines(void)
{
	WITH_LINES("syscalls { allow personality; deny @keyring, mmap }", false,
		   { "personality", { 0 }, ALLOW }, { "mmap", { 0 }, REFUSED },
		   { "read", { 0 }, ALLOW });
	WITH_LINES("syscalls { allow inotify_init1; deny inotify_init1 }", false,
		   { "inotify_init1", { 0 }, REFUSED });
	WITH_LINES("syscalls { deny openat; allow openat }", false, { "openat", { 0 }, REFUSED });
	WITH_LINES("syscalls { base none; allow read, write, @time }", false,
		   { "read", { 0 }, ALLOW }, { "clock_gettime", { 0 }, ALLOW },
		   { "mmap", { 0 }, REFUSED },
		   { "execve", { 0, 0, 0, token[0], token[1], token[2] }, ALLOW },
		   { "execve", { 0 }, REFUSED });
	WITH_LINES("syscalls { deny execve, @process }", false,
		   { "execve", { 0, 0, 0, token[0], token[1], token[2] }, ALLOW },
		   { "execve", { 0 }, REFUSED }, { "wait4", { 0 }, REFUSED });
	WITH_LINES("syscalls { allow chmod, chown }", true, { "chmod", { 0, 0644 }, ALLOW },
		   { "chmod", { 0, 04755 }, REFUSED }, { "chown", { 0 }, ALLOW },
		   { "fchown", { 0 }, METADATA });
	WITH_LINES("syscalls { base none; allow open, fcntl }", false,
		   { "open", { 0, O_CREAT | O_RDWR, 04755 }, REFUSED },
		   { "open", { 0, O_CREAT | O_RDWR, 0755 }, ALLOW },
		   { "fcntl", { 0, F_SETOWN, OTHER }, SIGNAL }, { "fcntl", { 0, F_SETSIG, 9 }, REFUSED },
		   { "fcntl", { 0, F_GETFL }, ALLOW });
}

/* What lines with conditions, actions of their own and logging do; OTHER is some argument not named. */
static void lines_with_more(void)
{
	const uint32_t logged = SECCOMP_RET_LOG, kill = SECCOMP_RET_KILL_PROCESS;

	WITH_LINES("syscalls { allow personality(persona == 0); allow acct logged; deny ptrace with kill }", false,
		   { "personality", { 0 }, ALLOW }, { "personality", { 8 }, REFUSED },
		   { "personality", { UINT64_C(1) << 32 }, ALLOW }, { "acct", { 0 }, logged },
		   { "ptrace", { 0 }, kill });
	WITH_LINES("syscalls { allow ioctl(request in { 1000-1063, TCGETS }) }", false,
		   { "ioctl", { 0, 999 }, REFUSED }, { "ioctl", { 0, 1000 }, ALLOW },
		   { "ioctl", { 0, 1063 }, ALLOW }, { "ioctl", { 0, 1064 }, REFUSED },
		   { "ioctl", { 0, UINT64_C(7) << 32 | 1010 }, ALLOW }, { "ioctl", { 0, TIOCSTI }, REFUSED });
	WITH_LINES("syscalls { deny clone3 with errno ENOSYS; deny uname with errno EACCES; deny @keyring with kill }",
		   false, { "clone3", { 0 }, NO_SUCH }, { "uname", { 0 }, SECCOMP_RET_ERRNO | EACCES },
		   { "keyctl", { 0 }, kill });
	WITH_LINES("syscalls { deny clone3 with errno EOPNOTSUPP; deny @thread; deny futex with errno EAGAIN }", false,
		   { "clone3", { 0 }, SECCOMP_RET_ERRNO | EOPNOTSUPP }, { "futex", { 0 }, SECCOMP_RET_ERRNO | EAGAIN },
		   { "getcpu", { 0 }, REFUSED });
	WITH_LINES("syscalls { deny mmap(prot & (PROT_WRITE | PROT_EXEC) == PROT_WRITE | PROT_EXEC) }", false,
		   { "mmap", { 0, 1, 3 }, ALLOW }, { "mmap", { 0, 1, 5 }, ALLOW }, { "mmap", { 0, 1, 7 }, REFUSED },
		   { "mmap", { 0, 1, UINT64_C(1) << 32 | 3 }, ALLOW });
	WITH_LINES("syscalls { deny lseek(offset < 0); deny read(fd == 3 && count > 0x100000000) }", false,
		   { "lseek", { 0, UINT64_MAX }, REFUSED }, { "lseek", { 0, UINT32_MAX }, ALLOW },
		   { "lseek", { 0, INT64_MAX }, ALLOW }, { "read", { 3, 0, 0x100000001 }, REFUSED },
		   { "read", { 3, 0, 0x100000000 }, ALLOW }, { "read", { 4, 0, UINT64_MAX }, ALLOW });
	WITH_LINES("syscalls { allow clone(flags & CLONE_THREAD != 0 && flags & 0x7e020000 == 0) logged }", false,
		   { "clone", { THREAD_FLAGS }, logged }, { "clone", { SIGCHLD }, REFUSED });
	WITH_LINES("syscalls { base none; allow open(flags & O_ACCMODE == O_RDONLY); allow prlimit64(pid == 0) }", false,
		   { "open", { 0, O_RDONLY }, ALLOW }, { "open", { 0, O_RDWR }, REFUSED },
		   { "open", { 0, O_RDONLY | O_CREAT, 04755 }, REFUSED },
		   { "open", { 0, O_RDONLY | O_TRUNC }, METADATA }, { "prlimit64", { 0 }, ALLOW },
		   { "prlimit64", { OTHER }, REFUSED });
	WITH_LINES("syscalls { allow open logged; allow chmod(mode == 0x1ed) logged }", true,
		   { "open", { 0, O_RDONLY }, logged }, { "open", { 0, O_RDONLY | O_TRUNC }, logged },
		   { "chmod", { 0, 0755 }, logged }, { "chmod", { 0, 0700 }, METADATA },
		   { "chmod", { 0, 04755 }, REFUSED });
	WITH_LINES("syscalls { allow fcntl(cmd in { F_SET_RW_HINT, F_CANCELLK }), prctl(option == PR_SET_TSC) }", false,
		   { "fcntl", { 0, 1036 /* F_SET_RW_HINT */ }, ALLOW }, { "fcntl", { 0, F_SETOWN, OTHER }, SIGNAL },
		   { "prctl", { PR_SET_TSC }, ALLOW }, { "prctl", { PR_SET_PDEATHSIG }, REFUSED });
	WITH_LINES("syscalls { deny kill(sig == 9) with kill; deny kill(sig == 9 || sig == 10) }", false,
		   { "kill", { SELF, 9 }, kill }, { "kill", { SELF, 10 }, REFUSED }, { "kill", { SELF, 11 }, ALLOW });
	WITH_LINES("syscalls { deny clone3(size == 64) with errno EOPNOTSUPP }", false,
		   { "clone3", { 0, 64 }, SECCOMP_RET_ERRNO | EOPNOTSUPP }, { "clone3", { 0, 88 }, NO_SUCH });
	WITH_LINES("syscalls { deny openat(flags & O_DIRECTORY) with errno ENOTDIR }", false,
		   { "openat", { 0, 0, O_DIRECTORY }, SECCOMP_RET_ERRNO | ENOTDIR }, { "openat", { 0 }, ALLOW });
}

static void refused_line(const char *text, enum cave_code code, const char *part)
{
	struct compiled *c = compile(text, "");
	const struct diag *d = c->diags.first;
	bool names;

	while (d && !d->code) /* a remark */
		d = d->next;
	names = d && d->code == code && strstr(d->text, part);
	for (const struct diag_note *n = d ? d->notes : NULL; n; n = n->next)
		names |= d->code == code && strstr(n->text, part) != NULL;
	if (!check(c->diags.errors == 1 && names, "%s: %s, says '%s'", text, cave_code_name(code),
		   part))
		diags_print(&c->diags, stdout);
	release(c);
}

static void refused_lines(void)
{
	static const char *const promised[] = {
		"fork",	  "vfork", "clone", "clone3", "execve",	    "execveat", "socket",
		"listen", "ioctl", "prctl", "kill",   "setsockopt", "unshare",	"io_uring_setup",
		"ptrace", "mount", "bpf",   "shmat",  "mknod",	    "openat2",	"pidfd_getfd"
	};

	refused_line("syscalls { deny ptrac }", CAVE_UNKNOWN_NAME, "did you mean 'ptrace'");
	refused_line("syscalls { deny ptrac }", CAVE_UNKNOWN_NAME, syscalls_version);
	refused_line("syscalls { deny @keyrin }", CAVE_UNKNOWN_NAME, "did you mean '@keyring'");
	refused_line("syscalls { allow personality with errno EACCES }", CAVE_SYNTAX, "'with'");
	refused_line("syscalls { deny acct logged }", CAVE_SYNTAX, "'logged'");
	refused_line("syscalls { deny acct with kill with errno EPERM }", CAVE_SYNTAX, "enough");
	refused_line("syscalls { deny clone3 with errno ENOSY }", CAVE_UNKNOWN_NAME, "ENOSY");
	refused_line("syscalls { deny ptrace with fire }", CAVE_UNKNOWN_NAME, "with kill");
	refused_line("syscalls { deny @file(fd == 1) }", CAVE_VALUE, "group");
	refused_line("syscalls { deny read(fd < 0 && fd > 1) }", CAVE_VALUE, "no arguments");
	refused_line("syscalls { deny lseek(offset < 0 && offset > 1) }", CAVE_VALUE, "no arguments");
	refused_line("syscalls { deny getpid(pid == 0) }", CAVE_VALUE, "no arguments");
	refused_line("syscalls { deny openat(path == 0) }", CAVE_VALUE, "files { … }");
	refused_line("syscalls { deny connect(addr == 0) }", CAVE_VALUE, "network { … }");
	refused_line("syscalls { deny mmap(flags & MAP_32BIT) }", CAVE_UNKNOWN_NAME, "aarch64");
	refused_line("syscalls { deny execve with kill }", CAVE_UNSUPPORTED, "EPERM");
	refused_line("syscalls { deny @process with kill }", CAVE_UNSUPPORTED, "execve");
	refused_line("syscalls { deny acct with kill; deny acct with errno EIO }", CAVE_CONTRADICTION, "two ways");
	refused_line("syscalls { allow clone(flags & 0x7e020000 == 0) }", CAVE_CONTRADICTION,
		     "flags & 0x10000 == 0x0");
	refused_line("syscalls { allow ioctl(request in { TCGETS, TIOCSTI }) }", CAVE_CONTRADICTION,
		     "leave out: request == 0x5412");
	refused_line("syscalls { allow ioctl(request != TCGETS) }", CAVE_CONTRADICTION, "0x5412");
	refused_line("syscalls { allow ioctl(request == FS_IOC_SETFLAGS) }", CAVE_CONTRADICTION, "leave out");
	refused_line("syscalls { allow ioctl(request == KDSETMODE) }", CAVE_CONTRADICTION, "leave out");
	refused_line("syscalls { allow prctl(arg2 == 0) }", CAVE_CONTRADICTION, "leave out");
	refused_line("syscalls { allow prctl(option == PR_SET_PDEATHSIG) }", CAVE_CONTRADICTION, "option == 0x1");
	refused_line("syscalls { allow socket(family == AF_UNIX) }", CAVE_CONTRADICTION, "network");
	refused_line("syscalls { allow socket(family == AF_INET && type == SOCK_STREAM && protocol == 0) }",
		     CAVE_CONTRADICTION, "network");
	refused_line("syscalls { allow kill(sig == 0) }", CAVE_CONTRADICTION, "signals");
	refused_line("syscalls { allow fcntl(cmd == F_SETLEASE) }", CAVE_CONTRADICTION, "signals");
	refused_line("syscalls { allow fcntl(cmd == F_SETOWN) }", CAVE_CONTRADICTION, "signals");
	refused_line("syscalls { allow bind }", CAVE_CONTRADICTION, "nothing is left"); /* without a network grant */
	refused_line("syscalls { allow chmod(mode == 0x9ed) }", CAVE_CONTRADICTION, "nothing is left");
	refused_line("syscalls { allow @keyring }", CAVE_CONTRADICTION, "add_key");
	for (size_t i = 0; i < sizeof promised / sizeof promised[0]; i++) {
		struct arena a = { NULL };

		refused_line(arena_printf(&a, "syscalls { allow %s }", promised[i]),
			     CAVE_CONTRADICTION, promised[i]);
		arena_free(&a);
	}
}

/*
 * `self`, guards and the token are for built-in text; a user's line must not get at them by any
 * way.
 */
static void private_forms(void)
{
	refused_line("syscalls { allow chmod with guard metadata }", CAVE_SYNTAX, "'with'");
	refused_line("syscalls { deny chmod with guard metadata }", CAVE_UNKNOWN_NAME, "guard");
	refused_line("syscalls { deny personality with token }", CAVE_UNKNOWN_NAME, "token");
	refused_line("syscalls { allow prlimit64(pid == self) }", CAVE_UNKNOWN_NAME, "self");
}

static void elsewhere(void)
{
	struct compiled *c = compile("syscalls { allow riscv_flush_icache }", "");

	check(c->ok && c->diags.errors == 0 && c->diags.notes == 1,
	      "a call of another architecture is a note");
	release(c);
}

static void lists(void)
{
	static char text[16384];
	FILE *to = fmemopen(text, sizeof text, "w");

	check(to && syscalls_list(NULL, to) == 0 && syscalls_list("@keyring", to) == 0 &&
		      syscalls_list("time", to) == 0 && fclose(to) == 0 &&
		      strstr(text, "@network") && strstr(text, "request_key") &&
		      strstr(text, "nanosleep"),
	      "list shows groups and members");
	check(syscalls_list("@nothing", stdout) == 2, "list of an unknown group is a usage error");
}

int main(void)
{
	tables();
	constants_known();
	arguments_known();
	base_set();
	accepted_lines();
	lines_with_more();
	refused_lines();
	private_forms();
	elsewhere();
	lists();
	return unit_done();
}
