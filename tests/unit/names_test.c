/* SPDX-License-Identifier: MIT */
/* What the keeper of a run's addresses believes of its resolver: as if a forger had sent it. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "compiler/hosts.h"
#include "runtime/names_hosts.h"
#include "runtime/names_judge.h"
#include "tests/unit/unit.h"

#define NOW 1000000000000u
#define SECOND 1000000000u

static const struct net_ports https[] = { { 443, 443 } }, sql[] = { { 5432, 5432 } };
static const struct net_operand inside[] = { { NET_V4, { 0, 0x0a000000 }, { 0, 0x0affffff }, { 0 } },
					     { NET_V6, { 0xfd00ull << 48, 0 }, { 0xfdffffffffffffff, ~0ull }, { 0 } } };
static const struct net_operand shut[] = { { NET_V4, { 0, 0x01020300 }, { 0, 0x010203ff }, { 0 } } };
static const struct host_pattern api[] = { { .name = "api.test" }, { .name = "wild.test", .below = true } },
				 db[] = { { .name = "db.test" } }, bad[] = { { .name = "bad.wild.test" } };

static struct arena arena;
static struct names_judge judge;

/* api.test and *.wild.test with port 443, db.test with 5432 within 10.0.0.0/8 and fd00::/8. */
static void begin(void)
{
	struct host_rule rule[] = {
		{ .allow = true, .proto = { true }, .to = api, .nto = 2, .port = https, .nports = 1 },
		{ .allow = true, .proto = { true }, .to = db, .nto = 1, .port = sql, .nports = 1, .within = inside,
		  .nwithin = 2 },
		{ .to = bad, .nto = 1 },
	};
	struct net_rule deny[] = { { .to = shut, .nto = 1, .port = https, .nports = 1 } };
	struct policy p = { .host_rule = rule, .nhost_rules = 3, .net_rule = deny, .nnet_rules = 1 };
	struct sources sources;
	struct diags diags;
	struct host_set set;
	struct buffer b = { .arena = &arena };

	sources_init(&sources, &arena);
	diags_init(&diags, &sources);
	names_judge_end(&judge);
	judge = (struct names_judge){ .ready = true };
	check(hosts_resolve(&diags, &arena, &p, &set), "the rules are sound");
	hosts_record(&set, &b);
	check(hosts_open(b.data, b.n, &judge.hosts), "and so is their record");
}

static struct cave_resolve_address address(const char *text, uint32_t ttl)
{
	struct cave_resolve_address a = { .ttl = ttl };
	uint32_t raw[4];

	if (inet_pton(AF_INET6, text, raw) == 1) {
		for (int i = 0; i < 4; i++)
			a.word[i] = ntohl(raw[i]);
		return a;
	}
	inet_pton(AF_INET, text, raw);
	a.word[2] = 0xffff;
	a.word[3] = ntohl(raw[0]);
	return a;
}

/* The error or, negative, the classes. */
static int say(const char *name, const char *text, uint32_t ttl, uint64_t now, uint64_t *expiry)
{
	struct cave_resolve_address a = address(text, ttl);
	struct names_verdict v;
	int error = names_judge(&judge, name, &a, now, &v);

	if (!error && expiry)
		*expiry = v.expiry;
	return error ? error : -(int)v.classes;
}

static void test_names(void)
{
	static const char *const forged[] = { "other.test", "wild.test", "xwild.test", "bad.wild.test", "", "API.test",
					      "api.test.", "a\x1b[31m.wild.test", "a b.wild.test", "api.test\n" };

	begin();
	check(say("api.test", "8.8.8.8", 60, NOW, NULL) < 0, "a granted name");
	check(say("a.b.wild.test", "8.8.8.8", 60, NOW, NULL) < 0, "one below a wildcard");
	check(say("api.test", "8.8.8.8", 60, NOW, NULL) != say("db.test", "10.0.0.1", 60, NOW, NULL),
	      "each with its own ports");
	for (size_t i = 0; i < sizeof forged / sizeof *forged; i++)
		check(say(forged[i], "8.8.8.8", 60, NOW, NULL) == EINVAL, "forged name %zu", i);
}

