/* SPDX-License-Identifier: MIT */
/* explain lookup, and connect to a name: the answers are those of the record that a run's resolver reads. */
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "bpf/hosts.h"
#include "compiler/egress.h"
#include "compiler/egress_addr.h"
#include "compiler/explain.h"
#include "compiler/hosts.h"
#include "compiler/visible.h"

static const char by_resolver[] = "the run's own resolver, to which the egress programs lead every lookup: it answers "
				  "\"refused by policy\", and nothing leaves the machine";
static const char by_record[] = "the run's own resolver, to which the egress programs lead every lookup";

/* A name that is asked about: what the record says of it, and the rules. */
struct asked {
	struct explanation *x;
	const char *what;
	struct host_pattern name;
	struct hosts record;
};

static struct reason *add(const struct asked *q, enum verdict verdict, const char *why, struct span at,
			  const char *how)
{
	struct reason *r = explain_add(q->x, verdict, q->what, why);

	r->at = at;
	r->how = how;
	return r;
}

static bool parse_name(struct asked *q, const char *text)
{
	struct compile *c = q->x->compile;

	if (!host_is_name(text)) {
		complain("cavec explain: '%s' is no host name", text);
		return false;
	}
	if (!host_parse(&c->diags, &c->arena, text, (struct span){ 0 }, &q->name))
		return false;
	if (q->name.below)
		fputs("cavec explain: a question is about one name, without a star\n", stderr);
	return !q->name.below;
}

/* The record of the manifest; an artefact's was compared with it, byte for byte. */
static bool open_record(struct asked *q)
{
	struct buffer record = { .arena = q->x->arena };

	if (!q->x->compile->set.hosts)
		return false;
	hosts_record(q->x->compile->set.hosts, &record);
	return hosts_open(record.data, record.n, &q->record);
}

/* --- the line ---------------------------------------------------------------------------------------- */

static bool speaks_of(const struct host_pattern *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (host_matches(&list[i], name))
			return true;
	return false;
}

static const struct host_rule *denying(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		if (!p->host_rule[i].allow && speaks_of(p->host_rule[i].to, p->host_rule[i].nto, name))
			return &p->host_rule[i];
	return NULL;
}

static bool rule_has_port(const struct host_rule *r, enum net_proto proto, uint16_t port)
{
	for (size_t i = 0; r->proto[proto] && i < r->nports; i++)
		if (r->port[i].lo <= port && port <= r->port[i].hi)
			return true;
	return false;
}

/* The rule that grants the name, and with a port that port; or, with `excepted`, that would but for its except. */
static const struct host_rule *granting(const struct policy *p, const char *name,
					const struct connect_expectation *port, bool excepted)
{
	for (size_t i = 0; i < p->nhost_rules; i++) {
		const struct host_rule *r = &p->host_rule[i];

		if (r->allow && speaks_of(r->to, r->nto, name) &&
		    speaks_of(r->except, r->nexcept, name) == excepted &&
		    (!port || rule_has_port(r, port->proto, port->port)))
			return r;
	}
	return NULL;
}

/* `*.name` is granted, which is not the name itself. */
static const struct host_rule *granting_below(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->nhost_rules; i++)
		for (size_t k = 0; p->host_rule[i].allow && k < p->host_rule[i].nto; k++)
			if (p->host_rule[i].to[k].below && strcmp(p->host_rule[i].to[k].name, name) == 0)
				return &p->host_rule[i];
	return NULL;
}

static struct span at_of(const struct host_rule *r)
{
	return r ? r->at : (struct span){ 0 };
}

static void add_not_granted(const struct asked *q)
{
	const struct policy *p = &q->x->compile->policy;
	const struct host_rule *excepted = granting(p, q->name.name, NULL, true);
	const struct host_rule *below = granting_below(p, q->name.name);

	if (excepted)
		add(q, VERDICT_REFUSED, "the line that has this name excepts it", excepted->at, by_resolver);
	else if (below)
		add(q, VERDICT_REFUSED, "a wildcard is what is below the name, and not the name itself", below->at,
		    by_resolver);
	else
		add(q, VERDICT_REFUSED, "no line grants this name", (struct span){ 0 }, by_resolver);
}

