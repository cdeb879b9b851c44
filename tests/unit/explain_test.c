/* SPDX-License-Identifier: MIT */
/*
 * Differential test of explain: random policies are compiled, and what is said of destinations and calls is compared
 * with the rules, read one by one; the line that is named must be one that says so.
 */
#include "compiler/egress_addr.h"
#include "compiler/explain.h"
#include "tests/unit/review_policies.h"
#include "tests/unit/unit.h"

enum { NETWORKS = 300, NAMES = 1000, FILTERS = 300 };

static struct explanation begin(struct compile *c)
{
	return (struct explanation){ .arena = &c->arena, .compile = c };
}

/* The allow rules on a line have one that holds the address. */
static bool line_allows(const struct compile *c, struct span at, struct point p, int proto, uint16_t port)
{
	const struct policy *policy = &c->policy;

	for (size_t i = 0; i < policy->nnet_rules; i++) {
		const struct net_rule *r = &policy->net_rule[i];
		bool by_port = false, by_address = false;

		if (r->at.begin != at.begin || !r->allow || !r->proto[proto])
			continue;
		for (size_t k = 0; k < r->nports; k++)
			by_port |= r->port[k].lo <= port && port <= r->port[k].hi;
		for (size_t k = 0; k < r->nto; k++)
			by_address |= r->to[k].family == p.family && net_addr_cmp(r->to[k].lo, p.addr) <= 0 &&
				      net_addr_cmp(p.addr, r->to[k].hi) <= 0;
		if (by_port && by_address)
			return true;
	}
	return false;
}

static bool right_about(struct compile *c, struct side *s, struct point p, int proto, uint16_t port)
{
	struct explanation x = begin(c);
	char *address = arena_strdup(&c->arena, addr_show(p.family, p.addr).s), number[8];
	char *word[4] = { proto == NET_TCP ? "tcp" : "udp", address, "port", number };
	bool allowed = reaches(s, proto, p, port);
	enum verdict expected = allowed ? VERDICT_ALLOWED : VERDICT_REFUSED;

	x.last = &x.first;
	snprintf(number, sizeof number, "%u", port);
	if (!explain_connect(&x, 4, word) || x.first->next || x.first->verdict != expected)
		return false;
	return !allowed || line_allows(c, x.first->at, p, proto, port);
}

static bool right_about_network(uint64_t *seed)
{
	static const char *const at[] = {
		"9.255.255.255", "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.4", "10.0.0.8", "10.0.0.20", "10.0.0.21",
		"10.0.0.255", "10.0.1.0", "10.0.2.0", "192.0.2.7", "192.0.2.8", "8.8.8.8", "fd00::", "fd00::1",
		"fd00::2", "fd00::10", "2001:db8::", "127.0.0.1",
	};
	static const uint16_t port[] = { 1, 78, 79, 80, 81, 90, 100, 101, 443, 8000, 8011, 65535 };
	char *text = random_network(seed);
	struct compile *c = resolve(text);
	struct arena scratch = { NULL };
	bool right = c && compile_generate(c);
	struct side s;

	if (right)
		side_init(&s, &scratch, &c->policy);
	for (size_t i = 0; right && i < sizeof at / sizeof *at; i++)
		for (unsigned k = 0; right && k < 3; k++) {
			struct point p = { 0 };

			p.addr = parse_addr(at[i], strlen(at[i]), &p.family);
			right = right_about(c, &s, p, (int)pick(seed, 2), port[pick(seed, sizeof port / sizeof *port)]);
		}
	if (!right)
		fprintf(stderr, "%s", text);
	arena_free(&scratch);
	compile_end(c);
	free(text);
	return right;
}

/* --- names: without the proof of each, which has a test of its own -------------------------------- */

static enum verdict asked(struct compile *c, bool connect, const char *name, int proto, unsigned port)
{
	struct explanation x = begin(c);
	char number[8], *lookup[] = { (char *)name };
	char *word[] = { proto == NET_TCP ? "tcp" : "udp", (char *)name, "port", number };
	bool good;

	x.last = &x.first;
	snprintf(number, sizeof number, "%u", port);
	good = connect ? explain_connect(&x, 4, word) : explain_lookup(&x, 1, lookup);
	return good && !x.first->next ? x.first->verdict : VERDICT_DEPENDS;
}

