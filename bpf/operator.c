/* SPDX-License-Identifier: MIT */
#include "bpf/operator.h"

#include <string.h>

#include "bpf/credentials.h"
#include "cave/artefact.h"

/* Where a reader stands: in one line of the text. */
struct cursor {
	const char *next, *end; /* of the line, without its comment */
	const char *after; /* the line: the next one, or the end of the text */
	unsigned line;
};

/* --- lines and words ------------------------------------------------------------------------------ */

static struct cursor begin(const char *text)
{
	return (struct cursor){ .after = text };
}

static bool next_line(const struct operator_rules *o, struct cursor *c)
{
	const char *all = o->text + o->size, *comment;

	if (c->after == all)
		return false;
	c->next = c->after;
	c->end = memchr(c->next, '\n', (size_t)(all - c->next));
	c->after = c->end ? c->end + 1 : all;
	c->end = c->end ? c->end : all;
	comment = memchr(c->next, '#', (size_t)(c->end - c->next));
	c->end = comment ? comment : c->end;
	c->line++;
	return true;
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t';
}

static bool next_word(struct cursor *c, struct operator_word *out)
{
	while (c->next < c->end && is_blank(*c->next))
		c->next++;
	out->at = c->next;
	while (c->next < c->end && !is_blank(*c->next))
		c->next++;
	out->n = (size_t)(c->next - out->at);
	return out->n != 0;
}

static bool is(const struct operator_word *w, const char *text)
{
	return w->n == strlen(text) && !memcmp(w->at, text, w->n);
}

bool operator_word_same(const struct operator_word *a, const struct operator_word *b)
{
	return a->n == b->n && !memcmp(a->at, b->at, a->n);
}

/* A copy with a NUL at its end; false if it is too long for `out`. */
static bool copy_word(const struct operator_word *w, char out[OPERATOR_WORD_MAX + 1])
{
	if (w->n > OPERATOR_WORD_MAX)
		return false;
	memcpy(out, w->at, w->n);
	out[w->n] = '\0';
	return true;
}

/* --- each kind of line: NULL, or what is wrong ---------------------------------------------------- */

static const char *read_number(struct cursor *c, uint64_t *out)
{
	const char *fault = "a number belongs here, in decimal digits and less than 2^53";
	struct operator_word w;
	uint64_t n = 0;

	if (!next_word(c, &w) || w.n > 16 || (w.n > 1 && *w.at == '0'))
		return fault;
	for (size_t i = 0; i < w.n; i++) {
		if (w.at[i] < '0' || w.at[i] > '9')
			return fault;
		n = n * 10 + (uint64_t)(w.at[i] - '0');
	}
	if (n >> 53)
		return fault;
	*out = n;
	return NULL;
}

static const char *read_limit(struct cursor *c, struct operator_rules *o, bool seen[2])
{
	struct operator_word family = { 0 };
	bool six;

	next_word(c, &family);
	six = is(&family, "ipv6");
	if (!six && !is(&family, "ipv4"))
		return "limit takes ipv4 or ipv6, and a number";
	if (seen[six])
		return "this limit is given twice";
	seen[six] = true;
	return read_number(c, six ? &o->reach_ipv6 : &o->reach_ipv4);
}

static bool is_identity(const struct operator_word *w)
{
	if (w->n != 2 * CAVE_DIGEST_SIZE)
		return false;
	for (size_t i = 0; i < w->n; i++)
		if (!((w->at[i] >= '0' && w->at[i] <= '9') || (w->at[i] >= 'a' && w->at[i] <= 'f')))
			return false;
	return true;
}

static const char *read_trust(struct cursor *c, struct operator_rules *o)
{
	struct operator_word w = { 0 };

	next_word(c, &w);
	if (!is(&w, "listed") && !is_identity(&w))
		return "trust takes 'listed', or an identity of 64 hexadecimal digits in small letters";
	o->listed = true;
	return NULL;
}

static const char *read_record(struct cursor *c, struct operator_rules *o)
{
	if (o->record.n)
		return "record is given twice";
	if (!next_word(c, &o->record) || *o->record.at != '/')
		return "record takes an absolute path";
	return NULL;
}

static const char *read_nat64(struct cursor *c, struct operator_rules *o)
{
	struct operator_word w = { 0 };
	char text[OPERATOR_WORD_MAX + 1];

	next_word(c, &w);
	if (!copy_word(&w, text))
		return "nat64 takes an IPv6 prefix";
	if (o->nnat64 == OPERATOR_NAT64_MAX)
		return "there are more than 8 prefixes of nat64";
	return nat64_read(text, &o->nat64[o->nnat64++]);
}

