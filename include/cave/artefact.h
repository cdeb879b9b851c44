/* SPDX-License-Identifier: MIT */
/*
 * The artefact: what `cavec` writes and `caverun` reads.
 *
 * A little-endian ELF64 relocatable for EM_BPF.  Sections:
 *
 *   cgroup/connect4 …        one egress program each (struct bpf_insn), named as libbpf names hooks
 *   .text                    functions that several of them call (see CAVE_FUNCTIONS)
 *   .rodata.NAME             the contents of the table NAME (see struct cave_map)
 *   .maps, .relSECTION       for libbpf and bpftool, which load the file by them: the definitions of the other
 *                            maps, and which instructions of a program refer to a map
 *   license, .BTF, .BTF.ext  for libbpf, bpftool and the verifier's log
 *   cave.seccomp.ARCH        the syscall filter (struct sock_filter), unfinished: see "patches"
 *   cave.lines               source lines that filters came from (for dump; not in the identity)
 *   cave.seccomp.ARCH.lines  where the filter's instructions came from: struct cave_line_run, in their order
 *   cave.rules               the rules of the network as written, for reports: struct cave_rules, struct cave_rule
 *                            each, words of addresses, the names of their files, each with its NUL; not in the identity
 *   cave.policy              the canonical text of the resolved profile
 *   cave.manifest            everything the runtime needs, in the records below
 *   cave.profile.NAME        a nested profile, as an artefact of its own that has none of these
 *   cave.identity            32 bytes, see cave_identity_sections
 *   cave.digest              32 bytes, the last of the file: SHA-256 of every byte before them
 *
 * All integers are little-endian.  The manifest is a struct cave_manifest_header and then records, each a
 * struct cave_record, `length` bytes of payload, and zero bytes up to a multiple of 8.  Records stand in
 * ascending order of type; a type that is not listed here makes the artefact invalid.
 */
#ifndef CAVE_ARTEFACT_H
#define CAVE_ARTEFACT_H

#include <stdint.h>

#define CAVE_MANIFEST_MAGIC 0x45564143u /* "CAVE" */
#define CAVE_MANIFEST_VERSION 1u
#define CAVE_DIGEST_SIZE 32u
#define CAVE_ARTEFACT_MAX (64u << 20) /* bytes; a larger file is refused unread */

struct cave_manifest_header {
	uint32_t magic;
	uint32_t version;
	uint32_t size; /* of the whole manifest, this header included */
	uint32_t requires; /* CAVE_REQUIRE_* */
};

/* What the host must be able to enforce, beyond what every profile asks for. */
enum {
	CAVE_REQUIRE_EGRESS = 1u << 0, /* load and attach the egress programs */
	CAVE_REQUIRE_MOUNTS = 1u << 1, /* a syscalls line allows a call that the namespace must bound */
};

struct cave_record {
	uint16_t type;
	uint16_t flags;
	uint32_t length; /* of the payload */
};

enum cave_record_type {
	CAVE_RECORD_NAME = 1, /* the profile's name; exactly one */
	CAVE_RECORD_CREDENTIAL = 2, /* the name of an environment variable */
	CAVE_RECORD_ENV_PASS = 3, /* the name of an environment variable */
	CAVE_RECORD_ENV_SET = 4, /* name, NUL, value; flags CAVE_ENV_* */
	CAVE_RECORD_FILE = 5, /* a path; flags CAVE_FILE_* */
	CAVE_RECORD_FILTER = 6, /* struct cave_filter, then its patches; one per architecture */
	CAVE_RECORD_PROGRAM = 7, /* the section name of an egress program */
	CAVE_RECORD_RESOLVER = 8, /* struct cave_resolver_patch, one or more; at most one record */
	CAVE_RECORD_MAP = 9, /* struct cave_map, then its name; the first is map 0 */
	CAVE_RECORD_LIMITS = 10, /* struct cave_limits; at most one record: without it the defaults hold */
	CAVE_RECORD_CHILDREN = 11, /* struct cave_children; at most one record */
	CAVE_RECORD_PROFILE = 12, /* a nested profile: its identity, then its name; ascending by name, none twice */
	CAVE_RECORD_HOSTS = 13, /* struct cave_hosts and what follows it; at most one record */
	CAVE_RECORD_REACH = 14, /* struct cave_reach; exactly one where EGRESS is required, else none */
};

