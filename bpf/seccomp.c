/* SPDX-License-Identifier: MIT */
/*
 * From a resolved syscall policy to one filter.
 *
 * The architecture comes first, then a decision tree over numbers; a call whose clauses look at
 * arguments goes on to a decision graph over argument words.  A call that needs no argument is
 * decided without loading one, so the kernel can answer it from its bitmap
 * (seccomp_cache_prepare_bitmap, kernel/seccomp.c).
 */
#include "bpf/seccomp_steps.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

#include "bpf/sort.h"

enum {
	NOTHING_LOADED = UINT8_MAX,
	MAX_STATES = 1 << 14, /* per call; beyond it the filter would not fit anyway */
	STATE_BUCKETS = 1024,
	CONTRIBUTORS = 3,
	/*
	 * How often a number is decided, where a value of an argument counts 1.  When the filter is installed, the
	 * kernel emulates it once for every number below the end of its own table (seccomp_cache_prepare_bitmap), and
	 * later never runs it for one that it found allowed; it does run it for every refused call, and for every call
	 * that needs an argument.
	 */
	WEIGHT_ALLOWED = 4,
	WEIGHT_REFUSED = 8,
	WEIGHT_ARGUMENTS = 240,
	WEIGHT_BEYOND = 32, /* all numbers past the table */
};

/*
 * What is still to be asked about one word of the arguments: the low half of argument `arg`, or
 * with `wide` the whole 64-bit argument, of which the high half is asked first.
 */
struct question {
	uint8_t arg;
	bool wide, self;
	uint64_t mask;
	const struct sys_range *range;
	size_t n;
};

struct open_clause {
	const struct sys_clause *clause;
	struct question *question; /* in the order of compare_questions, no two alike */
	size_t n;
};

/* The clauses that can still decide, best first; only the last one can be without questions. */
struct state {
	struct open_clause *clause;
	size_t n;
};

struct known_state {
	struct known_state *next;
	struct state state;
	uint8_t loaded;
	struct step *step;
};

struct generator {
	struct arena *arena;
	const struct sys_rules *rules;
	struct steps steps;
	struct known_state *known[STATE_BUCKETS];
	size_t nstates; /* of the call at hand */
	bool overflow;
};

/* --- results ---------------------------------------------------------------------------------- */

/* Lower is stronger: a denial beats every allow, a counted one a logged one, that a plain one, that a guarded one. */
static unsigned strength(struct sys_result r)
{
	switch (r.action) {
	case SYS_KILL: return 0;
	case SYS_ERRNO: return 1 + r.error; /* two denials: the lower errno, whatever their order */
	case SYS_COUNTED: return 0x10001;
	case SYS_ALLOW_LOGGED: return 0x10002;
	case SYS_ALLOW: return 0x10003;
	default: return 0x10004 + (unsigned)r.action;
	}
}

/*
 * The offset in struct seccomp_data of half `half` (0 is the low one) of an argument;
 * little-endian.
 */
static uint32_t word_offset(unsigned arg, unsigned half)
{
	return (uint32_t)(offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t) +
			  half * sizeof(uint32_t));
}

static struct step *result_step(struct generator *g, struct sys_result r, line_id line);

/* The six halves of the random value; any other value is refused. */
static struct step *exec_once(struct generator *g, line_id line)
{
	struct step *refused = result_step(g, g->rules->refused, 0);
	struct step *step = step_return(&g->steps, SECCOMP_RET_ALLOW, 0, 0);

	for (unsigned i = 6; i-- > 0;) {
		step = step_jump(&g->steps, BPF_JEQ, CAVE_PATCH_UNSET, 1 + CAVE_PATCH_EXEC_0 + i,
				 step, refused, line);
		step = step_load(&g->steps, word_offset(3 + i / 2, i % 2), step, line);
	}
	return step;
}

static struct step *result_step(struct generator *g, struct sys_result r, line_id line)
{
	struct steps *s = &g->steps;

