/* SPDX-License-Identifier: MIT */
#include "runtime/refused/refused.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <string.h>

#include "cave/hooks.h"

static uint32_t words_of(const struct cave_rule *rule)
{
	return rule->of & CAVE_RULE_SIX ? 4 : 1;
}

/* How many words the addresses take. */
static uint32_t address_words(const struct cave_rule *rule)
{
	return words_of(rule) * (rule->prefix ? 1 : 2);
}

static bool have_words(const struct cave_rule *rule, size_t n, size_t words)
{
	for (size_t i = 0; i < n; i++)
		if (rule[i].to > words || words - rule[i].to < address_words(&rule[i]) + rule[i].ports)
			return false;
	return true;
}

void rules_open(const struct artefact *a, struct rules *out)
{
	const struct artefact_section *s = artefact_section(a, "cave.rules");
	const char *data = s ? s->data : NULL;
	const struct cave_rule *rule;
	struct cave_rules head;
	size_t size;

	*out = (struct rules){ .n = 0, .hosts = a->host_record != NULL };
	if (!s || s->size < sizeof head)
		return;
	memcpy(&head, data, sizeof head);
	size = sizeof head + (size_t)head.rules * sizeof *rule;
	if (head.rules > CAVE_RULES_MAX || s->size < size || (uintptr_t)data % 8)
		return;
	if ((s->size - size) / sizeof(uint32_t) < head.words)
		return;
	rule = (const struct cave_rule *)(const void *)(data + sizeof head);
	out->word = (const uint32_t *)(const void *)(data + size);
	size += head.words * sizeof(uint32_t);
	out->names = data + size;
	out->names_size = s->size - size;
	if (head.rules && (!out->names_size || out->names[out->names_size - 1]))
		return;
	if (!have_words(rule, head.rules, head.words))
		return;
	out->rule = rule;
	out->n = head.rules;
}

uint32_t rules_address(const struct rules *r, const struct cave_rule *rule, bool last, uint32_t out[4])
{
	const uint32_t n = words_of(rule), *word = r->word + rule->to + (last && !rule->prefix ? n : 0);

	for (uint32_t w = 0; w < n; w++) {
		/* So many of the word's bits are the prefix's. */
		const uint32_t before = 32 * w, length = rule->prefix ? rule->prefix - 1u : UINT32_MAX;
		const uint32_t bits = length > before ? length - before : 0;

		out[w] = word[w] | (last && bits < 32 ? UINT32_MAX >> bits : 0);
	}
	return n;
}

unsigned rules_port(const struct rules *r, const struct cave_rule *rule, unsigned i, bool last)
{
	const uint32_t range = r->word[rule->to + address_words(rule) + i];

	return last ? range & UINT16_MAX : range >> 16;
}

const char *rules_file(const struct rules *r, const struct cave_rule *rule)
{
	const char *name = r->names, *end = name + r->names_size;

	for (unsigned i = 0; i < rule->file && name < end; i++)
		name += strlen(name) + 1;
	return name < end ? name : "";
}

/* An address in host order, as rules have it. */
struct address {
	bool six;
	uint32_t word[4];
};

static struct address address_of(const struct cave_denial *d)
{
	struct address a = { .six = true };

	for (int w = 0; w < 4; w++)
		a.word[w] = ntohl(d->word[w]);
	if (!a.word[0] && !a.word[1] && a.word[2] == 0xffff)
		a = (struct address){ false, { 0, 0, 0, a.word[3] } };
	return a;
}

static int compare(const uint32_t *a, const uint32_t *b, uint32_t n)
{
	for (uint32_t w = 0; w < n; w++)
		if (a[w] != b[w])
			return a[w] < b[w] ? -1 : 1;
	return 0;
}

static bool holds_address(const struct rules *r, const struct cave_rule *rule, const struct address *a)
{
	uint32_t first[4], last[4];
	const uint32_t n = rules_address(r, rule, false, first), *word = a->word + 4 - n;

	rules_address(r, rule, true, last);
	return !(rule->of & CAVE_RULE_SIX) == !a->six && compare(first, word, n) <= 0 && compare(word, last, n) <= 0;
}

static bool holds_port(const struct rules *r, const struct cave_rule *rule, uint32_t port)
{
	for (unsigned i = 0; i < rule->ports; i++)
		if (rules_port(r, rule, i, false) <= port && port <= rules_port(r, rule, i, true))
			return true;
	return false;
}

static bool holds_protocol(const struct cave_rule *r, uint32_t protocol)
{
	return r->of & (protocol == IPPROTO_TCP ? CAVE_RULE_TCP : protocol == IPPROTO_UDP ? CAVE_RULE_UDP : 0);
}

static bool is_own(const struct cave_denial *d)
{
	return d->hook == CAVE_HOOK_BIND4 || d->hook == CAVE_HOOK_BIND6 || d->hook == CAVE_HOOK_INGRESS;
}

/* How near a grant is: of the reasons that hold, the first. */
static enum reason nearness(const struct rules *r, const struct cave_rule *rule, const struct cave_denial *d,
			    const struct address *a)
{
	bool address = holds_address(r, rule, a), port = holds_port(r, rule, d->port),
	     protocol = holds_protocol(rule, d->protocol);

	if (address && protocol)
		return REASON_PORT;
	if (port && protocol)
		return REASON_ADDRESS;
	return address && port ? REASON_PROTOCOL : REASON_NONE;
}

static const struct cave_rule *find_denial(const struct rules *r, const struct cave_denial *d, const struct address *a)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->rule[i].verb == CAVE_RULE_DENY && holds_address(r, &r->rule[i], a) &&
		    holds_port(r, &r->rule[i], d->port) && holds_protocol(&r->rule[i], d->protocol))
			return &r->rule[i];
	return NULL;
}

struct verdict rules_explain(const struct rules *r, const struct cave_denial *d)
{
	const uint8_t verb = is_own(d) ? CAVE_RULE_LISTEN : CAVE_RULE_ALLOW;
	const struct address a = address_of(d);
	struct verdict v = { REASON_NONE, is_own(d) ? NULL : find_denial(r, d, &a) };
	bool family = false;

	if (v.rule) {
		v.reason = REASON_DENIED;
		return v;
	}
	for (size_t i = 0; i < r->n; i++) {
		enum reason reason = r->rule[i].verb == verb ? nearness(r, &r->rule[i], d, &a) : REASON_NONE;

		family |= r->rule[i].verb == verb && !(r->rule[i].of & CAVE_RULE_SIX) == !a.six;
		if (reason != REASON_NONE && (v.reason == REASON_NONE || reason < v.reason))
			v = (struct verdict){ reason, &r->rule[i] };
	}
	if (!v.rule && !family && r->n && !r->hosts && d->hook != CAVE_HOOK_SOCK_CREATE)
		v.reason = REASON_FAMILY;
	return v;
}

bool rules_grant_tcp(const struct rules *r, const struct cave_denial *d)
{
	const struct address a = address_of(d);

	for (size_t i = 0; i < r->n; i++)
		if (r->rule[i].verb == CAVE_RULE_ALLOW && r->rule[i].of & CAVE_RULE_TCP && holds_address(r, &r->rule[i], &a) &&
		    holds_port(r, &r->rule[i], d->port))
			return true;
	return false;
}
