/* SPDX-License-Identifier: MIT */
/*
 * Interpreters for what is emitted.  They execute bytes, know nothing of policies, and refuse whatever the
 * kernel would refuse at load, as far as it can occur in a program of ours.
 */
#ifndef CAVE_BPF_VM_H
#define CAVE_BPF_VM_H

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/program.h"

/*
 * True if the kernel would accept the program for seccomp: known opcodes, every jump forward and inside, loads
 * aligned and within struct seccomp_data, ends in a return (bpf_check_classic and seccomp_check_filter,
 * net/core/filter.c and kernel/seccomp.c).  *bad is the offending instruction otherwise.
 */
bool cbpf_check(const struct sock_filter *insn, size_t n, size_t *bad);

/* Runs a checked program; returns the SECCOMP_RET_* value.  *steps, if given, counts instructions. */
uint32_t cbpf_run(const struct sock_filter *insn, size_t n, const struct seccomp_data *data, size_t *steps);

/* The same; sets in *words bit i for each 32-bit word i of struct seccomp_data that was looked at. */
uint32_t cbpf_run_words(const struct sock_filter *insn, size_t n, const struct seccomp_data *data, uint32_t *words);

/* The same; *by is the instruction that led to the answer: the last one before the return. */
uint32_t cbpf_run_by(const struct sock_filter *insn, size_t n, const struct seccomp_data *data, size_t *by);

/*
 * A map while programs are interpreted.  It lives from one run to the next: what a program wrote stays, and the
 * caller may look at it, or put entries of its own in.  An LRU hash that is full forgets its oldest entry, which is
 * as the kernel's does, though the kernel is less exact about which is the oldest.
 */
struct ebpf_map {
	struct arena *arena;
	struct cave_map spec;
	uint8_t *value; /* of an array: all values, one after the other, each at a multiple of 8 */
	uint8_t **entry; /* of a hash: a key, padded to a multiple of 8, and its value; the oldest first */
	size_t n, cap;
	size_t made; /* entries that there is room for: what is taken out is used again */
};

/* Maps as they are when the programs are loaded; a table's contents are not copied. */
struct ebpf_map *ebpf_maps(struct arena *a, const struct map_list *list);

/* The value of a key, or NULL; of an array, the key is the index. */
uint8_t *ebpf_map_find(const struct ebpf_map *m, const void *key);

/*
 * Sets the value of a key, as bpf_map_update_elem() does: BPF_ANY, BPF_NOEXIST or BPF_EXIST.  Returns 0 or a
 * negative errno.
 */
int ebpf_map_set(struct ebpf_map *m, const void *key, const void *value, uint64_t flags);

/* Takes a key out, as bpf_map_delete_elem() does. */
int ebpf_map_delete(struct ebpf_map *m, const void *key);

/*
 * What an egress program sees.  The context is laid out as the kernel's struct bpf_sock_addr, bpf_sock or
 * __sk_buff (linux/bpf.h); `packet` holds the bytes from the network header on, for the skb hooks.
 */
struct ebpf_input {
	void *ctx;
	size_t ctx_size;
	const uint8_t *packet;
	size_t packet_size;
	uint64_t cookie; /* of the socket; 0: there is none */
	struct ebpf_map *map; /* by the numbers that the program refers to them by */
	size_t nmaps;
	uint64_t cgroup; /* the id of the caller's control group or, of a packet, of its socket's */
	uint64_t now; /* CLOCK_MONOTONIC, nanoseconds */
};

/*
 * True if the program keeps to the part of eBPF that the generator uses and that the interpreter executes
 * exactly: known opcodes, forward jumps inside the program, known helpers, no load that is only half there, ends in
 * exit.
 */
bool ebpf_check(const struct bpf_insn *insn, size_t n, size_t *bad);

/*
 * Runs a checked program on `in`, which it may change as the kernel's would (a rewritten address).  Returns
 * false if it did something that the verifier forbids (a load outside of the context or of a value, an unset
 * register, a write to a table); otherwise true with the program's result in *result.
 */
bool ebpf_run(const struct bpf_insn *insn, size_t n, struct ebpf_input *in, uint64_t *result, size_t *steps);

/* The same from the instruction `at` on, where R6 holds the context and no other register anything. */
bool ebpf_run_from(const struct bpf_insn *insn, size_t n, size_t at, struct ebpf_input *in, uint64_t *result);

#endif
