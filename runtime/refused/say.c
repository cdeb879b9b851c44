/* SPDX-License-Identifier: MIT */
#include "runtime/refused/refused.h"

#include <arpa/inet.h>
#include <linux/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cave/hooks.h"
#include "runtime/json.h"

enum { NAME_PORT = 53, DISCARD_PORT = 9 };

struct text {
	char *at;
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->at + t->n, SAY_MAX - t->n, format, ap);
	va_end(ap);
	t->n = n < 0 || t->n + (size_t)n >= SAY_MAX ? SAY_MAX - 1 : t->n + (size_t)n;
}

static const char *const hook_names[CAVE_HOOK_COUNT] = {
#define X(symbol, section, prog_type, attach_type) [CAVE_HOOK_##symbol] = section,
	CAVE_HOOKS(X)
#undef X
};

static const char *hook_name(const struct cave_denial *d)
{
	return d->hook < CAVE_HOOK_COUNT ? strrchr(hook_names[d->hook], '/') + 1 : "?";
}

/* What the tool tried. */
static const char *attempt(const struct cave_denial *d)
{
	switch (d->hook) {
	case CAVE_HOOK_CONNECT4:
	case CAVE_HOOK_CONNECT6:
		return "connect";
	case CAVE_HOOK_SENDMSG4:
	case CAVE_HOOK_SENDMSG6:
	case CAVE_HOOK_EGRESS:
		return "send";
	case CAVE_HOOK_BIND4:
	case CAVE_HOOK_BIND6:
		return d->protocol == IPPROTO_TCP ? "listen" : "bind";
	case CAVE_HOOK_INGRESS:
		return "arrive at";
	default:
		return "socket";
	}
}

static const char *protocol(const struct cave_denial *d, char room[16])
{
	if (d->protocol == IPPROTO_TCP || d->protocol == IPPROTO_UDP)
		return d->protocol == IPPROTO_TCP ? "tcp" : "udp";
	snprintf(room, 16, "%u", d->protocol);
	return room;
}

/* True if it is IPv4. */
static bool address(const struct cave_denial *d, char room[INET6_ADDRSTRLEN])
{
	bool four = !d->word[0] && !d->word[1] && d->word[2] == htonl(0xffff);

	inet_ntop(four ? AF_INET : AF_INET6, four ? &d->word[3] : d->word, room, INET6_ADDRSTRLEN);
	return four;
}

static void put_destination(struct text *t, const struct cave_denial *d)
{
	char room[INET6_ADDRSTRLEN];
	bool four = address(d, room);

	put(t, four ? "%s:%u" : "[%s]:%u", room, d->port);
}

static void put_range(struct text *t, const struct rules *r, const struct cave_rule *rule)
{
	char text[2][INET6_ADDRSTRLEN];
	uint32_t raw[4];

	for (int last = 0; last < 2; last++) {
		const uint32_t n = rules_address(r, rule, last, raw);

		for (uint32_t w = 0; w < n; w++)
			raw[w] = htonl(raw[w]);
		inet_ntop(rule->of & CAVE_RULE_SIX ? AF_INET6 : AF_INET, raw, text[last], sizeof text[last]);
	}
	put(t, strcmp(text[0], text[1]) ? "%s-%s" : "%s", text[0], text[1]);
}

static bool is_lookup(const struct cave_denial *d)
{
	return d->port == NAME_PORT && d->hook != CAVE_HOOK_BIND4 && d->hook != CAVE_HOOK_BIND6 &&
	       d->hook != CAVE_HOOK_INGRESS && d->hook != CAVE_HOOK_SOCK_CREATE;
}

static bool is_bind(const struct cave_denial *d)
{
	return d->hook == CAVE_HOOK_BIND4 || d->hook == CAVE_HOOK_BIND6;
}

bool say_is_probe(const struct rules *r, const struct denied *d)
{
	const struct cave_denial *w = &d->what;

	if (w->protocol != IPPROTO_UDP || (w->hook != CAVE_HOOK_CONNECT4 && w->hook != CAVE_HOOK_CONNECT6))
		return false;
	return w->port == 0 || w->port == DISCARD_PORT || rules_grant_tcp(r, w) || (r->hosts && told_has(r->told, w));
}

/* The first few. */
static void put_ports(struct text *t, const struct rules *r, const struct cave_rule *rule)
{
	enum { SHOWN = 4 };

	put(t, rule->ports > 1 ? " port { " : " port ");
	for (unsigned i = 0; i < rule->ports && i < SHOWN; i++) {
		const unsigned lo = rules_port(r, rule, i, false), hi = rules_port(r, rule, i, true);

		put(t, lo == hi ? "%s%u" : "%s%u-%u", i ? ", " : "", lo, hi);
	}
	put(t, rule->ports > SHOWN ? ", and more }" : rule->ports > 1 ? " }" : "");
}

static void put_line(struct text *t, const struct rules *r, const struct cave_rule *rule)
{
	const char *file = rules_file(r, rule);
	char name[101] = "";

	/* It goes to a terminal. */
	for (size_t i = 0; file[i] && i < sizeof name - 1; i++)
		name[i] = file[i] > ' ' && file[i] <= '~' ? file[i] : '?';
	put(t, "%s:%u", name, rule->line);
}

/* An address of which the same port may be had: what to name in the call. */
static void put_host(struct text *t, const struct rules *r, const struct cave_denial *d, const struct cave_rule *rule)
{
	uint32_t first[4], last[4], n = rules_address(r, rule, false, first);
	char room[INET6_ADDRSTRLEN];

	address(d, room);
	if (!is_bind(d) || (strcmp(room, "::") && strcmp(room, "0.0.0.0")))
		return;
	rules_address(r, rule, true, last);
	if (memcmp(first, last, n * sizeof *first))
		return;
	put(t, "; pass host \"");
	put_range(t, r, rule);
	put(t, "\"");
}

