/* SPDX-License-Identifier: MIT */
/* The proof of the egress programs: asking one of them a question, and what is said if it errs. */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/artefact.h"
#include "bpf/vm.h"
#include "cave/names.h"
#include "compiler/egress_addr.h"

int proto_number(int proto)
{
	return proto == NET_TCP ? IPPROTO_TCP : IPPROTO_UDP;
}

static const char *describe(const struct prover *v, const struct question *q)
{
	const char *name = arena_printf(v->a, "protocol %d", q->protocol);

	if (q->protocol == IPPROTO_TCP || q->protocol == IPPROTO_UDP)
		name = q->protocol == IPPROTO_TCP ? "tcp" : "udp";
	return arena_printf(v->a, "%s %s port %u%s%s", name, addr_show(q->at.family, q->at.addr).s,
			    q->port, q->form ? ", " : "", q->form ? q->form : "");
}

void disagree(struct prover *v, const struct question *q, bool want)
{
	struct diag *e;

	if (v->failed)
		return;
	v->failed = true;
	e = diag_error(v->d, CAVE_PROOF_FAILED, v->p->at,
		       "the program for %s %s what the policy %s: %s", artefact_hook_name(q->hook),
		       want ? "refuses" : "allows", want ? "allows" : "refuses", describe(v, q));
	diag_note(v->d, e, (struct span){ 0 },
		  "this is a fault of the compiler; nothing was written");
}

bool run_program(struct prover *v, enum cave_hook hook, struct ebpf_input *in, uint64_t *result)
{
	const struct hook_program *h = &v->hook[hook];

	in->cookie = v->cookie;
	in->map = v->map;
	in->nmaps = v->nmaps;
	if (v->names) {
		in->cgroup = v->names->cgroup;
		in->now = v->names->now;
	}
	if (ebpf_run(h->insn, h->n, in, result, NULL) && *result <= 1) {
		if (is_counted(v, hook, in, !*result))
			return true;
		if (!v->failed)
			diag_error(v->d, CAVE_PROOF_FAILED, v->p->at,
				   "the program for %s does not count what it refuses, or not as what it is",
				   artefact_hook_name(hook));
		v->failed = true;
		return false;
	}
	if (!v->failed)
		diag_error(v->d, CAVE_PROOF_FAILED, v->p->at,
			   "the program for %s does what the kernel would not load",
			   artefact_hook_name(hook));
	v->failed = true;
	return false;
}

void put_words(uint32_t word[4], struct net_addr a)
{
	word[0] = htonl((uint32_t)(a.hi >> 32));
	word[1] = htonl((uint32_t)a.hi);
	word[2] = htonl((uint32_t)(a.lo >> 32));
	word[3] = htonl((uint32_t)a.lo);
}

static void put_sock_addr(struct bpf_sock_addr *ctx, int protocol, struct point at, uint16_t port)
{
	memset(ctx, 0, sizeof *ctx);
	ctx->user_family = ctx->family = at.family == NET_V4 ? AF_INET : AF_INET6;
	ctx->user_port = htons(port);
	ctx->protocol = (uint32_t)protocol;
	ctx->type = protocol == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
	if (at.family == NET_V4)
		ctx->user_ip4 = htonl((uint32_t)at.addr.lo);
	else
		put_words(ctx->user_ip6, at.addr);
}

/* A lookup: whatever address it is sent to, it goes to the run's resolver if there is one. */
static bool is_led(const struct prover *v, const struct question *q, struct point *to, uint16_t *port)
{
	bool mapped = q->at.family == NET_V6 && reference_normal(q->at).family == NET_V4;
	bool four = q->at.family == NET_V4 || mapped;
	bool datagram = q->hook == CAVE_HOOK_SENDMSG4 || q->hook == CAVE_HOOK_SENDMSG6;
	bool call = datagram || q->hook == CAVE_HOOK_CONNECT4 || q->hook == CAVE_HOOK_CONNECT6;

	if (!v->names || !call || q->port != 53 || (q->protocol != IPPROTO_UDP && (datagram || q->protocol != IPPROTO_TCP)))
		return false;
	*port = four ? v->names->port4 : v->names->port6;
	*to = q->at;
	to->addr = (struct net_addr){ 0, four ? 0x7f000001 | (mapped ? (uint64_t)0xffff << 32 : 0) : 1 };
	return *port != 0;
}

