/* SPDX-License-Identifier: MIT */
/* Egress: from rules to the exact set, its size, and its proof. */
#ifndef CAVE_COMPILER_EGRESS_H
#define CAVE_COMPILER_EGRESS_H

#include "bpf/hostset.h"
#include "bpf/program.h"
#include "compiler/diag.h"
#include "compiler/policy.h"

/*
 * Parses one address operand as it stands in a profile: an address, a prefix, `localhost` (two operands) or
 * `any` (two operands).  Exactness is the point: host bits set, leading zeros, short or numeric forms, zone
 * ids, mapped prefixes above ::ffff:0:0/96 and so on are errors that show the reading meant; mapped IPv6
 * becomes IPv4 with a remark.  Returns how many operands it wrote to out[2]; 0 after an error was recorded.
 */
size_t egress_parse_address(struct diags *d, const char *text, struct span at, struct net_operand out[2]);

/*
 * Parses one operand of `listen`, an address of one's own.  0.0.0.0 and :: are every local address of their family,
 * `any` those of both, as they are to bind(); a range that holds them beside others, or what is no unicast address,
 * is an error.  Otherwise as above.
 */
size_t egress_parse_local(struct diags *d, const char *text, struct span at, struct net_operand out[2]);

/*
 * Parses a port or a range, `443` or `8000-8010`; `any` is every port from 1 to 65535.  Port 0 is an error.
 * Returns false after an error was recorded.
 */
bool egress_parse_port(struct diags *d, const char *text, struct span at, struct net_ports *out);

/*
 * The exact set of the rules: the union of the allows, each less its own excepts, less the union of the
 * denies; IPv6 prefixes that carry IPv4 lose what an IPv4 deny, or an except of their rule, covers.  Records
 * an error for a range that has no unique reading (64:ff9b:1::/48), holds a metadata address without naming
 * it, or is unbounded.
 * False, and no more said, where a faulty rule was left out.
 */
bool egress_resolve(struct diags *d, struct arena *a, const struct policy *p, struct net_set *out);

/*
 * True if a profile may name the addresses in one operand: a single one, or a range that holds no address
 * that is granted only by itself (link-local, multicast, broadcast, metadata, and what carries that).
 */
bool egress_one_operand(enum net_family family, struct net_addr lo, struct net_addr hi);

/* True if an IPv6 address in this spelling is refused since it could be an address and a port. */
bool egress_reads_as_port(const char *address);

/*
 * Interprets the programs at every boundary of every rule and compares with a direct evaluation of the rules.
 * Returns false with the first counterexample recorded as cave_profile_proof_failed.
 */
bool egress_prove(struct diags *d, const struct policy *p, const struct hook_program *hook);

/* Parses an N_EXPECTATION about a connect.  Returns false after an error was recorded. */
bool egress_parse_expectation(struct diags *d, const struct node *expectation, struct connect_expectation *out);

/* The first hook that does not answer as x->allow says, by name; NULL if all do that a call can meet. */
const char *egress_disagrees(const struct connect_expectation *x, const struct hook_program *hook);

/* The same where the address is one of a granted name now, for these classes (bpf/hosts.h); port 53 is not led away. */
const char *egress_disagrees_live(const struct connect_expectation *x, const struct hook_program *hook,
				  uint32_t classes);

/* True if the programs let the tool connect to the address, should it be a name server of the host (x->allow: any). */
bool egress_resolver_reached(const struct connect_expectation *x, const struct hook_program *hook);

/* A grant of a name by which the tool may connect to the address, by what its lookup may answer; NULL if none is. */
const struct host_grant *egress_led_there(const struct connect_expectation *x, const struct hook_program *hook,
					  const struct host_set *set);

/*
 * Runs the programs on every expectation about a connect; `hook` is NULL for a policy without network, `set` for one
 * without names.  Returns false with each that does not certainly hold recorded as cave_profile_expectation_failed:
 * what an address may come to be, of a name or as a name server, is counted as what it is.
 */
bool egress_expect(struct diags *d, const struct policy *p, const struct hook_program *hook,
		   const struct host_set *set);

#endif
