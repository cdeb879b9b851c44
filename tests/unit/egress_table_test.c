/* SPDX-License-Identifier: MIT */
/*
 * Tables: what they hold is proved as the programs are.  Keys and numbers are damaged one at a time, and instructions
 * of the search; the proof has to find each damage.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/egress_table.h"
#include "bpf/vm.h"
#include "tests/unit/egress_rules.h"
#include "tests/unit/unit.h"

enum { RULES = TREE_INTERVALS + 4, EVERY = 7 };

/* Ranges that do not touch, with ports in turn; of IPv6 also some that begin within the second and third digit. */
static char *many_rules(struct arena *a)
{
	char *text = arena_alloc(a, RULES * 160), *p = text;

	for (unsigned i = 0; i < RULES; i++)
		p += sprintf(p, "allow tcp,udp 10.1.%u.8/29,2001:db8:%x::/%u port %u,%u-%u\n", i, i + 1, 48 + i % 80, 1000 + i,
			     20000 + 10 * i, 20005 + 10 * i);
	sprintf(p, "deny tcp 10.1.3.9\ndeny udp 2001:db8:5::1 port 1004\n");
	return text;
}

static bool proof_finds(const struct compile *c, const struct hook_program *hook)
{
	struct arena arena = { 0 };
	struct sources sources;
	struct diags diags;
	bool found;

	sources_init(&sources, &arena);
	diags_init(&diags, &sources);
	found = !egress_prove(&diags, &c->policy, hook) && diags.errors == 1 &&
		diags.first->code == CAVE_PROOF_FAILED;
	arena_free(&arena);
	return found;
}

/* One word of a table, up or down by one. */
static unsigned damage_table(const struct compile *c, size_t map, size_t at, int by)
{
	const struct map_def *def = &c->hook->maps->map[map];
	struct hook_program hook[CAVE_HOOK_COUNT];
	struct map_def *maps = malloc(c->hook->maps->n * sizeof *maps);
	struct map_list list = { maps, c->hook->maps->n };
	uint8_t *copy = malloc(def->spec.value_size);
	uint32_t word;
	bool found;

	memcpy(copy, def->contents, def->spec.value_size);
	memcpy(&word, copy + at, sizeof word);
	word = (uint32_t)((int64_t)word + by);
	memcpy(copy + at, &word, sizeof word);
	memcpy(maps, c->hook->maps->map, list.n * sizeof *maps);
	maps[map].contents = copy;
	memcpy(hook, c->hook, sizeof hook);
	for (int h = 0; h < CAVE_HOOK_COUNT; h++)
		hook[h].maps = &list;
	found = proof_finds(c, hook);
	free(copy);
	free(maps);
	return !found;
}

/* In a table of IPv4 the keys are the first half, but for one that may be padding; the first key is 0. */
static void test_contents(const struct compile *c)
{
	for (size_t map = 0; map < c->hook->maps->n; map++) {
		const struct map_def *def = &c->hook->maps->map[map];
		size_t n = def->spec.value_size / 8, made = 0, missed = 0;

		if (!def->contents || strncmp(def->name, "to", 2) || !strchr(def->name, '4'))
			continue;
		for (size_t i = 1; i + 1 < n; i += EVERY) {
			missed += damage_table(c, map, 4 * i, 1) + damage_table(c, map, 4 * i, -1);
			missed += damage_table(c, map, def->spec.value_size / 2 + 4 * i, 1);
			made += 3;
		}
		check(made && !missed, "%s: of %zu faults %zu are missed", def->name, made, missed);
	}
}

/* --- whether a fault makes a difference ----------------------------------- */

/* The program's answer about a destination: of a call, or of a packet whose socket has it for a peer. */
static uint64_t answer(const struct hook_program *h, struct ebpf_map *map, const uint8_t to[16], int protocol,
		       uint16_t port)
{
	struct bpf_sock_addr addr = { .family = AF_INET6, .user_family = AF_INET6, .protocol = (uint32_t)protocol,
				      .type = protocol == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM, .user_port = htons(port) };
	struct __sk_buff skb = { .family = AF_INET6, .ifindex = 1, .remote_port = (uint32_t)htons(port) << 16 };
	uint8_t packet[60] = { 0x60, [6] = (uint8_t)protocol, [23] = 1, [42] = (uint8_t)(port >> 8), [43] = (uint8_t)port };
	const bool call = h->hook == CAVE_HOOK_CONNECT6;
	struct ebpf_input in = { .ctx = call ? (void *)&addr : &skb, .ctx_size = call ? sizeof addr : sizeof skb,
				 .packet = packet, .packet_size = call ? 0 : sizeof packet, .map = map, .nmaps = h->maps->n };
	uint64_t result;

	memcpy(addr.user_ip6, to, 16);
	memcpy(skb.remote_ip6, to, 16);
	memcpy(packet + 24, to, 16);
	return ebpf_run(h->insn, h->n, &in, &result, NULL) && result <= 1 ? result : 2;
}

