/* SPDX-License-Identifier: MIT */
/* Spellings of addresses and ports: what each means, or which code and reading it gets. */
#include "compiler/egress_addr.h"
#include "tests/unit/egress_rules.h"
#include "tests/unit/unit.h"

static const struct {
	const char *text, *means; /* operands as addr_show_range() prints them, joined by a blank */
} good[] = {
	{ "10.1.2.3", "10.1.2.3" },
	{ "10.0.0.0/8", "10.0.0.0/8" },
	{ "10.1.2.3/32", "10.1.2.3" },
	{ "0.0.0.0/0", "0.0.0.0/0" },
	{ "255.255.255.255", "255.255.255.255" },
	{ "224.0.0.251", "224.0.0.251" },
	{ "169.254.169.254", "169.254.169.254" },
	{ "10.0.0.1-10.0.0.9", "10.0.0.1-10.0.0.9" },
	{ "10.0.0.0-10.0.0.255", "10.0.0.0/24" },
	{ "2001:db8::1", "2001:db8::1" },
	{ "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
	{ "2001:db8::/32", "2001:db8::/32" },
	{ "::/0", "::/0" },
	{ "::/1", "::/1" },
	{ "::1", "::1" },
	{ "::1-::9", "::1-::9" },
	{ "ff02::fb", "ff02::fb" },
	{ "2001:db8:0:0:0:0:1:443", "2001:db8::1:443" },
	{ "::ffff:10.1.2.3", "10.1.2.3" },
	{ "::ffff:a01:203", "10.1.2.3" },
	{ "::ffff:10.0.0.0/104", "10.0.0.0/8" },
	{ "::ffff:0:0/96", "0.0.0.0/0" },
	{ "64:ff9b::/96", "64:ff9b::/96" },
	{ "localhost", "127.0.0.0/8 ::1" },
	{ "any", "0.0.0.0/0 ::/0" },
};

static const struct {
	const char *text;
	enum cave_code code;
	const char *says; /* a part of the sentence or of a note */
} bad[] = {
	{ "010.0.0.0/8", CAVE_VALUE, "8.0.0.0" },
	{ "10.0.0.010", CAVE_VALUE, "10.0.0.8" },
	{ "10.0.0.0/08", CAVE_VALUE, "/8" },
	{ "10.1.2.3/8", CAVE_VALUE, "10.0.0.0/8 is 16,777,216 addresses; 10.1.2.3 is one" },
	{ "10.0.0.1/24", CAVE_VALUE, "10.0.0.0/24 is 256 addresses" },
	{ "8/8", CAVE_VALUE, "8.0.0.0" },
	{ "127", CAVE_VALUE, "0.0.0.127" },
	{ "127.1", CAVE_VALUE, "127.0.0.1" },
	{ "2130706433", CAVE_VALUE, "127.0.0.1" },
	{ "0x7f.1", CAVE_VALUE, "127.0.0.1" },
	{ "0x7f000001", CAVE_VALUE, "127.0.0.1" },
	{ "10.0.0.256", CAVE_VALUE, "0 to 255" },
	{ "10.0.0", CAVE_VALUE, "10.0.0.0" },
	{ "10.0.0.1.5", CAVE_VALUE, "four decimal numbers" },
	{ "10.0.0.1.", CAVE_VALUE, "four decimal numbers" },
	{ "10.0.0.0/33", CAVE_VALUE, "at most 32" },
	{ "10.0.0.0/99999", CAVE_VALUE, "decimal number" },
	{ "10.0.0.0/", CAVE_VALUE, "decimal number" },
	{ "10.0.0.0/-1", CAVE_VALUE, "decimal number" },
	{ "10.0.0.0/255.255.255.0", CAVE_VALUE, "is /24" },
	{ "10.0.0.9-10.0.0.1", CAVE_VALUE, "10.0.0.1-10.0.0.9" },
	{ "10.0.0.1-::1", CAVE_VALUE, "different families" },
	{ "10.0.0.1-9", CAVE_VALUE, "not an address" },
	{ "0.0.0.0", CAVE_VALUE, "127.0.0.1" },
	{ "::", CAVE_VALUE, "::1" },
	{ "::ffff:0.0.0.0", CAVE_VALUE, "loopback" },
	{ "fe80::1%eth0", CAVE_VALUE, "fe80::1" },
	{ "2001:db8::1/129", CAVE_VALUE, "at most 128" },
	{ "2001:db8::1/32", CAVE_VALUE, "2001:db8::/32 is 2^96 addresses" },
	{ "::ffff:10.1.2.3/8", CAVE_VALUE, "10.0.0.0/8" },
	{ "::fffe:0:0-::ffff:0:5", CAVE_VALUE, "IPv4-mapped" },
	{ "::ffff:0:0/95", CAVE_VALUE, "not an address" },
	{ "2001:db8::g", CAVE_VALUE, "not an IPv6 address" },
	{ "1:2:3:4:5:6:7:8:9", CAVE_VALUE, "1:2:3:4:5:6:7:8 port 9" },
	{ "2001:db8::1:443", CAVE_VALUE, "2001:db8::1 port 443" },
	{ "2001:db8::1:443", CAVE_VALUE, "2001:db8:0:0:0:0:1:443" },
	{ "[2001:db8::1]:443", CAVE_VALUE, "2001:db8::1 port 443" },
	{ "[::1]:443", CAVE_VALUE, "::1 port 443" },
	{ "[::1]", CAVE_VALUE, "write: ::1" },
	{ "[", CAVE_VALUE, "brackets" },
	{ "[]:1", CAVE_VALUE, "brackets" },
	{ "1.2.3.4:443", CAVE_VALUE, "1.2.3.4 port 443" },
	{ "1.2.3.4:*", CAVE_VALUE, "1.2.3.4 port any" },
	{ "1.2.3.4:443-80", CAVE_VALUE, "not an" },
	{ "example.com", CAVE_VALUE, "it is a host name" },
	{ "example.com:443", CAVE_VALUE, "example.com port 443" },
	{ "example.com:*", CAVE_VALUE, "example.com port any" },
	{ "*.example.com", CAVE_VALUE, "it is a host name" },
	{ "my-host", CAVE_VALUE, "it is a host name" },
	{ "xn--bcher-kva.example", CAVE_VALUE, "it is a host name" },
	{ "https://example.com/", CAVE_VALUE, "URL" },
	{ "example.com/24", CAVE_VALUE, "neither" },
	{ "user@example.com", CAVE_VALUE, "neither" },
	{ "*", CAVE_EGRESS_UNBOUNDED, "every host" },
	{ "", CAVE_VALUE, "empty" },
	{ ":", CAVE_VALUE, "not an" },
	{ ":::", CAVE_VALUE, "not an" },
	{ "/", CAVE_VALUE, "not an" },
	{ "-", CAVE_VALUE, "neither" },
};

static bool says(const struct compile *c, const char *part)
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

static void test_good(void)
{
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct net_operand o[2];
		char got[512] = "";
		struct compile c;
		size_t n;

		compile_init(&c);
		n = egress_parse_address(&c.diags, good[i].text, (struct span){ 0 }, o);
		for (size_t k = 0; k < n; k++) {
			strcat(got, k ? " " : "");
			strcat(got, addr_show_range(o[k].family, o[k].lo, o[k].hi).s);
		}
		check(!c.diags.errors && !strcmp(got, good[i].means), "address %s is %s",
		      good[i].text, got);
		compile_free(&c);
	}
}

