/* SPDX-License-Identifier: MIT */
/*
 * The filter generator and the proof: random rules against a direct evaluation of their own,
 * filters that need far jumps, filters that are too long, and faults put into generated filters,
 * each of which the proof must find.
 */
#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/vm.h"
#include "compiler/syscalls.h"
#include "tests/unit/unit.h"

enum {
	RANDOM_RULES = 3000,
	RANDOM_PROOFS = 1000,
	SAMPLES = 60,
	FAULTS = 15,
	SELF = 4321,
	METADATA = SECCOMP_RET_ERRNO | 901,
	SIGNAL = SECCOMP_RET_ERRNO | 902
};

static uint64_t rng(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t below(uint64_t *state, uint64_t n)
{
	return (rng(state) >> 11) % n;
}

/* --- random rules ----------------------------------------------------------------------------- */

static const uint64_t edges[] = { 0,
				  1,
				  2,
				  7,
				  0x40,
				  0x7fffffff,
				  0x80000000,
				  0xfffffffe,
				  0xffffffff,
				  0x100000000,
				  0x100000001,
				  0x7fffffffffffffff,
				  UINT64_MAX - 1,
				  UINT64_MAX };

static uint64_t random_value(uint64_t *state)
{
	uint64_t r = rng(state);

	return r & 3 ? edges[(r >> 8) % (sizeof edges / sizeof edges[0])] : r >> (r >> 2) % 60;
}

static uint64_t random_mask(uint64_t *state)
{
	switch (below(state, 6)) {
	case 0: return UINT64_C(1) << below(state, 64);
	case 1: return 0xf;
	case 2: return 0x7e020000;
	case 3: return UINT64_C(0xff00000000) | below(state, 256);
	default: return UINT64_MAX;
	}
}

static int compare_ranges(const void *a, const void *b)
{
	const struct sys_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static size_t random_ranges(uint64_t *state, uint64_t max, struct sys_range *out)
{
	struct sys_range r[4];
	size_t n = 1 + below(state, 4), kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t a = random_value(state) & max,
			 b = below(state, 2) ? a : random_value(state) & max;

		r[i] = (struct sys_range){ a < b ? a : b, a < b ? b : a };
	}
	qsort(r, n, sizeof *r, compare_ranges);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || r[i].lo > out[kept - 1].hi)
			out[kept++] = r[i];
	return kept;
}

static struct sys_test random_test(struct arena *a, uint64_t *state)
{
	struct sys_range *range = ARENA_ARRAY(a, 4, struct sys_range);
	struct sys_test t = { .arg = (uint8_t)below(state, 3), .width = below(state, 2) ? 32 : 64 };

	t.mask = random_mask(state) & (t.width == 32 ? UINT32_MAX : UINT64_MAX);
	t.self = below(state, 12) == 0;
	if (t.self) {
		t.width = 32;
		t.mask = UINT32_MAX;
		return t;
	}
	t.nranges = random_ranges(state, t.width == 32 ? UINT32_MAX : UINT64_MAX, range);
	t.range = range;
	return t;
}

static struct sys_result random_result(uint64_t *state)
{
	static const struct sys_result result[] = {
		{ SYS_ALLOW, 0 },	 { SYS_ALLOW, 0 },	    { SYS_ALLOW, 0 },
		{ SYS_ALLOW_LOGGED, 0 }, { SYS_GUARD_METADATA, 0 }, { SYS_GUARD_SIGNAL, 0 },
		{ SYS_ERRNO, EPERM },	 { SYS_ERRNO, ENOSYS },	    { SYS_KILL, 0 }
	};

	return result[below(state, sizeof result / sizeof result[0])];
}

/* Up to `most` clauses of up to `most` tests each. */
static struct sys_call random_call(struct arena *a, uint64_t *state, uint32_t nr, size_t most)
{
	struct sys_call call = { .nr = nr, .name = "call", .nclauses = below(state, most + 1) };
	struct sys_clause *clause = ARENA_ARRAY(a, call.nclauses + 1, struct sys_clause);

