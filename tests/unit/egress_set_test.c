/* SPDX-License-Identifier: MIT */
/*
 * The set algebra: against a brute-force evaluation on small universes, its one form, aliases, what
 * is unbounded, and what else is refused of a finished set.
 */
#include <stdlib.h>
#include <time.h>

#include "compiler/egress_addr.h"
#include "tests/unit/egress_rules.h"
#include "tests/unit/unit.h"

/* --- one form ------------------------------------------------------------- */

static bool reaches(const struct net_set *set, int proto, enum net_family family, struct net_addr a,
		    unsigned port)
{
	const struct net_cell *c = &set->cell[proto][family];

	for (size_t i = 0; i < c->n; i++) {
		const struct net_portset *p = &set->portset[c->interval[i].ports];

		if (net_addr_cmp(a, c->interval[i].lo) < 0 ||
		    net_addr_cmp(a, c->interval[i].hi) > 0)
			continue;
		for (size_t k = 0; k < p->n; k++)
			if (p->range[k].lo <= port && port <= p->range[k].hi)
				return true;
	}
	return false;
}

static bool canonical_ports(const struct net_set *set)
{
	for (size_t i = 0; i < set->nportsets; i++) {
		const struct net_portset *p = &set->portset[i];

		if (!p->n)
			return false;
		for (size_t k = 0; k < p->n; k++)
			if (!p->range[k].lo || p->range[k].lo > p->range[k].hi ||
			    (k && p->range[k].lo <= p->range[k - 1].hi + 1))
				return false;
		for (size_t j = 0; j < i; j++)
			if (set->portset[j].n == p->n &&
			    !memcmp(set->portset[j].range, p->range, p->n * sizeof *p->range))
				return false;
	}
	return true;
}

static bool canonical(const struct net_set *set)
{
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int family = 0; family < NET_FAMILIES; family++) {
			const struct net_cell *c = &set->cell[proto][family];

			for (size_t i = 0; i < c->n; i++) {
				const struct net_interval *v = &c->interval[i];

				if (net_addr_cmp(v->lo, v->hi) > 0 || v->ports >= set->nportsets ||
				    !v->line)
					return false;
				if (i && (net_addr_cmp(v->lo, v[-1].hi) <= 0 ||
					  (v->ports == v[-1].ports &&
					   !net_addr_cmp(v->lo, addr_next(v[-1].hi)))))
					return false;
			}
		}
	return canonical_ports(set);
}

/* --- brute force ---------------------------------------------------------- */

enum { UNIVERSE = 16, PORTS = 8, FORMS = 7 };

/* Address number `i` of the universe in each of the forms that it has. */
static enum net_family form_of(int form, unsigned i, struct net_addr *out)
{
	uint64_t v4 = 0x0a000000 + i;
	const struct net_addr a[FORMS] = {
		{ 0, v4 },
		{ 0x20010db800000000, i },
		{ 0, v4 },
		{ 0x0064ff9b00000000, v4 },
		{ 0x2002000000000000 | v4 << 16, 5 },
		{ 0x2001000000000000 | v4, 0xffffffff - 0x0a0000ff },
		{ 0x200100000a0000ff, 0xffffffff - v4 },
	};

	*out = a[form];
	return form ? NET_V6 : NET_V4;
}

/* A rule of the universe, in numbers: what the text says and what brute force evaluates. */
struct small_rule {
	bool allow, proto[NET_PROTOS], except;
	int form, except_form;
	unsigned lo, hi, except_lo, except_hi, port_lo, port_hi;
};

static unsigned pick(unsigned *seed, unsigned n)
{
	return (unsigned)rand_r(seed) % n;
}

static struct small_rule random_rule(unsigned *seed)
{
	struct small_rule r = { .allow = pick(seed, 3) != 0, .except = pick(seed, 2) };
	unsigned protos = 1 + pick(seed, 3);

	r.proto[NET_TCP] = protos & 1;
	r.proto[NET_UDP] = protos & 2;
	/* Denies are of IPv4 more often than not: they concern every form. */
	r.form = r.allow || !pick(seed, 4) ? (int)pick(seed, FORMS) : 0;
	r.except_form = pick(seed, 2) ? r.form : 0;
	r.lo = pick(seed, UNIVERSE);
	r.hi = r.lo + pick(seed, UNIVERSE - r.lo);
	r.except_lo = pick(seed, UNIVERSE);
	r.except_hi = r.except_lo + pick(seed, UNIVERSE - r.except_lo);
	r.port_lo = 1 + pick(seed, PORTS);
	r.port_hi = r.port_lo + pick(seed, PORTS + 1 - r.port_lo);
	if (!r.allow)
		r.except = false;
	return r;
}

