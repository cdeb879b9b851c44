/* SPDX-License-Identifier: MIT */
/*
 * Ten rules: how many instructions connect4 executes for a decision, in the mean over all regions of addresses and
 * ports that the rules distinguish, beside the least that any tree of comparisons can do with.  The interpreter counts
 * them.
 */
#include <stdio.h>

#include "tests/unit/egress_regions.h"

int main(void)
{
	struct rules *r = calloc(1, sizeof *r);
	char text[2048];
	size_t at = 0, wrong;
	double mean;

	if (!r)
		return 1;
	for (int i = 1; i <= 10; i++)
		at += (size_t)snprintf(text + at, sizeof text - at,
				       "allow tcp 10.%d.0.0/16 except 10.%d.7.0/24 port 443,8000-80%d\n", i, i, 10 + i);
	compile_init(&r->c);
	compile_read(&r->c, text);
	if (!compile_generate(&r->c)) {
		fputs("decisions: the rules do not compile\n", stderr);
		return 1;
	}
	find_regions(r);
	mean = mean_instructions(r, &wrong);
	printf("connect4, TCP: %.2f instructions in the mean, at least %.2f, and %d to load, to put in order and to answer "
	       "(%zu regions)\n",
	       mean, least_mean(&r->least), UNAVOIDABLE, r->least.rows * r->least.columns);
	compile_free(&r->c);
	free(r);
	return 0;
}
