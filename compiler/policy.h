/* SPDX-License-Identifier: MIT */
/*
 * The resolved policy: every name looked up, every value checked, includes folded in.  The set algebra, the
 * generators, the proof, the canonical text and the manifest all read it; nothing writes to it afterwards.
 */
#ifndef CAVE_COMPILER_POLICY_H
#define CAVE_COMPILER_POLICY_H

#include "bpf/netset.h"
#include "bpf/sysrules.h"
#include "cave/artefact.h"
#include "compiler/source.h"

/* An address, prefix or range of one family, as written. */
struct net_operand {
	enum net_family family;
	struct net_addr lo, hi; /* inclusive */
	struct span at;
};

/* A rule as written: what the proof evaluates directly. */
struct net_rule {
	bool allow;
	bool runtimes; /* an allow that no denial binds: of the runtime's own resolver, for the proof */
	bool proto[NET_PROTOS];
	const struct net_operand *to;
	size_t nto;
	const struct net_operand *except; /* of an allow only */
	size_t nexcept;
	const struct net_ports *port;
	size_t nports;
	struct span at;
	line_id line;
};

/* A host name in normal form (compiler/hosts.h), or every name below it. */
struct host_pattern {
	const char *name;
	bool below; /* `*.name`: one or more labels before it, and not the name itself */
	struct span at;
};

/*
 * A rule on host names as written; one on addresses and names is two.  A denial refuses the lookup, so that it has no
 * protocol and no ports.
 */
struct host_rule {
	bool allow;
	bool proto[NET_PROTOS];
	const struct host_pattern *to;
	size_t nto;
	const struct host_pattern *except;
	size_t nexcept;
	const struct net_operand *not_at; /* addresses of `except` */
	size_t nnot_at;
	const struct net_operand *within; /* where answers may be; none: anywhere that is globally reachable */
	size_t nwithin;
	const struct net_ports *port;
	size_t nports;
	struct span at;
	line_id line;
};

/* A line of `expect` about one destination. */
struct connect_expectation {
	bool allow;
	enum net_proto proto;
	enum net_family family;
	struct net_addr to;
	uint16_t port;
	struct span at;
};

/* A line of `expect` about a name: that it may be looked up or, with ports, that its addresses may be reached. */
struct host_expectation {
	bool allow;
	bool connect;
	enum net_proto proto;
	uint16_t port;
	struct host_pattern name; /* one name */
	struct span at;
};

struct env_entry {
	const char *name;
	const char *value; /* NULL: passed from the caller; CAVE_ENV_*_BYTE stand for places */
	const char *set; /* the built-in set that it comes from; NULL: the profile's own */
	struct span at;
};

/*
 * What may be done with a file, or with a folder and all below it; or, with CAVE_FILE_DENY, that nothing may be, or
 * with ONLY_WRITE that nothing may be changed.  There is one rule per path, base and DENY.  The flags are those of the
 * manifest's record: READ, WRITE and EXECUTE say what may be done (the latter two with READ), one of CAVE_FILE_BASES or
 * none where the path begins, OPTIONAL that it may be missing, FOLDER that what may be executed is a folder.
 * compiler/paths.h compares and spells them.
 */
struct file_rule {
	const char *path; /* of a folder slot with the slot's name in front */
	unsigned flags; /* CAVE_FILE_* */
	const char *set; /* the built-in set that it comes from; NULL: the profile's own */
	struct span at; /* of the operand */
};

/* What expect { … } says of files and of the environment: judged by the manifest's records. */
struct grant_expectation {
	bool allow;
	unsigned right; /* CAVE_FILE_READ, WRITE or EXECUTE; 0: a variable of the environment */
	const char *name; /* the path or the variable */
	unsigned flags; /* of the path: a base */
	struct span at;
};

/* What it says of a limit, or of the number of processes: so much can be had (allow), or cannot. */
struct limit_expectation {
	bool allow;
	unsigned limit; /* enum cave_limit; CAVE_LIMITS: max-processes */
	uint64_t value; /* of a limit, 0: without end */
	struct span at;
};

struct policy {
	const char *name;
	struct span at;

	const struct net_rule *net_rule;
	size_t nnet_rules;
	const struct net_rule *listen; /* `to`: local addresses */
	size_t nlistens;
	const struct host_rule *host_rule;
	size_t nhost_rules;
	bool resolver; /* the host's name servers may be reached, port 53 */
	struct span resolver_at;
	bool netlink_route; /* interfaces, addresses and routes may be read */
	struct net_reach bound; /* more than this is unbounded */
	bool net_incomplete; /* a faulty rule was left out: what the others reach together is not what is meant */
	const char *const *credential; /* sorted */
	size_t ncredentials;
	const struct env_entry *env; /* sorted by name */
	size_t nenv;
	const struct file_rule *file; /* grants, then denials; by base and path */
	size_t nfiles;
	bool base_files; /* `system` is readable */
	bool base_syscalls;
	const struct node *const *sys_rule; /* the N_SYS_RULE lines of the profile, without the base's */
	size_t nsys_rules;
	struct cave_limits limits;
	struct span limit_at[CAVE_LIMITS], children_at; /* nowhere: a default */
	bool children; /* it may execute what the files say … */
	unsigned max_processes; /* … in so many other processes */
	bool requires_mounts; /* see CAVE_REQUIRE_MOUNTS */
	unsigned arches; /* bit i: for architecture i of enum sys_arch; 0: for all */

	const struct node *const *nested; /* N_PROFILE nodes */
	size_t nnested;

	/* a bare filter: sys_rule and these, nothing else */
	bool bare;
	struct sys_result refused, unknown;

	const struct node *const *expectation; /* N_EXPECTATION about system calls */
	size_t nexpectations;
	const struct connect_expectation *connect;
	size_t nconnects;
	const struct grant_expectation *grant;
	size_t ngrants;
	const struct limit_expectation *bound_expected;
	size_t nbounds_expected;
	const struct host_expectation *lookup;
	size_t nlookups;
};

static inline bool policy_has_arch(const struct policy *p, unsigned arch)
{
	return p->arches == 0 || (p->arches >> arch & 1);
}

#endif
