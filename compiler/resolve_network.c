/* SPDX-License-Identifier: MIT */
/* network { … }: rules as written become rules on addresses, protocols and ports. */
#include <stdlib.h>
#include <string.h>

#include "cave/artefact.h"
#include "compiler/egress.h"
#include "compiler/hosts.h"
#include "compiler/resolve.h"
#include "compiler/sets.h"
#include "compiler/visible.h"

static const struct span nowhere;
static const char *const rule_names[] = { "allow", "deny", "listen", NULL };
static const char *const proto_names[] = { "tcp", "udp", NULL };

/* A rule while its parts are gathered. */
struct draft {
	struct net_rule rule;
	struct net_operand *to, *except, *within;
	struct host_pattern *host, *host_except;
	struct net_ports *port;
	size_t to_cap, except_cap, port_cap, host_cap, host_except_cap, nwithin, within_cap, nhosts, nhost_excepts;
	const struct node *port_node, *within_node;
	bool failed;
	bool local; /* the addresses are of one's own: a listen */
};

/* Sets and exceptions may spell a name several times; but what is never granted is not read to its end. */
enum { HOST_NAMES_MAX = 4 * CAVE_HOST_GRANTS };

static bool too_many_hosts(struct resolver *r, struct span at)
{
	if (++r->nhost_names == HOST_NAMES_MAX + 1)
		diag_error(r->diags, CAVE_UNSUPPORTED, at,
			   "this is host name number %d of the policy; it may name %d different ones", HOST_NAMES_MAX + 1,
			   CAVE_HOST_GRANTS);
	return r->nhost_names > HOST_NAMES_MAX;
}

/* A name or a wildcard, which has to be bounded if it is granted. */
static void add_host(struct resolver *r, struct draft *w, bool except, const char *text, struct span at)
{
	struct host_pattern pattern;

	if (too_many_hosts(r, at) || !host_parse(r->diags, r->arena, text, at, &pattern) ||
	    (w->rule.allow && !except && !host_bounded(r->diags, &pattern, text)))
		w->failed = true;
	else if (except)
		*ARENA_PUSH(r->arena, w->host_except, w->nhost_excepts, w->host_except_cap) = pattern;
	else
		*ARENA_PUSH(r->arena, w->host, w->nhosts, w->host_cap) = pattern;
}

static void add_text(struct resolver *r, struct draft *w, bool except, const char *text, struct span at)
{
	struct net_operand found[2];
	size_t count;

	if (!w->local && host_is_name(text)) {
		add_host(r, w, except, text, at);
		return;
	}
	if (!w->local && (except || !w->rule.allow) && strcmp(text, "*") == 0) {
		diag_note(r->diags, diag_error(r->diags, CAVE_VALUE, at, "`*` is no destination"), nowhere, "write: any");
		w->failed = true;
		return;
	}
	count = w->local ? egress_parse_local(r->diags, text, at, found) :
			   egress_parse_address(r->diags, text, at, found);
	w->failed |= count == 0;
	for (size_t i = 0; i < count; i++) {
		if (except)
			*ARENA_PUSH(r->arena, w->except, w->rule.nexcept, w->except_cap) = found[i];
		else
			*ARENA_PUSH(r->arena, w->to, w->rule.nto, w->to_cap) = found[i];
	}
}

/* An entry is read as an operand is; a NUL would end it before its time. */
static void add_entry(struct resolver *r, struct draft *w, bool except, const char *text, struct span at)
{
	size_t n = at.end - at.begin;

	if (strlen(text) == n && strcspn(text, " \t,;") == n) {
		add_text(r, w, except, text, at);
		return;
	}
	diag_note(r->diags, diag_error(r->diags, CAVE_SYNTAX, at, "a line of a list is one address or prefix"), nowhere,
		  "a comment begins with '#'");
	w->failed = true;
}

