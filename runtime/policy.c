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

static void read_name(struct cave_policy *p)
{
	struct artefact_record record;

	for (size_t at = 0; artefact_next(&p->artefact, &at, &record);)
		if (record.type == CAVE_RECORD_NAME)
			memcpy(p->name, record.payload, record.length);
}

static bool check(struct cave_policy *p, const void *data, size_t size, const char *path, struct refusal *r)
{
	struct artefact_error error;

	if (!artefact_open(data, size, &p->artefact, &error))
		return refuse(r, CAVE_POLICY_INVALID, "the policy %s is invalid: %s", path, error.text);
	if (!p->artefact.filter[ARCH_FILTER].n)
		return refuse(r, CAVE_FAILED, "the policy %s has no syscall filter for %s", path,
			      artefact_arch_name(ARCH_FILTER));
	read_name(p);
	return true;
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
