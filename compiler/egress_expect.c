/* SPDX-License-Identifier: MIT */
/*
 * expect { allow|deny connect tcp ADDRESS port N }: the emitted programs are run on it, in every hook that a call to
 * the address can meet and in every spelling of it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/vm.h"
#include "cave/names.h"
#include "compiler/ast.h"
#include "compiler/egress.h"
#include "compiler/egress_addr.h"

static const struct span nowhere;

static bool is_word(const struct node *n, const char *word)
{
	return n && n->kind == N_WORD && strcmp(n->text, word) == 0;
}

static bool parse_protocol(const struct node *n, enum net_proto *out)
{
	*out = is_word(n, "tcp") ? NET_TCP : NET_UDP;
	return is_word(n, "tcp") || is_word(n, "udp");
}

bool egress_parse_expectation(struct diags *d, const struct node *expectation, struct connect_expectation *out)
{
	const struct node *proto = expectation->kids->next, *to = proto ? proto->next : NULL;
	const struct node *port = to ? to->next : NULL;
	struct net_operand operand[2];
	struct net_ports ports;

	*out = (struct connect_expectation){ .allow = strcmp(expectation->text, "allow") == 0, .at = expectation->at };
	if (!parse_protocol(proto, &out->proto) || !to || to->kind != N_WORD || !is_word(port, "port") || !port->next ||
	    port->next->kind != N_WORD || port->next->next) {
		diag_note(d, diag_error(d, CAVE_SYNTAX, expectation->at, "this expects nothing of one destination"), nowhere,
			  "write: %s connect tcp ADDRESS port N, or udp", expectation->text);
		return false;
	}
	if (egress_parse_address(d, to->text, to->at, operand) == 0 ||
	    !egress_parse_port(d, port->next->text, port->next->at, &ports))
		return false;
	if (net_addr_cmp(operand[0].lo, operand[0].hi) != 0 || ports.lo != ports.hi) {
		diag_error(d, CAVE_VALUE, to->at, "an expectation names one address and one port");
		return false;
	}
	out->family = operand[0].family;
	out->to = operand[0].lo;
	out->port = ports.lo;
	return true;
}

/* --- running ------------------------------------------------------------------------------------------ */

/* The address as a hook of IPv6 sees it: an IPv4 one is mapped. */
static void put_address6(struct bpf_sock_addr *ctx, enum net_family family, struct net_addr a)
{
	uint64_t lo = family == NET_V4 ? a.lo | UINT64_C(0xffff) << 32 : a.lo;

	ctx->user_ip6[0] = htonl((uint32_t)(a.hi >> 32));
	ctx->user_ip6[1] = htonl((uint32_t)a.hi);
	ctx->user_ip6[2] = htonl((uint32_t)(lo >> 32));
	ctx->user_ip6[3] = htonl((uint32_t)lo);
}

enum { RUN = 1, NOW = 1000000000 };

/* The address as the runtime puts it where the programs look. */
static bool put_live(const struct map_list *maps, struct ebpf_map *map, const struct connect_expectation *x,
		     uint32_t classes)
{
	struct cave_names_key key = { .run = RUN, .address = { (uint32_t)(x->to.hi >> 32), (uint32_t)x->to.hi,
							       (uint32_t)(x->to.lo >> 32), (uint32_t)x->to.lo } };
	struct cave_names_until value = { { 0 } };
	size_t i = 0;

	if (x->family == NET_V4)
		key.address[2] = 0xffff;
	for (unsigned c = 0; c < CAVE_HOST_CLASSES; c++)
		value.until[c] = classes >> c & 1 ? NOW + 1 : 0;
	while (i < maps->n && strcmp(maps->map[i].name, CAVE_NAMES_LIVE_MAP) != 0)
		i++;
	return i < maps->n && !ebpf_map_set(&map[i], &key, &value, BPF_ANY);
}

static bool allowed_by(const struct hook_program *h, const struct connect_expectation *x, bool v6, uint32_t classes)
{
	struct bpf_sock_addr ctx = {
		.user_family = v6 ? AF_INET6 : AF_INET,
		.family = v6 ? AF_INET6 : AF_INET,
		.user_port = htons(x->port),
		.type = x->proto == NET_TCP ? SOCK_STREAM : SOCK_DGRAM,
		.protocol = x->proto == NET_TCP ? IPPROTO_TCP : IPPROTO_UDP,
	};
	struct arena scratch = { 0 };
	struct ebpf_input in = {
		.ctx = &ctx,
		.ctx_size = sizeof ctx,
		.map = ebpf_maps(&scratch, h->maps),
		.nmaps = h->maps ? h->maps->n : 0,
		.cgroup = RUN,
		.now = NOW,
	};
	uint64_t result = 0;
	bool good = !classes || (h->maps && put_live(h->maps, in.map, x, classes));

	if (v6)
		put_address6(&ctx, x->family, x->to);
	else
		ctx.user_ip4 = htonl((uint32_t)x->to.lo);
	good = good && ebpf_run(h->insn, h->n, &in, &result, NULL);
	arena_free(&scratch);
	return good && result == 1;
}

static void failed(struct diags *d, const struct connect_expectation *x, const char *hook)
{
	struct diag *e = diag_error(d, CAVE_EXPECTATION_FAILED, x->at, "the programs do not keep this");

	diag_note(d, e, nowhere, "%s %s port %u is %s by %s", x->proto == NET_TCP ? "tcp" : "udp",
		  addr_show(x->family, x->to).s, x->port, x->allow ? "refused" : "allowed", hook);
}

const char *egress_disagrees(const struct connect_expectation *x, const struct hook_program *hook)
{
	return egress_disagrees_live(x, hook, 0);
}

const char *egress_disagrees_live(const struct connect_expectation *x, const struct hook_program *hook,
				  uint32_t classes)
{
	static const struct {
		enum cave_hook hook;
		bool v6, datagram;
		const char *name;
	} asked[] = {
		{ CAVE_HOOK_CONNECT4, false, false, "connect4" },
		{ CAVE_HOOK_CONNECT6, true, false, "connect6" },
		{ CAVE_HOOK_SENDMSG4, false, true, "sendmsg4" },
		{ CAVE_HOOK_SENDMSG6, true, true, "sendmsg6" },
	};

	if (!hook)
		return x->allow ? "silence: nothing is granted" : NULL;
	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		if ((asked[i].datagram && x->proto != NET_UDP) || (!asked[i].v6 && x->family != NET_V4) ||
		    allowed_by(&hook[asked[i].hook], x, asked[i].v6, classes) == x->allow)
			continue;
		return asked[i].name;
	}
	return NULL;
}

static bool holds(struct diags *d, const struct connect_expectation *x, const struct hook_program *hook)
{
	const char *disagrees = egress_disagrees(x, hook);

	if (disagrees)
		failed(d, x, disagrees);
	return !disagrees;
}

bool egress_expect(struct diags *d, const struct policy *p, const struct hook_program *hook)
{
	bool all = true;

	for (size_t i = 0; i < p->nconnects; i++)
		all &= holds(d, &p->connect[i], hook);
	return all;
}