static void add_list(struct resolver *r, struct draft *w, bool except, const struct node *n)
{
	size_t at = 0, before = w->rule.nto + w->rule.nexcept;
	bool failed = w->failed;
	const char *text;
	struct span span;
	uint32_t file;

	w->failed = true;
	if (!r->loader->root) {
		diag_error(r->diags, CAVE_PROFILE_ESCAPES_ROOT, n->at, "this text has no folder to read a list from");
		return;
	}
	file = loader_list(r->loader, n->at.file, n->name, n->text);
	if (!file)
		return;
	check_visible(r->diags, file);
	w->failed = failed;
	while (list_next(r->diags->sources, file, &at, &span, &text))
		add_entry(r, w, except, text, span);
	if (!w->failed && w->rule.nto + w->rule.nexcept == before) {
		diag_error(r->diags, CAVE_VALUE, n->at, "this list is empty: it names no destination");
		w->failed = true;
	}
}

/* <NAME>: the hosts of a built-in set, as if they stood there. */
static void add_set(struct resolver *r, struct draft *w, bool except, const struct node *n)
{
	const struct builtin_set *set = set_find(n->text);
	size_t at = 0;
	const char *text;
	struct span span;
	uint32_t file;

	if (w->local || !set || !set->hosts) {
		w->failed = true;
		if (w->local && set && set->hosts)
			diag_error(r->diags, CAVE_VALUE, n->at, "a listen is at an address of one's own");
		else
			refuse_set(r, n, set);
		return;
	}
	file = sources_add(r->diags->sources, set->shown, set->text, (size_t)(set->end - set->text), n->at, true);
	while (list_next(r->diags->sources, file, &at, &span, &text))
		add_entry(r, w, except, text, span);
}

static void add_address(struct resolver *r, struct draft *w, bool except, const struct node *n)
{
	if (n->kind == N_LIST_FILE) {
		add_list(r, w, except, n);
	} else if (n->kind == N_SET) {
		add_set(r, w, except, n);
	} else {
		add_text(r, w, except, n->text, n->at);
	}
}

/* Calls for each word of an operand that may be a group; an empty group is an error. */
static void add_addresses(struct resolver *r, struct draft *w, bool except, const struct node *n)
{
	if (n->kind != N_GROUP) {
		add_address(r, w, except, n);
		return;
	}
	if (!n->kids) {
		diag_error(r->diags, CAVE_VALUE, n->at, "this list is empty: it names no destination");
		w->failed = true;
	}
	for (const struct node *i = n->kids; i; i = i->next)
		add_address(r, w, except, i);
}

static void add_port(struct resolver *r, struct draft *w, const struct node *n)
{
	struct net_ports ports;

	if (!egress_parse_port(r->diags, n->text ? n->text : "", n->at, &ports)) {
		w->failed = true;
		return;
	}
	*ARENA_PUSH(r->arena, w->port, w->rule.nports, w->port_cap) = ports;
}

static void add_ports(struct resolver *r, struct draft *w, const struct node *clause)
{
	const struct node *n = clause->kids;

	if (w->port_node) {
		diag_note(r->diags, diag_error(r->diags, CAVE_CONTRADICTION, clause->name, "a rule has one 'port'"),
			  w->port_node->name, "the first one is here; several ports are: port { 443, 8443 }");
		w->failed = true;
		return;
	}
	w->port_node = clause;
	if (n->kind != N_GROUP) {
		add_port(r, w, n);
		return;
	}
	if (!n->kids) {
		diag_error(r->diags, CAVE_VALUE, n->at, "this list is empty: it names no port");
		w->failed = true;
	}
	for (const struct node *i = n->kids; i; i = i->next)
		add_port(r, w, i);
}

static void add_proto(struct resolver *r, struct draft *w, const struct node *n)
{
	const char *text = n->text ? n->text : "", *meant;
	struct diag *e;

	for (int i = 0; i < NET_PROTOS; i++)
		if (n->kind == N_WORD && strcmp(text, proto_names[i]) == 0) {
			w->rule.proto[i] = true;
			return;
		}
	w->failed = true;
	if (strcmp(text, "any") == 0) {
		e = diag_error(r->diags, CAVE_VALUE, n->at, "'any' names no protocol");
		diag_note(r->diags, e, nowhere, "write: { tcp, udp }");
		return;
	}
	e = diag_error(r->diags, CAVE_UNKNOWN_NAME, n->at, "'%s' is no protocol of a rule; they are tcp and udp", text);
	meant = nearest(text, proto_names);
	if (meant)
		diag_note(r->diags, e, nowhere, "did you mean '%s'?", meant);
}

