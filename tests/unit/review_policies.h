/* SPDX-License-Identifier: MIT */
/* Random policies for the tests of diff and explain, and what their rules say, read one by one. */
#ifndef CAVE_TESTS_REVIEW_POLICIES_H
#define CAVE_TESTS_REVIEW_POLICIES_H

#include <arpa/inet.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/egress_reference.h"
#include "compiler/hosts.h"
#include "compiler/pipeline.h"

static inline unsigned pick(uint64_t *seed, unsigned n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(*seed >> 33) % n;
}

static inline struct compile *resolve(const char *text)
{
	struct compile *c = compile_begin();
	struct resolve_options o;
	uint32_t file = sources_add(&c->sources, "p.cave", arena_strdup(&c->arena, text), strlen(text),
				    (struct span){ 0 }, false);

	compile_rules(c, NULL, NULL, &o);
	compile_arch("x86_64", &o);
	o.arch_named = false;
	if (compile_resolve(c, &o, file))
		return c;
	diags_print(&c->diags, stderr);
	fprintf(stderr, "%s\n", text);
	compile_end(c);
	return NULL;
}

/* --- destinations -------------------------------------------------------------------------------- */

static const char *const addresses[] = {
	"10.0.0.1",   "10.0.0.0/24", "10.0.0.0/30", "10.0.0.8-10.0.0.20", "10.0.1.0/24",
	"192.0.2.7",  "10.0.0.0/16", "10.0.0.255",  "fd00::1",		  "fd00::/64",
	"fd00::8-fd00::10", "127.0.0.1", "10.255.255.255", "2001:db8::/32", "8.8.8.8",
};
static const char *const ports[] = {
	"443", "80", "1-100", "80-90", "{ 443, 8000-8010 }", "any", "65535", "1", "{ 79, 81 }",
};

static inline char *random_network(uint64_t *seed)
{
	struct arena a = { NULL };
	char *text = arena_strdup(&a, "profile p {\n network {\n"), *copy;
	unsigned n = pick(seed, 6), kinds = 5 + pick(seed, 2);

	/* Denials of TCP and listens do not go together. */
	for (unsigned i = 0; i < n; i++) {
		const char *to = addresses[pick(seed, 15)], *port = ports[pick(seed, 9)];
		const char *proto = (const char *[]){ "tcp", "udp", "{ tcp, udp }" }[pick(seed, 3)];

		switch (pick(seed, kinds)) {
		case 0:
			proto = kinds == 6 ? "udp" : proto;
			text = arena_printf(&a, "%sdeny %s %s port %s\n", text, proto, to, port);
			break;
		case 1:
			text = arena_printf(&a, "%sallow %s 10.0.0.0/24 except %s port %s\n", text, proto,
					    addresses[pick(seed, 4)], port);
			break;
		case 5:
			text = arena_printf(&a, "%slisten tcp 127.0.0.%u port %u\n", text, pick(seed, 3), 1 + pick(seed, 3));
			break;
		default: text = arena_printf(&a, "%sallow %s %s port %s\n", text, proto, to, port);
		}
	}
	text = arena_printf(&a, "%s }\n%s}\n", text, pick(seed, 3) ? "" : " credentialEnv OPENAI_API_KEY\n");
	copy = strdup(text);
	arena_free(&a);
	return copy;
}

/* --- names --------------------------------------------------------------------------------------- */

static const char *const name_patterns[] = {
	"a.example.com", "b.example.com", "*.example.com", "x.a.example.com", "*.a.example.com", "example.com",
	"c.example.net", "*.example.net", "y.x.a.example.com", "aa.example.com",
};
static const char *const name_places[] = {
	"", "", "", " within 10.0.0.0/8", " within { 10.0.0.0/9, fd01::/16 }", " within { 10.1.0.0/16, 198.51.0.0/16 }",
	" within 8.8.0.0/16",
};
static const char *const name_excepts[] = {
	"", "", " except b.example.com", " except *.a.example.com", " except 8.8.8.8",
	" except { a.example.com, 8.8.8.0/24 }",
};
/* A denied name and a grant of port 53 do not go together. */
static const char *const name_ports[] = {
	"443", "80", "54-100", "80-90", "{ 443, 8000-8010 }", "54-65535", "65535", "1", "{ 79, 81 }",
};
enum { NAME_PATTERNS = 10, NAME_PLACES = 7, NAME_EXCEPTS = 6 };

static inline char *random_names(uint64_t *seed)
{
	struct arena a = { NULL };
	char *text = arena_strdup(&a, "profile p {\n network {\n"), *copy;
	unsigned n = 1 + pick(seed, 5);

	for (unsigned i = 0; i < n; i++) {
		const char *name = name_patterns[pick(seed, NAME_PATTERNS)], *port = name_ports[pick(seed, 9)];
		const char *proto = (const char *[]){ "tcp", "udp", "{ tcp, udp }" }[pick(seed, 3)];

		if (!pick(seed, 6))
			text = arena_printf(&a, "%sdeny %s\n", text, name);
		else if (!pick(seed, 8))
			text = arena_printf(&a, "%sallow %s 10.0.0.0/24 port %s\n", text, proto, port);
		else
			text = arena_printf(&a, "%sallow %s { %s, d.example.org }%s port %s%s\n", text, proto, name,
					    name_excepts[pick(seed, NAME_EXCEPTS)], port, name_places[pick(seed, NAME_PLACES)]);
	}
	text = arena_printf(&a, "%s }\n%s}\n", text, pick(seed, 3) ? "" : " credentialEnv OPENAI_API_KEY\n");
	copy = strdup(text);
	arena_free(&a);
	return copy;
}