/* The range of a rule in text; the last form runs backwards, as its addresses are inverted. */
static void put_range(char *to, size_t size, int form, unsigned lo, unsigned hi)
{
	struct net_addr a, b;
	enum net_family family = form_of(form, form == 6 ? hi : lo, &a);

	form_of(form, form == 6 ? lo : hi, &b);
	if (form == 4) { /* whole /48 networks */
		a.lo = 0;
		b.hi |= 0xffff;
		b.lo = UINT64_MAX;
	}
	snprintf(to, size, "%s-%s", addr_show(family, a).s, addr_show(family, b).s);
}

static void put_rule(char *text, size_t size, const struct small_rule *r)
{
	size_t used = strlen(text);
	char to[128], except[272] = "";

	put_range(to, sizeof to, r->form, r->lo, r->hi);
	if (r->except) {
		strcpy(except, " except ");
		put_range(except + 8, sizeof except - 8, r->except_form, r->except_lo,
			  r->except_hi);
	}
	snprintf(text + used, size - used, "%s %s %s%s port %u-%u\n", r->allow ? "allow" : "deny",
		 r->proto[NET_TCP] && r->proto[NET_UDP] ? "all"
		 : r->proto[NET_TCP]			? "tcp"
							: "udp",
		 to, except, r->port_lo, r->port_hi);
}

/* What an IPv4 address covers it covers in every form but plain IPv6. */
static bool form_covers(int covering, int form)
{
	return covering == form || (covering == 0 && form != 1);
}

static bool brute(const struct small_rule *r, size_t n, int proto, int form, unsigned i,
		  unsigned port)
{
	bool allow = false;

	for (size_t k = 0; k < n; k++) {
		bool in = r[k].lo <= i && i <= r[k].hi && r[k].port_lo <= port &&
			  port <= r[k].port_hi && r[k].proto[proto];

		if (!r[k].allow && in && form_covers(r[k].form, form))
			return false;
		if (r[k].allow && in && r[k].form == form &&
		    !(r[k].except && form_covers(r[k].except_form, form) &&
		      r[k].except_lo <= i && i <= r[k].except_hi))
			allow = true;
	}
	return allow;
}

static unsigned count_differences(const struct compile *c, const struct small_rule *r, size_t n)
{
	unsigned differ = 0;

	for (int form = 0; form < FORMS; form++)
		for (unsigned i = 0; i < UNIVERSE; i++)
			for (unsigned port = 0; port <= PORTS + 1; port++)
				for (int proto = 0; proto < NET_PROTOS; proto++) {
					struct net_addr a;
					enum net_family family = form_of(form, i, &a);

					differ += reaches(&c->set, proto, family, a, port) !=
						  brute(r, n, proto, form, i, port);
				}
	return differ;
}

/*
 * The Teredo form with the client varied lies in one /96; the one with the server varied in many.
 */
static void test_brute_force(void)
{
	unsigned seed = 3, differ = 0, ugly = 0, unresolved = 0, unproved = 0;

	for (int round = 0; round < 300; round++) {
		struct small_rule rule[12];
		size_t n = 1 + pick(&seed, 12);
		char text[8192] = "";
		struct compile c;

		compile_init(&c);
		for (size_t i = 0; i < n; i++) {
			rule[i] = random_rule(&seed);
			put_rule(text, sizeof text, &rule[i]);
		}
		compile_read(&c, text);
		if (!compile_generate(&c)) {
			unresolved++;
		} else {
			differ += count_differences(&c, rule, n);
			ugly += !canonical(&c.set);
			if (!egress_prove(&c.diags, &c.policy, c.hook)) {
				unproved++;
				fprintf(stderr, "%s", text);
				diags_print(&c.diags, stderr);
			}
		}
		compile_free(&c);
	}
	check(!differ, "300 random policies: the set is what brute force finds (%u differ)",
	      differ);
	check(!ugly, "300 random policies: the set has its one form (%u have not)", ugly);
	check(!unproved, "300 random policies: the programs are proved (%u are not)", unproved);
	check(unresolved < 200, "300 random policies: most resolve (%u do not)", unresolved);
}

