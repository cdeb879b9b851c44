/* SPDX-License-Identifier: MIT */
#include "runtime/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/arch.h"

/* Reads the policy once; from here on only the copy counts, whatever becomes of the file. */
static bool read_all(struct memory *m, int fd, const char *path, const void **data, size_t *size,
		     struct refusal *r)
{
	struct stat st;
	char *copy;
	size_t n = 0;
	ssize_t got;

	if (fstat(fd, &st))
		return refuse_errno(r, CAVE_FAILED, errno, "cannot read the policy %s", path);
	if (!S_ISREG(st.st_mode))
		return refuse(r, CAVE_POLICY_INVALID, "the policy %s is no regular file", path);
	if (st.st_size > (off_t)CAVE_ARTEFACT_MAX)
		return refuse(r, CAVE_POLICY_INVALID, "the policy %s is larger than %u bytes", path,
			      CAVE_ARTEFACT_MAX);
	copy = memory_take(m, (size_t)st.st_size);
	while (n < (size_t)st.st_size && (got = pread(fd, copy + n, (size_t)st.st_size - n, (off_t)n)) != 0) {
		if (got < 0 && errno != EINTR)
			return refuse_errno(r, CAVE_FAILED, errno, "cannot read the policy %s", path);
		n += got > 0 ? (size_t)got : 0;
	}
	*data = copy;
	*size = n;
	return true;
}

static void read_name(const struct artefact *a, char name[ARTEFACT_NAME_MAX + 1])
{
	struct artefact_record record;

	for (size_t at = 0; artefact_next(a, &at, &record);)
		if (record.type == CAVE_RECORD_NAME) {
			memcpy(name, record.payload, record.length);
			name[record.length] = '\0';
		}
}

/* From here on `a` is the policy. */
static bool take(struct cave_policy *p, const struct artefact *a, const char *path, struct refusal *r)
{
	if (!a->filter[ARCH_FILTER].n)
		return refuse(r, CAVE_FAILED, "the policy %s has no syscall filter for %s", path,
			      artefact_arch_name(ARCH_FILTER));
	p->artefact = a;
	read_name(a, p->name);
	return true;
}

static bool check(struct cave_policy *p, const void *data, size_t size, const char *path, struct refusal *r)
{
	struct artefact_error error;

	if (!artefact_open(data, size, &p->outermost, &error))
		return refuse(r, CAVE_POLICY_INVALID, "the policy %s is invalid: %s", path, error.text);
	return take(p, &p->outermost, path, r);
}

/* The names of the nested profiles: "a, b". */
static const char *names_of(struct memory *m, const struct artefact *a)
{
	struct artefact_record record;
	const char *names = "";

	for (size_t at = 0; artefact_next(a, &at, &record);)
		if (record.type == CAVE_RECORD_PROFILE) {
			size_t n;
			const char *name = artefact_nested_name(&record, &n);

			names = memory_printf(m, "%s%s%.*s", names, *names ? ", " : "", (int)n, name);
		}
	return names;
}

static bool no_such_profile(struct cave_policy *p, const char *name, struct refusal *r)
{
	const char *names = names_of(&p->memory, &p->outermost);

	if (!*names)
		return refuse(r, CAVE_FAILED, "the policy has no nested profiles, and so no '%s'", name);
	return refuse(r, CAVE_FAILED, "the policy has no nested profile '%s'; it has %s", name, names);
}

/* One that has been read; it stays, so that it can be chosen again at no cost, and what was prepared of it goes on. */
struct policy_nested {
	struct policy_nested *next;
	const char *name;
	struct artefact artefact;
};

static const struct policy_nested *find_nested(const struct cave_policy *p, const char *name)
{
	const struct policy_nested *n = p->nested;

	while (n && strcmp(n->name, name))
		n = n->next;
	return n;
}

static const struct policy_nested *add_nested(struct cave_policy *p, const char *name, const struct artefact *a)
{
	struct policy_nested *n = MEMORY_ARRAY(&p->memory, 1, struct policy_nested);

	*n = (struct policy_nested){ p->nested, memory_string(&p->memory, name, strlen(name)), *a };
	p->nested = n;
	return n;
}

bool policy_choose(struct cave_policy *p, const char *name, struct refusal *r)
{
	const struct policy_nested *nested = find_nested(p, name);
	char own[ARTEFACT_NAME_MAX + 1] = "";
	struct artefact_error error;
	struct artefact inner;

	read_name(&p->outermost, own);
	if (!strcmp(own, name))
		return take(p, &p->outermost, name, r);
	if (!nested && artefact_nested(&p->outermost, name, &inner, &error))
		nested = add_nested(p, name, &inner);
	if (nested)
		return take(p, &nested->artefact, name, r);
	if (!error.text[0])
		return no_such_profile(p, name, r);
	return refuse(r, CAVE_POLICY_INVALID, "the nested profile '%s' is invalid: %s", name, error.text);
}

bool policy_read(struct cave_policy *p, int fd, const char *path, struct refusal *r)
{
	const void *data = NULL;
	size_t size = 0;

	if (!read_all(&p->memory, fd, path, &data, &size, r) || !check(p, data, size, path, r))
		return false;
	p->fd = fd;
	return true;
}

bool policy_copy(struct cave_policy *p, const void *data, size_t size, struct refusal *r)
{
	static const char path[] = "in memory";
	void *copy;

	if (size > CAVE_ARTEFACT_MAX)
		return refuse(r, CAVE_POLICY_INVALID, "the policy %s is larger than %u bytes", path,
			      CAVE_ARTEFACT_MAX);
	copy = memory_take(&p->memory, size);
	memcpy(copy, data, size);
	p->fd = -1;
	return check(p, copy, size, path, r);
}

void policy_close(struct cave_policy *p)
{
	struct memory memory = p->memory;

	if (p->fd >= 0)
		close(p->fd);
	memory_free(&memory);
}
