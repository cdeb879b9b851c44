/* SPDX-License-Identifier: MIT */
/* Host names of a profile: spelling, wildcards, one form, and the record that the resolver reads. */
#include <string.h>

#include "bpf/hosts.h"
#include "compiler/compile.h"
#include "compiler/hosts.h"
#include "compiler/resolve.h"
#include "tests/unit/unit.h"

struct context {
	struct arena arena;
	struct sources sources;
	struct diags diags;
};

static void begin(struct context *c)
{
	memset(c, 0, sizeof *c);
	sources_init(&c->sources, &c->arena);
	diags_init(&c->diags, &c->sources);
}

static bool says(const struct context *c, const char *part)
{
	for (const struct diag *d = c->diags.first; d; d = d->next) {
		if (strstr(d->text, part))
			return true;
		for (const struct diag_note *n = d->notes; n; n = n->next)
			if (strstr(n->text, part))
				return true;
	}
	return false;
}

static void test_spelling(void)
{
	static const struct {
		const char *text, *name; /* NULL: refused, with `says` */
		bool below;
		const char *says;
	} row[] = {
		{ "example.com", "example.com", false, NULL },
		{ "EXAMPLE.com.", "example.com", false, NULL },
		{ "db", "db", false, NULL },
		{ "my_bucket.example.com", "my_bucket.example.com", false, NULL },
		{ "*.Example.com", "example.com", true, NULL },
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--bcher-kva.example", false, NULL },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example", false, NULL },
		{ "a..b", NULL, false, "label is empty" },
		{ ".a", NULL, false, "label is empty" },
		{ "a..", NULL, false, "label is empty" },
		{ "-a.example", NULL, false, "dash" },
		{ "a-.example", NULL, false, "dash" },
		{ "a!.example", NULL, false, "letters, digits" },
		{ "xn--a.example", NULL, false, "not a host name" },
		{ "a.*.example", NULL, false, "at the beginning" },
		{ "*a.example", NULL, false, "at the beginning" },
		{ "**.example.com", NULL, false, "write: *.example.com" },
		{ "*.*.example", NULL, false, "at the beginning" },
		{ "*.", NULL, false, "at the beginning" },
		{ "a.example.1", NULL, false, "label is a number" },
		{ "*.0x1", NULL, false, "label is a number" },
		{ "tcp", NULL, false, "a word of the language" },
		{ "Resolver.", NULL, false, "deny resolver" },
		{ "*.tcp", "tcp", true, NULL },
	};
	char label[80], name[300];

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct host_pattern p = { 0 };
		struct context c;
		bool got;

		begin(&c);
		got = host_parse(&c.diags, &c.arena, row[i].text, (struct span){ 0 }, &p);
		check(row[i].name ? got && !strcmp(p.name, row[i].name) && p.below == row[i].below && !c.diags.errors
				  : !got && c.diags.errors && says(&c, row[i].says),
		      "host name %s", row[i].text);
		arena_free(&c.arena);
	}
	for (size_t n = 63; n <= 64; n++) {
		struct host_pattern p;
		struct context c;

		begin(&c);
		snprintf(label, sizeof label, "%0*d.example", (int)n, 1);
		check(host_parse(&c.diags, &c.arena, label, (struct span){ 0 }, &p) == (n == 63),
		      "a label of %zu octets", n);
		arena_free(&c.arena);
	}
	for (size_t n = 253; n <= 255; n++) {
		struct host_pattern p;
		struct context c;

		begin(&c);
		for (size_t k = 0; k < n; k++)
			name[k] = k % 50 == 49 && k < n - 1 ? '.' : 'a';
		name[n] = '\0';
		check(host_parse(&c.diags, &c.arena, name, (struct span){ 0 }, &p) == (n == 253),
		      "a name of %zu octets", n);
		arena_free(&c.arena);
	}
}

