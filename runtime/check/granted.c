/* SPDX-License-Identifier: MIT */
#include "runtime/check/granted.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/arena.h"
#include "bpf/program.h"
#include "bpf/vm.h"

/* The maps as they are when nothing has run yet. */
static struct ebpf_map *maps_of(struct arena *scratch, const struct artefact *a)
{
	struct map_def *def = ARENA_ARRAY(scratch, a->nmaps, struct map_def);
	const struct map_list list = { def, a->nmaps };

	for (size_t i = 0; i < a->nmaps; i++)
		def[i] = (struct map_def){ a->map[i].name, a->map[i].spec, a->map[i].contents };
	return ebpf_maps(scratch, &list);
}

static bool lets_through(const struct artefact *a, struct bpf_sock_addr *ctx)
{
	const enum cave_hook hook = ctx->family == AF_INET ? CAVE_HOOK_CONNECT4 : CAVE_HOOK_CONNECT6;
	struct artefact_whole whole;
	struct bpf_insn *insn;
	struct arena scratch = { 0 };
	struct ebpf_input in = { .ctx = ctx, .ctx_size = sizeof *ctx, .map = maps_of(&scratch, a), .nmaps = a->nmaps };
	uint64_t result = 0;
	size_t bad;
	bool good;

	artefact_whole(a, hook, &whole);
	insn = ARENA_ARRAY(&scratch, whole.n, struct bpf_insn);
	artefact_link(a, hook, &whole, insn);
	good = ebpf_check(insn, whole.n, &bad) && ebpf_run(insn, whole.n, &in, &result, NULL);
	arena_free(&scratch);
	return good && result == 1;
}

bool granted_reach(const struct artefact *a, const char *to, unsigned port, bool datagram)
{
	struct bpf_sock_addr ctx = {
		.user_family = AF_INET,
		.family = AF_INET,
		.user_port = htons((uint16_t)port),
		.type = datagram ? SOCK_DGRAM : SOCK_STREAM,
		.protocol = datagram ? IPPROTO_UDP : IPPROTO_TCP,
	};
	struct in6_addr six;
	struct in_addr four;

	if (!a->program[CAVE_HOOK_CONNECT4].n)
		return false;
	if (inet_pton(AF_INET, to, &four) == 1) {
		ctx.user_ip4 = four.s_addr;
		return lets_through(a, &ctx);
	}
	if (inet_pton(AF_INET6, to, &six) != 1)
		return false;
	ctx.family = ctx.user_family = AF_INET6;
	memcpy(ctx.user_ip6, &six, sizeof six);
	return lets_through(a, &ctx);
}
