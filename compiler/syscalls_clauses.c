/* SPDX-License-Identifier: MIT */
#include "compiler/syscalls_clauses.h"

#include <inttypes.h>

#include "bpf/sort.h"

enum { SEARCH_MAX = 1 << 16, REST_MAX = 4096 };

static uint64_t width_mask(const struct sys_test *t)
{
	return t->width == 64 ? UINT64_MAX : UINT32_MAX;
}

static bool same_register(const struct sys_test *x, const struct sys_test *y)
{
	return x->arg == y->arg && x->width == y->width && x->mask == y->mask && x->self == y->self;
}

static const struct sys_test *test_of(const struct alternative *x, const struct sys_test *like)
{
	for (size_t i = 0; i < x->n; i++)
		if (same_register(&x->test[i], like))
			return &x->test[i];
	return NULL;
}

/* --- ranges of one register ---------------------------------------------------------------------- */

static struct sys_test with_ranges(const struct sys_test *like, const struct sys_range *range, size_t n)
{
	struct sys_test t = *like;

	t.range = range;
	t.nranges = n;
	return t;
}

static struct sys_test intersection(struct arena *a, const struct sys_test *x, const struct sys_test *y)
{
	struct sys_range *r = ARENA_ARRAY(a, x->nranges + y->nranges + 1, struct sys_range);
	size_t n = 0;

	for (size_t i = 0, j = 0; i < x->nranges && j < y->nranges;) {
		uint64_t lo = x->range[i].lo > y->range[j].lo ? x->range[i].lo : y->range[j].lo;
		uint64_t hi = x->range[i].hi < y->range[j].hi ? x->range[i].hi : y->range[j].hi;

		if (lo <= hi)
			r[n++] = (struct sys_range){ lo, hi };
		if (x->range[i].hi < y->range[j].hi)
			i++;
		else
			j++;
	}
	return with_ranges(x, r, n);
}

static struct sys_test opposite(struct arena *a, const struct sys_test *x)
{
	struct sys_range *r = ARENA_ARRAY(a, x->nranges + 1, struct sys_range);
	uint64_t next = 0;
	size_t n = 0;

	for (size_t i = 0; i < x->nranges; i++) {
		if (x->range[i].lo > next)
			r[n++] = (struct sys_range){ next, x->range[i].lo - 1 };
		if (x->range[i].hi == width_mask(x))
			return with_ranges(x, r, n);
		next = x->range[i].hi + 1;
	}
	r[n++] = (struct sys_range){ next, width_mask(x) };
	return with_ranges(x, r, n);
}

static bool within(const struct sys_test *x, const struct sys_test *y)
{
	size_t j = 0;

	for (size_t i = 0; i < x->nranges; i++) {
		while (j < y->nranges && y->range[j].hi < x->range[i].lo)
			j++;
		if (j == y->nranges || y->range[j].lo > x->range[i].lo || y->range[j].hi < x->range[i].hi)
			return false;
	}
	return true;
}

/* The next larger value that a mask can leave; 0 after the largest. */
static uint64_t next_value(uint64_t v, uint64_t mask)
{
	return ((v | ~mask) + 1) & mask;
}

/* The smallest value that the mask can leave and that is not below `v`; false if there is none. */
static bool value_from(uint64_t v, uint64_t mask, uint64_t *out)
{
	uint64_t low = v & mask;

	if (v == low) {
		*out = v;
		return true;
	}
	/* Above the highest bit of v that the mask lacks, v cannot be kept: go to the next value there. */
	for (uint64_t bit = UINT64_C(1) << 63; bit; bit >>= 1)
		if (v & ~mask & bit) {
			low &= ~(bit - 1);
			*out = next_value(low | (mask & (bit - 1)), mask);
			return *out > low || *out > v;
		}
	return false;
}

/* Ranges between values that the mask can leave, joined where it leaves none between; the top one reaches the end. */
static struct sys_test tidy(struct arena *a, const struct sys_test *t)
{
	struct sys_range *r = ARENA_ARRAY(a, t->nranges + 1, struct sys_range);
	size_t n = 0;