static void test_places(void)
{
	static const struct {
		const char *name, *text;
		bool here;
	} row[] = {
		{ "api.test", "8.8.8.8", true },
		{ "api.test", "2600::1", true },
		{ "api.test", "127.0.0.1", false },
		{ "api.test", "10.0.0.1", false },
		{ "api.test", "192.168.1.1", false },
		{ "api.test", "169.254.169.254", false },
		{ "api.test", "168.63.129.16", false },
		{ "api.test", "100.64.0.1", false },
		{ "api.test", "0.0.0.0", false },
		{ "api.test", "255.255.255.255", false },
		{ "api.test", "224.0.0.1", false },
		{ "api.test", "::1", false },
		{ "api.test", "::", false },
		{ "api.test", "fe80::1", false },
		{ "api.test", "fd00::1", false },
		{ "api.test", "ff02::1", false },
		{ "api.test", "::ffff:8.8.8.8", true },
		{ "api.test", "::ffff:127.0.0.1", false },
		{ "api.test", "::8.8.8.8", false }, /* compatible */
		{ "api.test", "64:ff9b::8.8.8.8", true },
		{ "api.test", "64:ff9b::10.0.0.1", false },
		{ "api.test", "64:ff9b::169.254.169.254", false },
		{ "api.test", "64:ff9b::1.2.3.4", false }, /* denied */
		{ "api.test", "64:ff9b:1::8.8.8.8", false },
		{ "api.test", "2002:0808:0808::1", false },
		{ "api.test", "2001:0:808:808::1", false },
		{ "db.test", "10.1.2.3", true },
		{ "db.test", "fd00::1", true },
		{ "db.test", "11.0.0.1", false },
		{ "db.test", "8.8.8.8", false },
		{ "db.test", "64:ff9b::10.1.2.3", true },
	};

	begin();
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		check((say(row[i].name, row[i].text, 60, NOW, NULL) < 0) == row[i].here, "%s at %s", row[i].name,
		      row[i].text);
}

/* RFC 6052, 2.4: 192.0.2.33 under each length of a prefix; here 8.8.4.4 and 10.0.0.1. */
static void test_nat64(void)
{
	static const struct {
		const char *prefix, *public, *private, *broken;
	} row[] = {
		{ "2a00:db8::/32", "2a00:db8:808:404::", "2a00:db8:a00:1::", "2a00:db8:808:404::1" },
		{ "2a00:db8:100::/40", "2a00:db8:108:804:4::", "2a00:db8:10a:0:1::", "2a00:db8:108:804:104::" },
		{ "2a00:db8:122::/48", "2a00:db8:122:808:4:400::", "2a00:db8:122:a00:0:100::",
		  "2a00:db8:122:808:4:401::" },
		{ "2a00:db8:122:300::/56", "2a00:db8:122:308:8:404::", "2a00:db8:122:30a::1:0:0",
		  "2a00:db8:122:308:108:404::" },
		{ "2a00:db8:122:344::/64", "2a00:db8:122:344:8:804:400::", "2a00:db8:122:344:a:0:100::",
		  "2a00:db8:122:344:8:804:400:1" },
		{ "2a00:db8:122:344::/96", "2a00:db8:122:344::8.8.4.4", "2a00:db8:122:344::10.0.0.1", NULL },
	};
	static const char *const wrong[] = { "2a00:db8::", "2a00:db8::/33", "2a00:db8::/128", "2a00:db8::1/96", "x/96",
					     "/96",
					     "10.0.0.0/8", "2a00:db8::/96x", "2a00:db8::/", "2a00:db8:0:0:100::/96",
					     "::ffff:0:0/96", "::/96", "2a00:db8:1::/32" };
	struct nat64 prefix;

	begin();
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		check(say("api.test", row[i].private, 60, NOW, NULL) < 0, "%s is any address without its prefix",
		      row[i].private);
		check(!nat64_read(row[i].prefix, &prefix), "%s is a prefix", row[i].prefix);
		judge.nat64 = &prefix;
		judge.nnat64 = 1;
		check(say("api.test", row[i].public, 60, NOW, NULL) < 0, "%s carries a public address", row[i].public);
		check(say("api.test", row[i].private, 60, NOW, NULL) == 0, "%s carries a private one", row[i].private);
		check(say("db.test", row[i].private, 60, NOW, NULL) < 0, "which is where a rule says");
		check(!row[i].broken || say("api.test", row[i].broken, 60, NOW, NULL) == 0, "%s carries none",
		      row[i].broken ? row[i].broken : "");
		judge.nnat64 = 0;
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		check(nat64_read(wrong[i], &prefix) != NULL, "`%s` is no prefix", wrong[i]);
	nat64_read("2a00:db8:122:344::/96", &prefix);
	judge.nat64 = &prefix;
	judge.nnat64 = 1;
	check(say("api.test", "2a00:db8:122:344::1.2.3.4", 60, NOW, NULL) == 0, "what a denial by address covers");
	check(say("api.test", "2a00:db8:122:344::1.2.4.4", 60, NOW, NULL) < 0, "and its neighbour");
}

/* The host's own addresses are none that a public name may have. */
static void test_own(void)
{
	begin();
	check(say("db.test", "10.0.0.1", 60, NOW, NULL) < 0, "a place that is named may hold them");
	check(say("api.test", "127.0.0.2", 60, NOW, NULL) == 0, "loopback is not public");
}

static void test_lifetimes(void)
{
	uint64_t until = 0;

	begin();
	say("api.test", "8.8.8.8", 60, NOW, &until);
	check(until == NOW + 80ull * SECOND, "the record's time and the grace");
	say("api.test", "8.8.8.8", 1, NOW, &until);
	check(until == NOW + 80ull * SECOND, "a shorter one takes nothing away");
	say("api.test", "8.8.4.4", 0, NOW, &until);
	check(until == NOW + 30ull * SECOND, "ten seconds at least");
	say("api.test", "8.8.4.4", UINT32_MAX - 1, NOW, &until);
	check(until == NOW + 86420ull * SECOND, "a day at most");
	check(say("api.test", "8.8.4.5", NAMES_FOREVER, NOW, NULL) == EINVAL, "never for ever");
	judge.ready = false;
	check(say("api.test", "8.8.4.5", NAMES_FOREVER, NOW, &until) < 0 && until == UINT64_MAX,
	      "but for what /etc/hosts says at the start");
}