/* Two rows may say the same, and none may move a variable to another capability. */
static const char *check_row(const struct operator_rules *o, const struct operator_word *capability,
			     const struct operator_word *variable)
{
	struct operator_word known;
	char name[OPERATOR_WORD_MAX + 1];

	if (!copy_word(variable, name) || !env_name_valid(name))
		return "this is no name of an environment variable";
	if (credential_denied(name))
		return "this name is never eligible";
	if (operator_capability(o, name, &known) && !operator_word_same(&known, capability))
		return "this name belongs to another capability";
	return NULL;
}

static const char *read_credential(struct cursor *c, const struct operator_rules *o)
{
	struct operator_word capability, variable;
	const char *fault;

	if (!next_word(c, &capability))
		return "credential takes a capability and its variables";
	for (size_t i = 0; i < capability.n; i++) {
		char ch = capability.at[i];

		if (!(ch == '-' || ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9')))
			return "a capability is named in small letters, digits, - and _";
	}
	if (!next_word(c, &variable))
		return "a capability without a variable";
	do
		fault = check_row(o, &capability, &variable);
	while (!fault && next_word(c, &variable));
	return fault;
}

static const char *read_line(struct cursor *c, struct operator_rules *o, bool limit_seen[2])
{
	struct operator_word word;
	const char *fault;

	if (!next_word(c, &word))
		return NULL;
	if (is(&word, "credential"))
		fault = read_credential(c, o);
	else if (is(&word, "limit"))
		fault = read_limit(c, o, limit_seen);
	else if (is(&word, "trust"))
		fault = read_trust(c, o);
	else if (is(&word, "record"))
		fault = read_record(c, o);
	else if (is(&word, "nat64"))
		fault = read_nat64(c, o);
	else
		return "a line begins with credential, limit, trust, record or nat64";
	return !fault && next_word(c, &word) ? "there is something after the end of this line" : fault;
}

/* --- the whole ------------------------------------------------------------------------------------ */

void operator_defaults(struct operator_rules *out)
{
	*out = (struct operator_rules){ .text = "", .reach_ipv4 = OPERATOR_REACH_IPV4,
					.reach_ipv6 = OPERATOR_REACH_IPV6 };
}

/* A carriage return, a NUL or an escape in a word would be another word than the one that is seen. */
static bool is_plain(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t')
			return false;
	return true;
}

bool operator_read(const char *text, size_t size, struct operator_rules *out, struct operator_error *error)
{
	struct operator_rules o;
	bool limit_seen[2] = { false, false };
	struct cursor c = begin(text);
	const char *fault = NULL;

	operator_defaults(&o);
	o.text = text;
	o.size = size;
	if (size > OPERATOR_SIZE_MAX)
		fault = "the file is larger than 256 KiB";
	else if (!is_plain(text, size))
		fault = "there are control characters in the file";
	while (!fault && next_line(&o, &c))
		fault = read_line(&c, &o, limit_seen);
	if (fault) {
		*error = (struct operator_error){ c.line, fault };
		return false;
	}
	*out = o;
	return true;
}

bool operator_capability(const struct operator_rules *o, const char *name, struct operator_word *out)
{
	struct cursor c = begin(o->text);
	size_t n;
	const struct credential *table = credentials_builtin(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(table[i].name, name)) {
			*out = (struct operator_word){ table[i].capability, strlen(table[i].capability) };
			return true;
		}
	while (next_line(o, &c)) {
		struct operator_word word, capability;

		if (!next_word(&c, &word) || !is(&word, "credential") || !next_word(&c, &capability))
			continue;
		while (next_word(&c, &word))
			if (is(&word, name)) {
				*out = capability;
				return true;
			}
	}
	return false;
}

bool operator_trusts(const struct operator_rules *o, const uint8_t *identity)
{
	struct cursor c = begin(o->text);
	char hex[2 * CAVE_DIGEST_SIZE + 1];
	struct operator_word word;

	for (size_t i = 0; i < CAVE_DIGEST_SIZE; i++) {
		hex[2 * i] = "0123456789abcdef"[identity[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[identity[i] & 15];
	}
	hex[2 * CAVE_DIGEST_SIZE] = '\0';
	if (!o->listed)
		return true;
	while (next_line(o, &c))
		if (next_word(&c, &word) && is(&word, "trust") && next_word(&c, &word) && is(&word, hex))
			return true;
	return false;
}