static void add_protos(struct resolver *r, struct draft *w, const struct node *n)
{
	if (n->kind != N_GROUP) {
		add_proto(r, w, n);
		return;
	}
	if (!n->kids) {
		diag_error(r->diags, CAVE_VALUE, n->at, "this list is empty: it names no protocol");
		w->failed = true;
	}
	for (const struct node *i = n->kids; i; i = i->next)
		add_proto(r, w, i);
}

/* within …: where the addresses of names may be, beside or instead of the globally reachable ones. */
static void add_place(struct resolver *r, struct draft *w, const struct node *n)
{
	struct net_operand found[2];
	size_t count;

	if (n->kind != N_WORD || host_is_name(n->text)) {
		diag_error(r->diags, CAVE_SYNTAX, n->at, "'within' takes addresses and prefixes");
		w->failed = true;
		return;
	}
	count = egress_parse_address(r->diags, n->text, n->at, found);
	w->failed |= count == 0;
	for (size_t i = 0; i < count; i++) {
		if (!host_place_check(r->diags, &found[i]))
			w->failed = true;
		*ARENA_PUSH(r->arena, w->within, w->nwithin, w->within_cap) = found[i];
	}
}

static void add_within(struct resolver *r, struct draft *w, const struct node *clause)
{
	const struct node *n = clause->kids;

	if (w->within_node) {
		diag_note(r->diags, diag_error(r->diags, CAVE_CONTRADICTION, clause->name, "a rule has one 'within'"),
			  w->within_node->name, "the first one is here");
		w->failed = true;
		return;
	}
	w->within_node = clause;
	if (n->kind != N_GROUP) {
		add_place(r, w, n);
		return;
	}
	if (!n->kids) {
		diag_error(r->diags, CAVE_VALUE, n->at, "this list is empty: it names no address");
		w->failed = true;
	}
	for (const struct node *i = n->kids; i; i = i->next)
		add_place(r, w, i);
}

/* What may not stand beside names, or not without them. */
static void check_hosts(struct resolver *r, struct draft *w, const struct node *rule, size_t noperands)
{
	struct diag *e = NULL;

	if (!w->nhosts && w->within_node)
		e = diag_error(r->diags, CAVE_SYNTAX, w->within_node->name,
			       "'within' says where the addresses of names may be, and this rule has no name");
	else if (!w->nhosts && w->nhost_excepts)
		e = diag_error(r->diags, CAVE_VALUE, w->host_except[0].at, "no name of this rule is excepted by this one");
	else if (w->nhosts && !w->rule.allow && (noperands == 2 || w->port_node)) {
		e = diag_error(r->diags, CAVE_VALUE, rule->at,
			       "a denial by name refuses its lookup, for every protocol and port");
		diag_note(r->diags, e, nowhere, "write: deny NAME");
	}
	w->failed |= e != NULL;
}

static void push_hosts(struct resolver *r, const struct draft *w)
{
	struct host_rule h = { .allow = w->rule.allow, .to = w->host, .nto = w->nhosts, .except = w->host_except,
			       .nexcept = w->nhost_excepts, .not_at = w->except, .nnot_at = w->rule.nexcept,
			       .within = w->within, .nwithin = w->nwithin, .port = w->port,
			       .nports = w->rule.nports, .at = w->rule.at, .line = w->rule.line };

	memcpy(h.proto, w->rule.proto, sizeof h.proto);
	*ARENA_PUSH(r->arena, r->host_rule, r->nhost_rules, r->host_cap) = h;
}

