/* SPDX-License-Identifier: MIT */
#include "compiler/syscalls_regions.h"

#include <string.h>

enum { PARTS_MAX = 1 << 22, SEARCH_MAX = 1 << 16 };

const uint32_t sample_token[TOKEN_WORDS] = { 0x11c0ffee, 0x22c0ffee, 0x33c0ffee, 0x44c0ffee, 0x55c0ffee, 0x66c0ffee };

/* --- patches ---------------------------------------------------------------------------------- */

static uint32_t sample_of(uint32_t kind)
{
	switch (kind) {
	case CAVE_PATCH_SELF: return SAMPLE_SELF;
	case CAVE_PATCH_RET_METADATA: return SAMPLE_METADATA;
	case CAVE_PATCH_RET_SIGNAL: return SAMPLE_SIGNAL;
	default: return sample_token[kind - CAVE_PATCH_EXEC_0];
	}
}

/* Every patch on an instruction of its form, with the constant unset; all but SELF at most once. */
static const char *complete(const struct filter_program *f, struct sock_filter *insn)
{
	size_t count[CAVE_PATCH_KINDS] = { 0 };

	for (size_t i = 0; i < f->npatches; i++) {
		const struct cave_patch *patch = &f->patch[i];
		bool returns = patch->kind == CAVE_PATCH_RET_METADATA ||
			       patch->kind == CAVE_PATCH_RET_SIGNAL;
		uint16_t code = returns ? BPF_RET | BPF_K : BPF_JMP | BPF_JEQ | BPF_K;

		if (patch->kind >= CAVE_PATCH_KINDS || patch->insn >= f->n ||
		    (i && patch->insn <= patch[-1].insn) || insn[patch->insn].code != code ||
		    insn[patch->insn].k != CAVE_PATCH_UNSET)
			return "a patch is out of place";
		if (count[patch->kind]++ && patch->kind != CAVE_PATCH_SELF)
			return "two patches of one kind";
		insn[patch->insn].k = sample_of(patch->kind);
	}
	return NULL;
}

/* The forms that can be followed: no other is ever needed. */
static bool is_plain(const struct sock_filter *f)
{
	switch (f->code) {
	case BPF_LD | BPF_W | BPF_ABS:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_RET | BPF_K:
	case BPF_JMP | BPF_JA:
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_K: return true;
	default: return false;
	}
}

static bool all_plain(const struct filter_program *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!is_plain(&f->insn[i]))
			return false;
	return true;
}

const char *filter_view(struct arena *a, const struct filter_program *f, struct filter_view *out)
{
	struct sock_filter *insn;
	const char *fault;
	size_t bad;

	if (!cbpf_check(f->insn, f->n, &bad) || !all_plain(f))
		return "the kernel would not accept it, or it uses an instruction that is not followed";
	insn = ARENA_ARRAY(a, f->n, struct sock_filter);
	memcpy(insn, f->insn, f->n * sizeof *insn);
	fault = complete(f, insn);
	if (!fault)
		*out = (struct filter_view){ insn, f->n };
	return fault;
}

/* --- regions ---------------------------------------------------------------------------------- */

bool region_bounds(const struct region *r, unsigned word, uint32_t mask, uint32_t *lo, uint32_t *hi)
{
	const struct fact *last = r->word[word];

	*lo = 0;
	*hi = mask;
	if (!last)
		return true;
	*lo = last->value & mask;
	*hi = *lo | (mask & ~last->known);
	for (const struct fact *f = last; f; f = f->next)
		if (f->mask == mask) {
			*lo = *lo > f->lo ? *lo : f->lo;
			*hi = *hi < f->hi ? *hi : f->hi;
		}
	return *lo <= *hi;
}

/* The greatest value up to `v` that has no bit outside the mask. */
static uint32_t round_down(uint32_t v, uint32_t mask)
{
	uint32_t outside = v & ~mask, below;

	if (!outside)
		return v;
	/* Where the highest such bit goes, all below it may be set. */
	below = UINT32_MAX >> __builtin_clz(outside);
	return (v & ~below) | (mask & below);
}

/* Bounds of the bits `mask` as a number, and what is known of all bits of the word. */
struct bounds {
	uint32_t mask, lo, hi, known, value;
};

/* Brings the bounds to values that there are, and finds the bits that all of these share.  False: there are none. */
static bool settle(struct bounds *b)
{
	uint32_t base = b->value & b->mask, open = b->mask & ~b->known, fixed;
	/* The values are `base` and some of the open bits besides; these are bounded here. */
	uint32_t lo = b->lo > base ? b->lo - base : 0, hi = b->hi - base;

	if (b->hi < base || lo > open)
		return false;
	/* Complements of values of the open bits are in the opposite order. */
	lo = open - round_down(open - lo, open);
	hi = hi < open ? round_down(hi, open) : open;
	if (lo > hi)
		return false;
	/* The bits above the first in which the bounds differ have one value. */
	fixed = b->mask & (lo == hi ? UINT32_MAX : ~(UINT32_MAX >> __builtin_clz(lo ^ hi)));
	b->lo = base + lo;
	b->hi = base + hi;
	b->known |= fixed;
	b->value |= b->lo & fixed;
	return true;
}

