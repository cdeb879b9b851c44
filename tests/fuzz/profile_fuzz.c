/* SPDX-License-Identifier: MIT */
/*
 * Any text through the whole pipeline, proof included.  What is accepted makes an artefact that the runtime's check
 * takes, its canonical text is a profile of the same identity, and it can be laid out; and the layout of a layout is
 * itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/compile.h"
#include "compiler/fmt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

__attribute__((noreturn)) static void wrong(const char *what, const void *text, size_t n)
{
	fprintf(stderr, "%s:\n", what);
	fwrite(text, 1, n, stderr);
	abort();
}

static FILE *silence(void)
{
	static FILE *null;

	if (!null)
		null = fopen("/dev/null", "w");
	return null;
}

static bool compile(const void *text, size_t size, void **out, struct artefact *view)
{
	struct artefact_error error;
	size_t n;

	if (!compile_text("fuzz.cave", text, size, silence(), out, &n))
		return false;
	if (memcmp(*out, "\177ELF", 4)) /* a bare filter */
		return false;
	if (!artefact_open(*out, n, view, &error))
		wrong(error.text, text, size);
	return true;
}

static bool lay_out(struct arena *a, const void *text, size_t size)
{
	struct buffer once, twice;

	if (!fmt_text(a, "fuzz.cave", text, size, silence(), &once))
		return false;
	if (!fmt_text(a, "fuzz.cave", once.data, once.n, silence(), &twice) || once.n != twice.n ||
	    memcmp(once.data, twice.data, once.n) != 0)
		wrong("its layout has another one", text, size);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *first = NULL, *second = NULL;
	struct artefact view, again;
	struct arena a = { 0 };
	bool laid_out = lay_out(&a, data, size);

	if (compile(data, size, &first, &view)) {
		if (!laid_out)
			wrong("it cannot be laid out", data, size);
		if (!compile(view.policy.data, view.policy.size, &second, &again))
			wrong("the canonical text is refused", view.policy.data, view.policy.size);
		if (memcmp(view.identity, again.identity, CAVE_DIGEST_SIZE))
			wrong("the canonical text is another policy", view.policy.data, view.policy.size);
	}
	arena_free(&a);
	free(first);
	free(second);
	return 0;
}