/* The beginning of a text, for the name of a check. */
static const char *one_line(struct compile *c, const char *text)
{
	char *s = arena_strndup(&c->arena, text, strnlen(text, 100));

	for (char *p = s; *p; p++)
		*p = *p == '\n' ? ';' : *p;
	return s;
}

/* --- excepts of what carries IPv4 ------------------------------------------ */

static size_t count_intervals(const char *text)
{
	struct compile c;
	size_t n;

	compile_init(&c);
	compile_read(&c, text);
	n = compile_generate(&c) && egress_prove(&c.diags, &c.policy, c.hook) ? c.set.cell[NET_TCP][NET_V6].n : 99;
	compile_free(&c);
	return n;
}

static void test_carried_excepts(void)
{
	static const struct {
		const char *text;
		size_t left; /* intervals of IPv6 */
	} row[] = {
		{ "allow tcp 64:ff9b::c000:209 except 192.0.2.9 port 443", 0 },
		{ "allow tcp ::c000:209 except 192.0.2.9 port 443", 0 },
		{ "allow tcp 2002:c000:209::/48 except 192.0.2.9 port 443", 0 },
		{ "allow tcp 2001:0:c000:209::1 except 192.0.2.9 port 443", 0 },
		{ "allow tcp 2001:0:a00:1::3fff:fdf6 except 192.0.2.9 port 443", 0 },
		{ "allow tcp 64:ff9b::c000:200/120 except 192.0.2.9 port 443", 2 },
		{ "allow tcp 2001:db8::c000:209 except 192.0.2.9 port 443", 1 },
		/* an except is of its own rule only */
		{ "allow tcp 10.0.0.0/8 except 10.0.0.1 port 443\nallow tcp 64:ff9b::a00:1 port 443", 1 },
		{ "allow tcp 10.0.0.0/8 except 10.0.0.1 port 443\nallow tcp 2001:0:a00:1::1 port 443", 1 },
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		size_t n = count_intervals(row[i].text);

		check(n == row[i].left, "%zu of IPv6 left (%zu): except %zu", n, row[i].left, i);
	}
}

/* --- aliases -------------------------------------------------------------- */

static bool same_programs(const struct compile *x, const struct compile *y)
{
	for (int h = 0; h < CAVE_HOOK_NAMES; h++)
		if (x->hook[h].n != y->hook[h].n || memcmp(x->hook[h].insn, y->hook[h].insn,
							   x->hook[h].n * sizeof(struct bpf_insn)))
			return false;
	return true;
}

static void test_aliases(void)
{
	static const char *const alias[][2] = {
		{ "allow tcp 10.0.0.0/24 port 443",
		  "allow tcp 10.0.0.0/25,10.0.0.128/25 port 443" },
		{ "allow tcp 10.0.0.0/24 port 443", "allow tcp 10.0.0.0-10.0.0.255 port 443" },
		{ "allow tcp 10.0.0.0/24 port 443", "allow tcp ::ffff:10.0.0.0/120 port 443" },
		{ "allow tcp 10.0.0.0/24 port 80,81,82", "allow tcp 10.0.0.0/24 port 80-82" },
		{ "allow tcp 10.0.0.0/24 except 10.0.0.9 port 80",
		  "allow tcp 10.0.0.0/24 port 80\ndeny tcp 10.0.0.9" },
		{ "allow tcp 10.0.0.1 port 80\nallow udp 10.0.0.1 port 80",
		  "allow tcp,udp 10.0.0.1 port 80" },
		{ "allow tcp 10.0.0.1 port 80\nallow tcp 10.0.0.2 port 81\ndeny tcp 10.0.0.3",
		  "deny tcp 10.0.0.3\nallow tcp 10.0.0.2 port 81\nallow tcp 10.0.0.1 port 80" },
		{ "allow tcp localhost port 80", "allow tcp 127.0.0.0/8,::1 port 80" },
		{ "allow tcp 2001:db8::/32 port 80",
		  "allow tcp 2001:db8::/33,2001:db8:8000::/33 port 80" },
		{ "allow tcp 10.0.0.1 port any", "allow tcp 10.0.0.1 port 1-65535" },
		{ "allow tcp 10.0.0.1 port 80\ndeny all 10.0.0.1", "deny all 10.0.0.1 port 80" },
	};

	for (size_t i = 0; i < sizeof alias / sizeof *alias; i++) {
		struct compile c[2];
		bool both = true;

		for (int k = 0; k < 2; k++) {
			compile_init(&c[k]);
			compile_read(&c[k], alias[i][k]);
			both = compile_generate(&c[k]) && both;
		}
		check(both && same_programs(&c[0], &c[1]), "alias %zu: %s", i,
		      one_line(&c[0], alias[i][1]));
		compile_free(&c[0]);
		compile_free(&c[1]);
	}
}