	switch (r.action) {
	case SYS_ALLOW: return step_return(s, SECCOMP_RET_ALLOW, 0, 0);
	case SYS_ALLOW_LOGGED: return step_return(s, SECCOMP_RET_LOG, 0, 0);
	case SYS_GUARD_METADATA:
		return step_return(s, CAVE_PATCH_UNSET, 1 + CAVE_PATCH_RET_METADATA, 0);
	case SYS_GUARD_SIGNAL:
		return step_return(s, CAVE_PATCH_UNSET, 1 + CAVE_PATCH_RET_SIGNAL, 0);
	case SYS_COUNTED: return step_return(s, SECCOMP_RET_USER_NOTIF, 0, 0);
	case SYS_EXEC_ONCE: return exec_once(g, line);
	case SYS_ERRNO:
		return step_return(s, SECCOMP_RET_ERRNO | (r.error & SECCOMP_RET_DATA), 0, 0);
	case SYS_KILL: break;
	}
	return step_return(s, SECCOMP_RET_KILL_PROCESS, 0, 0);
}

/* --- questions -------------------------------------------------------------------------------- */

/*
 * High half first; then what leaves the low half loaded: as it is, own pid, one bit; several bits
 * last.
 */
static int question_class(const struct question *q)
{
	if (q->wide)
		return 0;
	if (q->self)
		return 2;
	if (q->mask == UINT32_MAX)
		return 1;
	return (q->mask & (q->mask - 1)) == 0 ? 3 : 4;
}

/* The order in which they are asked.  0: about the same bits. */
static int compare_questions(const struct question *a, const struct question *b)
{
	int a_class = question_class(a), b_class = question_class(b);

	if (a->arg != b->arg)
		return a->arg < b->arg ? -1 : 1;
	if (a_class != b_class)
		return a_class < b_class ? -1 : 1;
	if (a->mask != b->mask)
		return a->mask > b->mask ? -1 : 1;
	return 0;
}

static bool question_equal(const struct question *a, const struct question *b)
{
	return compare_questions(a, b) == 0 && a->n == b->n &&
	       (a->n == 0 || memcmp(a->range, b->range, a->n * sizeof *a->range) == 0);
}

/* The ranges that both lists cover. */
static size_t intersect(const struct question *a, const struct question *b, struct sys_range *out)
{
	size_t n = 0;

	for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
		uint64_t lo = a->range[i].lo > b->range[j].lo ? a->range[i].lo : b->range[j].lo;
		uint64_t hi = a->range[i].hi < b->range[j].hi ? a->range[i].hi : b->range[j].hi;

		if (lo <= hi)
			out[n++] = (struct sys_range){ lo, hi };
		if (a->range[i].hi < b->range[j].hi)
			i++;
		else
			j++;
	}
	return n;
}

/* Adds a question to a clause in its place.  Returns false if it contradicts one that is there. */
static bool ask(struct generator *g, struct open_clause *c, struct question q)
{
	size_t at = 0;

	while (at < c->n && compare_questions(&c->question[at], &q) < 0)
		at++;
	if (at < c->n && compare_questions(&c->question[at], &q) == 0) {
		struct sys_range *both =
			ARENA_ARRAY(g->arena, q.n + c->question[at].n + 1, struct sys_range);

		if (q.self)
			return true;
		c->question[at].n = intersect(&c->question[at], &q, both);
		c->question[at].range = both;
		return c->question[at].n > 0;
	}
	memmove(&c->question[at + 1], &c->question[at], (c->n - at) * sizeof q);
	c->question[at] = q;
	c->n++;
	return true;
}

/* Joins neighbours and cuts off what the mask cannot reach.  Returns how many ranges are left. */
static size_t normalise(const struct sys_range *range, size_t n, uint64_t mask,
			struct sys_range *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < n && range[i].lo <= mask; i++) {
		uint64_t hi = range[i].hi < mask ? range[i].hi : mask;

		if (kept && out[kept - 1].hi + 1 == range[i].lo)
			out[kept - 1].hi = hi;
		else
			out[kept++] = (struct sys_range){ range[i].lo, hi };
	}
	return kept;
}

enum verdict { NEVER, ALWAYS, DEPENDS };

/* The question that a test asks, or its answer where it has the same one for every value. */
static enum verdict question_of(struct generator *g, const struct sys_test *t, struct question *q)
{
	struct sys_range *range = ARENA_ARRAY(g->arena, t->nranges + 1, struct sys_range);
	uint64_t mask = t->width == 32 ? t->mask & UINT32_MAX : t->mask;

