/* SPDX-License-Identifier: MIT */
/*
 * What the rules of a policy say, evaluated one by one as they are written: the other side of the
 * proof.  It shares nothing with the set algebra and the generator.
 */
#ifndef CAVE_COMPILER_EGRESS_REFERENCE_H
#define CAVE_COMPILER_EGRESS_REFERENCE_H

#include "bpf/arena.h"
#include "compiler/policy.h"

struct point {
	enum net_family family;
	struct net_addr addr;
	uint16_t port; /* one that it, or what it could be mistaken for, may be granted with */
};

/* Rules, in no order. */
struct rule_list {
	const struct net_rule **rule;
	size_t n;
};

/* Finds the rules that hold an address without reading all of them. */
struct reference {
	const struct policy *policy;
	struct operand_entry *entry[NET_FAMILIES];
	size_t n[NET_FAMILIES];
	const struct operand_entry **hit;
	uint32_t *always; /* rules that concern every address */
	size_t nalways;
	size_t *listed; /* by rule: in which query it was listed last */
	size_t *excepted; /* by rule: in which query an except of it was hit last */
	size_t query;
};

void reference_init(struct reference *ref, struct arena *a, const struct policy *p);

/* The same of the listens of a policy, in place of its rules; for reference_listens() and reference_own(). */
void reference_init_own(struct reference *ref, struct arena *a, const struct policy *p);

/* An empty list with room for every rule. */
struct rule_list reference_list(struct arena *a, const struct policy *p);

/* IPv4-mapped IPv6 is IPv4. */
struct point reference_normal(struct point at);

/*
 * The rules that concern an address: allows that hold it and except neither it nor what it carries,
 * denies of it or of what it carries.
 */
void reference_holding(struct reference *ref, struct point at, struct rule_list *out);

/*
 * The rules with an operand that holds the address, the one before or after it, or one that it
 * carries.
 */
void reference_touching(struct reference *ref, struct point at, struct rule_list *out);

/* The ports of an address that are allowed, a bit for each.  It begins as zero bytes. */
struct port_map {
	uint64_t open[NET_PROTOS][65536 / 64];
	uint32_t used; /* words from the first on that may not be zero */
};

/* Which ports the rules that concern an address allow. */
void reference_judge(const struct rule_list *holding, struct port_map *out);

/* Port 0 can be granted by no rule. */
static inline bool reference_allows(const struct port_map *m, int proto, uint16_t port)
{
	return port && m->open[proto][port / 64] >> port % 64 & 1;
}

/*
 * Whether some denial covers the destination or what it carries, whatever is allowed: of peers that come in, and of
 * name servers.
 */
bool reference_denies(struct reference *ref, int proto, struct point at, uint16_t port);

/* Whether a listen, of which the reference is, holds the endpoint, which is one's own and in normal form. */
bool reference_listens(const struct reference *own, int proto, struct point at, uint16_t port);

/* The listens that hold the address. */
void reference_own(struct reference *own, struct point at, struct rule_list *out);

#endif