/* Some address of any place that a rule may name, and of the world. */
static bool may_connect(const struct policy *p, const char *name, int proto, uint16_t port)
{
	static const struct {
		const char *text;
		bool public;
	} at[] = { { "9.9.9.9", true },	 { "10.1.2.3", false }, { "10.2.0.0", false }, { "fd01::1", false },
		   { "8.8.9.9", true }, { "198.51.0.0", true } };

	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		enum net_family family;
		struct net_addr addr = parse_addr(at[i].text, strlen(at[i].text), &family);

		if (name_reaches(p, name, family, addr, at[i].public, false, proto, port))
			return true;
	}
	return false;
}

/* What a rule grants, it grants at its first port too. */
static bool may_look_up(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		for (size_t k = 0; p->host_rule[i].allow && k < p->host_rule[i].nports; k++)
			for (int proto = 0; proto < NET_PROTOS; proto++)
				if (may_connect(p, name, proto, p->host_rule[i].port[k].lo))
					return true;
	return false;
}

static bool right_about_name(struct compile *c, const char *name, uint64_t *seed)
{
	static const uint16_t port[] = { 1, 2, 79, 80, 81, 90, 91, 100, 101, 443, 8000, 8011, 65535 };

	if ((asked(c, false, name, 0, 0) == VERDICT_ALLOWED) != may_look_up(&c->policy, name))
		return false;
	for (unsigned k = 0; k < 4; k++) {
		int proto = (int)pick(seed, 2);
		uint16_t n = port[pick(seed, sizeof port / sizeof *port)];
		enum verdict expected = may_connect(&c->policy, name, proto, n) ? VERDICT_ALLOWED : VERDICT_REFUSED;

		if (asked(c, true, name, proto, n) != expected)
			return false;
	}
	return true;
}

static bool right_about_names(uint64_t *seed)
{
	static const char *const names[] = {
		"a.example.com", "b.example.com", "example.com", "z.example.com", "x.a.example.com", "z.a.example.com",
		"y.x.a.example.com", "aa.example.com", "c.example.net", "example.net", "z.c.example.net", "d.example.org",
		"z.d.example.org", "xexample.com",
	};
	char *text = random_names(seed);
	struct compile *c = resolve(text);
	struct gen_error error = { 0 };
	bool right = c && (net_set_empty(&c->set) || egress_generate(&c->arena, &c->set, c->hook, &error));

	if (right && c->set.hosts)
		c->has_hooks = true;
	for (size_t i = 0; right && c->set.hosts && i < sizeof names / sizeof *names; i++)
		if (!right_about_name(c, names[i], seed)) {
			fprintf(stderr, "wrong about %s\n", names[i]);
			right = false;
		}
	if (!right)
		fprintf(stderr, "%s", text);
	compile_end(c);
	free(text);
	return right;
}

static bool right_about_call(struct compile *c, uint64_t domain, uint64_t type, uint64_t protocol)
{
	struct explanation x = begin(c);
	struct seccomp_data data = { .nr = 41, .args = { domain, type, protocol } };
	char value[3][24], *word[4] = { "socket", value[0], value[1], value[2] };

	x.last = &x.first;
	snprintf(value[0], sizeof value[0], "%llu", (unsigned long long)domain);
	snprintf(value[1], sizeof value[1], "%llu", (unsigned long long)type);
	snprintf(value[2], sizeof value[2], "%llu", (unsigned long long)protocol);
	return explain_syscall(&x, 4, word) && !x.first->next &&
	       x.first->verdict == (lets(c, &data) ? VERDICT_ALLOWED : VERDICT_REFUSED);
}

static bool right_about_filter(uint64_t *seed)
{
	static const uint64_t domain[] = { 0, 1, 2, 3, 4, 15, 16, 17, 18, 37, 38, 39 };
	static const uint64_t type[] = { 0, 1, 2, 3, 0x800, 0x801, 0xf, 0x11 }, protocol[] = { 0, 1, 5, 6, 7, 100, 101 };
	char *text = random_filter(seed);
	struct compile *c = resolve(text);
	bool right = c && compile_generate(c);

	for (size_t i = 0; right && i < sizeof domain / sizeof *domain; i++)
		for (unsigned k = 0; right && k < 6; k++)
			right = right_about_call(c, domain[i], type[pick(seed, 8)], protocol[pick(seed, 7)]);
	if (!right)
		fprintf(stderr, "%s", text);
	compile_end(c);
	free(text);
	return right;
}

static void test(const char *what, unsigned n, bool (*one)(uint64_t *seed))
{
	uint64_t seed = 5;
	unsigned agreed = 0;

	while (agreed < n && one(&seed))
		agreed++;
	check(agreed == n, "%s: %u are explained as the rules have it", what, n);
}

int main(void)
{
	test("networks", NETWORKS, right_about_network);
	test("names", NAMES, right_about_names);
	test("filters", FILTERS, right_about_filter);
	return unit_done();
}
