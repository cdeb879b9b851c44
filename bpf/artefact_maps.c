/* SPDX-License-Identifier: MIT */
/* The part of the checks of an artefact that concerns maps: their records, tables, and the programs' references. */
#include <string.h>

#include "bpf/artefact_check.h"

static bool is_map_name(const char *s, size_t n)
{
	if (!n || n > CAVE_MAP_NAME_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!(s[i] == '_' || (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9')))
			return false;
	return true;
}

static bool is_new_name(const struct artefact *a, const char *name)
{
	for (size_t i = 0; i < a->nmaps; i++)
		if (!strcmp(a->map[i].name, name))
			return false;
	return true;
}

/* Of a kind that the kernel knows, in bounds far below its own. */
static bool is_map_spec(const struct cave_map *m)
{
	const bool table = m->flags & BPF_F_RDONLY_PROG;

	if (m->flags & ~(uint32_t)BPF_F_RDONLY_PROG)
		return false;
	if (m->type != BPF_MAP_TYPE_ARRAY && m->type != BPF_MAP_TYPE_HASH && m->type != BPF_MAP_TYPE_LRU_HASH)
		return false;
	if (!m->key_size || m->key_size % 4 || m->key_size > ARTEFACT_MAP_KEY_MAX)
		return false;
	if (!m->value_size || m->value_size % 8 || m->value_size > ARTEFACT_MAP_VALUE_MAX)
		return false;
	if (!m->max_entries || m->max_entries > ARTEFACT_MAP_ENTRIES_MAX)
		return false;
	if (m->type == BPF_MAP_TYPE_ARRAY && m->key_size != 4)
		return false;
	return !table || (m->type == BPF_MAP_TYPE_ARRAY && m->max_entries == 1);
}

/* What a map takes in the kernel's memory, roughly. */
static uint64_t map_size(const struct cave_map *m)
{
	return (uint64_t)m->max_entries * (m->key_size + m->value_size);
}

static bool find_table(const struct artefact *a, struct artefact_map *m, struct artefact_error *error)
{
	char section[sizeof CAVE_MAP_TABLE_PREFIX + CAVE_MAP_NAME_MAX];
	const struct artefact_section *s;

	snprintf(section, sizeof section, CAVE_MAP_TABLE_PREFIX "%s", m->name);
	s = artefact_section(a, section);
	if (!s || s->size != m->spec.value_size)
		return fail(error, "%s: a table needs %u bytes", section, m->spec.value_size);
	m->contents = s->data;
	return true;
}

bool check_map_record(struct artefact *a, const struct artefact_record *r, size_t at, struct artefact_error *error)
{
	struct artefact_map m = { .contents = NULL };
	const char *name = r->payload + sizeof m.spec;

	if (a->nmaps == CAVE_MAPS_MAX)
		return fail(error, "cave.manifest: more than %d maps", CAVE_MAPS_MAX);
	if (r->flags || r->length < sizeof m.spec || !is_map_name(name, r->length - sizeof m.spec))
		return fail(error, "cave.manifest: the record at %zu describes no map", at);
	memcpy(&m.spec, r->payload, sizeof m.spec);
	memcpy(m.name, name, r->length - sizeof m.spec);
	if (!is_new_name(a, m.name))
		return fail(error, "cave.manifest: the map %s is there twice", m.name);
	if (!is_map_spec(&m.spec) || map_size(&m.spec) > ARTEFACT_MAP_BYTES_MAX)
		return fail(error, "cave.manifest: the map %s is of a kind or size that is not known here", m.name);
	if (m.spec.flags & BPF_F_RDONLY_PROG && !find_table(a, &m, error))
		return false;
	a->map[a->nmaps++] = m;
	return true;
}

/* A section of contents that no map has would be one that nobody has checked the identity of. */
static bool check_tables(const struct artefact *a, struct artefact_error *error)
{
	for (size_t i = 0; i < a->nsections; i++) {
		const struct artefact_section *s = &a->section[i];
		bool known = strncmp(s->name, CAVE_MAP_TABLE_PREFIX, strlen(CAVE_MAP_TABLE_PREFIX)) != 0;

		for (size_t k = 0; k < a->nmaps; k++)
			known |= s->size && a->map[k].contents == s->data;
		if (!known)
			return fail(error, "%s: the manifest does not mention it", s->name);
	}
	return true;
}

/* A load of 16 bytes: a number, or a reference to a map. */
static bool is_reference(const struct artefact *a, const struct bpf_insn *insn)
{
	const uint32_t first = (uint32_t)insn->imm, second = (uint32_t)insn[1].imm;
	const struct cave_map *m;

	switch (insn->src_reg) {
	case 0:
		return true;
	case BPF_PSEUDO_MAP_FD:
		return first < a->nmaps && !second;
	case BPF_PSEUDO_MAP_VALUE:
		m = second < a->nmaps ? &a->map[second].spec : NULL;
		return m && m->type == BPF_MAP_TYPE_ARRAY && m->max_entries == 1 && first < m->value_size;
	default:
		return false; /* addresses in the kernel, and functions */
	}
}

/*
 * The kernel takes numbers of descriptors and of its own types in instructions; but for the references to maps,
 * which are translated, none of them may reach it.
 */
static bool check_program(const struct artefact *a, const struct artefact_program *p, const char *name, bool calls,
			  struct artefact_error *error)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct bpf_insn *insn = &p->insn[i];

		/* Which function is meant has been checked (artefact_program.c). */
		if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg && !(calls && insn->src_reg == BPF_PSEUDO_CALL))
			return fail(error, "program %s: instruction %zu calls no helper", name, i);
		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (i + 1 == p->n || insn[1].code || insn[1].dst_reg || insn[1].src_reg || insn[1].off ||
		    !is_reference(a, insn))
			return fail(error, "program %s: instruction %zu refers to no map", name, i);
		i++;
	}
	return true;
}

bool check_maps(const struct artefact *a, struct artefact_error *error)
{
	if (a->nmaps && !(a->requires & CAVE_REQUIRE_EGRESS))
		return fail(error, "there are maps, and the manifest asks for no network");
	for (size_t hook = 0; hook < CAVE_HOOK_COUNT; hook++)
		if (!check_program(a, &a->program[hook], artefact_hook_name((enum cave_hook)hook), true, error))
			return false;
	return check_program(a, &a->functions, CAVE_FUNCTIONS, false, error) && check_tables(a, error);
}
