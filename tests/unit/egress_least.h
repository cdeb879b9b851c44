/* SPDX-License-Identifier: MIT */
/*
 * The least comparisons with which a tree can decide on a TCP connection to an IPv4 address and port, in the mean over
 * all regions that the rules distinguish, each counted once.  Every tree is tried: each node compares the address by
 * order, the port by order or, where a region is one port, by equality, or the protocol by equality.  (So the rules may
 * name no single addresses.)
 */
#ifndef CAVE_TESTS_EGRESS_LEAST_H
#define CAVE_TESTS_EGRESS_LEAST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 48, LEAST_COLUMNS = 16, LEAST_TAKEN = 1 << 4, LEAST_UNKNOWN = 0xffff };

struct least {
	size_t rows, columns; /* regions of addresses, of ports */
	uint8_t answer[LEAST_ROWS][LEAST_COLUMNS];
	unsigned bit[LEAST_COLUMNS]; /* of a single port: by which it is known to be taken out; else 0 */
	uint16_t *sum; /* by part: the comparisons of all regions in it */
};

/* Rows and columns, ends included, less the columns taken out; whether the protocol is still to be compared. */
struct least_part {
	size_t row, last_row, column, last_column;
	unsigned taken;
	bool protocol;
};

static inline size_t least_index(const struct least_part *p)
{
	size_t at = p->row;

	at = at * LEAST_ROWS + p->last_row;
	at = at * LEAST_COLUMNS + p->column;
	at = at * LEAST_COLUMNS + p->last_column;
	return (at * LEAST_TAKEN + p->taken) * 2 + p->protocol;
}

static inline bool least_has(const struct least *l, const struct least_part *p, size_t column)
{
	return !(l->bit[column] & p->taken);
}

/* Regions in the part; -1 in *answer if it has several answers, of which 0 alone needs no protocol. */
static inline size_t least_regions(const struct least *l, const struct least_part *p, int *answer)
{
	size_t n = 0;

	*answer = -2;
	for (size_t r = p->row; r <= p->last_row; r++)
		for (size_t c = p->column; c <= p->last_column; c++) {
			if (!least_has(l, p, c))
				continue;
			n++;
			if (*answer == -2)
				*answer = l->answer[r][c];
			else if (*answer != l->answer[r][c])
				*answer = -1;
		}
	return n;
}

static inline unsigned least_sum(struct least *l, struct least_part p);

static inline void least_try(struct least *l, const struct least_part *a, const struct least_part *b, size_t n,
			     unsigned *best)
{
	unsigned sum = least_sum(l, *a);

	if (sum + n < *best)
		sum += least_sum(l, *b) + (unsigned)n;
	else
		return;
	*best = sum < *best ? sum : *best;
}

/* By order. */
static inline void least_cut(struct least *l, const struct least_part *p, size_t n, unsigned *best)
{
	struct least_part a = *p, b = *p;

	for (size_t r = p->row + 1; r <= p->last_row; r++) {
		a.last_row = r - 1;
		b.row = r;
		least_try(l, &a, &b, n, best);
	}
	a = b = *p;
	for (size_t c = p->column + 1; c <= p->last_column; c++) {
		a.last_column = c - 1;
		b.column = c;
		least_try(l, &a, &b, n, best);
	}
}

/* By equality: a port, which is taken out. */
static inline void least_take(struct least *l, const struct least_part *p, size_t n, unsigned *best)
{
	for (size_t c = p->column; c <= p->last_column && p->column < p->last_column; c++) {
		struct least_part a = *p, b = *p;

		if (!l->bit[c] || !least_has(l, p, c))
			continue;
		a.column = a.last_column = c;
		b.taken |= l->bit[c];
		least_try(l, &a, &b, n, best);
	}
}

static inline unsigned least_sum(struct least *l, struct least_part p)
{
	uint16_t *known;
	unsigned best = LEAST_UNKNOWN;
	int answer;
	size_t n;

	/* One spelling of each part. */
	while (p.column < p.last_column && !least_has(l, &p, p.column))
		p.column++;
	while (p.column < p.last_column && !least_has(l, &p, p.last_column))
		p.last_column--;
	for (size_t c = 0; c < l->columns; c++)
		if (l->bit[c] && (c < p.column || c > p.last_column))
			p.taken &= ~l->bit[c];
	known = &l->sum[least_index(&p)];
	if (*known != LEAST_UNKNOWN)
		return *known;
	n = least_regions(l, &p, &answer);
	if (answer == 0 || answer == -2 || (answer > 0 && !p.protocol)) {
		best = 0;
	} else {
		if (p.protocol) {
			struct least_part tcp = p;

			tcp.protocol = false;
			best = least_sum(l, tcp) + (unsigned)n;
		}
		least_cut(l, &p, n, &best);
		least_take(l, &p, n, &best);
	}
	*known = (uint16_t)best;
	return best;
}

/* In the mean; 0 if there is no memory. */
static inline double least_mean(struct least *l)
{
	const size_t places = (size_t)LEAST_ROWS * LEAST_ROWS * LEAST_COLUMNS * LEAST_COLUMNS * LEAST_TAKEN * 2;
	struct least_part all = { 0, l->rows - 1, 0, l->columns - 1, 0, true };
	double mean;

	l->sum = malloc(places * sizeof *l->sum);
	if (!l->sum)
		return 0;
	memset(l->sum, 0xff, places * sizeof *l->sum);
	mean = (double)least_sum(l, all) / (double)(l->rows * l->columns);
	free(l->sum);
	return mean;
}

#endif
