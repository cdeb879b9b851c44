/* SPDX-License-Identifier: MIT */
/*
 * diff and explain against brute force: random profiles with every kind of grant (review_model.h) are compiled,
 * and what is said of two of them, or of one, is compared with the model at every boundary.  What is newly
 * granted and not told, or told and not so, is a failure, and so are entries that say one thing twice.
 */
#include "compiler/diff.h"
#include "compiler/explain.h"
#include "tests/unit/review_model.h"
#include "tests/unit/review_policies.h"
#include "tests/unit/unit.h"

enum { PAIRS = 2000, EXPLAINED = 100 };

/* A profile that does not compile is left out: its parts may contradict each other. */
static struct compile *compile_model(const struct model *m)
{
	struct compile *c = compile_begin();
	struct resolve_options o;
	uint32_t file = sources_add(&c->sources, "p.cave", arena_strdup(&c->arena, m->text), strlen(m->text),
				    (struct span){ 0 }, false);

	compile_rules(c, NULL, NULL, &o);
	compile_arch("x86_64", &o);
	o.arch_named = false;
	if (compile_resolve(c, &o, file))
		return c;
	compile_end(c);
	return NULL;
}

static bool is_kind(const struct diff_entry *e, const char *kind, enum diff_way way)
{
	return e->way == way && strcmp(e->kind->name, kind) == 0;
}

/* --- destinations and endpoints ------------------------------------------------------------------ */

/* What an entry about the network says, read once. */
struct told {
	const struct diff_entry *entry;
	unsigned protocol;
	struct {
		struct model_addr lo, hi;
	} range[64];
	struct {
		unsigned lo, hi;
	} port[64];
	unsigned nranges, nports;
};

struct told_list {
	struct told item[64];
	unsigned n;
};

/* ADDRESS, ADDRESS/BITS or ADDRESS-ADDRESS */
static void read_range(struct told *t, const char *s)
{
	size_t n = strcspn(s, "/-");
	char text[64];
	struct model_addr lo, hi;

	snprintf(text, sizeof text, "%.*s", (int)n, s);
	lo = hi = model_address(text);
	if (s[n] == '-')
		hi = model_address(s + n + 1);
	if (s[n] == '/')
		for (unsigned bit = (lo.byte[0] ? 0 : 96) + (unsigned)atoi(s + n + 1); bit < 128; bit++)
			hi.byte[1 + bit / 8] |= (unsigned char)(0x80 >> bit % 8);
	t->range[t->nranges].lo = lo;
	t->range[t->nranges++].hi = hi;
}

static bool read_told(const struct diff_entries *from, struct told_list *to)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++) {
		json_t *d = from->item[i].detail, *of = json_object_get(d, "protocol"), *range;
		struct told *t = &to->item[to->n];
		size_t k;

		if (!of)
			continue;
		if (to->n == COUNT(to->item) ||
		    json_array_size(json_object_get(d, "addresses")) > COUNT(t->range) ||
		    json_array_size(json_object_get(d, "ports")) > COUNT(t->port))
			return false;
		t->entry = &from->item[i];
		t->protocol = strcmp(json_string_value(of), "tcp") == 0 ? TCP : UDP;
		t->nranges = t->nports = 0;
		json_array_foreach(json_object_get(d, "addresses"), k, range)
			read_range(t, json_string_value(range));
		json_array_foreach(json_object_get(d, "ports"), k, range)
		{
			t->port[t->nports].lo = (unsigned)json_integer_value(json_object_get(range, "from"));
			t->port[t->nports++].hi = (unsigned)json_integer_value(json_object_get(range, "to"));
		}
		to->n++;
	}
	return true;
}

static unsigned told_network(const struct told_list *list, const char *kind, enum diff_way way, unsigned protocol,
			     const struct model_addr *at, unsigned port)
{
	unsigned n = 0;

	for (unsigned i = 0; i < list->n; i++) {
		const struct told *t = &list->item[i];
		bool by_address = false, by_port = false;

		if (t->protocol != protocol || !is_kind(t->entry, kind, way))
			continue;
		for (unsigned k = 0; k < t->nranges; k++)
			by_address |= model_order(&t->range[k].lo, at) <= 0 &&
				      model_order(at, &t->range[k].hi) <= 0;
		for (unsigned k = 0; k < t->nports; k++)
			by_port |= t->port[k].lo <= port && port <= t->port[k].hi;
		n += by_address && by_port;
	}
	return n;
}

