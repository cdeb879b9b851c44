/* SPDX-License-Identifier: MIT */
/*
 * A bare filter as the container engines' JSON (runtime-spec config-linux.md, "Seccomp").  An engine takes rules
 * without an order, compares whole 64-bit registers, and takes two conditions on one argument for alternatives; so
 * what is written are rules that do not overlap, each with at most one masked comparison on an argument.
 */
#include <inttypes.h>
#include <linux/audit.h>
#include <stdlib.h>

#include "compiler/emit.h"
#include "compiler/syscalls_clauses.h"

enum { CUBES_MAX = 2048 };

/* Some bits of each argument have these values. */
struct cube {
	uint64_t mask[SYS_ARGS], value[SYS_ARGS];
};

struct cubes {
	struct cube *item;
	size_t n, cap;
};

static bool narrow(struct cube *c, unsigned arg, uint64_t mask, uint64_t value)
{
	if ((c->value[arg] ^ value) & c->mask[arg] & mask)
		return false;
	c->mask[arg] |= mask;
	c->value[arg] |= value;
	return true;
}

/* Every cube of `from`, with the masked argument between `lo` and `hi`: aligned blocks of it. */
static void add_range(struct arena *a, const struct cubes *from, const struct sys_test *t, uint64_t lo, uint64_t hi,
		      struct cubes *to)
{
	for (;;) {
		unsigned bits = lo ? (unsigned)__builtin_ctzll(lo) : 63;
		uint64_t low;

		while (low = bits ? UINT64_MAX >> (64 - bits) : 0, low > hi - lo)
			bits--;
		for (size_t i = 0; (lo & ~low & ~t->mask) == 0 && i < from->n; i++) {
			struct cube c = from->item[i];

			if (narrow(&c, t->arg, t->mask & ~low, lo & t->mask & ~low))
				*ARENA_PUSH(a, to->item, to->n, to->cap) = c;
		}
		if (hi - lo <= low || to->n > CUBES_MAX)
			return;
		lo += low + 1;
	}
}

/* The cubes of one clause. */
static struct cubes cubes_of(struct arena *a, const struct alternative *x)
{
	struct cubes now = { NULL, 0, 0 };

	*ARENA_PUSH(a, now.item, now.n, now.cap) = (struct cube){ { 0 }, { 0 } };
	for (size_t i = 0; i < x->n; i++) {
		struct cubes next = { NULL, 0, 0 };
		const struct sys_test *t = &x->test[i];

		for (size_t j = 0; j < t->nranges && t->range[j].lo <= t->mask; j++)
			add_range(a, &now, t, t->range[j].lo,
				  t->range[j].hi < t->mask ? t->range[j].hi : t->mask, &next);
		now = next;
	}
	return now;
}

static const char *action_of(struct sys_result r)
{
	switch (r.action) {
	case SYS_ALLOW: return "SCMP_ACT_ALLOW";
	case SYS_ALLOW_LOGGED: return "SCMP_ACT_LOG";
	case SYS_ERRNO: return "SCMP_ACT_ERRNO";
	default: return "SCMP_ACT_KILL_PROCESS";
	}
}

/* `value` is the mask and `valueTwo` what is left; written here, because values take all 64 bits. */
static void put_args(struct buffer *b, const struct cube *c)
{
	const char *before = "";

	buffer_printf(b, ", \"args\": [");
	for (unsigned arg = 0; arg < SYS_ARGS; arg++)
		if (c->mask[arg]) {
			buffer_printf(b,
				      "%s{ \"index\": %u, \"value\": %" PRIu64 ", \"valueTwo\": %" PRIu64
				      ", \"op\": \"SCMP_CMP_MASKED_EQ\" }",
				      before, arg, c->mask[arg], c->value[arg]);
			before = ", ";
		}
	buffer_printf(b, "]");
}

/* The text of the list of rules, and whether it has one. */
struct rules {
	struct buffer text;
	bool any;
};

static void begin_rule(struct rules *r)
{
	buffer_printf(&r->text, "%s\n    { \"names\": [", r->any ? "," : "");
	r->any = true;
}

static void end_rule(struct rules *r, struct sys_result result, const struct cube *c)
{
	buffer_printf(&r->text, "], \"action\": \"%s\"", action_of(result));
	if (result.action == SYS_ERRNO)
		buffer_printf(&r->text, ", \"errnoRet\": %u", result.error);
	if (c)
		put_args(&r->text, c);
	buffer_printf(&r->text, " }");
}

