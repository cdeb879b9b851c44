/* SPDX-License-Identifier: MIT */
/*
 * The hooks of egress: a program that refuses everything is loaded, attached to the new group, and a child in that
 * group does what the hook must see.  Without the program the same goes through: it is done first.  The hooks that
 * cannot refuse change the port of a peer.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "cave/hooks.h"
#include "runtime/check/trial.h"

struct hook {
	const char *section;
	unsigned type, attach;
};

static const struct hook hooks[CAVE_HOOK_COUNT] = {
#define X(symbol, section_name, prog_type, attach_type) { section_name, prog_type, attach_type },
	CAVE_HOOKS(X)
#undef X
};

static long bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof *attr);
}

enum { CHANGED_PORT = 0x0707 }; /* the same in either byte order */

/* return 0: refused, or dropped; or the peer's port is changed. */
static long load(const struct hook *hook)
{
	static const struct bpf_insn refuse[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	static const struct bpf_insn change[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = CHANGED_PORT },
		{ .code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2,
		  .off = offsetof(struct bpf_sock_addr, user_port) },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	bool changes = hook - hooks >= CAVE_HOOK_NAMES;
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.prog_type = hook->type;
	attr.expected_attach_type = hook->attach;
	attr.insns = changes ? (uintptr_t)change : (uintptr_t)refuse;
	attr.insn_cnt = changes ? sizeof change / sizeof *change : sizeof refuse / sizeof *refuse;
	attr.license = (uintptr_t) "MIT";
	return bpf(BPF_PROG_LOAD, &attr);
}

static long attach(enum bpf_cmd command, const struct hook *hook, int program, int group)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.target_fd = (uint32_t)group;
	attr.attach_bpf_fd = (uint32_t)program;
	attr.attach_type = hook->attach;
	attr.attach_flags = command == BPF_PROG_ATTACH ? BPF_F_ALLOW_MULTI : 0;
	return bpf(command, &attr);
}

/* --- what the hooks must see: 0, or the errno of the refusal --------------------------------------- */

struct endpoint {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
	socklen_t size;
};

static struct endpoint loopback(bool six, uint16_t port)
{
	struct endpoint e = { .size = six ? sizeof e.in6 : sizeof e.in };

	if (six) {
		e.in6.sin6_family = AF_INET6;
		e.in6.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
		e.in6.sin6_port = htons(port);
	} else {
		e.in.sin_family = AF_INET;
		e.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		e.in.sin_port = htons(port);
	}
	return e;
}

enum { DISCARD = 9, RECEIVE_MS = 300 };