/*
 * How much of the world the grants reach together, as the compiler has measured it: globally reachable IPv4
 * addresses, and /48 networks of IPv6.  The runtime compares it with the operator's limits.
 */
struct cave_reach {
	uint64_t ipv4;
	uint64_t ipv6;
};

/*
 * CAVE_RECORD_ENV_SET, with CAVE_ENV_PLACES: in the value each of these bytes stands for the absolute path of a place;
 * the last one stands before and after the name of a folder slot.
 */
enum { CAVE_ENV_PLACES = 1u << 0 };
#define CAVE_ENV_WORKSPACE_BYTE '\001'
#define CAVE_ENV_TMP_BYTE '\002'
#define CAVE_ENV_HOME_BYTE '\003'
#define CAVE_ENV_SLOT_BYTE '\004'

enum {
	CAVE_FILE_READ = 1u << 0,
	CAVE_FILE_WRITE = 1u << 1, /* always with CAVE_FILE_READ */
	CAVE_FILE_OPTIONAL = 1u << 2, /* may be missing on the host */
	CAVE_FILE_RELATIVE = 1u << 3, /* to the artefact's folder, and must stay in it */
	CAVE_FILE_WORKSPACE = 1u << 4, /* to the workspace; "" or "." is the workspace itself */
	CAVE_FILE_SYSTEM = 1u << 5, /* a part of the built-in set `system` */
	CAVE_FILE_EXECUTE = 1u << 6, /* always with CAVE_FILE_READ; a file, or with CAVE_FILE_FOLDER a folder */
	CAVE_FILE_DENY = 1u << 7, /* nothing of it may be done, whatever grants it; without READ, WRITE, EXECUTE */
	CAVE_FILE_HOME = 1u << 8, /* to the home folder of the user that the tool runs as; "" is it itself */
	CAVE_FILE_TMP = 1u << 9, /* to a private folder that goes with the run; "" is it itself */
	CAVE_FILE_SHM = 1u << 10, /* a private /dev/shm; the path is "" */
	CAVE_FILE_SLOT = 1u << 11, /* to a folder that the host names at the start; the path begins with its name */
	CAVE_FILE_FOLDER = 1u << 12, /* of EXECUTE: the path must lead to a folder, and means all that is in it */
	CAVE_FILE_ONLY_WRITE = 1u << 13, /* of DENY: nothing of it may be changed; what else is granted of it stays */
};

/* Where a path begins; none of them: it is absolute. */
#define CAVE_FILE_BASES \
	(CAVE_FILE_RELATIVE | CAVE_FILE_WORKSPACE | CAVE_FILE_HOME | CAVE_FILE_TMP | CAVE_FILE_SHM | CAVE_FILE_SLOT)

/*
 * What one run may use, a value per limit in the order of bpf/limits.h; 0 stands for no limit.  Times are in
 * milliseconds, sizes in bytes.
 */
enum cave_limit {
	CAVE_LIMIT_TIME, /* from the start of the tool */
	CAVE_LIMIT_CPU_TIME, /* of all threads and processes together */
	CAVE_LIMIT_MEMORY,
	CAVE_LIMIT_TASKS, /* threads and processes together, the tool's first one included */
	CAVE_LIMIT_OUTPUT, /* what is passed on of standard output and standard error together */
	CAVE_LIMIT_OPEN_FILES, /* of each process */
	CAVE_LIMIT_FILE_SIZE, /* of each file */
	CAVE_LIMITS
};

struct cave_limits {
	uint64_t value[CAVE_LIMITS];
};

/*
 * The tool may start the programs of the file grants with CAVE_FILE_EXECUTE: in its own place, or with `max` above 0 in
 * other processes, of which there are never more than that at once.
 */
struct cave_children {
	uint32_t max;
	uint32_t reserved; /* 0 */
};

enum { CAVE_CHILDREN_MAX = 4096 };

/* The next `count` instructions of a filter came from line `line` of cave.lines; 0: from no line of the profile. */
struct cave_line_run {
	uint32_t count;
	uint32_t line;
};

struct cave_filter {
	uint32_t arch; /* AUDIT_ARCH_* */
	uint32_t patches; /* how many struct cave_patch follow */
};

/*
 * A filter is completed at spawn.  An instruction that is a patch has the constant `k` of CAVE_PATCH_UNSET
 * and is given its real one by the runtime.
 */
struct cave_patch {
	uint32_t insn;
	uint32_t kind; /* enum cave_patch_kind */
};