	for (size_t i = 0; i < call.nclauses; i++) {
		size_t n = below(state, most + 1);
		struct sys_test *test = ARENA_ARRAY(a, n + 1, struct sys_test);

		for (size_t j = 0; j < n; j++)
			test[j] = random_test(a, state);
		clause[i] = (struct sys_clause){ random_result(state), test, n, 0 };
	}
	call.clause = clause;
	return call;
}

static struct sys_rules rules_of(const struct sys_call *call, size_t n)
{
	return (struct sys_rules){ .arch = AUDIT_ARCH_X86_64,
				   .arch_name = "x86_64",
				   .call = call,
				   .ncalls = n,
				   .refused = { SYS_ERRNO, EPERM },
				   .unknown = { SYS_ERRNO, ENOSYS } };
}

/* --- a direct evaluation ---------------------------------------------------------------------- */

static bool holds(const struct sys_test *t, uint64_t v)
{
	bool in = false;

	v = t->width == 32 ? v & UINT32_MAX : v;
	if (t->self)
		return v == SELF;
	for (size_t i = 0; i < t->nranges; i++)
		in |= (v & t->mask) >= t->range[i].lo && (v & t->mask) <= t->range[i].hi;
	return in;
}

static uint32_t answer(struct sys_result r)
{
	switch (r.action) {
	case SYS_ALLOW: return SECCOMP_RET_ALLOW;
	case SYS_ALLOW_LOGGED: return SECCOMP_RET_LOG;
	case SYS_COUNTED: return SECCOMP_RET_USER_NOTIF;
	case SYS_GUARD_METADATA: return METADATA;
	case SYS_GUARD_SIGNAL: return SIGNAL;
	case SYS_ERRNO: return SECCOMP_RET_ERRNO | r.error;
	default: return SECCOMP_RET_KILL_PROCESS;
	}
}

/* The strongest answers first. */
static const struct sys_result order[] = { { SYS_KILL, 0 },	   { SYS_ERRNO, EPERM },
					   { SYS_ERRNO, ENOSYS },  { SYS_ALLOW_LOGGED, 0 },
					   { SYS_ALLOW, 0 },	   { SYS_GUARD_METADATA, 0 },
					   { SYS_GUARD_SIGNAL, 0 } };

static uint32_t expected(const struct sys_rules *r, const struct sys_call *call,
			 const struct seccomp_data *data)
{
	for (size_t o = 0; o < sizeof order / sizeof order[0]; o++)
		for (size_t i = 0; i < call->nclauses; i++) {
			const struct sys_clause *c = &call->clause[i];
			bool all = c->result.action == order[o].action &&
				   c->result.error == order[o].error;

			for (size_t j = 0; all && j < c->ntests; j++)
				all = holds(&c->test[j], data->args[c->test[j].arg]);
			if (all)
				return answer(order[o]);
		}
	return answer(r->refused);
}

static void complete(struct sock_filter *insn, const struct filter_program *f)
{
	memcpy(insn, f->insn, f->n * sizeof *insn);
	for (size_t i = 0; i < f->npatches; i++) {
		uint32_t kind = f->patch[i].kind;

		insn[f->patch[i].insn].k = kind == CAVE_PATCH_SELF	     ? (uint32_t)SELF
					   : kind == CAVE_PATCH_RET_METADATA ? (uint32_t)METADATA
									     : (uint32_t)SIGNAL;
	}
}

static uint64_t sample_value(uint64_t *state, const struct sys_call *call)
{
	const struct sys_clause *c =
		call->nclauses ? &call->clause[below(state, call->nclauses)] : NULL;
	const struct sys_test *t = c && c->ntests ? &c->test[below(state, c->ntests)] : NULL;
	uint64_t v = random_value(state);

	if (t && t->self)
		return SELF + below(state, 2);
	if (t && t->nranges && below(state, 4)) {
		const struct sys_range *r = &t->range[below(state, t->nranges)];

		v = (below(state, 2) ? r->lo : r->hi) + below(state, 3) - 1;
		v |= below(state, 2) ? rng(state) & ~t->mask : 0;
	}
	return t && t->width == 32 && below(state, 2) ? v | rng(state) << 32 : v;
}