static int datagram(bool six)
{
	return socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int do_connect(bool six)
{
	struct endpoint e = loopback(six, DISCARD);
	int fd = datagram(six);

	return fd < 0 || connect(fd, &e.sa, e.size) ? errno : 0;
}

static int do_send(bool six)
{
	struct endpoint e = loopback(six, DISCARD);
	int fd = datagram(six);

	return fd < 0 || sendto(fd, "x", 1, 0, &e.sa, e.size) != 1 ? errno : 0;
}

static int do_bind(bool six)
{
	struct endpoint e = loopback(six, 0);
	int fd = datagram(six);

	return fd < 0 || bind(fd, &e.sa, e.size) ? errno : 0;
}

static int do_create(bool six)
{
	return datagram(six) < 0 ? errno : 0;
}

/* Sends to itself and waits: EPERM if nothing arrives, as where an outgoing packet is refused. */
static int do_receive(bool six)
{
	struct timeval patience = { .tv_usec = RECEIVE_MS * 1000 };
	struct endpoint e = loopback(six, 0);
	int fd = datagram(six);
	char c;

	if (fd < 0 || bind(fd, &e.sa, e.size) || getsockname(fd, &e.sa, &e.size) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
	    sendto(fd, "x", 1, 0, &e.sa, e.size) != 1)
		return errno;
	return recv(fd, &c, 1, 0) == 1 ? 0 : errno == EAGAIN ? EPERM : errno;
}

static bool is_changed(const struct endpoint *e, bool six)
{
	return (six ? e->in6.sin6_port : e->in.sin_port) == CHANGED_PORT;
}

/* Sends to itself and looks where it came from: EPERM if the port was changed. */
static int do_receive_from(bool six)
{
	struct timeval patience = { .tv_usec = RECEIVE_MS * 1000 };
	struct endpoint e = loopback(six, 0);
	int fd = datagram(six);
	char c;

	if (fd < 0 || bind(fd, &e.sa, e.size) || getsockname(fd, &e.sa, &e.size) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
	    sendto(fd, "x", 1, 0, &e.sa, e.size) != 1 || recvfrom(fd, &c, 1, 0, &e.sa, &e.size) != 1)
		return errno;
	return is_changed(&e, six) ? EPERM : 0;
}

static int do_ask_peer(bool six)
{
	struct endpoint e = loopback(six, DISCARD);
	int fd = datagram(six);

	if (fd < 0 || connect(fd, &e.sa, e.size) || getpeername(fd, &e.sa, &e.size))
		return errno;
	return is_changed(&e, six) ? EPERM : 0;
}

static const struct {
	int (*run)(bool six);
	bool six;
} attempt[CAVE_HOOK_COUNT] = {
	[CAVE_HOOK_CONNECT4] = { do_connect, false }, [CAVE_HOOK_CONNECT6] = { do_connect, true },
	[CAVE_HOOK_SENDMSG4] = { do_send, false },    [CAVE_HOOK_SENDMSG6] = { do_send, true },
	[CAVE_HOOK_BIND4] = { do_bind, false },	      [CAVE_HOOK_BIND6] = { do_bind, true },
	[CAVE_HOOK_SOCK_CREATE] = { do_create, false }, [CAVE_HOOK_EGRESS] = { do_send, false },
	[CAVE_HOOK_INGRESS] = { do_receive, false },
	[CAVE_HOOK_RECVMSG4] = { do_receive_from, false }, [CAVE_HOOK_RECVMSG6] = { do_receive_from, true },
	[CAVE_HOOK_GETPEERNAME4] = { do_ask_peer, false }, [CAVE_HOOK_GETPEERNAME6] = { do_ask_peer, true },
};

/* --- one hook -------------------------------------------------------------------------------------- */

static void refused(struct trial *t, enum cave_hook hook)
{
	int error = attempt[hook].run(attempt[hook].six);

	if (error == EPERM)
		trial_works(t, "a program on it was loaded and attached, and %s a child in the new group",
			    hook < CAVE_HOOK_NAMES ? "refused" : "changed what was seen by");
	else
		trial_fail(t, error, "a program is attached to it and has no effect");
}

#define IN_GROUP(name, hook)                                                                                           \
	static void in_group_##name(struct trial *t)                                                                   \
	{                                                                                                              \
		refused(t, hook);                                                                                      \
	}                                                                                                              \
	void try_##name(struct trial *t)                                                                               \
	{                                                                                                              \
		try_hook(t, hook, in_group_##name);                                                                    \
	}

static void try_hook(struct trial *t, enum cave_hook hook, trial_fn *in_group)
{
	const int group = t->host->group;
	int before = attempt[hook].run(attempt[hook].six);
	long program;

	program = load(&hooks[hook]);
	if (program < 0) {
		trial_fail(t, errno, "loading a program for it");
		return;
	}
	/* Without an address on the loopback of that family only the attaching can be shown. */
	if (trial_without_group(t)) {
		;
	} else if (attach(BPF_PROG_ATTACH, &hooks[hook], (int)program, group)) {
		trial_fail(t, errno, "attaching a program to it");
	} else {
		if (!before)
			trial_in_child(t, 0, group, in_group);
		else
			trial_works(t, "a program on it was loaded and attached; this host does not let it be used (errno %d)",
				    before);
		attach(BPF_PROG_DETACH, &hooks[hook], (int)program, group);
	}
	close((int)program);
}

IN_GROUP(connect4, CAVE_HOOK_CONNECT4)
IN_GROUP(connect6, CAVE_HOOK_CONNECT6)
IN_GROUP(sendmsg4, CAVE_HOOK_SENDMSG4)
IN_GROUP(sendmsg6, CAVE_HOOK_SENDMSG6)
IN_GROUP(bind4, CAVE_HOOK_BIND4)
IN_GROUP(bind6, CAVE_HOOK_BIND6)
IN_GROUP(sock_create, CAVE_HOOK_SOCK_CREATE)
IN_GROUP(egress, CAVE_HOOK_EGRESS)
IN_GROUP(ingress, CAVE_HOOK_INGRESS)
IN_GROUP(recvmsg4, CAVE_HOOK_RECVMSG4)
IN_GROUP(recvmsg6, CAVE_HOOK_RECVMSG6)
IN_GROUP(getpeername4, CAVE_HOOK_GETPEERNAME4)
IN_GROUP(getpeername6, CAVE_HOOK_GETPEERNAME6)

/* --- types ----------------------------------------------------------------------------------------- */

/* Documentation/bpf/btf.rst: a header, one type (int, of 32 bits, signed), and its name. */
void try_btf(struct trial *t)
{
	static const struct {
		uint16_t magic;
		uint8_t version, flags;
		uint32_t header, type_offset, type_size, string_offset, string_size;
		uint32_t name, info, size, encoding;
		char strings[8];
	} btf = { 0xeb9f, 1, 0, 24, 0, 16, 16, 5, 1, 1u << 24, 4, 1u << 24 | 32, "\0int" };
	union bpf_attr attr;
	long fd;

	memset(&attr, 0, sizeof attr);
	attr.btf = (uintptr_t)&btf;
	attr.btf_size = 24 + 16 + 5;
	fd = bpf(BPF_BTF_LOAD, &attr);
	if (fd < 0) {
		trial_fail(t, errno, "loading types");
		return;
	}
	close((int)fd);
	trial_works(t, "types were loaded: the verifier's log and bpftool show lines of the profile");
}
