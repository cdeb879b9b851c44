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

/* --- functions ------------------------------------------------------------------------------------ */

static bool is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_function_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

/* Enters where a function begins, in its order; false if there are too many. */
static bool enter_function(struct artefact *a, uint32_t begin)
{
	size_t i = 0;

	while (i < a->nfunctions && a->function[i] < begin)
		i++;
	if (i < a->nfunctions && a->function[i] == begin)
		return true;
	if (a->nfunctions == CAVE_FUNCTIONS_MAX)
		return false;
	memmove(&a->function[i + 1], &a->function[i], (a->nfunctions - i) * sizeof *a->function);
	a->function[i] = begin;
	a->nfunctions++;
	return true;
}

static bool find_functions(struct artefact *a, enum cave_hook hook, struct artefact_error *error)
{
	const struct artefact_program *p = &a->program[hook];

	for (size_t i = 0; i < p->n; i += is_wide(&p->insn[i]) ? 2 : 1) {
		const int64_t begin = (int64_t)p->insn[i].imm + 1;

		if (!is_function_call(&p->insn[i]))
			continue;
		if (begin < 0 || begin >= (int64_t)a->functions.n || !enter_function(a, (uint32_t)begin))
			return fail(error, "program %s: instruction %zu calls no function", artefact_hook_name(hook), i);
	}
	return true;
}

static bool read_functions(struct artefact *a, struct artefact_error *error)
{
	const struct artefact_section *s = artefact_section(a, CAVE_FUNCTIONS);

	if (s && (!s->size || s->size % sizeof(struct bpf_insn) ||
		  s->size / sizeof(struct bpf_insn) > ARTEFACT_PROGRAM_MAX))
		return fail(error, "%s: %zu bytes cannot be functions", CAVE_FUNCTIONS, s->size);
	if (s)
		a->functions = (struct artefact_program){ s->data, s->size / sizeof(struct bpf_insn) };
	for (int hook = 0; hook < CAVE_HOOK_COUNT; hook++)
		if (!find_functions(a, (enum cave_hook)hook, error))
			return false;
	if (s && (!a->nfunctions || a->function[0]))
		return fail(error, "%s: it does not begin with a function that is called", CAVE_FUNCTIONS);
	return true;
}

/* The function that a call leads to. */
static size_t called(const struct artefact *a, const struct bpf_insn *call)
{
	size_t k = 0;

	while (a->function[k] != (uint32_t)(call->imm + 1))
		k++;
	return k;
}

void artefact_whole(const struct artefact *a, enum cave_hook hook, struct artefact_whole *out)
{
	const struct artefact_program *p = &a->program[hook];
	bool wanted[CAVE_FUNCTIONS_MAX] = { false };

	*out = (struct artefact_whole){ .piece = { { 0, (uint32_t)p->n, 0 } }, .npieces = 1, .n = p->n };
	for (size_t i = 0; i < p->n; i += is_wide(&p->insn[i]) ? 2 : 1)
		if (is_function_call(&p->insn[i]))
			wanted[called(a, &p->insn[i])] = true;
	for (size_t k = 0; k < a->nfunctions; k++) {
		const size_t end = k + 1 < a->nfunctions ? a->function[k + 1] : a->functions.n;
		const uint32_t n = (uint32_t)end - a->function[k];

		if (!wanted[k])
			continue;
		out->piece[out->npieces++] = (struct artefact_piece){ a->function[k], n, (uint32_t)out->n };
		out->n += n;
	}
}

void artefact_link(const struct artefact *a, enum cave_hook hook, const struct artefact_whole *whole,
		   struct bpf_insn *out)
{
	const struct artefact_program *p = &a->program[hook];

	memcpy(out, p->insn, p->n * sizeof *out);
	for (size_t k = 1; k < whole->npieces; k++) {
		const struct artefact_piece *f = &whole->piece[k];

		memcpy(out + f->at, a->functions.insn + f->from, f->n * sizeof *out);
	}
	for (size_t i = 0; i < p->n; i += is_wide(&p->insn[i]) ? 2 : 1)
		for (size_t k = 1; is_function_call(&p->insn[i]) && k < whole->npieces; k++)
			if (whole->piece[k].from == (uint32_t)(p->insn[i].imm + 1))
				out[i].imm = (int32_t)(whole->piece[k].at - i - 1);
}

/* --- all of them ----------------------------------------------------------------------------------- */

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
	return read_functions(a, error);
}
