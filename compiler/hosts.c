/* SPDX-License-Identifier: MIT */
#include "compiler/hosts.h"

#include <ctype.h>
#include <idn2.h>
#include <stdlib.h>
#include <string.h>

static const struct span nowhere;

enum { NAME_MAX_TEXT = 253, LABEL_MAX = 63 }; /* RFC 1035, 2.3.4, without the root's dot */

/* --- what is a name ------------------------------------------------------------------------------- */

/* inet_aton() and browsers take a name whose last label is a number for an IPv4 address. */
static bool ends_in_number(const char *text)
{
	size_t n = strlen(text);
	const char *end = n && text[n - 1] == '.' ? text + n - 1 : text + n, *label = end;

	while (label > text && label[-1] != '.')
		label--;
	n = (size_t)(end - label);
	if (n >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X'))
		return strspn(label + 2, "0123456789abcdefABCDEF") >= n - 2;
	return n > 0 && strspn(label, "0123456789") >= n;
}

/* "10.0.0.1-10.0.0.9" is a range; every label of it but for the dash is a number. */
static bool is_range(const char *text)
{
	return strspn(text, "0123456789.-") == strlen(text);
}

/*
 * Words that say something in a rule, or that readers think do: taken for a host, `deny tcp` would deny the lookup of
 * one that nobody asks for, and nothing else.
 */
static const struct {
	const char *word, *advice;
} words[] = {
	{ "localhost", "write: localhost" },
	{ "any", "write: any" },
	{ "all", "every address is: any" },
	{ "none", "nothing is granted unless a line says so" },
	{ "tcp", "a protocol stands before a destination, as in: tcp 192.0.2.0/24, tcp any" },
	{ "udp", "a protocol stands before a destination, as in: udp 192.0.2.0/24, udp any" },
	{ "resolver", "it is an operand of its own: allow resolver, deny resolver" },
	{ "netlink", "it is an operand of its own: allow netlink route, deny netlink route" },
	{ "allow", "it begins a rule" },
	{ "deny", "it begins a rule" },
	{ "listen", "it begins a rule: listen tcp 127.0.0.1 port 8080" },
	{ "port", "it stands behind a destination, as in: 192.0.2.1 port 443" },
	{ "except", "it stands behind a destination, as in: 192.0.2.0/24 except 192.0.2.9" },
	{ "within", "it stands behind a name, as in: db.example.com port 5432 within 10.0.0.0/8" },
};

/* What to write instead; NULL: it is no such word. */
static const char *word_advice(const char *text)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i].word, text) == 0)
			return words[i].advice;
	return NULL;
}

/* In the language these are sets of addresses. */
static bool is_word(const char *text)
{
	return !strcmp(text, "localhost") || !strcmp(text, "any");
}

bool host_is_name(const char *text)
{
	if (!*text || !strcmp(text, "*") || is_word(text))
		return false;
	if (strpbrk(text, "/:[]%@~+") || is_range(text))
		return false;
	return !ends_in_number(text) || strchr(text, '*');
}

/* --- its normal form ------------------------------------------------------------------------------ */

static struct diag *bad_name(struct diags *d, struct span at, const char *text, const char *why)
{
	return diag_error(d, CAVE_VALUE, at, "`%s` is not a host name: %s", text, why);
}

/* Why a label cannot stand in a name, or NULL. */
static const char *label_fault(const char *label, size_t n)
{
	if (!n)
		return "a label is empty";
	if (n > LABEL_MAX)
		return "a label is longer than 63 octets";
	if (label[0] == '-' || label[n - 1] == '-')
		return "a label begins or ends with a dash";
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)label[i]) && label[i] != '-' && label[i] != '_')
			return "a label is of letters, digits, dashes and underscores";
	return NULL;
}

static const char *name_fault(const char *name)
{
	const char *why = NULL;

	if (strlen(name) > NAME_MAX_TEXT)
		return "it is longer than 253 octets";
	for (const char *label = name; !why; label += strcspn(label, ".") + 1) {
		why = label_fault(label, strcspn(label, "."));
		if (!label[strcspn(label, ".")])
			break;
	}
	return why;
}

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if (*s & 0x80)
			return false;
	return true;
}

/* A-labels in lower case: by the library where there is anything that is not ASCII, or a label that claims to be one.
 */
