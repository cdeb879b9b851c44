/* SPDX-License-Identifier: MIT */
#include "compiler/emit.h"

#include <ctype.h>

void emit_bpf(const struct filter_program *f, struct buffer *out)
{
	buffer_add(out, f->insn, f->n * sizeof *f->insn);
}

/* A name of C: what cannot stand in one becomes an underscore. */
static char *identifier(struct arena *a, const char *name)
{
	char *s = arena_printf(a, "cave_%s", name);

	for (char *c = s; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return s;
}

void emit_c(const char *name, const struct sys_rules *rules, const struct filter_program *f, struct buffer *out)
{
	const char *id = identifier(out->arena, name);

	buffer_printf(out,
		      "/*\n"
		      " * The system call filter \"%s\" for %s, made by cavec %s.\n"
		      " *\n"
		      " * It judges system calls and carries none of the promises of a profile: files, network, children and\n"
		      " * inherited descriptors are as they were.  Another architecture ends the process.\n"
		      " */\n"
		      "#include <linux/filter.h>\n"
		      "\n"
		      "static const struct sock_filter %s[%zu] = {\n",
		      name, rules->arch_name, CAVE_VERSION, id, f->n);
	for (size_t i = 0; i < f->n; i++)
		buffer_printf(out, "\t{ 0x%02x, %u, %u, 0x%08x },\n", f->insn[i].code, f->insn[i].jt, f->insn[i].jf,
			      f->insn[i].k);
	buffer_printf(out, "};\n");
}
