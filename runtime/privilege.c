/* SPDX-License-Identifier: MIT */
#include "runtime/privilege.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

bool has_capability(unsigned number)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	return !syscall(SYS_capget, &head, data) && data[number / 32].effective & 1u << number % 32;
}
