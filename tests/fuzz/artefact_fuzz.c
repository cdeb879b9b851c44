/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer target for the artefact's checks.
 *
 *     make fuzz
 *     tests/fuzz/artefact.sh          a bounded run over the corpus and from it
 *     tests/fuzz/artefact.sh 600      ten minutes; what is found is added to the corpus
 *
 * The input is a list of edits (offset, byte) to a sound artefact, which is then sealed again, so that the
 * fuzzer gets past the digest: with the digest alone, or with the identity too, as its first byte says.
 */
#include "tests/unit/artefact_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void edit(struct build_bytes *file, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 3 <= size; i += 3) {
		size_t at = (size_t)data[i] << 8 | data[i + 1];

		if (at < file->size)
			file->data[at] = data[i + 2];
	}
}

/* Edits before sealing with the identity go into the parts only: build_seal() trusts the section table. */
static void edit_parts(struct build_bytes *file, const uint8_t *data, size_t size)
{
	static const char *const parts[] = { "cave.manifest", "cave.seccomp.x86_64" };

	for (size_t i = 0; i + 3 <= size; i += 3) {
		size_t n, at = (size_t)data[i] << 8 | data[i + 1];
		uint8_t *part = build_find(file, parts[at & 1], &n);

		part[at / 2 % n] = data[i + 2];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct build_bytes manifest, file;
	struct artefact a;
	struct artefact_error error;
	void *copy;

	if (!size)
		return 0;
	build_manifest(&manifest, data[0] & 1);
	build_around(&manifest, data[0] & 1, &file);
	if (data[0] & 2) {
		edit_parts(&file, data + 1, size - 1);
		build_seal(&file);
	} else {
		edit(&file, data + 1, size - 1);
		build_seal_digest(&file);
	}
	copy = malloc(file.size);
	if (!copy)
		return 0;
	memcpy(copy, file.data, file.size);
	if (artefact_open(copy, file.size, &a, &error))
		build_walk(&a);
	free(copy);
	return 0;
}