/*
 * An address given to connect, sendmsg or bind.  `want_at` is what the context must hold
 * afterwards, where the call goes on.
 */
void ask_sock_addr(struct prover *v, const struct question *q, bool want, struct point want_at)
{
	struct bpf_sock_addr ctx, after;
	struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx };
	uint16_t port = q->port;
	uint64_t result;

	put_sock_addr(&ctx, q->protocol, q->at, q->port);
	if (!run_program(v, q->hook, &in, &result))
		return;
	if (!want && is_led(v, q, &want_at, &port))
		want = true;
	put_sock_addr(&after, q->protocol, want_at, port);
	if ((result == 1) != want || (want && memcmp(&ctx, &after, sizeof ctx)))
		disagree(v, q, want);
}

struct wire make_packet(enum net_family family, int protocol, struct net_addr source,
			uint16_t source_port)
{
	struct wire w = { .size = family == NET_V4 ? 20 : 40 };
	uint32_t word[4];

	put_words(word, source);
	if (family == NET_V4) {
		w.byte[0] = 0x45;
		w.byte[6] = 0x40; /* don't fragment */
		w.byte[8] = 64;
		w.byte[9] = (uint8_t)protocol;
		memcpy(w.byte + 12, word + 3, 4);
	} else {
		w.byte[0] = 0x60;
		w.byte[6] = (uint8_t)protocol;
		memcpy(w.byte + 8, word, 16);
	}
	w.byte[w.size] = (uint8_t)(source_port >> 8);
	w.byte[w.size + 1] = (uint8_t)source_port;
	if (protocol == IPPROTO_TCP)
		w.byte[w.size + 13] = ACK;
	w.size += protocol == IPPROTO_TCP ? 20 : 8;
	return w;
}

void ask_packet(struct prover *v, const struct question *q, struct __sk_buff *ctx,
		const struct wire *w, bool want)
{
	struct ebpf_input in = {
		.ctx = ctx, .ctx_size = sizeof *ctx, .packet = w->byte, .packet_size = w->size
	};
	uint64_t result;

	if (!ctx->ifindex)
		ctx->ifindex = CAVE_NAMES_DEVICE;
	if (run_program(v, q->hook, &in, &result) && (result == 1) != want)
		disagree(v, q, want);
}

/* The socket side of an outgoing packet; `peer` may be mapped, then the socket is of IPv6. */
void put_peer(struct __sk_buff *ctx, struct point peer, uint16_t port)
{
	ctx->family = peer.family == NET_V4 ? AF_INET : AF_INET6;
	ctx->remote_ip4 = peer.family == NET_V4 ? htonl((uint32_t)peer.addr.lo) : 0;
	put_words(ctx->remote_ip6, peer.family == NET_V4 ? (struct net_addr){ 0, 0 } : peer.addr);
	ctx->remote_port = (uint32_t)htons(port)
			   << 16; /* bpf_convert_ctx_access, net/core/filter.c */
}

void put_destination(struct wire *w, struct net_addr to, uint16_t port)
{
	bool six = w->byte[0] >> 4 == 6;
	size_t header = six ? 40 : 20;
	uint32_t word[4];

	put_words(word, to);
	memcpy(w->byte + (six ? 24 : 16), six ? word : word + 3, six ? 16 : 4);
	w->byte[header + 2] = (uint8_t)(port >> 8);
	w->byte[header + 3] = (uint8_t)port;
}

struct point mapped(struct point v4)
{
	return (struct point){ .family = NET_V6,
			       .addr = { 0, (uint64_t)0xffff << 32 | v4.addr.lo } };
}
