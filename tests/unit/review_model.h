/* SPDX-License-Identifier: MIT */
/*
 * Random profiles with every kind of grant, and what they say: the model is made first, the text is written from
 * it, and questions are answered from the model alone.  Nothing of the compiler is asked.
 */
#ifndef CAVE_TESTS_REVIEW_MODEL_H
#define CAVE_TESTS_REVIEW_MODEL_H

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TCP = 1, UDP = 2 };
enum { READ = 1, WRITE = 2, EXECUTE = 4 };
enum { RULES_MAX = 5, VARIABLES = 4, MODEL_LIMITS = 4, TEXT_MAX = 8192 };

static inline unsigned model_pick(uint64_t *seed, unsigned n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(*seed >> 33) % n;
}

/* --- addresses and ports ------------------------------------------------------------------------- */

/* An address of either family as 17 bytes that compare: the family, and 16 of address. */
struct model_addr {
	unsigned char byte[17];
};

static inline struct model_addr model_address(const char *text)
{
	struct model_addr a = { { 0 } };
	bool v6 = strchr(text, ':');

	a.byte[0] = v6;
	inet_pton(v6 ? AF_INET6 : AF_INET, text, v6 ? a.byte + 1 : a.byte + 13);
	return a;
}

static inline int model_order(const struct model_addr *a, const struct model_addr *b)
{
	return memcmp(a->byte, b->byte, sizeof a->byte);
}

struct model_range {
	const char *text, *lo, *hi;
	struct model_addr first, last; /* the same, after model_init() */
};

static struct model_range model_ranges[] = {
	{ .text = "10.0.0.1", .lo = "10.0.0.1", .hi = "10.0.0.1" },
	{ .text = "10.0.0.0/24", .lo = "10.0.0.0", .hi = "10.0.0.255" },
	{ .text = "10.0.0.0/30", .lo = "10.0.0.0", .hi = "10.0.0.3" },
	{ .text = "10.0.0.8-10.0.0.20", .lo = "10.0.0.8", .hi = "10.0.0.20" },
	{ .text = "10.0.0.0/16", .lo = "10.0.0.0", .hi = "10.0.255.255" },
	{ .text = "192.0.2.7", .lo = "192.0.2.7", .hi = "192.0.2.7" },
	{ .text = "8.8.8.8", .lo = "8.8.8.8", .hi = "8.8.8.8" },
	{ .text = "fd00::1", .lo = "fd00::1", .hi = "fd00::1" },
	{ .text = "fd00::/64", .lo = "fd00::", .hi = "fd00::ffff:ffff:ffff:ffff" },
	{ .text = "fd00::8-fd00::10", .lo = "fd00::8", .hi = "fd00::10" },
	{ .text = "2001:db8::/32", .lo = "2001:db8::", .hi = "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff" },
};
static struct model_range model_locals[] = {
	{ .text = "127.0.0.1", .lo = "127.0.0.1", .hi = "127.0.0.1" },
	{ .text = "127.0.0.2", .lo = "127.0.0.2", .hi = "127.0.0.2" },
	{ .text = "10.0.0.5", .lo = "10.0.0.5", .hi = "10.0.0.5" },
	{ .text = "::1", .lo = "::1", .hi = "::1" },
	{ .text = "0.0.0.0", .lo = "0.0.0.0", .hi = "255.255.255.255" },
};

/* The ends of all ranges, and what is beside them. */
static const char *const model_points[] = {
	"9.255.255.255",
	"10.0.0.0",
	"10.0.0.1",
	"10.0.0.2",
	"10.0.0.3",
	"10.0.0.4",
	"10.0.0.5",
	"10.0.0.7",
	"10.0.0.8",
	"10.0.0.9",
	"10.0.0.20",
	"10.0.0.21",
	"10.0.0.254",
	"10.0.0.255",
	"10.0.1.0",
	"10.0.255.255",
	"10.1.0.0",
	"192.0.2.6",
	"192.0.2.7",
	"192.0.2.8",
	"8.8.8.7",
	"8.8.8.8",
	"8.8.8.9",
	"127.0.0.1",
	"127.0.0.2",
	"127.0.0.3",
	"fcff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"fd00::",
	"fd00::1",
	"fd00::2",
	"fd00::7",
	"fd00::8",
	"fd00::10",
	"fd00::11",
	"fd00::ffff:ffff:ffff:ffff",
	"fd00:0:0:1::",
	"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
	"2001:db8::",
	"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
	"2001:db9::",
	"::1",
};

