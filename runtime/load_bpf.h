/* SPDX-License-Identifier: MIT */
/*
 * The calls of bpf(2) that cave-load makes.  libbpf would first try out, at every start, what the kernel can do, and
 * needs a C library that takes longer to start than most of what is done here.  Each returns a descriptor or 0, or -1
 * and errno.
 */
#ifndef CAVE_RUNTIME_LOAD_BPF_H
#define CAVE_RUNTIME_LOAD_BPF_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/artefact.h"

/* Tries again where the kernel says EAGAIN: a signal was pending. */
int load_bpf(enum bpf_cmd command, union bpf_attr *attr);

int load_bpf_btf(const void *data, size_t size);
int load_bpf_map_update(int map, const void *key, const void *value);
int load_bpf_map_freeze(int map);
int load_bpf_attach(int program, int group, enum bpf_attach_type type);

/* The ids of at most *n programs; *n becomes how many there are. */
int load_bpf_query(int group, enum bpf_attach_type type, uint32_t flags, uint32_t *id, uint32_t *n);

/* 0 if it cannot be had. */
uint32_t load_bpf_id(int program);

#endif