bool region_narrow(struct region *r, unsigned word, uint32_t mask, uint32_t lo, uint32_t hi, struct fact *room)
{
	const struct fact *before = r->word[word];
	const struct fact *next = before && before->mask == mask ? before->next : before;
	struct bounds b = { mask, lo, hi, before ? before->known : 0, before ? before->value : 0 };

	if (!settle(&b))
		return false;
	*room = (struct fact){ next, before, mask, b.lo, b.hi, b.known, b.value };
	r->word[word] = room;
	return true;
}

static bool facts_allow(const struct fact *f, uint32_t value)
{
	for (; f; f = f->next)
		if ((value & f->mask) < f->lo || (value & f->mask) > f->hi)
			return false;
	return true;
}

bool region_allows(const struct region *r, unsigned word, uint32_t value)
{
	return facts_allow(r->word[word], value);
}

/* What all facts together leave of each: until none says more about a bit.  False: nothing. */
static bool known_bits(const struct fact *facts, uint32_t *known, uint32_t *value)
{
	uint32_t before;

	*known = *value = 0;
	do {
		before = *known;
		for (const struct fact *f = facts; f; f = f->next) {
			struct bounds b = { f->mask, f->lo, f->hi, *known, *value };

			if (!settle(&b))
				return false;
			*known = b.known;
			*value = b.value;
		}
	} while (*known != before);
	return true;
}

/* A value of one word, as far as it is decided. */
struct search {
	const struct fact *facts;
	uint32_t known, value;
	unsigned steps;
};

/*
 * Decides the bits of a word from the top, `open` those from the next one down: a value is given up as soon as the bits
 * of a fact lie outside its bounds whatever follows.
 */
static enum found search(struct search *s, uint32_t value, uint32_t open)
{
	uint32_t bit = open ^ open >> 1, matters = 0;
	enum found found = FOUND_NONE;

	if (++s->steps > SEARCH_MAX)
		return FOUND_TOO_MANY;
	for (const struct fact *f = s->facts; f; f = f->next) {
		uint32_t lo = value & f->mask, hi = lo | (open & f->mask);

		if (hi < f->lo || lo > f->hi)
			return FOUND_NONE;
		matters |= f->mask;
	}
	if (!open) {
		s->value = value;
		return FOUND;
	}
	if (!(s->known & s->value & bit))
		found = search(s, value, open >> 1);
	if (found == FOUND_NONE && (matters & bit) && !(s->known & ~s->value & bit))
		found = search(s, value | bit, open >> 1);
	return found;
}

static enum found word_input(const struct fact *facts, uint32_t *out)
{
	struct search s = { .facts = facts };
	enum found found;

	if (!known_bits(facts, &s.known, &s.value))
		return FOUND_NONE;
	found = search(&s, 0, UINT32_MAX);
	*out = s.value;
	return found;
}

enum found region_input(const struct region *r, struct seccomp_data *out)
{
	uint32_t word[WORDS] = { 0 };

	for (unsigned i = 0; i < WORDS; i++) {
		enum found found = r->word[i] ? word_input(r->word[i], &word[i]) : FOUND;

		if (found != FOUND)
			return found;
	}
	memcpy(out, word, sizeof *out);
	return FOUND;
}

/* --- following a filter ----------------------------------------------------------------------- */

/*
 * Where the filter is: at instruction `pc` with the bits `mask` of a word loaded, which are from `lo` to `hi`, having
 * looked at `words`.
 */
struct place {
	size_t pc;
	unsigned word;
	uint32_t mask, lo, hi, words;
};

static bool follow(struct judge *j, struct place at);

/* Goes on with what of the region has the loaded bits between lo and hi. */
static bool follow_part(struct judge *j, struct place at, size_t jump, uint32_t mask, uint32_t lo, uint32_t hi)
{
	struct fact room;
	bool good;

	if (++j->parts > PARTS_MAX) {
		j->too_many = true;
		return false;
	}
	if (!region_narrow(&j->region, at.word, mask, lo, hi, &room))
		return true;
	at.pc += jump;
	at.lo = room.lo;
	at.hi = room.hi;
	good = (mask == at.mask || region_bounds(&j->region, at.word, at.mask, &at.lo, &at.hi)) ? follow(j, at) : true;
	region_widen(&j->region, at.word);
	return good;
}