	*q = (struct question){ .arg = t->arg, .self = t->self, .mask = mask };
	if (t->self) {
		q->mask = UINT32_MAX;
		return DEPENDS;
	}
	q->wide = mask > UINT32_MAX;
	q->n = normalise(t->range, t->nranges, mask, range);
	q->range = range;
	if (q->n == 0)
		return NEVER;
	return q->n == 1 && range[0].lo == 0 && range[0].hi == mask ? ALWAYS : DEPENDS;
}

/* --- states ----------------------------------------------------------------------------------- */

/* Drops what can no longer decide: everything after a clause without questions. */
static void settle(struct state *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->clause[i].n == 0)
			s->n = i + 1;
}

static struct open_clause copy_clause(struct generator *g, const struct open_clause *c)
{
	struct open_clause copy = { c->clause, ARENA_ARRAY(g->arena, c->n + 1, struct question),
				    c->n };

	if (c->n)
		memcpy(copy.question, c->question, c->n * sizeof *c->question);
	return copy;
}

/* The open questions of a clause as its tests ask them.  Returns false if it can never match. */
static bool open_up(struct generator *g, const struct sys_clause *clause, struct open_clause *out)
{
	*out = (struct open_clause){ clause,
				     ARENA_ARRAY(g->arena, clause->ntests + 1, struct question),
				     0 };
	for (size_t i = 0; i < clause->ntests; i++) {
		struct question q;
		enum verdict v = question_of(g, &clause->test[i], &q);

		if (v == NEVER || (v == DEPENDS && !ask(g, out, q)))
			return false;
	}
	return true;
}

static struct state initial_state(struct generator *g, const struct sys_call *call)
{
	struct state s = { ARENA_ARRAY(g->arena, call->nclauses + 1, struct open_clause), 0 };

	for (size_t i = 0; i < call->nclauses; i++) {
		struct open_clause c;
		size_t at = s.n;

		if (!open_up(g, &call->clause[i], &c))
			continue;
		while (at > 0 &&
		       strength(s.clause[at - 1].clause->result) > strength(c.clause->result))
			at--;
		memmove(&s.clause[at + 1], &s.clause[at], (s.n - at) * sizeof c);
		s.clause[at] = c;
		s.n++;
	}
	settle(&s);
	return s;
}

static bool state_equal(const struct state *a, const struct state *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct open_clause *p = &a->clause[i], *q = &b->clause[i];

		if (p->n != q->n || strength(p->clause->result) != strength(q->clause->result))
			return false;
		for (size_t j = 0; j < p->n; j++)
			if (!question_equal(&p->question[j], &q->question[j]))
				return false;
	}
	return true;
}

static unsigned state_hash(const struct state *s, uint8_t loaded)
{
	uint64_t h = loaded;

	for (size_t i = 0; i < s->n; i++) {
		h = (h ^ strength(s->clause[i].clause->result)) * UINT64_C(0x9e3779b97f4a7c15);
		for (size_t j = 0; j < s->clause[i].n; j++) {
			const struct question *q = &s->clause[i].question[j];

			h = (h ^ q->arg ^ q->mask ^
			     (q->n ? q->range[0].lo ^ q->range[q->n - 1].hi << 7 : 1)) *
			    UINT64_C(0xbf58476d1ce4e5b9);
			h ^= h >> 29;
		}
	}
	return (unsigned)(h >> 40) % STATE_BUCKETS;
}

/* --- deciding by arguments -------------------------------------------------------------------- */

static struct step *build(struct generator *g, struct state s, uint8_t loaded);

/* The first question by compare_questions; the state has one. */
static const struct question *first_question(const struct state *s)
{
	const struct question *first = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (s->clause[i].n &&
		    (!first || compare_questions(s->clause[i].question, first) < 0))
			first = s->clause[i].question;
	return first;
}

static bool asks(const struct open_clause *c, const struct question *q)
{
	return c->n > 0 && compare_questions(c->question, q) == 0;
}

static void drop_first(struct open_clause *c)
{
	c->question++;
	c->n--;
}