/* --- what is refused of a finished set ------------------------------------ */

static void refuse(const char *text, enum cave_code code)
{
	struct compile c;

	compile_init(&c);
	compile_read(&c, text);
	compile_resolve(&c);
	check(code ? has_code(&c, code) : !c.diags.errors, "%s: %s", one_line(&c, text),
	      c.diags.errors ? cave_code_name(first_code(&c)) : "accepted");
	compile_free(&c);
}

static void test_unbounded(void)
{
	char parts[8192] = "";

	refuse("allow tcp any port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 0.0.0.0/0 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp ::/0 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow udp 0.0.0.0/1,128.0.0.0/1 port 53", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 0.0.0.0/2 port 1\nallow tcp 64.0.0.0/2 port 2\nallow udp 128.0.0.0/2 "
	       "port 3\n"
	       "allow tcp 192.0.0.0/2 port 4",
	       CAVE_EGRESS_UNBOUNDED);
	for (int i = 0; i < 256; i++)
		sprintf(parts + strlen(parts), "allow tcp %d.0.0.0/8 port 443\n", i);
	refuse(parts, CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 0.0.0.0/0 except 192.0.2.0/24 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp any port 443\ndeny all 192.0.2.0/24", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp ::/1,8000::/1 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 2000::/3 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp ::ffff:0:0/96 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 64:ff9b::/96 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 2002::/16 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 2001::/32 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp ::/96 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 2001::/64 port 443", CAVE_EGRESS_UNBOUNDED);
}

static void test_bounds(void)
{
	refuse("allow tcp 8.0.0.0/12 port 443", CAVE_OK); /* exactly 2^20 */
	refuse("allow tcp 8.0.0.0/12,9.9.9.9 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 8.0.0.0/13 port 443\nallow udp 8.8.0.0/13 port 53", CAVE_OK);
	refuse("allow tcp 8.0.0.0/13 port 443\nallow udp 8.8.0.0/13 port 53\nallow udp 1.1.1.1 "
	       "port 53",
	       CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 8.0.0.0/13,64:ff9b::908:0/109 port 443",
	       CAVE_OK); /* carried: 9.8.0.0/13 */
	refuse("allow tcp 8.0.0.0/12,64:ff9b::800:0/108 port 443",
	       CAVE_OK); /* carried: the same again */
	refuse("allow tcp 8.0.0.0/12,64:ff9b::901:101 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 2a00::/30 port 443", CAVE_OK); /* exactly 2^18 /48s */
	refuse("allow tcp 2a00::/30,2a01::1 port 443", CAVE_EGRESS_UNBOUNDED);
	refuse("allow tcp 10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,127.0.0.0/8 port any", CAVE_OK);
	refuse("allow tcp fc00::/7 except fd00:ec2::254,fd00:ec2::23,fd20:ce::254,fd00:42::42 port "
	       "any",
	       CAVE_OK);
	refuse("allow tcp 0.0.0.0/0 port 443\ndeny all 0.0.0.0/0", CAVE_OK); /* nothing is left */
}

