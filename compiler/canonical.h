/* SPDX-License-Identifier: MIT */
/* The canonical text of a resolved profile: in the language itself, so that compiling it gives the same programs. */
#ifndef CAVE_COMPILER_CANONICAL_H
#define CAVE_COMPILER_CANONICAL_H

#include "bpf/netset.h"
#include "compiler/buffer.h"
#include "compiler/policy.h"

void canonical_text(const struct policy *p, const struct net_set *set, struct buffer *out);

/* The syscalls block of it. */
void canonical_syscalls(const struct policy *p, struct buffer *out);

/* The addresses or names of a rule, several to a line. */
struct canonical_list {
	struct buffer *to;
	size_t line; /* where the line began */
	bool first;
	bool any; /* any range may be named, as in a deny or a listen */
};

/* Begins the next of them. */
void canonical_next(struct canonical_list *l);

/* A range of addresses as a prefix or a range; in several prefixes if it may not be named as one. */
void canonical_range(struct canonical_list *l, enum net_family family, struct net_addr lo, struct net_addr hi);

/* " port { … }" */
void canonical_ports(struct buffer *b, const struct net_portset *set);

#endif
