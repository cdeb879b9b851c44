/* SPDX-License-Identifier: MIT */
/*
 * Policies for the egress tests, from lines of words:
 *
 *     resolver
 *     listen tcp ADDRESS,… port PORT,…
 *     allow|deny tcp|udp|tcp,udp|all ADDRESS,… [except ADDRESS,…] [port PORT,…]
 */
#ifndef CAVE_TESTS_EGRESS_RULES_H
#define CAVE_TESTS_EGRESS_RULES_H

#include <string.h>

#include "bpf/operator.h"
#include "compiler/egress.h"

struct compile {
	struct arena arena;
	struct sources sources;
	struct diags diags;
	struct policy policy;
	struct net_set set;
	struct hook_program hook[CAVE_HOOK_COUNT];
};

static inline void compile_init(struct compile *c)
{
	memset(c, 0, sizeof *c);
	sources_init(&c->sources, &c->arena);
	diags_init(&c->diags, &c->sources);
	c->policy.name = "test";
}

static inline size_t read_addresses(struct compile *c, char *list, struct span at, bool local,
				    struct net_operand **out)
{
	size_t n = 0, cap = 0;
	char *rest;

	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		struct net_operand o[2];
		const char *text = arena_strdup(&c->arena, word);
		size_t got = local ? egress_parse_local(&c->diags, text, at, o)
				   : egress_parse_address(&c->diags, text, at, o);

		for (size_t i = 0; i < got; i++)
			*ARENA_PUSH(&c->arena, *out, n, cap) = o[i];
	}
	return n;
}

static inline size_t read_ports(struct compile *c, char *list, struct span at,
				struct net_ports **out)
{
	size_t n = 0, cap = 0;
	char *rest;

	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		struct net_ports p;

		if (egress_parse_port(&c->diags, arena_strdup(&c->arena, word), at, &p))
			*ARENA_PUSH(&c->arena, *out, n, cap) = p;
	}
	return n;
}

static inline struct net_rule read_rule(struct compile *c, char *line, struct span at, bool local)
{
	struct net_rule r = { .at = at, .line = sources_line(&c->sources, at) };
	struct net_operand *to = NULL, *except = NULL;
	struct net_ports *port = NULL;
	char *rest, *word = strtok_r(line, " ", &rest);

	r.allow = strcmp(word, "deny") != 0;
	word = strtok_r(NULL, " ", &rest);
	r.proto[NET_TCP] = !strcmp(word, "all") || strstr(word, "tcp");
	r.proto[NET_UDP] = !strcmp(word, "all") || strstr(word, "udp");
	r.nto = read_addresses(c, strtok_r(NULL, " ", &rest), at, local, &to);
	while ((word = strtok_r(NULL, " ", &rest))) {
		if (!strcmp(word, "except"))
			r.nexcept = read_addresses(c, strtok_r(NULL, " ", &rest), at, false, &except);
		else
			r.nports = read_ports(c, strtok_r(NULL, " ", &rest), at, &port);
	}
	r.to = to;
	r.except = except;
	r.port = port;
	return r;
}

/* Reads the lines of `text` into c->policy. */
static inline void compile_read(struct compile *c, const char *text)
{
	uint32_t file = sources_add(&c->sources, "test.cave", arena_strdup(&c->arena, text),
				    strlen(text), (struct span){ 0 }, false);
	struct net_rule *rule = NULL, *listen = NULL;
	size_t n = 0, cap = 0, listens = 0, listen_cap = 0;

	for (const char *p = text; *p;) {
		size_t length = strcspn(p, "\n");
		struct span at = { file, (uint32_t)(p - text), (uint32_t)(p - text + length) };

		if (length && !strncmp(p, "resolver", 8))
			c->policy.resolver = true;
		else if (length && !strncmp(p, "listen", 6))
			*ARENA_PUSH(&c->arena, listen, listens, listen_cap) =
				read_rule(c, arena_strndup(&c->arena, p, length), at, true);
		else if (length)
			*ARENA_PUSH(&c->arena, rule, n,
				    cap) = read_rule(c, arena_strndup(&c->arena, p, length), at, false);
		p += length + (p[length] == '\n');
	}
	c->policy.net_rule = rule;
	c->policy.nnet_rules = n;
	c->policy.listen = listen;
	c->policy.nlistens = listens;
}

static inline bool compile_resolve(struct compile *c)
{
	c->policy.bound = (struct net_reach){ OPERATOR_REACH_IPV4, OPERATOR_REACH_IPV6 };
	return !c->diags.errors && egress_resolve(&c->diags, &c->arena, &c->policy, &c->set);
}

static inline bool compile_generate(struct compile *c)
{
	struct gen_error error;

	return compile_resolve(c) && egress_generate(&c->arena, &c->set, c->hook, &error);
}

static inline void compile_free(struct compile *c)
{
	arena_free(&c->arena);
}

/* The first error recorded; CAVE_OK if there is none. */
static inline enum cave_code first_code(const struct compile *c)
{
	for (const struct diag *d = c->diags.first; d; d = d->next)
		if (d->code)
			return d->code;
	return CAVE_OK;
}

static inline bool has_code(const struct compile *c, enum cave_code code)
{
	for (const struct diag *d = c->diags.first; d; d = d->next)
		if (d->code == code)
			return true;
	return false;
}

#endif
