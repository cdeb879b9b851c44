/* SPDX-License-Identifier: MIT */
/*
 * System calls, and the arguments on which two policies differ.  The clauses of both are read for all inputs at once
 * (syscalls_regions.h), so that nothing is missed; the condition that is shown is worked out from the clauses, and
 * shown only if it is true of exactly the inputs on which they differ.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/diff.h"
#include "compiler/syscalls_clauses.h"
#include "compiler/syscalls_errno.h"
#include "compiler/syscalls_regions.h"

/* How much a call may do, in order.  Where it depends on the host, a guard of one kind never meets the other. */
enum level { LEVEL_REFUSED, LEVEL_GUARDED, LEVEL_ALLOWED };

static const struct alternative always = { NULL, 0 };

/* One call on one architecture, of both policies; a policy without that architecture has NULL, and refuses. */
struct pair {
	struct arena *arena;
	enum sys_arch arch;
	const char *name;
	uint32_t nr;
	const struct sys_rules *old_rules, *new_rules;
	const struct sys_call *old, *new;
};

struct finding {
	bool found;
	const char *condition; /* "" for all arguments; NULL if it was too much to work out */
	const char *example;
	struct sys_result result; /* of the new policy, of the example */
	struct sys_result before;
	line_id line; /* of the policy that has it */
};

/* --- judging inputs ------------------------------------------------------------------------------ */

static enum level level_of(struct sys_result r)
{
	switch (r.action) {
	case SYS_ALLOW:
	case SYS_COUNTED:
	case SYS_ALLOW_LOGGED: return LEVEL_ALLOWED;
	case SYS_GUARD_METADATA:
	case SYS_GUARD_SIGNAL: return LEVEL_GUARDED;
	case SYS_EXEC_ONCE: /* the runtime's own start of the tool */
	case SYS_ERRNO:
	case SYS_KILL: break;
	}
	return LEVEL_REFUSED;
}

static struct sys_result result_of(const struct sys_rules *rules, const struct sys_clause *best)
{
	if (!rules)
		return (struct sys_result){ SYS_KILL, 0 };
	return best ? best->result : rules->refused;
}

static bool same_result(struct sys_result a, struct sys_result b)
{
	return a.action == b.action && (a.action != SYS_ERRNO || a.error == b.error);
}

static bool goes(enum diff_way way, struct sys_result before, struct sys_result after)
{
	enum level old = level_of(before), new = level_of(after);

	switch (way) {
	case DIFF_GRANTED: return new > old;
	case DIFF_REFUSED: return new < old;
	default: return new == old && !same_result(before, after);
	}
}

/* What is looked for, and what was found. */
struct question {
	const struct pair *pair;
	enum diff_way way;
	bool any; /* any way */
	const struct sys_clause *thought; /* the condition that is thought to be right, as clauses; NULL: none is */
	size_t nthought;
	const struct sys_clause *old; /* that decides in the old policy, for the region at hand */
	bool differs; /* the policies do so there */
	struct finding found;
	struct seccomp_data where;
};

/* True if there is no input in the region; one is in q->where otherwise. */
static bool is_empty(struct judge *j)
{
	struct question *q = j->context;
	enum found found = region_input(&j->region, &q->where);

	j->too_many |= found == FOUND_TOO_MANY;
	return found == FOUND_NONE;
}

/* Reads more clauses for the region at hand. */
static bool read_further(struct judge *j, const struct sys_clause *clause, size_t n,
			 bool (*decided)(struct judge *j, const struct sys_clause *best))
{
	struct judge k = { .region = j->region, .parts = j->parts, .context = j->context, .decided = decided };
	bool good = judge_clauses(&k, clause, n);

	j->parts = k.parts;
	j->too_many |= k.too_many;
	return good;
}

static bool decided_thought(struct judge *j, const struct sys_clause *best)
{
	const struct question *q = j->context;

	return (best != NULL) == q->differs || is_empty(j);
}

