/* SPDX-License-Identifier: MIT */
/*
 * Conditions on arguments: what the alternatives of tests say is compared, at the values where it
 * can go wrong, with the same condition written in C; and what a condition may not say is refused.
 */
#include <string.h>

#include "compiler/parse.h"
#include "compiler/syscalls_condition.h"
#include "tests/unit/unit.h"

static const struct span nowhere;

/* The condition of the only item of a syscalls block. */
static const struct node *parse_condition(struct diags *d, const char *call, const char *condition)
{
	char *text = arena_printf(d->sources->arena, "syscalls { allow %s(%s) }", call, condition);
	uint32_t file = sources_add(d->sources, "t.cave", text, strlen(text), nowhere, false);
	struct node *n;

	if (!parse_statements(d, file, &n) || !n || !n->kids || !n->kids->kids)
		return NULL;
	return n->kids->kids->kids;
}

static bool holds(const struct sys_test *t, uint64_t v)
{
	v &= t->width == 32 ? UINT32_MAX : UINT64_MAX;
	for (size_t i = 0; i < t->nranges; i++)
		if ((v & t->mask) >= t->range[i].lo && (v & t->mask) <= t->range[i].hi)
			return true;
	return false;
}

static bool says(const struct alternatives *alt, const uint64_t args[SYS_ARGS])
{
	for (size_t i = 0; i < alt->n; i++) {
		bool all = true;

		for (size_t j = 0; all && j < alt->item[i].n; j++)
			all = holds(&alt->item[i].test[j], args[alt->item[i].test[j].arg]);
		if (all)
			return true;
	}
	return false;
}

/* Ranges ascend, do not touch or overlap, and are not empty; no test is without them. */
static bool well_formed(const struct alternatives *alt)
{
	for (size_t i = 0; i < alt->n; i++)
		for (size_t j = 0; j < alt->item[i].n; j++) {
			const struct sys_test *t = &alt->item[i].test[j];

			if (t->nranges == 0)
				return false;
			for (size_t k = 0; k < t->nranges; k++)
				if (t->range[k].lo > t->range[k].hi ||
				    (k && t->range[k].lo <= t->range[k - 1].hi + 1))
					return false;
		}
	return true;
}

struct accepted {
	const char *call, *condition;
	bool (*same)(const uint64_t *a);
};

#define SAME(name, expression)                                                                     \
	static bool name(const uint64_t *a)                                                        \
	{                                                                                          \
		return (expression);                                                               \
	}

SAME(int_below_zero, (int)a[0] < 0)
SAME(int_below_five, (int)a[0] < 5)
SAME(int_at_least_minus_two, (int)a[0] >= -2)
SAME(int_above_max, (int)a[0] > 0x7ffffffe)
SAME(unsigned_below, (unsigned)a[1] < 0x80000000)
SAME(unsigned_above, (unsigned)a[1] > 5)
SAME(not_equal, (int)a[0] != -1)
SAME(long_equal, a[1] == 0x100000001)
SAME(long_at_most, a[1] <= 0xffffffff)
SAME(masked, ((unsigned)a[1] & 0xf0) == 0x30)
SAME(masked_true, ((unsigned)a[1] & 0x30) != 0)
SAME(masked_false, ((unsigned)a[1] & 0x30) == 0)
SAME(in_set, ((unsigned)a[1] >= 1000 && (unsigned)a[1] <= 1063) || (unsigned)a[1] == 0x5401)
SAME(not_in_set, !(((unsigned)a[1] >= 1000 && (unsigned)a[1] <= 1063) || (unsigned)a[1] == 0x5401))
SAME(either, (int)a[0] == 1 || (int)a[0] == 2 || (int)a[1] == 3)
SAME(neither, !((int)a[0] == 1 || ((int)a[0] == 2 && (int)a[1] == 3)))
SAME(nested, ((int)a[0] == 1 || (int)a[1] == 2) && ((int)a[0] != 3 || !((int)a[1] > 7)))
SAME(masked_ordered, ((unsigned)a[1] & 0xff) < 0x10)
SAME(constants, (unsigned)a[1] == (1 | 0x400))