static bool agrees(uint64_t *state, const struct sys_rules *r, const struct filter_program *f)
{
	static struct sock_filter insn[BPF_MAXINSNS];

	complete(insn, f);
	for (size_t i = 0; i < r->ncalls; i++)
		for (unsigned s = 0; s < SAMPLES; s++) {
			struct seccomp_data data = { .nr = (int)r->call[i].nr, .arch = r->arch };

			for (unsigned j = 0; j < 6; j++)
				data.args[j] = sample_value(state, &r->call[i]);
			if (cbpf_run(insn, f->n, &data, NULL) != expected(r, &r->call[i], &data))
				return false;
		}
	return true;
}

static bool proves(const struct sys_rules *r, const struct filter_program *f)
{
	struct arena a = { NULL };
	struct sources s;
	struct diags d;
	bool ok;

	sources_init(&s, &a);
	diags_init(&d, &s);
	ok = syscalls_prove(&d, r, f) && d.errors == 0;
	arena_free(&a);
	return ok;
}

static struct sys_rules random_policy(struct arena *a, uint64_t *state, size_t most)
{
	size_t n = 1 + below(state, 4);
	struct sys_call *call = ARENA_ARRAY(a, n, struct sys_call);
	uint32_t nr = (uint32_t)below(state, 2);

	for (size_t c = 0; c < n; c++, nr += 1 + (uint32_t)below(state, 4))
		call[c] = random_call(a, state, nr, most);
	return rules_of(call, n);
}

static void random_rules(void)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	unsigned right = 0, made = 0;

	for (unsigned i = 0; i < RANDOM_RULES; i++) {
		struct arena a = { NULL };
		struct sys_rules r = random_policy(&a, &state, 4);
		struct filter_program f;
		struct gen_error e;

		if (seccomp_generate(&a, &r, &f, &e)) {
			made++;
			right += agrees(&state, &r, &f);
		}
		arena_free(&a);
	}
	check(made > RANDOM_RULES * 9 / 10, "random rules fit (%u of %d)", made, RANDOM_RULES);
	check(right == made, "their filters agree with the rules (%u of %u)", right, made);
}

static void random_proofs(void)
{
	uint64_t state = UINT64_C(0xd1342543de82ef95);
	unsigned proved = 0;

	for (unsigned i = 0; i < RANDOM_PROOFS; i++) {
		struct arena a = { NULL };
		struct sys_rules r = random_policy(&a, &state, 4);
		struct filter_program f;
		struct gen_error e;

		proved += seccomp_generate(&a, &r, &f, &e) && proves(&r, &f);
		arena_free(&a);
	}
	check(proved == RANDOM_PROOFS, "the proof accepts the filters of random rules (%u of %d)",
	      proved, RANDOM_PROOFS);
}

/* --- sizes ------------------------------------------------------------------------------------ */

static const struct sys_clause *one_clause(struct arena *a, struct sys_result result,
					   struct sys_test test)
{
	struct sys_clause *c = ARENA_ARRAY(a, 1, struct sys_clause);
	struct sys_test *t = ARENA_ARRAY(a, 1, struct sys_test);

	*t = test;
	*c = (struct sys_clause){ result, t, 1, 0 };
	return c;
}

/* `n` calls, each of which allows `m` values of an argument that are its own. */
static struct sys_rules wide_rules(struct arena *a, size_t n, size_t m)
{
	struct sys_call *call = ARENA_ARRAY(a, n, struct sys_call);

	for (size_t i = 0; i < n; i++) {
		struct sys_range *range = ARENA_ARRAY(a, m, struct sys_range);
		struct sys_test t = { .arg = (uint8_t)(i % 6),
				      .width = 32,
				      .mask = UINT32_MAX,
				      .range = range,
				      .nranges = m };

		for (size_t j = 0; j < m; j++)
			range[j].lo = range[j].hi = (i + 1) * 1000 + j * 7;
		call[i] = (struct sys_call){ (uint32_t)i, arena_printf(a, "call%zu", i),
					     one_clause(a, (struct sys_result){ SYS_ALLOW, 0 }, t),
					     1 };
	}
	return rules_of(call, n);
}