/* One before, the first, the last and one after of a rule's addresses, and what is denied. */
static void boundary(unsigned rule, unsigned which, uint8_t to[16])
{
	const unsigned prefix = 48 + rule % 80;

	inet_pton(AF_INET6, "2001:db8::", to);
	to[5] = (uint8_t)(rule + 1);
	if (which == 4)
		to[15] = 1;
	if (which >= 4)
		return;
	if (which == 1 || which == 3)
		for (unsigned bit = prefix; bit < 128; bit++)
			to[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	if (which >= 2)
		for (int i = 15; i >= 0 && (which == 2 ? to[i]-- == 0 : ++to[i] == 0); i--)
			;
}

/*
 * Whether some boundary of IPv6 is answered differently.  A search among three looks at the last twice where it is
 * made to look at it too early, and finds the same.
 */
static bool differs(const struct hook_program *right, const struct hook_program *wrong)
{
	struct arena arena = { 0 };
	struct ebpf_map *map = ebpf_maps(&arena, right->maps);
	bool found = false;

	for (unsigned i = 0; i < RULES * 6 * 4 && !found; i++) {
		const unsigned rule = i / 24, ports[] = { 1000 + rule, 1001 + rule, 20000 + 10 * rule, 20006 + 10 * rule };
		uint8_t to[16];

		boundary(rule, i % 6, to);
		for (int p = 0; p < 2; p++)
			found |= answer(right, map, to, p ? IPPROTO_TCP : IPPROTO_UDP, (uint16_t)ports[i / 6 % 4]) !=
				 answer(wrong, map, to, p ? IPPROTO_TCP : IPPROTO_UDP, (uint16_t)ports[i / 6 % 4]);
	}
	arena_free(&arena);
	return found;
}

/* Steps of the search: their lengths, signs, differences and sums. */
static bool damage_step(struct bpf_insn *insn)
{
	switch (insn->code) {
	case BPF_ALU64 | BPF_MUL | BPF_K:
	case BPF_ALU64 | BPF_RSH | BPF_K:
		insn->imm >>= 1;
		return true;
	case BPF_ALU64 | BPF_SUB | BPF_X:
		insn->code = BPF_ALU64 | BPF_ADD | BPF_X;
		return true;
	case BPF_LDX | BPF_MEM | BPF_DW:
		insn->off = (int16_t)(insn->off + 8);
		return true;
	default:
		return false;
	}
}

/* The function that decides on IPv6 is the last one behind either program. */
static void test_search(const struct compile *c)
{
	const struct function_list *functions = c->hook->functions;
	const size_t search = functions->function[functions->n - 1].n;
	static const enum cave_hook damaged[] = { CAVE_HOOK_CONNECT6, CAVE_HOOK_EGRESS };
	size_t made = 0, told = 0, missed = 0;

	for (size_t d = 0; d < sizeof damaged / sizeof *damaged; d++) {
		const struct hook_program *right = &c->hook[damaged[d]];
		struct bpf_insn *copy = malloc(right->n * sizeof *copy);
		struct hook_program hook[CAVE_HOOK_COUNT];

		memcpy(hook, c->hook, sizeof hook);
		memcpy(copy, right->insn, right->n * sizeof *copy);
		hook[damaged[d]].insn = copy;
		for (size_t i = right->n - search; i < right->n; i++) {
			if (i % 2 == 0 && damage_step(&copy[i])) {
				made++;
				bool wrong = differs(right, &hook[damaged[d]]);

				told += wrong;
				missed += wrong && !proof_finds(c, hook);
			}
			copy[i] = right->insn[i];
		}
		free(copy);
	}
	check(2 * told > made && !missed, "of %zu faults in searches %zu make a difference at a boundary, %zu are missed",
	      made, told, missed);
}

int main(void)
{
	struct compile c;

	compile_init(&c);
	compile_read(&c, many_rules(&c.arena));
	if (check(compile_generate(&c) && egress_prove(&c.diags, &c.policy, c.hook), "a policy with tables is proved")) {
		test_contents(&c);
		test_search(&c);
	} else {
		diags_print(&c.diags, stdout);
	}
	compile_free(&c);
	return unit_done();
}
