/* SPDX-License-Identifier: MIT */
/* The operator's rules: what is read, what is refused, and that no part of the text is ever passed over. */
#include "bpf/operator.h"
#include "cave/artefact.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define IDENTITY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const uint8_t identity[CAVE_DIGEST_SIZE] = {
	0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
	0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
};

/* Of exactly as many bytes as the text has, so that a sanitizer sees a read past them. */
static char *copy;

static bool reads(const char *text, size_t n, struct operator_rules *out, struct operator_error *error)
{
	free(copy);
	copy = malloc(n ? n : 1);
	if (!copy)
		abort();
	memcpy(copy, text, n);
	return operator_read(copy, n, out, error);
}

static void refuses(const char *name, const char *text, unsigned line)
{
	struct operator_error error = { 0 };
	struct operator_rules o = { .size = 77 };

	check(!reads(text, strlen(text), &o, &error) && error.text && error.line == line && o.size == 77,
	      "refused: %s (line %u, said %u: %s)", name, line, error.line, error.text ? error.text : "nothing");
}

static bool capability_is(const struct operator_rules *o, const char *name, const char *capability)
{
	struct operator_word found;

	if (!operator_capability(o, name, &found))
		return !capability;
	return capability && found.n == strlen(capability) && !memcmp(found.at, capability, found.n);
}

static void credentials(void)
{
	static const char text[] = "# ours\ncredential github GITHUB_TOKEN\tGH_TOKEN # two\n\n"
				   "credential openai OPENAI_API_KEY OPENAI_ORG\ncredential github GH_TOKEN";
	struct operator_error error;
	struct operator_rules o;

	operator_defaults(&o);
	check(capability_is(&o, "OPENAI_API_KEY", "openai") && capability_is(&o, "GH_TOKEN", NULL) &&
		      operator_trusts(&o, identity),
	      "without a file: the built-in table, and every policy is trusted");
	check(reads(text, sizeof text - 1, &o, &error), "a table is read");
	check(capability_is(&o, "GITHUB_TOKEN", "github") && capability_is(&o, "GH_TOKEN", "github") &&
		      capability_is(&o, "OPENAI_ORG", "openai") && capability_is(&o, "ANTHROPIC_API_KEY", "anthropic"),
	      "its rows and the built-in ones are there");
	check(capability_is(&o, "GH_TOKE", NULL) && capability_is(&o, "two", NULL) && capability_is(&o, "github", NULL),
	      "and no other");
	refuses("a denied family", "credential a B\ncredential aws AWS_SECRET\n", 2);
	refuses("a denied name", "credential a PATH\n", 1);
	refuses("a variable of another capability", "credential mine OPENAI_API_KEY\n", 1);
	refuses("two capabilities for one name", "credential a X\ncredential b X\n", 2);
	refuses("no variable", "credential a\n", 1);
	refuses("no capability", "credential\n", 1);
	refuses("a name that is none", "credential a 1X\n", 1);
	refuses("a capability in capitals", "credential GITHUB_TOKEN GH_TOKEN\n", 1);
}

static void limits(void)
{
	struct operator_error error;
	struct operator_rules o;

	check(reads("limit ipv4 0", 12, &o, &error) && o.reach_ipv4 == 0 && o.reach_ipv6 == OPERATOR_REACH_IPV6,
	      "a lower limit");
	check(reads("limit ipv6 9007199254740991\n", 28, &o, &error) && o.reach_ipv6 == (1ull << 53) - 1 &&
		      o.reach_ipv4 == OPERATOR_REACH_IPV4,
	      "a higher limit");
	refuses("a limit twice", "limit ipv4 1\nlimit ipv4 2\n", 2);
	refuses("no number", "limit ipv4\n", 1);
	refuses("a hexadecimal number", "limit ipv4 0x10\n", 1);
	refuses("a leading zero", "limit ipv4 010\n", 1);
	refuses("a negative number", "limit ipv4 -1\n", 1);
	refuses("a number that is too large", "limit ipv4 9007199254740992\n", 1);
	refuses("a number that would wrap", "limit ipv4 18446744073709551617\n", 1);
	refuses("another family", "limit ipv5 1\n", 1);
	refuses("two numbers", "limit ipv4 1 2\n", 1);
}

