/* SPDX-License-Identifier: MIT */
/*
 * Any text through the whole pipeline, proof included.  What is accepted makes an artefact that the runtime's check
 * takes, and its canonical text is a profile of the same identity.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

__attribute__((noreturn)) static void wrong(const char *what, const void *text, size_t n)
{
	fprintf(stderr, "%s:\n", what);
	fwrite(text, 1, n, stderr);
	abort();
}

static bool compile(const void *text, size_t size, void **out, struct artefact *view)
{
	struct artefact_error error;
	static FILE *null;
	size_t n;

	if (!null)
		null = fopen("/dev/null", "w");
	if (!compile_text("fuzz.cave", text, size, null, out, &n))
		return false;
	if (memcmp(*out, "\177ELF", 4)) /* a bare filter */
		return false;
	if (!artefact_open(*out, n, view, &error))
		wrong(error.text, text, size);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *first = NULL, *second = NULL;
	struct artefact view, again;

	if (compile(data, size, &first, &view)) {
		if (!compile(view.policy.data, view.policy.size, &second, &again))
			wrong("the canonical text is refused", view.policy.data, view.policy.size);
		if (memcmp(view.identity, again.identity, CAVE_DIGEST_SIZE))
			wrong("the canonical text is another policy", view.policy.data, view.policy.size);
	}
	free(first);
	free(second);
	return 0;
}
