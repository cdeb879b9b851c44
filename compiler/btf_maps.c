/* SPDX-License-Identifier: MIT */
/*
 * BTF for maps.  libbpf takes the definition of a map from the type of a variable in .maps: a structure of
 * pointers, in which a number is the length of an array (tools/lib/bpf/libbpf.c, parse_btf_map_def()).  A table
 * is a variable in a section of its own.
 */
#include <stdio.h>

#include "compiler/btf_types.h"
#include "compiler/object.h"

enum { FIELDS = 5, POINTER = 8 };

size_t btf_map_size(void)
{
	return (size_t)FIELDS * POINTER;
}

/* The types that all maps are made of. */
struct base {
	struct btf_types *btf;
	uint32_t word; /* unsigned int */
	struct {
		uint32_t n, array, pointer; /* to the array of n */
	} known[FIELDS * CAVE_MAPS_MAX];
	size_t nknown;
};

/* A pointer to an array of `n`, each made once. */
static size_t add_array(struct base *b, uint32_t n)
{
	size_t i = 0;

	while (i < b->nknown && b->known[i].n != n)
		i++;
	if (i < b->nknown)
		return i;
	b->known[i].n = n;
	b->known[i].array = btf_array(b->btf, b->word, b->word, n);
	b->known[i].pointer = btf_pointer(b->btf, b->known[i].array);
	return b->nknown++;
}

static uint32_t add_number(struct base *b, uint32_t n)
{
	return b->known[add_array(b, n)].pointer;
}

/* A pointer to `size` bytes, as words. */
static uint32_t add_words(struct base *b, uint32_t size)
{
	return size == 4 ? btf_pointer(b->btf, b->word) : add_number(b, size / 4);
}

/* Types first: a structure's fields are those that are added right behind it. */
static uint32_t add_definition(struct base *b, const struct cave_map *m)
{
	const struct {
		const char *name;
		uint32_t type;
	} field[FIELDS] = {
		{ "type", add_number(b, m->type) },
		{ "max_entries", add_number(b, m->max_entries) },
		{ "map_flags", add_number(b, m->flags) },
		{ "key", add_words(b, m->key_size) },
		{ "value", add_words(b, m->value_size) },
	};
	uint32_t structure = btf_struct(b->btf, (uint32_t)btf_map_size());

	for (uint32_t i = 0; i < FIELDS; i++)
		btf_member(b->btf, field[i].name, field[i].type, i * POINTER * 8);
	return structure;
}

static uint32_t add_variable(struct base *b, const struct map_def *m)
{
	uint32_t type = m->contents ? btf_array(b->btf, b->word, b->word, m->spec.value_size / 4) :
				      add_definition(b, &m->spec);

	return btf_variable(b->btf, m->name, type);
}

/* All variables of one section, which have the same size. */
static void add_section(const struct base *b, const char *name, const uint32_t *variable, size_t n, size_t size)
{
	btf_section(b->btf, name, (uint32_t)(n * size));
	for (size_t i = 0; i < n; i++)
		btf_section_variable(b->btf, variable[i], (uint32_t)(i * size), (uint32_t)size);
}

void btf_maps(struct btf_types *btf, const struct map_list *maps)
{
	struct base b = { .btf = btf, .word = btf_int(btf, "unsigned int", 4, 0) };
	uint32_t variable[CAVE_MAPS_MAX], open[CAVE_MAPS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < maps->n; i++) {
		variable[i] = add_variable(&b, &maps->map[i]);
		if (!maps->map[i].contents)
			open[n++] = variable[i];
	}
	for (size_t i = 0; i < maps->n; i++) {
		const struct map_def *m = &maps->map[i];
		char section[sizeof CAVE_MAP_TABLE_PREFIX + CAVE_MAP_NAME_MAX];

		snprintf(section, sizeof section, CAVE_MAP_TABLE_PREFIX "%s", m->name);
		if (m->contents)
			add_section(&b, section, &variable[i], 1, m->spec.value_size);
	}
	if (n)
		add_section(&b, ".maps", open, n, btf_map_size());
}