/* allow resolver: the name servers of the host that the tool runs on.  False if the rule is another one. */
static bool resolve_resolver(struct resolver *r, const struct node *n)
{
	const struct node *first = n->kids;
	struct span *at = strcmp(n->text, "allow") == 0 ? &r->resolver_allow : &r->resolver_deny;

	if (first->kind != N_WORD || strcmp(first->text, "resolver") != 0 || strcmp(n->text, "listen") == 0)
		return false;
	if (first->next)
		diag_error(r->diags, CAVE_SYNTAX, first->next->at,
			   "'resolver' has no destination and no port: it is the host's name servers, port 53");
	else if (!at->file)
		*at = n->at;
	return true;
}

/* allow netlink route: a grant of its own, without destination or port.  False if the rule is another one. */
static bool resolve_netlink(struct resolver *r, const struct node *n)
{
	const struct node *first = n->kids, *kind = first->next;
	struct span *at = strcmp(n->text, "allow") == 0 ? &r->netlink_allow : &r->netlink_deny;

	if (first->kind != N_WORD || strcmp(first->text, "netlink") != 0 || strcmp(n->text, "listen") == 0)
		return false;
	if (!kind || kind->kind != N_WORD || strcmp(kind->text, "route") != 0)
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_UNKNOWN_NAME, kind ? kind->at : first->at,
				     "of netlink only 'route' can be named"),
			  nowhere, "write: %s netlink route", n->text);
	else if (kind->next)
		diag_error(r->diags, CAVE_SYNTAX, kind->next->at, "'netlink route' has no destination and no port");
	else if (!at->file)
		*at = n->at;
	return true;
}

/* The operands before the clauses: [protocol] destination. */
static void add_operands(struct resolver *r, struct draft *w, const struct node *rule, size_t count)
{
	const struct node *first = rule->kids;

	if (count == 2) {
		add_protos(r, w, first);
		add_addresses(r, w, false, first->next);
		return;
	}
	if (count > 2) {
		diag_error(r->diags, CAVE_SYNTAX, first->next->next->at,
			   "a rule is: %s PROTOCOL DESTINATION port PORTS", rule->text);
		w->failed = true;
		return;
	}
	add_addresses(r, w, false, first);
	for (int i = 0; i < NET_PROTOS; i++)
		w->rule.proto[i] = true;
	if (w->rule.allow) {
		struct diag *e = diag_error(r->diags, CAVE_SYNTAX, first->at, "%s %s names its protocol",
					    w->local ? "a" : "an", rule->text);

		diag_note(r->diags, e, nowhere, "write: %s tcp …, %s udp … or %s { tcp, udp } …", rule->text, rule->text,
			  rule->text);
		w->failed = true;
	}
}

static void add_clauses(struct resolver *r, struct draft *w, const struct node *clause)
{
	for (; clause; clause = clause->next) {
		if (clause->kind == N_PORT) {
			add_ports(r, w, clause);
		} else if (clause->kind == N_WITHIN) {
			add_within(r, w, clause);
		} else if (w->rule.allow && !w->local) {
			add_addresses(r, w, true, clause->kids);
		} else {
			struct diag *e = diag_error(r->diags, CAVE_SYNTAX, clause->name,
						    "'except' belongs to an allow: a %s has no exceptions",
						    w->local ? "listen" : "denial");

			diag_note(r->diags, e, nowhere, "%s the parts that are meant",
				  w->local ? "name" : "deny");
			w->failed = true;
		}
	}
}

/* Without 'port' a denial covers every port, an allow is an error. */
static void default_ports(struct resolver *r, struct draft *w, const struct node *rule)
{
	struct diag *e;

	if (w->port_node)
		return;
	if (!w->rule.allow) {
		*ARENA_PUSH(r->arena, w->port, w->rule.nports, w->port_cap) = (struct net_ports){ 0, 65535 };
		return;
	}
	e = diag_error(r->diags, CAVE_SYNTAX, rule->at, "%s %s names its ports", w->local ? "a" : "an", rule->text);
	diag_note(r->diags, e, nowhere, "write: … port 443, port { 443, 8000-8010 }, or aloud: port any");
	w->failed = true;
}