static const char *to_ascii(struct arena *a, const char *name, const char **why)
{
	char *out = NULL, *copy = arena_strdup(a, name);
	int rc;

	for (char *c = copy; *c; c++)
		*c = (char)(*c & 0x80 ? *c : tolower((unsigned char)*c));
	if (is_ascii(copy) && !strstr(copy, "xn--"))
		return copy;
	rc = idn2_to_ascii_8z(copy, &out, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (rc != IDN2_OK) {
		*why = arena_strdup(a, idn2_strerror(rc));
		return NULL;
	}
	copy = arena_strdup(a, out);
	idn2_free(out);
	return copy;
}

/* A star is a whole first label, and nothing else. */
static bool parse_star(struct diags *d, const char *text, struct span at, const char **rest)
{
	struct diag *e;

	*rest = text;
	if (!strchr(text, '*'))
		return true;
	if (strncmp(text, "*.", 2) == 0 && text[2] && !strchr(text + 2, '*')) {
		*rest = text + 2;
		return true;
	}
	e = bad_name(d, at, text, "a star stands for one or more whole labels, at the beginning");
	if (strncmp(text, "**.", 3) == 0 && !strchr(text + 3, '*'))
		diag_note(d, e, nowhere, "write: *.%s, which is every name below it, however deep", text + 3);
	else
		diag_note(d, e, nowhere, "write: *.example.com, or name the hosts");
	return false;
}

bool host_parse(struct diags *d, struct arena *a, const char *text, struct span at, struct host_pattern *out)
{
	const char *rest, *name, *why = NULL;
	char *trimmed;
	size_t n;

	if (!parse_star(d, text, at, &rest))
		return false;
	trimmed = arena_strdup(a, rest);
	n = strlen(trimmed);
	if (n > 1 && trimmed[n - 1] == '.')
		trimmed[n - 1] = '\0';
	name = n > 4 * NAME_MAX_TEXT ? NULL : to_ascii(a, trimmed, &why);
	if (!why)
		why = name ? name_fault(name) : "it is longer than 253 octets";
	if (!why && ends_in_number(name))
		why = "its last label is a number, which some readers take for an address";
	if (why) {
		bad_name(d, at, text, why);
		return false;
	}
	/* As a name it would be looked up, and in the canonical text it would be the word. */
	if (rest == text && word_advice(name)) {
		diag_note(d, bad_name(d, at, text, "it is a word of the language"), nowhere, "%s", word_advice(name));
		return false;
	}
	if (!is_ascii(rest))
		diag_remark(d, at, "this name is looked up as %s", name);
	*out = (struct host_pattern){ .name = name, .below = rest != text, .at = at };
	return true;
}

/* --- names of one label ---------------------------------------------------------------------------- */

/* What people call sets of addresses; and names of loopback, none of which a lookup leads there. */
static const struct {
	const char *called, *is;
} ranges_called[] = {
	{ "loopback", "localhost" },
	{ "localhost4", "127.0.0.0/8" },
	{ "localhost6", "::1" },
	{ "ip6-localhost", "::1" },
	{ "ip6-loopback", "::1" },
	{ "internet", "any" },
	{ "public", "any" },
	{ "world", "any" },
	{ "everything", "any" },
	{ "everyone", "any" },
	{ "ip", "any" },
	{ "ipv4", "0.0.0.0/0" },
	{ "inet", "0.0.0.0/0" },
	{ "ipv6", "::/0" },
	{ "inet6", "::/0" },
	{ "private", "{ 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7 }" },
	{ "lan", "{ 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7 }" },
	{ "link-local", "{ 169.254.0.0/16, fe80::/10 }" },
	{ "multicast", "{ 224.0.0.0/4, ff00::/8 }" },
	{ "broadcast", "255.255.255.255" },
	{ "metadata", "169.254.169.254" },
	{ "dns", "resolver" },
	{ "nameserver", "resolver" },
	{ "nameservers", "resolver" },
};

const char *host_called(const char *name)
{
	for (size_t i = 0; i < sizeof ranges_called / sizeof *ranges_called; i++)
		if (strcmp(ranges_called[i].called, name) == 0)
			return ranges_called[i].is;
	return NULL;
}

static const char *word_at(const void *context, size_t i)
{
	(void)context;
	return i < sizeof words / sizeof *words ? words[i].word : NULL;
}

const char *host_meant(const char *name)
{
	const char *called = host_called(name);

	return called ? called : did_you_mean(name, word_at, NULL);
}

/* --- matching ------------------------------------------------------------------------------------- */

/* True if `name` is `base` with at least one label before it. */
static bool is_below(const char *name, const char *base)
{
	size_t n = strlen(name), m = strlen(base);

	return n > m + 1 && name[n - m - 1] == '.' && strcmp(name + n - m, base) == 0;
}

bool host_matches(const struct host_pattern *p, const char *name)
{
	return p->below ? is_below(name, p->name) : strcmp(name, p->name) == 0;
}
