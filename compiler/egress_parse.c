/* SPDX-License-Identifier: MIT */
/*
 * Addresses and ports as they stand in a profile.
 *
 * One spelling has one meaning.  What some readers take for one address and others for another
 * (leading zeros, short and numeric forms, host bits) is an error that shows the readings, never a
 * guess.
 */
#include "compiler/egress.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/egress_addr.h"

enum { OPERAND_MAX = 255 }; /* the longest host name; nothing that is an address is longer */

static const struct addr_range MAPPED = { { 0, 0xffff00000000 }, { 0, 0xffffffffffff } };

struct reader {
	struct diags *d;
	const char *text;
	struct span at;
};

/* --- errors --------------------------------------------------------------- */

static struct diag *value_error(const struct reader *r, const char *why)
{
	return diag_error(r->d, CAVE_VALUE, r->at, "`%s` is not an address: %s", r->text, why);
}

#define NOTE(r, diag, ...) diag_note((r)->d, (diag), (struct span){ 0 }, __VA_ARGS__)

/* How many addresses a prefix of `bits` host bits has, in words. */
static struct addr_text prefix_size(unsigned bits)
{
	struct addr_text t;

	if (bits < 40)
		return addr_count((uint64_t)1 << bits);
	snprintf(t.s, sizeof t.s, "2^%u", bits);
	return t;
}