/* Two policies, what they were made from, and what is said of them. */
struct pair {
	struct model old_model, new_model;
	struct compile *old, *new;
	struct diff diff;
	struct told_list found, held;
	unsigned points; /* asked so far at which they differ */
};

/* What the two models say of a point, and how many entries name it: exactly one if it goes that way. */
static bool is_wrong(struct pair *p, bool old, bool new, unsigned granted, unsigned refused)
{
	p->points += old != new;
	return granted != (new && !old) || refused != (old && !new);
}

static const char *judge(struct pair *p, bool old, bool new, unsigned granted, unsigned refused, const char *what)
{
	if (!is_wrong(p, old, new, granted, refused))
		return NULL;
	return arena_printf(&p->new->arena, "%s: was %d, is %d, %u times newly granted, %u times newly refused",
			    what, old, new, granted, refused);
}

/* With any of its credentials the tool reaches what it did not reach with that one. */
static bool newly_held(const struct pair *p, bool old, bool new)
{
	for (size_t i = 0; new &&i < COUNT(model_names); i++)
		if (model_has_credential(&p->new_model, model_names[i]) &&
		    !(old && model_has_credential(&p->old_model, model_names[i])))
			return true;
	return false;
}

static const char *network_text(const struct pair *p, const char *verb, unsigned protocol, const char *address,
				unsigned port)
{
	return arena_printf(&p->new->arena, "%s %s %s port %u", verb, protocol == TCP ? "tcp" : "udp", address,
			    port);
}

static const char *wrong_at(struct pair *p, unsigned protocol, const char *address, const struct model_addr *at,
			    unsigned port)
{
	bool old = model_connects(&p->old_model, protocol, at, port),
	     new = model_connects(&p->new_model, protocol, at, port);
	bool heard_old = model_listens(&p->old_model, protocol, at, port);
	bool heard_new = model_listens(&p->new_model, protocol, at, port);
	unsigned granted = told_network(&p->found, "destination", DIFF_GRANTED, protocol, at, port);
	unsigned refused = told_network(&p->found, "destination", DIFF_REFUSED, protocol, at, port);

	if (newly_held(p, old, new) !=
	    (told_network(&p->held, "destination", DIFF_GRANTED, protocol, at, port) > 0))
		return network_text(p, "while a credential is held,", protocol, address, port);
	if (is_wrong(p, old, new, granted, refused))
		return judge(p, old, new, granted, refused, network_text(p, "connect", protocol, address, port));
	granted = told_network(&p->found, "listen", DIFF_GRANTED, protocol, at, port);
	refused = told_network(&p->found, "listen", DIFF_REFUSED, protocol, at, port);
	if (is_wrong(p, heard_old, heard_new, granted, refused))
		return judge(p, heard_old, heard_new, granted, refused,
			     network_text(p, "listen", protocol, address, port));
	return NULL;
}

static const char *wrong_network(struct pair *p)
{
	if (!read_told(&p->diff.found, &p->found) || !read_told(&p->diff.held, &p->held))
		return "more entries than expected";
	for (size_t i = 0; i < COUNT(model_points); i++) {
		struct model_addr at = model_address(model_points[i]);

		for (size_t k = 0; k < COUNT(model_numbers); k++)
			for (unsigned protocol = TCP; protocol <= UDP; protocol++) {
				const char *wrong = wrong_at(p, protocol, model_points[i], &at, model_numbers[k]);

				if (wrong)
					return wrong;
			}
	}
	return NULL;
}

/* --- system calls -------------------------------------------------------------------------------- */

/* A filter that allows what the entry says, or NULL. */
static struct compile *as_filter(const struct diff_entry *e)
{
	const char *name = json_string_value(json_object_get(e->detail, "call"));
	const char *condition = json_string_value(json_object_get(e->detail, "condition"));
	char text[4096];

	if (!condition)
		return NULL;
	snprintf(text, sizeof text, "filter f { allow %s%s%s%s }\n", name, *condition ? "(" : "", condition,
		 *condition ? ")" : "");
	return resolve(text);
}

