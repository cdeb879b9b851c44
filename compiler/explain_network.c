/* SPDX-License-Identifier: MIT */
/* explain connect and listen: the answer is that of the emitted programs, the line that of the rules. */
#include <string.h>

#include "compiler/egress.h"
#include "compiler/egress_addr.h"
#include "compiler/egress_reference.h"
#include "compiler/explain.h"
#include "compiler/hosts.h"

static const char *const proto_name[NET_PROTOS] = { "tcp", "udp" };

static bool usage(const char *subject)
{
	fprintf(stderr, "cavec explain: write: %s tcp ADDRESS port N, or udp\n", subject);
	return false;
}

static bool holds_port(const struct net_rule *r, uint16_t port)
{
	for (size_t i = 0; i < r->nports; i++)
		if (r->port[i].lo <= port && port <= r->port[i].hi)
			return true;
	return r->nports == 0; /* a denial of every port */
}

static bool holds_address(const struct net_operand *o, size_t n, const struct connect_expectation *q)
{
	for (size_t i = 0; i < n; i++)
		if (o[i].family == q->family && net_addr_cmp(o[i].lo, q->to) <= 0 && net_addr_cmp(q->to, o[i].hi) <= 0)
			return true;
	return false;
}

/* How near a rule comes to a destination. */
enum nearness { FAR, OTHER_PROTOCOL, OTHER_PORT, EXCEPTED, MATCHES };

static enum nearness nearness(const struct net_rule *r, const struct connect_expectation *q)
{
	if (!holds_address(r->to, r->nto, q))
		return FAR;
	if (!r->proto[q->proto])
		return OTHER_PROTOCOL;
	if (!holds_port(r, q->port))
		return OTHER_PORT;
	return holds_address(r->except, r->nexcept, q) ? EXCEPTED : MATCHES;
}

/* The rule that comes nearest, of those that allow or of those that deny. */
static const struct net_rule *nearest_rule(const struct net_rule *rule, size_t n, bool allow,
					   const struct connect_expectation *q, enum nearness *out)
{
	const struct net_rule *best = NULL;

	*out = FAR;
	for (size_t i = 0; i < n; i++) {
		enum nearness near = nearness(&rule[i], q);

		if (rule[i].allow == allow && near > *out) {
			*out = near;
			best = &rule[i];
		}
	}
	return best;
}

static struct reason *add_refused(struct explanation *x, const char *what, const struct connect_expectation *q)
{
	static const char *const misses[] = {
		[FAR] = "no line allows this address",
		[OTHER_PROTOCOL] = "the line that has this address is for another protocol",
		[OTHER_PORT] = "the line that allows this address is for other ports",
		[EXCEPTED] = "the line that allows the range excepts this address",
		[MATCHES] = "a denial, or an except, of what this address carries or is turned into covers it",
	};
	const struct policy *p = &x->compile->policy;
	enum nearness near;
	const struct net_rule *deny = nearest_rule(p->net_rule, p->nnet_rules, false, q, &near), *allow;
	struct reason *r;

	if (deny && near == MATCHES) {
		r = explain_add(x, VERDICT_REFUSED, what, "this line denies it");
		r->at = deny->at;
		return r;
	}
	allow = nearest_rule(p->net_rule, p->nnet_rules, true, q, &near);
	r = explain_add(x, VERDICT_REFUSED, what, misses[near]);
	r->at = allow ? allow->at : (struct span){ 0 };
	return r;
}

static bool is_unspecified(const struct connect_expectation *q)
{
	return q->to.hi == 0 && q->to.lo == 0;
}

/* A connect to the unspecified address is one to the loopback address. */
static struct connect_expectation as_judged(struct connect_expectation q)
{
	if (is_unspecified(&q))
		q.to.lo = q.family == NET_V4 ? 0x7f000001 : 1;
	return q;
}