	for (size_t i = 0; i < t->nranges; i++) {
		uint64_t lo, hi = t->range[i].hi;

		if (!value_from(t->range[i].lo, t->mask, &lo) || lo > hi)
			continue;
		/* The largest value of the mask that is not above: bits below the first that is too much are free. */
		if (hi & ~t->mask) {
			uint64_t bit = UINT64_C(1) << (63 - __builtin_clzll(hi & ~t->mask));

			hi = (hi & t->mask & ~(bit - 1)) | (t->mask & (bit - 1));
		}
		if (n && next_value(r[n - 1].hi, t->mask) == lo && lo)
			r[n - 1].hi = hi;
		else
			r[n++] = (struct sys_range){ lo, hi };
	}
	if (n && r[n - 1].hi == t->mask)
		r[n - 1].hi = width_mask(t);
	return with_ranges(t, r, n);
}

static bool is_everything(const struct sys_test *t)
{
	return !t->self && t->nranges == 1 && t->range[0].lo == 0 && t->range[0].hi == width_mask(t);
}

/* --- whether tests can hold together ---------------------------------------------------------------- */

/* Tests of one argument, and how many values were looked at. */
struct search {
	const struct sys_test *test[64];
	size_t n;
	unsigned steps;
};

/* Of the values `known` and above with the bits `open` free: 0 none is in the test, 1 some may be, 2 all are. */
static int extent(const struct sys_test *t, uint64_t known, uint64_t open)
{
	uint64_t lo = known & t->mask, hi = lo | (open & t->mask);
	int found = 0;

	for (size_t i = 0; i < t->nranges; i++) {
		if (t->range[i].lo <= lo && hi <= t->range[i].hi)
			return 2;
		if (t->range[i].lo <= hi && lo <= t->range[i].hi)
			found = 1;
	}
	return lo == hi ? 0 : found;
}

/* Decides the bits of the argument from the top. */
static bool some_value(struct search *s, uint64_t known, uint64_t bit)
{
	uint64_t open = bit ? bit | (bit - 1) : 0;
	bool all = true, matters = false;

	if (++s->steps > SEARCH_MAX)
		return true;
	for (size_t i = 0; i < s->n; i++) {
		int e = extent(s->test[i], known, open);

		if (e == 0)
			return false;
		all &= e == 2;
		matters |= e == 1 && (s->test[i]->mask & bit) != 0;
	}
	if (all || !bit)
		return all;
	return some_value(s, known, bit >> 1) || (matters && some_value(s, known | bit, bit >> 1));
}

bool alternative_possible(const struct alternative *x)
{
	for (unsigned arg = 0; arg < SYS_ARGS; arg++) {
		struct search s = { .n = 0 };
		unsigned width = 32;

		for (size_t i = 0; i < x->n; i++) {
			if (x->test[i].arg != arg || x->test[i].self)
				continue;
			if (s.n == sizeof s.test / sizeof s.test[0])
				break; /* fewer tests: more is possible */
			s.test[s.n++] = &x->test[i];
			width = x->test[i].width;
		}
		if (s.n && !some_value(&s, 0, UINT64_C(1) << (width - 1)))
			return false;
	}
	return true;
}

/* --- alternatives ------------------------------------------------------------------------------------- */

/* `x` and one test more. */
static struct alternative add_test(struct arena *a, const struct alternative *x, const struct sys_test *t)
{
	struct sys_test *test = ARENA_ARRAY(a, x->n + 1, struct sys_test);

	if (x->n)
		memcpy(test, x->test, x->n * sizeof *test);
	for (size_t i = 0; i < x->n; i++)
		if (same_register(&test[i], t)) {
			if (!t->self)
				test[i] = intersection(a, &test[i], t);
			return (struct alternative){ test, x->n };
		}
	test[x->n] = *t;
	return (struct alternative){ test, x->n + 1 };
}

struct alternative alternative_both(struct arena *a, const struct alternative *x, const struct alternative *y)
{
	struct alternative both = *x;

	for (size_t i = 0; i < y->n; i++)
		both = add_test(a, &both, &y->test[i]);
	return both;
}

struct list {
	struct alternative *item;
	size_t n, cap;
};

static void push(struct arena *a, struct list *l, struct alternative x)
{
	*ARENA_PUSH(a, l->item, l->n, l->cap) = x;
}

static bool has_self(const struct alternative *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->test[i].self)
			return true;
	return false;
}

/* What of `x` is not in `y`: the first test of `y` fails, or it holds and the second fails … */
static void subtract_one(struct arena *a, const struct alternative *x, const struct alternative *y, struct list *to)
{
	struct alternative rest = *x;

	for (size_t i = 0; i < y->n; i++) {
		struct sys_test not = opposite(a, &y->test[i]);
		struct alternative part = add_test(a, &rest, &not);

		if (not.nranges && alternative_possible(&part))
			push(a, to, part);
		rest = add_test(a, &rest, &y->test[i]);
		if (!alternative_possible(&rest))
			return;
	}
}