static void resolve_rule(struct resolver *r, const struct node *n)
{
	bool local = strcmp(n->text, "listen") == 0;
	struct draft w = {
		.rule = { .allow = local || strcmp(n->text, "allow") == 0, .at = n->at },
		.local = local,
	};
	const struct node *clause = n->kids;
	size_t count = 0;

	if (resolve_netlink(r, n) || resolve_resolver(r, n))
		return;
	for (; clause && clause->kind != N_EXCEPT && clause->kind != N_PORT && clause->kind != N_WITHIN;
	     clause = clause->next)
		count++;
	add_operands(r, &w, n, count);
	add_clauses(r, &w, clause);
	check_hosts(r, &w, n, count);
	default_ports(r, &w, n);
	if (w.failed) {
		r->net_incomplete = true;
		return;
	}
	w.rule.to = w.to;
	w.rule.except = w.except;
	w.rule.port = w.port;
	w.rule.line = sources_line(r->diags->sources, n->at);
	if (w.nhosts)
		push_hosts(r, &w);
	if (!w.rule.nto)
		return;
	if (!local)
		*ARENA_PUSH(r->arena, r->net_rule, r->nnet_rules, r->net_cap) = w.rule;
	else
		*ARENA_PUSH(r->arena, r->listen, r->nlistens, r->listen_cap) = w.rule;
}

static void resolve_word(struct resolver *r, const struct node *value)
{
	struct diag *e;

	if (strcmp(value->text, "false") == 0) {
		scalar_set(r, &r->network, "network", value->text, value->at);
	} else if (strcmp(value->text, "true") == 0 || strcmp(value->text, "any") == 0 ||
		   strcmp(value->text, "*") == 0) {
		e = diag_error(r->diags, CAVE_EGRESS_UNBOUNDED, value->at, "this grants every destination there is");
		diag_note(r->diags, e, nowhere,
			  "name the destinations: network { allow tcp 192.0.2.0/24 port 443 }");
	} else {
		e = diag_error(r->diags, CAVE_VALUE, value->at, "'%s' is neither true, false nor a block of rules",
			       value->text);
		diag_note(r->diags, e, nowhere, "write: network false, or network { … }");
	}
}

void resolve_network(struct resolver *r, const struct node *statement)
{
	const struct node *block = statement->kids;

	if (block->kind != N_BLOCK) {
		resolve_word(r, block);
		return;
	}
	r->network_block = statement->name;
	for (const struct node *n = block->kids; n; n = n->next) {
		if (n->kind != N_STRANGER) {
			resolve_rule(r, n);
			continue;
		}
		stranger(r, n, "network", rule_names);
		r->net_incomplete = true; /* it may be a misspelt denial */
	}
}

static const struct net_rule *first_allow(const struct policy *p)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (p->net_rule[i].allow)
			return &p->net_rule[i];
	return NULL;
}

/* The first grant of the block, whatever it grants; nowhere if there is none. */
static struct span first_grant(const struct resolver *r)
{
	const struct net_rule *allow = first_allow(r->policy);

	if (allow)
		return allow->at;
	if (r->nlistens)
		return r->listen[0].at;
	for (size_t i = 0; i < r->nhost_rules; i++)
		if (r->host_rule[i].allow)
			return r->host_rule[i].at;
	return r->netlink_allow.file ? r->netlink_allow : r->resolver_allow;
}

static bool has_name_port(const struct net_ports *port, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (port[i].lo <= CAVE_RESOLVER_PORT && CAVE_RESOLVER_PORT <= port[i].hi)
			return true;
	return false;
}

/* A grant of port 53 is not led to the run's resolver: who is there answers any name, also one that is denied. */
static struct span name_server_grant(const struct policy *p)
{
	for (size_t i = 0; i < p->nnet_rules; i++)
		if (p->net_rule[i].allow && has_name_port(p->net_rule[i].port, p->net_rule[i].nports))
			return p->net_rule[i].at;
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (p->host_rule[i].allow && has_name_port(p->host_rule[i].port, p->host_rule[i].nports))
			return p->host_rule[i].at;
	return nowhere;
}

