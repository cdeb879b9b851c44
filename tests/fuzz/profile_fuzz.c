/* SPDX-License-Identifier: MIT */
/* libFuzzer: any text through the whole pipeline, proof and the artefact's own check included. */
#include <stdint.h>
#include <stdlib.h>

#include "compiler/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *null;
	void *artefact = NULL;
	size_t n;

	if (!null)
		null = fopen("/dev/null", "w");
	compile_text("fuzz.cave", (const char *)data, size, null, &artefact, &n);
	free(artefact);
	return 0;
}
