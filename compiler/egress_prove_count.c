/* SPDX-License-Identifier: MIT */
/*
 * The proof of what is counted: every question that a program refuses is one more in the map, under what was asked for,
 * and nothing else is.
 */
#include "compiler/egress_prover.h"

#include <arpa/inet.h>
#include <string.h>

#include "bpf/artefact.h"
#include "bpf/vm.h"

static uint32_t number_at(const struct ebpf_input *in, size_t at, size_t size)
{
	if (at + size > in->packet_size)
		return 0;
	return size == 1 ? in->packet[at] : (uint32_t)(in->packet[at] << 8 | in->packet[at + 1]);
}

static void name_packet(const struct ebpf_input *in, struct cave_denial *out)
{
	bool six = in->packet_size && (in->packet[0] & 0xf0) == 0x60;
	size_t at = six ? 24 : 16, size = six ? 16 : 4;

	out->protocol = number_at(in, six ? 6 : 9, 1);
	out->port = number_at(in, six ? 42 : 22, 2);
	if (six)
		memset(out->word, 0, sizeof out->word);
	if (at + size <= in->packet_size)
		memcpy((uint8_t *)out->word + sizeof out->word - size, in->packet + at, size);
}

static void name_call(enum cave_hook hook, const struct bpf_sock_addr *ctx, struct cave_denial *out)
{
	out->protocol = ctx->protocol;
	out->port = ntohs((uint16_t)ctx->user_port);
	if (hook == CAVE_HOOK_CONNECT4 || hook == CAVE_HOOK_SENDMSG4 || hook == CAVE_HOOK_BIND4)
		out->word[3] = ctx->user_ip4;
	else
		memcpy(out->word, ctx->user_ip6, sizeof out->word);
}

static struct cave_denial name_of(enum cave_hook hook, const struct ebpf_input *in)
{
	struct cave_denial d = { .hook = (uint32_t)hook, .word = { 0, 0, htonl(0xffff), 0 } };
	const struct bpf_sock *sock = in->ctx;

	if (hook == CAVE_HOOK_EGRESS || hook == CAVE_HOOK_INGRESS) {
		name_packet(in, &d);
	} else if (hook == CAVE_HOOK_SOCK_CREATE) {
		d.protocol = sock->protocol;
		d.port = sock->family;
	} else {
		name_call(hook, in->ctx, &d);
	}
	return d;
}

struct ebpf_map *find_map(const struct prover *v, const char *name)
{
	const struct map_list *maps = v->hook->maps;

	for (size_t i = 0; maps && i < maps->n; i++)
		if (!strcmp(maps->map[i].name, name))
			return &v->map[i];
	return NULL;
}

bool is_counted(struct prover *v, enum cave_hook hook, const struct ebpf_input *in, bool refused)
{
	struct ebpf_map *map = v->denials;
	struct cave_denial name;
	const uint8_t *found;
	uint64_t count = 0;

	if (!map)
		return !v->hook[hook].maps;
	if (map->n != refused)
		return false;
	if (!refused)
		return true;
	name = name_of(hook, in);
	found = ebpf_map_find(map, &name);
	if (found)
		memcpy(&count, found, sizeof count);
	ebpf_map_delete(map, map->entry[0]);
	return count == 1;
}

/* What every policy refuses in a hook: of `which`, one or another. */
struct refused {
	union {
		struct bpf_sock_addr addr;
		struct bpf_sock sock;
		struct __sk_buff skb;
	} ctx;
	uint8_t packet[64];
};

static void make_refused(enum cave_hook hook, uint8_t which, struct refused *r)
{
	memset(r, 0, sizeof *r);
	if (hook == CAVE_HOOK_EGRESS || hook == CAVE_HOOK_INGRESS)
		r->packet[9] = (uint8_t)(250 + which); /* of no version that there is */
	else if (hook == CAVE_HOOK_SOCK_CREATE)
		r->ctx.sock.family = 100u + which;
	else
		r->ctx.addr.protocol = 250u + which;
}