static void sizes(void)
{
	static const size_t shapes[][2] = { { 1, 1 },	{ 1, 300 }, { 1, 2000 },
					    { 2, 700 }, { 60, 40 }, { 400, 4 } };
	struct arena a = { NULL };
	struct filter_program f = { 0 };
	struct gen_error e = { 0 };
	struct sys_rules r;
	bool refused;

	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		uint64_t state = i + 1;

		bool right;

		r = wide_rules(&a, shapes[i][0], shapes[i][1]);
		right = seccomp_generate(&a, &r, &f, &e) && agrees(&state, &r, &f) &&
			proves(&r, &f);
		check(right, "%zu calls with %zu values each: %zu instructions, right",
		      shapes[i][0], shapes[i][1], f.n);
	}
	r = wide_rules(&a, 400, 40);
	f.n = 7;
	refused = !seccomp_generate(&a, &r, &f, &e) && e.needed > e.limit && e.limit == 4096 &&
		  e.detail && f.n == 7;
	check(refused, "a filter that is too long is refused: %zu of %zu, %s", e.needed, e.limit,
	      e.detail);
	arena_free(&a);
}

/* 64 neighbouring requests are two comparisons, not 64: ten instructions with the head and the three returns. */
static void neighbours(void)
{
	struct arena a = { NULL };
	struct sys_range range = { 0x5401, 0x5440 };
	struct sys_test t = {
		.arg = 1, .width = 32, .mask = UINT32_MAX, .range = &range, .nranges = 1
	};
	struct sys_call call = { 16, "ioctl",
				 one_clause(&a, (struct sys_result){ SYS_ALLOW, 0 }, t), 1 };
	struct sys_rules r = rules_of(&call, 1);
	struct filter_program f;
	struct gen_error e;
	bool small;

	r.unknown = r.refused;
	small = seccomp_generate(&a, &r, &f, &e) && f.n <= 10;
	check(small, "64 neighbouring requests: %zu instructions in all", f.n);
	arena_free(&a);
}

/* --- faults ----------------------------------------------------------------------------------- */

/*
 * A policy with every kind of decision: plain, one value, ranges, masks, 64 bits, own pid, guards,
 * token.
 */
static struct sys_rules specimen(struct arena *a)
{
	static const struct sys_range values[] = { { 3, 3 }, { 10, 20 }, { 0x5401, 0x5403 } };
	static const struct sys_range wide[] = { { UINT64_C(0x200000005), UINT64_C(0x500000009) } };
	static const struct sys_range zero[] = { { 0, 0 } }, some[] = { { 1, UINT32_MAX } };
	static const struct sys_result allow = { SYS_ALLOW, 0 };
	struct sys_call *call = ARENA_ARRAY(a, 9, struct sys_call);
	struct sys_clause *pair = ARENA_ARRAY(a, 2, struct sys_clause);
	struct sys_clause *plain = ARENA_ARRAY(a, 4, struct sys_clause);

	plain[0].result = allow;
	plain[1].result = (struct sys_result){ SYS_GUARD_METADATA, 0 };
	plain[2].result = (struct sys_result){ SYS_EXEC_ONCE, 0 };
	plain[3].result = (struct sys_result){ SYS_GUARD_SIGNAL, 0 };
	pair[0] = *one_clause(a, allow, (struct sys_test){ 0, 32, true, UINT32_MAX, NULL, 0 });
	pair[1] = plain[3];
	call[0] = (struct sys_call){ 0, "plain", plain, 1 };
	call[1] = (struct sys_call){ 1, "refused", NULL, 0 };
	call[2] = (struct sys_call){
		2, "values",
		one_clause(a, allow, (struct sys_test){ 1, 32, false, UINT32_MAX, values, 3 }), 1
	};
	call[3] = (struct sys_call){
		5, "wide",
		one_clause(a, allow, (struct sys_test){ 2, 64, false, UINT64_MAX, wide, 1 }), 1
	};
	call[4] = (struct sys_call){
		6, "bits",
		one_clause(a, allow, (struct sys_test){ 0, 32, false, 0x7e020000, zero, 1 }), 1
	};
	call[5] = (struct sys_call){
		7, "bit", one_clause(a, allow, (struct sys_test){ 0, 32, false, 0x10000, some, 1 }),
		1
	};
	call[6] = (struct sys_call){ 9, "guarded", plain + 1, 1 };
	call[7] = (struct sys_call){ 59, "execve", plain + 2, 1 };
	call[8] = (struct sys_call){ 62, "kill", pair, 2 };
	return rules_of(call, 9);
}

