/* SPDX-License-Identifier: MIT */
/*
 * Conditions on arguments become alternatives of tests: negations go down to the comparisons, a
 * comparison becomes the set of register values that satisfy it.
 */
#include "compiler/syscalls_condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/sort.h"

static const struct span nowhere;

struct context {
	struct diags *diags;
	struct arena *arena;
	enum sys_arch arch;
	const char *call;
	const struct syscall_arg *args; /* NULL: nothing is known of this call's arguments */
	bool builtin;
	bool failed;
};

/* One side of a comparison. */
struct term {
	bool is_arg, is_self;
	unsigned arg;
	enum arg_type type;
	uint64_t mask; /* of an argument: the bits that are looked at */
	int64_t value; /* of a constant; above INT64_MAX only with `huge` */
	bool huge;
};

/* Ascending, disjoint. */
struct ranges {
	struct sys_range *item;
	size_t n;
};

__attribute__((format(printf, 4, 5))) static struct diag *
fail(struct context *c, enum cave_code code, const struct node *n, const char *format, ...)
{
	struct diag *e;
	va_list ap;

	va_start(ap, format);
	e = diag_error(c->diags, code, n->at, "%s", arena_vprintf(c->arena, format, ap));
	va_end(ap);
	c->failed = true;
	return e;
}

/* --- terms ------------------------------------------------------------------------------------ */

static bool type_is_wide(enum arg_type t)
{
	return t == ARG_LONG || t == ARG_ULONG;
}

static bool type_is_signed(enum arg_type t)
{
	return t == ARG_INT || t == ARG_LONG;
}

static uint64_t type_mask(enum arg_type t)
{
	return type_is_wide(t) ? UINT64_MAX : UINT32_MAX;
}

/* An argument's own name, without the others. */
static const char *own_name(struct context *c, const struct syscall_arg *arg)
{
	return arena_strndup(c->arena, arg->names, syscall_arg_name(arg));
}

/* Where a rule belongs that wants to look behind a pointer of this name. */
static const char *place_for(const struct syscall_arg *arg)
{
	static const char *const paths[] = { "path",   "pathname", "oldpath", "newpath", "linkpath",
					     "source", "target",   "filename", NULL };
	static const char *const addresses[] = { "addr", "dest_addr", "msg", "msgvec", NULL };

	for (size_t i = 0; paths[i]; i++)
		if (syscall_arg_is(arg, paths[i]))
			return "which files may be used stands in: files { … }";
	for (size_t i = 0; addresses[i]; i++)
		if (syscall_arg_is(arg, addresses[i]))
			return "which addresses may be reached stands in: network { … }";
	return "no part of a profile can look there: allow the call whole, or deny it";
}

static void refuse_pointer(struct context *c, const struct node *n, const struct syscall_arg *arg)
{
	struct diag *e = fail(c, CAVE_VALUE, n,
			      "'%s' of %s is a pointer: a filter sees the register only, and what it points "
			      "to can change after it was looked at", n->text, c->call);

	diag_note(c->diags, e, nowhere, "%s", place_for(arg));
}

static bool parse_argument(struct context *c, const struct node *n, struct term *out)
{
	for (unsigned i = 0; c->args && i < SYS_ARGS && c->args[i].names; i++) {
		if (!syscall_arg_is(&c->args[i], n->text))
			continue;
		if (c->args[i].type == ARG_POINTER)
			refuse_pointer(c, n, &c->args[i]);
		*out = (struct term){ .is_arg = true,
				      .arg = i,
				      .type = c->args[i].type,
				      .mask = type_mask(c->args[i].type) };
		return true;
	}
	return false;
}

/* Decimal or 0x; a leading zero would be read as octal by some and as decimal by others. */
static bool parse_number(struct context *c, const struct node *n, struct term *out)
{
	const char *digits = n->text + (n->text[0] == '-');
	bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	uint64_t v;
	char *end;

	if (digits[0] < '0' || digits[0] > '9')
		return false;
	errno = 0;
	v = strtoull(digits, &end, hex ? 16 : 10);
	if (*end || errno || (hex && !digits[2]) || (digits != n->text && v > INT64_MAX) ||
	    (!hex && digits[0] == '0' && digits[1]))
		fail(c, CAVE_VALUE, n, "'%s' is no number (decimal, or hexadecimal with 0x)",
		     n->text);
	*out = (struct term){ .value = digits != n->text ? -(int64_t)v : (int64_t)v,
			      .huge = digits == n->text && v > INT64_MAX };
	return true;
}