static bool follow_equal(struct judge *j, struct place at, const struct sock_filter *f)
{
	return follow_part(j, at, f->jt, at.mask, f->k, f->k) &&
	       (f->k == at.lo || follow_part(j, at, f->jf, at.mask, at.lo, f->k - 1)) &&
	       (f->k == at.hi || follow_part(j, at, f->jf, at.mask, f->k + 1, at.hi));
}

/* What a comparison does with the values from lo to hi of the bits `mask`. */
enum way { TAKEN, NOT_TAKEN, BOTH_WAYS };

static enum way way_of(const struct sock_filter *f, uint32_t mask, uint32_t lo, uint32_t hi)
{
	switch (BPF_OP(f->code)) {
	case BPF_JEQ:
		if (f->k < lo || f->k > hi || (f->k & ~mask))
			return NOT_TAKEN;
		return lo == hi ? TAKEN : BOTH_WAYS;
	case BPF_JGE: return lo >= f->k ? TAKEN : hi < f->k ? NOT_TAKEN : BOTH_WAYS;
	case BPF_JGT: return lo > f->k ? TAKEN : hi <= f->k ? NOT_TAKEN : BOTH_WAYS;
	default: return lo ? TAKEN : hi ? BOTH_WAYS : NOT_TAKEN; /* JSET, whose bits alone `mask` has */
	}
}

static bool follow_jump(struct judge *j, struct place at, const struct sock_filter *f)
{
	bool bits = BPF_OP(f->code) == BPF_JSET;
	uint32_t mask = bits ? at.mask & f->k : at.mask, lo = at.lo, hi = at.hi, from;

	if (bits && !region_bounds(&j->region, at.word, mask, &lo, &hi))
		return true;
	switch (way_of(f, mask, lo, hi)) {
	case TAKEN: at.pc += f->jt; return follow(j, at);
	case NOT_TAKEN: at.pc += f->jf; return follow(j, at);
	default: break;
	}
	if (BPF_OP(f->code) == BPF_JEQ)
		return follow_equal(j, at, f);
	/* The first value that jumps. */
	from = bits ? 1 : f->k + (BPF_OP(f->code) == BPF_JGT);
	return follow_part(j, at, f->jf, mask, lo, from - 1) && follow_part(j, at, f->jt, mask, from, hi);
}

static bool follow(struct judge *j, struct place at)
{
	for (;;) {
		const struct sock_filter *f = &j->filter->insn[at.pc++];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			at.word = f->k / 4;
			at.mask = UINT32_MAX;
			at.words |= 1u << at.word;
			break;
		case BPF_ALU | BPF_AND | BPF_K: at.mask &= f->k; break;
		case BPF_JMP | BPF_JA: at.pc += f->k; continue;
		case BPF_RET | BPF_K: return j->answered(j, f->k, at.words);
		default: return follow_jump(j, at, f);
		}
		if (!region_bounds(&j->region, at.word, at.mask, &at.lo, &at.hi))
			return true; /* no input comes here */
	}
}

bool judge_filter(struct judge *j)
{
	/* The accumulator is 0 before the first load: no bit of any word. */
	return follow(j, (struct place){ .word = WORD_NUMBER });
}

/* --- reading clauses -------------------------------------------------------------------------- */

/* Clauses on their way to a decision: `test` of `clause` is next, `best` is the strongest that matched. */
struct reading {
	const struct sys_clause *clause, *end;
	size_t test;
	const struct sys_clause *best;
};

static bool read_on(struct judge *j, struct reading r);

static bool read_part(struct judge *j, const struct reading *r, unsigned word, uint32_t mask, uint32_t lo, uint32_t hi)
{
	struct fact room;
	bool good;

	if (++j->parts > PARTS_MAX) {
		j->too_many = true;
		return false;
	}
	if (!region_narrow(&j->region, word, mask, lo, hi, &room))
		return true;
	good = read_on(j, *r);
	region_widen(&j->region, word);
	return good;
}

/* Reads the same test again for the values below `at`, and for the others. */
static bool read_parts(struct judge *j, const struct reading *r, unsigned word, uint32_t mask, uint32_t at)
{
	uint32_t lo, hi;

	return !region_bounds(&j->region, word, mask, &lo, &hi) ||
	       (read_part(j, r, word, mask, lo, at - 1) && read_part(j, r, word, mask, at, hi));
}