#define CAVE_PATCH_UNSET 0x7fff0000u /* SECCOMP_RET_ALLOW; as a compared value it is never left in place */

enum cave_patch_kind {
	/*
	 * BPF_JMP|BPF_JEQ|BPF_K on the six 32-bit halves of arguments 3, 4 and 5 of execve, low half first,
	 * which the system call does not use: the random value that admits the runtime's own exec only.
	 * Every kind occurs exactly once.
	 */
	CAVE_PATCH_EXEC_0 = 0,
	CAVE_PATCH_EXEC_5 = 5,
	/* BPF_JMP|BPF_JEQ|BPF_K with the tool's own process id (the call concerns the caller itself). */
	CAVE_PATCH_SELF = 6,
	/*
	 * BPF_RET|BPF_K: calls that change the metadata of files (mode, owner, times, extended attributes).
	 * ALLOW where a private read-only mount namespace bounds them, else ERRNO|EPERM.
	 */
	CAVE_PATCH_RET_METADATA = 7,
	/* BPF_RET|BPF_K: signals to another process.  ALLOW where Landlock scopes signals, else ERRNO|EPERM. */
	CAVE_PATCH_RET_SIGNAL = 8,
	CAVE_PATCH_KINDS
};

/*
 * `allow resolver`: the egress programs compare destinations with up to CAVE_RESOLVERS addresses, which are the
 * host's and not in the artefact.  Each comparison is a JMP32 instruction whose constant is
 * CAVE_RESOLVER_UNSET, which no port equals, or 0, until the runtime gives it its value: in host order.
 */
enum { CAVE_RESOLVERS = 3, CAVE_RESOLVER_PORT = 53, CAVE_RESOLVER_UNSET = 0x10000 };

enum cave_resolver_field {
	CAVE_RESOLVER_PORT4 = 0, /* the port, if the slot holds an IPv4 address; else it stays unset */
	CAVE_RESOLVER_ADDRESS4 = 1,
	CAVE_RESOLVER_PORT6 = 2, /* the port, if the slot holds an IPv6 address */
	CAVE_RESOLVER_WORD6 = 3, /* four words, the most significant one first */
	CAVE_RESOLVER_FIELDS = 7,
};

struct cave_resolver_patch {
	uint32_t hook; /* enum cave_hook */
	uint32_t insn;
	uint32_t slot; /* below CAVE_RESOLVERS */
	uint32_t field;
};

/*
 * A map that egress programs refer to: what the runtime creates before it loads them.
 *
 * A program refers to a map by a 16-byte load, BPF_LD|BPF_IMM|BPF_DW.  With src_reg BPF_PSEUDO_MAP_FD the number
 * of the map is in `imm` of the first half, and 0 in the second; with BPF_PSEUDO_MAP_VALUE, which is for arrays of
 * one entry, the offset into the value is in the first, and the number of the map in the second.
 *
 * A map with BPF_F_RDONLY_PROG is a table: an array of one entry whose value is the section .rodata.NAME, written
 * once and frozen.  Every other map is empty at first: an array, a hash, or an LRU hash.
 */
struct cave_map {
	uint32_t type; /* enum bpf_map_type: ARRAY, HASH or LRU_HASH */
	uint32_t key_size, value_size; /* bytes; those of a key are a multiple of 4, those of a value of 8 */
	uint32_t max_entries;
	uint32_t flags; /* BPF_F_RDONLY_PROG, or 0 */
};

/*
 * Functions that several programs call stand in the section CAVE_FUNCTIONS, one after the other, at most
 * CAVE_FUNCTIONS_MAX of them.  The call is BPF_JMP|BPF_CALL with src_reg BPF_PSEUDO_CALL, and in `imm` the function's
 * first instruction, counted from the section's beginning, less one.  Whoever loads a program puts the functions that
 * it calls behind it, in their order.
 */
#define CAVE_FUNCTIONS ".text"
#define CAVE_FUNCTIONS_MAX 8

#define CAVE_MAP_TABLE_PREFIX ".rodata."
#define CAVE_MAP_NAME_MAX 15 /* BPF_OBJ_NAME_LEN, linux/bpf.h, less the NUL */
#define CAVE_MAPS_MAX 32

/*
 * What the egress programs have refused is counted in the map CAVE_DENIALS_MAP, a hash from struct cave_denial to a
 * number of 64 bits; what it had no room for in the one number of the array CAVE_UNCOUNTED_MAP.
 */