static bool decided_new(struct judge *j, const struct sys_clause *best)
{
	struct question *q = j->context;
	struct sys_result before = result_of(q->pair->old_rules, q->old), after = result_of(q->pair->new_rules, best);

	q->differs = q->any ? !same_result(before, after) : goes(q->way, before, after);
	if (q->thought)
		return read_further(j, q->thought, q->nthought, decided_thought);
	if (!q->differs || is_empty(j))
		return true;
	q->found = (struct finding){ .found = true, .before = before, .result = after };
	q->found.line = q->way == DIFF_REFUSED ? (q->old ? q->old->line : 0) : best ? best->line : 0;
	return false;
}

static bool decided_old(struct judge *j, const struct sys_clause *best)
{
	struct question *q = j->context;
	const struct sys_call *new = q->pair->new;

	q->old = best;
	return read_further(j, new ? new->clause : NULL, new ? new->nclauses : 0, decided_new);
}

/*
 * Without a condition: true if no input goes the way, otherwise q->found and q->where are of one that does.  With a
 * condition: true if it holds for exactly the inputs that go the way.  False, too, if that was too much to find out.
 */
static bool ask(struct question *q, bool *too_many)
{
	const struct sys_call *old = q->pair->old;
	struct judge j = { .context = q, .decided = decided_old };
	bool good = judge_clauses(&j, old ? old->clause : NULL, old ? old->nclauses : 0);

	*too_many = j.too_many;
	return good && !j.too_many;
}

/* --- the condition ------------------------------------------------------------------------------- */

/* The arguments for which a call has at least a level; false if that has too many alternatives. */
static bool reaching(struct arena *a, const struct sys_rules *rules, const struct sys_call *call, enum level least,
		     struct alternatives *out)
{
	struct alternative *yes = ARENA_ARRAY(a, (call ? call->nclauses : 0) + 1, struct alternative);
	struct alternative *no = ARENA_ARRAY(a, (call ? call->nclauses : 0) + 1, struct alternative);
	size_t nyes = 0, nno = 0;

	for (size_t i = 0; call && i < call->nclauses; i++) {
		const struct sys_clause *c = &call->clause[i];
		struct alternative x = { c->test, c->ntests };

		if (c->result.action == SYS_EXEC_ONCE)
			continue;
		if (level_of(c->result) >= least)
			yes[nyes++] = x;
		else if (level_of(c->result) == LEVEL_REFUSED)
			no[nno++] = x;
	}
	if (rules && level_of(rules->refused) >= least)
		yes[nyes++] = always;
	return alternatives_subtract(a, (struct alternatives){ yes, nyes }, (struct alternatives){ no, nno }, out);
}

/* What `has` reaches at some level and `lacks` does not reach at it. */
static bool work_out(const struct pair *p, enum diff_way way, struct alternatives *out)
{
	struct alternative *all = NULL;
	size_t n = 0, cap = 0;

	for (enum level level = LEVEL_GUARDED; level <= LEVEL_ALLOWED; level++) {
		struct alternatives old, new, left;

		if (!reaching(p->arena, p->old_rules, p->old, level, &old) ||
		    !reaching(p->arena, p->new_rules, p->new, level, &new))
			return false;
		if (way == DIFF_GRANTED ? !alternatives_subtract(p->arena, new, old, &left) :
					  !alternatives_subtract(p->arena, old, new, &left))
			return false;
		for (size_t i = 0; i < left.n; i++)
			*ARENA_PUSH(p->arena, all, n, cap) = left.item[i];
	}
	*out = alternatives_normal(p->arena, (struct alternatives){ all, n });
	return true;
}

static const char *condition_text(const struct pair *p, struct alternatives alt)
{
	const struct syscall_arg *args = syscall_args(p->name);
	struct buffer b = { .arena = p->arena };

	for (size_t i = 0; i < alt.n; i++)
		if (!alt.item[i].n)
			return "";
	if (!args)
		return NULL;
	alternatives_print(&b, args, alt);
	buffer_add(&b, "", 1);
	return b.data;
}