static const char *candidate(const void *context, size_t i)
{
	const struct context *c = context;
	size_t args = 0;

	while (c->args && args < SYS_ARGS && c->args[args].names)
		args++;
	return i < args ? arena_strndup(c->arena, c->args[i].names, syscall_arg_name(&c->args[i])) :
			  syscall_constant_name(i - args);
}

static void unknown_word(struct context *c, const struct node *n)
{
	const char *near = did_you_mean(n->text, candidate, c);

	fail(c, CAVE_UNKNOWN_NAME, n, "'%s' is neither an argument of %s nor a known constant%s%s%s", n->text,
	     c->call, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static struct term parse_word(struct context *c, const struct node *n)
{
	struct term t = { 0 };
	uint64_t v = 0;

	if (parse_argument(c, n, &t) || parse_number(c, n, &t))
		return t;
	if (c->builtin && strcmp(n->text, "self") == 0)
		return (struct term){ .is_self = true };
	switch (syscall_constant(n->text, c->arch, &v)) {
	case CONSTANT_HERE: break;
	case CONSTANT_ELSEWHERE:
		diag_note(c->diags,
			  fail(c, CAVE_UNKNOWN_NAME, n, "there is no %s on %s, where %s exists", n->text,
			       sys_arch_name(c->arch), c->call),
			  nowhere, "a profile means the same on every architecture; a number can be written instead");
		break;
	default: unknown_word(c, n);
	}
	return (struct term){ .value = (int64_t)v };
}

static struct term parse_term(struct context *c, const struct node *n)
{
	struct term left, right;

	if (n->kind == N_WORD)
		return parse_word(c, n);
	left = parse_term(c, n->kids);
	right = parse_term(c, n->kids->next);
	if (right.is_arg || right.is_self || left.is_self || (left.is_arg && n->kind == N_UNION))
		fail(c, CAVE_VALUE, n,
		     "an argument can be masked with a constant (flags & 0x40), nothing else");
	if (left.is_arg)
		left.mask &= (uint64_t)right.value;
	else if (n->kind == N_MASK)
		left.value &= right.value;
	else
		left.value |= right.value;
	return left;
}

/* --- sets of values --------------------------------------------------------------------------- */

static struct ranges one_range(struct context *c, uint64_t lo, uint64_t hi)
{
	struct ranges r = { ARENA_ARRAY(c->arena, 1, struct sys_range), 1 };

	r.item[0] = (struct sys_range){ lo, hi };
	return r;
}

static struct ranges complement(struct context *c, struct ranges r, uint64_t max)
{
	struct ranges out = { ARENA_ARRAY(c->arena, r.n + 1, struct sys_range), 0 };
	uint64_t next = 0;

	for (size_t i = 0; i < r.n; i++) {
		if (r.item[i].lo > next)
			out.item[out.n++] = (struct sys_range){ next, r.item[i].lo - 1 };
		if (r.item[i].hi == max)
			return out;
		next = r.item[i].hi + 1;
	}
	out.item[out.n++] = (struct sys_range){ next, max };
	return out;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct sys_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Sorts the ranges and joins those that touch. */
static void tidy(struct ranges *r)
{
	size_t kept = 0;

	sort(r->item, r->n, sizeof *r->item, compare_ranges);
	for (size_t i = 1; i < r->n; i++) {
		struct sys_range *last = &r->item[kept];

		if (last->hi == UINT64_MAX || r->item[i].lo <= last->hi + 1)
			last->hi = r->item[i].hi > last->hi ? r->item[i].hi : last->hi;
		else
			r->item[++kept] = r->item[i];
	}
	r->n = r->n ? kept + 1 : 0;
}

static struct ranges unite(struct context *c, const struct sys_range *a, size_t na,
			   const struct sys_range *b, size_t nb)
{
	struct ranges r = { ARENA_ARRAY(c->arena, na + nb + 1, struct sys_range), na + nb };

	if (na)
		memcpy(r.item, a, na * sizeof *a);
	if (nb)
		memcpy(r.item + na, b, nb * sizeof *b);
	tidy(&r);
	return r;
}

/*
 * The register value of a constant that is compared with an argument; an error if it cannot have
 * it.
 */
static uint64_t register_value(struct context *c, const struct node *n, const struct term *arg,
			       const struct term *constant, bool ordered)
{
	bool wide = type_is_wide(arg->type), is_signed = type_is_signed(arg->type);
	int64_t v = constant->value;
	bool fits;

	if (constant->is_arg || constant->is_self)
		fail(c, CAVE_VALUE, n, "an argument is compared with a constant");
	if (wide)
		fits = is_signed ? !constant->huge || !ordered : v >= 0 || constant->huge;
	else
		fits = !constant->huge &&
		       v <= (is_signed && ordered ? INT32_MAX : (int64_t)UINT32_MAX) &&
		       v >= (is_signed ? INT32_MIN : 0);
	if (!fits)
		fail(c, CAVE_VALUE, n, "this is no value of '%s' of %s (%s, %s)",
		     own_name(c, &c->args[arg->arg]), c->call, wide ? "64 bits" : "32 bits",
		     is_signed ? "signed" : "unsigned");
	return (uint64_t)v & type_mask(arg->type);
}

/* The values below (or up to) `v`, in the order of the argument's type. */
static struct ranges values_below(struct context *c, const struct term *arg, uint64_t v,
				  bool inclusive)
{
	uint64_t max = type_mask(arg->type), sign = max / 2 + 1;
	struct ranges r = { ARENA_ARRAY(c->arena, 2, struct sys_range), 0 };
	/* In the biased order of signed values, the smallest of them is 0. */
	uint64_t biased = type_is_signed(arg->type) ? v ^ sign : v;

	if (!inclusive && biased-- == 0)
		return r;
	if (!type_is_signed(arg->type)) {
		r.item[r.n++] = (struct sys_range){ 0, biased };
	} else if (biased < sign) {
		r.item[r.n++] = (struct sys_range){ sign, biased ^ sign };
	} else {
		r.item[r.n++] = (struct sys_range){ 0, biased ^ sign };
		r.item[r.n++] = (struct sys_range){ sign, max };
		tidy(&r);
	}
	return r;
}

static struct ranges compare_values(struct context *c, const char *op, const struct term *arg,
				    uint64_t v)
{
	uint64_t max = type_mask(arg->type);

	if (strcmp(op, "==") == 0)
		return one_range(c, v, v);
	if (strcmp(op, "!=") == 0)
		return complement(c, one_range(c, v, v), max);
	if (op[0] == '<')
		return values_below(c, arg, v, op[1] == '=');
	return complement(c, values_below(c, arg, v, op[1] != '='), max);
}

/* --- alternatives ----------------------------------------------------------------------------- */

static struct alternatives one_test(struct context *c, struct sys_test test)
{
	struct sys_test *t = ARENA_ARRAY(c->arena, 1, struct sys_test);
	struct alternative *item = ARENA_ARRAY(c->arena, 1, struct alternative);

	*t = test;
	*item = (struct alternative){ t, 1 };
	return (struct alternatives){ item, 1 };
}

static struct alternatives range_test(struct context *c, const struct term *arg, struct ranges r,
				      bool negate)
{
	uint64_t max = type_mask(arg->type);

	if (negate)
		r = complement(c, r, max);
	if (r.n == 0)
		return (struct alternatives){ NULL, 0 };
	return one_test(c, (struct sys_test){ .arg = (uint8_t)arg->arg,
					      .width = type_is_wide(arg->type) ? 64 : 32,
					      .mask = arg->mask,
					      .range = r.item,
					      .nranges = r.n });
}

static bool same_register(const struct sys_test *a, const struct sys_test *b)
{
	return a->arg == b->arg && a->width == b->width && a->mask == b->mask && !a->self &&
	       !b->self;
}

/* Both; what is left of two single tests of the same register is one. */
static struct alternatives either(struct context *c, struct alternatives a, struct alternatives b)
{
	struct alternative *item = ARENA_ARRAY(c->arena, a.n + b.n + 1, struct alternative);

	if (a.n == 1 && b.n == 1 && a.item->n == 1 && b.item->n == 1 &&
	    same_register(a.item->test, b.item->test)) {
		const struct sys_test *x = a.item->test, *y = b.item->test;
		struct ranges r = unite(c, x->range, x->nranges, y->range, y->nranges);
		struct sys_test both = *x;

		both.range = r.item;
		both.nranges = r.n;
		return one_test(c, both);
	}
	if (a.n)
		memcpy(item, a.item, a.n * sizeof *item);
	if (b.n)
		memcpy(item + a.n, b.item, b.n * sizeof *item);
	return (struct alternatives){ item, a.n + b.n };
}

static struct alternative conjunction(struct context *c, const struct alternative *a,
				      const struct alternative *b)
{
	struct sys_test *test = ARENA_ARRAY(c->arena, a->n + b->n + 1, struct sys_test);

	if (a->n)
		memcpy(test, a->test, a->n * sizeof *test);
	if (b->n)
		memcpy(test + a->n, b->test, b->n * sizeof *test);
	return (struct alternative){ test, a->n + b->n };
}

static struct alternatives both(struct context *c, struct alternatives a, struct alternatives b)
{
	struct alternative *item = ARENA_ARRAY(c->arena, a.n * b.n + 1, struct alternative);

	for (size_t i = 0; i < a.n; i++)
		for (size_t j = 0; j < b.n; j++)
			item[i * b.n + j] = conjunction(c, &a.item[i], &b.item[j]);
	return (struct alternatives){ item, a.n * b.n };
}

static const struct alternatives nothing;

static struct alternatives resolve_self(struct context *c, const struct node *n,
					const struct term *arg, bool negate)
{
	if (negate || strcmp(n->text, "==") != 0 || type_is_wide(arg->type) ||
	    arg->mask != UINT32_MAX)
		fail(c, CAVE_VALUE, n, "'self' can only be compared for equality");
	return one_test(c, (struct sys_test){ .arg = (uint8_t)arg->arg,
					      .width = 32,
					      .self = true,
					      .mask = UINT32_MAX });
}

static struct alternatives resolve_compare(struct context *c, const struct node *n, bool negate)
{
	struct term left = parse_term(c, n->kids), right = parse_term(c, n->kids->next);
	uint64_t v;

	if (!left.is_arg && !c->failed)
		fail(c, CAVE_VALUE, n->kids, "the left side of a comparison is an argument of %s",
		     c->call);
	if (c->failed)
		return nothing;
	if (right.is_self)
		return resolve_self(c, n, &left, negate);
	v = register_value(c, n->kids->next, &left, &right, n->text[0] == '<' || n->text[0] == '>');
	if ((n->text[0] == '=' || n->text[0] == '!') && (v & ~left.mask) != 0)
		fail(c, CAVE_VALUE, n, "the mask leaves nothing that could equal this value");
	if (c->failed)
		return nothing;
	return range_test(c, &left, compare_values(c, n->text, &left, v), negate);
}

/*
 * A value, or a range of numbers `1000-1063`, as one range.  Of a signed argument both ends are on one side of
 * zero, as numbers or as the register has them, so that it is the same range in either order.
 */
static struct sys_range parse_value_range(struct context *c, const struct node *n,
					  const struct term *arg)
{
	const char *dash = n->kind == N_WORD ? strchr(n->text + (n->text[0] != 0), '-') : NULL;
	struct node lo = *n, hi = *n;
	struct term from, to;
	uint64_t v, sign = type_mask(arg->type) / 2 + 1;
	struct sys_range range;

	if (!dash || n->text[0] < '0' || n->text[0] > '9') {
		from = parse_term(c, n);
		v = c->failed ? 0 : register_value(c, n, arg, &from, false);
		return (struct sys_range){ v, v };
	}
	lo.text = arena_strndup(c->arena, n->text, (size_t)(dash - n->text));
	hi.text = dash + 1;
	from = parse_term(c, &lo);
	to = parse_term(c, &hi);
	if (c->failed)
		return (struct sys_range){ 0, 0 };
	range = (struct sys_range){ register_value(c, n, arg, &from, false),
				    register_value(c, n, arg, &to, false) };
	if (range.lo > range.hi || (type_is_signed(arg->type) && ((range.lo ^ range.hi) & sign)))
		fail(c, CAVE_VALUE, n, "the range '%s' is empty, or crosses the sign", n->text);
	return range;
}

static struct alternatives resolve_in(struct context *c, const struct node *n, bool negate)
{
	struct term left = parse_term(c, n->kids);
	struct ranges r = { NULL, 0 };
	size_t cap = 0;

	if (!left.is_arg && !c->failed)
		fail(c, CAVE_VALUE, n->kids, "the left side of 'in' is an argument of %s", c->call);
	for (const struct node *v = n->kids->next; v && !c->failed; v = v->next)
		*ARENA_PUSH(c->arena, r.item, r.n, cap) = parse_value_range(c, v, &left);
	if (c->failed)
		return nothing;
	tidy(&r);
	if (r.n > RANGES_MAX) {
		fail(c, CAVE_UNSUPPORTED, n,
		     "a filter cannot tell so many values apart: these are %zu, without their neighbours", r.n);
		return nothing;
	}
	return range_test(c, &left, r, negate);
}

static struct alternatives resolve_truth(struct context *c, const struct node *n, bool negate)
{
	struct term t = parse_term(c, n->kids);

	if (!t.is_arg && !c->failed)
		fail(c, CAVE_VALUE, n, "a condition looks at an argument of %s", c->call);
	if (c->failed)
		return nothing;
	return range_test(c, &t, one_range(c, 1, type_mask(t.type)), negate);
}

static struct alternatives resolve(struct context *c, const struct node *n, bool negate);

/* Values of one register, of which more may come: they are sorted once. */
struct values {
	struct sys_test like;
	struct sys_range *range;
	size_t n, cap;
};

static void add_values(struct context *c, struct values *v, const struct sys_test *t)
{
	v->like = *t;
	for (size_t i = 0; i < t->nranges; i++)
		*ARENA_PUSH(c->arena, v->range, v->n, v->cap) = t->range[i];
}

static struct alternatives values_end(struct context *c, struct values *v)
{
	struct ranges r = { v->range, v->n };
	struct sys_test t = v->like;

	tidy(&r);
	t.range = r.item;
	t.nranges = r.n;
	*v = (struct values){ .n = 0 };
	return one_test(c, t);
}

static bool is_one(const struct alternatives *x)
{
	return x->n == 1 && x->item->n == 1 && !x->item->test->self;
}

/* `a` or `b`, where `a` may still be in the making. */
static struct alternatives also(struct context *c, struct values *v, struct alternatives a, struct alternatives b)
{
	if (is_one(&a) && is_one(&b) && same_register(a.item->test, b.item->test)) {
		if (!v->n)
			add_values(c, v, a.item->test);
		add_values(c, v, b.item->test);
		return a;
	}
	return either(c, v->n ? values_end(c, v) : a, b);
}

/* `a` and `b` the same way: the tests of both, where each is one alternative. */
struct tests {
	struct sys_test *test;
	size_t n, cap;
};

static void add_tests(struct context *c, struct tests *t, const struct alternative *x)
{
	for (size_t i = 0; i < x->n; i++)
		*ARENA_PUSH(c->arena, t->test, t->n, t->cap) = x->test[i];
}

static struct alternatives tests_end(struct context *c, struct tests *t)
{
	struct alternative *item = ARENA_ARRAY(c->arena, 1, struct alternative);

	*item = (struct alternative){ t->test, t->n };
	*t = (struct tests){ .n = 0 };
	return (struct alternatives){ item, 1 };
}

static struct alternatives as_well(struct context *c, struct tests *t, struct alternatives a, struct alternatives b)
{
	if (a.n == 1 && b.n == 1) {
		if (!t->n)
			add_tests(c, t, a.item);
		add_tests(c, t, b.item);
		return a;
	}
	return both(c, t->n ? tests_end(c, t) : a, b);
}

/* The parts of a chain, the last one first: `a || b || c` is ((a || b) || c). */
static const struct node **chain_of(struct context *c, const struct node *n, size_t *count)
{
	const enum node_kind kind = n->kind;
	const struct node **part = NULL;
	size_t cap = 0;

	for (*count = 0; n->kind == kind; n = n->kids)
		*ARENA_PUSH(c->arena, part, *count, cap) = n->kids->next;
	*ARENA_PUSH(c->arena, part, *count, cap) = n;
	return part;
}

static struct alternatives resolve_chain(struct context *c, const struct node *n, bool negate)
{
	const bool any = (n->kind == N_OR) != negate;
	struct values values = { .n = 0 };
	struct tests tests = { .n = 0 };
	size_t count;
	const struct node **part = chain_of(c, n, &count);
	struct alternatives a = resolve(c, part[count - 1], negate), b;

	for (size_t i = count - 1; i-- > 0 && !c->failed;) {
		b = resolve(c, part[i], negate);
		if (c->failed)
			return nothing;
		a = any ? also(c, &values, a, b) : as_well(c, &tests, a, b);
		if (a.n > ALTERNATIVES_MAX)
			fail(c, CAVE_VALUE, n, "the condition has more than %d alternatives when written out",
			     ALTERNATIVES_MAX);
	}
	if (c->failed)
		return nothing;
	return values.n ? values_end(c, &values) : tests.n ? tests_end(c, &tests) : a;
}

static struct alternatives resolve(struct context *c, const struct node *n, bool negate)
{
	switch (n->kind) {
	case N_NOT: return resolve(c, n->kids, !negate);
	case N_COMPARE: return resolve_compare(c, n, negate);
	case N_IN: return resolve_in(c, n, negate);
	case N_TRUTH: return resolve_truth(c, n, negate);
	default: return resolve_chain(c, n, negate);
	}
}

bool condition_resolve(struct diags *d, struct arena *a, enum sys_arch arch, const char *call,
		       const struct node *condition, bool builtin, struct alternatives *out)
{
	struct context c = { d, a, arch, call, syscall_args(call), builtin, false };
	struct alternatives result;

	if (!c.args) {
		diag_error(d, CAVE_VALUE, condition->at, "%s has no arguments to look at", call);
		return false;
	}
	result = resolve(&c, condition, false);
	if (c.failed)
		return false;
	*out = result;
	return true;
}