/* Numbers that are best parted by their bits, and values that are all the combinations of two bits. */
static struct sys_rules parted(struct arena *a)
{
	static const uint32_t refused[] = { 24, 31, 36, 40, 44, 48, 55, 60 };
	static const struct sys_range cube[] = { { 0, 0 }, { 8, 8 }, { 0x20000, 0x20000 }, { 0x20008, 0x20008 } };
	static const struct sys_clause allow = { .result = { SYS_ALLOW, 0 } };
	struct sys_call *call = ARENA_ARRAY(a, 65, struct sys_call);
	size_t n = 0;

	for (uint32_t nr = 0; nr < 65; nr++)
		call[nr] = (struct sys_call){ nr, "call", &allow, 1 };
	for (; n < sizeof refused / sizeof refused[0]; n++)
		call[refused[n]].nclauses = 0;
	call[7].clause = one_clause(a, allow.result, (struct sys_test){ 0, 32, false, UINT32_MAX, cube, 4 });
	return rules_of(call, 65);
}

static size_t bit_tests(const struct filter_program *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->insn[i].code == (BPF_JMP | BPF_JSET | BPF_K);
	return n;
}

/* Without the tests of bits the faults below would not be put into any. */
static void parting(const struct sys_rules *r)
{
	struct arena a = { NULL };
	struct filter_program f = { 0 };
	struct gen_error e;
	uint64_t state = 5;
	bool right = seccomp_generate(&a, r, &f, &e) && agrees(&state, r, &f);

	check(right && bit_tests(&f) >= 2 && f.n <= 20, "parted by bits: %zu instructions, %zu of them test bits, right",
	      f.n, bit_tests(&f));
	arena_free(&a);
}

/* One change to one instruction; false where it does not apply. */
static bool mutate(struct sock_filter *f, unsigned fault, bool patched)
{
	bool jump = BPF_CLASS(f->code) == BPF_JMP && BPF_OP(f->code) != BPF_JA;
	bool load = f->code == (BPF_LD | BPF_W | BPF_ABS);
	uint8_t jt = f->jt;

	switch (fault) {
	case 0: f->jt = f->jf, f->jf = jt; return jump; /* swapped branch */
	case 1: f->jt++; return jump;			/* wrong target */
	case 2: f->jf++; return jump;
	case 3: f->jt = (uint8_t)(f->jt ? f->jt - 1 : 1); return jump;
	case 4: f->jf = (uint8_t)(f->jf ? f->jf - 1 : 1); return jump;
	case 5: f->k++; return jump && !patched; /* off-by-one bound */
	case 6: f->k--; return jump && !patched;
	case 7: f->k ^= 4; return load && f->k >= 16;		    /* wrong half */
	case 8: f->k += 8; return load && f->k <= 56 && f->k >= 16; /* wrong argument */
	case 9:
		f->code ^= BPF_JGE ^ BPF_JGT;
		return jump && BPF_OP(f->code) >= BPF_JGT && BPF_OP(f->code) <= BPF_JGE;
	case 10: f->k &= 0xffff; return jump && f->k > 0xffff && !patched; /* truncated constant */
	case 11: f->k &= f->k - 1; return jump && BPF_OP(f->code) == BPF_JSET; /* a bit too few */
	case 12: f->k |= 0x80000000; return jump && BPF_OP(f->code) == BPF_JSET; /* too many */
	case 13:
		f->code ^= BPF_JSET ^ BPF_JGE;
		return jump && BPF_OP(f->code) >= BPF_JGE && !patched; /* bits for a bound */
	default: f->k ^= 1; return BPF_CLASS(f->code) == BPF_RET && !patched; /* another answer */
	}
}