static bool same(struct sys_result a, struct sys_result b)
{
	return a.action == b.action && (a.action != SYS_ERRNO || a.error == b.error);
}

/* kill before errno before log before allow; of errors the lowest number: bpf/sysrules.h. */
static int rank(struct sys_result r)
{
	return r.action == SYS_KILL ? 0 : r.action == SYS_ERRNO ? (int)r.error : r.action == SYS_ALLOW_LOGGED ? 5000 : 5001;
}

static int by_rank(const void *a, const void *b)
{
	int x = rank(((const struct sys_clause *)a)->result), y = rank(((const struct sys_clause *)b)->result);

	return x < y ? -1 : x > y;
}

/* The rules of one call, those that stand further up taken out of the rest; false if they are too many. */
static bool add_call(struct arena *a, struct rules *rules, const struct sys_call *call, struct sys_result otherwise)
{
	struct sys_clause *clause = ARENA_ARRAY(a, call->nclauses + 1, struct sys_clause);
	struct alternative *before = ARENA_ARRAY(a, call->nclauses + 1, struct alternative);

	if (call->nclauses)
		memcpy(clause, call->clause, call->nclauses * sizeof *clause);
	qsort(clause, call->nclauses, sizeof *clause, by_rank);
	for (size_t i = 0; i < call->nclauses; i++) {
		struct alternatives rest;

		before[i] = (struct alternative){ clause[i].test, clause[i].ntests };
		if (!alternatives_subtract(a, (struct alternatives){ &before[i], 1 },
					   (struct alternatives){ before, i }, &rest))
			return false;
		for (size_t j = 0; j < rest.n && !same(clause[i].result, otherwise); j++) {
			struct cubes c = cubes_of(a, &rest.item[j]);

			if (c.n > CUBES_MAX)
				return false;
			for (size_t k = 0; k < c.n; k++) {
				begin_rule(rules);
				buffer_printf(&rules->text, "\"%s\"", call->name);
				end_rule(rules, clause[i].result, &c.item[k]);
			}
		}
	}
	return true;
}

static bool is_plain(const struct sys_call *call)
{
	return call->nclauses == 1 && call->clause[0].ntests == 0;
}

/* The calls that are decided by their number, together by what happens to them; then the others. */
static bool add_calls(struct arena *a, struct rules *rules, const struct sys_rules *r)
{
	bool *done = ARENA_ARRAY(a, r->ncalls + 1, bool);

	for (size_t i = 0; i < r->ncalls; i++) {
		const struct sys_clause *clause = r->call[i].clause;
		const char *before = "";

		if (done[i] || !is_plain(&r->call[i]) || same(clause->result, r->refused))
			continue;
		begin_rule(rules);
		for (size_t j = i; j < r->ncalls; j++)
			if (is_plain(&r->call[j]) && same(r->call[j].clause->result, clause->result)) {
				buffer_printf(&rules->text, "%s\"%s\"", before, r->call[j].name);
				before = ", ";
				done[j] = true;
			}
		end_rule(rules, clause->result, NULL);
	}
	for (size_t i = 0; i < r->ncalls; i++)
		if (!is_plain(&r->call[i]) && !add_call(a, rules, &r->call[i], r->refused))
			return false;
	return true;
}

bool emit_oci(struct arena *a, const struct sys_rules *rules, struct buffer *out)
{
	struct rules list = { { .arena = a }, false };

	if (!add_calls(a, &list, rules))
		return false;
	buffer_printf(out, "{\n  \"defaultAction\": \"%s\",\n", action_of(rules->refused));
	if (rules->refused.action == SYS_ERRNO)
		buffer_printf(out, "  \"defaultErrnoRet\": %u,\n", rules->refused.error);
	buffer_printf(out, "  \"architectures\": [\"SCMP_ARCH_%s\"],\n  \"syscalls\": [",
		      rules->arch == AUDIT_ARCH_X86_64	? "X86_64" :
		      rules->arch == AUDIT_ARCH_AARCH64 ? "AARCH64" :
							  "RISCV64");
	buffer_add(out, list.text.data, list.text.n);
	buffer_printf(out, "\n  ]\n}\n");
	return true;
}
