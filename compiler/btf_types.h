/* SPDX-License-Identifier: MIT */
/*
 * Types and strings of BTF (Documentation/bpf/btf.rst of the kernel), one after the other, as they stand in the .BTF
 * section.  What adds a type returns its number; what adds a member, a parameter or a variable of a section adds it to
 * the last type.
 */
#ifndef CAVE_COMPILER_BTF_TYPES_H
#define CAVE_COMPILER_BTF_TYPES_H

#include <linux/btf.h>
#include <stdint.h>

#include "compiler/buffer.h"

struct btf_types {
	struct buffer types, strings;
	uint32_t ntypes;
	size_t last; /* where the last type begins */
	uint32_t *known; /* a hash table of offsets of strings, 0: free */
	size_t nknown, size; /* how many there are, and may be: a power of two */
};

void btf_init(struct btf_types *b, struct arena *a);

/* The offset of a string, which is entered once. */
uint32_t btf_string(struct btf_types *b, const char *s);

uint32_t btf_int(struct btf_types *b, const char *name, uint32_t size, unsigned encoding);
uint32_t btf_pointer(struct btf_types *b, uint32_t to);
uint32_t btf_array(struct btf_types *b, uint32_t index, uint32_t of, uint32_t n);
uint32_t btf_struct(struct btf_types *b, uint32_t size); /* without a name */
void btf_member(struct btf_types *b, const char *name, uint32_t type, uint32_t bit_offset);
uint32_t btf_prototype(struct btf_types *b, uint32_t returns);
void btf_parameter(struct btf_types *b, const char *name, uint32_t type);
uint32_t btf_function(struct btf_types *b, const char *name, uint32_t prototype); /* global */
uint32_t btf_variable(struct btf_types *b, const char *name, uint32_t type); /* global */
uint32_t btf_section(struct btf_types *b, const char *name, uint32_t size);
void btf_section_variable(struct btf_types *b, uint32_t variable, uint32_t offset, uint32_t size);

/* The whole section. */
void btf_finish(const struct btf_types *b, struct buffer *out);

#endif