/* True if the record lets it be looked up; else why not was added. */
static bool is_looked_up(const struct asked *q)
{
	struct host_match match;
	size_t at = 0;

	if (hosts_denied(&q->record, q->name.name)) {
		add(q, VERDICT_REFUSED, "this line denies its lookup, whatever grants it",
		    at_of(denying(&q->x->compile->policy, q->name.name)), by_resolver);
		return false;
	}
	if (hosts_match(&q->record, q->name.name, &at, &match))
		return true;
	add_not_granted(q);
	return false;
}

/* --- lookup ------------------------------------------------------------------------------------------ */

static void add_without_names(const struct asked *q)
{
	const struct compile *c = q->x->compile;

	if (c->policy.resolver)
		add(q, VERDICT_ALLOWED, "this line lets the tool ask the host's name servers, for any name",
		    c->policy.resolver_at, "the egress programs: the name servers of /etc/resolv.conf, port 53");
	else
		add(q, VERDICT_REFUSED, "no line grants names, or the host's name servers; names in /etc/hosts need none",
		    (struct span){ 0 },
		    !c->has_hooks ? "the syscall filter: there is no network" :
				    "the egress programs (cgroup BPF); a line that allows port 53 somewhere still holds");
}

bool explain_lookup(struct explanation *x, int n, char **word)
{
	struct asked q = { .x = x };
	const struct host_rule *rule;

	if (n != 1) {
		fputs("cavec explain: write: lookup NAME\n", stderr);
		return false;
	}
	q.what = arena_printf(x->arena, "lookup %s", word[0]);
	if (strcasecmp(word[0], "localhost") == 0) {
		add(&q, VERDICT_ALLOWED, "the tool's own C library knows it without asking", (struct span){ 0 }, NULL);
		return true;
	}
	if (!parse_name(&q, word[0]))
		return false;
	if (!open_record(&q)) {
		add_without_names(&q);
		return true;
	}
	if (!is_looked_up(&q))
		return true;
	rule = granting(&x->compile->policy, q.name.name, NULL, false);
	add(&q, VERDICT_ALLOWED, "this line grants the name", at_of(rule), by_record);
	return true;
}

/* --- connect ----------------------------------------------------------------------------------------- */

static bool class_has_port(const struct hosts *h, unsigned class, const struct connect_expectation *x)
{
	const uint16_t number = x->proto == NET_TCP ? IPPROTO_TCP : IPPROTO_UDP;
	struct cave_host_ports p;

	for (size_t at = 0; hosts_ports(h, class, &at, &p);)
		if (p.protocol == number && p.lo <= x->port && x->port <= p.hi)
			return true;
	return false;
}

/* " within 10.0.0.0/8, …", or where a name may lead that says nothing of it. */
static const char *place_text(const struct asked *q, const struct host_rule *r)
{
	const char *text = " within";

	if (!r || !r->nwithin)
		return ", wherever its answers are globally reachable and not the host's own";
	for (size_t i = 0; i < r->nwithin; i++)
		text = arena_printf(q->x->arena, "%s%s %s", text, i ? "," : "",
				    addr_show_range(r->within[i].family, r->within[i].lo, r->within[i].hi).s);
	return text;
}

static bool holds(const struct host_place *p, const struct connect_expectation *x)
{
	for (size_t i = 0; i < p->n[x->family]; i++)
		if (net_addr_cmp(p->range[x->family][i].lo, x->to) <= 0 &&
		    net_addr_cmp(x->to, p->range[x->family][i].hi) <= 0)
			return true;
	return false;
}

/* The programs let the address through while it is the name's. */
static bool is_open(const struct asked *q, const struct host_place *place, unsigned class,
		    const struct connect_expectation *x)
{
	return holds(place, x) && !egress_disagrees_live(x, q->x->compile->hook, UINT32_C(1) << class);
}

/* An address beside what is denied, if there is one. */
static bool find_beside(const struct asked *q, struct connect_expectation *x, const struct host_place *place,
			unsigned class)
{
	const struct policy *p = &q->x->compile->policy;

	for (size_t i = 0; i < p->nnet_rules; i++)
		for (size_t k = 0; !p->net_rule[i].allow && k < p->net_rule[i].nto; k++) {
			const struct net_operand *o = &p->net_rule[i].to[k];

			x->family = o->family;
			x->to = o->lo;
			if (o->lo.hi || o->lo.lo)
				x->to = addr_previous(o->lo);
			if (is_open(q, place, class, x))
				return true;
			x->to = net_addr_cmp(o->hi, addr_last(o->family)) ? addr_next(o->hi) : o->hi;
			if (is_open(q, place, class, x))
				return true;
		}
	return false;
}

