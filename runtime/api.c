/* SPDX-License-Identifier: MIT */
#include "runtime/api.h"

#include <string.h>

bool api_guard(struct memory *m, bool (*step)(void *of, struct refusal *r), void *of, struct refusal *r)
{
	jmp_buf exhausted;
	bool ok;

	m->exhausted = &exhausted;
	ok = setjmp(exhausted) ? refuse(r, CAVE_FAILED, "out of memory") : step(of, r);
	m->exhausted = NULL;
	return ok;
}

void *api_make(size_t size, memory_idle *idle)
{
	struct memory memory = { .head = NULL };
	jmp_buf exhausted;
	struct memory *handle;

	if (idle)
		memory_begin(&memory, idle);
	memory.exhausted = &exhausted;
	if (setjmp(exhausted))
		return NULL;
	handle = memory_array(&memory, 1, size);
	*handle = memory;
	handle->exhausted = NULL;
	return handle;
}

void api_free(void *handle, memory_idle *idle)
{
	struct memory memory;

	memcpy(&memory, handle, sizeof memory);
	if (idle)
		memory_end(&memory, idle);
	else
		memory_free(&memory);
}

enum cave_code api_answer(bool ok, const struct refusal *r, struct cave_error *error)
{
	_Static_assert(sizeof r->text == CAVE_ERROR_TEXT, "the text of a refusal is that of an error");

	if (ok)
		return CAVE_OK;
	if (error) {
		error->code = r->code;
		error->status = r->status;
		error->error = r->error;
		memcpy(error->text, r->text, sizeof error->text);
	}
	return r->code;
}

bool api_take(void *to, size_t size, const void *from, const char *what, struct refusal *r)
{
	size_t theirs;

	memcpy(&theirs, from, sizeof theirs);
	if (theirs < sizeof theirs)
		return refuse(r, CAVE_FAILED, "%s: its size is not set", what);
	for (size_t i = size; i < theirs; i++)
		if (((const char *)from)[i])
			return refuse(r, CAVE_FAILED, "%s: it asks for what this version does not know", what);
	memset(to, 0, size);
	memcpy(to, from, theirs < size ? theirs : size);
	return true;
}
