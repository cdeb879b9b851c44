/* SPDX-License-Identifier: MIT */
/* Checks the programs of an artefact, and the places in them that stand for the name servers of the host. */
#include "bpf/artefact_check.h"

#include <string.h>

bool check_program_record(const struct artefact_record *r, size_t at, struct tally *t, struct artefact_error *error)
{
	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++) {
		if (strlen(artefact_hook_name(i)) != r->length || memcmp(artefact_hook_name(i), r->payload, r->length))
			continue;
		if (r->flags || t->hook[i])
			return fail(error, "cave.manifest: program %s is there twice", artefact_hook_name(i));
		t->hook[i] = true;
		return true;
	}
	return fail(error, "cave.manifest: the record at %zu names no hook that is known here", at);
}

void artefact_resolver_fill(const struct cave_resolver_patch *place, size_t nplaces, enum cave_hook hook,
			    const struct artefact_address *address, size_t n, struct bpf_insn *insn)
{
	for (size_t i = 0; i < nplaces; i++) {
		const struct artefact_address *a = &address[place[i].slot];
		bool six = place[i].field >= CAVE_RESOLVER_PORT6;
		uint32_t value;

		if (place[i].hook != hook || place[i].slot >= n || a->six != six)
			continue;
		if (place[i].field == CAVE_RESOLVER_PORT4 || place[i].field == CAVE_RESOLVER_PORT6)
			value = CAVE_RESOLVER_PORT;
		else
			value = a->word[six ? place[i].field - CAVE_RESOLVER_WORD6 : 3];
		insn[place[i].insn].imm = (int32_t)value;
	}
}

bool check_resolver_record(struct artefact *a, const struct artefact_record *r, size_t at,
			   struct artefact_error *error)
{
	if (a->nresolver || r->flags || !r->length || r->length % sizeof *a->resolver)
		return fail(error, "cave.manifest: the record at %zu holds no places of name servers", at);
	a->resolver = (const void *)r->payload;
	a->nresolver = r->length / sizeof *a->resolver;
	return true;
}

/* One constant: of a comparison that was made for it, and not yet set. */
static bool is_resolver_place(const struct artefact *a, const struct cave_resolver_patch *p)
{
	const uint8_t compare[] = { BPF_JMP32 | BPF_JEQ | BPF_K, BPF_JMP32 | BPF_JNE | BPF_K };
	const struct bpf_insn *insn;
	bool port = p->field == CAVE_RESOLVER_PORT4 || p->field == CAVE_RESOLVER_PORT6;

	if (p->hook >= CAVE_HOOK_COUNT || p->slot >= CAVE_RESOLVERS ||
	    p->field >= CAVE_RESOLVER_FIELDS || p->insn >= a->program[p->hook].n)
		return false;
	insn = &a->program[p->hook].insn[p->insn];
	return (insn->code == compare[0] || insn->code == compare[1]) && !insn->src_reg &&
	       insn->imm == (port ? CAVE_RESOLVER_UNSET : 0);
}

bool check_resolver_places(const struct artefact *a, struct artefact_error *error)
{
	const struct cave_resolver_patch *p = a->resolver;

	for (size_t i = 0; i < a->nresolver; i++)
		if (!is_resolver_place(a, &p[i]) ||
		    (i && (p[i].hook < p[i - 1].hook ||
			   (p[i].hook == p[i - 1].hook && p[i].insn <= p[i - 1].insn))))
			return fail(error, "cave.manifest: place %zu of a name server is not one", i);
	return true;
}

/* Without EGRESS there is no program at all; with it, one on every hook, but for those that belong to host names. */
bool read_programs(struct artefact *a, const struct tally *t, struct artefact_error *error)
{
	bool egress = a->requires & CAVE_REQUIRE_EGRESS;

	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++) {
		const struct artefact_section *s = artefact_section(a, artefact_hook_name(i));
		bool wanted = egress && (i < CAVE_HOOK_NAMES || a->host_record);

		if (!!s != wanted || t->hook[i] != wanted)
			return fail(error, "program %s is %s", artefact_hook_name(i),
				    wanted ? "missing" : "there and the manifest asks for nothing that it does");
		if (!s)
			continue;
		if (!s->size || s->size % sizeof(struct bpf_insn) ||
		    s->size / sizeof(struct bpf_insn) > ARTEFACT_PROGRAM_MAX)
			return fail(error, "program %s: %zu bytes cannot be one", artefact_hook_name(i), s->size);
		a->program[i] = (struct artefact_program){ s->data, s->size / sizeof(struct bpf_insn) };
	}
	return true;
}