bool alternatives_subtract(struct arena *a, struct alternatives from, struct alternatives what,
			   struct alternatives *out)
{
	struct list rest = { NULL, 0, 0 };

	for (size_t i = 0; i < from.n; i++)
		if (alternative_possible(&from.item[i]))
			push(a, &rest, from.item[i]);
	for (size_t j = 0; j < what.n; j++) {
		struct list next = { NULL, 0, 0 };

		if (has_self(&what.item[j]))
			continue;
		for (size_t i = 0; i < rest.n; i++)
			subtract_one(a, &rest.item[i], &what.item[j], &next);
		rest = next;
		if (rest.n > REST_MAX)
			return false;
	}
	*out = (struct alternatives){ rest.item, rest.n };
	return true;
}

/* --- normal form -------------------------------------------------------------------------------------- */

static int compare_u64(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int compare_tests(const void *a, const void *b)
{
	const struct sys_test *x = a, *y = b;
	int order = x->arg != y->arg ? (x->arg < y->arg ? -1 : 1) : compare_u64(y->mask, x->mask);

	if (!order)
		order = x->self - y->self;
	for (size_t i = 0; !order && i < x->nranges && i < y->nranges; i++) {
		order = compare_u64(x->range[i].lo, y->range[i].lo);
		if (!order)
			order = compare_u64(x->range[i].hi, y->range[i].hi);
	}
	return order ? order : compare_u64(x->nranges, y->nranges);
}

static int compare_alternatives(const void *a, const void *b)
{
	const struct alternative *x = a, *y = b;
	int order = 0;

	for (size_t i = 0; !order && i < x->n && i < y->n; i++)
		order = compare_tests(&x->test[i], &y->test[i]);
	return order ? order : compare_u64(x->n, y->n);
}

/* One test for each register and mask, in order, without those that always hold. */
static struct alternative normal_tests(struct arena *a, const struct alternative *x)
{
	struct alternative merged = alternative_both(a, &(struct alternative){ NULL, 0 }, x);
	struct sys_test *test = ARENA_ARRAY(a, merged.n + 1, struct sys_test);
	size_t n = 0;

	for (size_t i = 0; i < merged.n; i++) {
		test[n] = merged.test[i].self ? merged.test[i] : tidy(a, &merged.test[i]);
		n += !is_everything(&test[n]);
	}
	if (n)
		sort(test, n, sizeof *test, compare_tests);
	return (struct alternative){ test, n };
}

bool alternative_covers(const struct alternative *x, const struct alternative *y)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct sys_test *t = test_of(y, &x->test[i]);

		if (!t || (!t->self && !within(t, &x->test[i])))
			return false;
	}
	return true;
}

/* If the two differ in the ranges of one register only, *joined is both in one. */
static bool join(struct arena *a, const struct alternative *x, const struct alternative *y, struct alternative *joined)
{
	size_t differs = x->n;
	struct sys_test either, none_x, none_y;
	struct sys_test *test;

	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++) {
		if (!same_register(&x->test[i], &y->test[i]))
			return false;
		if (compare_tests(&x->test[i], &y->test[i]) == 0)
			continue;
		if (differs != x->n)
			return false;
		differs = i;
	}
	none_x = opposite(a, &x->test[differs]);
	none_y = opposite(a, &y->test[differs]);
	either = intersection(a, &none_x, &none_y);
	either = opposite(a, &either);
	test = ARENA_ARRAY(a, x->n, struct sys_test);
	memcpy(test, x->test, x->n * sizeof *test);
	test[differs] = either;
	*joined = normal_tests(a, &(struct alternative){ test, x->n });
	return true;
}

/* Takes into item `i` what of those after it is covered, or can be joined; the rest keep their order. */
static bool absorb(struct arena *a, struct list *l, size_t i)
{
	size_t kept = i + 1;

	for (size_t j = i + 1; j < l->n; j++) {
		struct alternative *x = &l->item[i], *y = &l->item[j];

		if (alternative_covers(x, y) || join(a, x, y, x))
			continue;
		if (alternative_covers(y, x))
			*x = *y;
		else
			l->item[kept++] = *y;
	}
	if (kept == l->n)
		return false;
	l->n = kept;
	return true;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct sys_range *x = a, *y = b;

	return compare_u64(x->lo, y->lo);
}

