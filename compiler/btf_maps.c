/* SPDX-License-Identifier: MIT */
/*
 * BTF for maps.  libbpf takes the definition of a map from the type of a variable in .maps: a structure of
 * pointers, in which a number is the length of an array (tools/lib/bpf/libbpf.c, parse_btf_map_def()).  A table
 * is a variable in a section of its own.
 */
#include <bpf/btf.h>
#include <stdio.h>

#include "compiler/object.h"

enum { FIELDS = 5, POINTER = 8 };

size_t btf_map_size(void)
{
	return (size_t)FIELDS * POINTER;
}

/* The types that all maps are made of. */
struct base {
	struct btf *btf;
	int word; /* unsigned int */
};

/* A pointer to an array of `n`. */
static int add_number(const struct base *b, uint32_t n)
{
	return btf__add_ptr(b->btf, btf__add_array(b->btf, b->word, b->word, n));
}

/* `size` bytes, as words. */
static int add_words(const struct base *b, uint32_t size)
{
	return size == 4 ? b->word : btf__add_array(b->btf, b->word, b->word, size / 4);
}

/* Types first: a structure's fields are those that are added right behind it. */
static int add_definition(const struct base *b, const struct cave_map *m)
{
	const struct {
		const char *name;
		int type;
	} field[FIELDS] = {
		{ "type", add_number(b, m->type) },
		{ "max_entries", add_number(b, m->max_entries) },
		{ "map_flags", add_number(b, m->flags) },
		{ "key", btf__add_ptr(b->btf, add_words(b, m->key_size)) },
		{ "value", btf__add_ptr(b->btf, add_words(b, m->value_size)) },
	};
	int structure = btf__add_struct(b->btf, NULL, (__u32)btf_map_size());

	for (__u32 i = 0; structure > 0 && i < FIELDS; i++)
		if (btf__add_field(b->btf, field[i].name, field[i].type, i * POINTER * 8, 0))
			structure = -1;
	return structure;
}

static int add_variable(const struct base *b, const struct map_def *m)
{
	int type = m->contents ? add_words(b, m->spec.value_size) : add_definition(b, &m->spec);

	return type < 0 ? type : btf__add_var(b->btf, m->name, BTF_VAR_GLOBAL_ALLOCATED, type);
}

/* All variables of one section, which have the same size. */
static bool add_section(const struct base *b, const char *name, const int *variable, size_t n, size_t size)
{
	if (btf__add_datasec(b->btf, name, (__u32)(n * size)) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (btf__add_datasec_var_info(b->btf, variable[i], (__u32)(i * size), (__u32)size))
			return false;
	return true;
}

const char *btf_maps(struct btf *btf, const struct map_list *maps)
{
	const struct base b = { btf, btf__add_int(btf, "unsigned int", 4, 0) };
	int variable[CAVE_MAPS_MAX], open[CAVE_MAPS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < maps->n; i++) {
		variable[i] = add_variable(&b, &maps->map[i]);
		if (variable[i] < 0)
			return "libbpf refuses the BTF of a map";
		if (!maps->map[i].contents)
			open[n++] = variable[i];
	}
	for (size_t i = 0; i < maps->n; i++) {
		const struct map_def *m = &maps->map[i];
		char section[sizeof CAVE_MAP_TABLE_PREFIX + CAVE_MAP_NAME_MAX];

		snprintf(section, sizeof section, CAVE_MAP_TABLE_PREFIX "%s", m->name);
		if (m->contents && !add_section(&b, section, &variable[i], 1, m->spec.value_size))
			return "libbpf refuses the BTF of a table";
	}
	if (n && !add_section(&b, ".maps", open, n, btf_map_size()))
		return "libbpf refuses the BTF of the maps";
	return NULL;
}