/* --- names of one label ---------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct labels {
	const char **name;
	size_t n, cap;
};

static bool is_label(const struct host_pattern *p)
{
	return !p->below && !strchr(p->name, '.');
}

/* Those that the policy grants, in order. */
static struct labels granted_labels(struct resolver *r)
{
	const struct policy *p = r->policy;
	struct labels l = { NULL, 0, 0 };

	for (size_t i = 0; i < p->nhost_rules; i++)
		for (size_t k = 0; p->host_rule[i].allow && k < p->host_rule[i].nto; k++)
			if (is_label(&p->host_rule[i].to[k]))
				*ARENA_PUSH(r->arena, l.name, l.n, l.cap) = p->host_rule[i].to[k].name;
	if (l.n)
		qsort(l.name, l.n, sizeof *l.name, by_text);
	return l;
}

/*
 * No wildcard has names of one label: a denial of one that no line grants denies nothing.  Where it is called like a
 * set of addresses, or nearly like a word of the language, that is not what was meant.
 */
static void check_denied_label(struct resolver *r, const struct labels *granted, const struct host_pattern *p)
{
	const char *meant;
	struct diag *e;

	if (granted->n && bsearch(&p->name, granted->name, granted->n, sizeof *granted->name, by_text))
		return;
	meant = host_meant(p->name);
	if (!meant) {
		diag_remark(r->diags, p->at, "`%s` is a host name here, and no line grants it: nothing is denied",
			    p->name);
		return;
	}
	e = diag_error(r->diags, CAVE_UNKNOWN_NAME, p->at,
		       "`%s` is a host name here, and no line grants it: nothing would be denied", p->name);
	diag_note(r->diags, e, nowhere, "did you mean: deny %s", meant);
}

static void check_labels(struct resolver *r)
{
	const struct labels granted = granted_labels(r);
	const struct policy *p = r->policy;

	for (size_t i = 0; i < p->nhost_rules; i++)
		for (size_t k = 0; k < p->host_rule[i].nto; k++) {
			const struct host_pattern *name = &p->host_rule[i].to[k];

			if (!is_label(name))
				continue;
			if (!p->host_rule[i].allow)
				check_denied_label(r, &granted, name);
			else if (host_called(name->name))
				diag_remark(r->diags, name->at, "`%s` is a host name here, and no set of addresses",
					    name->name);
		}
}

static void check_denied_names(struct resolver *r)
{
	const struct policy *p = r->policy;
	struct span grant = name_server_grant(p);

	for (size_t i = 0; grant.file && i < p->nhost_rules; i++)
		if (!p->host_rule[i].allow) {
			diag_note(r->diags,
				  diag_error(r->diags, CAVE_CONTRADICTION, p->host_rule[i].at,
					     "this name is denied, and a name server may be asked for it"),
				  grant, "port 53 is granted here: what is asked there is known to nobody");
			return;
		}
}

void finish_network(struct resolver *r)
{
	struct policy *p = r->policy;
	struct span grant;

	p->net_rule = r->net_rule;
	p->nnet_rules = r->nnet_rules;
	p->host_rule = r->host_rule;
	p->nhost_rules = r->nhost_rules;
	p->listen = r->listen;
	p->nlistens = r->nlistens;
	p->resolver = r->resolver_allow.file && !r->resolver_deny.file;
	p->resolver_at = r->resolver_allow;
	p->netlink_route = r->netlink_allow.file && !r->netlink_deny.file;
	grant = first_grant(r);
	if (r->network.at.file && grant.file)
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_CONTRADICTION, r->network.at, "network false, beside a grant"),
			  grant, "the grant is here");
	else if (r->network_block.file && !p->nnet_rules && !p->nhost_rules && !grant.file && !r->diags->errors)
		diag_remark(r->diags, r->network_block, "no rule, so no network is granted");
	check_denied_names(r);
	check_labels(r);
	if (p->resolver && p->nhost_rules)
		diag_note(r->diags,
			  diag_error(r->diags, CAVE_CONTRADICTION, r->resolver_allow,
				     "'allow resolver' beside host names: what it answers would be known to nobody"),
			  p->host_rule[0].at, p->host_rule[0].allow ? "granted names are looked up without it"
								    : "it would be asked for this name as well");
}
