/* SPDX-License-Identifier: MIT */
/* Maps of the eBPF interpreter.  They are small where programs are proved: a hash is searched from end to end. */
#include <errno.h>
#include <string.h>

#include "bpf/vm.h"

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

struct ebpf_map *ebpf_maps(struct arena *a, const struct map_list *list)
{
	struct ebpf_map *map = ARENA_ARRAY(a, list ? list->n : 0, struct ebpf_map);

	for (size_t i = 0; list && i < list->n; i++) {
		const struct map_def *d = &list->map[i];

		map[i].arena = a;
		map[i].spec = d->spec;
		if (d->contents)
			map[i].value = (uint8_t *)d->contents; /* BPF_F_RDONLY_PROG: never written to */
		else if (d->spec.type == BPF_MAP_TYPE_ARRAY)
			map[i].value = arena_array(a, d->spec.max_entries, padded(d->spec.value_size));
	}
	return map;
}

/* By words: what is refused in a proof is looked for many thousand times, and musl's memcmp() goes byte by byte. */
static bool same_key(const uint8_t *a, const uint8_t *b, size_t n)
{
	uint64_t x, y;

	for (; n >= sizeof x; n -= sizeof x, a += sizeof x, b += sizeof y) {
		memcpy(&x, a, sizeof x);
		memcpy(&y, b, sizeof y);
		if (x != y)
			return false;
	}
	return !memcmp(a, b, n);
}

/* The place of a key in a hash; m->n if it is not there. */
static size_t find_entry(const struct ebpf_map *m, const void *key)
{
	size_t i = 0;

	while (i < m->n && !same_key(m->entry[i], key, m->spec.key_size))
		i++;
	return i;
}

static uint8_t *array_find(const struct ebpf_map *m, const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof index);
	return index < m->spec.max_entries ? m->value + index * padded(m->spec.value_size) : NULL;
}

uint8_t *ebpf_map_find(const struct ebpf_map *m, const void *key)
{
	size_t i;

	if (m->spec.type == BPF_MAP_TYPE_ARRAY)
		return array_find(m, key);
	i = find_entry(m, key);
	return i < m->n ? m->entry[i] + padded(m->spec.key_size) : NULL;
}

static void remove_entry(struct ebpf_map *m, size_t i)
{
	uint8_t *e = m->entry[i];

	memmove(m->entry + i, m->entry + i + 1, (--m->n - i) * sizeof *m->entry);
	m->entry[m->n] = e;
}

static int add_entry(struct ebpf_map *m, const void *key, const void *value)
{
	uint8_t *e;

	if (m->n == m->spec.max_entries) {
		if (m->spec.type != BPF_MAP_TYPE_LRU_HASH || !m->n)
			return -E2BIG;
		remove_entry(m, 0);
	}
	e = m->n < m->made ? m->entry[m->n]
			   : arena_alloc(m->arena, padded(m->spec.key_size) + m->spec.value_size);
	memcpy(e, key, m->spec.key_size);
	memcpy(e + padded(m->spec.key_size), value, m->spec.value_size);
	*ARENA_PUSH(m->arena, m->entry, m->n, m->cap) = e;
	m->made = m->n > m->made ? m->n : m->made;
	return 0;
}

int ebpf_map_set(struct ebpf_map *m, const void *key, const void *value, uint64_t flags)
{
	bool array = m->spec.type == BPF_MAP_TYPE_ARRAY;
	uint8_t *old = ebpf_map_find(m, key);

	if (flags > BPF_EXIST)
		return -EINVAL;
	if (array && !old)
		return -E2BIG;
	if (old && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!old && flags == BPF_EXIST)
		return -ENOENT;
	if (!old)
		return add_entry(m, key, value);
	memcpy(old, value, m->spec.value_size);
	return 0;
}

int ebpf_map_delete(struct ebpf_map *m, const void *key)
{
	size_t i;

	if (m->spec.type == BPF_MAP_TYPE_ARRAY)
		return -EINVAL;
	i = find_entry(m, key);
	if (i == m->n)
		return -ENOENT;
	remove_entry(m, i);
	return 0;
}
