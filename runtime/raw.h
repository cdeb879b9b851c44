/* SPDX-License-Identifier: MIT */
/*
 * System calls for processes that share the memory of another one, errno and all: the result is -errno on failure.
 * Every one of the six argument registers is set.
 */
#ifndef CAVE_RUNTIME_RAW_H
#define CAVE_RUNTIME_RAW_H

#include <fcntl.h>
#include <sys/syscall.h>

#include "runtime/arch.h"

#define SYS6(nr, a, b, c, d, e, f)                                                                 \
	arch_syscall((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define SYS5(nr, a, b, c, d, e) SYS6(nr, a, b, c, d, e, 0)
#define SYS4(nr, a, b, c, d) SYS6(nr, a, b, c, d, 0, 0)
#define SYS3(nr, a, b, c) SYS6(nr, a, b, c, 0, 0, 0)
#define SYS2(nr, a, b) SYS6(nr, a, b, 0, 0, 0, 0)

/*
 * The descriptor, moved above 0 to 2 if it is one of these: a host may have had them free, and the child puts the
 * tool's there.  -errno stays what it is, and is the result where it cannot be moved; it is closed then.
 */
static inline long above_standard(long fd)
{
	long moved;

	if (fd < 0 || fd > 2)
		return fd;
	moved = SYS3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	SYS2(SYS_close, fd, 0);
	return moved;
}

#endif
