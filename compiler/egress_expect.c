/* SPDX-License-Identifier: MIT */
/*
 * expect { allow|deny connect tcp ADDRESS port N }: the emitted programs are run on it, in every hook that a call to
 * the address can meet and in every spelling of it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/artefact.h"
#include "bpf/nat64.h"
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

/* --- what is known at the start only -------------------------------------------------------------------- */

/* The question whether any hook lets it through: the one that does disagrees. */
static struct connect_expectation denied(const struct connect_expectation *x)
{
	struct connect_expectation deny = *x;

	deny.allow = false;
	return deny;
}

bool egress_resolver_reached(const struct connect_expectation *x, const struct hook_program *hook)
{
	struct connect_expectation deny = denied(x);
	const struct artefact_address server = {
		x->family == NET_V6,
		{ (uint32_t)(x->to.hi >> 32), (uint32_t)x->to.hi, (uint32_t)(x->to.lo >> 32), (uint32_t)x->to.lo },
	};
	struct arena scratch = { 0 };
	struct hook_program filled[CAVE_HOOK_COUNT];
	bool reached;

	for (int h = 0; hook && h < CAVE_HOOK_COUNT; h++) {
		struct bpf_insn *insn = ARENA_ARRAY(&scratch, hook[h].n + 1, struct bpf_insn);

		if (hook[h].n)
			memcpy(insn, hook[h].insn, hook[h].n * sizeof *insn);
		artefact_resolver_fill(hook[h].patch, hook[h].npatches, (enum cave_hook)h, &server, 1, insn);
		filled[h] = hook[h];
		filled[h].insn = insn;
	}
	reached = egress_disagrees(&deny, hook ? filled : NULL);
	arena_free(&scratch);
	return reached;
}

static bool in_ranges(const struct host_range *range, size_t n, struct net_addr a)
{
	for (size_t i = 0; i < n; i++)
		if (net_addr_cmp(range[i].lo, a) <= 0 && net_addr_cmp(a, range[i].hi) <= 0)
			return true;
	return false;
}

/* The IPv4 address that a prefix of so many bits, which is not looked at, carries in the IPv6 address. */
static enum nat64_carried carried_by(struct net_addr a, unsigned length, struct net_addr *v4)
{
	const uint32_t word[4] = { (uint32_t)(a.hi >> 32), (uint32_t)a.hi, (uint32_t)(a.lo >> 32), (uint32_t)a.lo };
	struct nat64 prefix = { .length = length };
	uint32_t carried = 0;
	enum nat64_carried c;

	memcpy(prefix.word, word, sizeof word);
	c = nat64_decode(&prefix, word, &carried);
	*v4 = (struct net_addr){ 0, carried };
	return c;
}

/*
 * True if an answer of this address may be taken to lie in the place: it does, or what it carries does by the
 * well-known prefix, or by one that the operator of some host may name (runtime/names_judge.c).
 */
static bool may_lie_in(const struct host_set *set, const struct host_place *place, enum net_family family,
		       struct net_addr a)
{
	static const unsigned lengths[] = { 32, 40, 48, 56, 64, 96 };
	const bool known = family == NET_V6 && a.hi == UINT64_C(0x0064ff9b00000000) && a.lo >> 32 == 0;
	struct net_addr v4;

	if (!known && in_ranges(place->range[family], place->n[family], a))
		return true;
	for (size_t i = 0; family == NET_V6 && i < sizeof lengths / sizeof *lengths; i++)
		if ((known ? lengths[i] == 96 : a.hi >> 48 != 0) && carried_by(a, lengths[i], &v4) == NAT64_CARRIED &&
		    in_ranges(place->range[NET_V4], place->n[NET_V4], v4) && !in_ranges(set->shut, set->nshut, v4))
			return true;
	return false;
}

const struct host_grant *egress_led_there(const struct connect_expectation *x, const struct hook_program *hook,
					  const struct host_set *set)
{
	struct connect_expectation deny = denied(x);
	uint32_t open = 0;

	for (uint32_t c = 0; set && c < set->nclasses; c++)
		open |= egress_disagrees_live(&deny, hook, UINT32_C(1) << c) ? UINT32_C(1) << c : 0;
	for (size_t i = 0; open && i < set->ngrants; i++)
		if (open >> set->grant[i].class & 1 &&
		    may_lie_in(set, &set->place[set->grant[i].place], x->family, x->to))
			return &set->grant[i];
	return NULL;
}

/* --- judging ------------------------------------------------------------------------------------------- */

static void failed(struct diags *d, const struct connect_expectation *x, const char *hook)
{
	struct diag *e = diag_error(d, CAVE_EXPECTATION_FAILED, x->at, "the programs do not keep this");

	diag_note(d, e, nowhere, "%s %s port %u is %s by %s", x->proto == NET_TCP ? "tcp" : "udp",
		  addr_show(x->family, x->to).s, x->port, x->allow ? "refused" : "allowed", hook);
}

/* The line that leads there, and what makes a deny hold. */
static void explain_led(struct diags *d, struct diag *e, const struct connect_expectation *x, const struct policy *p,
			const struct host_grant *led)
{
	struct span at = nowhere;

	for (size_t i = 0; i < p->nhost_rules; i++)
		if (p->host_rule[i].allow && p->host_rule[i].line == led->line)
			at = p->host_rule[i].at;
	diag_note(d, e, at, "a lookup of %s%s may lead there", led->name.below ? "*." : "", led->name.name);
	if (!x->allow)
		diag_note(d, e, nowhere,
			  "it holds with `deny %s`, which wins over names, or with a `within` that lacks it",
			  addr_show(x->family, x->to).s);
}

static bool is_certain(struct diags *d, const struct connect_expectation *x, const struct policy *p,
		       const struct hook_program *hook, const struct host_set *set)
{
	const struct host_grant *led = egress_led_there(x, hook, set);
	struct diag *e;

	if (led) {
		e = diag_error(d, CAVE_EXPECTATION_FAILED, x->at, "this is not certain: a granted name may lead there");
		explain_led(d, e, x, p, led);
		return false;
	}
	if (!p->resolver || !egress_resolver_reached(x, hook))
		return true;
	e = diag_error(d, CAVE_EXPECTATION_FAILED, x->at, "this is not certain: it may be a name server of the host");
	diag_note(d, e, p->resolver_at, "by this line it is reached then");
	if (!x->allow)
		diag_note(d, e, nowhere, "it holds with `deny %s`, which holds for name servers as well",
			  addr_show(x->family, x->to).s);
	return false;
}

/* What is refused as the programs stand may be allowed once names are looked up, and name servers are filled in. */
static bool holds(struct diags *d, const struct connect_expectation *x, const struct policy *p,
		  const struct hook_program *hook, const struct host_set *set)
{
	const char *disagrees = egress_disagrees(x, hook);

	if (!disagrees)
		return x->allow || is_certain(d, x, p, hook, set);
	if (!x->allow || is_certain(d, x, p, hook, set))
		failed(d, x, disagrees);
	return false;
}

bool egress_expect(struct diags *d, const struct policy *p, const struct hook_program *hook,
		   const struct host_set *set)
{
	bool all = true;

	for (size_t i = 0; i < p->nconnects; i++)
		all &= holds(d, &p->connect[i], p, hook, set);
	return all;
}
