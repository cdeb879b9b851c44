/* SPDX-License-Identifier: MIT */
/* Instructions as text, for `cavec dump`. */
#ifndef CAVE_COMPILER_DISASM_H
#define CAVE_COMPILER_DISASM_H

#include <linux/bpf.h>
#include <linux/filter.h>
#include <stddef.h>

enum { DISASM_SIZE = 96 };

/* Classic BPF in the notation of the kernel's Documentation/networking/filter.rst; jumps show their targets. */
void disasm_filter(const struct sock_filter *insn, size_t at, char out[DISASM_SIZE]);

/* eBPF in the notation of the verifier's log.  A 16-byte load is shown whole; its second half is empty. */
void disasm_hook(const struct bpf_insn *insn, size_t n, size_t at, char out[DISASM_SIZE]);

#endif
