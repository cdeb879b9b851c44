/* SPDX-License-Identifier: MIT */
/* The proof for all inputs: what calls and new sockets are to be answered. */
#include <arpa/inet.h>
#include <linux/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "compiler/egress_whole.h"

#define LOOPBACK4 0x7f000001u
#define MULTICAST4 0xe0000000u /* from here on nothing is unicast */
#define MULTICAST6 ((walk_number)0xff << 120)

enum { CALL_SIZE = sizeof(struct bpf_sock_addr), SOCKET_SIZE = sizeof(struct bpf_sock) };

static bool is_six(enum cave_hook hook)
{
	return hook == CAVE_HOOK_CONNECT6 || hook == CAVE_HOOK_SENDMSG6 || hook == CAVE_HOOK_BIND6;
}

static bool sends(enum cave_hook hook)
{
	return hook == CAVE_HOOK_SENDMSG4 || hook == CAVE_HOOK_SENDMSG6;
}

static bool is_mapped(struct whole *w)
{
	return is_six(w->hook) && whole_in(w, WALK_ADDRESS, MAPPED, MAPPED_LAST);
}

/* The unspecified address becomes loopback: in the context too, before the kernel would do so. */
static struct expected expect_loopback(const struct whole *w, enum net_proto proto, enum net_family family)
{
	struct expected e = expect_judged(false, proto, family, WALK_CONSTANT, WALK_PORT);
	const size_t last = offsetof(struct bpf_sock_addr, user_ip6) + 12;

	e.address.number = family == NET_V4 ? LOOPBACK4 : 1;
	e.write.at = (int64_t)(is_six(w->hook) ? last : offsetof(struct bpf_sock_addr, user_ip4));
	e.write.size = 4;
	e.write.value = htonl((uint32_t)e.address.number);
	return e;
}

/* connect, and sendmsg, which names no address where its socket is connected: all is zero then. */
static struct expected spec_peer(struct whole *w)
{
	enum net_family family = is_six(w->hook) ? NET_V6 : NET_V4;
	walk_number none = 0;
	enum net_proto proto;

	if (!whole_protocol(w, &proto) || (sends(w->hook) && proto != NET_UDP))
		return expect_refused();
	if (is_mapped(w)) {
		family = NET_V4;
		none = MAPPED;
	}
	if (!whole_is(w, WALK_ADDRESS, none))
		return expect_judged(false, proto, family, WALK_ADDRESS, WALK_PORT);
	if (sends(w->hook) && !none && whole_is(w, WALK_PORT, 0))
		return expect_allowed();
	return expect_loopback(w, proto, family);
}

/* bind: to a port that the kernel chooses, or to what is listened at. */
static struct expected spec_bind(struct whole *w)
{
	const bool six = is_six(w->hook);
	enum net_proto proto;

	if (!whole_protocol(w, &proto))
		return expect_refused();
	if (!whole_is(w, WALK_PORT, 0))
		return expect_judged(true, proto, six && !is_mapped(w) ? NET_V6 : NET_V4, WALK_ADDRESS, WALK_PORT);
	if (six ? whole_in(w, WALK_ADDRESS, MAPPED | MULTICAST4, MAPPED_LAST) ||
			    whole_in(w, WALK_ADDRESS, MULTICAST6, ~(walk_number)0)
		: whole_in(w, WALK_ADDRESS, MULTICAST4, UINT32_MAX))
		return expect_refused();
	return expect_allowed();
}

bool whole_call(struct whole *w, enum cave_hook hook)
{
	struct walk_byte ctx[CALL_SIZE];
	const bool six = is_six(hook);
	struct walk walk;

	w->spec = hook == CAVE_HOOK_BIND4 || hook == CAVE_HOOK_BIND6 ? spec_bind : spec_peer;
	w->form = w->spec == spec_bind ? "as a local address" : NULL;
	walk_begin(&walk, w->v->a, &w->v->hook[hook]);
	walk_free(&walk, WALK_ADDRESS, six ? 128 : 32);
	walk_free(&walk, WALK_PORT, 16);
	walk_free(&walk, WALK_PROTOCOL, 32);
	walk_lay_unknown(ctx, CALL_SIZE);
	walk_lay(ctx + (six ? offsetof(struct bpf_sock_addr, user_ip6) : offsetof(struct bpf_sock_addr, user_ip4)),
		 WALK_ADDRESS, six ? 16 : 4);
	walk_lay(ctx + offsetof(struct bpf_sock_addr, user_port), WALK_PORT, 2);
	walk_lay_zero(ctx + offsetof(struct bpf_sock_addr, user_port) + 2, 2);
	walk_lay_host(ctx + offsetof(struct bpf_sock_addr, protocol), WALK_PROTOCOL, 4);
	walk.ctx = ctx;
	walk.ctx_size = CALL_SIZE;
	return whole_follow(w, &walk);
}

static struct expected spec_socket(struct whole *w)
{
	if (!whole_is(w, WALK_FAMILY, AF_INET) && !whole_is(w, WALK_FAMILY, AF_INET6))
		return expect_refused();
	if (w->v->used[NET_TCP] && whole_is(w, WALK_TYPE, SOCK_STREAM) && whole_is(w, WALK_PROTOCOL, IPPROTO_TCP))
		return expect_allowed();
	if (w->v->used[NET_UDP] && whole_is(w, WALK_TYPE, SOCK_DGRAM) && whole_is(w, WALK_PROTOCOL, IPPROTO_UDP))
		return expect_allowed();
	return expect_refused();
}

bool whole_socket(struct whole *w)
{
	struct walk_byte ctx[SOCKET_SIZE];
	struct walk walk;

	w->spec = spec_socket;
	w->form = "as a new socket";
	walk_begin(&walk, w->v->a, &w->v->hook[CAVE_HOOK_SOCK_CREATE]);
	walk_free(&walk, WALK_FAMILY, 32);
	walk_free(&walk, WALK_TYPE, 32);
	walk_free(&walk, WALK_PROTOCOL, 32);
	walk_lay_unknown(ctx, SOCKET_SIZE);
	walk_lay_host(ctx + offsetof(struct bpf_sock, family), WALK_FAMILY, 4);
	walk_lay_host(ctx + offsetof(struct bpf_sock, type), WALK_TYPE, 4);
	walk_lay_host(ctx + offsetof(struct bpf_sock, protocol), WALK_PROTOCOL, 4);
	walk.ctx = ctx;
	walk.ctx_size = SOCKET_SIZE;
	return whole_follow(w, &walk);
}
