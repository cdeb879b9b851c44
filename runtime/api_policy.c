/* SPDX-License-Identifier: MIT */
/* cave.h: policies. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/api.h"
#include "runtime/policy.h"

struct opening {
	struct cave_policy *policy;
	const char *path;
	int fd;
	const void *data;
	size_t size;
};

static bool read_policy(void *of, struct refusal *r)
{
	struct opening *o = of;

	return policy_read(o->policy, o->fd, o->path, r);
}

static bool copy_policy(void *of, struct refusal *r)
{
	struct opening *o = of;

	return policy_copy(o->policy, o->data, o->size, r);
}

static enum cave_code finish(struct opening *o, bool (*step)(void *, struct refusal *), struct cave_policy **out,
			     struct cave_error *error)
{
	struct refusal r;
	bool ok;

	o->policy = api_make(sizeof *o->policy, NULL);
	if (o->policy) {
		o->policy->fd = -1;
		ok = api_guard(&o->policy->memory, step, o, &r);
	} else {
		ok = refuse(&r, CAVE_FAILED, "out of memory");
	}
	if (ok)
		*out = o->policy;
	else
		cave_policy_free(o->policy);
	return api_answer(ok, &r, error);
}

enum cave_code cave_policy_open(const char *path, struct cave_policy **out, struct cave_error *error)
{
	/* Not open(): that of musl sets the flag once more, by a call of its own.  So elsewhere on the way to a start. */
	int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct opening o = { .path = path, .fd = fd };
	struct refusal r;
	enum cave_code code;

	if (o.fd < 0) {
		refuse_errno(&r, CAVE_FAILED, errno, "cannot open the policy %s", path);
		return api_answer(false, &r, error);
	}
	code = finish(&o, read_policy, out, error);
	if (code)
		close(o.fd);
	return code;
}

enum cave_code cave_policy_open_fd(int fd, struct cave_policy **out, struct cave_error *error)
{
	struct opening o = { .path = "(a descriptor)", .fd = fcntl(fd, F_DUPFD_CLOEXEC, 3) };
	struct refusal r;
	enum cave_code code;

	if (o.fd < 0) {
		refuse_errno(&r, CAVE_FAILED, errno, "descriptor %d", fd);
		return api_answer(false, &r, error);
	}
	code = finish(&o, read_policy, out, error);
	if (code)
		close(o.fd);
	return code;
}

enum cave_code cave_policy_open_memory(const void *data, size_t size, struct cave_policy **out,
				       struct cave_error *error)
{
	struct opening o = { .data = data, .size = size };

	return finish(&o, copy_policy, out, error);
}

struct choice {
	struct cave_policy *policy;
	const char *name;
};

static bool choose(void *of, struct refusal *r)
{
	struct choice *c = of;

	return policy_choose(c->policy, c->name, r);
}

enum cave_code cave_policy_choose(struct cave_policy *policy, const char *name, struct cave_error *error)
{
	struct choice c = { policy, name };
	struct refusal r;
	bool ok = api_guard(&policy->memory, choose, &c, &r);

	return api_answer(ok, &r, error);
}

void cave_policy_free(struct cave_policy *policy)
{
	if (policy)
		policy_close(policy);
}

const char *cave_policy_name(const struct cave_policy *policy)
{
	return policy->name;
}

const unsigned char *cave_policy_identity(const struct cave_policy *policy)
{
	return policy->artefact->identity;
}

const char *cave_version(void)
{
	return CAVE_VERSION;
}