static bool is_right(const struct pair *p, enum diff_way way, struct alternatives alt)
{
	struct sys_clause *clause = ARENA_ARRAY(p->arena, alt.n + 1, struct sys_clause);
	struct question q = { .pair = p, .way = way, .thought = clause, .nthought = alt.n };
	bool too_many;

	for (size_t i = 0; i < alt.n; i++)
		clause[i] = (struct sys_clause){ .test = alt.item[i].test, .ntests = alt.item[i].n };
	return ask(&q, &too_many);
}

/* Shown only if it is right; "" if it is about all arguments. */
static const char *condition_of(const struct pair *p, enum diff_way way)
{
	struct alternatives alt;

	if (way == DIFF_CHANGED)
		alt = (struct alternatives){ &always, 1 }; /* of all arguments, or it is not said of which */
	else if (!work_out(p, way, &alt))
		return NULL;
	return is_right(p, way, alt) ? condition_text(p, alt) : NULL;
}

/* --- one call ------------------------------------------------------------------------------------ */

/* The arguments that either policy looks at. */
static unsigned arguments_of(const struct sys_call *call)
{
	unsigned args = 0;

	for (size_t i = 0; call && i < call->nclauses; i++)
		for (size_t j = 0; j < call->clause[i].ntests; j++)
			args |= 1u << call->clause[i].test[j].arg;
	return args;
}

/* The call as it could be made. */
static const char *call_text(const struct pair *p, const struct seccomp_data *data)
{
	const struct syscall_arg *args = syscall_args(p->name);
	unsigned looked = arguments_of(p->old) | arguments_of(p->new);
	struct buffer b = { .arena = p->arena };
	const char *before = "(";

	buffer_printf(&b, "syscall %s", p->name);
	for (unsigned i = 0; i < SYS_ARGS; i++) {
		if (!(looked >> i & 1))
			continue;
		if (args && args[i].names)
			buffer_printf(&b, "%s%.*s", before, (int)syscall_arg_name(&args[i]), args[i].names);
		else
			buffer_printf(&b, "%sargument %u", before, i + 1);
		buffer_printf(&b, " == 0x%" PRIx64, (uint64_t)data->args[i]);
		before = " && ";
	}
	buffer_printf(&b, looked ? ")" : "");
	buffer_add(&b, "", 1);
	return b.data;
}

static struct finding find(const struct pair *p, enum diff_way way)
{
	struct question q = { .pair = p, .way = way };
	bool too_many;

	if (ask(&q, &too_many))
		return q.found;
	/* Not told apart is not the same: what cannot be excluded is named. */
	if (too_many)
		return (struct finding){ .found = true, .before = { SYS_ERRNO, 0 }, .result = { SYS_ERRNO, 0 } };
	q.found.example = call_text(p, &q.where);
	q.found.condition = condition_of(p, way);
	return q.found;
}

static bool same_tests(const struct sys_clause *x, const struct sys_clause *y)
{
	struct alternative a = { x->test, x->ntests }, b = { y->test, y->ntests };

	return alternatives_equal((struct alternatives){ &a, 1 }, (struct alternatives){ &b, 1 });
}

/* Clauses are in normal form: mostly equal meaning is equal clauses. */
static bool same_clauses(const struct pair *p)
{
	if (!p->old || !p->new)
		return p->old == p->new && p->old_rules == p->new_rules;
	if (p->old->nclauses != p->new->nclauses || !same_result(p->old_rules->refused, p->new_rules->refused))
		return false;
	for (size_t i = 0; i < p->old->nclauses; i++) {
		const struct sys_clause *x = &p->old->clause[i], *y = &p->new->clause[i];

		if (!same_result(x->result, y->result) || !same_tests(x, y))
			return false;
	}
	return true;
}

/* --- all ----------------------------------------------------------------------------------------- */

static const char *result_text(struct arena *a, struct sys_result r)
{
	switch (r.action) {
	case SYS_ALLOW: return "allowed";
	case SYS_ALLOW_LOGGED: return "allowed and logged";
	case SYS_COUNTED: return "allowed by the runtime, which counts processes";
	case SYS_GUARD_METADATA: return "allowed where a mount namespace bounds changes of metadata";
	case SYS_GUARD_SIGNAL: return "allowed where signals stay inside";
	case SYS_EXEC_ONCE: return "refused after the start";
	case SYS_KILL: return "ends the process";
	case SYS_ERRNO: break;
	}
	return r.error ? arena_printf(a, "refused with %s", errno_name(r.error)) : "answered as if it had been made";
}