SAME(mask_of_two, ((unsigned)a[1] & 0x30) == 0x30)
SAME(not_mask_of_two, ((unsigned)a[1] & 0x30) != 0x30)
SAME(two_negative, (int)a[0] == -1 || (int)a[0] == -2)

static const struct accepted accepted[] = {
	{ "setsockopt", "sockfd < 0", int_below_zero },
	{ "setsockopt", "sockfd < 5", int_below_five },
	{ "setsockopt", "sockfd >= -2", int_at_least_minus_two },
	{ "setsockopt", "!(sockfd < -2)", int_at_least_minus_two },
	{ "setsockopt", "sockfd > 0x7ffffffe", int_above_max },
	{ "ioctl", "request < 0x80000000", unsigned_below },
	{ "ioctl", "request > 5", unsigned_above },
	{ "ioctl", "!(request <= 5)", unsigned_above },
	{ "kill", "pid != -1", not_equal },
	{ "kill", "pid != 0xffffffff", not_equal },
	{ "kill", "!(pid == -1)", not_equal },
	{ "prctl", "arg2 == 0x100000001", long_equal },
	{ "prctl", "arg2 <= 0xffffffff", long_at_most },
	{ "ioctl", "request & 0xf0 == 0x30", masked },
	{ "ioctl", "request & 0x30", masked_true },
	{ "ioctl", "!(request & 0x30)", masked_false },
	{ "ioctl", "request & 0x30 == 0", masked_false },
	{ "ioctl", "request in { 1000-1063, TCGETS }", in_set },
	{ "ioctl", "request in { TCGETS, 1010-1063, 1000-1020 }", in_set },
	{ "ioctl", "!(request in { 1000-1063, TCGETS })", not_in_set },
	{ "setsockopt", "sockfd == 1 || sockfd == 2 || level == 3", either },
	{ "setsockopt", "!(sockfd == 1 || (sockfd == 2 && level == 3))", neither },
	{ "setsockopt", "(sockfd == 1 || level == 2) && (sockfd != 3 || !(level > 7))", nested },
	{ "ioctl", "request & 0xff < 0x10", masked_ordered },
	{ "open", "flags == O_WRONLY | 0x400", constants },
	{ "ioctl", "cmd & (0x10 | 0x20) == 0x30", mask_of_two },
	{ "ioctl", "op & (0x10 | 0x20) != 0x30", not_mask_of_two },
	{ "kill", "pid in { 0xfffffffe-0xffffffff }", two_negative },
};

static const uint64_t edge[] = { 0,	     1,		 2,	     3,		 4,
				 5,	     6,		 7,	     8,		 0x0f,
				 0x10,	     0x1f,	 0x20,	     0x30,	 0x3f,
				 0xf0,	     0x100,	 0x401,	     999,	 1000,
				 1009,	     1010,	 1020,	     1021,	 1063,
				 1064,	     0x5400,	 0x5401,     0x5402,	 0x7ffffffd,
				 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffd,
				 0xfffffffe, 0xffffffff };

enum { EDGES = sizeof edge / sizeof edge[0] };

/*
 * Each of the first two arguments at each edge, with something and with nothing in the upper half.
 */
static bool agrees(const struct accepted *c, const struct alternatives *alt)
{
	for (size_t i = 0; i < EDGES; i++)
		for (size_t j = 0; j < EDGES; j++)
			for (uint64_t high = 0; high < 3; high++) {
				uint64_t a[SYS_ARGS] = { edge[i] | high << 32,
							 edge[j] | high << 32 };

				if (says(alt, a) != c->same(a)) {
					printf("# 0x%llx 0x%llx\n", (unsigned long long)a[0],
					       (unsigned long long)a[1]);
					return false;
				}
			}
	return true;
}