static bool all_digits(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

static bool read_v4(const char *s, struct net_addr *out)
{
	struct in_addr in;

	if (inet_pton(AF_INET, s, &in) != 1)
		return false;
	*out = (struct net_addr){ 0, ntohl(in.s_addr) };
	return true;
}

static bool read_v6(const char *s, struct net_addr *out)
{
	struct in6_addr in;
	struct net_addr a = { 0, 0 };

	if (inet_pton(AF_INET6, s, &in) != 1)
		return false;
	for (int i = 0; i < 8; i++) {
		a.hi = a.hi << 8 | in.s6_addr[i];
		a.lo = a.lo << 8 | in.s6_addr[8 + i];
	}
	*out = a;
	return true;
}

static bool is_address(const char *s)
{
	struct net_addr a;

	return read_v4(s, &a) || read_v6(s, &a);
}

/* --- what is not an address ----------------------------------------------- */

/*
 * `1.2.3.4:443`, `[::1]:443`, `example.com:443`: an error that says how to write the port.  Returns
 * true if it was one.
 */
static bool refuse_port_suffix(const struct reader *r)
{
	char host[OPERAND_MAX + 1];
	const char *colon = strrchr(r->text, ':');
	size_t n;
	struct diag *e;

	if (!colon || (!all_digits(colon + 1) && strcmp(colon + 1, "*")))
		return false;
	n = (size_t)(colon - r->text);
	memcpy(host, r->text, n);
	host[n] = '\0';
	if (host[0] == '[' && n > 2 && host[n - 1] == ']') {
		memmove(host, host + 1, n - 2);
		host[n - 2] = '\0';
	}
	if (!is_address(host) && (strchr(host, ':') || strchr(host, '[') || !host[0]))
		return false;
	e = diag_error(r->d, CAVE_VALUE, r->at,
		       is_address(host) ? "`%s` joins an address and a port" : "`%s` joins a host name and a port",
		       r->text);
	NOTE(r, e, "write: %s port %s", host, colon[1] == '*' ? "any" : colon + 1);
	return true;
}

static void refuse_brackets(const struct reader *r)
{
	char inner[OPERAND_MAX + 1];
	size_t n = strlen(r->text);
	struct diag *e;

	if (refuse_port_suffix(r))
		return;
	e = value_error(r, "brackets belong to URLs");
	if (n > 2 && r->text[n - 1] == ']') {
		memcpy(inner, r->text + 1, n - 2);
		inner[n - 2] = '\0';
		if (is_address(inner))
			NOTE(r, e, "write: %s", inner);
	}
}

/* Names of hosts, and what is neither a name nor an address. */
static void refuse_name(const struct reader *r)
{
	struct diag *e;

	for (const unsigned char *p = (const unsigned char *)r->text; *p; p++) {
		if (isalnum(*p) || *p >= 0x80 || strchr("_*", *p) || (strchr(".-", *p) && p[1]))
			continue;
		e = value_error(r, "neither an address nor a prefix");
		NOTE(r, e,
		     "addresses look like 192.0.2.9, 192.0.2.0/24, 2001:db8::1 or 2001:db8::/48");
		return;
	}
	e = value_error(r, "it is a host name");
	NOTE(r, e, "write an address of the host");
}

/* What a rule says instead: the host, and the port of the scheme if it is one that everybody knows. */
static void refuse_url(const struct reader *r)
{
	struct diag *e = value_error(r, "a URL names a host and a protocol");
	const char *host = strstr(r->text, "://") + 3;
	size_t n = strcspn(host, "/:?#"), digits = host[n] == ':' ? strspn(host + n + 1, "0123456789") : 0;

	if (strpbrk(host, "@["))
		n = 0; /* a user, or an address of IPv6 */
	if (n && digits)
		NOTE(r, e, "write: %.*s port %.*s", (int)n, host, (int)digits, host + n + 1);
	else if (n)
		NOTE(r, e, "write: %.*s port %s", (int)n, host,
		     !strncmp(r->text, "https:", 6) ? "443" : !strncmp(r->text, "http:", 5) ? "80" : "N");
	else
		NOTE(r, e, "write the host, and `port`");
}

/* True for what is no address at all; the error is recorded. */
static bool refuse_shape(const struct reader *r)
{
	struct diag *e;

	if (!strcmp(r->text, "*")) {
		e = diag_error(r->d, CAVE_EGRESS_UNBOUNDED, r->at, "`*` grants every host");
		NOTE(r, e, "write the addresses that the tool needs");
	} else if (!*r->text || strlen(r->text) > OPERAND_MAX) {
		value_error(r, *r->text ? "too long" : "it is empty");
	} else if (strstr(r->text, "://")) {
		refuse_url(r);
	} else if (strchr(r->text, '%')) {
		e = value_error(r, "a zone id names an interface of one machine");
		NOTE(r, e, "write the address without it: %.*s", (int)strcspn(r->text, "%"),
		     r->text);
	} else if (r->text[0] == '[') {
		refuse_brackets(r);
	} else {
		const char *colon = strchr(r->text, ':');

		/* No IPv6 address has a single colon. */
		return colon && !strchr(colon + 1, ':') && refuse_port_suffix(r);
	}
	return true;
}

/* --- IPv4 ----------------------------------------------------------------- */

/* True if the text is one that inet_aton or a browser would take for an IPv4 address. */
static bool looks_numeric(const char *address)
{
	const char *label = strrchr(address, '.');
	size_t n;

	label = label ? label + 1 : address;
	n = strlen(label);
	if (n >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X'))
		return strspn(label + 2, "0123456789abcdefABCDEF") == n - 2;
	return n ? all_digits(label) : isdigit((unsigned char)address[0]);
}

/* Reads "010.0.0.0" with every octet taken as decimal, which leading zeros put in doubt. */
static bool read_decimal_octets(const char *s, struct net_addr *out)
{
	uint32_t a = 0;

	for (int i = 0; i < 4; i++) {
		unsigned v = 0;
		size_t n = strspn(s, "0123456789");

		if (!n || n > 8)
			return false;
		for (size_t j = 0; j < n; j++)
			v = v * 10 + (unsigned)(s[j] - '0');
		if (v > 255 || s[n] != (i < 3 ? '.' : '\0'))
			return false;
		a = a << 8 | v;
		s += n + 1;
	}
	*out = (struct net_addr){ 0, a };
	return true;
}

static void refuse_v4(const struct reader *r, const char *address)
{
	struct net_addr decimal, classic;
	struct in_addr in;
	bool padded = read_decimal_octets(address, &decimal);
	struct diag *e = value_error(r, padded ? "a leading zero means octal to some readers"
					       : "IPv4 is four decimal numbers from 0 to 255");

	if (padded)
		NOTE(r, e, "read as decimal it is %s", addr_show(NET_V4, decimal).s);
	if (inet_aton(address, &in)) {
		classic = (struct net_addr){ 0, ntohl(in.s_addr) };
		NOTE(r, e, "the C library reads `%s` as %s", address, addr_show(NET_V4, classic).s);
	}
	if (all_digits(address) && strlen(address) <= 3 && strtoul(address, NULL, 10) <= 255)
		NOTE(r, e, "some readers take it for %s.0.0.0", address);
}

/* --- IPv6 ----------------------------------------------------------------- */

/*
 * `2001:db8::1:443` is an address, and is also how one would miswrite a port.  True if its last
 * group is a port that people know, so that it must be written in one of two ways that cannot be
 * confused.
 */
bool egress_reads_as_port(const char *address)
{
	static const char *const known[] = { "22",   "25",   "53",   "80",   "110",  "143",  "389",
					     "443",  "465",  "587",  "636",  "853",  "993",  "1433",
					     "3000", "3128", "3306", "3389", "4317", "4443", "5000",
					     "5432", "5672", "6379", "6443", "8000", "8080", "8443",
					     "8888", "9000", "9090", "9092", "9200", "9418" };
	const char *colon = strrchr(address, ':'), *gap = strstr(address, "::");
	bool match = false;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		match = match || (colon && !strcmp(colon + 1, known[i]));
	return match && gap && gap + 2 <= colon;
}

static bool refuse_ambiguous_port(const struct reader *r, const char *address, struct net_addr a)
{
	const char *colon = strrchr(address, ':');
	struct diag *e;

	if (!egress_reads_as_port(address))
		return false;
	e = value_error(r, "it may be an address, or an address and a port");
	NOTE(r, e, "for the address write: %x:%x:%x:%x:%x:%x:%x:%x", (unsigned)(a.hi >> 48),
	     (unsigned)(a.hi >> 32) & 0xffff, (unsigned)(a.hi >> 16) & 0xffff,
	     (unsigned)a.hi & 0xffff, (unsigned)(a.lo >> 48), (unsigned)(a.lo >> 32) & 0xffff,
	     (unsigned)(a.lo >> 16) & 0xffff, (unsigned)a.lo & 0xffff);
	NOTE(r, e, "for address and port write: %.*s port %s", (int)(colon - address), address,
	     colon + 1);
	return true;
}

/* One address, without prefix length or range. */
static bool parse_single(const struct reader *r, const char *address, enum net_family *family,
			 struct net_addr *out)
{
	if (strchr(address, ':')) {
		*family = NET_V6;
		if (read_v6(address, out))
			return !refuse_ambiguous_port(r, address, *out);
		if (!refuse_port_suffix(r))
			value_error(r, "it is not an IPv6 address");
		return false;
	}
	*family = NET_V4;
	if (read_v4(address, out))
		return true;
	refuse_v4(r, address);
	return false;
}

/* --- prefixes and ranges -------------------------------------------------- */

/* 255.255.255.0 as a prefix length; -1 if it is no netmask. */
static int netmask_length(const char *s)
{
	struct net_addr mask;

	if (!read_v4(s, &mask))
		return -1;
	for (int length = 0; length <= 32; length++)
		if (addr_prefix(NET_V4, (struct net_addr){ 0, UINT32_MAX }, (unsigned)length)
			    .lo.lo == mask.lo)
			return length;
	return -1;
}

static bool parse_length(const struct reader *r, const char *s, unsigned bits, unsigned *out)
{
	struct diag *e;
	unsigned v = 0;

	if (!all_digits(s) || strlen(s) > 4) {
		e = value_error(r, "a prefix length is a decimal number");
		if (netmask_length(s) >= 0)
			NOTE(r, e, "the netmask %s is /%d", s, netmask_length(s));
		return false;
	}
	for (const char *p = s; *p; p++)
		v = v * 10 + (unsigned)(*p - '0');
	if (v > bits) {
		e = value_error(r, bits == 32 ? "an IPv4 prefix length is at most 32"
					      : "an IPv6 prefix length is at most 128");
		return false;
	}
	if (s[0] == '0' && s[1]) {
		e = value_error(r, "a leading zero means octal to some readers");
		NOTE(r, e, "write: /%u", v);
		return false;
	}
	*out = v;
	return true;
}

static void refuse_host_bits(const struct reader *r, enum net_family family, struct net_addr a,
			     unsigned length)
{
	unsigned bits = family == NET_V4 ? 32 : 128;
	struct addr_range p = addr_prefix(family, a, length);
	struct diag *e = value_error(r, "the address has bits set beyond the prefix");

	NOTE(r, e, "%s/%u is %s addresses; %s is one", addr_show(family, p.lo).s, length,
	     prefix_size(bits - length).s, addr_show(family, a).s);
	if (family == NET_V6 && length <= 32 && a.hi == 0 && a.lo >> 32 == 0xffff)
		NOTE(r, e, "an IPv4 prefix of that length is %s/%u",
		     addr_show(
			     NET_V4,
			     addr_prefix(NET_V4, (struct net_addr){ 0, (uint32_t)a.lo }, length).lo)
			     .s,
		     length);
}

static bool parse_prefix(const struct reader *r, char *text, char *slash, struct net_operand *out)
{
	enum net_family family;
	struct net_addr a;
	struct addr_range p;
	unsigned length;

	*slash = '\0';
	if (!parse_single(r, text, &family, &a) ||
	    !parse_length(r, slash + 1, family == NET_V4 ? 32 : 128, &length))
		return false;
	p = addr_prefix(family, a, length);
	if (net_addr_cmp(p.lo, a)) {
		refuse_host_bits(r, family, a, length);
		return false;
	}
	*out = (struct net_operand){ .family = family, .lo = p.lo, .hi = p.hi };
	return true;
}

static bool parse_range(const struct reader *r, char *text, char *dash, struct net_operand *out)
{
	enum net_family family, last_family;
	struct net_addr lo, hi;
	struct diag *e;

	*dash = '\0';
	if (!parse_single(r, text, &family, &lo) || !parse_single(r, dash + 1, &last_family, &hi))
		return false;
	if (family != last_family) {
		value_error(r, "the two ends are of different families");
		return false;
	}
	if (net_addr_cmp(lo, hi) > 0) {
		e = value_error(r, "it ends before it begins");
		NOTE(r, e, "the other way round it is %s-%s", addr_show(family, hi).s,
		     addr_show(family, lo).s);
		return false;
	}
	*out = (struct net_operand){ .family = family, .lo = lo, .hi = hi };
	return true;
}

/* --- what the address means ----------------------------------------------- */

/*
 * Mapped IPv6 (::ffff:a.b.c.d) is IPv4.  A range that holds all of it among others is of IPv6 only,
 * as ::/0 is; one that holds a part of it among others has no one meaning.
 */
static bool normalise_mapped(const struct reader *r, struct net_operand *o)
{
	struct addr_range range = { o->lo, o->hi };
	struct diag *e;

	if (o->family != NET_V6 || !addr_overlap(range, MAPPED))
		return true;
	if (!addr_within(range, MAPPED)) {
		if (addr_within(MAPPED, range))
			return true;
		e = value_error(r, "it mixes IPv4-mapped addresses, which are IPv4, with IPv6");
		NOTE(r, e, "::ffff:0:0/96 is 0.0.0.0/0; write the IPv4 and the IPv6 part apart");
		return false;
	}
	o->family = NET_V4;
	o->lo = (struct net_addr){ 0, (uint32_t)o->lo.lo };
	o->hi = (struct net_addr){ 0, (uint32_t)o->hi.lo };
	diag_remark(r->d, r->at, "`%s` is IPv4-mapped: read as %s", r->text,
		    addr_show_range(NET_V4, o->lo, o->hi).s);
	return true;
}

/* A connect to 0.0.0.0 or :: reaches loopback, so the text would not say what is granted. */
static bool refuse_unspecified(const struct reader *r, const struct net_operand *o)
{
	struct diag *e;

	if (net_addr_cmp(o->lo, o->hi) || o->lo.hi || o->lo.lo)
		return false;
	e = value_error(r, "a connection to the unspecified address goes to loopback");
	NOTE(r, e, "write `localhost`, or %s", o->family == NET_V4 ? "127.0.0.1" : "::1");
	return true;
}

static size_t both_families(struct net_operand out[2], struct span at, struct net_operand v4,
			    struct net_operand v6)
{
	out[0] = v4;
	out[1] = v6;
	out[0].family = NET_V4;
	out[1].family = NET_V6;
	out[0].at = out[1].at = at;
	return 2;
}

static bool parse_operand(const struct reader *r, struct net_operand *out)
{
	char text[OPERAND_MAX + 1];
	char *slash, *dash;
	enum net_family family;
	struct net_addr a;

	strcpy(text, r->text);
	slash = strchr(text, '/');
	dash = strchr(text, '-');
	if (slash)
		*slash = '\0';
	if (!strchr(text, ':') && !(dash && isdigit((unsigned char)text[0])) &&
	    !looks_numeric(text)) {
		refuse_name(r);
		return false;
	}
	if (dash && !slash)
		return parse_range(r, text, dash, out);
	if (slash)
		return parse_prefix(r, text, slash, out);
	if (!parse_single(r, text, &family, &a))
		return false;
	*out = (struct net_operand){ .family = family, .lo = a, .hi = a };
	return true;
}

size_t egress_parse_address(struct diags *d, const char *text, struct span at,
			    struct net_operand out[2])
{
	const struct reader r = { d, text, at };
	struct net_operand o;

	if (!strcmp(text, "any"))
		return both_families(out, at, (struct net_operand){ .hi = addr_last(NET_V4) },
				     (struct net_operand){ .hi = addr_last(NET_V6) });
	if (!strcmp(text, "localhost"))
		return both_families(
			out, at,
			(struct net_operand){ .lo = { 0, 0x7f000000 }, .hi = { 0, 0x7fffffff } },
			(struct net_operand){ .lo = { 0, 1 }, .hi = { 0, 1 } });
	if (refuse_shape(&r) || !parse_operand(&r, &o) || !normalise_mapped(&r, &o) ||
	    refuse_unspecified(&r, &o))
		return 0;
	o.at = at;
	out[0] = o;
	return 1;
}

/* --- addresses of one's own ----------------------------------------------- */

/* The last unicast address; nothing above it is one's own. */
static struct net_addr last_unicast(enum net_family family)
{
	return family == NET_V4 ? (struct net_addr){ 0, 0xdfffffff }
				: (struct net_addr){ 0xfeffffffffffffff, UINT64_MAX };
}

static bool narrow_local(const struct reader *r, struct net_operand *o)
{
	bool whole = !o->lo.hi && !o->lo.lo && !net_addr_cmp(o->hi, addr_last(o->family));
	struct diag *e;

	if (whole) {
		o->hi = last_unicast(o->family);
		return true;
	}
	if ((o->lo.hi || o->lo.lo) && net_addr_cmp(o->hi, last_unicast(o->family)) <= 0)
		return true;
	e = diag_error(r->d, CAVE_VALUE, r->at, "`%s` holds addresses that no host has as its own", r->text);
	NOTE(r, e, "every local address of the family is %s", o->family == NET_V4 ? "0.0.0.0" : "::");
	return false;
}

size_t egress_parse_local(struct diags *d, const char *text, struct span at,
			  struct net_operand out[2])
{
	const struct reader r = { d, text, at };
	struct net_operand found[2];
	size_t n;

	if (!strcmp(text, "0.0.0.0"))
		text = "0.0.0.0/0";
	else if (!strcmp(text, "::"))
		text = "::/0";
	n = egress_parse_address(d, text, at, found);
	for (size_t i = 0; i < n; i++) {
		if (!narrow_local(&r, &found[i]))
			return 0;
		out[i] = found[i];
	}
	return n;
}

/* --- ports ---------------------------------------------------------------- */

static struct diag *port_error(struct diags *d, const char *text, struct span at, const char *why)
{
	return diag_error(d, CAVE_VALUE, at, "`%s` is not a port: %s", text, why);
}

static void refuse_port_name(struct diags *d, const char *text, struct span at)
{
	static const struct {
		const char *name;
		unsigned port;
	} service[] = { { "http", 80 },	   { "https", 443 }, { "ssh", 22 },
			{ "dns", 53 },	   { "domain", 53 }, { "postgresql", 5432 },
			{ "mysql", 3306 }, { "redis", 6379 } };
	struct diag *e = port_error(d, text, at,
				    "ports are numbers from 1 to 65535, or ranges of them");

	for (size_t i = 0; i < sizeof service / sizeof *service; i++)
		if (!strcmp(service[i].name, text))
			diag_note(d, e, (struct span){ 0 }, "write: port %u", service[i].port);
	if (!strcmp(text, "*"))
		diag_note(d, e, (struct span){ 0 }, "write: port any");
}

/* One number of a port operand, `n` characters long. */
static bool read_port(struct diags *d, const char *text, struct span at, const char *s, size_t n,
		      uint16_t *out)
{
	unsigned long v = 0;
	struct diag *e;

	if (!n || strspn(s, "0123456789") < n) {
		refuse_port_name(d, text, at);
		return false;
	}
	for (size_t i = 0; i < n && v <= 65535; i++)
		v = v * 10 + (unsigned)(s[i] - '0');
	if (v > 65535 || (v == 0 && n == 1)) {
		port_error(d, text, at, "ports go from 1 to 65535");
		return false;
	}
	if (s[0] == '0') {
		e = port_error(d, text, at, "a leading zero means octal to some readers");
		diag_note(d, e, (struct span){ 0 }, "read as decimal it is %lu", v);
		return false;
	}
	*out = (uint16_t)v;
	return true;
}

bool egress_parse_port(struct diags *d, const char *text, struct span at, struct net_ports *out)
{
	const char *dash = strchr(text, '-');
	struct net_ports p;
	struct diag *e;

	if (!strcmp(text, "any")) {
		*out = (struct net_ports){ 1, 65535 };
		return true;
	}
	if (!read_port(d, text, at, text, dash ? (size_t)(dash - text) : strlen(text), &p.lo))
		return false;
	p.hi = p.lo;
	if (dash && !read_port(d, text, at, dash + 1, strlen(dash + 1), &p.hi))
		return false;
	if (p.lo > p.hi) {
		e = port_error(d, text, at, "it ends before it begins");
		diag_note(d, e, (struct span){ 0 }, "the other way round it is %u-%u", p.hi, p.lo);
		return false;
	}
	*out = p;
	return true;
}
