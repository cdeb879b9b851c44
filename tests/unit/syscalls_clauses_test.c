/* SPDX-License-Identifier: MIT */
/*
 * The algebra of conditions, on random ones: what is subtracted, brought to a normal form or written out and read again
 * holds for the same arguments as before, and equal conditions get equal forms.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/parse.h"
#include "compiler/syscalls_clauses.h"
#include "tests/unit/unit.h"

enum { ROUNDS = 1000, PROBES = 400 };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Of the first argument as 32 bits, or of the second as 64. */
static struct sys_test random_test(struct arena *a, uint64_t *state)
{
	static const uint64_t masks[] = { UINT32_MAX, UINT32_MAX, 0xf, 0x13, 0x80000001, 0x6 };
	struct sys_test t = { .arg = (uint8_t)(next_random(state) % 2), .width = 32 };
	struct sys_range *r = ARENA_ARRAY(a, 3, struct sys_range);
	uint64_t at = 0;

	t.mask = masks[next_random(state) % (sizeof masks / sizeof masks[0])];
	if (t.arg == 1) {
		t.width = 64;
		t.mask = t.mask == UINT32_MAX ? UINT64_MAX : t.mask << (next_random(state) % 2 * 31);
	}
	for (t.nranges = 0; t.nranges < 1 + next_random(state) % 3; t.nranges++) {
		uint64_t step = next_random(state) % 8 ? 1 : (uint64_t)0x7fffffe0 << (t.width == 64 && next_random(state) % 2);

		at += (t.nranges ? 2 : 0) + next_random(state) % 6 * step;
		r[t.nranges].lo = at;
		at += next_random(state) % 5;
		r[t.nranges].hi = at;
		if (at > UINT32_MAX - 1 && t.width == 32) {
			r[t.nranges].lo &= UINT32_MAX / 2;
			r[t.nranges++].hi = UINT32_MAX;
			break;
		}
	}
	for (size_t i = 1; i < t.nranges; i++)
		if (r[i].lo <= r[i - 1].hi + 1)
			t.nranges = 1;
	t.range = r;
	return t;
}

static struct alternatives random_alternatives(struct arena *a, uint64_t *state)
{
	size_t n = 1 + next_random(state) % 4;
	struct alternative *item = ARENA_ARRAY(a, n, struct alternative);

	for (size_t i = 0; i < n; i++) {
		struct sys_test *test = ARENA_ARRAY(a, 3, struct sys_test);

		item[i].n = 1 + next_random(state) % 3;
		for (size_t j = 0; j < item[i].n; j++)
			test[j] = random_test(a, state);
		item[i].test = test;
	}
	return (struct alternatives){ item, n };
}

static bool says(struct alternatives alt, const uint64_t args[2])
{
	for (size_t i = 0; i < alt.n; i++) {
		bool all = true;

		for (size_t j = 0; all && j < alt.item[i].n; j++) {
			const struct sys_test *t = &alt.item[i].test[j];
			uint64_t v = (t->width == 32 ? (uint32_t)args[t->arg] : args[t->arg]) & t->mask;

			all = false;
			for (size_t k = 0; k < t->nranges; k++)
				all |= t->range[k].lo <= v && v <= t->range[k].hi;
		}
		if (all)
			return true;
	}
	return false;
}

/* Values near the ends of ranges, and with bits of the masks. */
static uint64_t random_value(uint64_t *state)
{
	static const uint64_t base[] = { 0, 0x7fffffe0, 0xffffffc0, 0xfffffff0, 0x80000000,
					 0x100000000, 0x780000000, UINT64_MAX };
	uint64_t r = next_random(state);

	return base[r % 8] + (r >> 8) % 40 - (r >> 16) % 4;
}

typedef bool same_fn(bool x, bool y, bool result);

static bool is_first(bool x, bool y, bool result)
{
	(void)y;
	return x == result;
}