static void accept(const struct accepted *c)
{
	struct arena a = { NULL };
	struct alternatives alt = { 0 };
	const struct node *n;
	struct sources s;
	struct diags d;
	bool right;

	sources_init(&s, &a);
	diags_init(&d, &s);
	n = parse_condition(&d, c->call, c->condition);
	right = n && condition_resolve(&d, &a, SYS_X86_64, c->call, n, false, &alt) && d.errors == 0 &&
		well_formed(&alt) && agrees(c, &alt);
	if (!check(right, "%s(%s)", c->call, c->condition))
		diags_print(&d, stdout);
	arena_free(&a);
}

struct refused {
	const char *call, *condition;
	enum cave_code code;
};

static const struct refused refused[] = {
	{ "ioctl", "reqest == 1", CAVE_UNKNOWN_NAME },
	{ "ioctl", "request == TCGET", CAVE_UNKNOWN_NAME },
	{ "ioctl", "argp == 0", CAVE_VALUE }, /* a pointer */
	{ "ioctl", "request == -1", CAVE_VALUE },
	{ "ioctl", "request == 0x100000000", CAVE_VALUE },
	{ "kill", "pid < 0x80000000", CAVE_VALUE }, /* more than an int, in an order */
	{ "kill", "pid == 0x100000000", CAVE_VALUE },
	{ "kill", "pid == self", CAVE_UNKNOWN_NAME },	   /* for built-in text only */
	{ "ioctl", "request & 0xf0 == 0x31", CAVE_VALUE }, /* can never be */
	{ "ioctl", "request == 010", CAVE_VALUE },
	{ "ioctl", "request == 0x", CAVE_VALUE },
	{ "ioctl", "request == 99999999999999999999", CAVE_VALUE },
	{ "ioctl", "request in { 9-3 }", CAVE_VALUE },
	{ "ioctl", "request == fd", CAVE_VALUE },
	{ "ioctl", "1 == request", CAVE_VALUE },
	{ "ioctl", "5", CAVE_VALUE },
	{ "kill", "pid in { 0x7fffffff-0x80000000 }", CAVE_VALUE }, /* one range, or nearly everything */
	{ "getpid", "pid == 0", CAVE_VALUE }, /* it takes none */
};

static void refuse(const struct refused *c)
{
	struct arena a = { NULL };
	struct alternatives alt = { NULL, 77 };
	const struct node *n;
	struct sources s;
	struct diags d;
	bool right;

	sources_init(&s, &a);
	diags_init(&d, &s);
	n = parse_condition(&d, c->call, c->condition);
	right = n && !condition_resolve(&d, &a, SYS_X86_64, c->call, n, false, &alt) && alt.n == 77 &&
		d.errors > 0 && d.first->code == c->code;
	if (!check(right, "%s(%s) is refused: %s", c->call, c->condition, cave_code_name(c->code)))
		diags_print(&d, stdout);
	arena_free(&a);
}

/* (a==0||b==0) && (a==1||b==1) && … doubles with each factor. */
static void too_many(void)
{
	struct arena a = { NULL };
	struct alternatives alt = { NULL, 77 };
	const char *text = "sockfd == 0 || level == 0";
	struct sources s;
	struct diags d;
	const struct node *n;

	sources_init(&s, &a);
	diags_init(&d, &s);
	for (int i = 1; i < 12; i++)
		text = arena_printf(&a, "%s%s%s && (sockfd == %d || level == %d)",
				    i == 1 ? "(" : "", text, i == 1 ? ")" : "", i, i);
	n = parse_condition(&d, "setsockopt", text);
	check(n && !condition_resolve(&d, &a, SYS_X86_64, "setsockopt", n, false, &alt) &&
		      d.first->code == CAVE_VALUE && alt.n == 77,
	      "a condition of too many alternatives is refused");
	arena_free(&a);
}

int main(void)
{
	for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++)
		accept(&accepted[i]);
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		refuse(&refused[i]);
	too_many();
	return unit_done();
}
