/* SPDX-License-Identifier: MIT */
#include "runtime/ruleset.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/kernel.h"
#include "runtime/rights.h"

/* The child uses it after the tool's 0 to 2 are in place: a host may have had one of these free. */
static int above_standard(int fd)
{
	int moved, error;

	if (fd > STDERR_FILENO)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	error = errno;
	close(fd);
	return moved < 0 ? -error : moved;
}

int ruleset_make(int abi, bool network)
{
	struct ll_ruleset_attr attr = { .handled_access_fs = rights_handled(abi) };
	size_t size = abi >= LL_ABI_SCOPE ? 24 : abi >= LL_ABI_NET ? 16 : 8;
	long fd;

	if (abi >= LL_ABI_NET && !network)
		attr.handled_access_net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP;
	if (abi >= LL_ABI_SCOPE)
		attr.scoped = LL_SCOPE_ABSTRACT_UNIX_SOCKET | LL_SCOPE_SIGNAL;
	fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return fd < 0 ? -errno : above_standard((int)fd);
}

int ruleset_add(int ruleset, const struct rule *rule)
{
	struct ll_path_beneath_attr attr = { .allowed_access = rule->rights, .parent_fd = rule->fd };

	return syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &attr, 0) ? errno : 0;
}

int ruleset_of(const struct rule *rule, size_t n, int abi, bool network)
{
	int ruleset = ruleset_make(abi, network), error = 0;

	for (size_t i = 0; i < n && ruleset >= 0 && !error; i++)
		error = ruleset_add(ruleset, &rule[i]);
	if (error) {
		close(ruleset);
		return -error;
	}
	return ruleset;
}
