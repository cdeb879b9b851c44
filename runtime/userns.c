/* SPDX-License-Identifier: MIT */
#include "runtime/userns.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

static bool reads(const char *path, char value)
{
	char c = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool same = fd >= 0 && read(fd, &c, 1) == 1 && c == value;

	if (fd >= 0)
		close(fd);
	return same;
}

const char *userns_setting(void)
{
	if (reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
		return "; kernel.apparmor_restrict_unprivileged_userns is 1: give caverun an AppArmor "
		       "profile with the rule 'userns'";
	if (reads("/proc/sys/kernel/unprivileged_userns_clone", '0'))
		return "; kernel.unprivileged_userns_clone is 0";
	if (reads("/proc/sys/user/max_user_namespaces", '0'))
		return "; user.max_user_namespaces is 0";
	return "";
}