/* Sorts ranges and joins those that overlap or touch; returns how many there are then. */
static size_t coalesce(struct sys_range *r, size_t n)
{
	size_t kept = 0;

	sort(r, n, sizeof *r, compare_ranges);
	for (size_t i = 1; i < n; i++)
		if (r[kept].hi == UINT64_MAX || r[i].lo <= r[kept].hi + 1)
			r[kept].hi = r[i].hi > r[kept].hi ? r[i].hi : r[kept].hi;
		else
			r[++kept] = r[i];
	return n ? kept + 1 : 0;
}

static bool is_single(const struct alternative *x)
{
	return x->n == 1 && !x->test[0].self;
}

/* Takes into item `i`, which is one test, those behind it that are one test of the same register. */
static void unite_singles(struct arena *a, struct list *l, size_t i)
{
	const struct sys_test *like = &l->item[i].test[0];
	struct sys_range *r = NULL;
	size_t n = 0, cap = 0, kept = i + 1;
	struct sys_test *test;

	for (size_t j = i; j < l->n; j++) {
		const struct alternative *x = &l->item[j];
		bool same = is_single(x) && same_register(like, &x->test[0]);

		for (size_t k = 0; same && k < x->test[0].nranges; k++)
			*ARENA_PUSH(a, r, n, cap) = x->test[0].range[k];
		if (!same)
			l->item[kept++] = *x;
	}
	if (kept == l->n)
		return;
	test = ARENA_ARRAY(a, 1, struct sys_test);
	*test = with_ranges(like, r, coalesce(r, n));
	l->item[i] = normal_tests(a, &(struct alternative){ test, 1 });
	l->n = kept;
}

struct alternatives alternatives_normal(struct arena *a, struct alternatives alt)
{
	struct list l = { NULL, 0, 0 };

	for (size_t i = 0; i < alt.n; i++) {
		struct alternative x = normal_tests(a, &alt.item[i]);

		if (alternative_possible(&x))
			push(a, &l, x);
	}
	/* Long lists of values are one test; pair by pair they would be copied once for each. */
	for (size_t i = 0; i < l.n; i++)
		if (is_single(&l.item[i]))
			unite_singles(a, &l, i);
	/* From one order to begin with, so that the pairs are met in one order. */
	for (bool changed = true; changed && l.n;) {
		changed = false;
		sort(l.item, l.n, sizeof *l.item, compare_alternatives);
		for (size_t i = 0; i < l.n; i++)
			changed |= absorb(a, &l, i);
	}
	return (struct alternatives){ l.item, l.n };
}

bool alternatives_equal(struct alternatives x, struct alternatives y)
{
	if (x.n != y.n)
		return false;
	for (size_t i = 0; i < x.n; i++)
		if (x.item[i].n != y.item[i].n || compare_alternatives(&x.item[i], &y.item[i]) != 0)
			return false;
	return true;
}

/* --- clauses ------------------------------------------------------------------------------------------ */

/* A clause in normal form; without a line, or if it can never hold, it is nobody's. */
struct own {
	bool counts;
	struct alternative normal;
};

static const struct own *own_forms(struct arena *a, const struct sys_clause *clause, size_t n)
{
	struct own *own = ARENA_ARRAY(a, n + 1, struct own);

	for (size_t i = 0; i < n; i++) {
		struct alternative x = { clause[i].test, clause[i].ntests };
		struct alternatives alt = { &x, 1 };

		if (!clause[i].line)
			continue;
		alt = alternatives_normal(a, alt);
		own[i].counts = alt.n > 0;
		own[i].normal = alt.n ? alt.item[0] : x;
	}
	return own;
}

/* The line of the first clause with this result that means no more than `x`. */
static line_id line_of(const struct sys_clause *clause, const struct own *own, size_t n, struct sys_result result,
		       const struct alternative *x)
{
	for (size_t i = 0; i < n; i++)
		if (own[i].counts && sys_result_equal(clause[i].result, result) && alternative_covers(x, &own[i].normal))
			return clause[i].line;
	return 0;
}

static int compare_results(const void *a, const void *b)
{
	const struct sys_result *x = a, *y = b;

	return x->action != y->action ? (int)x->action - (int)y->action : (int)x->error - (int)y->error;
}

