/* SPDX-License-Identifier: MIT */
/* The part of a diff about denials of addresses that nothing else in a policy names. */
#include <string.h>

#include "compiler/diff.h"
#include "compiler/diff_set.h"
#include "compiler/egress_addr.h"

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

static void add_denials(struct diff *d, enum diff_way way, const struct net_set *from, const struct net_set *what,
			const char *says)
{
	struct net_set left, a = shut_of(from), b = shut_of(what);

	net_set_subtract(d->arena, &a, &b, &left);
	for (int proto = 0; proto < NET_PROTOS; proto++)
		for (int f = 0; f < NET_FAMILIES; f++)
			for (size_t i = 0; i < left.cell[proto][f].n; i++) {
				const struct net_interval *v = &left.cell[proto][f].interval[i];
				const struct net_ports *p = &left.portset[v->ports].range[0];

				diff_add(d, way,
					 arena_printf(d->arena, "%s %s from port %u on: %s", proto_name[proto],
						      addr_show_range((enum net_family)f, v->lo, v->hi).s, p->lo,
						      says));
			}
}

void diff_denials(struct diff *d)
{
	const struct net_set *old = &d->old->set, *new = &d->new->set;

	if (!has_unnamed_peers(old) || !has_unnamed_peers(new))
		return;
	add_denials(d, DIFF_GRANTED, old, new, "no longer denied to peers that no rule names");
	add_denials(d, DIFF_REFUSED, new, old, "denied to peers that no rule names");
}