static unsigned told_call(const struct pair *p, const struct compile *const *said, enum diff_way way,
			  const struct model_call *call, uint64_t value)
{
	struct seccomp_data data = { .nr = (int)call->number, .arch = sys_arch_audit(SYS_X86_64) };
	unsigned n = 0;

	data.args[call->argument] = value;
	for (size_t i = 0; i < p->diff.found.n; i++)
		if (said[i] && p->diff.found.item[i].way == way &&
		    strcmp(json_string_value(json_object_get(p->diff.found.item[i].detail, "call")),
			   call->name) == 0)
			n += lets(said[i], &data);
	return n;
}

static const char *wrong_call(struct pair *p, const struct compile *const *said)
{
	for (size_t i = 0; i < MODEL_CALLS; i++)
		for (size_t k = 0; k < COUNT(model_values); k++) {
			const struct model_call *call = &model_calls[i];
			uint64_t v = model_values[k];
			const char *wrong = judge(
				p, model_calls_it(&p->old_model, call, v), model_calls_it(&p->new_model, call, v),
				told_call(p, said, DIFF_GRANTED, call, v),
				told_call(p, said, DIFF_REFUSED, call, v),
				arena_printf(&p->new->arena, "%s of 0x%llx", call->name, (unsigned long long)v));

			if (wrong)
				return wrong;
		}
	return NULL;
}

static bool is_modelled(const char *name)
{
	for (size_t i = 0; i < MODEL_CALLS; i++)
		if (strcmp(model_calls[i].name, name) == 0)
			return true;
	return false;
}

static const char *wrong_syscalls(struct pair *p)
{
	struct compile **said = calloc(p->diff.found.n + 1, sizeof *said);
	const char *wrong = NULL;

	for (size_t i = 0; i < p->diff.found.n && !wrong; i++) {
		const struct diff_entry *e = &p->diff.found.item[i];

		if (strcmp(e->kind->name, "syscall") != 0 || e->way == DIFF_CHANGED ||
		    !is_modelled(json_string_value(json_object_get(e->detail, "call"))))
			continue;
		said[i] = as_filter(e);
		wrong = said[i] ? NULL : "a condition that is left out";
	}
	if (!wrong)
		wrong = wrong_call(p, (const struct compile *const *)said);
	for (size_t i = 0; i < p->diff.found.n; i++)
		if (said[i])
			compile_end(said[i]);
	free(said);
	return wrong;
}

/* --- files --------------------------------------------------------------------------------------- */

/* The nearest entry above a path decides what is told of it: one of a right may stand in another's tree. */
static bool told_file(const struct pair *p, enum diff_way way, const char *path, unsigned right)
{
	static const char *const verbs[] = { [READ] = "read", [WRITE] = "write", [EXECUTE] = "execute" };

	for (size_t i = 0; i < p->diff.found.n; i++) {
		const struct diff_entry *e = &p->diff.found.item[i];
		const char *top = json_string_value(json_object_get(e->detail, "path"));
		const char *access = json_string_value(json_object_get(e->detail, "access"));

		if (is_kind(e, "file", way) && top && model_beneath(path, top) &&
		    (right == READ || strstr(access, verbs[right])))
			return true;
	}
	return false;
}

/* Whatever is gained is told; what an entry tells of its own path, or of what is beneath it, is so. */
static const char *wrong_file(struct pair *p, const struct model *has, const struct model *lacks,
			      enum diff_way way)
{
	static const unsigned rights[] = { READ, WRITE, EXECUTE };

	for (size_t i = 0; i < COUNT(model_asked); i++)
		for (size_t k = 0; k < COUNT(rights); k++) {
			bool gained = model_may(has, model_asked[i], rights[k]) &&
				      !model_may(lacks, model_asked[i], rights[k]);

			p->points += gained;
			if (gained && !told_file(p, way, model_asked[i], rights[k]))
				return arena_printf(&p->new->arena, "%s, right %u, goes way %d and is not told",
						    model_asked[i], rights[k], way);
		}
	for (size_t i = 0; i < p->diff.found.n; i++) {
		const struct diff_entry *e = &p->diff.found.item[i];
		const char *top = json_string_value(json_object_get(e->detail, "path"));
		const char *access = json_string_value(json_object_get(e->detail, "access"));
		unsigned right;
		char within[128];

		if (!is_kind(e, "file", way) || !top)
			continue;
		right = strstr(access, "write") ? WRITE : strstr(access, "execute") ? EXECUTE : READ;
		snprintf(within, sizeof within, "%s/within", top);
		if (!(model_may(has, top, right) && !model_may(lacks, top, right)) &&
		    !(model_may(has, within, right) && !model_may(lacks, within, right)))
			return arena_printf(&p->new->arena, "%s is told and not so", e->text);
	}
	return NULL;
}

