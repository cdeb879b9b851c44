/* SPDX-License-Identifier: MIT */
/* floor STEPS FILTER RULES GROUP PROGRAM [ARG…]: the least program that takes the steps of a start (floor.h). */
#include "tests/tools/floor.h"

int main(int argc, char **argv)
{
	struct floor s = { .steps = argv[1], .argv = argv + 5, .ruleset = -1 };

	if (argc < 6)
		return 2;
	floor_prepare(&s, argv[2], argv[3], argv[4]);
	return floor_start(&s);
}
