/* SPDX-License-Identifier: MIT */
#include "runtime/ruleset.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/kernel.h"
#include "runtime/raw.h"
#include "runtime/rights.h"

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
	return (int)above_standard(fd < 0 ? -errno : fd);
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