static void test_refusals(void)
{
	refuse("allow tcp 169.254.0.0/16 port 80", CAVE_METADATA_ADDRESS);
	refuse("allow tcp 169.254.0.0/16 port 80", CAVE_VALUE);
	refuse("allow tcp 169.254.169.254 port 80", CAVE_OK);
	refuse("allow udp 100.64.0.0/10 port 53", CAVE_METADATA_ADDRESS);
	refuse("allow udp 100.64.0.0/10 except 100.100.100.200 port 53", CAVE_OK);
	refuse("allow udp 100.64.0.0/10 port 53\ndeny all 100.100.100.200", CAVE_OK);
	refuse("allow tcp 100.64.0.0/10,100.100.100.200 port 80", CAVE_OK);
	refuse("allow tcp 100.64.0.0/10 port 80\nallow tcp 100.100.100.200 port 81",
	       CAVE_METADATA_ADDRESS);
	refuse("allow tcp 100.64.0.0/10 port 80\nallow udp 100.100.100.200 port 80",
	       CAVE_METADATA_ADDRESS);
	/* An address that its own except takes away is not named; nor are others of a range that carries it. */
	refuse("allow tcp 100.64.0.0/10 port 80\nallow tcp 100.100.100.200 except 100.100.100.200 port 80",
	       CAVE_METADATA_ADDRESS);
	refuse("allow tcp 100.64.0.0/10,100.100.100.200 except 100.100.100.200 port 80\n"
	       "allow tcp 100.96.0.0/11 port 80",
	       CAVE_METADATA_ADDRESS);
	refuse("allow tcp 64:ff9b::6464:6400/120 port 80\n"
	       "allow tcp 64:ff9b::6464:64c8 except 100.100.100.200 port 80",
	       CAVE_METADATA_ADDRESS);
	refuse("allow tcp 2002:a9fe:a9fe::/47 port 80\nallow tcp 2002:a9fe:a9fe::1 port 80",
	       CAVE_METADATA_ADDRESS);
	refuse("allow tcp 2002:a9fe:a9fe::/47 port 80\nallow tcp 2002:a9fe:a9fe::/48 port 80", CAVE_OK);
	refuse("allow tcp 100.64.0.0/10 port 80-90\nallow tcp 100.100.100.200 port 80-84,86-90",
	       CAVE_METADATA_ADDRESS);
	refuse("allow tcp 100.64.0.0/10 port 80-90\nallow tcp 100.100.100.200 port 80-84,86-90\n"
	       "allow tcp 100.100.100.200 port 82-85",
	       CAVE_OK);
	refuse("allow tcp fd00:ec2::/64 port 80", CAVE_METADATA_ADDRESS);
	refuse("allow tcp 64:ff9b::a9fe:0/112 port 80", CAVE_METADATA_ADDRESS);
	refuse("allow tcp 64:ff9b::a9fe:a9fe port 80", CAVE_OK);
	refuse("allow tcp 64:ff9b::a9fe:a9fe port 80\ndeny all 169.254.169.254", CAVE_OK);
	refuse("allow tcp 64:ff9b:1::/48 port 80", CAVE_VALUE);
	refuse("allow tcp 64:ff9b:1::5 port 80", CAVE_VALUE);
	refuse("allow tcp 64:ff9b:1::5 port 80\ndeny all 64:ff9b:1::/48", CAVE_OK);
	refuse("allow udp 224.0.0.0/24 port 5353", CAVE_VALUE);
	refuse("allow udp 224.0.0.251 port 5353", CAVE_OK);
	refuse("allow udp ff02::/16 port 5353", CAVE_VALUE);
	refuse("allow udp ff02::fb port 5353", CAVE_OK);
	refuse("allow tcp fe80::/64 port 80", CAVE_VALUE);
	refuse("allow tcp fe80::1 port 80", CAVE_OK);
	refuse("allow udp 255.255.255.254/31 port 80", CAVE_VALUE);
	refuse("allow tcp 10.0.0.1 port 80\ndeny all 169.254.0.0/16\ndeny all 224.0.0.0/4",
	       CAVE_OK);
	refuse("allow tcp 10.0.0.1 port 80\ndeny all ::/0", CAVE_OK);
	refuse("allow tcp 10.0.0.1 port 80\ndeny all ::/1", CAVE_VALUE);
	refuse("allow tcp 10.0.0.0/8 except ::/64 port 80", CAVE_VALUE);
	refuse("allow tcp 10.0.0.0/8 except ::/0 port 80", CAVE_OK);
	refuse("allow tcp ::ff00:0:0/88 port 80", CAVE_OK);
	refuse("allow tcp 2001::/32 port 80\ndeny all 10.0.0.0/8", CAVE_CONTRADICTION);
	refuse("allow tcp 2001:0:a00:1::f5ff:fff0 port 80\ndeny all 10.0.0.1", CAVE_OK);
	refuse("allow tcp 2001::/32 except 10.0.0.0/8 port 80", CAVE_CONTRADICTION);
	refuse("allow tcp 64:ff9b::a9fe:0/112 except 169.254.169.254,169.254.170.2,169.254.170.23,"
	       "169.254.0.23,169.254.42.42 port 80",
	       CAVE_OK);
	refuse("allow tcp 2001:0:a00:1::5601:5600/120 except 169.254.169.254 port 80", CAVE_OK);
	refuse("allow tcp 2001:0:a00:1::5601:5600/120 except 169.254.169.253 port 80",
	       CAVE_METADATA_ADDRESS);
}

