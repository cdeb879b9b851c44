/* SPDX-License-Identifier: MIT */
/*
 * A checked view of an artefact (cave/artefact.h): what the runtime, dump and the writer's own test read.
 *
 * The bytes are hostile until artefact_open() has returned true; from then on everything that the view points
 * at lies inside them, is aligned for its type and keeps to the format, so that no reader has to check again.
 */
#ifndef CAVE_BPF_ARTEFACT_H
#define CAVE_BPF_ARTEFACT_H

#include <linux/bpf.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/hosts.h"
#include "cave/artefact.h"
#include "cave/hooks.h"

/*
 * Limits on what one artefact may hold, far above what a compiler writes.  The kernel's own are
 * BPF_MAXINSNS (linux/bpf_common.h) and BPF_COMPLEXITY_LIMIT_INSNS (include/linux/bpf.h).
 */
enum {
	ARTEFACT_SECTIONS_MAX = 96,
	ARTEFACT_MANIFEST_MAX = 1 << 20, /* bytes */
	ARTEFACT_NAME_MAX = 255, /* bytes, of a profile or an environment variable */
	ARTEFACT_PATH_MAX = 4095, /* bytes; PATH_MAX (linux/limits.h) counts the NUL */
	ARTEFACT_ENV_MAX = 1024, /* variables: passed, set and credentials together */
	ARTEFACT_FILES_MAX = 4096,
	ARTEFACT_SLOT_MAX = 64, /* bytes, of the name of a folder slot */
	ARTEFACT_PROGRAM_MAX = 1000000, /* instructions */
	ARTEFACT_NESTED_MAX = 16, /* profiles in one artefact */
	ARTEFACT_MAP_KEY_MAX = 64, /* bytes */
	ARTEFACT_MAP_VALUE_MAX = 4 << 20, /* bytes; what kernels before 5.16 allocate at most (KMALLOC_MAX_SIZE) */
	ARTEFACT_MAP_ENTRIES_MAX = 1 << 20,
	ARTEFACT_MAP_BYTES_MAX = 64 << 20, /* of one map: its entries times their size */
};

/* The architectures that a filter may be for, in the order of the identity. */
enum artefact_arch {
	ARTEFACT_X86_64,
	ARTEFACT_AARCH64,
	ARTEFACT_RISCV64,
	ARTEFACT_ARCHES
};

struct artefact_section {
	const char *name;
	const void *data; /* at a multiple of 8: manifest, filters and their lines, programs */
	size_t size;
};

/* A syscall filter; n is 0 where the artefact has none for that architecture. */
struct artefact_filter {
	const struct sock_filter *insn;
	size_t n;
	const struct cave_patch *patch; /* ascending by insn */
	size_t npatches;
};

struct artefact_program {
	const struct bpf_insn *insn;
	size_t n;
};

/* A map; contents is NULL but for tables. */
struct artefact_map {
	struct cave_map spec;
	char name[CAVE_MAP_NAME_MAX + 1];
	const void *contents; /* value_size bytes, at a multiple of 8 */
};

/* One record of the manifest.  A string is `length` bytes and has no NUL at its end. */
struct artefact_record {
	enum cave_record_type type;
	unsigned flags;
	const char *payload;
	size_t length;
};

struct artefact {
	const uint8_t *data;
	size_t size;
	unsigned requires; /* CAVE_REQUIRE_* */
	const uint8_t *identity; /* CAVE_DIGEST_SIZE bytes, recomputed and equal */
	const uint8_t *around; /* identity of the artefact that this one is nested in; NULL: in none */
	struct artefact_section manifest, policy;
	struct artefact_filter filter[ARTEFACT_ARCHES];
	const struct cave_resolver_patch *resolver; /* where name servers go; of EGRESS only */
	size_t nresolver;
	struct artefact_map map[CAVE_MAPS_MAX]; /* by the numbers in programs */
	size_t nmaps;
	struct cave_reach reach; /* 0 without EGRESS */
	const void *host_record; /* the payload of CAVE_RECORD_HOSTS, or NULL, and its checked view */
	size_t host_record_size;
	struct hosts hosts;
	struct artefact_program program[CAVE_HOOK_COUNT]; /* all of them or, without EGRESS, none */
	struct artefact_program functions; /* that programs call; n is 0 where there are none */
	uint32_t function[CAVE_FUNCTIONS_MAX]; /* where each begins, ascending; the first is 0 */
	size_t nfunctions;
	struct cave_limits limits; /* the defaults where the manifest has none */
	bool children; /* it may execute what the file grants say … */
	unsigned max_children; /* … in so many other processes */
	struct artefact_section section[ARTEFACT_SECTIONS_MAX];
	size_t nsections;
};