/* An address of the place that is open; false if there is none. */
static bool find_open(const struct asked *q, struct connect_expectation *x, const struct host_place *place,
		      unsigned class)
{
	for (int f = 0; f < NET_FAMILIES; f++)
		for (size_t i = 0; i < place->n[f]; i++) {
			x->family = (enum net_family)f;
			x->to = place->range[f][i].lo;
			if (is_open(q, place, class, x))
				return true;
		}
	return find_beside(q, x, place, class);
}

static void add_connect(const struct asked *q, const struct connect_expectation *port)
{
	const struct policy *p = &q->x->compile->policy;
	const struct host_set *set = q->x->compile->set.hosts;
	const struct host_rule *rule = granting(p, q->name.name, port, false);
	struct connect_expectation open = *port;
	struct host_match match;
	bool has_port = false;

	for (size_t at = 0; hosts_match(&q->record, q->name.name, &at, &match);) {
		if (!class_has_port(&q->record, match.class, port))
			continue;
		has_port = true;
		if (!find_open(q, &open, &set->place[match.place], match.class))
			continue;
		add(q, VERDICT_ALLOWED, arena_printf(q->x->arena, "this line grants the name%s", place_text(q, rule)),
		    at_of(rule),
		    arena_printf(q->x->arena,
				 "the run's own resolver, and the egress programs (cgroup BPF): they let an address "
				 "through, such as %s, while it is the name's",
				 addr_show(open.family, open.to).s));
		return;
	}
	if (has_port)
		add(q, VERDICT_REFUSED, "denials by address cover all that the name may lead to", at_of(rule),
		    "the egress programs (cgroup BPF), with EPERM");
	else
		add(q, VERDICT_REFUSED, "the line that grants this name is for other ports",
		    at_of(granting(p, q->name.name, NULL, false)), "the egress programs (cgroup BPF), with EPERM");
}

bool explain_connect_name(struct explanation *x, const char *what, char **word)
{
	struct asked q = { .x = x, .what = what };
	struct diags *d = &x->compile->diags;
	struct connect_expectation port = { .allow = true };
	struct net_ports number;

	port.proto = strcmp(word[0], "udp") == 0 ? NET_UDP : NET_TCP;
	if (!parse_name(&q, word[1]) || !egress_parse_port(d, word[3], (struct span){ 0 }, &number))
		return false;
	port.port = number.lo;
	if (!open_record(&q))
		add(&q, x->compile->policy.resolver ? VERDICT_DEPENDS : VERDICT_REFUSED,
		    "no line grants names; whether an address may be reached is a question about the address",
		    (struct span){ 0 }, NULL);
	else if (is_looked_up(&q))
		add_connect(&q, &port);
	return true;
}

/* --- addresses --------------------------------------------------------------------------------------- */

static const char *name_text(const struct explanation *x, const struct host_name *n)
{
	return arena_printf(x->arena, "%s%s", n->below ? "*." : "", n->name);
}

void explain_by_name(struct explanation *x, const char *what, const struct connect_expectation *port)
{
	const struct host_set *set = x->compile->set.hosts;
	const struct host_grant *g;
	const struct host_rule *r = NULL;
	struct asked q = { .x = x, .what = what };

	if (!set)
		return;
	if (port->port == 53) {
		add(&q, VERDICT_DEPENDS, "it is led to the run's own resolver, and not to this address", (struct span){ 0 },
		    by_record);
		return;
	}
	g = egress_led_there(port, x->compile->hook, set);
	if (!g)
		return;
	for (size_t k = 0; k < x->compile->policy.nhost_rules && !r; k++)
		if (x->compile->policy.host_rule[k].line == g->line)
			r = &x->compile->policy.host_rule[k];
	add(&q, VERDICT_DEPENDS,
	    arena_printf(x->arena, "it is reached while a lookup of %s leads there", name_text(x, &g->name)), at_of(r),
	    "the egress programs (cgroup BPF), and the addresses that the runtime shows them");
}
