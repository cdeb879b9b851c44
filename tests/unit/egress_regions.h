/* SPDX-License-Identifier: MIT */
/*
 * A policy's rules on TCP and IPv4 as regions of addresses and ports, and how many instructions connect4 executes for
 * each beside what every program has to; for the test and the benchmark of decisions.
 */
#ifndef CAVE_TESTS_EGRESS_REGIONS_H
#define CAVE_TESTS_EGRESS_REGIONS_H

#include <arpa/inet.h>
#include <linux/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bpf/vm.h"
#include "tests/unit/egress_least.h"
#include "tests/unit/egress_rules.h"

/* The context kept; the address, the port and the protocol loaded; two of them put in order; the answer, the end. */
enum { UNAVOIDABLE = 8 };

/* Where a region begins, and whose answer it has. */
struct region {
	uint32_t start;
	const struct net_portset *ports; /* NULL: none */
};

struct rules {
	struct compile c;
	struct region row[LEAST_ROWS];
	uint32_t column[LEAST_COLUMNS];
	struct least least;
};

static inline void add_column(struct rules *r, uint32_t start)
{
	size_t i = 0;

	while (i < r->least.columns && r->column[i] < start)
		i++;
	if (start > UINT16_MAX || (i < r->least.columns && r->column[i] == start))
		return;
	memmove(r->column + i + 1, r->column + i, (r->least.columns - i) * sizeof *r->column);
	r->column[i] = start;
	r->least.columns++;
}

static inline void add_row(struct rules *r, uint32_t start, const struct net_portset *ports)
{
	if (r->least.rows && r->row[r->least.rows - 1].start == start)
		r->least.rows--;
	r->row[r->least.rows++] = (struct region){ start, ports };
}

static inline bool reaches(const struct net_portset *p, uint32_t port)
{
	for (size_t k = 0; p && k < p->n; k++)
		if (p->range[k].lo <= port && port <= p->range[k].hi)
			return true;
	return false;
}

/* Address 0 is told apart from all others: the programs write another in its place. */
static inline void find_regions(struct rules *r)
{
	const struct net_cell *cell = &r->c.set.cell[NET_TCP][NET_V4];
	unsigned bit = 1;

	add_row(r, 0, NULL);
	add_row(r, 1, NULL);
	add_column(r, 0);
	for (size_t i = 0; i < cell->n; i++) {
		const struct net_portset *p = &r->c.set.portset[cell->interval[i].ports];

		add_row(r, (uint32_t)cell->interval[i].lo.lo, p);
		add_row(r, (uint32_t)cell->interval[i].hi.lo + 1, NULL);
		for (size_t k = 0; k < p->n; k++) {
			add_column(r, p->range[k].lo);
			add_column(r, p->range[k].hi + 1u);
		}
	}
	for (size_t i = 0; i < r->least.rows; i++)
		for (size_t k = 0; k < r->least.columns; k++)
			r->least.answer[i][k] = i ? reaches(r->row[i].ports, r->column[k]) : 2;
	for (size_t k = 0; k + 1 < r->least.columns && bit < LEAST_TAKEN; k++)
		if (r->column[k + 1] == r->column[k] + 1) {
			r->least.bit[k] = bit;
			bit <<= 1;
		}
}

/* The program without its count of what is refused, which comes after the decision. */
static inline struct bpf_insn *cut_count(const struct hook_program *h)
{
	struct bpf_insn *copy = malloc(h->n * sizeof *copy);
	size_t at = 0;

	memcpy(copy, h->insn, h->n * sizeof *copy);
	while (at < h->n && BPF_CLASS(copy[at].code) != BPF_ST)
		at++;
	copy[at] = (struct bpf_insn){ .code = BPF_ALU | BPF_MOV | BPF_K };
	copy[at + 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	return copy;
}

static inline size_t decide(struct rules *r, const struct bpf_insn *insn, size_t row, size_t column, uint64_t *answer)
{
	const struct hook_program *h = &r->c.hook[CAVE_HOOK_CONNECT4];
	struct bpf_sock_addr ctx = { .user_family = AF_INET, .family = AF_INET, .type = SOCK_STREAM,
				     .protocol = IPPROTO_TCP, .user_ip4 = htonl(r->row[row].start),
				     .user_port = htons((uint16_t)r->column[column]) };
	struct ebpf_map *map = ebpf_maps(&r->c.arena, h->maps);
	struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx, .map = map, .nmaps = h->maps->n };
	size_t steps = 0;

	return ebpf_run(insn, h->n, &in, answer, &steps) ? steps : 0;
}

/* Executed for a decision, in the mean over all regions; `wrong` regions are answered otherwise than the rules say. */
static inline double mean_instructions(struct rules *r, size_t *wrong)
{
	struct bpf_insn *insn = cut_count(&r->c.hook[CAVE_HOOK_CONNECT4]);
	double sum = 0;

	*wrong = 0;
	for (size_t i = 0; i < r->least.rows; i++)
		for (size_t k = 0; k < r->least.columns; k++) {
			uint64_t answer = 2;

			sum += (double)decide(r, insn, i, k, &answer) - UNAVOIDABLE;
			*wrong += i && answer != r->least.answer[i][k];
		}
	free(insn);
	return sum / (double)(r->least.rows * r->least.columns);
}

#endif