static bool is_difference(bool x, bool y, bool result)
{
	return (x && !y) == result;
}

static bool probe(uint64_t *state, struct alternatives x, struct alternatives y, struct alternatives result,
		  same_fn *same)
{
	for (int i = 0; i < PROBES; i++) {
		uint64_t args[2] = { random_value(state), random_value(state) };

		if (!same(says(x, args), says(y, args), says(result, args))) {
			printf("# 0x%llx 0x%llx\n", (unsigned long long)args[0], (unsigned long long)args[1]);
			return false;
		}
	}
	return true;
}

/* Written out, read again, and brought to the normal form once more; prctl has an int and then a 64-bit argument. */
static bool reads_back(struct arena *a, struct alternatives normal)
{
	struct buffer text = { .arena = a };
	struct alternatives again;
	struct node *n = NULL;
	struct sources s;
	struct diags d;

	if (normal.n == 0 || normal.item[0].n == 0)
		return true;
	sources_init(&s, a);
	diags_init(&d, &s);
	buffer_printf(&text, "syscalls { deny prctl(");
	alternatives_print(&text, syscall_args("prctl"), normal);
	buffer_printf(&text, ") }");
	buffer_add(&text, "", 1);
	if (!parse_statements(&d, sources_add(&s, "t", text.data, text.n - 1, (struct span){ 0 }, false), &n) ||
	    !condition_resolve(&d, a, SYS_X86_64, "prctl", n->kids->kids->kids, false, &again) ||
	    !alternatives_equal(alternatives_normal(a, again), normal)) {
		diags_print(&d, stdout);
		printf("# %s\n", text.data);
		return false;
	}
	return true;
}

static struct alternatives backwards(struct arena *a, struct alternatives x)
{
	struct alternative *item = ARENA_ARRAY(a, x.n, struct alternative);

	for (size_t i = 0; i < x.n; i++)
		item[i] = x.item[x.n - 1 - i];
	return (struct alternatives){ item, x.n };
}

/* No arguments among those tried satisfy what is said to be impossible. */
static bool impossible_is_never(uint64_t *state, struct alternatives x)
{
	for (size_t i = 0; i < x.n; i++)
		for (int k = 0; k < PROBES && !alternative_possible(&x.item[i]); k++) {
			uint64_t args[2] = { random_value(state), random_value(state) };

			if (says((struct alternatives){ &x.item[i], 1 }, args))
				return false;
		}
	return true;
}

int main(void)
{
	unsigned normal = 0, less = 0, text = 0, order = 0, never = 0, none = 0;
	uint64_t state = 88172645463325252;

	for (int i = 0; i < ROUNDS; i++) {
		struct arena a = { NULL };
		struct alternatives x = random_alternatives(&a, &state), y = random_alternatives(&a, &state);
		struct alternatives form = alternatives_normal(&a, x), rest;

		normal += probe(&state, x, x, form, is_first);
		order += alternatives_equal(form, alternatives_normal(&a, backwards(&a, x)));
		text += reads_back(&a, form);
		never += impossible_is_never(&state, x);
		less += alternatives_subtract(&a, x, y, &rest) && probe(&state, x, y, rest, is_difference);
		none += alternatives_subtract(&a, x, x, &rest) && rest.n == 0;
		arena_free(&a);
	}
	check(normal == ROUNDS, "a normal form means the same (%u of %d)", normal, ROUNDS);
	check(order == ROUNDS, "and does not depend on the order (%u of %d)", order, ROUNDS);
	check(text == ROUNDS, "its text means the same (%u of %d)", text, ROUNDS);
	check(never == ROUNDS, "what is impossible never holds (%u of %d)", never, ROUNDS);
	check(less == ROUNDS, "a difference is one (%u of %d)", less, ROUNDS);
	check(none == ROUNDS, "nothing is left of a condition less itself (%u of %d)", none, ROUNDS);
	return unit_done();
}