struct model_ports {
	const char *text;
	struct {
		unsigned lo, hi;
	} range[2];
};

static const struct model_ports model_ports[] = {
	{ "443", { { 443, 443 } } },
	{ "80", { { 80, 80 } } },
	{ "1-100", { { 1, 100 } } },
	{ "80-90", { { 80, 90 } } },
	{ "{ 443, 8000-8010 }", { { 443, 443 }, { 8000, 8010 } } },
	{ "any", { { 1, 65535 } } },
	{ "65535", { { 65535, 65535 } } },
	{ "1", { { 1, 1 } } },
	{ "{ 79, 81 }", { { 79, 79 }, { 81, 81 } } },
};
static const unsigned model_numbers[] = { 1,   2,   78,	 79,  80,  81,	 82,   89,   90,   91,	  99,
					  100, 101, 442, 443, 444, 7999, 8000, 8010, 8011, 65534, 65535 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

struct model_rule {
	bool allow;
	unsigned protocols;
	const struct model_range *to, *except; /* except: NULL for none */
	const struct model_ports *ports;       /* NULL: of a denial, every port */
};

static inline void model_init(void)
{
	for (size_t i = 0; i < COUNT(model_ranges) + COUNT(model_locals); i++) {
		struct model_range *r = i < COUNT(model_ranges) ? &model_ranges[i]
								: &model_locals[i - COUNT(model_ranges)];

		r->first = model_address(r->lo);
		r->last = model_address(r->hi);
	}
}

static inline bool model_within(const struct model_range *r, const struct model_addr *at)
{
	return model_order(&r->first, at) <= 0 && model_order(at, &r->last) <= 0;
}

static inline bool model_speaks(const struct model_rule *r, unsigned protocol, const struct model_addr *at,
				unsigned port)
{
	bool by_port = !r->ports;

	for (int i = 0; r->ports && i < 2; i++)
		by_port |= r->ports->range[i].lo && r->ports->range[i].lo <= port &&
			   port <= r->ports->range[i].hi;
	return by_port && r->protocols & protocol && model_within(r->to, at) &&
	       !(r->except && model_within(r->except, at));
}

/* --- system calls -------------------------------------------------------------------------------- */

struct model_condition {
	const char *text; /* without parentheses; "": all */
	bool (*holds)(uint64_t v);
};

static inline bool always(uint64_t v)
{
	(void)v;
	return true;
}
static inline bool is_8(uint64_t v) { return (uint32_t)v == 8; }
static inline bool in_few(uint64_t v) { return ((uint32_t)v >= 1 && (uint32_t)v <= 3) || (uint32_t)v == 16; }
static inline bool low_1(uint64_t v) { return (v & 0xf) == 1; }
static inline bool below_38(uint64_t v) { return (uint32_t)v < 38; }
static inline bool not_17(uint64_t v) { return (uint32_t)v != 17; }
static inline bool bits_300(uint64_t v) { return v & 0x300; }
static inline bool is_2(uint64_t v) { return (uint32_t)v == 2; }
static inline bool bit_4(uint64_t v) { return v & 4; }
static inline bool is_page(uint64_t v) { return v == 4096; }
static inline bool is_long(uint64_t v) { return (int64_t)v > 65535; }
static inline bool is_negative(uint64_t v) { return (int64_t)v < 0; }
static inline bool is_negative32(uint64_t v) { return (int32_t)v < 0; }
static inline bool not_2(uint64_t v) { return (uint32_t)v != 2; }
static inline bool one_or_not(uint64_t v) { return (uint32_t)v == 1 || !((uint32_t)v <= 17); }

enum { CONDITIONS = 8 };

static const struct model_call {
	const char *name;
	unsigned number; /* on x86_64 */
	unsigned argument;
	bool base; /* the base set allows it, whatever its arguments */
	struct model_condition condition[CONDITIONS];
} model_calls[] = {
	{ "personality",
	  135,
	  0,
	  false,
	  { { "", always },
	    { "persona == 8", is_8 },
	    { "persona in { 1-3, 16 }", in_few },
	    { "persona & 0xf == 1", low_1 },
	    { "persona < 38", below_38 },
	    { "persona != 17", not_17 },
	    { "persona & 0x300", bits_300 },
	    { "persona == 1 || !(persona <= 17)", one_or_not } } },
	{ "flock",
	  73,
	  1,
	  true,
	  { { "", always },
	    { "operation == 2", is_2 },
	    { "operation & 4", bit_4 },
	    { "operation in { 1-3, 16 }", in_few },
	    { "operation != 2", not_2 },
	    { "operation < 38", below_38 },
	    { "operation & 0x300", bits_300 },
	    { "operation == 8", is_8 } } },
	{ "ftruncate",
	  77,
	  1,
	  true,
	  { { "", always },
	    { "length == 4096", is_page },
	    { "length > 65535", is_long },
	    { "length < 0", is_negative },
	    { "length == 4096 || length < 0", NULL },
	    { "", always },
	    { "length == 4096", is_page },
	    { "length < 0", is_negative } } },
	{ "fadvise64",
	  221,
	  3,
	  true,
	  { { "", always },
	    { "advice == 2", is_2 },
	    { "advice < 0", is_negative32 },
	    { "advice != 2", not_2 },
	    { "advice & 4", bit_4 },
	    { "advice in { 1-3, 16 }", in_few },
	    { "advice != 17", not_17 },
	    { "advice == 8", is_8 } } },
	{ "acct",
	  163,
	  0,
	  false,
	  { { "", always },
	    { "", always },
	    { "", always },
	    { "", always },
	    { "", always },
	    { "", always },
	    { "", always },
	    { "", always } } },
	{ "uname",
	  63,
	  0,
	  true,
	  { { "", always },
	    { "", always },
	    { "", always },
	    { "", always },
	    { "", always },
	    { "", always },
	    { "", always },
	    { "", always } } },
};
enum { MODEL_CALLS = COUNT(model_calls) };

static const uint64_t model_values[] = {
	0,
	1,
	2,
	3,
	4,
	5,
	7,
	8,
	9,
	15,
	16,
	17,
	18,
	37,
	38,
	39,
	0x100,
	0x200,
	0x301,
	4095,
	4096,
	4097,
	65535,
	65536,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000002,
	0x100000008,
	0x7fffffffffffffff,
	0x8000000000000000,
	UINT64_MAX,
};

static inline bool model_holds(const struct model_condition *c, uint64_t v)
{
	return c->holds ? c->holds(v) : is_page(v) || is_negative(v);
}

struct model_line {
	bool allow;
	const struct model_call *call;
	const struct model_condition *condition;
};

/* --- files --------------------------------------------------------------------------------------- */

static const char *const model_paths[] = {
	"/a",	 "/a/b",      "/a/b/c",	     "/a/bc",	      "/d",	"/d/e", "./r",
	"./r/s", "workspace", "workspace/w", "workspace/w/x", "home/h",
};
static const char *const model_asked[] = {
	"/a",	       "/a/x",	      "/a/b",	       "/a/b/x",
	"/a/b/c",      "/a/b/c/x",    "/a/bc",	       "/a/bcd",
	"/d",	       "/d/e",	      "/d/e/f",	       "/e",
	"./r",	       "./r/s",	      "./r/s/t",       "./q",
	"workspace",   "workspace/w", "workspace/w/x", "workspace/w/x/y",
	"workspace/v", "home/h",      "home/h/i",      "home/k",
};

struct model_path {
	bool deny, folder; /* folder: what is executed beneath it too */
	unsigned rights;
	const char *path;
};

static inline bool model_beneath(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* --- the whole ----------------------------------------------------------------------------------- */

static const char *const model_credentials[] = { "",
						 "",
						 "ANTHROPIC_API_KEY",
						 "OPENAI_API_KEY",
						 "GEMINI_API_KEY",
						 "GOOGLE_API_KEY",
						 "GEMINI_API_KEY, GOOGLE_API_KEY" };
static const char *const model_names[] = { "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
					   "GOOGLE_API_KEY" };
static const char *const model_variables[VARIABLES] = { "FOO", "BAR", "MODE", "HOME" };
static const struct {
	const char *name, *value[4]; /* ascending; the last one is none */
} model_limits[MODEL_LIMITS] = {
	{ "time", { "1s", "30s", "1h", "none" } },
	{ "memory", { "16MiB", "64MiB", "2GiB", "none" } },
	{ "output", { "1KiB", "1MiB", "2MiB", "none" } },
	{ "open-files", { "16", "64", "256", "257" } },
};

struct model {
	struct model_rule net[RULES_MAX], listen[RULES_MAX];
	struct model_path file[RULES_MAX * 2];
	struct model_line line[RULES_MAX];
	unsigned nnet, nlisten, nfile, nline;
	const char *credentials;
	unsigned variable[VARIABLES]; /* 0: none, 1: passed, then set to a value */
	unsigned limit[MODEL_LIMITS];
	unsigned processes; /* 0: no other program */
	bool system;
	char text[TEXT_MAX];
};

static inline bool model_connects(const struct model *m, unsigned protocol, const struct model_addr *at,
				  unsigned port)
{
	bool allowed = false;

	for (unsigned i = 0; i < m->nnet; i++)
		if (model_speaks(&m->net[i], protocol, at, port)) {
			if (!m->net[i].allow)
				return false;
			allowed = true;
		}
	return allowed;
}

static inline bool model_listens(const struct model *m, unsigned protocol, const struct model_addr *at,
				 unsigned port)
{
	for (unsigned i = 0; i < m->nlisten; i++)
		if (model_speaks(&m->listen[i], protocol, at, port))
			return true;
	return false;
}

static inline bool model_calls_it(const struct model *m, const struct model_call *call, uint64_t value)
{
	bool allowed = call->base;

	for (unsigned i = 0; i < m->nline; i++)
		if (m->line[i].call == call && model_holds(m->line[i].condition, value)) {
			if (!m->line[i].allow)
				return false;
			allowed = true;
		}
	return allowed;
}

static inline bool model_may(const struct model *m, const char *path, unsigned right)
{
	bool allowed = false;

	if (right == EXECUTE && !m->processes)
		return false;
	for (unsigned i = 0; i < m->nfile; i++) {
		const struct model_path *f = &m->file[i];

		if (!(f->rights & right) || !model_beneath(path, f->path))
			continue;
		if (f->deny)
			return false;
		allowed |= right != EXECUTE || f->folder || strcmp(path, f->path) == 0;
	}
	return allowed;
}

static inline bool model_has_credential(const struct model *m, const char *name)
{
	const char *at = strstr(m->credentials, name);

	return at != NULL;
}

/* --- making one ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static inline void model_say(struct model *m, const char *format, ...)
{
	size_t n = strlen(m->text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(m->text + n, sizeof m->text - n, format, ap);
	va_end(ap);
}

static inline void model_say_rule(struct model *m, const char *verb, const struct model_rule *r)
{
	static const char *const protocols[] = { "", "tcp", "udp", "{ tcp, udp }" };

	model_say(m, "        %s %s %s", verb, protocols[r->protocols], r->to->text);
	if (r->except)
		model_say(m, " except %s", r->except->text);
	if (r->ports)
		model_say(m, " port %s", r->ports->text);
	model_say(m, "\n");
}

/* Denials of TCP and endpoints of one's own do not go together. */
static inline void model_network(struct model *m, uint64_t *seed)
{
	m->nnet = model_pick(seed, RULES_MAX + 1);
	m->nlisten = model_pick(seed, 3) ? 0 : model_pick(seed, 3);
	model_say(m, "    network {\n");
	for (unsigned i = 0; i < m->nnet; i++) {
		struct model_rule *r = &m->net[i];

		*r = (struct model_rule){ model_pick(seed, 4), 1 + model_pick(seed, 3),
					  &model_ranges[model_pick(seed, COUNT(model_ranges))], NULL,
					  &model_ports[model_pick(seed, COUNT(model_ports))] };
		if (!r->allow && m->nlisten)
			r->protocols = UDP;
		if (r->allow && !model_pick(seed, 4)) {
			r->to = &model_ranges[1];
			r->except = &model_ranges[model_pick(seed, 4)];
			if (r->except == r->to)
				r->except = NULL;
		}
		if (!r->allow && !m->nlisten && !model_pick(seed, 4)) {
			r->protocols = TCP | UDP;
			r->ports = NULL;
			model_say(m, "        deny %s\n", r->to->text);
			continue;
		}
		model_say_rule(m, r->allow ? "allow" : "deny", r);
	}
	for (unsigned i = 0; i < m->nlisten; i++) {
		m->listen[i] = (struct model_rule){ true, 1 + model_pick(seed, 2),
						    &model_locals[model_pick(seed, COUNT(model_locals))], NULL,
						    &model_ports[model_pick(seed, 5)] };
		model_say_rule(m, "listen", &m->listen[i]);
	}
	model_say(m, "    }\n");
}

static inline void model_say_path(struct model *m, const char *path, bool folder)
{
	bool place = *path != '/' && *path != '.';

	model_say(m, "%s%s%s%s", place ? "" : "\"", path, folder ? "/" : "", place ? "" : "\"");
}

static inline void model_files(struct model *m, uint64_t *seed)
{
	static const struct {
		const char *verb;
		unsigned rights;
		bool deny;
	} verbs[] = { { "read", READ, false },
		      { "read", READ, false },
		      { "write", READ | WRITE, false },
		      { "deny", READ | WRITE | EXECUTE, true },
		      { "deny write", WRITE, true } };
	unsigned n = model_pick(seed, RULES_MAX + 1);

	m->system = model_pick(seed, 3);
	model_say(m, "    files {\n        base %s\n", m->system ? "system" : "none");
	for (unsigned i = 0; i < n; i++) {
		unsigned verb = model_pick(seed, COUNT(verbs));
		const char *path = model_paths[model_pick(seed, COUNT(model_paths))];

		m->file[m->nfile++] = (struct model_path){ verbs[verb].deny, false, verbs[verb].rights, path };
		model_say(m, "        %s ", verbs[verb].verb);
		model_say_path(m, path, false);
		model_say(m, "\n");
	}
	model_say(m, "    }\n");
	if (model_pick(seed, 2))
		return;
	m->processes = 1 + model_pick(seed, 3);
	model_say(m, "    childProcess {\n        max-processes %u\n        execute ", m->processes);
	n = 1 + model_pick(seed, 2);
	for (unsigned i = 0; i < n; i++) {
		const char *path = model_paths[model_pick(seed, 6)];
		bool folder = !model_pick(seed, 3);

		m->file[m->nfile++] = (struct model_path){ false, folder, READ | EXECUTE, path };
		model_say(m, "%s", i ? ", " : "");
		model_say_path(m, path, folder);
	}
	model_say(m, "\n    }\n");
}

static inline void model_settings(struct model *m, uint64_t *seed)
{
	m->credentials = model_credentials[model_pick(seed, COUNT(model_credentials))];
	if (*m->credentials)
		model_say(m, "    credentialEnv %s\n", m->credentials);
	model_say(m, "    env {\n");
	for (unsigned i = 0; i < VARIABLES; i++) {
		m->variable[i] = model_pick(seed, 4);
		if (m->variable[i] == 1)
			model_say(m, "        pass %s\n", model_variables[i]);
		if (m->variable[i] > 1)
			model_say(m, "        set %s \"%u\"\n", model_variables[i], m->variable[i]);
	}
	model_say(m, "    }\n    limits {\n");
	for (unsigned i = 0; i < MODEL_LIMITS; i++) {
		m->limit[i] = model_pick(seed, 4);
		model_say(m, "        %s %s\n", model_limits[i].name, model_limits[i].value[m->limit[i]]);
	}
	model_say(m, "    }\n");
}

static inline void model_syscalls(struct model *m, uint64_t *seed)
{
	m->nline = model_pick(seed, RULES_MAX + 1);
	model_say(m, "    syscalls {\n");
	for (unsigned i = 0; i < m->nline; i++) {
		const struct model_call *call =
			&model_calls[model_pick(seed, 3) ? model_pick(seed, 4) : 4 + model_pick(seed, 2)];
		struct model_line *line = &m->line[i];

		*line = (struct model_line){ model_pick(seed, 2), call,
					     &call->condition[model_pick(seed, CONDITIONS)] };
		model_say(m, "        %s %s%s%s%s\n", line->allow ? "allow" : "deny", call->name,
			  *line->condition->text ? "(" : "", line->condition->text,
			  *line->condition->text ? ")" : "");
	}
	model_say(m, "    }\n");
}

static inline void model_make(struct model *m, uint64_t *seed)
{
	memset(m, 0, sizeof *m);
	model_say(m, "profile p {\n");
	model_network(m, seed);
	model_files(m, seed);
	model_settings(m, seed);
	model_syscalls(m, seed);
	model_say(m, "}\n");
}

#endif