/* What follows if the tool's own process id is, or is not, in the argument. */
static struct state after_self(struct generator *g, const struct state *s, const struct question *q,
			       bool is_self)
{
	struct state next = { ARENA_ARRAY(g->arena, s->n, struct open_clause), 0 };

	for (size_t i = 0; i < s->n; i++) {
		struct open_clause c = copy_clause(g, &s->clause[i]);

		if (asks(&c, q)) {
			if (!is_self)
				continue;
			drop_first(&c);
		}
		next.clause[next.n++] = c;
	}
	settle(&next);
	return next;
}

static bool contains(const struct question *q, uint64_t v)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->range[i].lo <= v && v <= q->range[i].hi)
			return true;
	return false;
}

/* What a 64-bit question asks of the low half once the high half is `high`. */
static enum verdict low_question(struct generator *g, const struct question *wide, uint32_t high,
				 struct question *low)
{
	struct sys_range *range = ARENA_ARRAY(g->arena, wide->n, struct sys_range);
	size_t n = 0;

	for (size_t i = 0; i < wide->n; i++) {
		uint32_t first = (uint32_t)(wide->range[i].lo >> 32),
			 last = (uint32_t)(wide->range[i].hi >> 32);

		if (first <= high && high <= last)
			range[n++] = (struct sys_range){
				high == first ? wide->range[i].lo & UINT32_MAX : 0,
				high == last ? wide->range[i].hi & UINT32_MAX : UINT32_MAX
			};
	}
	return question_of(g,
			   &(struct sys_test){ wide->arg, 32, false, wide->mask & UINT32_MAX, range,
					       n },
			   low);
}

/*
 * Answers the first question of a clause with `value`.  Returns false if the clause no longer
 * matches.
 */
static bool answer(struct generator *g, struct open_clause *c, uint32_t value)
{
	const struct question q = c->question[0];
	struct question low;
	enum verdict v;

	if (!q.wide && !contains(&q, value))
		return false;
	if (!q.wide) {
		drop_first(c);
		return true;
	}
	v = low_question(g, &q, value, &low);
	drop_first(c);
	return v == ALWAYS || (v == DEPENDS && ask(g, c, low));
}

static struct state after_value(struct generator *g, const struct state *s,
				const struct question *q, uint32_t value)
{
	struct state next = { ARENA_ARRAY(g->arena, s->n, struct open_clause), 0 };

	for (size_t i = 0; i < s->n; i++) {
		struct open_clause c = copy_clause(g, &s->clause[i]);

		if (!asks(&c, q) || answer(g, &c, value))
			next.clause[next.n++] = c;
	}
	settle(&next);
	return next;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* One more than `v`, unless the mask leaves nothing above it. */
static void push_after(uint32_t *point, size_t *n, uint32_t v, uint32_t mask)
{
	if (v < mask)
		point[(*n)++] = v + 1;
}

/*
 * Where the answers to the question can change, ascending from 0: one segment from each to the
 * next.
 */
static size_t cut_points(const struct state *s, const struct question *q, uint32_t mask,
			 uint32_t *point)
{
	size_t n = 0, kept = 0;

	point[n++] = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct question *own = s->clause[i].question;

		for (size_t j = 0; asks(&s->clause[i], q) && j < own->n; j++) {
			uint32_t lo =
				(uint32_t)(q->wide ? own->range[j].lo >> 32 : own->range[j].lo);
			uint32_t hi =
				(uint32_t)(q->wide ? own->range[j].hi >> 32 : own->range[j].hi);

			point[n++] = lo;
			push_after(point, &n, hi, mask);
			if (q->wide) {
				push_after(point, &n, lo, mask);
				point[n++] = hi;
			}
		}
	}
	sort(point, n, sizeof *point, compare_u32);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || point[i] != point[kept - 1])
			point[kept++] = point[i];
	return kept;
}

static size_t max_points(const struct state *s, const struct question *q)
{
	size_t n = 1;

	for (size_t i = 0; i < s->n; i++)
		n += asks(&s->clause[i], q) ? 4 * s->clause[i].question->n : 0;
	return n;
}