/* The results of the clauses, each once, in order. */
static size_t distinct_results(const struct sys_clause *clause, size_t n, struct sys_result *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		out[i] = clause[i].result;
	sort(out, n, sizeof *out, compare_results);
	for (size_t i = 0; i < n; i++)
		if (!i || !sys_result_equal(out[i], out[kept - 1]))
			out[kept++] = out[i];
	return kept;
}

/* The clauses with one result as alternatives in normal form. */
static struct alternatives normal_of(struct arena *a, const struct sys_clause *clause, size_t n,
				     struct sys_result result)
{
	struct alternative *item = ARENA_ARRAY(a, n, struct alternative);
	struct alternatives alt = { item, 0 };

	for (size_t i = 0; i < n; i++)
		if (sys_result_equal(clause[i].result, result))
			item[alt.n++] = (struct alternative){ clause[i].test, clause[i].ntests };
	return alternatives_normal(a, alt);
}

const struct sys_clause *clauses_normal(struct arena *a, const struct sys_clause *clause, size_t n, size_t *nout)
{
	struct sys_result *result = ARENA_ARRAY(a, n + 1, struct sys_result);
	struct sys_clause *out = NULL;
	const struct own *own;
	size_t cap = 0, results;

	*nout = n;
	if (n == 0 || (n == 1 && clause[0].ntests == 0))
		return clause;
	*nout = 0;
	own = own_forms(a, clause, n);
	results = distinct_results(clause, n, result);
	for (size_t i = 0; i < results; i++) {
		struct alternatives alt = normal_of(a, clause, n, result[i]);

		for (size_t j = 0; j < alt.n; j++)
			*ARENA_PUSH(a, out, *nout, cap) =
				(struct sys_clause){ result[i], alt.item[j].test, alt.item[j].n,
						     line_of(clause, own, n, result[i], &alt.item[j]) };
	}
	return out;
}

/* --- text ----------------------------------------------------------------------------------------------- */

static void print_range(struct buffer *to, const char *before, uint64_t lo, uint64_t hi)
{
	buffer_printf(to, "%s0x%" PRIx64, before, lo);
	if (lo != hi)
		buffer_printf(to, "-0x%" PRIx64, hi);
}

/* The end of a range among the values that the mask can leave. */
static uint64_t end_of(const struct sys_test *t, size_t i)
{
	return t->range[i].hi < t->mask ? t->range[i].hi : t->mask;
}

/* A range of a signed argument must not cross the sign (see parse_value_range). */
static void print_set(struct buffer *to, const struct sys_test *t)
{
	uint64_t top = width_mask(t) / 2;
	const char *before = " in { ";

	for (size_t i = 0; i < t->nranges; i++, before = ", ") {
		uint64_t lo = t->range[i].lo, hi = end_of(t, i);

		if (lo <= top && hi > top) {
			print_range(to, before, lo, top);
			lo = top + 1;
			before = ", ";
		}
		print_range(to, before, lo, hi);
	}
	buffer_printf(to, " }");
}

static void print_test(struct buffer *to, const struct syscall_arg *args, const struct sys_test *t)
{
	const struct sys_range *r = t->range;
	uint64_t all = width_mask(t);

	buffer_add(to, args[t->arg].names, syscall_arg_name(&args[t->arg]));
	if (t->mask != all)
		buffer_printf(to, " & 0x%" PRIx64, t->mask);
	if (t->self)
		buffer_printf(to, " == self");
	else if (t->nranges == 1 && r->lo == end_of(t, 0))
		buffer_printf(to, " == 0x%" PRIx64, r->lo);
	else if (t->nranges == 1 && r->lo == (t->mask & -t->mask) && r->hi == all)
		buffer_printf(to, " != 0x0");
	else if (t->nranges == 2 && r->lo == 0 && r[0].hi + 2 == r[1].lo && r[1].hi == all)
		buffer_printf(to, " != 0x%" PRIx64, r[0].hi + 1);
	else
		print_set(to, t);
}

void alternatives_print(struct buffer *to, const struct syscall_arg *args, struct alternatives alt)
{
	for (size_t i = 0; i < alt.n; i++)
		for (size_t j = 0; j < alt.item[i].n; j++) {
			buffer_printf(to, "%s", j ? " && " : i ? " || " : "");
			print_test(to, args, &alt.item[i].test[j]);
		}
}