static const char *wrong_files(struct pair *p)
{
	const char *wrong = wrong_file(p, &p->new_model, &p->old_model, DIFF_GRANTED);

	return wrong ? wrong : wrong_file(p, &p->old_model, &p->new_model, DIFF_REFUSED);
}

/* --- what is one value --------------------------------------------------------------------------- */

static unsigned told_text(const struct pair *p, const char *kind, enum diff_way way, const char *text)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->diff.found.n; i++)
		n += is_kind(&p->diff.found.item[i], kind, way) && strcmp(p->diff.found.item[i].text, text) == 0;
	return n;
}

static const char *wrong_text(struct pair *p, const char *kind, bool old, bool new, const char *text)
{
	return judge(p, old, new, told_text(p, kind, DIFF_GRANTED, text), told_text(p, kind, DIFF_REFUSED, text),
		     text);
}

static const char *wrong_names(struct pair *p)
{
	const struct model *old = &p->old_model, *new = &p->new_model;
	const char *wrong = NULL;

	for (size_t i = 0; i < COUNT(model_names) && !wrong; i++)
		wrong = wrong_text(p, "credential", model_has_credential(old, model_names[i]),
				   model_has_credential(new, model_names[i]), model_names[i]);
	for (size_t i = 0; i < VARIABLES && !wrong; i++)
		for (unsigned state = 1; state < 4 && !wrong; state++)
			wrong = wrong_text(p, "environment", old->variable[i] == state, new->variable[i] == state,
					   state == 1
						   ? arena_printf(&p->new->arena, "pass %s", model_variables[i])
						   : arena_printf(&p->new->arena, "set %s \"%u\"",
								  model_variables[i], state));
	return wrong;
}

static const char *wrong_amounts(struct pair *p)
{
	const struct model *old = &p->old_model, *new = &p->new_model;
	const char *wrong = NULL;

	for (size_t i = 0; i < MODEL_LIMITS && !wrong; i++)
		for (unsigned k = 0; k < 4 && !wrong; k++)
			wrong = wrong_text(p, "limit", old->limit[i] == k && new->limit[i] < k,
					   new->limit[i] == k && old->limit[i] < k,
					   arena_printf(&p->new->arena, "%s %s", model_limits[i].name,
							model_limits[i].value[k]));
	for (unsigned n = 1; n <= 3 && !wrong; n++)
		wrong = wrong_text(p, "children", old->processes == n && new->processes < n,
				   new->processes == n && old->processes < n,
				   arena_printf(&p->new->arena, "max-processes %u", n));
	return wrong;
}

/* --- a pair -------------------------------------------------------------------------------------- */

static size_t until(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	return at ? (size_t)(at - text) : strlen(text);
}

/* Of a call the text has what it was as well, which is now what it is; a denial's says which way it goes. */
static bool same_subject(const struct diff_entry *a, const struct diff_entry *b)
{
	json_t *call = json_object_get(a->detail, "call");
	bool is_denial = strcmp(a->kind->name, "denial") == 0;

	if (a->kind != b->kind || !call)
		return a->kind == b->kind &&
		       strncmp(a->text, b->text, is_denial ? until(a->text, "denied") - sizeof "no longer " : SIZE_MAX) ==
			       0;
	return json_equal(call, json_object_get(b->detail, "call")) &&
	       json_equal(json_object_get(a->detail, "condition"), json_object_get(b->detail, "condition"));
}

/* What is refused only to bound other grants is not newly granted where these go, and newly refused where they come. */
static bool is_bound(const struct diff_entry *e)
{
	const char *call = json_string_value(json_object_get(e->detail, "call"));

	return call && (strcmp(call, "memfd_create") == 0 || strcmp(call, "setsockopt") == 0);
}

static size_t count_mirrored(const struct diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->found.n; i++)
		n += !is_bound(&d->found.item[i]);
	return n;
}

