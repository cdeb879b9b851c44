/* SPDX-License-Identifier: MIT */
/* The maps of programs that are loaded: bpf(2). */
#ifndef CAVE_RUNTIME_MAPS_H
#define CAVE_RUNTIME_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Descriptors of the maps of those names that the program uses.  False with errno set, ENOENT if it does not use all of
 * them, and none is open.
 */
bool maps_open(uint32_t program, const char *const name[], int out[], size_t n);

/* Each returns 0 or an errno. */
int map_set(int map, const void *key, const void *value);
int map_get(int map, const void *key, void *value);
int map_delete(int map, const void *key);

/* The key after `key`, in no order; NULL: the first.  False after the last, or if the map cannot be read. */
bool map_next(int map, const void *key, void *next);

#endif