static void trust(void)
{
	struct operator_error error;
	struct operator_rules o;
	uint8_t other[CAVE_DIGEST_SIZE];

	memcpy(other, identity, sizeof other);
	other[31] ^= 1;
	check(reads("trust " IDENTITY " # fetch", 78, &o, &error) && operator_trusts(&o, identity),
	      "a listed policy is trusted");
	check(!operator_trusts(&o, other), "and another one is not");
	check(reads("trust listed\n", 13, &o, &error) && !operator_trusts(&o, identity), "an empty list trusts none");
	check(reads("limit ipv4 1\n", 13, &o, &error) && operator_trusts(&o, identity), "no list trusts all");
	check(reads("# trust listed\n", 15, &o, &error) && operator_trusts(&o, identity), "a comment is none");
	refuses("a short identity", "trust 0011\n", 1);
	refuses("an identity in capitals", "trust 00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff\n", 1);
	refuses("trust alone", "\n\ntrust\n", 3);
	refuses("two identities", "trust " IDENTITY " " IDENTITY "\n", 1);
}

static void records(void)
{
	struct operator_error error;
	struct operator_rules o;

	check(reads("record /var/log/cave", 20, &o, &error) && o.record.n == 13 &&
		      !memcmp(o.record.at, "/var/log/cave", 13),
	      "a record's path");
	refuses("a relative path", "record log\n", 1);
	refuses("two records", "record /a\nrecord /b\n", 2);
	refuses("no path", "record\n", 1);
}

static void prefixes(void)
{
	struct operator_error error;
	struct operator_rules o;

	check(reads("nat64 2001:db8:64::/96\nnat64 2001:db8::/32 # ours", 49, &o, &error) && o.nnat64 == 2 &&
		      o.nat64[0].length == 96 && o.nat64[1].length == 32 && o.nat64[1].word[0] == 0x20010db8,
	      "prefixes of translators");
	refuses("no prefix", "nat64\n", 1);
	refuses("a prefix of IPv4", "nat64 10.0.0.0/8\n", 1);
	refuses("a prefix without a length", "nat64 2001:db8::\n", 1);
	refuses("a length that carries nothing", "nat64 2001:db8::/80\n", 1);
	refuses("bits beyond the prefix", "nat64 2001:db8::1/96\n", 1);
	refuses("two prefixes", "nat64 2001:db8::/96 2001:db8:1::/96\n", 1);
	refuses("nine prefixes",
		"nat64 2001:1::/96\nnat64 2001:2::/96\nnat64 2001:3::/96\nnat64 2001:4::/96\nnat64 2001:5::/96\n"
		"nat64 2001:6::/96\nnat64 2001:7::/96\nnat64 2001:8::/96\nnat64 2001:9::/96\n",
		9);
}

static void anything(void)
{
	struct operator_error error;
	struct operator_rules o;
	char *large = calloc(1, OPERATOR_SIZE_MAX + 1);

	if (!large)
		abort();
	memset(large, '\n', OPERATOR_SIZE_MAX + 1);
	check(reads("", 0, &o, &error), "an empty file");
	check(reads(large, OPERATOR_SIZE_MAX, &o, &error), "the largest file");
	check(!reads(large, OPERATOR_SIZE_MAX + 1, &o, &error), "refused: a larger one");
	refuses("a word that is none", "trsut listed\n", 1);
	refuses("a word in capitals", "Trust listed\n", 1);
	refuses("a carriage return", "trust listed\r\n", 0);
	refuses("an escape", "# \033[2J\n", 0);
	check(!reads("\0trust listed", 13, &o, &error), "refused: a NUL");
	free(large);
}

int main(void)
{
	credentials();
	limits();
	trust();
	records();
	prefixes();
	anything();
	free(copy);
	return unit_done();
}
