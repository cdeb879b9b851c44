/* SPDX-License-Identifier: MIT */
#include "runtime/rights.h"

#include <sys/stat.h>

#include "cave/artefact.h"
#include "runtime/kernel.h"

uint64_t rights_handled(int abi)
{
	uint64_t rights = LL_FS_REFER - 1;

	rights |= abi >= LL_ABI_REFER ? LL_FS_REFER : 0;
	rights |= abi >= LL_ABI_TRUNCATE ? LL_FS_TRUNCATE : 0;
	rights |= abi >= LL_ABI_IOCTL ? LL_FS_IOCTL_DEV : 0;
	return rights;
}

/* Sockets and devices are made by nobody. */
static uint64_t folder_rights(unsigned flags)
{
	uint64_t rights = LL_FS_READ_FILE | LL_FS_READ_DIR;

	if (flags & CAVE_FILE_WRITE)
		rights |= LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE |
			  LL_FS_MAKE_DIR | LL_FS_MAKE_REG | LL_FS_MAKE_SYM | LL_FS_MAKE_FIFO |
			  LL_FS_REFER;
	return rights;
}

/* A device gets no ioctl: reading and writing is what the profile says. */
static uint64_t file_rights(unsigned flags, mode_t mode)
{
	uint64_t rights = LL_FS_READ_FILE;

	if (flags & CAVE_FILE_WRITE)
		rights |= LL_FS_WRITE_FILE | (S_ISREG(mode) ? LL_FS_TRUNCATE : 0);
	return rights;
}

uint64_t rights_of(unsigned flags, mode_t mode, int abi)
{
	uint64_t rights = S_ISDIR(mode) ? folder_rights(flags) : file_rights(flags, mode);

	rights |= flags & CAVE_FILE_EXECUTE ? LL_FS_EXECUTE : 0;
	return rights & rights_handled(abi);
}
