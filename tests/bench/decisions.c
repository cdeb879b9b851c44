/* SPDX-License-Identifier: MIT */
/*
 * Ten rules: how many instructions the programs execute for a decision, beside the least comparisons that any tree can
 * do with.  The interpreter counts them; addresses and ports are taken from all over what the rules distinguish.
 */
#include <arpa/inet.h>
#include <linux/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "bpf/vm.h"
#include "tests/unit/egress_rules.h"

struct tally {
	size_t n, steps, least, most;
};

static size_t run(const struct compile *c, struct ebpf_map *map, uint32_t address, uint16_t port, bool *allowed)
{
	const struct hook_program *h = &c->hook[CAVE_HOOK_CONNECT4];
	struct bpf_sock_addr ctx = { .user_family = AF_INET, .family = AF_INET, .type = SOCK_STREAM,
				     .protocol = IPPROTO_TCP, .user_ip4 = htonl(address), .user_port = htons(port) };
	struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx, .map = map, .nmaps = h->maps->n };
	uint64_t result = 0;
	size_t steps = 0;

	if (!ebpf_run(h->insn, h->n, &in, &result, &steps))
		return 0;
	*allowed = result == 1;
	return steps;
}

static void add(struct tally *t, size_t steps)
{
	t->least = t->n && t->least < steps ? t->least : steps;
	t->most = t->most > steps ? t->most : steps;
	t->steps += steps;
	t->n++;
}

/* The mean depth of the leaves of a binary tree that is as balanced as it can be. */
static double least_comparisons(size_t leaves)
{
	size_t whole = 0;

	while ((size_t)2 << whole <= leaves)
		whole++;
	return (double)whole + 2.0 * (double)(leaves - ((size_t)1 << whole)) / (double)leaves;
}

static void print(const char *what, const struct tally *t)
{
	if (t->n)
		printf("%-32s mean %6.1f, least %3zu, most %3zu instructions (%zu decisions)\n", what,
		       (double)t->steps / (double)t->n, t->least, t->most, t->n);
}

/* One address of each interval and of each gap, with a port of each range of the interval's and one beside. */
static void measure(const struct compile *c, struct ebpf_map *map)
{
	const struct net_cell *cell = &c->set.cell[NET_TCP][NET_V4];
	struct tally allowed = { 0, 0, 0, 0 }, refused = allowed;
	size_t leaves = 1;

	for (size_t i = 0; i < cell->n; i++) {
		const struct net_portset *p = &c->set.portset[cell->interval[i].ports];
		const uint32_t lo = (uint32_t)cell->interval[i].lo.lo, next = (uint32_t)cell->interval[i].hi.lo + 1;

		for (size_t k = 0; k < p->n; k++) {
			const uint16_t port[] = { p->range[k].lo, (uint16_t)(p->range[k].hi + 1u) };

			for (size_t x = 0; x < 4; x++) {
				bool yes = false;
				size_t steps = run(c, map, x / 2 ? next : lo, port[x % 2], &yes);

				add(yes ? &allowed : &refused, steps);
			}
		}
		leaves += 2 * p->n + 1;
	}
	print("connect4, TCP, allowed", &allowed);
	print("the same, refused and counted", &refused);
	printf("%-32s %zu of addresses and ports: at least %.1f comparisons in the mean\n", "regions", leaves,
	       least_comparisons(leaves));
}

int main(void)
{
	char text[2048];
	size_t at = 0;
	struct compile c;

	for (int i = 1; i <= 10; i++)
		at += (size_t)snprintf(text + at, sizeof text - at,
				       "allow tcp 10.%d.0.0/16 except 10.%d.7.0/24 port 443,8000-80%d\n", i, i, 10 + i);
	compile_init(&c);
	compile_read(&c, text);
	if (!compile_generate(&c)) {
		fputs("decisions: the rules do not compile\n", stderr);
		return 1;
	}
	measure(&c, ebpf_maps(&c.arena, c.hook->maps));
	compile_free(&c);
	return 0;
}
