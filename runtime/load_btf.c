/* SPDX-License-Identifier: MIT */
#include "runtime/load_btf.h"

#include <string.h>

bool load_btf_open(const void *data, size_t size, struct load_btf *out)
{
	struct btf_header h;
	size_t left;

	if (size < sizeof h)
		return false;
	memcpy(&h, data, sizeof h);
	if (h.magic != BTF_MAGIC || h.hdr_len < sizeof h || h.hdr_len > size)
		return false;
	left = size - h.hdr_len;
	if (h.type_off > left || h.type_len > left - h.type_off || h.str_off > left || h.str_len > left - h.str_off)
		return false;
	*out = (struct load_btf){
		.types = (const char *)data + h.hdr_len + h.type_off, .types_size = h.type_len,
		.strings = (const char *)data + h.hdr_len + h.str_off, .strings_size = h.str_len,
	};
	/* So that every string in it ends. */
	return h.str_len && !out->strings[h.str_len - 1];
}

const char *load_btf_name(const struct load_btf *btf, uint32_t offset)
{
	return offset < btf->strings_size ? btf->strings + offset : "";
}

/* What follows a type, in bytes. */
static size_t size_of_rest(const struct btf_type *t)
{
	size_t n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	default:
		return 0;
	}
}

/* The type at an offset, and where what follows it is; false at the end, or if it is cut short. */
static bool read_type(const struct load_btf *btf, size_t at, struct btf_type *out, size_t *rest)
{
	if (at > btf->types_size || btf->types_size - at < sizeof *out)
		return false;
	memcpy(out, btf->types + at, sizeof *out);
	*rest = at + sizeof *out;
	return btf->types_size - *rest >= size_of_rest(out);
}

/* Numbers begin with 1. */
static bool find_type(const struct load_btf *btf, uint32_t id, struct btf_type *out, size_t *rest)
{
	size_t at = 0;

	for (uint32_t i = 1; i <= id && read_type(btf, at, out, rest); i++) {
		if (i == id)
			return true;
		at = *rest + size_of_rest(out);
	}
	return false;
}

/* The variable of that name. */
static bool find_variable(const struct load_btf *btf, const char *name, struct btf_type *out)
{
	size_t at = 0, rest;

	while (read_type(btf, at, out, &rest)) {
		if (BTF_INFO_KIND(out->info) == BTF_KIND_VAR && !strcmp(load_btf_name(btf, out->name_off), name))
			return true;
		at = rest + size_of_rest(out);
	}
	return false;
}

/* What the field points to, or 0. */
static uint32_t pointed(const struct load_btf *btf, const struct btf_member *field)
{
	struct btf_type t;
	size_t rest;

	return find_type(btf, field->type, &t, &rest) && BTF_INFO_KIND(t.info) == BTF_KIND_PTR ? t.type : 0;
}

void load_btf_map(const struct load_btf *btf, const char *map, uint32_t *key, uint32_t *value)
{
	struct btf_member field;
	struct btf_type t;
	size_t rest;

	*key = *value = 0;
	if (!find_variable(btf, map, &t) || !find_type(btf, t.type, &t, &rest) ||
	    BTF_INFO_KIND(t.info) != BTF_KIND_STRUCT)
		return;
	for (size_t i = 0; i < BTF_INFO_VLEN(t.info); i++) {
		memcpy(&field, btf->types + rest + i * sizeof field, sizeof field);
		if (!strcmp(load_btf_name(btf, field.name_off), "key"))
			*key = pointed(btf, &field);
		else if (!strcmp(load_btf_name(btf, field.name_off), "value"))
			*value = pointed(btf, &field);
	}
}
