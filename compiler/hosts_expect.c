/* SPDX-License-Identifier: MIT */
/* expect { allow|deny lookup NAME; allow|deny connect tcp NAME port N }: asked of the record that the resolver reads.
 */
#include <netinet/in.h>
#include <string.h>

#include "bpf/hosts.h"
#include "compiler/egress.h"
#include "compiler/hosts.h"

static const struct span nowhere;

static bool is_word(const struct node *n, const char *word)
{
	return n && n->kind == N_WORD && strcmp(n->text, word) == 0;
}

bool host_is_expected(const struct node *expectation)
{
	const struct node *proto = expectation->kids->next, *to = proto ? proto->next : NULL;

	return is_word(expectation->kids, "lookup") ||
	       (is_word(expectation->kids, "connect") && (is_word(proto, "tcp") || is_word(proto, "udp")) && to &&
		to->kind == N_WORD && host_is_name(to->text));
}

static bool wrong_form(struct diags *d, const struct node *expectation)
{
	diag_note(d, diag_error(d, CAVE_SYNTAX, expectation->at, "this expects nothing of one name"), nowhere,
		  "write: %s lookup NAME, or: %s connect tcp NAME port N", expectation->text, expectation->text);
	return false;
}

static bool parse_connect(struct diags *d, const struct node *expectation, struct host_expectation *out)
{
	const struct node *proto = expectation->kids->next, *port = proto->next->next;
	struct net_ports ports;

	out->connect = true;
	out->proto = is_word(proto, "tcp") ? NET_TCP : NET_UDP;
	if ((!is_word(proto, "tcp") && !is_word(proto, "udp")) || !is_word(port, "port") || !port->next ||
	    port->next->kind != N_WORD || port->next->next)
		return wrong_form(d, expectation);
	if (!egress_parse_port(d, port->next->text, port->next->at, &ports))
		return false;
	if (ports.lo != ports.hi) {
		diag_error(d, CAVE_VALUE, port->next->at, "an expectation names one name and one port");
		return false;
	}
	out->port = ports.lo;
	return true;
}

bool host_parse_expectation(struct diags *d, struct arena *a, const struct node *expectation,
			    struct host_expectation *out)
{
	const struct node *name = expectation->kids->next;

	*out = (struct host_expectation){ .allow = strcmp(expectation->text, "allow") == 0, .at = expectation->at };
	if (is_word(expectation->kids, "connect")) {
		if (!parse_connect(d, expectation, out))
			return false;
		name = name->next;
	} else if (!name || name->kind != N_WORD || name->next) {
		return wrong_form(d, expectation);
	}
	if (!host_parse(d, a, name->text, name->at, &out->name))
		return false;
	if (out->name.below) {
		diag_error(d, CAVE_VALUE, name->at, "an expectation names one name");
		return false;
	}
	return true;
}

/* True if the record lets the name be looked up and, with ports, its addresses be reached. */
static bool allows(const struct hosts *h, const struct host_expectation *x)
{
	const uint16_t number = x->proto == NET_TCP ? IPPROTO_TCP : IPPROTO_UDP;
	struct host_match match;
	size_t at = 0;

	if (!h || hosts_denied(h, x->name.name))
		return false;
	while (hosts_match(h, x->name.name, &at, &match)) {
		struct cave_host_ports p;
		size_t k = 0;

		if (!x->connect)
			return true;
		while (hosts_ports(h, match.class, &k, &p))
			if (p.protocol == number && p.lo <= x->port && x->port <= p.hi)
				return true;
	}
	return false;
}

/* Where a name server may be asked, whoever that is, any name can be looked up. */
static bool asks_elsewhere(const struct policy *p)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		for (size_t k = 0; p->net_rule[i].allow && k < p->net_rule[i].nports; k++)
			if (p->net_rule[i].port[k].lo <= CAVE_RESOLVER_PORT && CAVE_RESOLVER_PORT <= p->net_rule[i].port[k].hi)
				return true;
	return p->resolver;
}

bool hosts_expect(struct diags *d, struct arena *a, const struct policy *p, const struct host_set *set)
{
	struct buffer record = { .arena = a };
	struct hosts view, *h = NULL;
	bool all = true;

	if (set && p->nlookups) {
		hosts_record(set, &record);
		h = hosts_open(record.data, record.n, &view) ? &view : NULL;
	}
	for (size_t i = 0; i < p->nlookups; i++) {
		const struct host_expectation *x = &p->lookup[i];

		bool other = !x->allow && !x->connect && asks_elsewhere(p);

		if (allows(h, x) == x->allow && !other)
			continue;
		all = false;
		diag_note(d, diag_error(d, CAVE_EXPECTATION_FAILED, x->at, "the policy does not keep this"), nowhere,
			  other	     ? "a name server may be asked: the lookup of %s is %s" :
			  x->connect ? "%s is %s with this port" : "the lookup of %s is %s",
			  x->name.name, x->allow ? "refused" : "granted");
	}
	return all;
}
