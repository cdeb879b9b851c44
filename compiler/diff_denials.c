/* SPDX-License-Identifier: MIT */
/* The part of a diff about denials of addresses that nothing else in a policy names. */
#include <string.h>

#include "compiler/buffer.h"
#include "compiler/diff.h"
#include "compiler/diff_set.h"
#include "compiler/egress_addr.h"

enum { SHOWN = 12 }; /* ranges of addresses in a text for people */

static const char *const proto_name[NET_PROTOS] = { "tcp", "udp" };

/* True if peers who come in, name servers or granted names may have addresses that no rule names. */
static bool has_unnamed_peers(const struct net_set *s)
{
	return s->resolver || s->hosts || net_set_listens(s, NET_TCP) || net_set_listens(s, NET_UDP);
}

static struct net_set shut_of(const struct net_set *s)
{
	struct net_set out = { .portset = s->portset, .nportsets = s->nportsets };

	memcpy(out.cell, s->shut, sizeof out.cell);
	return out;
}

/* The addresses that one protocol has with one set of ports; returns how many ranges there are. */
static size_t list_ranges(struct arena *a, const struct net_set *set, int proto, uint32_t ports, struct buffer *text,
			  json_t *addresses)
{
	size_t n = 0;

	for (int f = 0; f < NET_FAMILIES; f++)
		for (size_t i = 0; i < set->cell[proto][f].n; i++) {
			const struct net_interval *v = &set->cell[proto][f].interval[i];
			const char *range;

			if (v->ports != ports)
				continue;
			range = arena_strdup(a, addr_show_range((enum net_family)f, v->lo, v->hi).s);
			json_array_append_new(addresses, json_string(range));
			if (n++ < SHOWN)
				buffer_printf(text, "%s%s", n > 1 ? ", " : "", range);
		}
	if (n > SHOWN)
		buffer_printf(text, ", … %s more", addr_count(n - SHOWN).s);
	buffer_add(text, "", 1);
	return n;
}

/* "port any", too, of a denial that names none: it has port 0 as well. */
static const char *ports_text(struct arena *a, const struct net_portset *set)
{
	struct net_ports all = { 1, UINT16_MAX };
	struct net_portset any = { &all, 1 };
	bool every = set->n == 1 && set->range[0].lo <= 1 && set->range[0].hi == UINT16_MAX;

	return diff_ports_text(a, every ? &any : set);
}

/* One entry for each protocol and set of ports. */
static void add_group(struct diff *d, enum diff_way way, const struct net_set *set, int proto, uint32_t ports,
		      const char *says)
{
	struct buffer text = { .arena = d->arena };
	json_t *addresses = json_array();
	size_t n = list_ranges(d->arena, set, proto, ports, &text, addresses);
	struct diff_entry *e;

	if (!n) {
		json_decref(addresses);
		return;
	}
	e = diff_add(d, way, arena_printf(d->arena, "%s %s%s%s %s: %s", proto_name[proto], n > 1 ? "{ " : "", text.data,
					  n > 1 ? " }" : "", ports_text(d->arena, &set->portset[ports]), says));
	json_object_set_new(e->detail, "protocol", json_string(proto_name[proto]));
	json_object_set_new(e->detail, "addresses", addresses);
	json_object_set_new(e->detail, "ports", diff_ports_json(&set->portset[ports]));
}

static void add_denials(struct diff *d, enum diff_way way, const struct net_set *from, const struct net_set *what,
			const char *says)
{
	struct net_set left, a = shut_of(from), b = shut_of(what);

	net_set_subtract(d->arena, &a, &b, &left);
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (uint32_t ports = 0; ports < left.nportsets; ports++)
			add_group(d, way, &left, proto, ports, says);
}

void diff_denials(struct diff *d)
{
	const struct net_set *old = &d->old->set, *new = &d->new->set;

	if (!has_unnamed_peers(old) || !has_unnamed_peers(new))
		return;
	add_denials(d, DIFF_GRANTED, old, new, "no longer denied to peers that no rule names");
	add_denials(d, DIFF_REFUSED, new, old, "denied to peers that no rule names");
}