/* The context and the packet, no two bytes of which are the same. */
static void make_distinct(uint8_t version, struct refused *r)
{
	uint8_t *byte = (uint8_t *)&r->ctx;

	for (size_t i = 0; i < sizeof r->ctx; i++)
		byte[i] = (uint8_t)(i + 1);
	r->ctx.addr.user_port = 0x2b3c; /* 16 bits */
	for (size_t i = 0; i < sizeof r->packet; i++)
		r->packet[i] = (uint8_t)(128 + i);
	r->packet[0] = version;
}

static bool counts_this(struct prover *v, enum cave_hook hook, size_t at, struct refused *r, size_t size)
{
	const struct hook_program *h = &v->hook[hook];
	struct ebpf_input in = { .ctx = &r->ctx, .ctx_size = sizeof r->ctx, .packet = r->packet, .packet_size = size,
				 .map = v->map, .nmaps = v->nmaps };
	uint64_t result;

	return ebpf_run_from(h->insn, h->n, at, &in, &result) && !result && is_counted(v, hook, &in, true);
}

/* Packets of each version, as long as is looked at and one byte shorter. */
bool counts_from(struct prover *v, enum cave_hook hook, size_t at)
{
	static const uint8_t version[] = { 0x45, 0x60, 0x6f, 0, 0xf5 };
	static const size_t size[] = { 64, 0, 1, 6, 7, 9, 10, 19, 20, 23, 24, 39, 40, 43, 44 };
	const bool packet = hook == CAVE_HOOK_EGRESS || hook == CAVE_HOOK_INGRESS;
	struct refused r;

	for (size_t i = 0; i < (packet ? sizeof version : 1); i++)
		for (size_t k = 0; k < (packet && i < 2 ? sizeof size / sizeof *size : 1); k++) {
			make_distinct(version[i], &r);
			if (!counts_this(v, hook, at, &r, size[k]))
				return false;
		}
	return true;
}

/* One place is left, then none; and what is counted twice is one entry. */
static bool counts_all(struct prover *v, enum cave_hook hook, struct ebpf_map *map, struct ebpf_map *rest)
{
	const struct hook_program *h = &v->hook[hook];
	uint64_t result = 1, lost = 0;
	struct refused r;
	struct ebpf_input in = { .ctx = &r.ctx, .ctx_size = sizeof r.ctx, .packet = r.packet,
				 .packet_size = sizeof r.packet, .map = v->map, .nmaps = v->nmaps };
	bool right = true;

	for (uint8_t i = 0; i < 4 && right; i++) {
		make_refused(hook, i > 1, &r);
		right = ebpf_run(h->insn, h->n, &in, &result, NULL) && !result;
	}
	if (right)
		memcpy(&lost, rest->value, sizeof lost);
	right = right && lost == 2 && map->n == 1;
	if (right)
		memcpy(&lost, map->entry[0] + sizeof(struct cave_denial), sizeof lost);
	right = right && lost == 2;
	while (map->n)
		ebpf_map_delete(map, map->entry[0]);
	memset(rest->value, 0, sizeof lost);
	return right;
}

void prove_counting(struct prover *v)
{
	struct ebpf_map *map = find_map(v, CAVE_DENIALS_MAP), *rest = find_map(v, CAVE_UNCOUNTED_MAP);

	if (!map || !rest)
		return;
	map->spec.max_entries = 1;
	for (int hook = 0; hook < CAVE_HOOK_NAMES && !v->failed; hook++) {
		if (counts_all(v, (enum cave_hook)hook, map, rest))
			continue;
		v->failed = true;
		diag_error(v->d, CAVE_PROOF_FAILED, v->p->at, "the program for %s does not count what it refuses",
			   artefact_hook_name((enum cave_hook)hook));
	}
}