static void test_bad(void)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct net_operand o[2];
		struct compile c;
		size_t n;

		compile_init(&c);
		n = egress_parse_address(&c.diags, bad[i].text, (struct span){ 0 }, o);
		check(!n && c.diags.errors == 1 && first_code(&c) == bad[i].code &&
			      says(&c, bad[i].says),
		      "address `%s`: %s, %s", bad[i].text, cave_code_name(first_code(&c)),
		      c.diags.first ? c.diags.first->text : "accepted");
		compile_free(&c);
	}
}

static void test_too_long(void)
{
	char text[2000];
	struct net_operand o[2];
	struct compile c;

	memset(text, '1', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	compile_init(&c);
	check(!egress_parse_address(&c.diags, text, (struct span){ 0 }, o) &&
		      first_code(&c) == CAVE_VALUE,
	      "a very long number is no address");
	compile_free(&c);
}

static void test_mapped_remark(void)
{
	struct net_operand o[2];
	struct compile c;

	compile_init(&c);
	check(egress_parse_address(&c.diags, "::ffff:10.1.2.0/120", (struct span){ 0 }, o) == 1 &&
		      c.diags.notes == 1 && says(&c, "10.1.2.0/24"),
	      "a mapped prefix is remarked on");
	compile_free(&c);
}

static void test_ports(void)
{
	static const struct {
		const char *text;
		unsigned lo, hi; /* 0: an error */
		const char *says;
	} port[] = {
		{ "443", 443, 443, "" },
		{ "1", 1, 1, "" },
		{ "65535", 65535, 65535, "" },
		{ "8000-8010", 8000, 8010, "" },
		{ "80-80", 80, 80, "" },
		{ "any", 1, 65535, "" },
		{ "0", 0, 0, "1 to 65535" },
		{ "65536", 0, 0, "1 to 65535" },
		{ "443-80", 0, 0, "80-443" },
		{ "0-80", 0, 0, "1 to 65535" },
		{ "080", 0, 0, "80" },
		{ "00", 0, 0, "leading zero" },
		{ "*", 0, 0, "port any" },
		{ "https", 0, 0, "port 443" },
		{ "", 0, 0, "numbers from 1" },
		{ "-", 0, 0, "numbers from 1" },
		{ "80-", 0, 0, "numbers from 1" },
		{ "-80", 0, 0, "numbers from 1" },
		{ "1-2-3", 0, 0, "numbers from 1" },
		{ "99999999999999999999", 0, 0, "1 to 65535" },
		{ "443 ", 0, 0, "numbers from 1" },
		{ "+443", 0, 0, "numbers from 1" },
		{ "0x1bb", 0, 0, "numbers from 1" },
	};

	for (size_t i = 0; i < sizeof port / sizeof *port; i++) {
		struct net_ports p = { 0, 0 };
		struct compile c;
		bool got;

		compile_init(&c);
		got = egress_parse_port(&c.diags, port[i].text, (struct span){ 0 }, &p);
		check(got == (port[i].lo != 0) && p.lo == port[i].lo && p.hi == port[i].hi &&
			      c.diags.errors == !got && says(&c, port[i].says) == !got,
		      "port `%s` is %u-%u", port[i].text, p.lo, p.hi);
		compile_free(&c);
	}
}

/* One spelling, whatever the C library writes. */
static void test_shown(void)
{
	static const struct {
		uint64_t hi, lo;
		const char *text;
	} rows[] = {
		{ 0, 0, "::" },
		{ 0, 1, "::1" },
		{ 0, 0x0a000003, "::a00:3" },
		{ 0x0001000000000000, 0, "1::" },
		{ 0x20010db800000001, 0x0000000000000001, "2001:db8:0:1::1" },
		{ 0x0001000000000002, 0x0003000000000004, "1::2:3:0:0:4" },
		{ 0x0001000000020003, 0x0004000500060007, "1:0:2:3:4:5:6:7" },
		{ 0x0001000200030004, 0x0005000600000000, "1:2:3:4:5:6::" },
		{ 0x0000000200030004, 0x0005000600070008, "0:2:3:4:5:6:7:8" },
		{ UINT64_MAX, UINT64_MAX, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ 0x0064ff9b00000000, 0x0a000003, "64:ff9b::a00:3" },
		{ 0x0001000000000002, 0x0000000000000003, "1:0:0:2::3" },
	};
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct addr_text t = addr_show(NET_V6, (struct net_addr){ rows[i].hi, rows[i].lo });

		if (strcmp(t.s, rows[i].text) != 0) {
			fprintf(stderr, "%s is shown as %s\n", rows[i].text, t.s);
			wrong++;
		}
	}
	check(!wrong && strcmp(addr_show(NET_V4, (struct net_addr){ 0, 0xc0000207 }).s, "192.0.2.7") == 0,
	      "addresses are shown in one spelling");
}

int main(void)
{
	test_good();
	test_bad();
	test_too_long();
	test_mapped_remark();
	test_ports();
	test_shown();
	return unit_done();
}
