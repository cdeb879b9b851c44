/* SPDX-License-Identifier: MIT */
/*
 * Host names as they stand in a profile: what is a name, its one normal form, and which wildcards are bounded.
 */
#ifndef CAVE_COMPILER_HOSTS_H
#define CAVE_COMPILER_HOSTS_H

#include "bpf/hostset.h"
#include "bpf/program.h"
#include "compiler/ast.h"
#include "compiler/buffer.h"
#include "compiler/diag.h"
#include "compiler/egress_addr.h"
#include "compiler/policy.h"

/*
 * True if an operand is meant as a host name rather than as an address: nothing in it could be a part of an address
 * or of a URL, and its last label is not a number.  What is neither is left to egress_parse_address(), which says
 * what is wrong with it.
 */
bool host_is_name(const char *text);

/*
 * Parses a host name or `*.` and the name that it must be below.  The normal form is in lower case, in A-labels
 * (RFC 5890), without the dot at the end.  Returns false after an error was recorded.
 */
bool host_parse(struct diags *d, struct arena *a, const char *text, struct span at, struct host_pattern *out);

/*
 * What people call by a name of one label that is no host: `loopback`, `ipv6`, `private`; NULL: nothing.  The second
 * one knows misspelt words of the language as well.
 */
const char *host_called(const char *name);
const char *host_meant(const char *name);

/*
 * Refuses a wildcard that a grant may not have: one with a public suffix at or below its base, or on a zone whose
 * names encode addresses.  Returns false after the error was recorded.
 */
bool host_bounded(struct diags *d, const struct host_pattern *p, const char *text);

/*
 * Refuses a place of `within` that holds a metadata address beside others, or a range of which only single addresses
 * may be named.  Returns false after the error was recorded.
 */
bool host_place_check(struct diags *d, const struct net_operand *place);

/* Where the addresses of a name may be unless its rule says so. */
struct addr_ranges host_public(struct arena *a, enum net_family family);

/* True if a name in normal form is one that the pattern speaks of. */
bool host_matches(const struct host_pattern *p, const char *name);

/* What the rules grant by name, without set.forbidden.  Returns false after an error was recorded. */
bool hosts_resolve(struct diags *d, struct arena *a, const struct policy *p, struct host_set *out);

/*
 * Adds to *reach what granted names may lead to at one time, by the bounds of the runtime: so many addresses of a name,
 * and so many of a run.  They lift no reach above the built-in bounds, which are for what is granted by address.
 * Returns false after an error was recorded: it is more than the policy's bound.
 */
bool hosts_measure(struct diags *d, struct arena *a, const struct policy *p, const struct host_set *set,
		   struct net_reach *reach);

/*
 * Parses an N_EXPECTATION about a lookup, or about a connect to a name; host_is_expected() tells it from one to an
 * address.  Returns false after an error was recorded.
 */
bool host_is_expected(const struct node *expectation);
bool host_parse_expectation(struct diags *d, struct arena *a, const struct node *expectation,
			    struct host_expectation *out);

/*
 * Asks the record of the manifest about every expectation of a name.  Returns false with each that does not hold
 * recorded as cave_profile_expectation_failed.
 */
bool hosts_expect(struct diags *d, struct arena *a, const struct policy *p, const struct host_set *set);

/*
 * Proves the record and the programs of a policy that grants by host name; takes the place of egress_prove(). Returns
 * false with the first counterexample recorded as cave_profile_proof_failed.
 */
bool names_prove(struct diags *d, const struct policy *p, const struct host_set *set,
		 const struct hook_program *hook);

/* The payload of CAVE_RECORD_HOSTS. */
void hosts_record(const struct host_set *set, struct buffer *out);

/* The rules of a canonical `network` block: equal grants have equal text. */
void hosts_canonical(const struct host_set *set, struct buffer *out);

#endif
