/* SPDX-License-Identifier: MIT */
/* Checks the syscall filters of an artefact, and the places in them that the runtime sets. */
#include "bpf/artefact_check.h"

#include <linux/bpf_common.h>
#include <linux/seccomp.h>
#include <string.h>

static bool is_load(const struct sock_filter *i)
{
	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS: /* becomes a load from struct seccomp_data */
		return i->k % 4 == 0 && i->k < sizeof(struct seccomp_data);
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
		return true;
	default:
		return false;
	}
}

static bool is_arithmetic(const struct sock_filter *i)
{
	switch (i->code) {
	case BPF_ALU | BPF_ADD | BPF_K:
	case BPF_ALU | BPF_ADD | BPF_X:
	case BPF_ALU | BPF_SUB | BPF_K:
	case BPF_ALU | BPF_SUB | BPF_X:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_ALU | BPF_AND | BPF_X:
	case BPF_ALU | BPF_OR | BPF_K:
	case BPF_ALU | BPF_OR | BPF_X:
	case BPF_ALU | BPF_XOR | BPF_K:
	case BPF_ALU | BPF_XOR | BPF_X:
	case BPF_ALU | BPF_NEG:
		return true;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K:
		return i->k < 32;
	default:
		return false;
	}
}

/* Jumps only go forward, so every program ends. */
static bool is_jump(const struct sock_filter *i, size_t left)
{
	switch (i->code) {
	case BPF_JMP | BPF_JA:
		return i->k < left;
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JEQ | BPF_X:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_X:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_X:
	case BPF_JMP | BPF_JSET | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_X:
		return i->jt < left && i->jf < left;
	default:
		return false;
	}
}

static bool is_return(const struct sock_filter *i)
{
	return i->code == (BPF_RET | BPF_K) || i->code == (BPF_RET | BPF_A);
}

bool artefact_filter_check(const struct sock_filter *insn, size_t n, size_t *bad)
{
	for (size_t i = 0; i < n && i < BPF_MAXINSNS; i++) {
		if (is_load(&insn[i]) || is_arithmetic(&insn[i]) || is_jump(&insn[i], n - i - 1) ||
		    is_return(&insn[i]))
			continue;
		*bad = i;
		return false;
	}
	*bad = n ? n - 1 : 0;
	return n && n <= BPF_MAXINSNS && is_return(&insn[n - 1]);
}

static bool check_patch(const struct artefact_filter *f, size_t i, const char *arch,
			unsigned seen[CAVE_PATCH_KINDS], struct artefact_error *error)
{
	const struct cave_patch *p = &f->patch[i];
	bool returns = p->kind == CAVE_PATCH_RET_METADATA || p->kind == CAVE_PATCH_RET_SIGNAL;

	if (p->kind >= CAVE_PATCH_KINDS)
		return fail(error, "%s filter: patch %zu is of unknown kind %u", arch, i, p->kind);
	if (p->insn >= f->n || (i && p->insn <= p[-1].insn))
		return fail(error, "%s filter: patch %zu at instruction %u is misplaced", arch, i,
			    p->insn);
	if (f->insn[p->insn].code != (returns ? BPF_RET | BPF_K : BPF_JMP | BPF_JEQ | BPF_K) ||
	    f->insn[p->insn].k != CAVE_PATCH_UNSET)
		return fail(error, "%s filter: instruction %u cannot be patched", arch, p->insn);
	if (seen[p->kind]++ && p->kind != CAVE_PATCH_SELF)
		return fail(error, "%s filter: patch %zu is there twice", arch, i);
	return true;
}

static bool check_patches(const struct artefact_filter *f, const char *arch, struct artefact_error *error)
{
	unsigned seen[CAVE_PATCH_KINDS] = { 0 };

	for (size_t i = 0; i < f->npatches; i++)
		if (!check_patch(f, i, arch, seen, error))
			return false;
	return true;
}

/* No more than one of each is there: see above.  What may execute more than once needs none. */
static bool check_exec_patches(const struct artefact *a, enum artefact_arch arch, struct artefact_error *error)
{
	const struct artefact_filter *f = &a->filter[arch];
	unsigned wanted = a->children ? 0 : CAVE_PATCH_EXEC_5 - CAVE_PATCH_EXEC_0 + 1, n = 0;

	for (size_t i = 0; i < f->npatches; i++)
		n += f->patch[i].kind <= CAVE_PATCH_EXEC_5;
	return !f->n || n == wanted ||
	       fail(error, "%s filter: %u patches for its own execve, and there must be %u", artefact_arches[arch].name, n,
		    wanted);
}

/* The filter's section, whole and acceptable to the kernel. */
static bool read_filter(const struct artefact *a, const char *section, struct artefact_filter *f,
			struct artefact_error *error)
{
	const struct artefact_section *s = artefact_section(a, section);
	size_t bad;

	if (!s)
		return fail(error, "there is no section %s", section);
	if (s->size % sizeof *f->insn || !s->size || s->size / sizeof *f->insn > BPF_MAXINSNS)
		return fail(error, "%s: %zu bytes cannot be a filter", section, s->size);
	f->insn = s->data;
	f->n = s->size / sizeof *f->insn;
	if (!artefact_filter_check(f->insn, f->n, &bad))
		return fail(error, "%s: instruction %zu is not one that the kernel takes", section,
			    bad);
	return true;
}

bool check_filter_record(struct artefact *a, const struct artefact_record *r, size_t at,
			 struct artefact_error *error)
{
	struct cave_filter head;
	struct artefact_filter f;
	size_t arch = 0;

	if (r->flags || r->length < sizeof head)
		return fail(error, "cave.manifest: the record at %zu describes no filter", at);
	memcpy(&head, r->payload, sizeof head);
	while (arch < ARTEFACT_ARCHES && artefact_arches[arch].audit != head.arch)
		arch++;
	if (arch == ARTEFACT_ARCHES || a->filter[arch].n)
		return fail(error, "cave.manifest: architecture 0x%x at %zu is unknown, or twice",
			    head.arch, at);
	if (head.patches != (r->length - sizeof head) / sizeof *f.patch ||
	    (r->length - sizeof head) % sizeof *f.patch)
		return fail(error, "cave.manifest: the record at %zu does not hold %u patches", at,
			    head.patches);
	f.patch = (const void *)(r->payload + sizeof head);
	f.npatches = head.patches;
	if (!read_filter(a, artefact_arches[arch].section, &f, error) ||
	    !check_patches(&f, artefact_arches[arch].name, error))
		return false;
	a->filter[arch] = f;
	return true;
}

/* A filter that no record completes would be one whose patches nobody sets. */
bool check_filters(const struct artefact *a, struct artefact_error *error)
{
	size_t n = 0;

	for (size_t i = 0; i < ARTEFACT_ARCHES; i++) {
		if (!a->filter[i].n && artefact_section(a, artefact_arches[i].section))
			return fail(error, "%s: the manifest does not mention it", artefact_arches[i].section);
		if (!check_exec_patches(a, i, error))
			return false;
		n += a->filter[i].n != 0;
	}
	return n || fail(error, "there is no syscall filter");
}