static void test_is_name(void)
{
	static const char *const names[] = { "example.com", "*.com", "db",   "a-b",    "1a.example",
					     "*",	    "x_y",   "**.a", "1.2.3.4" };
	static const char *const others[] = {
		"10.0.0.1",	"10.0.0.0/8", "2130706433",	   "0x7f.1",  "127.1", "8/8",
		"::1",		"[::1]",      "localhost",	   "any",     "a:443", "https://a/",
		"fe80::1%eth0", "",	      "10.0.0.1-10.0.0.9", "1.2.3.4."
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check(host_is_name(names[i]) == (strcmp(names[i], "*") && strcmp(names[i], "1.2.3.4")),
		      "%s is %sa name", names[i], host_is_name(names[i]) ? "" : "not ");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		check(!host_is_name(others[i]), "`%s` is not a name", others[i]);
}

static void test_bounds(void)
{
	static const struct {
		const char *text;
		bool bounded;
	} row[] = {
		{ "*.com", false },
		{ "*.co.uk", false },
		{ "*.github.io", false },
		{ "*.amazonaws.com", false },
		{ "*.googleapis.com", false },
		{ "*.cloudfront.net", false },
		{ "*.githubusercontent.com", false },
		{ "*.nip.io", false },
		{ "*.10.0.0.1.nip.io", false },
		{ "*.sslip.io", false },
		{ "*.in-addr.arpa", false },
		{ "*.ck", false },
		{ "*.foo.ck", false },
		{ "*.www.ck", true },
		{ "*.nosuchtop", false },
		{ "*.example.com", true },
		{ "*.blob.example.net", true },
		{ "*.my.github.io", true },
		{ "github.io", true },
		{ "foo.nip.io", true },
		{ "*.kobe.jp", false },
		{ "*.xn--55qx5d.cn", false },
		{ "*.microsoft.com", true },
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct host_pattern p;
		struct context c;

		begin(&c);
		check(host_parse(&c.diags, &c.arena, row[i].text, (struct span){ 0 }, &p) &&
			      host_bounded(&c.diags, &p, row[i].text) == row[i].bounded &&
			      c.diags.errors == !row[i].bounded &&
			      (row[i].bounded || c.diags.first->code == CAVE_EGRESS_UNBOUNDED),
		      "%s is %s", row[i].text, row[i].bounded ? "bounded" : "unbounded");
		arena_free(&c.arena);
	}
}

static void test_matching(void)
{
	static const struct host_pattern exact = { .name = "example.com" },
					 below = { .name = "example.com", .below = true };
	static const struct {
		const char *name;
		bool exact, below;
	} row[] = {
		{ "example.com", true, false },
		{ "a.example.com", false, true },
		{ "a.b.example.com", false, true },
		{ "evilexample.com", false, false },
		{ ".example.com", false, false },
		{ "example.com.evil.test", false, false },
		{ "com", false, false },
		{ "", false, false },
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		check(host_matches(&exact, row[i].name) == row[i].exact &&
			      host_matches(&below, row[i].name) == row[i].below,
		      "example.com and *.example.com against `%s`", row[i].name);
}

/* --- from text to the record ---------------------------------------------------------------------- */

/* Rules of a network block, as the set that they resolve to; false after an error. */
static bool resolve_rules(struct context *c, struct host_rule *rule, size_t n, struct host_set *out)
{
	struct policy p = { .host_rule = rule, .nhost_rules = n };

	begin(c);
	return hosts_resolve(&c->diags, &c->arena, &p, out);
}

static const struct net_ports https[] = { { 443, 443 } }, web[] = { { 80, 80 }, { 443, 443 } };
static const struct net_operand private[] = { { NET_V4, { 0, 0x0a000000 }, { 0, 0x0affffff }, { 0 } } };
static const struct host_pattern api[] = { { .name = "api.example.com" } },
				 cdn[] = { { .name = "example.net", .below = true } },
				 one[] = { { .name = "a.example.net" } }, bad[] = { { .name = "bad.example.net" } };

static bool record(struct context *c, const struct host_set *set, struct hosts *out)
{
	struct buffer b = { .arena = &c->arena };

	hosts_record(set, &b);
	return hosts_open(b.data, b.n, out);
}

static bool granted(const struct hosts *h, const char *name, struct host_match *m)
{
	size_t at = 0;

	return !hosts_denied(h, name) && hosts_match(h, name, &at, m);
}

static void test_record(void)
{
	struct host_rule rule[] = {
		{ .allow = true, .proto = { true }, .to = api, .nto = 1, .port = https, .nports = 1 },
		{ .allow = true,
		  .proto = { true },
		  .to = cdn,
		  .nto = 1,
		  .port = web,
		  .nports = 2,
		  .except = bad,
		  .nexcept = 1 },
		{ .allow = true,
		  .proto = { true },
		  .to = one,
		  .nto = 1,
		  .port = https,
		  .nports = 1,
		  .within = private,
		  .nwithin = 1 },
		{ .to = bad, .nto = 1 },
	};
	struct host_address inside = { .word = { 0, 0, 0, 0x0a000001 } },
			    outside = { .word = { 0, 0, 0, 0x08080808 } },
			    loopback = { .word = { 0, 0, 0, 0x7f000001 } },
			    metadata = { .word = { 0, 0, 0, 0xa9fea9fe } },
			    doc6 = { .six = true, .word = { 0x20010db8, 0, 0, 1 } },
			    real6 = { .six = true, .word = { 0x26000000, 0, 0, 1 } },
			    nat64 = { .six = true, .word = { 0x0064ff9b, 0, 0, 0x08080808 } };
	struct host_match m;
	struct context c;
	struct host_set set;
	struct hosts h;
	bool global;
	size_t at = 0, n = 0;

	if (!check(resolve_rules(&c, rule, 4, &set) && record(&c, &set, &h), "rules become a record that is read"))
		return;
	check(granted(&h, "api.example.com", &m), "a granted name");
	check(hosts_in_place(&h, m.place, &outside, &global) && global &&
		      !hosts_in_place(&h, m.place, &inside, &global) &&
		      !hosts_in_place(&h, m.place, &loopback, &global) &&
		      !hosts_in_place(&h, m.place, &metadata, &global) &&
		      !hosts_in_place(&h, m.place, &doc6, &global) && !hosts_in_place(&h, m.place, &nat64, &global) &&
		      hosts_in_place(&h, m.place, &real6, &global),
	      "without 'within' an address is a public one");
	check(!granted(&h, "xapi.example.com", &m) && !granted(&h, "example.net", &m) &&
		      !granted(&h, "bad.example.net", &m) && !granted(&h, "", &m),
	      "other names, a denied and an excepted one");
	for (; hosts_match(&h, "a.example.net", &at, &m); n++)
		;
	check(n == 2, "two grants speak of one name");
	at = 0;
	while (hosts_match(&h, "a.example.net", &at, &m) && hosts_in_place(&h, m.place, &outside, &global))
		;
	check(hosts_in_place(&h, m.place, &inside, &global) && !global &&
		      !hosts_in_place(&h, m.place, &outside, &global),
	      "'within' is where, and nowhere else");
	arena_free(&c.arena);
}

static void test_damage(void)
{
	struct host_rule rule[] = {
		{ .allow = true,
		  .proto = { true, true },
		  .to = cdn,
		  .nto = 1,
		  .port = web,
		  .nports = 2,
		  .except = bad,
		  .nexcept = 1 },
		{ .to = bad, .nto = 1 },
	};
	uint32_t aligned[4096];
	struct buffer b;
	struct host_set set;
	struct context c;
	struct hosts h;
	bool good = true;

	resolve_rules(&c, rule, 2, &set);
	b = (struct buffer){ .arena = &c.arena };
	hosts_record(&set, &b);
	for (size_t n = 0; n < b.n; n++) {
		memcpy(aligned, b.data, n);
		good = good && !hosts_open(aligned, n, &h);
	}
	check(good, "a record cut at every length is refused");
	/* Every flipped bit is refused, or is read without leaving the record (the sanitizer watches). */
	for (size_t i = 0; i < 8 * b.n; i++) {
		struct host_match m;
		size_t at = 0;

		memcpy(aligned, b.data, b.n);
		((uint8_t *)aligned)[i / 8] ^= (uint8_t)(1u << i % 8);
		if (!hosts_open(aligned, b.n, &h))
			continue;
		while (hosts_match(&h, "a.example.net", &at, &m)) {
			struct host_address a = { .word = { 0, 0, 0, 1 } };
			struct cave_host_ports p;
			bool global;
			size_t k = 0;

			hosts_in_place(&h, m.place, &a, &global);
			while (hosts_ports(&h, m.class, &k, &p))
				;
		}
	}
	check(true, "a record with any one bit flipped is read within its bounds");
	arena_free(&c.arena);
}

static void test_one_form(void)
{
	struct host_rule apart[] = {
		{ .allow = true, .proto = { true }, .to = cdn, .nto = 1, .port = https, .nports = 1 },
		{ .allow = true, .proto = { true }, .to = cdn, .nto = 1, .port = web, .nports = 1 },
		{ .allow = true, .proto = { true }, .to = one, .nto = 1, .port = https, .nports = 1 },
	};
	struct host_rule together[] = {
		{ .allow = true, .proto = { true }, .to = cdn, .nto = 1, .port = web, .nports = 2 }
	};
	struct host_set x, y;
	struct context c, d;
	struct buffer bx, by, tx, ty;

	resolve_rules(&c, apart, 3, &x);
	resolve_rules(&d, together, 1, &y);
	bx = tx = (struct buffer){ .arena = &c.arena };
	by = ty = (struct buffer){ .arena = &d.arena };
	hosts_record(&x, &bx);
	hosts_record(&y, &by);
	hosts_canonical(&x, &tx);
	hosts_canonical(&y, &ty);
	check(bx.n == by.n && !memcmp(bx.data, by.data, bx.n), "equal grants give one record");
	check(tx.n == ty.n && !memcmp(tx.data, ty.data, tx.n), "equal grants give one text");
	arena_free(&c.arena);
	arena_free(&d.arena);
}

int main(void)
{
	test_spelling();
	test_is_name();
	test_bounds();
	test_matching();
	test_record();
	test_damage();
	test_one_form();
	return unit_done();
}