/* The error stands at the largest line, and every line that adds to it is named. */
static void test_contributors(void)
{
	struct compile c;
	unsigned lines = 0;

	compile_init(&c);
	compile_read(&c, "allow tcp 8.0.0.0/13 port 443\nallow tcp 9.0.0.0/12 port 443\nallow tcp "
			 "1.1.1.1 port 443\n"
			 "allow tcp 10.0.0.0/8 port 443\nallow tcp 2a00::1 port 443\n");
	compile_resolve(&c);
	if (check(c.diags.errors == 1 && first_code(&c) == CAVE_EGRESS_UNBOUNDED,
		  "one error of reach")) {
		check(c.diags.first->at.begin == 30, "it stands at the largest line");
		check(strstr(c.diags.first->text, "1,572,865 public IPv4") != NULL, "it counts: %s",
		      c.diags.first->text);
		for (const struct diag_note *n = c.diags.first->notes; n; n = n->next)
			lines += n->at.file != 0;
		check(lines == 3, "it names all three lines (%u)", lines);
	}
	compile_free(&c);
}

static void test_many(void)
{
	enum { N = 100000 };
	struct net_operand *to;
	struct net_ports port = { 443, 443 };
	struct net_rule rule = {
		.allow = true, .proto = { true, false }, .port = &port, .nports = 1, .line = 1
	};
	struct compile c;

	compile_init(&c);
	to = ARENA_ARRAY(&c.arena, N, struct net_operand);
	for (uint32_t i = 0; i < N; i++) {
		to[i].family = NET_V4;
		to[i].lo.lo = to[i].hi.lo = 0x0a000000 + (i * 7919 % N) * 2;
	}
	rule.to = to;
	rule.nto = N;
	c.policy.net_rule = &rule;
	c.policy.nnet_rules = 1;
	check(compile_resolve(&c) && c.set.cell[NET_TCP][NET_V4].n == N,
	      "100,000 prefixes resolve");
	compile_free(&c);
}

/* --- many rules ----------------------------------------------------------- */

/* Lines of one address and one port each: 7919 is a prime, so addresses and ports are spread. */
static char *many_lines(struct compile *c, unsigned n, bool one_address)
{
	char *text = arena_alloc(&c->arena, n * 48 + 1), *p = text;

	for (unsigned i = 0; i < n; i++) {
		unsigned at = one_address ? 0 : i * 7919 % 1000003;

		p += sprintf(p, "allow tcp 10.%u.%u.%u port %u\n", at >> 16, at >> 8 & 255, at & 255,
			     1 + i * 7919 % 65521);
	}
	return text;
}

/* Processor time to read, resolve, generate and prove; -1 if that fails. */
static double seconds_of(unsigned n, bool one_address)
{
	struct compile c;
	clock_t begin;
	bool good;

	compile_init(&c);
	begin = clock();
	compile_read(&c, many_lines(&c, n, one_address));
	good = compile_generate(&c) && egress_prove(&c.diags, &c.policy, c.hook);
	compile_free(&c);
	return good ? (double)(clock() - begin) / CLOCKS_PER_SEC : -1;
}

/* Eight times the rules take eight times as long and a little, not sixty-four times. */
static void test_scaling(void)
{
	for (int one = 0; one < 2; one++) {
		double few = seconds_of(1000, one), many = seconds_of(8000, one);

		check(few > 0 && many > 0 && many < 24 * few, "8,000 rules of %s: %.3f s, 1,000: %.3f s",
		      one ? "one address" : "as many addresses", many, few);
	}
}

/* What is too large for the kernel is refused. */
static void test_too_long(void)
{
	struct gen_error error = { 0 };
	struct compile c;
	bool refused;

	compile_init(&c);
	compile_read(&c, many_lines(&c, 300000, false));
	refused = compile_resolve(&c) && !egress_generate(&c.arena, &c.set, c.hook, &error);
	check(refused && error.limit == 4 << 20 && error.needed > 8 * 600000 && error.unit,
	      "300,000 addresses with their ports: %zu %s", error.needed, error.unit);
	compile_free(&c);
}

int main(void)
{
	test_brute_force();
	test_carried_excepts();
	test_aliases();
	test_unbounded();
	test_bounds();
	test_refusals();
	test_contributors();
	test_many();
	test_scaling();
	test_too_long();
	return unit_done();
}