/* The line of `side` that begins where line number `line` of its table does. */
static struct span line_at(const struct compile *side, line_id line)
{
	const struct policy *p = &side->policy;

	for (size_t i = 0; line && i < p->nsys_rules; i++) {
		struct span at = p->sys_rule[i]->at;
		const struct source_file *f = &side->sources.file[at.file];
		unsigned number, column;

		source_position(f, at.begin, &number, &column);
		if (f->id[number - 1] == line)
			return at;
	}
	return (struct span){ 0 };
}

static const char *arches_text(struct arena *a, unsigned arches, unsigned all)
{
	const char *text = "";

	if (arches == all)
		return NULL;
	for (unsigned arch = 0; arch < SYS_ARCHES; arch++)
		if (arches >> arch & 1)
			text = arena_printf(a, "%s%s%s", text, *text ? ", " : "on ", sys_arch_name(arch));
	return text;
}

static const char *finding_text(struct arena *a, const char *name, const struct finding *f)
{
	if (!f->condition && f->example)
		return arena_printf(a, "%s, with some arguments", name);
	if (!f->condition)
		return arena_printf(a, "%s, perhaps: this takes too many values of its arguments to be told", name);
	return *f->condition ? arena_printf(a, "%s(%s)", name, f->condition) : name;
}

/* Shown if there is more to say than that it is allowed, or refused. */
static bool is_plain(enum diff_way way, const struct finding *f)
{
	return way == DIFF_GRANTED ? f->result.action == SYS_ALLOW && level_of(f->before) == LEVEL_REFUSED :
	       way == DIFF_REFUSED ? f->before.action == SYS_ALLOW && level_of(f->result) == LEVEL_REFUSED :
				     false;
}

/*
 * What no line says comes with other grants: sockets with destinations, say.  The one option that was answered as if it
 * had been set is SO_BROADCAST (compiler/base/unicast.cave).
 */
static const char *origin_text(struct arena *a, const struct diff_entry *e, const struct finding *f, const char *arches)
{
	const char *origin = "by default or with other grants";

	if (e->way == DIFF_CHANGED || e->at.file || e->side->policy.bare)
		return arches;
	if (e->way == DIFF_GRANTED && f->example && f->before.action == SYS_ERRNO && !f->before.error)
		origin = "SO_BROADCAST: an address that stands alone may be one of a link's broadcasts";
	return arches ? arena_printf(a, "%s, %s", arches, origin) : origin;
}

static void add_finding(struct diff *d, enum diff_way way, const char *name, const struct finding *f,
			const char *arches)
{
	struct diff_entry *e = diff_add(d, way, finding_text(d->arena, name, f));
	const char *before = f->example ? result_text(d->arena, f->before) : "not told";
	const char *after = f->example ? result_text(d->arena, f->result) : "not told";

	if (!is_plain(way, f) && f->example)
		e->text = arena_printf(d->arena, "%s: %s, was %s", e->text, after, before);
	e->example = f->example;
	e->at = line_at(e->side, f->line);
	e->amount = origin_text(d->arena, e, f, arches);
	json_object_set_new(e->detail, "call", json_string(name));
	json_object_set_new(e->detail, "condition", f->condition ? json_string(f->condition) : json_null());
	json_object_set_new(e->detail, "before", json_string(before));
	json_object_set_new(e->detail, "after", json_string(after));
}

static bool same_finding(const struct finding *x, const struct finding *y)
{
	bool conditions = x->condition && y->condition ? strcmp(x->condition, y->condition) == 0 :
							 x->condition == y->condition;

	return x->found == y->found && conditions && same_result(x->result, y->result) &&
	       same_result(x->before, y->before);
}