static inline bool speaks_of(const struct host_pattern *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (host_matches(&list[i], name))
			return true;
	return false;
}

static inline bool holds_addr(const struct net_operand *list, size_t n, enum net_family family, struct net_addr at)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].family == family && net_addr_cmp(list[i].lo, at) <= 0 && net_addr_cmp(at, list[i].hi) <= 0)
			return true;
	return false;
}

static inline bool has_port(const struct net_ports *list, size_t n, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].lo <= port && port <= list[i].hi)
			return true;
	return false;
}

/* What the rules say, one by one, of a name that leads to an address; `public`: of the world; `own`: of the host. */
static inline bool name_reaches(const struct policy *p, const char *name, enum net_family family, struct net_addr at,
				bool public, bool own, int proto, uint16_t port)
{
	bool found = false;

	for (size_t i = 0; i < p->nhost_rules; i++) {
		const struct host_rule *r = &p->host_rule[i];

		if (!speaks_of(r->to, r->nto, name))
			continue;
		if (!r->allow)
			return false;
		found |= !speaks_of(r->except, r->nexcept, name) && !holds_addr(r->not_at, r->nnot_at, family, at) &&
			 (r->nwithin ? holds_addr(r->within, r->nwithin, family, at) : public && !own) &&
			 r->proto[proto] && has_port(r->port, r->nports, port);
	}
	return found;
}

static inline struct net_addr parse_addr(const char *s, size_t n, enum net_family *family)
{
	char text[64];
	unsigned char b[16] = { 0 };
	struct net_addr a = { 0, 0 };

	snprintf(text, sizeof text, "%.*s", (int)n, s);
	*family = strchr(text, ':') ? NET_V6 : NET_V4;
	inet_pton(*family == NET_V4 ? AF_INET : AF_INET6, text, *family == NET_V4 ? b + 12 : b);
	for (int i = 0; i < 8; i++) {
		a.hi = a.hi << 8 | b[i];
		a.lo = a.lo << 8 | b[8 + i];
	}
	return a;
}

struct side {
	struct reference ref, own;
	struct rule_list holding;
	struct port_map *open;
};

static inline void side_init(struct side *s, struct arena *a, const struct policy *p)
{
	reference_init(&s->ref, a, p);
	reference_init_own(&s->own, a, p);
	s->holding = reference_list(a, p);
	s->open = arena_alloc(a, sizeof *s->open);
}

static inline bool reaches(struct side *s, int proto, struct point at, uint16_t port)
{
	memset(s->open, 0, sizeof *s->open);
	s->holding.n = 0;
	reference_holding(&s->ref, at, &s->holding);
	reference_judge(&s->holding, s->open);
	return reference_allows(s->open, proto, port);
}

/* --- system calls -------------------------------------------------------------------------------- */

static const char *const conditions[] = {
	"",
	"(domain == 2)",
	"(domain in { 1-3, 16 })",
	"(domain < 38)",
	"(domain != 17)",
	"(type & 0xf == 1)",
	"(type & 0x800)",
	"(domain == 2 && type & 0xf in { 1, 2 })",
	"(domain == 16 && protocol == 0 || domain == 1)",
	"(!(protocol in { 0, 6 }))",
	"(domain & 0x3 == 2 && protocol > 100)",
};

static inline char *random_filter(uint64_t *seed)
{
	struct arena a = { NULL };
	static const char *const defaults[] = { "default errno EPERM", "default errno EPERM", "default kill",
						"default log" };
	char *text = arena_printf(&a, "filter f {\n%s\n", defaults[pick(seed, 4)]), *copy;
	unsigned n = pick(seed, 5);

	for (unsigned i = 0; i < n; i++) {
		const char *condition = conditions[pick(seed, sizeof conditions / sizeof *conditions)];

		switch (pick(seed, 5)) {
		case 0: text = arena_printf(&a, "%sdeny socket%s\n", text, condition); break;
		case 1: text = arena_printf(&a, "%sallow socket%s logged\n", text, condition); break;
		case 2: text = arena_printf(&a, "%sallow @time\n", text); break;
		default: text = arena_printf(&a, "%sallow socket%s\n", text, condition);
		}
	}
	copy = strdup(arena_printf(&a, "%s}\n", text));
	arena_free(&a);
	return copy;
}

static inline bool matches(const struct sys_clause *c, const struct seccomp_data *data)
{
	for (size_t i = 0; i < c->ntests; i++) {
		const struct sys_test *t = &c->test[i];
		uint64_t v = (t->width == 32 ? (uint32_t)data->args[t->arg] : data->args[t->arg]) & t->mask;
		bool in = false;

		for (size_t k = 0; k < t->nranges; k++)
			in |= t->range[k].lo <= v && v <= t->range[k].hi;
		if (!in)
			return false;
	}
	return true;
}

/* A denial beats what allows; what no clause matches has the default. */
static inline bool lets(const struct compile *c, const struct seccomp_data *data)
{
	const struct sys_rules *r = &c->rules[SYS_X86_64];
	bool allowed = false, denied = false;

	for (size_t i = 0; i < r->ncalls; i++)
		for (size_t k = 0; r->call[i].nr == (uint32_t)data->nr && k < r->call[i].nclauses; k++) {
			const struct sys_clause *clause = &r->call[i].clause[k];
			bool refuses = clause->result.action == SYS_ERRNO || clause->result.action == SYS_KILL;

			if (matches(clause, data)) {
				denied |= refuses;
				allowed |= !refuses;
			}
		}
	if (!allowed && !denied)
		return r->refused.action == SYS_ALLOW_LOGGED;
	return allowed && !denied;
}

#endif