/* Turned round, what was granted is refused. */
static const char *wrong_mirrored(struct pair *p)
{
	struct diff back;
	size_t found = 0, wanted = count_mirrored(&p->diff), wanted_back;

	diff_policies(&p->new->arena, p->new, p->old, &back);
	for (size_t i = 0; i < p->diff.found.n; i++) {
		const struct diff_entry *e = &p->diff.found.item[i];
		enum diff_way way = e->way == DIFF_GRANTED   ? DIFF_REFUSED
				    : e->way == DIFF_REFUSED ? DIFF_GRANTED
							     : e->way;

		for (size_t k = 0; k < back.found.n && !is_bound(e); k++)
			if (way == back.found.item[k].way && same_subject(e, &back.found.item[k])) {
				found++;
				break;
			}
	}
	wanted_back = count_mirrored(&back);
	diff_end(&back);
	return found == wanted && wanted_back == found ? NULL : "turned round it is another difference";
}

static const char *wrong_alone(struct pair *p)
{
	struct diff none;
	bool empty;

	diff_policies(&p->new->arena, p->new, p->new, &none);
	empty = none.found.n == 0 && none.held.n == 0;
	diff_end(&none);
	return empty ? NULL : "a policy differs from itself";
}

static const char *wrong_anywhere(struct pair *p)
{
	static const char *(*const kinds[])(struct pair *) = { wrong_network, wrong_syscalls, wrong_files,
							       wrong_names,   wrong_amounts,  wrong_mirrored,
							       wrong_alone };
	const char *wrong = NULL;

	for (size_t i = 0; i < COUNT(kinds) && !wrong; i++)
		wrong = kinds[i](p);
	return wrong;
}

/* True if the pair was compared; *good tells how. */
static bool compare(uint64_t *seed, bool *good, unsigned *points)
{
	static struct pair p;
	const char *wrong;

	model_make(&p.old_model, seed);
	model_make(&p.new_model, seed);
	p.points = 0;
	p.old = compile_model(&p.old_model);
	p.new = p.old ? compile_model(&p.new_model) : NULL;
	if (p.new) {
		diff_policies(&p.new->arena, p.old, p.new, &p.diff);
		wrong = wrong_anywhere(&p);
		if (wrong) {
			fprintf(stderr, "%s\n--- old\n%s--- new\n%s", wrong, p.old_model.text, p.new_model.text);
			diff_print(&p.diff, &(struct diff_names){ "old", "new", false }, false, stderr);
		}
		*good = !wrong;
		*points += p.points;
		diff_end(&p.diff);
		compile_end(p.new);
	}
	if (p.old)
		compile_end(p.old);
	return p.new != NULL;
}

static void test_pairs(unsigned wanted)
{
	uint64_t seed = 23;
	unsigned agreed = 0, made = 0, points = 0;
	bool good = true;

	while (agreed < wanted && good && made < 20 * wanted) {
		made++;
		agreed += compare(&seed, &good, &points) && good;
	}
	check(agreed == wanted,
	      "diff says of %u pairs of profiles what the model does, of every kind at every boundary", wanted);
	check(points >= 100 * wanted, "they differ at %u points", points);
}

/* --- explain ------------------------------------------------------------------------------------- */

/* One question; what it was is said if the answer is another than expected. */
static bool answers_with(struct compile *c, enum verdict wanted, unsigned n, char **word)
{
	static const char *const verdicts[] = { "allowed", "refused", "it depends" };
	struct explanation x = { .arena = &c->arena, .compile = c };
	bool good;

	x.last = &x.first;
	good = explain_question(&x, (int)n, word) && !x.first->next && x.first->verdict == wanted;
	if (!good) {
		fprintf(stderr, "expected %s:", verdicts[wanted]);
		for (unsigned i = 0; i < n; i++)
			fprintf(stderr, " %s", word[i]);
		fputc('\n', stderr);
		explain_answers(&x, stderr);
	}
	return good;
}

static bool answers(struct compile *c, bool allowed, unsigned n, ...)
{
	char *word[8];
	va_list ap;

	va_start(ap, n);
	for (unsigned i = 0; i < n; i++)
		word[i] = va_arg(ap, char *);
	va_end(ap);
	return answers_with(c, allowed ? VERDICT_ALLOWED : VERDICT_REFUSED, n, word);
}

static bool right_network(const struct model *m, struct compile *c, uint64_t *seed)
{
	for (size_t i = 0; i < COUNT(model_points); i++)
		for (unsigned k = 0; k < 6; k++) {
			unsigned port = model_numbers[model_pick(seed, COUNT(model_numbers))],
				 protocol = 1 + model_pick(seed, 2);
			struct model_addr at = model_address(model_points[i]);
			char number[16];

			snprintf(number, sizeof number, "%u", port);
			if (!answers(c, model_connects(m, protocol, &at, port), 5, "connect",
				     protocol == TCP ? "tcp" : "udp", model_points[i], "port", number) ||
			    !answers(c, model_listens(m, protocol, &at, port), 5, "listen",
				     protocol == TCP ? "tcp" : "udp", model_points[i], "port", number))
				return false;
		}
	return true;
}