static int say_number(const char *name, uint32_t first, uint32_t i, uint64_t now)
{
	struct cave_resolve_address a = { { 0, 0, 0xffff, first + i }, 60 };
	struct names_verdict v;

	return names_judge(&judge, name, &a, now, &v);
}

static void test_bounds(void)
{
	char name[32];
	bool all = true;

	begin();
	for (uint32_t i = 0; i < 64; i++)
		all = all && !say_number("api.test", 0x08000000, i, NOW);
	check(all, "sixty-four addresses of a name");
	check(say_number("api.test", 0x08000000, 64, NOW) == ENOSPC, "and not one more");
	check(!say_number("api.test", 0x08000000, 63, NOW), "one of them again");
	check(say_number("api.test", 0x08000000, 64, NOW + 59ull * SECOND) == ENOSPC, "while their records live");
	check(!say_number("api.test", 0x08000000, 64, NOW + 81ull * SECOND), "and when they have gone");
	all = true;
	for (uint32_t i = 1; i < 64; i++)
		all = all && !say_number("api.test", 0x08000000, i + 64, NOW + 81ull * SECOND);
	check(all && say_number("api.test", 0x08000000, 0, NOW + 81ull * SECOND) == ENOSPC,
	      "one that is over is not taken up again beyond the bound");
	begin();
	for (uint32_t i = 0; i < 1024; i++) {
		snprintf(name, sizeof name, "n%u.wild.test", i / 60);
		all = all && !say_number(name, 0x08000000, i, NOW);
	}
	check(all, "1,024 addresses of a run");
	check(say_number("z.wild.test", 0x08000000, 0, NOW) == ENOSPC, "and not one more");
	check(!say_number("z.wild.test", 0x08000000, 0, NOW + 81ull * SECOND), "until they are over");
}

/* --- /etc/hosts ----------------------------------------------------------------------------------- */

static bool note(void *of, const char *name, const struct host_address *a)
{
	char *end = of;

	sprintf(end + strlen(end), "%s %s%08x,", name, a->six ? "six " : "", a->word[a->six ? 0 : 3]);
	return true;
}

static void test_hosts(void)
{
	char text[] = "10.9.9.9 api.test # a comment api.test\n10.9.9.8\tother.test\n1.1.1.1 x  API.Test.\r\n"
		      "bad api.test\n 2600::1 db.test api.test.. a.wild.test\n#1.2.3.4 api.test\n1.2.3.4\n127.1 api.test\n"
		      "1.1.1.2 wild.test bad.wild.test\n1.1.1.3 api.test";
	char found[512] = "";

	begin();
	names_hosts_read(text, &judge.hosts, note, found);
	check(strcmp(found, "api.test 0a090909,api.test 01010101,db.test six 26000000,a.wild.test six 26000000,"
			    "api.test 01010103,") == 0,
	      "of /etc/hosts granted names, as they are spelled in rules");
}

/* What a name loses to make room: the oldest whose record is over, as far as no other name has the address. */
static void test_churn(void)
{
	const uint64_t later = NOW + 61ull * SECOND;
	struct cave_resolve_address a = { { 0, 0, 0xffff, 0x08000100 }, 60 };
	struct names_verdict v;
	bool all = true;

	begin();
	for (uint32_t i = 0; i < 64; i++)
		all = all && !say_number("api.test", 0x08000000, i, NOW + (i == 5 ? 0 : i + 1) * 1000u);
	check(all && !say_number("x.wild.test", 0x08000000, 5, NOW + 30ull * SECOND),
	      "sixty-four, and one that another has too");
	check(!names_judge(&judge, "api.test", &a, later, &v) && v.taken && v.address[3] == 0x08000005 &&
	      v.until[0] == NOW + 110ull * SECOND, "the oldest is lost, and stays the other's");
	a.word[3]++;
	check(!names_judge(&judge, "api.test", &a, later, &v) && v.taken && v.address[3] == 0x08000000 && !v.until[0],
	      "then the next, which is nobody's");
	for (uint32_t i = 2; i < 64; i++)
		all = all && !say_number("api.test", 0x08000100, i, later);
	check(all && say_number("api.test", 0x08000100, 64, later) == ENOSPC, "until no record is over");
	check(!say_number("y.wild.test", 0x08000000, 1, later), "of another name that is no matter");
}

int main(void)
{
	test_names();
	test_places();
	test_nat64();
	test_own();
	test_lifetimes();
	test_bounds();
	test_churn();
	test_hosts();
	names_judge_end(&judge);
	arena_free(&arena);
	return unit_done();
}