/* The first line that asks: what the instructions are attributed to. */
static line_id asking_line(const struct state *s, const struct question *q)
{
	for (size_t i = 0; i < s->n; i++)
		if (asks(&s->clause[i], q) && s->clause[i].clause->line)
			return s->clause[i].clause->line;
	return 0;
}

static struct step *build_self(struct generator *g, const struct state *s, const struct question *q,
			       uint8_t loaded)
{
	uint8_t word = (uint8_t)(2 * q->arg);
	line_id line = asking_line(s, q);
	struct step *own = build(g, after_self(g, s, q, true), word);
	struct step *other = build(g, after_self(g, s, q, false), word);
	struct step *step = step_jump(&g->steps, BPF_JEQ, CAVE_PATCH_UNSET, 1 + CAVE_PATCH_SELF,
				      own, other, line);

	return loaded == word ? step : step_load(&g->steps, word_offset(q->arg, 0), step, line);
}

/*
 * A mask of which only "none of these bits" or "some" matters: one instruction, and the word stays
 * loaded.
 */
static bool is_bit_test(const uint32_t *point, size_t n, uint32_t mask)
{
	return (mask & (mask - 1)) == 0 || (n == 2 && point[1] == 1);
}

static struct step *build_bit_test(struct generator *g, const struct state *s,
				   const struct question *q, uint32_t mask, uint8_t word)
{
	struct step *none = build(g, after_value(g, s, q, 0), word);
	struct step *some = build(g, after_value(g, s, q, mask), word);

	return step_jump(&g->steps, BPF_JSET, mask, 0, some, none, asking_line(s, q));
}

static struct step *build_segments(struct generator *g, const struct state *s,
				   const struct question *q, const uint32_t *point, size_t n,
				   uint8_t word_after)
{
	struct segment *seg = ARENA_ARRAY(g->arena, n, struct segment);
	line_id line = asking_line(s, q);

	for (size_t i = 0; i < n; i++)
		seg[i] = (struct segment){ point[i], 1,
					   build(g, after_value(g, s, q, point[i]), word_after),
					   line };
	return step_segments(&g->steps, seg, n);
}

static struct step *build_value(struct generator *g, const struct state *s,
				const struct question *q, uint8_t loaded)
{
	uint32_t mask = (uint32_t)(q->wide ? q->mask >> 32 : q->mask);
	uint32_t *point = ARENA_ARRAY(g->arena, max_points(s, q), uint32_t);
	size_t n = cut_points(s, q, mask, point);
	uint8_t word = (uint8_t)(2 * q->arg + q->wide);
	line_id line = asking_line(s, q);
	struct step *step;

	if (mask == UINT32_MAX)
		step = build_segments(g, s, q, point, n, word);
	else if (is_bit_test(point, n, mask))
		step = build_bit_test(g, s, q, mask, word);
	else
		step = step_and(&g->steps, mask, build_segments(g, s, q, point, n, NOTHING_LOADED),
				line);
	return loaded == word ? step
			      : step_load(&g->steps, word_offset(q->arg, q->wide), step, line);
}

static struct step *build_new(struct generator *g, const struct state *s, uint8_t loaded)
{
	const struct question q = *first_question(s);

	return q.self ? build_self(g, s, &q, loaded) : build_value(g, s, &q, loaded);
}

/*
 * The decision that is left in state `s`, with word `loaded` of the arguments in the accumulator.
 */
static struct step *build(struct generator *g, struct state s, uint8_t loaded)
{
	struct known_state *known, **bucket;

	if (s.n == 0)
		return result_step(g, g->rules->refused, 0);
	if (s.clause[0].n == 0)
		return result_step(g, s.clause[0].clause->result, s.clause[0].clause->line);
	bucket = &g->known[state_hash(&s, loaded)];
	for (known = *bucket; known; known = known->next)
		if (known->loaded == loaded && state_equal(&known->state, &s))
			return known->step;
	if (++g->nstates > MAX_STATES || g->steps.n > STEP_MAX) {
		g->overflow = true;
		return result_step(g, g->rules->refused, 0);
	}
	known = arena_alloc(g->arena, sizeof *known);
	*known = (struct known_state){ .state = s,
				       .loaded = loaded,
				       .step = build_new(g, &s, loaded) };
	known->next = *bucket;
	*bucket = known;
	return known->step;
}

