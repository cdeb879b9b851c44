/* SPDX-License-Identifier: MIT */
/*
 * How many instructions a decision on ten rules takes, beside the least that a tree can do with.  The interpreter
 * counts them, so the numbers are the same everywhere.
 */
#include <stdio.h>

#include "tests/unit/egress_regions.h"
#include "tests/unit/unit.h"

enum { ALLOWED_EXTRA = 2 };

static void compare(const char *what, const char *text)
{
	struct rules *r = calloc(1, sizeof *r);
	double mean, least;
	size_t wrong;

	compile_init(&r->c);
	compile_read(&r->c, text);
	if (!check(compile_generate(&r->c), "%s: compiles", what))
		return;
	find_regions(r);
	mean = mean_instructions(r, &wrong);
	least = least_mean(&r->least);
	check(!wrong && least > 0 && mean >= least && mean <= least + ALLOWED_EXTRA,
	      "%s: %.2f instructions, at least %.2f (%zu regions)", what, mean, least, r->least.rows * r->least.columns);
	compile_free(&r->c);
	free(r);
}

int main(void)
{
	char same[2048] = "", own[2048] = "", holes[2048] = "", both[2048] = "";

	for (int i = 1; i <= 10; i++) {
		sprintf(same + strlen(same), "allow tcp 10.%d.0.0/16 port 443\n", 3 * i);
		sprintf(own + strlen(own), "allow tcp 10.%d.0.0/16 port %d,8000-80%d\n", 3 * i, i % 2 ? 22 : 443, 10 + i % 5);
		sprintf(holes + strlen(holes), "allow tcp 10.%d.0.0/16 except 10.%d.7.0/24 port 443,8000-80%d\n", i, i, 10 + i);
		sprintf(both + strlen(both), "allow %s 10.%d.0.0/16 port %d\n", i % 2 ? "tcp" : "tcp,udp", 3 * i, 440 + i);
	}
	compare("ten prefixes, one port", same);
	compare("ten prefixes with ports of their own", own);
	compare("ten prefixes, each with a hole and ports of its own", holes);
	compare("ten prefixes by TCP, five of them by UDP too", both);
	return unit_done();
}