#define CAVE_DENIALS_MAP "denials"
#define CAVE_UNCOUNTED_MAP "uncounted"

struct cave_denial {
	uint32_t hook; /* enum cave_hook */
	uint32_t protocol; /* IPPROTO_* */
	uint32_t word[4]; /* of a call: what it names; of a packet: where it goes; in network order, IPv4 as mapped */
	uint32_t port; /* of a new socket, its family */
	uint32_t zero;
};

struct cave_rules {
	uint32_t rules;
	uint32_t words; /* of addresses, in host order */
};

/* One row for each address range of a rule; beyond CAVE_RULES_MAX rows, or ranges of ports, the rest is left out. */
struct cave_rule {
	uint8_t verb; /* enum cave_rule_verb */
	uint8_t of; /* CAVE_RULE_TCP, CAVE_RULE_UDP, CAVE_RULE_SIX */
	uint16_t file; /* which of the names is its file's */
	uint16_t ports; /* how many ranges of them */
	uint16_t prefix; /* 1 + the length of the prefix that the addresses are; 0: they are none */
	uint32_t line;
	/*
	 * The first of the words of its first address, the most significant one; those of the last follow where they are
	 * no prefix, and one for each range of ports, which is CAVE_RULE_PORTS(first, last).
	 */
	uint32_t to;
};

enum {
	CAVE_RULE_TCP = 1 << 0,
	CAVE_RULE_UDP = 1 << 1,
	CAVE_RULE_PROTOCOLS = CAVE_RULE_TCP | CAVE_RULE_UDP,
	CAVE_RULE_SIX = 1 << 2, /* the addresses are IPv6 */
};

#define CAVE_RULE_PORTS(lo, hi) ((uint32_t)(lo) << 16 | (hi))

enum cave_rule_verb { CAVE_RULE_ALLOW, CAVE_RULE_DENY, CAVE_RULE_LISTEN, CAVE_RULE_VERBS };

#define CAVE_RULES_MAX 4096

/*
 * Grants by host name.  The programs keep, per run, the addresses that granted names have at the time, each with
 * when it ends for each of up to CAVE_HOST_CLASSES sets of ports.  After struct cave_hosts follow in turn, each at a
 * multiple of 4 bytes:
 *
 *   classes   struct cave_host_class and its struct cave_host_ports
 *   places    struct cave_host_place, its IPv4 ranges (two words each: first and last address), its IPv6 ranges (eight
 *             words each, the most significant one of an address first), sorted and disjoint
 *   shut      IPv4 ranges as above, which denials by address cover, for whatever port: no name may lead there by a
 *             carrier that only the runtime knows (the operator's NAT64 prefix)
 *   grants    struct cave_host_grant, the granted name, the names that are excepted
 *   denials   a name each
 *
 * A name is a struct cave_host_name and its bytes, in lower case, of at least one label, without a dot at the end.
 */
enum { CAVE_HOST_CLASSES = 16, CAVE_HOST_PLACES = 64, CAVE_HOST_GRANTS = 4096, CAVE_HOST_NAME = 253 };

struct cave_hosts {
	uint32_t classes, places, grants, denials;
	uint32_t shut;
};

struct cave_host_class {
	uint32_t ports; /* how many struct cave_host_ports follow */
};

struct cave_host_ports {
	uint16_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	uint16_t lo, hi; /* inclusive */
	uint16_t zero;
};

enum { CAVE_HOST_ANYWHERE = 1 }; /* no `within`: the host's own addresses are not meant, public or not */

struct cave_host_place {
	uint32_t flags;
	uint32_t v4, v6; /* ranges */
};

struct cave_host_grant {
	uint16_t class, place;
	uint16_t excepts;
	uint16_t zero;
};

enum { CAVE_HOST_BELOW = 1 }; /* the names below this one, and not itself */

struct cave_host_name {
	uint16_t flags;
	uint16_t length; /* of the bytes that follow, padded with zero bytes */
};

/*
 * The policy's identity: SHA-256 over, for each of these that exists and in this order - cave.manifest,
 * cave.policy, the egress programs in the order of the hook table, .text, the tables in the order of their records,
 * cave.seccomp.x86_64, .aarch64, .riscv64 - the section's name with its NUL, its size as uint64_t, and its bytes.
 * No source position is in it.
 */

#endif