/* No rule on addresses is near. */
static void put_no_rule(struct text *t, const struct rules *r, const struct cave_denial *d, enum reason reason)
{
	char room[INET6_ADDRSTRLEN];

	if (r->hosts && !is_bind(d) && d->hook != CAVE_HOOK_INGRESS && d->hook != CAVE_HOOK_SOCK_CREATE)
		put(t, told_has(r->told, d) ? "; no rule; granted names have this address, with other ports"
					    : "; no rule; no granted name that was looked up has this address");
	else if (reason == REASON_FAMILY)
		put(t, "; no rule names IPv%c", address(d, room) ? '4' : '6');
	else
		put(t, "; no rule");
}

static void put_reason(struct text *t, const struct rules *r, const struct cave_denial *d, const struct verdict *v)
{
	const unsigned protocols = v->rule ? v->rule->of & CAVE_RULE_PROTOCOLS : 0;

	switch (v->reason) {
	case REASON_DENIED:
		put(t, "; ");
		put_line(t, r, v->rule);
		put(t, " denies it");
		return;
	case REASON_FAMILY:
	case REASON_NONE:
		put_no_rule(t, r, d, v->reason);
		return;
	default:
		put(t, "; no rule; ");
		put_line(t, r, v->rule);
		put(t, v->reason == REASON_PROTOCOL ? " grants it by %s, of " : " grants %s ",
		    protocols == CAVE_RULE_TCP ? "tcp" : protocols == CAVE_RULE_UDP ? "udp" : "tcp and udp");
		put_range(t, r, v->rule);
		put_ports(t, r, v->rule);
		if (v->reason == REASON_ADDRESS)
			put_host(t, r, d, v->rule);
	}
}

void say_text(const struct rules *r, const struct denied *d, char text[SAY_MAX])
{
	const struct verdict v = rules_explain(r, &d->what);
	struct text t = { text, 0 };
	char room[16];

	put(&t, "refused by policy: %s %s", attempt(&d->what), protocol(&d->what, room));
	if (d->what.hook != CAVE_HOOK_SOCK_CREATE) {
		put(&t, " ");
		put_destination(&t, &d->what);
	}
	if (d->count > 1)
		put(&t, ", %llu times", (unsigned long long)d->count);
	put_reason(&t, r, &d->what, &v);
	if (is_lookup(&d->what) && v.reason != REASON_DENIED && !r->hosts)
		put(&t, "; a name lookup? grant: allow resolver");
}

static const char *const whys[DENIALS_WHYS] = {
	[DENIALS_NO_RULE] = "no rule",
	[DENIALS_DENIED] = "denied",
	[DENIALS_ELSEWHERE] = "place",
};

void say_lookup(const struct lookup *l, char text[SAY_MAX])
{
	static const char *const reason[DENIALS_WHYS] = {
		[DENIALS_NO_RULE] = "no rule names it",
		[DENIALS_DENIED] = "a rule denies it",
		[DENIALS_ELSEWHERE] = "its addresses are not where the rules say",
	};
	struct text t = { text, 0 };

	put(&t, "refused by policy: lookup %s", l->what.name);
	if (l->count > 1)
		put(&t, ", %llu times", (unsigned long long)l->count);
	put(&t, "; %s", reason[l->what.why]);
}

size_t say_lookup_json(const struct lookup *l, uint64_t milliseconds, char text[SAY_MAX])
{
	struct json j;

	json_begin(&j, text, SAY_MAX - 1);
	json_open(&j, '{');
	json_put_number(&j, "time_ms", milliseconds);
	json_put_string(&j, "hook", "lookup");
	json_put_string(&j, "name", l->what.name);
	json_put_number(&j, "count", l->count - l->logged);
	json_put_boolean(&j, "probe", false);
	json_put_string(&j, "reason", whys[l->what.why]);
	json_close(&j, '}');
	if (!json_end(&j))
		return 0;
	text[j.n] = '\n';
	return j.n + 1;
}

size_t say_json(const struct rules *r, const struct denied *d, uint64_t milliseconds, char text[SAY_MAX])
{
	static const char *const reasons[] = {
		[REASON_NONE] = "no rule",	  [REASON_DENIED] = "denied",	  [REASON_PORT] = "port",
		[REASON_ADDRESS] = "address", [REASON_PROTOCOL] = "protocol", [REASON_FAMILY] = "family",
	};
	const struct verdict v = rules_explain(r, &d->what);
	char room[INET6_ADDRSTRLEN], number[16];
	struct json j;

	address(&d->what, room);
	json_begin(&j, text, SAY_MAX - 1);
	json_open(&j, '{');
	json_put_number(&j, "time_ms", milliseconds);
	json_put_string(&j, "hook", hook_name(&d->what));
	json_put_string(&j, "protocol", protocol(&d->what, number));
	if (d->what.hook != CAVE_HOOK_SOCK_CREATE) {
		json_put_string(&j, "address", room);
		json_put_number(&j, "port", d->what.port);
	}
	json_put_number(&j, "count", d->count);
	json_put_boolean(&j, "probe", say_is_probe(r, d));
	json_put_string(&j, "reason", reasons[v.reason]);
	if (v.rule) {
		char file[101];

		snprintf(file, sizeof file, "%s", rules_file(r, v.rule));
		json_put_string(&j, "file", file);
		json_put_number(&j, "line", v.rule->line);
	}
	if (is_lookup(&d->what) && v.reason != REASON_DENIED && !r->hosts)
		json_put_string(&j, "grant", "allow resolver");
	json_close(&j, '}');
	if (!json_end(&j))
		return 0;
	text[j.n] = '\n';
	return j.n + 1;
}