static void add_network(struct explanation *x, const char *what, const struct connect_expectation *q)
{
	struct connect_expectation judged = as_judged(*q);
	const struct hook_program *hook = x->compile->has_hooks ? x->compile->hook : NULL;
	const char *by = egress_disagrees(q, hook);
	const struct policy *p = &x->compile->policy;
	enum nearness near;
	const struct net_rule *rule;
	struct reason *r;

	if (!by) {
		rule = nearest_rule(p->net_rule, p->nnet_rules, true, &judged, &near);
		r = explain_add(x, VERDICT_ALLOWED, what, "this line allows it");
		r->at = rule ? rule->at : (struct span){ 0 };
		r->how = "the egress programs at connect, sendmsg and on packets (cgroup BPF)";
		return;
	}
	r = add_refused(x, what, &judged);
	r->how = hook ? arena_printf(x->arena, "the egress program at %s (cgroup BPF), with EPERM", by) :
			"the syscall filter: no socket of this kind is made (seccomp), with EPERM";
}

/* The host's name servers are known at start only. */
static void add_resolver(struct explanation *x, const char *what)
{
	struct reason *r = explain_add(x, VERDICT_DEPENDS, what,
				       "this line allows it if the address is one of the host's name servers");

	r->at = x->compile->policy.resolver_at;
	r->how = "the egress programs, into which the runtime fills in the addresses of /etc/resolv.conf";
}

bool explain_connect(struct explanation *x, int n, char **word)
{
	struct connect_expectation q;
	const struct node *node;
	const char *what;

	if (n != 4)
		return usage("connect");
	what = arena_printf(x->arena, "connect %s %s %s %s", word[0], word[1], word[2], word[3]);
	if (host_is_name(word[1]) && (strcmp(word[0], "tcp") == 0 || strcmp(word[0], "udp") == 0) &&
	    strcmp(word[2], "port") == 0)
		return explain_connect_name(x, what, word);
	node = explain_parse(x, what);
	if (!node || !egress_parse_expectation(&x->compile->diags, node, &q))
		return false;
	add_network(x, what, &q);
	if (is_unspecified(&q))
		explain_add(x, x->first->verdict, what,
			    "it is turned into a connect to this host's loopback address and judged so");
	if (x->first->verdict == VERDICT_REFUSED && x->compile->policy.resolver &&
	    egress_resolver_reached(&q, x->compile->hook))
		add_resolver(x, what);
	if (x->first->verdict == VERDICT_REFUSED)
		explain_by_name(x, what, &q);
	return true;
}

bool explain_listen(struct explanation *x, int n, char **word)
{
	const struct policy *p = &x->compile->policy;
	struct net_operand at[2];
	struct net_ports port;
	struct connect_expectation q = { 0 };
	struct diags *d = &x->compile->diags;
	enum nearness near;
	const struct net_rule *rule;
	struct reason *r;
	const char *what;

	if (n != 4 || strcmp(word[2], "port") != 0 || (strcmp(word[0], "tcp") != 0 && strcmp(word[0], "udp") != 0))
		return usage("listen");
	what = arena_printf(x->arena, "listen %s %s port %s", word[0], word[1], word[3]);
	if (egress_parse_local(d, word[1], (struct span){ 0 }, at) == 0 ||
	    !egress_parse_port(d, word[3], (struct span){ 0 }, &port))
		return false;
	q = (struct connect_expectation){ .proto = strcmp(word[0], "udp") == 0 ? NET_UDP : NET_TCP,
					  .family = at[0].family, .to = at[0].lo, .port = port.lo };
	rule = nearest_rule(p->listen, p->nlistens, true, &q, &near);
	if (near == MATCHES) {
		r = explain_add(x, VERDICT_ALLOWED, what, "this line allows it");
		r->how = "the egress programs at bind and on packets that come in (cgroup BPF)";
	} else {
		r = explain_add(x, VERDICT_REFUSED, what,
				near == FAR ? "no line listens at this address" : "the line that listens there has other ports");
		r->how = p->nlistens ? "the egress program at bind, with EPERM; and packets that come in (cgroup BPF)" :
				       arena_printf(x->arena, "the syscall filter: without a listen no %s socket takes peers",
						    proto_name[q.proto]);
	}
	r->at = rule ? rule->at : (struct span){ 0 };
	return true;
}
