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

/*
 * What an egress program sees.  The context is laid out as the kernel's struct bpf_sock_addr, bpf_sock or
 * __sk_buff (linux/bpf.h); `packet` holds the bytes from the network header on, for the skb hooks.
 */
struct ebpf_input {
	void *ctx;
	size_t ctx_size;
	const uint8_t *packet;
	size_t packet_size;
};

/*
 * True if the program keeps to the part of eBPF that the generator uses and that the interpreter executes
 * exactly: known opcodes, forward jumps inside the program, no writes but to registers, the stack and context
 * fields, known helpers, ends in exit.
 */
bool ebpf_check(const struct bpf_insn *insn, size_t n, size_t *bad);

/*
 * Runs a checked program on `in`, which it may change as the kernel's would (a rewritten address).  Returns
 * false if it did something that the verifier forbids (a load outside the context, an unset register);
 * otherwise true with the program's result in *result.
 */
bool ebpf_run(const struct bpf_insn *insn, size_t n, struct ebpf_input *in, uint64_t *result, size_t *steps);

#endif