/* Of sorted ranges those that meet the values from lo to hi: the first, and one behind the last. */
static void meeting(const struct sys_test *t, uint64_t lo, uint64_t hi, size_t *first, size_t *end)
{
	size_t above = t->nranges;

	*first = 0;
	while (*first < above) {
		size_t middle = (*first + above) / 2;

		if (t->range[middle].hi < lo)
			*first = middle + 1;
		else
			above = middle;
	}
	for (*end = *first, above = t->nranges; *end < above;) {
		size_t middle = (*end + above) / 2;

		if (t->range[middle].lo <= hi)
			*end = middle + 1;
		else
			above = middle;
	}
}

enum verdict { NEVER, ALWAYS, DEPENDS };

/* A test of the values from lo to hi; if it DEPENDS, *at is the value to part them at, above lo and up to hi. */
static enum verdict test_values(const struct sys_test *t, uint64_t lo, uint64_t hi, uint64_t *at)
{
	size_t first, end;

	meeting(t, lo, hi, &first, &end);
	if (first == end)
		return NEVER;
	if (end - first > 1)
		*at = t->range[first + (end - first) / 2].lo;
	else if (t->range[first].lo > lo)
		*at = t->range[first].lo;
	else if (t->range[first].hi < hi)
		*at = t->range[first].hi + 1;
	else
		return ALWAYS;
	return DEPENDS;
}

/* What a test says of the region, and where to part it if that depends. */
struct finding {
	enum verdict verdict;
	unsigned word;
	uint32_t mask, at;
};

static struct finding test_word(const struct judge *j, const struct sys_test *t)
{
	static const struct sys_range self = { SAMPLE_SELF, SAMPLE_SELF };
	static const struct sys_test own = { .range = &self, .nranges = 1 };
	struct finding f = { NEVER, WORD_ARGUMENTS + 2u * t->arg, t->self ? UINT32_MAX : (uint32_t)t->mask, 0 };
	uint32_t lo, hi;
	uint64_t at = 0;

	if (region_bounds(&j->region, f.word, f.mask, &lo, &hi))
		f.verdict = test_values(t->self ? &own : t, lo, hi, &at);
	f.at = (uint32_t)at;
	return f;
}

/* The high half is parted until it has one value, or the test says the same for all of them. */
static struct finding test_argument(const struct judge *j, const struct sys_test *t)
{
	struct finding low = { NEVER, WORD_ARGUMENTS + 2u * t->arg, (uint32_t)t->mask, 0 };
	struct finding high = { NEVER, low.word + 1, (uint32_t)(t->mask >> 32), 0 };
	uint32_t lo[2], hi[2];
	uint64_t at = 0;

	if (!region_bounds(&j->region, low.word, low.mask, &lo[0], &hi[0]) ||
	    !region_bounds(&j->region, high.word, high.mask, &lo[1], &hi[1]))
		return low;
	low.verdict = test_values(t, (uint64_t)lo[1] << 32 | lo[0], (uint64_t)hi[1] << 32 | hi[0], &at);
	low.at = (uint32_t)at;
	if (low.verdict != DEPENDS || lo[1] == hi[1])
		return low;
	high.verdict = DEPENDS;
	high.at = (uint32_t)(at >> 32) > lo[1] ? (uint32_t)(at >> 32) : lo[1] + 1;
	return high;
}

/* True if `a` decides although `b` matches too: see bpf/sysrules.h. */
static bool beats(struct sys_result a, struct sys_result b)
{
	static const int rank[] = {
		[SYS_KILL] = 0,		[SYS_ERRNO] = 1, [SYS_COUNTED] = 2,
		[SYS_ALLOW_LOGGED] = 3, [SYS_ALLOW] = 4, [SYS_GUARD_METADATA] = 5,
		[SYS_GUARD_SIGNAL] = 6, [SYS_EXEC_ONCE] = 7,
	};

	if (rank[a.action] != rank[b.action])
		return rank[a.action] < rank[b.action];
	return a.action == SYS_ERRNO && a.error < b.error;
}

static struct finding find(struct judge *j, const struct sys_test *t)
{
	return t->width == 64 ? test_argument(j, t) : test_word(j, t);
}

static bool read_on(struct judge *j, struct reading r)
{
	while (r.clause < r.end) {
		struct finding f = { .verdict = NEVER };

		if (r.best && !beats(r.clause->result, r.best->result))
			;
		else if (r.test == r.clause->ntests)
			r.best = r.clause;
		else
			f = find(j, &r.clause->test[r.test]);
		if (f.verdict == DEPENDS)
			return read_parts(j, &r, f.word, f.mask, f.at);
		if (f.verdict == ALWAYS) {
			r.test++;
		} else {
			r.clause++;
			r.test = 0;
		}
	}
	return j->decided(j, r.best);
}

bool judge_clauses(struct judge *j, const struct sys_clause *clause, size_t n)
{
	return n ? read_on(j, (struct reading){ clause, clause + n, 0, NULL }) : j->decided(j, NULL);
}
