/* SPDX-License-Identifier: MIT */
/*
 * The kernel hooks that an egress policy is attached to.  One row per program: the section that libbpf names,
 * the program's type and its attach type (linux/bpf.h).  A policy that grants any network carries every one
 * of them, but for the last ones, which belong to grants by host name; a policy that grants none carries none.
 *
 * CAVE_HOOKS(X) expands X(SYMBOL, "section", PROG_TYPE, ATTACH_TYPE), in the order of the identity.
 */
#ifndef CAVE_HOOKS_H
#define CAVE_HOOKS_H

#define CAVE_HOOKS(X)                                                                              \
	X(CONNECT4, "cgroup/connect4", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT)   \
	X(CONNECT6, "cgroup/connect6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_CONNECT)   \
	X(SENDMSG4, "cgroup/sendmsg4", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_SENDMSG)    \
	X(SENDMSG6, "cgroup/sendmsg6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_SENDMSG)    \
	X(BIND4, "cgroup/bind4", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND)            \
	X(BIND6, "cgroup/bind6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_BIND)            \
	X(SOCK_CREATE, "cgroup/sock_create", BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE) \
	X(EGRESS, "cgroup_skb/egress", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS)           \
	X(INGRESS, "cgroup_skb/ingress", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS)        \
	X(RECVMSG4, "cgroup/recvmsg4", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_RECVMSG)    \
	X(RECVMSG6, "cgroup/recvmsg6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_RECVMSG)    \
	X(GETPEERNAME4, "cgroup/getpeername4", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_GETPEERNAME) \
	X(GETPEERNAME6, "cgroup/getpeername6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_GETPEERNAME)

enum cave_hook {
#define X(symbol, section, prog_type, attach_type) CAVE_HOOK_##symbol,
	CAVE_HOOKS(X)
#undef X
	CAVE_HOOK_COUNT,
	CAVE_HOOK_NAMES = CAVE_HOOK_RECVMSG4, /* from here on: of policies that grant by host name only */
};

#endif
