/* SPDX-License-Identifier: MIT */
/* Sorting as qsort() does, but stable, and fast where much is in order already; musl's takes several times as long. */
#ifndef CAVE_BPF_SORT_H
#define CAVE_BPF_SORT_H

#include <stddef.h>

void sort(void *base, size_t n, size_t size, int (*order)(const void *, const void *));

#endif