static bool is_patched(const struct filter_program *f, size_t i)
{
	for (size_t j = 0; j < f->npatches; j++)
		if (f->patch[j].insn == i)
			return true;
	return false;
}

/* Every value near one that the specimen mentions, in either half. */
static size_t dense_values(uint64_t *out)
{
	static const uint64_t base[] = {
		0,	     0x10,	  0x5400,      0x10000,	    0x20000,     SELF - 4,
		0x7e020000,  0xfffffff0,  0x200000000, 0x1fffffff8, UINT64_C(0x500000000),
		0x4fffffff8, 0x2fffffff8, 0x600000000
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof base / sizeof base[0]; i++)
		for (uint64_t j = 0; j < 16; j++)
			out[n++] = base[i] + j;
	for (unsigned bit = 0; bit < 64; bit++)
		out[n++] = UINT64_C(1) << bit;
	return n;
}

/* True if some input near what the specimen mentions tells the two programs apart. */
static bool differ(const struct sock_filter *a, const struct sock_filter *b, size_t n)
{
	static uint64_t value[1024];
	size_t values = dense_values(value), bad;

	if (!cbpf_check(b, n, &bad))
		return true;
	for (int nr = -1; nr < 70; nr++)
		for (size_t i = 0; i < 6 * values; i++) {
			struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64 };

			data.args[i % 6] = value[i / 6];
			if (cbpf_run(a, n, &data, NULL) != cbpf_run(b, n, &data, NULL))
				return true;
		}
	return false;
}

static void faults(const struct sys_rules *r, const char *name)
{
	struct arena a = { NULL };
	struct filter_program f, bad;
	struct sock_filter *insn;
	struct gen_error e;
	unsigned injected = 0, found = 0;

	if (!check(seccomp_generate(&a, r, &f, &e) && proves(r, &f), "%s: generated and proved",
		   name))
		return;
	insn = ARENA_ARRAY(&a, f.n, struct sock_filter);
	bad = f;
	bad.insn = insn;
	for (size_t i = 0; i < f.n; i++)
		for (unsigned fault = 0; fault < FAULTS; fault++) {
			memcpy(insn, f.insn, f.n * sizeof *insn);
			if (!mutate(&insn[i], fault, is_patched(&f, i)) ||
			    memcmp(insn, f.insn, f.n * sizeof *insn) == 0)
				continue;
			if (!proves(r, &bad)) {
				injected++;
				found++;
			} else if (differ(f.insn, insn, f.n)) {
				injected++;
				printf("# missed: fault %u at %zu of %zu: code 0x%02x jt %u jf %u "
				       "k 0x%x\n",
				       fault, i, f.n, f.insn[i].code, f.insn[i].jt, f.insn[i].jf,
				       f.insn[i].k);
			}
		}
	check(injected > 100 && found == injected, "%s: the proof finds %u of %u faults", name,
	      found, injected);
	arena_free(&a);
}

static void lost_patches(const struct sys_rules *r)
{
	struct arena a = { NULL };
	struct filter_program f, bad;
	struct gen_error e;
	unsigned found = 0;

	if (!check(seccomp_generate(&a, r, &f, &e), "generated"))
		return;
	for (size_t i = 0; i < f.npatches; i++) {
		struct cave_patch *patch = ARENA_ARRAY(&a, f.npatches, struct cave_patch);

		memcpy(patch, f.patch, i * sizeof *patch);
		memcpy(patch + i, f.patch + i + 1, (f.npatches - 1 - i) * sizeof *patch);
		bad = f;
		bad.patch = patch;
		bad.npatches--;
		found += !proves(r, &bad);
	}
	check(found == f.npatches && found == 9, "a patch that is left out is found (%u)", found);
	arena_free(&a);
}

int main(void)
{
	struct arena a = { NULL };
	struct sys_rules r = specimen(&a), bits = parted(&a);

	random_rules();
	random_proofs();
	sizes();
	neighbours();
	parting(&bits);
	faults(&r, "every kind of decision");
	faults(&bits, "parted by bits");
	lost_patches(&r);
	arena_free(&a);
	return unit_done();
}