/* --- the whole filter ------------------------------------------------------------------------- */

struct contributor {
	const char *name;
	size_t steps;
};

static void note_contributor(struct contributor *top, const char *name, size_t steps)
{
	for (size_t i = 0; i < CONTRIBUTORS; i++)
		if (steps > top[i].steps) {
			memmove(&top[i + 1], &top[i], (CONTRIBUTORS - 1 - i) * sizeof *top);
			top[i] = (struct contributor){ name, steps };
			return;
		}
}

static line_id call_line(const struct sys_call *call)
{
	for (size_t i = 0; i < call->nclauses; i++)
		if (call->clause[i].line)
			return call->clause[i].line;
	return 0;
}

static uint32_t call_weight(const struct state *s)
{
	if (s->n == 0)
		return WEIGHT_REFUSED;
	if (s->clause[0].n > 0)
		return WEIGHT_ARGUMENTS;
	return s->clause[0].clause->result.action == SYS_ALLOW ? WEIGHT_ALLOWED : WEIGHT_REFUSED;
}

static struct segment call_segment(struct generator *g, const struct sys_call *call,
				   struct contributor *top)
{
	struct state s = initial_state(g, call);
	uint32_t weight = call_weight(&s);
	size_t before = g->steps.n;
	struct step *step;

	g->nstates = 0;
	step = build(g, s, NOTHING_LOADED);
	note_contributor(top, call->name, g->steps.n - before);
	return (struct segment){ call->nr, weight, step, call_line(call) };
}

/* One segment for each call and each hole between calls. */
static struct step *number_tree(struct generator *g, struct contributor *top)
{
	const struct sys_rules *r = g->rules;
	struct segment *seg = ARENA_ARRAY(g->arena, 2 * r->ncalls + 1, struct segment);
	struct step *unknown = result_step(g, r->unknown, 0);
	uint64_t next = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->ncalls; i++) {
		uint32_t hole = r->call[i].nr - (uint32_t)next;

		if (hole > 0)
			seg[n++] = (struct segment){ (uint32_t)next, hole * WEIGHT_REFUSED, unknown,
						     0 };
		seg[n++] = call_segment(g, &r->call[i], top);
		next = UINT64_C(1) + r->call[i].nr;
	}
	if (next <= UINT32_MAX)
		seg[n++] = (struct segment){ (uint32_t)next, WEIGHT_BEYOND, unknown, 0 };
	return step_segments(&g->steps, seg, n);
}

static struct step *whole_filter(struct generator *g, struct contributor *top)
{
	struct steps *s = &g->steps;
	struct step *foreign = step_return(s, SECCOMP_RET_KILL_PROCESS, 0, 0);
	struct step *native =
		step_load(s, offsetof(struct seccomp_data, nr), number_tree(g, top), 0);

	return step_load(s, offsetof(struct seccomp_data, arch),
			 step_jump(s, BPF_JEQ, g->rules->arch, 0, native, foreign, 0), 0);
}

static const char *describe(struct arena *a, const struct contributor *top)
{
	const char *text = NULL;

	for (size_t i = 0; i < CONTRIBUTORS && top[i].steps > 1; i++)
		text = arena_printf(a, "%s%s%s (%zu)", text ? text : "", text ? ", " : "",
				    top[i].name, top[i].steps);
	return text;
}

bool seccomp_generate(struct arena *a, const struct sys_rules *rules, struct filter_program *out,
		      struct gen_error *error)
{
	struct generator *g = arena_alloc(a, sizeof *g);
	struct contributor top[CONTRIBUTORS + 1] = { 0 };
	struct filter_program program;
	struct step *root;
	size_t needed = 0;

	*g = (struct generator){ .arena = a, .rules = rules, .steps = { .arena = a } };
	root = whole_filter(g, top);
	if (g->overflow || !steps_layout(&g->steps, root, BPF_MAXINSNS, &program, &needed)) {
		needed = needed > BPF_MAXINSNS ? needed : BPF_MAXINSNS + 1;
		*error = (struct gen_error){ .needed = needed, .limit = BPF_MAXINSNS, .detail = describe(a, top) };
		return false;
	}
	*out = program;
	return true;
}