/* What is wrong, and where, as one sentence without a full stop. */
struct artefact_error {
	char text[200];
};

/*
 * Checks the `size` bytes at `data`, which must stand at a multiple of 8 and stay unchanged as long as the
 * view is used.  The digest is checked first, and nothing is believed before.  Returns false with *error set,
 * and *out untouched, if anything is not as the format says.  Allocates nothing.
 */
bool artefact_open(const void *data, size_t size, struct artefact *out, struct artefact_error *error);

/*
 * The profile of that name that is nested in `a`: checked as a whole artefact, and against the identity that `a` has
 * for it.  Returns false with *error set, and *out untouched; without a text if there is no such profile.
 */
bool artefact_nested(const struct artefact *a, const char *name, struct artefact *out, struct artefact_error *error);

/* The name in a record of a nested profile, of *n bytes. */
static inline const char *artefact_nested_name(const struct artefact_record *r, size_t *n)
{
	*n = r->length - CAVE_DIGEST_SIZE;
	return r->payload + CAVE_DIGEST_SIZE;
}

/* True if the `n` bytes are the name of a folder slot: letters, digits, dashes and underscores. */
bool artefact_slot_valid(const char *s, size_t n);

/* The section of that name, or NULL. */
const struct artefact_section *artefact_section(const struct artefact *a, const char *name);

/* The manifest's records in turn: *at is 0 before the first; false after the last. */
bool artefact_next(const struct artefact *a, size_t *at, struct artefact_record *out);

/*
 * A program as it is loaded: its own instructions, which are the first piece, and behind them the functions that it
 * calls.  Each piece is `n` instructions from `from` of its section on, and stands at `at`.
 */
struct artefact_whole {
	struct artefact_piece {
		uint32_t from, n, at;
	} piece[1 + CAVE_FUNCTIONS_MAX];
	size_t npieces;
	size_t n; /* instructions, of all of them */
};

void artefact_whole(const struct artefact *a, enum cave_hook hook, struct artefact_whole *out);

/* Writes the program's instructions, out[whole->n]; the calls in it lead to where the functions stand. */
void artefact_link(const struct artefact *a, enum cave_hook hook, const struct artefact_whole *whole,
		   struct bpf_insn *out);

/* The address of a name server, in host order: IPv4 in the last word. */
struct artefact_address {
	bool six;
	uint32_t word[4];
};

/*
 * Completes the program of `hook` with `n` name servers, at most CAVE_RESOLVERS: sets the constants in `insn` that
 * the places of it name.  Slots without a name server stay unset, and match nothing.
 */
void artefact_resolver_fill(const struct cave_resolver_patch *place, size_t nplaces, enum cave_hook hook,
			    const struct artefact_address *address, size_t n, struct bpf_insn *insn);

/* "x86_64", and AUDIT_ARCH_X86_64 (linux/audit.h). */
const char *artefact_arch_name(enum artefact_arch arch);
uint32_t artefact_arch_audit(enum artefact_arch arch);

/* "cgroup/connect4" … */
const char *artefact_hook_name(enum cave_hook hook);

/*
 * The identity of a policy of these sections (cave/artefact.h says of what it is made): for the writer, and
 * for the check.  A section that does not exist has data NULL.
 */
struct artefact_parts {
	struct artefact_section manifest, policy;
	struct artefact_section program[CAVE_HOOK_COUNT];
	struct artefact_section functions;
	struct artefact_section table[CAVE_MAPS_MAX]; /* in the order of their maps, the first ones first */
	struct artefact_section filter[ARTEFACT_ARCHES];
};
void artefact_identity(const struct artefact_parts *parts, uint8_t out[CAVE_DIGEST_SIZE]);

/*
 * True if the kernel would take the program as a seccomp filter, as far as the generator's part of classic BPF
 * goes; otherwise *bad is the offending instruction.
 */
bool artefact_filter_check(const struct sock_filter *insn, size_t n, size_t *bad);

#endif