static bool right_calls(const struct model *m, struct compile *c)
{
	for (size_t i = 0; i < MODEL_CALLS; i++)
		for (size_t k = 0; k < COUNT(model_values) && model_values[k] <= UINT32_MAX; k++) {
			const struct model_call *call = &model_calls[i];
			char number[24];
			const char *word[6] = { "-", "-", "-", "-", "-", "-" };

			snprintf(number, sizeof number, "%llu", (unsigned long long)model_values[k]);
			word[call->argument] = number;
			bool named = *call->condition[1].text; /* its argument can be asked about */

			if (!answers(c, model_calls_it(m, call, model_values[k]), named ? 3 + call->argument : 2,
				     "syscall", call->name, word[0], word[1], word[2], word[3]))
				return false;
		}
	return true;
}

/* The model's absolute paths may hold the home folder, and end in nothing that a rule of the home folder is about. */
static bool may_hold(const struct model_path *f, const char *path)
{
	return strncmp(path, "home", 4) == 0 && f->path[0] == '/';
}

/* Of a file it depends: on where the home folder is, and on what of a folder is denied. */
static enum verdict verdict_of(const struct model *m, const char *path, unsigned right)
{
	bool allowed = model_may(m, path, right), denied = right == EXECUTE && !m->processes, unsure = false;

	for (unsigned i = 0; i < m->nfile; i++) {
		const struct model_path *f = &m->file[i];

		if (!(f->rights & right))
			continue;
		denied |= f->deny && model_beneath(path, f->path);
		unsure |= f->deny == allowed && may_hold(f, path);
		unsure |= allowed && f->deny && model_beneath(f->path, path);
	}
	if (unsure && !denied)
		return VERDICT_DEPENDS;
	return allowed ? VERDICT_ALLOWED : VERDICT_REFUSED;
}

static bool right_files(const struct model *m, struct compile *c)
{
	static const struct {
		const char *word;
		unsigned right;
	} kinds[] = { { "read", READ }, { "write", WRITE }, { "execute", EXECUTE } };

	for (size_t i = 0; i < COUNT(model_asked); i++)
		for (size_t k = 0; k < COUNT(kinds); k++) {
			char *word[] = { (char *)kinds[k].word, (char *)model_asked[i] };

			if (!answers_with(c, verdict_of(m, model_asked[i], kinds[k].right), 2, word))
				return false;
		}
	return true;
}

static bool right_variables(const struct model *m, struct compile *c)
{
	for (size_t i = 0; i < VARIABLES; i++)
		if (!answers(c, m->variable[i] != 0, 2, "env", model_variables[i]))
			return false;
	for (size_t i = 0; i < COUNT(model_names); i++)
		if (!answers(c, model_has_credential(m, model_names[i]), 2, "env", model_names[i]))
			return false;
	return answers(c, false, 2, "env", "OTHER") && answers(c, true, 2, "env", "PATH");
}

static void test_explain(unsigned wanted)
{
	static struct model m;
	uint64_t seed = 29;
	unsigned agreed = 0;
	bool good = true;

	for (unsigned made = 0; agreed < wanted && good && made < 10 * wanted; made++) {
		struct compile *c;

		model_make(&m, &seed);
		c = compile_model(&m);
		if (!c)
			continue;
		good = compile_generate(c) && right_network(&m, c, &seed) && right_calls(&m, c) &&
		       right_files(&m, c) && right_variables(&m, c);
		if (!good)
			fprintf(stderr, "%s", m.text);
		agreed += good;
		compile_end(c);
	}
	check(agreed == wanted,
	      "explain says of %u profiles what the model does, of every kind at every boundary", wanted);
}

/* How many, if it is to be other numbers: review_test PAIRS PROFILES. */
int main(int argc, char **argv)
{
	model_init();
	test_pairs(argc > 1 ? (unsigned)atoi(argv[1]) : PAIRS);
	test_explain(argc > 2 ? (unsigned)atoi(argv[2]) : EXPLAINED);
	return unit_done();
}