static int by_number(const void *key, const void *call)
{
	uint32_t nr = *(const uint32_t *)key, other = ((const struct sys_call *)call)->nr;

	return nr < other ? -1 : nr > other;
}

static const struct sys_call *entry_of(const struct sys_rules *r, uint32_t nr)
{
	return r && r->ncalls ? bsearch(&nr, r->call, r->ncalls, sizeof *r->call, by_number) : NULL;
}

static struct pair pair_of(const struct diff *d, const struct syscall_row *row, enum sys_arch arch, enum diff_way way)
{
	bool old = policy_has_arch(&d->old->policy, arch), new = policy_has_arch(&d->new->policy, arch);
	const struct sys_rules *rules = way == DIFF_GRANTED && d->around ? d->around : d->old->rules;
	struct pair p = { .arena = d->arena, .arch = arch, .name = row->name, .nr = (uint32_t)row->nr[arch] };

	p.old_rules = old ? &rules[arch] : NULL;
	p.new_rules = new ? &d->new->rules[arch] : NULL;
	p.old = entry_of(p.old_rules, p.nr);
	p.new = entry_of(p.new_rules, p.nr);
	return p;
}

/* The same on several architectures is said once. */
static void report_way(struct diff *d, enum diff_way way, const char *name, const struct finding f[SYS_ARCHES],
		       unsigned present)
{
	unsigned told = 0;

	for (unsigned arch = 0; arch < SYS_ARCHES; arch++) {
		unsigned same = 0;

		if (!f[arch].found || told >> arch & 1)
			continue;
		for (unsigned other = arch; other < SYS_ARCHES; other++)
			if (f[other].found && same_finding(&f[arch], &f[other]))
				same |= 1u << other;
		told |= same;
		add_finding(d, way, name, &f[arch], arches_text(d->arena, same, present));
	}
}

bool diff_calls_differ(const struct diff *d)
{
	size_t n;
	const struct syscall_row *rows = syscall_table(&n);

	for (size_t i = 0; i < n * SYS_ARCHES; i++) {
		const struct syscall_row *row = &rows[i / SYS_ARCHES];
		enum sys_arch arch = (enum sys_arch)(i % SYS_ARCHES);
		struct pair p = pair_of(d, row, arch, DIFF_CHANGED);
		struct question q = { .pair = &p, .any = true };
		bool too_many;

		if (row->nr[arch] >= 0 && (p.old_rules || p.new_rules) && !same_clauses(&p) && !ask(&q, &too_many))
			return true;
	}
	return false;
}

static void compare_row(struct diff *d, const struct syscall_row *row, enum diff_way way)
{
	struct finding f[SYS_ARCHES] = { 0 };
	unsigned present = 0;

	for (unsigned arch = 0; arch < SYS_ARCHES; arch++) {
		struct pair p;

		if (row->nr[arch] < 0)
			continue;
		p = pair_of(d, row, arch, way);
		if (!p.old_rules && !p.new_rules)
			continue;
		present |= 1u << arch;
		if (!same_clauses(&p))
			f[arch] = find(&p, way);
	}
	report_way(d, way, row->name, f, present);
}

/* Numbers that the tables do not have; no policy allows them. */
static void compare_unknown(struct diff *d)
{
	for (unsigned arch = 0; arch < SYS_ARCHES; arch++) {
		struct sys_result before = d->old->rules[arch].unknown, after = d->new->rules[arch].unknown;

		if (!policy_has_arch(&d->old->policy, arch) || !policy_has_arch(&d->new->policy, arch) ||
		    same_result(before, after))
			continue;
		diff_add(d, DIFF_CHANGED, arena_printf(d->arena, "numbers that the tables do not have: %s, were %s",
						       result_text(d->arena, after), result_text(d->arena, before)));
		return;
	}
}

void diff_syscalls(struct diff *d)
{
	size_t n;
	const struct syscall_row *rows = syscall_table(&n);

	for (enum diff_way way = 0; way < DIFF_WAYS; way++)
		for (size_t i = 0; i < n; i++)
			compare_row(d, &rows[i], way);
	compare_unknown(d);
}
