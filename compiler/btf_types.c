/* SPDX-License-Identifier: MIT */
#include "compiler/btf_types.h"

enum { STRINGS_FIRST = 64 };

void btf_init(struct btf_types *b, struct arena *a)
{
	*b = (struct btf_types){ .types = { .arena = a }, .strings = { .arena = a }, .size = STRINGS_FIRST };
	b->known = ARENA_ARRAY(a, b->size, uint32_t);
	buffer_add(&b->strings, "", 1);
}

/* --- strings ------------------------------------------------------------------------------------ */

/* FNV-1a. */
static uint32_t hash(const char *s)
{
	uint32_t h = 0x811c9dc5;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x01000193;
	return h;
}

/* The place of a string in the table: where it is, or a free one. */
static uint32_t *place_of(const struct btf_types *b, const char *s)
{
	size_t i = hash(s) & (b->size - 1);

	while (b->known[i] && strcmp(b->strings.data + b->known[i], s) != 0)
		i = (i + 1) & (b->size - 1);
	return &b->known[i];
}

static void grow(struct btf_types *b)
{
	const uint32_t *old = b->known;
	size_t n = b->size;

	b->size = 2 * n;
	b->known = ARENA_ARRAY(b->strings.arena, b->size, uint32_t);
	for (size_t i = 0; i < n; i++)
		if (old[i])
			*place_of(b, b->strings.data + old[i]) = old[i];
}

uint32_t btf_string(struct btf_types *b, const char *s)
{
	uint32_t *place;

	if (!*s)
		return 0;
	if (2 * b->nknown >= b->size)
		grow(b);
	place = place_of(b, s);
	if (!*place) {
		*place = (uint32_t)b->strings.n;
		buffer_add(&b->strings, s, strlen(s) + 1);
		b->nknown++;
	}
	return *place;
}

/* --- types -------------------------------------------------------------------------------------- */

/* `word` is a size or a type, by kind; `linkage` is 0 for what has none. */
static uint32_t add(struct btf_types *b, uint32_t kind, const char *name, unsigned linkage, uint32_t word)
{
	struct btf_type t = { .name_off = btf_string(b, name), .info = kind << 24 | linkage, .size = word };

	b->last = b->types.n;
	buffer_add(&b->types, &t, sizeof t);
	return ++b->ntypes;
}

/* One more of what follows the last type. */
static void add_item(struct btf_types *b, const void *item, size_t n)
{
	struct btf_type last;

	memcpy(&last, b->types.data + b->last, sizeof last);
	last.info++; /* the low bits count */
	memcpy(b->types.data + b->last, &last, sizeof last);
	buffer_add(&b->types, item, n);
}

uint32_t btf_int(struct btf_types *b, const char *name, uint32_t size, unsigned encoding)
{
	uint32_t type = add(b, BTF_KIND_INT, name, 0, size), bits = encoding << 24 | size * 8;

	buffer_add(&b->types, &bits, sizeof bits);
	return type;
}

uint32_t btf_pointer(struct btf_types *b, uint32_t to)
{
	return add(b, BTF_KIND_PTR, "", 0, to);
}

uint32_t btf_array(struct btf_types *b, uint32_t index, uint32_t of, uint32_t n)
{
	const struct btf_array array = { .type = of, .index_type = index, .nelems = n };
	uint32_t type = add(b, BTF_KIND_ARRAY, "", 0, 0);

	buffer_add(&b->types, &array, sizeof array);
	return type;
}

uint32_t btf_struct(struct btf_types *b, uint32_t size)
{
	return add(b, BTF_KIND_STRUCT, "", 0, size);
}

void btf_member(struct btf_types *b, const char *name, uint32_t type, uint32_t bit_offset)
{
	const struct btf_member member = { .name_off = btf_string(b, name), .type = type, .offset = bit_offset };

	add_item(b, &member, sizeof member);
}

uint32_t btf_prototype(struct btf_types *b, uint32_t returns)
{
	return add(b, BTF_KIND_FUNC_PROTO, "", 0, returns);
}

void btf_parameter(struct btf_types *b, const char *name, uint32_t type)
{
	const struct btf_param param = { .name_off = btf_string(b, name), .type = type };

	add_item(b, &param, sizeof param);
}

uint32_t btf_function(struct btf_types *b, const char *name, uint32_t prototype)
{
	return add(b, BTF_KIND_FUNC, name, BTF_FUNC_GLOBAL, prototype);
}

uint32_t btf_variable(struct btf_types *b, const char *name, uint32_t type)
{
	const struct btf_var var = { .linkage = BTF_VAR_GLOBAL_ALLOCATED };
	uint32_t variable = add(b, BTF_KIND_VAR, name, 0, type);

	buffer_add(&b->types, &var, sizeof var);
	return variable;
}

uint32_t btf_section(struct btf_types *b, const char *name, uint32_t size)
{
	return add(b, BTF_KIND_DATASEC, name, 0, size);
}

void btf_section_variable(struct btf_types *b, uint32_t variable, uint32_t offset, uint32_t size)
{
	const struct btf_var_secinfo info = { .type = variable, .offset = offset, .size = size };

	add_item(b, &info, sizeof info);
}

void btf_finish(const struct btf_types *b, struct buffer *out)
{
	const struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof header,
		.type_len = (uint32_t)b->types.n,
		.str_off = (uint32_t)b->types.n,
		.str_len = (uint32_t)b->strings.n,
	};

	buffer_add(out, &header, sizeof header);
	buffer_add(out, b->types.data, b->types.n);
	buffer_add(out, b->strings.data, b->strings.n);
}
